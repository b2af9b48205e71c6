//! What an evaluation is given: the request's objects, borrowed, and the policy's variables.

use super::{authorizer::Authorizer, error::Error, library, program::Program, value::Value};
use crate::policy::json::Json;
use serde_json::Value as JsonValue;
use std::cell::{Cell, OnceCell};

/// The variables of one evaluation; a memo of the policy's own variables lives as long as this does,
/// which is one policy, binding and param in the API server.
#[derive(Default)]
pub struct Bindings<'a> {
    pub(crate) object: Option<Json<'a>>,
    pub(crate) old_object: Option<Json<'a>>,
    pub(crate) params: Option<Json<'a>>,
    pub(crate) request: Option<Json<'a>>,
    pub(crate) namespace_object: Option<Json<'a>>,
    pub(crate) key: Option<Json<'a>>,
    pub(crate) holder: Option<Json<'a>>,
    pub(crate) hardware: Option<Json<'a>>,
    pub(crate) inventory: Option<Json<'a>>,
    pub(crate) node: Option<Json<'a>>,
    pub(crate) authorizer: Option<&'a dyn Authorizer>,
    pub(crate) interrupt: Option<&'a dyn Fn() -> bool>,
    pub(crate) variables: Vec<Variable<'a>>,
    /// What variables have cost since it was last asked.
    pub(crate) spent: Cell<u64>,
    pub(crate) nesting: Cell<usize>,
    /// `authorizer.requestResource`, of which there is one.
    pub(crate) resource_check: OnceCell<Value<'a>>,
}

/// A variable of the policy, and what it came to when it was first asked for.
pub(crate) struct Variable<'a> {
    pub name: &'a str,
    /// Or why it does not compile.
    pub program: Result<&'a Program, &'a str>,
    pub known: OnceCell<Result<Value<'a>, Error>>,
}

impl<'a> Variable<'a> {
    pub(crate) fn new(name: &'a str, program: &'a Program) -> Self {
        Self { name, program: Ok(program), known: OnceCell::new() }
    }
}

impl<'a> Bindings<'a> {
    /// Nothing bound: every variable is null.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    pub(crate) fn resource_check(&self) -> Option<Value<'a>> {
        let authorizer = self.authorizer?;
        let made = || library::authz::request_resource(&authorizer.request_resource());
        Some(self.resource_check.get_or_init(made).clone())
    }

    /// Binds `object`; unbound on DELETE.
    #[must_use]
    pub fn object(mut self, object: &'a JsonValue) -> Self {
        self.object = Some(Json::Value(object));
        self
    }

    /// Binds `oldObject`; unbound on CREATE.
    #[must_use]
    pub fn old_object(mut self, object: &'a JsonValue) -> Self {
        self.old_object = Some(Json::Value(object));
        self
    }

    /// Binds `params`.
    #[must_use]
    pub fn params(mut self, params: &'a JsonValue) -> Self {
        self.params = Some(Json::Value(params));
        self
    }

    /// Binds `request`, in the shape that the API server gives it.
    #[must_use]
    pub fn request(mut self, request: &'a JsonValue) -> Self {
        self.request = Some(Json::Value(request));
        self
    }

    /// Binds `namespaceObject`; unbound for what is not in a namespace.
    #[must_use]
    pub fn namespace_object(mut self, namespace: &'a JsonValue) -> Self {
        self.namespace_object = Some(Json::Value(namespace));
        self
    }

    /// Binds `key` and `holder`.
    #[must_use]
    pub fn held(mut self, key: &'a JsonValue, holder: &'a JsonValue) -> Self {
        self.key = Some(Json::Value(key));
        self.holder = Some(Json::Value(holder));
        self
    }

    /// Binds `hardware`, `inventory` and `node`.
    #[must_use]
    pub fn report(
        mut self,
        hardware: &'a JsonValue,
        inventory: &'a JsonValue,
        node: &'a JsonValue,
    ) -> Self {
        self.hardware = Some(Json::Value(hardware));
        self.inventory = Some(Json::Value(inventory));
        self.node = Some(Json::Value(node));
        self
    }

    /// Binds `authorizer` and `authorizer.requestResource`.
    #[must_use]
    pub fn authorizer(mut self, authorizer: &'a dyn Authorizer) -> Self {
        self.authorizer = Some(authorizer);
        self
    }

    /// Asked every 100 turns of loops; true ends the evaluation.
    #[must_use]
    pub fn interrupt(mut self, interrupt: &'a dyn Fn() -> bool) -> Self {
        self.interrupt = Some(interrupt);
        self
    }

    /// Adds `variables.name`.
    #[must_use]
    pub fn variable(mut self, name: &'a str, program: &'a Program) -> Self {
        self.variables.push(Variable::new(name, program));
        self
    }

    /// Adds `variables.name` whose expression does not compile, with the API server's text: whoever
    /// asks for it gets an error.
    #[must_use]
    pub fn broken_variable(mut self, name: &'a str, error: &'a str) -> Self {
        self.variables.push(Variable { name, program: Err(error), known: OnceCell::new() });
        self
    }
}
