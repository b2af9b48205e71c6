//! One invocation of a mutating policy: its conditions, and each of its mutations on the object as the
//! one before left it.

use std::cell::OnceCell;

use serde_json::Value;

use super::{
    cel::{self, RUNTIME_BUDGET},
    compiled::Mutation,
    conditions::{self, Conditions, Memo},
    convert, defaults,
    engine::{Decisions, Expression, Inputs, Scope, Stop},
    facts::{Facts, Lookup, Question},
    json::{Json, Tree},
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
pub(crate) struct Invoked<'i, 'a> {
    pub schemas: &'i Schemas,
    /// Of the request's kind.
    pub schema: Option<&'i KindSchema>,
    pub facts: &'i dyn Facts,
    pub invocation: &'i Invocation<'i>,
    pub request: Request<'i>,
    pub variables: &'i RequestVariables<'a>,
}

/// `request`, which is the same for all policies, whatever they make of the object; made when a policy
/// wants it.
pub(crate) struct RequestVariables<'a> {
    request: Request<'a>,
    /// Conditions are shown the resource as it was asked for.
    for_conditions: OnceCell<Tree<'a>>,
    for_mutations: OnceCell<Tree<'a>>,
}

impl<'a> RequestVariables<'a> {
    pub(crate) fn new(request: &Request<'a>) -> Self {
        Self { request: *request, for_conditions: OnceCell::new(), for_mutations: OnceCell::new() }
    }

    fn for_conditions(&self) -> &Tree<'a> {
        let request = &self.request;
        self.for_conditions.get_or_init(|| request.variable(request.request_resource))
    }

    fn for_mutations(&self) -> &Tree<'a> {
        let request = &self.request;
        if request.resource == request.request_resource {
            return self.for_conditions();
        }
        self.for_mutations.get_or_init(|| request.variable(request.resource))
    }
}

impl Invoked<'_, '_> {
    pub(crate) fn conditions(&self, memo: &Memo) -> Result<Conditions, Question> {
        let policy = &self.invocation.policy.policy;
        let decisions = Decisions { facts: self.facts, request: &self.request };
        let inputs = Inputs {
            request: &self.request,
            variable: policy.wants_request.then(|| self.variables.for_conditions()),
            params: self.invocation.param.as_deref().map(Json::Value),
            namespace: None,
            authorizer: Some(&decisions),
        };
        conditions::evaluate(policy, &inputs, memo)
    }

    /// The object as the mutation leaves it; none if it leaves it as it is. `copy` is a copy of the object.
    pub(crate) fn mutation<'o>(
        &self,
        mutation: &Mutation,
        object: Json<'_>,
        copy: impl Fn() -> Tree<'o>,
    ) -> Result<Option<Tree<'o>>, Fault> {
        let schema = self.schema;
        let mut changed = match mutation {
            Mutation::Apply(expression) => {
                if schema.is_none() && !self.request.is_for_scale() {
                    return Err(unknown_kind(&self.request));
                }
                let mut configuration = self.evaluated(expression, convert::configuration)?;
                let schema = schema.ok_or_else(unpublished_scale)?;
                for key in ["apiVersion", "kind"] {
                    configuration[key] = object.get(key).map(Json::to_value).unwrap_or_default();
                }
                let merged = merge::apply(self.schemas, schema, &object.to_value(), &configuration)
                    .map_err(|text| Fault::Error(format!("error applying patch: {text}")))?;
                Some(Tree::owned(merged))
            }
            Mutation::JsonPatch(expression) => {
                let operations = self.evaluated(expression, convert::operations)?;
                let changed = if operations.is_empty() {
                    Ok(None)
                } else {
                    json_patch::apply(copy(), &operations).map(Some)
                };
                let changed = match changed {
                    Ok(changed) => changed,
                    Err(Failure::Test) => None,
                    Err(Failure::Error(text)) => {
                        return Err(Fault::Error(format!("JSON Patch: {text}")));
                    }
                };
                has_kind(changed.as_ref().map_or(object, Json::from))?;
                changed
            }
        };
        if let Some(schema) = schema
            && defaults::lacks(changed.as_ref().map_or(object, Json::from), &schema.defaults)
        {
            defaults::fill(changed.get_or_insert_with(copy), &schema.defaults);
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
            variable: policy.wants_request.then(|| self.variables.for_mutations()),
            params: self.invocation.param.as_deref().map(Json::Value),
            namespace: namespace.as_ref().map(Json::Value),
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
fn has_kind(object: Json<'_>) -> Result<(), Fault> {
    if object.get("kind").and_then(Json::as_str).is_some_and(|kind| !kind.is_empty()) {
        return Ok(());
    }
    let object = object.to_value();
    Err(Fault::Final(
        format!("Internal error occurred: Object 'Kind' is missing in '{object}'"),
        Reason::InternalError,
    ))
}
