//! The policy's own variables, evaluated when first asked for.

use super::{Machine, Res, run};
use crate::policy::cel::{
    PER_CALL_LIMIT,
    bindings::{Bindings, Variable},
    depth::{DEEPEST, is_too_deep},
    error::{Error, Failure, fail, no_overload},
    gofmt,
    plan::Plan,
    shape,
    value::Value,
};

/// More variables than this do not lean on each other in one go: the stack is finite.
const NESTING: usize = 16;

/// Evaluates a plan. Where variables lean on each other too deep for the stack, it begins again with the deepest.
pub(crate) fn evaluate<'a>(plan: &'a Plan, bindings: &Bindings<'a>, limit: u64) -> (Res<'a>, u64) {
    loop {
        let (result, cost) = run(plan, bindings, limit);
        match result.as_ref().err().map(Error::failure) {
            Some(Failure::Deferred(variable)) => {
                if let Err(error) = prepare(*variable, bindings) {
                    return (Err(error), cost);
                }
            }
            _ => return (result, cost),
        }
    }
}

/// Sees to it that a variable is known, with those that it leans on. Each turn comes to know one or goes to one that was
/// declared earlier, so there is an end.
fn prepare(variable: usize, bindings: &Bindings<'_>) -> Result<(), Error> {
    let mut waiting = vec![variable];
    while let Some(&variable) = waiting.last() {
        let known = Machine::new(bindings, PER_CALL_LIMIT).known(variable);
        match known.as_ref().map_err(Error::failure) {
            Err(Failure::Deferred(first)) => waiting.push(*first),
            Err(Failure::Unknown(_) | Failure::Interrupted) => return known.map(|_| ()),
            _ => {
                waiting.pop();
            }
        }
    }
    Ok(())
}

impl<'a> Machine<'_, 'a> {
    /// `variables.name`: evaluated once, its cost kept apart.
    pub(in crate::policy::cel) fn variable(
        &mut self,
        key: &Value<'_>,
        presence: bool,
    ) -> Result<Option<Value<'a>>, Error> {
        let Value::String(name) = key else { return Err(no_overload()) };
        let found = shape::unescape(name)
            .and_then(|known| self.bindings.variables.iter().rposition(|it| *it.name == *known));
        match found {
            Some(variable) => self.known(variable).map(Some),
            None if presence => Ok(None),
            None => Err(fail(format!("no such key: {}", &**name))),
        }
    }

    /// The value of a variable by its place.
    fn known(&mut self, variable: usize) -> Res<'a> {
        let Some(Variable { name, program, known }) = self.bindings.variables.get(variable) else {
            return Err(no_overload());
        };
        if let Some(known) = known.get() {
            return known.clone();
        }
        let program = program.map_err(|error| {
            fail(format!("composited variable {} fails to compile: {error}", gofmt::quote(name)))
        })?;
        let depth = self.bindings.nesting.get();
        if depth >= NESTING {
            return Err(Error::new(Failure::Deferred(variable)));
        }
        self.bindings.nesting.set(depth + 1);
        let (result, cost) = run(program.plan(), self.bindings, PER_CALL_LIMIT);
        self.bindings.nesting.set(depth);
        let failure = result.as_ref().err().map(Error::failure);
        if let Some(Failure::Deferred(_)) = failure {
            return result;
        }
        self.bindings.spent.set(self.bindings.spent.get().saturating_add(cost));
        if let Some(Failure::Unknown(_) | Failure::Interrupted) = failure {
            return result;
        }
        let too_deep = || fail(format!("nests more than {DEEPEST} deep, which is not supported"));
        let result = match result {
            Ok(value) if is_too_deep(&value) => Err(too_deep()),
            other => other,
        };
        let result = result.map_err(|error| {
            fail(format!("composited variable {} fails to evaluate: {error}", gofmt::quote(name)))
        });
        known.get_or_init(|| result).clone()
    }
}
