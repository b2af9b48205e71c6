//! A compiled expression.

use super::{
    authorizer::Question,
    bindings::Bindings,
    environment::Environment,
    error::{Error, Failure},
    eval,
    plan::Plan,
    source::{Problem, Raised, Source},
    types::Type,
    validate,
    value::Value,
    {PER_CALL_LIMIT, check, lower, parse},
};
use std::{fmt, sync::Arc};

/// Longer expressions are refused before they are read (the API server takes 100,000 code points).
pub const MAX_SOURCE: usize = 16 * 1024;
/// Larger trees are refused before they are checked.
pub const MAX_NODES: usize = 10_000;
/// The stack of the thread that compiles: the parser, the checker and the planner recurse.
const COMPILE_STACK: usize = 32 * 1024 * 1024;

/// An expression, ready to be evaluated any number of times, from any thread.
#[derive(Debug, Clone)]
pub struct Program {
    source: Arc<str>,
    plan: Arc<Plan>,
}

/// Why an expression does not compile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompileErrors {
    /// All problems with places, if it is about places.
    pub problems: Vec<Problem>,
    text: String,
}

impl CompileErrors {
    fn plain(text: impl Into<String>) -> Self {
        Self { problems: Vec::new(), text: text.into() }
    }

    fn placed(problems: Vec<Problem>) -> Self {
        let shown: Vec<&str> = problems.iter().map(|p| p.display.as_str()).collect();
        let text = format!("compilation failed: {}", shown.join("\n"));
        Self { problems, text }
    }
}

/// The API server's text.
impl fmt::Display for CompileErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for CompileErrors {}

/// What an evaluation gave.
#[derive(Debug)]
pub struct Outcome<'a> {
    /// A value, CEL's error, or a question to be answered first.
    pub result: Result<Value<'a>, Error>,
    /// What the expression itself cost.
    pub cost: u64,
    /// What the variables cost that it was the first to ask for.
    pub variables_cost: u64,
}

impl Outcome<'_> {
    /// The authorization that has to be fetched before the evaluation is repeated.
    #[must_use]
    pub fn question(&self) -> Option<&Question> {
        match self.result.as_ref().err().map(Error::failure) {
            Some(Failure::Unknown(question)) => Some(question),
            _ => None,
        }
    }
}

/// Compiles an expression whose type must be one of `expected` (empty: any).
///
/// Runs on a thread of its own with a large stack, so that no expression can exhaust the caller's.
pub fn compile(
    source: &str,
    environment: &Environment,
    expected: &[Type],
) -> Result<Program, CompileErrors> {
    if source.len() > MAX_SOURCE {
        return Err(CompileErrors::plain(format!(
            "expression is too long: {} bytes, at most {MAX_SOURCE} are supported",
            source.len()
        )));
    }
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .name("cel-compile".to_owned())
            .stack_size(COMPILE_STACK)
            .spawn_scoped(scope, || compile_here(source, environment, expected));
        match thread.map(std::thread::ScopedJoinHandle::join) {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => Err(CompileErrors::plain("internal error: the compiler panicked")),
            Err(error) => Err(CompileErrors::plain(format!("could not start a thread: {error}"))),
        }
    })
}

fn compile_here(
    source: &str,
    environment: &Environment,
    expected: &[Type],
) -> Result<Program, CompileErrors> {
    let place = |raised: Vec<Raised>| CompileErrors::placed(Source::new(source).problems(raised));
    let mut parsed = parse::parse(source).map_err(place)?;
    if parsed.ids > MAX_NODES {
        return Err(CompileErrors::plain(format!(
            "expression is too large: {} nodes, at most {MAX_NODES} are supported",
            parsed.ids
        )));
    }
    let (checked, errors) = check::check(&mut parsed.root, parsed.ids, environment);
    if !errors.is_empty() {
        return Err(place(errors));
    }
    let errors = validate::validate(&parsed.root, &checked);
    if !errors.is_empty() {
        return Err(place(errors));
    }
    let found = checked.types[parsed.root.id].clone().unwrap_or(Type::Dyn);
    if !expected.is_empty() && !expected.contains(&found) {
        return Err(CompileErrors::plain(match expected {
            [one] => format!("must evaluate to {one} but got {found}"),
            many => {
                let names: Vec<String> = many.iter().map(ToString::to_string).collect();
                format!("must evaluate to one of [{}] but got {found}", names.join(" "))
            }
        }));
    }
    if checked.untyped {
        let text = "unexpected compilation error: missing type conversion to proto: ";
        return Err(CompileErrors::plain(text));
    }
    let plan = lower::lower(&parsed.root, &checked, environment)
        .map_err(|text| CompileErrors::plain(format!("program instantiation failed: {text}")))?;
    Ok(Program { source: Arc::from(source), plan: Arc::new(plan) })
}

impl Program {
    /// The text it was compiled from.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The static type of what it gives.
    #[must_use]
    pub fn result_type(&self) -> &Type {
        &self.plan.result
    }

    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Evaluates with the API server's limit on a single expression.
    ///
    /// The budget of a policy is the caller's: it subtracts `variables_cost`, then `cost`, as
    /// [`Budget::charge`] does.
    #[must_use]
    pub fn evaluate<'a>(&'a self, bindings: &Bindings<'a>) -> Outcome<'a> {
        bindings.spent.set(0);
        let (result, cost) = eval::run(&self.plan, bindings, PER_CALL_LIMIT);
        Outcome { result, cost, variables_cost: bindings.spent.take() }
    }
}

/// What is left to spend of a policy's budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget(u64);

/// The budget is spent; the API server's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "validation failed due to running out of cost budget, no further validation rules will be run"
)]
pub struct OutOfBudget;

impl Budget {
    /// So much.
    #[must_use]
    pub fn new(units: u64) -> Self {
        Self(units)
    }

    /// What is left.
    #[must_use]
    pub fn left(self) -> u64 {
        self.0
    }

    /// Subtracts what an evaluation cost, or says that it was too much.
    pub fn charge(&mut self, outcome: &Outcome<'_>) -> Result<(), OutOfBudget> {
        for cost in [outcome.variables_cost, outcome.cost] {
            self.0 = self.0.checked_sub(cost).ok_or(OutOfBudget)?;
        }
        Ok(())
    }
}
