//! Conditions of an object: answers to questions about it, for people and for programs that wait.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

use super::said::Subject;
use crate::domain::words;

/// Why an answer is what it is: one word of a closed list, so that the guide can explain each.
pub trait Reason: Copy + Into<&'static str> {
    /// Whose list it is.
    const OF: Subject;

    /// The conditions that can have it.
    fn types(self) -> &'static [&'static str];

    /// The messages that can stand beside it, with a `<placeholder>` for what varies. None if there is never one.
    fn words(self) -> &'static [&'static str];

    /// Whether a message is one of them.
    fn says(self, message: &str) -> bool {
        words::fit_any(self.words(), message)
    }
}

/// An answer. The reason is one word, the message says the same for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer<R> {
    /// Yes or no.
    pub is_true: bool,
    /// Why, in one word.
    pub reason: R,
    /// Why, in words, and what can be done about it.
    pub message: String,
}

impl<R> Answer<R> {
    /// Yes.
    #[must_use]
    pub fn yes(reason: R) -> Self {
        Self { is_true: true, reason, message: String::new() }
    }

    /// No, for this reason.
    #[must_use]
    pub fn no(reason: R, message: impl Into<String>) -> Self {
        Self { is_true: false, reason, message: message.into() }
    }
}

/// Answers a question. The time of an answer changes only with its status.
pub fn set<R: Reason>(
    conditions: &mut Option<Vec<Condition>>,
    question: &str,
    answer: &Answer<R>,
    generation: Option<i64>,
    now: Timestamp,
) {
    let reason: &str = answer.reason.into();
    debug_assert!(answer.reason.types().contains(&question), "{question}: {reason} is not listed");
    debug_assert!(answer.reason.says(&answer.message), "{reason}: not listed: {}", answer.message);
    let new = Condition {
        type_: question.to_owned(),
        status: if answer.is_true { "True" } else { "False" }.to_owned(),
        reason: reason.to_owned(),
        message: answer.message.clone(),
        observed_generation: generation,
        last_transition_time: Time(now),
    };
    let conditions = conditions.get_or_insert_default();
    match conditions.iter_mut().find(|it| it.type_ == question) {
        Some(old) if old.status == new.status => {
            let last_transition_time = old.last_transition_time.clone();
            *old = Condition { last_transition_time, ..new };
        }
        Some(old) => *old = new,
        None => conditions.push(new),
    }
}

/// Takes back what is not asked any more.
pub fn unset(conditions: &mut Option<Vec<Condition>>, question: &str) {
    if let Some(conditions) = conditions {
        conditions.retain(|it| it.type_ != question);
    }
}

/// The time in the seconds that are stored.
#[must_use]
pub fn in_seconds(now: Timestamp) -> Timestamp {
    Timestamp::from_second(now.as_second()).unwrap_or(now)
}
