//! The seam to CEL: expressions compiled for their role, and evaluated within a budget.

use std::sync::Arc;

use super::{
    cel::{
        self, Bindings, Budget, CompileErrors, Environment, Extension, Program, Type,
        Value as CelValue,
        authorizer::{Answer, Authorizer, Question as Authorization, ResourceAttributes},
    },
    check::{Compile, CompileFault, Role},
    document::Tier,
    facts::{Facts, Question},
    json::{Json, Tree},
    request::Request,
};

/// An expression that compiled, and how the policy wrote it.
#[derive(Debug)]
pub(crate) struct Expression {
    source: String,
    program: Program,
}

impl Expression {
    /// With the blanks around it that the compiler was not given.
    #[must_use]
    pub(crate) fn said(self, source: &str) -> Self {
        Self { source: source.to_owned(), ..self }
    }

    pub(crate) fn source(&self) -> &str {
        &self.source
    }

    pub(crate) fn uses_namespace(&self) -> bool {
        self.program.uses("namespaceObject")
    }

    /// Whether two policies with this text see the same in one request.
    pub(crate) fn is_of_the_request_alone(&self) -> bool {
        !["params", "authorizer", "authorizer.requestResource"]
            .iter()
            .any(|variable| self.program.uses(variable))
    }

    /// The resource to be authorized is taken from the request, too.
    pub(crate) fn uses_request(&self) -> bool {
        self.program.uses("request") || self.program.uses("authorizer.requestResource")
    }
}

/// The variables of a policy, in order.
#[derive(Debug, Default)]
pub(crate) struct Variables(Vec<(String, Expression)>);

impl Variables {
    pub(crate) fn new(variables: impl IntoIterator<Item = (String, Expression)>) -> Self {
        Self(variables.into_iter().collect())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    fn bound(&self) -> Vec<cel::Variable<'_>> {
        self.0.iter().map(|(name, it)| cel::Variable::new(name, &it.program)).collect()
    }

    pub(crate) fn expressions(&self) -> impl Iterator<Item = &Expression> {
        self.0.iter().map(|(_, expression)| expression)
    }
}

/// The expressions of a policy, by their roles, each in its order.
#[derive(Debug, Default)]
pub(crate) struct Compiled {
    pub conditions: Vec<Expression>,
    pub variables: Vec<Expression>,
    pub validations: Vec<Expression>,
    pub messages: Vec<Expression>,
    pub audits: Vec<Expression>,
    pub mutations: Vec<Expression>,
    pub keys: Vec<Expression>,
}

/// Compiles the expressions of one policy.
pub(crate) struct Compiler {
    tier: Tier,
    base: Environment,
    /// The same, with the variables that are known so far.
    composed: Environment,
    compiled: Compiled,
}

impl Compiler {
    pub(crate) fn new(
        tier: Tier,
        extensions: &[Arc<Extension>],
        has_params: bool,
        has_variables: bool,
    ) -> Self {
        let mut base = Environment::new();
        if has_params {
            base = base.with_params();
        }
        if tier == Tier::Extended {
            for extension in extensions {
                base = base.with_extension(Arc::clone(extension));
            }
        }
        let composed = if has_variables { base.clone().with_variables() } else { base.clone() };
        Self { tier, base, composed, compiled: Compiled::default() }
    }

    pub(crate) fn finish(self) -> Compiled {
        self.compiled
    }
}

impl Compile for Compiler {
    fn compile(&mut self, role: Role<'_>, source: &str) -> Result<(), CompileFault> {
        let composed = || self.composed.clone();
        let environment = match role {
            Role::MatchCondition => self.base.clone().with_authorizer(),
            Role::Message | Role::Key => composed(),
            Role::HeldMessage => composed().with_holder(),
            Role::Variable(_) | Role::Validation | Role::AuditAnnotation => {
                composed().with_authorizer()
            }
            Role::ApplyConfiguration | Role::JsonPatch => {
                composed().with_authorizer().with_patch_types()
            }
        };
        let compiled = cel::compile(source, &environment, &wanted(role, self.tier));
        if let Role::Variable(name) = role {
            // One that does not compile is anything to the others, so as not to fail them too.
            let known = compiled.as_ref().map_or(&Type::Dyn, Program::result_type);
            self.composed.declare(name, known);
        }
        let program = compiled.map_err(|errors| fault(source, &errors))?;
        let expression = Expression { source: source.to_owned(), program };
        match role {
            Role::MatchCondition => self.compiled.conditions.push(expression),
            Role::Variable(_) => self.compiled.variables.push(expression),
            Role::Validation => self.compiled.validations.push(expression),
            Role::Message | Role::HeldMessage => self.compiled.messages.push(expression),
            Role::Key => self.compiled.keys.push(expression),
            Role::AuditAnnotation => self.compiled.audits.push(expression),
            Role::ApplyConfiguration | Role::JsonPatch => self.compiled.mutations.push(expression),
        }
        Ok(())
    }
}

/// The types that an expression of this role may have.
fn wanted(role: Role<'_>, tier: Tier) -> Vec<Type> {
    match role {
        Role::Variable(_) => Vec::new(),
        Role::MatchCondition | Role::Validation => vec![Type::Bool],
        Role::Message if tier == Tier::Extended => vec![Type::String, Type::list(Type::String)],
        Role::Message | Role::HeldMessage => vec![Type::String],
        // What an object holds has no type before it is there: then its value is looked at.
        Role::Key => vec![
            Type::String,
            Type::list(Type::String),
            Type::list(Type::Dyn),
            Type::Dyn,
            Type::Null,
        ],
        Role::AuditAnnotation => vec![Type::String, Type::Null],
        Role::ApplyConfiguration => vec![Type::structure("Object")],
        Role::JsonPatch => vec![Type::list(Type::structure("JSONPatch"))],
    }
}

/// The text is of all problems; the place and the help are of the first that has them.
fn fault(source: &str, errors: &CompileErrors) -> CompileFault {
    let at = errors.problems.iter().find_map(|problem| {
        let line = usize::try_from(problem.line).ok()?.checked_sub(1)?;
        let column = usize::try_from(problem.column).ok()?.checked_sub(1)?;
        let before: usize =
            source.split_inclusive('\n').take(line).map(|line| line.chars().count()).sum();
        Some(before + column)
    });
    let detail = errors.to_string();
    let meant = errors.problems.iter().find_map(|problem| problem.suggestion.as_ref());
    let suggestion = match meant {
        Some(meant) => Some(format!("did you mean {meant:?}?")),
        None => (detail == NOT_A_BOOL).then(|| COMPARE_IT.to_owned()),
    };
    CompileFault { detail, at: at.or(Some(0)), suggestion }
}

/// The mistake that everybody makes once.
const NOT_A_BOOL: &str = "must evaluate to bool but got dyn";
const COMPARE_IT: &str = "what an object holds has no type before it is there: compare it, as in `object.spec.online == true`";

/// What expressions are evaluated on.
#[derive(Clone, Copy)]
pub(crate) struct Inputs<'a> {
    pub request: &'a Request<'a>,
    /// The variable `request`, if an expression may want it.
    pub variable: Option<&'a Tree<'a>>,
    pub params: Option<Json<'a>>,
    pub namespace: Option<Json<'a>>,
    pub authorizer: Option<&'a Decisions<'a>>,
}

/// The authorizations that are known of a request.
#[derive(Clone, Copy)]
pub(crate) struct Decisions<'a> {
    pub facts: &'a dyn Facts,
    pub request: &'a Request<'a>,
}

impl Authorizer for Decisions<'_> {
    fn decide(&self, question: &Authorization) -> Answer {
        match self.facts.authorization(question) {
            Some(decision) => Answer::Known(decision.clone()),
            None => Answer::Unknown,
        }
    }

    fn request_resource(&self) -> ResourceAttributes {
        let request = self.request;
        ResourceAttributes {
            group: request.request_resource.group.to_owned(),
            resource: request.request_resource.name.to_owned(),
            subresource: request.sub_resource.to_owned(),
            namespace: request.namespace.to_owned(),
            name: request.name.to_owned(),
            ..ResourceAttributes::default()
        }
    }
}

/// Why no further expression is evaluated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stop {
    Ask(Question),
    /// The API server's text.
    OutOfBudget(String),
}

/// Expressions that share their variables, evaluated at most once, and a budget.
pub(crate) struct Scope<'a> {
    bindings: Bindings<'a>,
    budget: Budget,
}

/// A value, or the API server's text for the error.
pub(crate) type Evaluated<'a> = Result<Outcome<'a>, String>;

/// A value that an expression came to.
pub(crate) struct Outcome<'a>(pub CelValue<'a>);

impl Outcome<'_> {
    pub(crate) fn is_true(&self) -> bool {
        matches!(self.0, CelValue::Bool(true))
    }

    pub(crate) fn is_false(&self) -> bool {
        matches!(self.0, CelValue::Bool(false))
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(self.0, CelValue::Null)
    }

    pub(crate) fn as_text(&self) -> Option<&str> {
        if let CelValue::String(text) = &self.0 { Some(text) } else { None }
    }

    /// The texts of a list of them.
    pub(crate) fn as_texts(&self) -> Option<Vec<String>> {
        let CelValue::List(items) = &self.0 else { return None };
        Some(items.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect())
    }

    pub(crate) fn type_name(&self) -> &str {
        self.0.type_name()
    }
}

impl<'a> Scope<'a> {
    pub(crate) fn new(inputs: &Inputs<'a>, variables: &'a Variables, budget: u64) -> Self {
        let bindings = Bindings {
            object: inputs.request.object,
            old_object: inputs.request.old_object,
            params: inputs.params,
            request: inputs.variable.map(Json::Tree),
            namespace_object: inputs.namespace,
            authorizer: inputs.authorizer.map(|it| it as &dyn Authorizer),
            variables: variables.bound(),
            ..Bindings::default()
        };
        Self { bindings, budget: Budget::new(budget) }
    }

    /// On an object alone, which is no request.
    pub(crate) fn of_object(object: Json<'a>, variables: &'a Variables, budget: u64) -> Self {
        let bindings =
            Bindings { object: Some(object), variables: variables.bound(), ..Bindings::default() };
        Self { bindings, budget: Budget::new(budget) }
    }

    /// With a key, and whose it is.
    pub(crate) fn held(self, key: Json<'a>, holder: Json<'a>) -> Self {
        Self {
            bindings: Bindings { key: Some(key), holder: Some(holder), ..self.bindings },
            ..self
        }
    }

    /// What is left of the budget.
    pub(crate) fn remaining(&self) -> u64 {
        self.budget.left()
    }

    /// Charges for what need not be evaluated again.
    pub(crate) fn charge(&mut self, cost: u64) -> Result<(), Stop> {
        self.budget.spend(cost).map_err(|spent| Stop::OutOfBudget(spent.to_string()))
    }

    pub(crate) fn evaluate(&mut self, expression: &'a Expression) -> Result<Evaluated<'a>, Stop> {
        let outcome = expression.program.evaluate(&self.bindings);
        if let Some(question) = outcome.question() {
            return Err(Stop::Ask(Question::Authorization(Box::new(question.clone()))));
        }
        self.budget.charge(&outcome).map_err(|spent| Stop::OutOfBudget(spent.to_string()))?;
        Ok(outcome.result.map(Outcome).map_err(|error| {
            format!("expression '{}' resulted in error: {error}", expression.source)
        }))
    }
}
