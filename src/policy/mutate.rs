//! Mutating policies on a request: each policy, binding and param sees the object as the one before
//! left it; then, once, those that asked for it are invoked again.

use std::rc::Rc;

use super::{
    compiled::MutatingPolicy,
    conditions::{Conditions, Memo},
    convert,
    facts::{Facts, Question},
    invoke::{Fault, Invoked, RequestVariables},
    json::{Json, Tree},
    merge::{KindSchema, Schemas},
    patch,
    plan::{Key, Plan},
    request::{Operation, Request},
    verdict::{Reason, Refusal},
};

/// What mutating policies make of a request.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Mutated<'a> {
    /// The object as it is to be, if it is to be another.
    pub object: Option<Tree<'a>>,
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

impl Mutated<'_> {
    /// The change as an RFC 6902 patch; empty if there is none.
    #[must_use]
    pub fn patch(&self, request: &Request<'_>) -> ::json_patch::Patch {
        match (request.object, &self.object) {
            (Some(before), Some(after)) => patch::between(before, Json::from(after)),
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
pub(crate) fn mutate<'a>(
    policies: &[&MutatingPolicy],
    schemas: &Schemas,
    request: &Request<'a>,
    facts: &dyn Facts,
) -> Result<Mutated<'a>, Vec<Question>> {
    if request.operation == Operation::Delete {
        // There is nothing to change, and not even the conditions are asked.
        return Ok(Mutated::default());
    }
    let variables = RequestVariables::new(request);
    let kind = request.kind;
    let schema = schemas.kind(kind.group, kind.version, kind.name);
    let context = Context { policies, schemas, schema, facts, variables: &variables };
    let mut reinvocation = Reinvocation::default();
    let first = context.pass(request, None, &mut reinvocation, false)?;
    if !first.is_carried_out || !first.denials.is_empty() {
        return Ok(Mutated { object: None, denials: first.denials });
    }
    // As nothing was changed, nobody would say anything else the second time.
    let Some(changed) = first.object else { return Ok(Mutated::default()) };
    let second = context.pass(request, Some(&changed), &mut reinvocation, true)?;
    // Else what is most often still the same would have to be copied.
    drop(changed);
    let Some(object) = second.object else {
        return Ok(Mutated { object: None, denials: second.denials });
    };
    let mut object = Rc::unwrap_or_clone(object);
    if has_double(&object) {
        settle(request.object, &mut object);
    }
    let is_changed = request.object != Some(Json::from(&object));
    Ok(Mutated { object: is_changed.then_some(object), denials: second.denials })
}

fn has_double(value: &Tree<'_>) -> bool {
    match value {
        Tree::Object(fields) => fields.iter().any(|(_, value)| has_double(value)),
        Tree::List(items) => items.iter().any(has_double),
        Tree::Number(number) => number.is_f64(),
        Tree::Null | Tree::Bool(_) | Tree::Text(_) => false,
    }
}

/// A whole double is written as an integer, as Go writes it; what was not changed stays as it was.
fn settle(before: Option<Json<'_>>, after: &mut Tree<'_>) {
    if before == Some(Json::from(&*after)) {
        return;
    }
    match after {
        Tree::Object(fields) => {
            for (key, value) in fields.iter_mut() {
                settle(before.and_then(|before| before.get(key)), value);
            }
        }
        Tree::List(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                settle(before.and_then(|before| before.items()?.get(index)), item);
            }
        }
        Tree::Number(number) => {
            if let Some(double) = number.as_f64().filter(|_| number.is_f64()) {
                *after = Tree::owned(convert::number(double));
            }
        }
        Tree::Null | Tree::Bool(_) | Tree::Text(_) => {}
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
struct Passed<'a> {
    /// The object, if it may be another.
    object: Option<Rc<Tree<'a>>>,
    /// Whether any mutation was carried out, whatever it changed.
    is_carried_out: bool,
    denials: Vec<MutationDenial>,
}

/// What both passes go by.
struct Context<'c, 'a> {
    policies: &'c [&'c MutatingPolicy],
    schemas: &'c Schemas,
    schema: Option<&'c KindSchema>,
    facts: &'c dyn Facts,
    variables: &'c RequestVariables<'a>,
}

impl<'a> Context<'_, 'a> {
    /// `start` is what the object is by now, if that is not what was asked for.
    fn pass(
        &self,
        request: &Request<'a>,
        start: Option<&Rc<Tree<'a>>>,
        reinvocation: &mut Reinvocation,
        is_again: bool,
    ) -> Result<Passed<'a>, Vec<Question>> {
        let Self { policies, schemas, schema, facts, variables } = *self;
        let begun = start.map_or(*request, |object| request.with_object(&**object));
        let mut plan = Plan { request: &begun, facts, denials: Vec::new(), questions: Vec::new() };
        let invocations: Vec<_> =
            policies.iter().flat_map(|policy| plan.invocations(policy)).collect();
        if !plan.questions.is_empty() {
            return Err(plan.questions);
        }
        let mut denials = plan.denials;
        let mut is_carried_out = false;
        // Shared, not copied: most policies leave the object as it is.
        let mut current = start.cloned();
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
                let now = current.clone();
                let Some(asked) = request.object else { continue };
                let object = now.as_deref().map_or(asked, Json::from);
                let seen = request.with_object(object);
                let invoked =
                    Invoked { schemas, schema, facts, invocation, request: seen, variables };
                let copy = || now.as_deref().map_or_else(|| Tree::from(asked), Tree::clone);
                let changed = match invoked.mutation(mutation, object, copy) {
                    Ok(changed) => changed.map(Rc::new),
                    Err(Fault::Ask(question)) => return Err(vec![question]),
                    Err(Fault::Error(text)) => {
                        denials.extend(invocation.denial(text, Reason::Invalid));
                        continue;
                    }
                    Err(Fault::Final(message, reason)) => {
                        let denial =
                            MutationDenial { is_final: true, ..invocation.always(message, reason) };
                        return Ok(Passed {
                            object: start.cloned(),
                            is_carried_out,
                            denials: vec![denial],
                        });
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
                (Some(current), None) => request.object == Some(Json::from(&**current)),
                (None, _) => true,
            };
            if !is_same {
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
        Ok(Passed { object: current, is_carried_out, denials })
    }
}
