//! `matchConditions`: any that is false skips the policy, whatever the others say; errors count only
//! if none is false.

use super::{
    cel::MATCH_CONDITIONS_BUDGET,
    compiled::Policy,
    engine::{Inputs, Scope, Stop, Variables},
    facts::Question,
};

/// What they come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Conditions {
    Met,
    NotMet,
    /// The API server's text; only if the policy fails on errors.
    Failed(String),
}

/// Conditions see neither the policy's variables nor the namespace.
pub(crate) fn evaluate(policy: &Policy, inputs: &Inputs<'_>) -> Result<Conditions, Question> {
    if policy.conditions.is_empty() {
        return Ok(Conditions::Met);
    }
    let failed = |text: String| {
        if policy.fails { Conditions::Failed(text) } else { Conditions::NotMet }
    };
    let none = Variables::default();
    let inputs = Inputs { namespace: None, ..*inputs };
    let mut scope = Scope::new(&inputs, &none, MATCH_CONDITIONS_BUDGET);
    let mut errors: Vec<String> = Vec::new();
    let mut is_false = false;
    for condition in &policy.conditions {
        match scope.evaluate(condition) {
            Ok(Ok(value)) => is_false |= value.is_false(),
            Ok(Err(error)) if errors.contains(&error) => {}
            Ok(Err(error)) => errors.push(error),
            Err(Stop::Ask(question)) => return Err(question),
            // No condition counts any more, not even one that was false.
            Err(Stop::OutOfBudget(text)) => return Ok(failed(text)),
        }
    }
    Ok(match errors.as_slice() {
        _ if is_false => Conditions::NotMet,
        [] => Conditions::Met,
        [only] => failed(only.clone()),
        many => failed(format!("[{}]", many.join(", "))),
    })
}
