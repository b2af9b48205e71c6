//! Conditions of an object: answers to questions about it, for people and for programs that wait.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

/// An answer. The reason is one word, the message says the same for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Yes or no.
    pub is_true: bool,
    /// Why, in one word.
    pub reason: &'static str,
    /// Why, in words, and what can be done about it.
    pub message: String,
}

impl Answer {
    /// Yes.
    #[must_use]
    pub fn yes(reason: &'static str) -> Self {
        Self { is_true: true, reason, message: String::new() }
    }

    /// No, for this reason.
    #[must_use]
    pub fn no(reason: &'static str, message: impl Into<String>) -> Self {
        Self { is_true: false, reason, message: message.into() }
    }
}

/// Answers a question. The time of an answer changes only with its status.
pub fn set(
    conditions: &mut Option<Vec<Condition>>,
    question: &str,
    answer: &Answer,
    generation: Option<i64>,
    now: Timestamp,
) {
    let new = Condition {
        type_: question.to_owned(),
        status: if answer.is_true { "True" } else { "False" }.to_owned(),
        reason: answer.reason.to_owned(),
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
