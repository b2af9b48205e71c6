//! Mutating policies on a request: each policy, binding and param sees the object as the one before
//! left it; then, once, those that asked for it are invoked again.

use std::collections::HashSet;

use serde_json::Value;

use super::{
    cel::{self, RUNTIME_BUDGET},
    conditions::{self, Conditions},
    convert, defaults,
    engine::{Decisions, Expression, Inputs, Scope, Stop},
    facts::{Facts, Lookup, Question},
    json_patch::{self, Failure},
    matching::Matched,
    merge::{self, Schemas},
    params::{self, NoParams},
    policy::{Binding, MutatingPolicy, Mutation, Policy},
    request::{Request, namespace_variable},
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
            (Some(before), Some(after)) => ::json_patch::diff(before, after),
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
    policies: &[MutatingPolicy],
    schemas: &Schemas,
    request: &Request<'_>,
    facts: &dyn Facts,
) -> Result<Mutated, Vec<Question>> {
    let mut reinvocation = Reinvocation::default();
    let first = pass(policies, schemas, request, facts, &mut reinvocation, false)?;
    let Some(object) = first.object.filter(|_| first.denials.is_empty()) else {
        return Ok(Mutated { object: None, denials: first.denials });
    };
    let second =
        pass(policies, schemas, &request.with_object(&object), facts, &mut reinvocation, true)?;
    let mut object = second.object.unwrap_or(object);
    settle(request.object, &mut object);
    let is_changed = request.object != Some(&object);
    Ok(Mutated { object: is_changed.then_some(object), denials: second.denials })
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
    invoked: HashSet<Key>,
    due: HashSet<Key>,
}

/// A policy, a binding, and the name and namespace of a param.
type Key = (String, String, Option<(String, String)>);

impl Reinvocation {
    fn changed(&mut self) {
        self.due.extend(self.invoked.drain());
    }
}

/// Of one pass: the object if any mutation was carried out, changed or not.
struct Passed {
    object: Option<Value>,
    denials: Vec<MutationDenial>,
}

struct Invocation<'a> {
    policy: &'a MutatingPolicy,
    binding: &'a Binding,
    param: Option<&'a Value>,
}

impl Invocation<'_> {
    fn key(&self) -> Key {
        let of = |param: &Value, key: &str| {
            let value = param.get("metadata").and_then(|metadata| metadata.get(key));
            value.and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let param = self.param.map(|param| (of(param, "name"), of(param, "namespace")));
        (self.policy.policy.name.clone(), self.binding.name.clone(), param)
    }
}

fn pass(
    policies: &[MutatingPolicy],
    schemas: &Schemas,
    request: &Request<'_>,
    facts: &dyn Facts,
    reinvocation: &mut Reinvocation,
    is_again: bool,
) -> Result<Passed, Vec<Question>> {
    let mut plan = Plan { request, facts, denials: Vec::new(), questions: Vec::new() };
    let invocations: Vec<_> = policies.iter().flat_map(|policy| plan.invocations(policy)).collect();
    if !plan.questions.is_empty() {
        return Err(plan.questions);
    }
    let mut denials = plan.denials;
    let mut current: Option<Value> = None;
    for invocation in &invocations {
        let before = current.clone();
        let seen = before.as_ref().map_or(*request, |object| request.with_object(object));
        let invoked = Invoked { schemas, facts, invocation, request: seen };
        match invoked.conditions().map_err(|question| vec![question])? {
            Conditions::Met => {}
            Conditions::NotMet => continue,
            Conditions::Failed(text) => {
                denials.extend(invocation.denial(text, Reason::Invalid));
                continue;
            }
        }
        let key = invocation.key();
        if is_again && !reinvocation.due.contains(&key) {
            continue;
        }
        for mutation in &invocation.policy.mutations {
            let Some(object) = current.as_ref().or(request.object) else { continue };
            let request = request.with_object(object);
            let invoked = Invoked { schemas, facts, invocation, request };
            match invoked.mutation(mutation, object) {
                Ok(changed) => current = Some(changed),
                Err(Fault::Ask(question)) => return Err(vec![question]),
                Err(Fault::Error(text)) => denials.extend(invocation.denial(text, Reason::Invalid)),
                Err(Fault::Final(message, reason)) => {
                    let denial =
                        MutationDenial { is_final: true, ..invocation.always(message, reason) };
                    return Ok(Passed { object: None, denials: vec![denial] });
                }
            }
        }
        if current != before && current.as_ref() != before.as_ref().or(request.object) {
            reinvocation.changed();
        }
        if invocation.policy.reinvoked {
            reinvocation.invoked.insert(key);
        }
    }
    // Whatever was carried out counts as a change in the end.
    if current.is_some() {
        reinvocation.changed();
    }
    Ok(Passed { object: current, denials })
}

/// What is to be invoked, decided before anything is.
struct Plan<'a> {
    request: &'a Request<'a>,
    facts: &'a dyn Facts,
    denials: Vec<MutationDenial>,
    questions: Vec<Question>,
}

impl<'a> Plan<'a> {
    fn invocations<'p>(&mut self, policy: &'p MutatingPolicy) -> Vec<Invocation<'p>>
    where
        'a: 'p,
    {
        let definition = &policy.policy;
        if definition.bindings.is_empty() {
            return Vec::new();
        }
        let matched = definition.matcher.matches(self.request, self.facts);
        if !self.is_matched(definition, None, matched) {
            return Vec::new();
        }
        if let Some(kind) = &definition.param_kind
            && let Err(missing) = params::scope(kind, self.facts)
        {
            self.missing(definition, None, missing);
            return Vec::new();
        }
        let mut invocations = Vec::new();
        for binding in &definition.bindings {
            if let Some(matcher) = &binding.matcher {
                let matched = matcher.matches(self.request, self.facts);
                if !self.is_matched(definition, Some(binding), matched) {
                    continue;
                }
            }
            match params::collect(
                definition.param_kind.as_ref(),
                binding.param_ref.as_ref(),
                self.request.namespace,
                self.facts,
            ) {
                Ok(found) => invocations.extend(found.into_iter().map(|param| Invocation {
                    policy,
                    binding,
                    param,
                })),
                Err(missing) => self.missing(definition, Some(binding), missing),
            }
        }
        invocations
    }

    fn is_matched(&mut self, policy: &Policy, binding: Option<&Binding>, matched: Matched) -> bool {
        match matched {
            Matched::Yes => return true,
            Matched::No => {}
            Matched::Ask(question) => self.missing(policy, binding, NoParams::Ask(question)),
            Matched::Failed(text) => self.missing(policy, binding, NoParams::Error(text)),
        }
        false
    }

    fn missing(&mut self, policy: &Policy, binding: Option<&Binding>, missing: NoParams) {
        match missing {
            NoParams::Ask(question) if self.questions.contains(&question) => {}
            NoParams::Ask(question) => self.questions.push(question),
            NoParams::Error(_) if !policy.fails => {}
            NoParams::Error(text) => {
                let what = if binding.is_some() { "binding" } else { "policy" };
                self.denials.push(MutationDenial {
                    policy: policy.name.clone(),
                    binding: binding.map(|binding| binding.name.clone()),
                    message: format!("failed to configure {what}: {text}"),
                    reason: Reason::Forbidden,
                    is_final: false,
                });
            }
        }
    }
}

impl Invocation<'_> {
    /// If the policy fails on errors.
    fn denial(&self, message: String, reason: Reason) -> Option<MutationDenial> {
        self.policy.policy.fails.then(|| self.always(message, reason))
    }

    fn always(&self, message: String, reason: Reason) -> MutationDenial {
        MutationDenial {
            policy: self.policy.policy.name.clone(),
            binding: Some(self.binding.name.clone()),
            message,
            reason,
            is_final: false,
        }
    }
}

/// Why a mutation was not carried out.
enum Fault {
    Ask(Question),
    /// `failurePolicy` decides.
    Error(String),
    /// The request is refused with this.
    Final(String, Reason),
}

struct Invoked<'a> {
    schemas: &'a Schemas,
    facts: &'a dyn Facts,
    invocation: &'a Invocation<'a>,
    request: Request<'a>,
}

impl Invoked<'_> {
    fn conditions(&self) -> Result<Conditions, Question> {
        let decisions = Decisions(self.facts);
        let variable = self.request.variable(self.request.request_resource);
        let inputs = Inputs {
            request: &self.request,
            variable: &variable,
            params: self.invocation.param,
            namespace: None,
            authorizer: Some(&decisions),
        };
        conditions::evaluate(&self.invocation.policy.policy, &inputs)
    }

    fn mutation(&self, mutation: &Mutation, object: &Value) -> Result<Value, Fault> {
        let kind = self.request.kind;
        let schema = self.schemas.kind(kind.group, kind.version, kind.name);
        let mut changed = match mutation {
            Mutation::Apply(expression) => {
                let schema = schema.ok_or_else(|| unknown_kind(&self.request))?;
                let mut configuration =
                    self.evaluated(expression, |value| convert::configuration(value))?;
                for key in ["apiVersion", "kind"] {
                    configuration[key] = object.get(key).cloned().unwrap_or_default();
                }
                merge::apply(self.schemas, schema, object, &configuration)
                    .map_err(|text| Fault::Error(format!("error applying patch: {text}")))?
            }
            Mutation::JsonPatch(expression) => {
                let operations = self.evaluated(expression, |value| convert::operations(value))?;
                match json_patch::apply(object, &operations) {
                    Ok(changed) => with_kind(changed)?,
                    Err(Failure::Test) => object.clone(),
                    Err(Failure::Error(text)) => {
                        return Err(Fault::Error(format!("JSON Patch: {text}")));
                    }
                }
            }
        };
        if let Some(schema) = schema {
            defaults::fill(&mut changed, &schema.openapi);
        }
        Ok(changed)
    }

    /// Evaluates with a budget of its own, and turns the value into what is wanted.
    fn evaluated<T>(
        &self,
        expression: &Expression,
        convert: impl FnOnce(&cel::Value<'_>) -> Result<T, String>,
    ) -> Result<T, Fault> {
        let policy = &self.invocation.policy.policy;
        let namespace = self.namespace(expression)?;
        let decisions = Decisions(self.facts);
        let variable = self.request.variable(self.request.resource);
        let inputs = Inputs {
            request: &self.request,
            variable: &variable,
            params: self.invocation.param,
            namespace: namespace.as_ref(),
            authorizer: Some(&decisions),
        };
        let mut scope = Scope::new(&inputs, &policy.variables, RUNTIME_BUDGET);
        match scope.evaluate(expression) {
            Ok(Ok(value)) => convert(&value.0).map_err(Fault::Error),
            Ok(Err(text)) => Err(Fault::Error(text)),
            Err(Stop::Ask(question)) => Err(Fault::Ask(question)),
            Err(Stop::OutOfBudget(text)) => Err(Fault::Error(text)),
        }
    }

    fn namespace(&self, expression: &Expression) -> Result<Option<Value>, Fault> {
        let variables = self.invocation.policy.policy.variables.expressions();
        let wanted = variables.chain([expression]).any(Expression::uses_namespace);
        let Some(name) = self.request.object_namespace().filter(|_| wanted) else {
            return Ok(None);
        };
        match self.facts.namespace(name) {
            Lookup::Found(namespace) => Ok(Some(namespace_variable(namespace))),
            Lookup::Unknown => Err(Fault::Ask(Question::Namespace(name.to_owned()))),
            Lookup::Absent => {
                Err(Fault::Final(format!("namespaces {name:?} not found"), Reason::NotFound))
            }
        }
    }
}

fn unknown_kind(request: &Request<'_>) -> Fault {
    let kind = request.kind;
    Fault::Final(
        format!(
            "Resource kind {}/{}, Kind={} not found. There can be a delay between when \
             CustomResourceDefinitions are created and when they are available.",
            kind.group, kind.version, kind.name
        ),
        Reason::ServiceUnavailable,
    )
}

/// A patch must leave something that can be read.
fn with_kind(object: Value) -> Result<Value, Fault> {
    let has = |key: &str| object.get(key).and_then(Value::as_str).is_some_and(|it| !it.is_empty());
    if has("kind") {
        return Ok(object);
    }
    Err(Fault::Final(
        format!("Internal error occurred: Object 'Kind' is missing in '{object}'"),
        Reason::InternalError,
    ))
}
