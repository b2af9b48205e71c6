//! Ratcheting: a violation that the stored object already had warns instead of denying, so that an
//! object that was stored before a rule can still be edited elsewhere. A policy asks for it by an
//! annotation of its own; Kubernetes has no such thing, so without it nothing changes.

use super::{
    compiled::ValidatingPolicy,
    conditions::{self, Conditions, Memo},
    decide::{self, Decision},
    document::Metadata,
    engine::Inputs,
    facts::Question,
    request::Operation,
};

/// The annotation of a policy that ratchets, whose value is `true`.
pub const ANNOTATION: &str = "ironward.dev/ratcheting";

/// What a warning that would have been a denial ends with.
const ALREADY_STORED: &str = "the stored object already has this, so the update is not refused";

/// Whether a policy of this metadata ratchets.
pub(crate) fn is_wanted(metadata: &Metadata) -> bool {
    metadata.annotations.get(ANNOTATION).is_some_and(|value| value == "true")
}

/// The text of a warning that would have been a denial.
pub(crate) fn warning(message: &str) -> String {
    format!("{message} ({ALREADY_STORED})")
}

/// Marks the denials that the stored object would have had too.
pub(crate) fn mark(
    policy: &ValidatingPolicy,
    inputs: &Inputs<'_>,
    for_conditions: &Inputs<'_>,
    decisions: &mut [Decision],
) -> Result<(), Question> {
    let request = inputs.request;
    let stored = request.old_object.filter(|_| request.operation == Operation::Update);
    let denies = decisions.iter().any(|decision| decision.denial.is_some());
    let (Some(stored), true) = (stored, denies) else { return Ok(()) };
    let request = request.with_object(stored);
    let before = before(
        policy,
        &Inputs { request: &request, ..*inputs },
        &Inputs { request: &request, ..*for_conditions },
    )?;
    for decision in decisions {
        decision.was_stored = before.had(decision);
    }
    Ok(())
}

/// What the policy says of the stored object.
enum Before {
    /// It could not tell, which counts as violated: what cannot be judged was not made worse.
    Unclear,
    Decided(Vec<Decision>),
}

fn before(
    policy: &ValidatingPolicy,
    inputs: &Inputs<'_>,
    for_conditions: &Inputs<'_>,
) -> Result<Before, Question> {
    match conditions::evaluate(&policy.policy, for_conditions, &Memo::default())? {
        Conditions::Met => {}
        Conditions::NotMet => return Ok(Before::Decided(Vec::new())),
        Conditions::Failed(_) => return Ok(Before::Unclear),
    }
    Ok(match decide::validations(policy, inputs)? {
        Ok(decisions) => Before::Decided(decisions),
        Err(_) => Before::Unclear,
    })
}

impl Before {
    fn had(&self, now: &Decision) -> bool {
        let Self::Decided(decisions) = self else { return true };
        decisions.iter().filter(|then| then.validation == now.validation).any(|then| {
            let said = |decision: &Decision| {
                decision.denial.as_ref().map(|(_, message, _)| message.clone())
            };
            then.is_error || (then.denial.is_some() && (!now.is_listed || said(then) == said(now)))
        })
    }
}
