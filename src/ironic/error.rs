//! `Error`: why a request to Ironic came to nothing, in words for people, and what to do about it.

use serde_json::Value;
use thiserror::Error;

use super::{redact::redact, version::VersionError};

/// Longer texts are cut: they end up in a host's status.
const LONGEST: usize = 1000;

/// Why a request came to nothing. No message has a secret in it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Error {
    /// Ironic answered, but not with what was asked for.
    #[error("{}", .0)]
    Refused(Refusal),
    /// There was no connection, so that nothing was asked either.
    #[error("Ironic cannot be reached: {reason}")]
    Unreachable {
        /// Why, as far as it is known.
        reason: String,
    },
    /// It was asked, and there was no answer: what was asked for may have been done or not.
    #[error("Ironic did not answer: {reason}")]
    Unanswered {
        /// Why, as far as it is known.
        reason: String,
    },
    /// It answered with something that we do not understand.
    #[error("Ironic's answer is not understood: {reason}")]
    Unreadable {
        /// What is wrong with it.
        reason: String,
    },
    /// The two sides have no version of the API in common.
    #[error(transparent)]
    Version(#[from] VersionError),
}

/// An answer that is not what was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", self.sentence())]
pub struct Refusal {
    /// What kind of answer it is.
    pub kind: Kind,
    /// The HTTP status.
    pub status: u16,
    /// What Ironic said, on one line.
    pub message: String,
}

/// Kinds of refusal, by what can be done about them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The node is locked, or Ironic has its hands full: the same request will do later.
    Busy,
    /// It is at odds with what is there, such as a MAC address that another node has.
    Conflict,
    /// It is not right, or not right in the state that the node is in.
    Invalid,
    /// Who we are is not known there.
    Unauthorized,
    /// Who we are may not do it.
    Forbidden,
    /// There is no such thing.
    NotFound,
    /// The version of the API is not spoken there (any more).
    Version,
    /// Ironic made a mistake.
    Broken,
}

impl Error {
    /// Reads an answer that is not what was asked for. `secrets` are masked in what it says.
    #[must_use]
    pub fn refused(status: u16, body: &str, secrets: &[String]) -> Self {
        let message = shortened(&redact(&words(body), secrets));
        Self::Refused(Refusal { kind: kind(status, &message), status, message })
    }

    /// What kind of refusal it is, if it is one.
    #[must_use]
    pub fn kind(&self) -> Option<Kind> {
        match self {
            Self::Refused(refusal) => Some(refusal.kind),
            Self::Unreachable { .. }
            | Self::Unanswered { .. }
            | Self::Unreadable { .. }
            | Self::Version(_) => None,
        }
    }

    /// Whether there is no such thing.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.kind() == Some(Kind::NotFound)
    }

    /// Whether the same request will do later.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.kind() == Some(Kind::Busy)
    }
}

impl Refusal {
    fn sentence(&self) -> String {
        let message = &self.message;
        match self.kind {
            Kind::Busy => format!("Ironic is busy: {message}"),
            Kind::Conflict | Kind::Invalid => format!("Ironic refused: {message}"),
            Kind::Unauthorized => format!(
                "Ironic does not accept our user name and password: {message}; check the Secret or \
                 files that hold them"
            ),
            Kind::Forbidden => format!("Ironic does not let us: {message}"),
            Kind::NotFound => format!("Ironic does not know it: {message}"),
            Kind::Version => format!("Ironic does not speak this version of its API: {message}"),
            Kind::Broken => format!("Ironic failed ({}): {message}", self.status),
        }
    }
}

/// Ironic gives a lock and a duplicate the same status; only its words tell them apart.
fn kind(status: u16, message: &str) -> Kind {
    let passes =
        ["is locked by host", "state transition is in progress", "in progress", "reserved"];
    match status {
        401 => Kind::Unauthorized,
        403 => Kind::Forbidden,
        404 => Kind::NotFound,
        406 => Kind::Version,
        409 if passes.iter().any(|words| message.contains(words)) => Kind::Busy,
        409 => Kind::Conflict,
        429 | 503 => Kind::Busy,
        500.. => Kind::Broken,
        _ => Kind::Invalid,
    }
}

/// What the answer says. Most of it comes as JSON in a string in JSON.
fn words(body: &str) -> String {
    let Ok(body) = serde_json::from_str::<Value>(body) else {
        // A proxy in between answers with a page for people.
        let page = body.trim_start().starts_with('<');
        return if page { "a web page, not an answer of Ironic".into() } else { body.into() };
    };
    let message = body.get("error_message").unwrap_or(&Value::Null);
    let inner = message.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
    let detail = inner.as_ref().unwrap_or(message);
    let places = [
        detail.get("faultstring"),
        detail.get("description"),
        body.pointer("/error/message"),
        Some(detail),
    ];
    let said = places.into_iter().flatten().find_map(Value::as_str);
    said.map_or_else(|| body.to_string(), str::to_owned)
}

fn shortened(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = line.trim_end_matches('.');
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None if line.is_empty() => "it gives no reason".into(),
        None => line.into(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn nested(words: &str) -> String {
        let inner = json!({"faultcode": "Client", "faultstring": words, "debuginfo": null});
        json!({"error_message": inner.to_string()}).to_string()
    }

    #[rstest]
    #[case::lock(409, "Node 1 is locked by host ironic-test, please retry", Kind::Busy)]
    #[case::moving(
        409,
        "Node 1 can not be updated while a state transition is in progress.",
        Kind::Busy
    )]
    #[case::mac(409, "A port with MAC address 52:54:00:aa:00:01 already exists.", Kind::Conflict)]
    #[case::name(409, "A node with name default~a already exists.", Kind::Conflict)]
    #[case::limit(
        503,
        "The concurrent action limit for provisioning has been reached.",
        Kind::Busy
    )]
    #[case::wrong_state(
        400,
        "The requested action \"provide\" can not be performed",
        Kind::Invalid
    )]
    #[case::protected(403, "Node 1 is protected", Kind::Forbidden)]
    #[case::missing(404, "Node 1 could not be found.", Kind::NotFound)]
    #[case::bug(500, "cannot access local variable", Kind::Broken)]
    fn the_kind_says_what_can_be_done(
        #[case] status: u16,
        #[case] said: &str,
        #[case] expected: Kind,
    ) {
        let error = Error::refused(status, &nested(said), &[]);
        assert_eq!(error.kind(), Some(expected));
        assert!(error.to_string().contains(said.trim_end_matches('.')), "{error}");
    }

    #[rstest]
    #[case::unauthorized(
        r#"{"error": {"message": "Incorrect username", "code": 401}}"#,
        "Incorrect username"
    )]
    #[case::object(r#"{"error_message": {"faultstring": "locked"}}"#, "locked")]
    #[case::plain("connection refused by proxy", "connection refused by proxy")]
    #[case::page(
        "<html><body>502 Bad Gateway</body></html>",
        "a web page, not an answer of Ironic"
    )]
    #[case::nothing("", "it gives no reason")]
    fn the_words_are_found_wherever_they_are(#[case] body: &str, #[case] expected: &str) {
        let Error::Refused(refusal) = Error::refused(400, body, &[]) else { panic!("not refused") };
        assert_eq!(refusal.message, expected);
    }

    #[test]
    fn secrets_that_ironic_repeats_are_masked() {
        let error = Error::refused(400, &nested("bad value 'hunter2'"), &["hunter2".into()]);
        assert_eq!(error.to_string(), "Ironic refused: bad value '******'");
        assert!(!format!("{error:?}").contains("hunter2"));
    }

    proptest! {
        #[test]
        fn every_answer_becomes_one_bounded_line(status in 300_u16..600, body in any::<String>()) {
            let error = Error::refused(status, &body, &[]).to_string();
            prop_assert!(error.chars().count() <= LONGEST + 200);
            prop_assert!(!error.contains('\n'));
        }
    }
}
