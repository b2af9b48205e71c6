//! Where two answers differ, and what a difference is called so that it is told once.

use super::judge::Reply;
use serde_json::Value as Json;

/// What of an answer is compared, in the order in which it is told.
const KEYS: &[&str] =
    &["compileError", "staticType", "variables", "value", "error", "outOfBudget", "cost"];

/// What this engine refuses on purpose, and says so in its documentation.
const REFUSED: &[&str] = &[
    "expression is too l",
    "\\\\B is not supported",
    "is only known at run time, which is not supported",
];

/// Two answers to one question that are not the same.
#[derive(Debug, Clone)]
pub struct Difference {
    /// The question.
    pub question: Json,
    /// What Kubernetes answers.
    pub theirs: Json,
    /// What this engine answers, or how it failed to.
    pub ours: Json,
    /// Which parts of the answer differ.
    pub keys: Vec<&'static str>,
}

/// What a comparison says.
#[derive(Debug)]
pub enum Verdict {
    /// The same answer.
    Same(Json),
    /// Refused on purpose.
    Refused,
    /// Kubernetes crashes, or does not get to the end: there is nothing to be equal to.
    Nothing,
    /// Not the same.
    Different(Box<Difference>),
}

/// Where two refusals of a text that is no expression differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Syntax {
    /// In the first problem.
    First,
    /// Only in what follows: what a parser makes of the text behind a mistake is its guess.
    Behind,
}

/// Compares two replies to a question.
#[must_use]
pub fn compare(question: &Json, theirs: &Reply, ours: &Reply) -> Verdict {
    let theirs = match theirs {
        Reply::Answer(answer) => answer.clone(),
        Reply::Crashed(_) | Reply::Hung => Json::Null,
    };
    let nothing = theirs.is_null()
        || ["panic", "badRequest", "timedOut"].iter().any(|k| theirs.get(k).is_some());
    let (ours, broken) = match ours {
        Reply::Answer(answer) => (answer.clone(), answer.get("panic").is_some()),
        Reply::Crashed(words) => (serde_json::json!({"crashed": words}), true),
        Reply::Hung => (serde_json::json!({"hung": true}), true),
    };
    let keys: Vec<_> = if broken {
        vec!["panic"]
    } else if nothing {
        return Verdict::Nothing;
    } else if theirs.is_string() || ours.is_string() {
        // Too deep to be read: the order of the keys differs, the length of the text does not.
        return Verdict::Nothing;
    } else {
        KEYS.iter().copied().filter(|key| theirs.get(key) != ours.get(key)).collect()
    };
    if keys.is_empty() {
        return Verdict::Same(theirs);
    }
    let error = |answer: &Json| Some(answer.get("error")?.as_str()?.to_owned());
    if keys == ["error"]
        && let (Some(theirs), Some(ours)) = (error(&theirs), error(&ours))
        && (is_printed_message(&theirs) || is_broken_text(&theirs, &ours))
    {
        return Verdict::Refused;
    }
    if error(&ours).is_some_and(|ours| ours.contains(TWICE_A_KEY)) {
        return Verdict::Refused;
    }
    // Also of a variable.
    let text = format!("{:?}{:?}", ours.get("compileError"), ours.get("variables"));
    if REFUSED.iter().any(|refusal| text.contains(refusal)) {
        return Verdict::Refused;
    }
    Verdict::Different(Box::new(Difference { question: question.clone(), theirs, ours, keys }))
}

/// How the engine refuses a map whose keys Kubernetes tells apart by their addresses.
const TWICE_A_KEY: &str = "a list or map of the object is twice a key of one map";

/// The error shows a message of protocol buffers, whose printer spaces it differently in each build of a
/// program so that nobody relies on it, or names the Go type of a part of one or of a semantic version, which is told in other words
/// here. Both fail, for the same cost.
fn is_printed_message(theirs: &str) -> bool {
    theirs.contains("unsupported conversion to ref.Val: (*dynamicpb.Message)")
        || theirs.contains("*structpb.")
        || theirs.contains("unsupported conversion to ref.Val: (semver.Version)")
}

/// Texts are UTF-8 here. Go's need not be: a part of a URL may be any octets, which Go's quotes tell.
fn is_broken_text(theirs: &str, ours: &str) -> bool {
    let mut parts = theirs.split("\\x");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.get(..2).map(|digits| u8::from_str_radix(digits, 16)) {
            Some(Ok(0x80..)) => text.extend(["\u{fffd}", &part[2..]]),
            _ => text.extend(["\\x", part]),
        }
    }
    text == ours
}

impl Difference {
    /// How far two refusals for a syntax error are apart, if it is that.
    #[must_use]
    pub fn syntax(&self) -> Option<Syntax> {
        let text = |answer: &Json| Some(answer.get("compileError")?.as_str()?.to_owned());
        let (theirs, ours) = (text(&self.theirs)?, text(&self.ours)?);
        if !(theirs.contains("Syntax error: ") && ours.contains("Syntax error: ")) {
            return None;
        }
        let first = |text: &str| text.split("\nERROR: ").next().unwrap_or_default().to_owned();
        Some(if first(&theirs) == first(&ours) { Syntax::Behind } else { Syntax::First })
    }

    /// What is wrong, without the names and numbers of the case: equal for the same mistake, often enough.
    #[must_use]
    pub fn signature(&self) -> String {
        format!("{:?} {} / {}", self.keys, outline(&self.theirs), outline(&self.ours))
    }

    /// What is wrong and in which function or operator: for a difference that is as small as it gets.
    #[must_use]
    pub fn fine_signature(&self) -> String {
        let shape = super::text::shape(self.question["expr"].as_str().unwrap_or_default());
        format!("{} {shape}", self.signature())
    }
}

fn outline(answer: &Json) -> String {
    for key in ["compileError", "error", "panic", "crashed"] {
        if let Some(text) = answer.get(key).and_then(Json::as_str) {
            return format!("{key} {}", message_outline(text));
        }
    }
    match answer.get("value").and_then(Json::as_object).and_then(|value| value.keys().next()) {
        Some(kind) => format!("value {kind}"),
        None => "nothing".to_owned(),
    }
}

/// A message without places, quoted names and numbers.
fn message_outline(text: &str) -> String {
    let text = text.rsplit(" resulted in error: ").next().unwrap_or(text);
    let lines = text.lines().filter(|line| !line.starts_with(" | "));
    let mut out = String::new();
    for line in lines {
        let mut quoted = false;
        let mut last = ' ';
        for c in line.chars() {
            match c {
                '\'' | '"' | '`' => {
                    quoted = !quoted;
                    out.push(c);
                }
                _ if quoted => {}
                '0'..='9' if last.is_ascii_digit() => {}
                '0'..='9' => out.push('0'),
                c => out.push(c),
            }
            last = c;
        }
        out.push(';');
    }
    out
}
