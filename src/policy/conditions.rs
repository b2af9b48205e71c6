//! `matchConditions`: any that is false skips the policy, whatever the others say; errors count only
//! if none is false.

use std::{cell::RefCell, collections::HashMap};

use super::{
    cel::MATCH_CONDITIONS_BUDGET,
    compiled::Policy,
    engine::{Expression, Inputs, Scope, Stop, Variables},
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

/// A condition, and which others say the same of a request.
#[derive(Debug)]
pub(crate) struct Condition {
    expression: Expression,
    /// The same number for the same text; none if policies may see different things by it.
    shared: Option<usize>,
}

impl Condition {
    pub(crate) fn expression(&self) -> &Expression {
        &self.expression
    }
}

/// Gives conditions of the same text the same number: most policies begin with the same one or two.
#[derive(Debug, Default)]
pub(crate) struct Numbering(HashMap<String, usize>);

impl Numbering {
    pub(crate) fn condition(&mut self, expression: Expression) -> Condition {
        let shared = expression.is_of_the_request_alone().then(|| {
            let next = self.0.len();
            *self.0.entry(expression.source().to_owned()).or_insert(next)
        });
        Condition { expression, shared }
    }
}

/// What conditions have come to on one object of one request.
#[derive(Debug, Default)]
pub(crate) struct Memo(RefCell<Vec<Option<Known>>>);

#[derive(Debug, Clone)]
struct Known {
    /// Whether it is false, or the API server's text for the error.
    is_false: Result<bool, String>,
    cost: u64,
}

impl Memo {
    fn recall(&self, number: usize) -> Option<Known> {
        self.0.borrow().get(number).cloned().flatten()
    }

    /// What all of these come to, if each has been judged and none failed: for most policies they have.
    fn recall_all(&self, conditions: &[Condition]) -> Option<Conditions> {
        let all = self.0.borrow();
        let (mut is_false, mut cost) = (false, 0_u64);
        for condition in conditions {
            let known = all.get(condition.shared?)?.as_ref()?;
            is_false |= *known.is_false.as_ref().ok()?;
            cost = cost.checked_add(known.cost)?;
        }
        let met = if is_false { Conditions::NotMet } else { Conditions::Met };
        (cost <= MATCH_CONDITIONS_BUDGET).then_some(met)
    }

    fn keep(&self, number: usize, known: Known) {
        let mut all = self.0.borrow_mut();
        if all.len() <= number {
            all.resize(number + 1, None);
        }
        all[number] = Some(known);
    }
}

/// Conditions see neither the policy's variables nor the namespace.
pub(crate) fn evaluate(
    policy: &Policy,
    inputs: &Inputs<'_>,
    memo: &Memo,
) -> Result<Conditions, Question> {
    if policy.conditions.is_empty() {
        return Ok(Conditions::Met);
    }
    if let Some(known) = memo.recall_all(&policy.conditions) {
        return Ok(known);
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
        match judge(condition, &mut scope, memo) {
            Ok(Ok(judged)) => is_false |= judged,
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

/// Whether a condition is false, evaluated once for all policies that have it, and charged to each.
fn judge<'a>(
    condition: &'a Condition,
    scope: &mut Scope<'a>,
    memo: &Memo,
) -> Result<Result<bool, String>, Stop> {
    if let Some(known) = condition.shared.and_then(|number| memo.recall(number)) {
        scope.charge(known.cost)?;
        return Ok(known.is_false);
    }
    let before = scope.remaining();
    let is_false = scope.evaluate(&condition.expression)?.map(|value| value.is_false());
    if let Some(number) = condition.shared {
        let cost = before - scope.remaining();
        memo.keep(number, Known { is_false: is_false.clone(), cost });
    }
    Ok(is_false)
}
