//! Mutating policies on a request: each policy, binding and param sees the object as the one before
//! left it; then, once, those that asked for it are invoked again.

use std::{borrow::Cow, rc::Rc};

use serde_json::Value;

use super::{
    compiled::MutatingPolicy,
    conditions::{Conditions, Memo},
    convert,
    facts::{Facts, Question},
    invoke::{Fault, Invoked, RequestVariables},
    merge::{KindSchema, Schemas},
    patch,
    plan::{Key, Plan},
    request::{Operation, Request},
    verdict::{Reason, Refusal},
};

/// What mutating policies make of a request.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Mutated {
    /// The object as it is to be, if it is to be another.
    pub object: Option<Value>,
    /// Why the request is refused instead.
    pub denials: Vec<MutationDenial>,
}

/// Why a mutating policy refuses a request: only ever a failure of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MutationDenial {
    /// The policy's name.
    pub policy: String,
    /// The binding's name; none if the policy itself is at fault.
    pub binding: Option<String>,
    /// What went wrong.
    pub message: String,
    /// How the API classes it.
    pub reason: Reason,
    /// Whether this is the answer as it stands, whatever `failurePolicy` says.
    pub is_final: bool,
}

impl MutationDenial {
    /// The API server's text for it.
    #[must_use]
    pub fn text(&self) -> String {
        let Self { policy, message, .. } = self;
        match &self.binding {
            _ if self.is_final => message.clone(),
            Some(binding) => {
                format!("policy '{policy}' with binding '{binding}' denied request: {message}")
            }
            None => format!("policy {policy:?} denied request: {message}"),
        }
    }
}

impl Mutated {
    /// The change as an RFC 6902 patch; empty if there is none.
    #[must_use]
    pub fn patch(&self, request: &Request<'_>) -> ::json_patch::Patch {
        match (request.object, &self.object) {
            (Some(before), Some(after)) => patch::between(before, after),
            _ => ::json_patch::Patch::default(),
        }
    }

    /// What the API server itself would have answered.
    #[must_use]
    pub fn as_api_server(&self) -> Option<Refusal> {
        let first = self.denials.iter().find(|it| it.is_final).or(self.denials.first())?;
        // The status stays that of a refusal, whatever the reason.
        let code = if first.is_final { first.reason.code() } else { 403 };
        let causes = match (first.is_final, first.reason) {
            // The text without what the API server says of every failure of its own.
            (true, Reason::InternalError) => {
                let text = first.message.trim_start_matches("Internal error occurred: ");
                vec![text.to_owned()]
            }
            (true, _) => Vec::new(),
            (false, _) => self.denials.iter().map(MutationDenial::text).collect(),
        };
        Some(Refusal { code, reason: first.reason, message: first.text(), causes })
    }
}

/// The object as policies leave it, or everything that must be known first.
pub(crate) fn mutate(
    policies: &[&MutatingPolicy],
    schemas: &Schemas,
    request: &Request<'_>,
    facts: &dyn Facts,
) -> Result<Mutated, Vec<Question>> {
    if request.operation == Operation::Delete {
        // There is nothing to change, and not even the conditions are asked.
        return Ok(Mutated::default());
    }
    let variables = RequestVariables::default();
    let kind = request.kind;
    let schema = schemas.kind(kind.group, kind.version, kind.name);
    let context = Context { policies, schemas, schema, facts, variables: &variables };
    let mut reinvocation = Reinvocation::default();
    let first = context.pass(request, &mut reinvocation, false)?;
    if !first.is_carried_out || !first.denials.is_empty() {
        return Ok(Mutated { object: None, denials: first.denials });
    }
    let again = first.object.as_ref().map_or(*request, |object| request.with_object(object));
    let second = context.pass(&again, &mut reinvocation, true)?;
    let Some(mut object) = second.object.or(first.object) else {
        return Ok(Mutated { object: None, denials: second.denials });
    };
    if has_double(&object) {
        settle(request.object, &mut object);
    }
    let is_changed = request.object != Some(&object);
    Ok(Mutated { object: is_changed.then_some(object), denials: second.denials })
}

fn has_double(value: &Value) -> bool {
    match value {
        Value::Object(entries) => entries.values().any(has_double),
        Value::Array(items) => items.iter().any(has_double),
        Value::Number(number) => number.is_f64(),
        Value::Null | Value::Bool(_) | Value::String(_) => false,
    }
}

/// A whole double is written as an integer, as Go writes it; what was not changed stays as it was.
fn settle(before: Option<&Value>, after: &mut Value) {
    if before == Some(after) {
        return;
    }
    match after {
        Value::Object(entries) => {
            for (key, value) in entries {
                settle(before.and_then(|before| before.get(key)), value);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                settle(before.and_then(|before| before.get(index)), item);
            }
        }
        Value::Number(number) => {
            if let Some(double) = number.as_f64().filter(|_| number.is_f64()) {
                *after = convert::number(double);
            }
        }
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// Which invocations are to be made again: those that asked for it and came before a change.
#[derive(Default)]
struct Reinvocation {
    invoked: Vec<Key>,
    due: Vec<Key>,
}

impl Reinvocation {
    fn changed(&mut self) {
        self.due.append(&mut self.invoked);
    }
}

/// Of one pass.
struct Passed {
    /// The object, if it may be another.
    object: Option<Value>,
    /// Whether any mutation was carried out, whatever it changed.
    is_carried_out: bool,
    denials: Vec<MutationDenial>,
}

/// What both passes go by.
struct Context<'a> {
    policies: &'a [&'a MutatingPolicy],
    schemas: &'a Schemas,
    schema: Option<&'a KindSchema>,
    facts: &'a dyn Facts,
    variables: &'a RequestVariables,
}

impl Context<'_> {
    fn pass(
        &self,
        request: &Request<'_>,
        reinvocation: &mut Reinvocation,
        is_again: bool,
    ) -> Result<Passed, Vec<Question>> {
        let Self { policies, schemas, schema, facts, variables } = *self;
        let mut plan = Plan { request, facts, denials: Vec::new(), questions: Vec::new() };
        let invocations: Vec<_> =
            policies.iter().flat_map(|policy| plan.invocations(policy)).collect();
        if !plan.questions.is_empty() {
            return Err(plan.questions);
        }
        let mut denials = plan.denials;
        let mut is_carried_out = false;
        // Shared, not copied: most policies leave the object as it is.
        let mut current: Option<Rc<Value>> = None;
        // Holds for the object as it is.
        let mut conditions = Memo::default();
        for invocation in &invocations {
            let before = current.clone();
            let seen = before.as_deref().map_or(*request, |object| request.with_object(object));
            let invoked = Invoked { schemas, schema, facts, invocation, request: seen, variables };
            match invoked.conditions(&conditions).map_err(|question| vec![question])? {
                Conditions::Met => {}
                Conditions::NotMet => continue,
                Conditions::Failed(text) => {
                    denials.extend(invocation.denial(text, Reason::Invalid));
                    continue;
                }
            }
            if is_again && !reinvocation.due.contains(&invocation.key()) {
                continue;
            }
            for mutation in &invocation.policy.mutations {
                let Some(object) = current.as_deref().or(request.object) else { continue };
                let request = request.with_object(object);
                let invoked = Invoked { schemas, schema, facts, invocation, request, variables };
                let changed = match invoked.mutation(mutation, object) {
                    Ok(Cow::Borrowed(_)) => None,
                    Ok(Cow::Owned(changed)) => Some(Rc::new(changed)),
                    Err(Fault::Ask(question)) => return Err(vec![question]),
                    Err(Fault::Error(text)) => {
                        denials.extend(invocation.denial(text, Reason::Invalid));
                        continue;
                    }
                    Err(Fault::Final(message, reason)) => {
                        let denial =
                            MutationDenial { is_final: true, ..invocation.always(message, reason) };
                        return Ok(Passed { object: None, is_carried_out, denials: vec![denial] });
                    }
                };
                is_carried_out = true;
                if changed.is_some() {
                    conditions = Memo::default();
                    current = changed;
                }
            }
            let is_same = match (&current, &before) {
                (Some(current), Some(before)) => Rc::ptr_eq(current, before) || current == before,
                (None, None) => true,
                _ => false,
            };
            if !is_same && current.as_deref() != before.as_deref().or(request.object) {
                reinvocation.changed();
            }
            if invocation.policy.reinvoked {
                reinvocation.invoked.push(invocation.key());
            }
        }
        // Whatever was carried out counts as a change in the end.
        if is_carried_out {
            reinvocation.changed();
        }
        Ok(Passed { object: current.map(Rc::unwrap_or_clone), is_carried_out, denials })
    }
}
