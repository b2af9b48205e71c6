//! What the expressions of a validating policy come to for one param: a decision for each
//! validation, and the audit annotations.

use super::{
    cel::RUNTIME_BUDGET,
    compiled::{Policy, ValidatingPolicy, Validation},
    engine::{Inputs, Scope, Stop},
    facts::Question,
    spoken::Spoken,
    verdict::{Cause, Reason},
};

/// The longest message that an expression may give.
const LONGEST_MESSAGE: usize = 5 * 1024;
/// The longest audit annotation.
const LONGEST_ANNOTATION: usize = 10 * 1024;
/// More than one expression can cost: its limit, and what a step may overshoot it by.
const MOST_PER_EXPRESSION: u64 = 1_100_000;

/// What one validation comes to that does not hold.
#[derive(Default)]
pub(crate) struct Decision {
    pub validation: Option<usize>,
    /// None if its error is ignored.
    pub denial: Option<(Cause, String, Reason)>,
    /// Whether it could not be evaluated, ignored or not.
    pub is_error: bool,
    /// Whether its message is one of several that the validation gave.
    pub is_listed: bool,
    /// Whether the stored object already had it, and the policy ratchets.
    pub was_stored: bool,
}

/// What one param comes to.
#[derive(Default)]
pub(crate) struct Decided {
    pub decisions: Vec<Decision>,
    pub annotations: Vec<(String, Annotation)>,
}

pub(crate) enum Annotation {
    Publish(String),
    Error(String),
}

impl Decided {
    /// One decision instead of all others.
    pub(crate) fn failed(policy: &Policy, text: String) -> Self {
        let denial = policy.fails.then_some((Cause::Error, text, Reason::Invalid));
        let decision = Decision { denial, is_error: true, ..Decision::default() };
        Self { decisions: vec![decision], annotations: Vec::new() }
    }
}

/// What was found, or why nothing more was: out of budget, or something must be known first.
pub(crate) type Stopped<T> = Result<Result<T, String>, Question>;

pub(crate) fn validations(
    policy: &ValidatingPolicy,
    inputs: &Inputs<'_>,
) -> Stopped<Vec<Decision>> {
    let definition = &policy.policy;
    let mut scope = Scope::new(inputs, &definition.variables, RUNTIME_BUDGET);
    let mut results = Vec::with_capacity(policy.validations.len());
    for validation in &policy.validations {
        match scope.evaluate(&validation.expression) {
            Ok(result) => results.push(result.map(|value| value.is_true())),
            Err(Stop::Ask(question)) => return Err(question),
            Err(Stop::OutOfBudget(text)) => return Ok(Err(text)),
        }
    }
    let messages = match messages(policy, inputs, &results, scope.remaining())? {
        Ok(messages) => messages,
        // Then nothing holds any more, not even what was true.
        Err(text) => {
            let text = format!("failed messageExpression: {text}");
            results =
                results.into_iter().map(|result| result.and_then(|_| Err(text.clone()))).collect();
            Vec::new()
        }
    };
    let mut messages = messages.into_iter();
    let mut decisions = Vec::new();
    for (index, (validation, result)) in policy.validations.iter().zip(results).enumerate() {
        let said = messages.next().flatten();
        let decision = |denial, is_error| Decision {
            validation: Some(index),
            denial,
            is_error,
            ..Decision::default()
        };
        match result {
            Ok(true) => {}
            Ok(false) => {
                decisions.extend(broken(validation, said).into_iter().map(
                    |(message, is_listed)| Decision {
                        is_listed,
                        ..decision(Some((Cause::Rule, message, validation.reason)), false)
                    },
                ));
            }
            Err(text) => {
                let denial = (Cause::Error, text, Reason::Invalid);
                decisions.push(decision(definition.fails.then_some(denial), true));
            }
        }
    }
    Ok(Ok(decisions))
}

/// What a message expression says.
enum Said {
    One(String),
    /// Only in the extended tier: each is a finding of its own.
    Many(Vec<String>),
}

/// What the message expressions say. The API server evaluates them all, always; that shows only if it
/// runs out of budget, so where it cannot, only those that are wanted are evaluated.
fn messages(
    policy: &ValidatingPolicy,
    inputs: &Inputs<'_>,
    results: &[Result<bool, String>],
    budget: u64,
) -> Stopped<Vec<Option<Said>>> {
    let expressions = policy.validations.iter().map(|it| it.message_expression.as_ref());
    let count = expressions.clone().flatten().count() + policy.policy.variables.len();
    let is_bounded =
        u64::try_from(count).is_ok_and(|count| count.saturating_mul(MOST_PER_EXPRESSION) <= budget);
    if is_bounded && !results.contains(&Ok(false)) {
        return Ok(Ok(Vec::new()));
    }
    let inputs = Inputs { authorizer: None, ..*inputs };
    let mut scope = Scope::new(&inputs, &policy.policy.variables, budget);
    let mut messages = Vec::with_capacity(results.len());
    for (expression, result) in expressions.zip(results) {
        let wanted = expression.filter(|_| !is_bounded || *result == Ok(false));
        let said = match wanted.map(|expression| scope.evaluate(expression)) {
            None | Some(Ok(Err(_))) => None,
            Some(Ok(Ok(value))) => match value.as_texts() {
                Some(texts) => Some(Said::Many(texts)),
                None => value.as_text().map(|text| Said::One(text.to_owned())),
            },
            Some(Err(Stop::Ask(question))) => return Err(question),
            Some(Err(Stop::OutOfBudget(text))) => return Ok(Err(text)),
        };
        messages.push(said);
    }
    Ok(Ok(messages))
}

/// What the expression says if it is fit to be shown, else what the policy says, else the rule; and
/// whether that is one message of several.
fn broken(validation: &Validation, said: Option<Said>) -> Vec<(String, bool)> {
    let said = match said {
        None => Vec::new(),
        Some(Said::One(text)) => vec![(text, false)],
        Some(Said::Many(texts)) => texts.into_iter().map(|text| (text, true)).collect(),
    };
    let mut fit: Vec<(String, bool)> = said
        .into_iter()
        .map(|(text, is_listed)| (text.trim().to_owned(), is_listed))
        .filter(|(text, _)| is_fit(text))
        .collect();
    if fit.is_empty() {
        let message = match validation.message.trim() {
            "" => Spoken::FailedExpression
                .said(format!("failed expression: {}", validation.expression.source().trim())),
            message => message.to_owned(),
        };
        fit.push((message, false));
    }
    fit
}

fn is_fit(text: &str) -> bool {
    !text.is_empty() && text.len() <= LONGEST_MESSAGE && !text.contains('\n')
}

pub(crate) fn annotations(
    policy: &ValidatingPolicy,
    inputs: &Inputs<'_>,
) -> Stopped<Vec<(String, Annotation)>> {
    let definition = &policy.policy;
    if policy.audits.is_empty() {
        return Ok(Ok(Vec::new()));
    }
    let mut scope = Scope::new(inputs, &definition.variables, RUNTIME_BUDGET);
    let mut annotations = Vec::new();
    for audit in &policy.audits {
        let annotation = match scope.evaluate(&audit.expression) {
            Err(Stop::Ask(question)) => return Err(question),
            Err(Stop::OutOfBudget(text)) => return Ok(Err(text)),
            Ok(Err(text)) => definition.fails.then_some(Annotation::Error(text)),
            Ok(Ok(value)) => match value.as_text().map(str::trim) {
                Some("") => None,
                Some(text) => Some(Annotation::Publish(cut(text, LONGEST_ANNOTATION).to_owned())),
                None if value.is_null() => None,
                None => Some(Annotation::Error(format!(
                    "valueExpression '{}' resulted in unsupported return type: {}. Return type must \
                     be either string or null.",
                    audit.expression.source(),
                    value.type_name()
                ))),
            },
        };
        annotations.extend(annotation.map(|annotation| (audit.key.clone(), annotation)));
    }
    Ok(Ok(annotations))
}

/// At most so many bytes, whole characters only.
fn cut(text: &str, most: usize) -> &str {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
