//! One invocation of a mutating policy: its conditions, and each of its mutations on the object as the
//! one before left it.

use std::{borrow::Cow, cell::OnceCell};

use serde_json::Value;

use super::{
    cel::{self, RUNTIME_BUDGET},
    compiled::Mutation,
    conditions::{self, Conditions, Memo},
    convert, defaults,
    engine::{Decisions, Expression, Inputs, Scope, Stop},
    facts::{Facts, Lookup, Question},
    json_patch::{self, Failure},
    merge::{self, KindSchema, Schemas},
    plan::Invocation,
    request::{Request, namespace_variable},
    verdict::Reason,
};

/// Why a mutation was not carried out.
pub(crate) enum Fault {
    Ask(Question),
    /// `failurePolicy` decides.
    Error(String),
    /// The request is refused with this.
    Final(String, Reason),
}

/// An invocation on the object as it is now.
pub(crate) struct Invoked<'a> {
    pub schemas: &'a Schemas,
    /// Of the request's kind.
    pub schema: Option<&'a KindSchema>,
    pub facts: &'a dyn Facts,
    pub invocation: &'a Invocation<'a>,
    pub request: Request<'a>,
    pub variables: &'a RequestVariables,
}

/// `request`, which is the same for all policies, whatever they make of the object; made when a policy
/// wants it.
#[derive(Default)]
pub(crate) struct RequestVariables {
    /// Conditions are shown the resource as it was asked for.
    for_conditions: OnceCell<Value>,
    for_mutations: OnceCell<Value>,
}

impl RequestVariables {
    fn for_conditions(&self, request: &Request<'_>) -> &Value {
        self.for_conditions.get_or_init(|| request.variable(request.request_resource))
    }

    fn for_mutations(&self, request: &Request<'_>) -> &Value {
        if request.resource == request.request_resource {
            return self.for_conditions(request);
        }
        self.for_mutations.get_or_init(|| request.variable(request.resource))
    }
}

impl Invoked<'_> {
    pub(crate) fn conditions(&self, memo: &Memo) -> Result<Conditions, Question> {
        let policy = &self.invocation.policy.policy;
        let decisions = Decisions { facts: self.facts, request: &self.request };
        let inputs = Inputs {
            request: &self.request,
            variable: policy.wants_request.then(|| self.variables.for_conditions(&self.request)),
            params: self.invocation.param.as_deref(),
            namespace: None,
            authorizer: Some(&decisions),
        };
        conditions::evaluate(policy, &inputs, memo)
    }

    /// The object as the mutation leaves it, borrowed if it leaves it as it is.
    pub(crate) fn mutation<'o>(
        &self,
        mutation: &Mutation,
        object: &'o Value,
    ) -> Result<Cow<'o, Value>, Fault> {
        let schema = self.schema;
        let mut changed = match mutation {
            Mutation::Apply(expression) => {
                if schema.is_none() && !self.request.is_for_scale() {
                    return Err(unknown_kind(&self.request));
                }
                let mut configuration = self.evaluated(expression, convert::configuration)?;
                let schema = schema.ok_or_else(unpublished_scale)?;
                for key in ["apiVersion", "kind"] {
                    configuration[key] = object.get(key).cloned().unwrap_or_default();
                }
                merge::apply(self.schemas, schema, object, &configuration)
                    .map(Cow::Owned)
                    .map_err(|text| Fault::Error(format!("error applying patch: {text}")))?
            }
            Mutation::JsonPatch(expression) => {
                let operations = self.evaluated(expression, convert::operations)?;
                match json_patch::apply(object, &operations) {
                    Ok(changed) => with_kind(changed)?,
                    Err(Failure::Test) => Cow::Borrowed(object),
                    Err(Failure::Error(text)) => {
                        return Err(Fault::Error(format!("JSON Patch: {text}")));
                    }
                }
            }
        };
        if let Some(schema) = schema
            && defaults::lacks(&changed, &schema.defaults)
        {
            defaults::fill(changed.to_mut(), &schema.defaults);
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
        let decisions = Decisions { facts: self.facts, request: &self.request };
        let inputs = Inputs {
            request: &self.request,
            variable: policy.wants_request.then(|| self.variables.for_mutations(&self.request)),
            params: self.invocation.param.as_deref(),
            namespace: namespace.as_ref(),
            authorizer: Some(&decisions),
        };
        let mut scope = Scope::new(&inputs, &policy.variables, RUNTIME_BUDGET);
        match scope.evaluate(expression) {
            Ok(Ok(value)) => convert(&value.0).map_err(Fault::Error),
            Ok(Err(text)) | Err(Stop::OutOfBudget(text)) => Err(Fault::Error(text)),
            Err(Stop::Ask(question)) => Err(Fault::Ask(question)),
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

/// The group of `/scale` is there, but does not publish the kind.
fn unpublished_scale() -> Fault {
    let text = "error applying patch: failed to convert patch object to typed object: \
                no corresponding type for autoscaling/v1, Kind=Scale";
    Fault::Error(text.to_owned())
}

/// A patch must leave something that can be read.
fn with_kind(object: Cow<'_, Value>) -> Result<Cow<'_, Value>, Fault> {
    let has = |key: &str| object.get(key).and_then(Value::as_str).is_some_and(|it| !it.is_empty());
    if has("kind") {
        return Ok(object);
    }
    Err(Fault::Final(
        format!("Internal error occurred: Object 'Kind' is missing in '{object}'"),
        Reason::InternalError,
    ))
}
