//! Makes a difference small: cuts the question down as long as the answers still differ in the same way.

use super::{
    compare::{Difference, Verdict},
    court::Court,
    text,
};
use anyhow::Result;
use serde_json::{Value as Json, json};

/// Questions that a difference may cost.
const PATIENCE: usize = 700;
const BATCH: usize = 48;
/// What a piece is replaced with; the first ones also where the piece is long.
const SIMPLE: &[&str] = &[
    "1", "'a'", "true", "null", "[]", "{}", "x", "[1]", "0", "''", "false", "1.0", "1u", "object",
    "dyn(1)",
];

/// The smallest question that was found to differ in the same way, and what this engine crashed on meanwhile.
pub fn minimise(
    court: &mut Court<'_>,
    mut found: Difference,
) -> Result<(Difference, Vec<Difference>)> {
    let mut crashes = Vec::new();
    let mut asked = 0;
    loop {
        let smaller = candidates(&found.question);
        let mut better = None;
        'search: for batch in smaller.chunks(BATCH) {
            if asked > PATIENCE {
                break;
            }
            asked += batch.len();
            for verdict in court.compare_all(batch)? {
                let Verdict::Different(other) = verdict else { continue };
                if other.signature() == found.signature() {
                    better = Some(*other);
                    break 'search;
                }
                if other.keys == ["panic"] && found.keys != ["panic"] {
                    crashes.push(*other);
                }
            }
        }
        match better {
            Some(better) => found = better,
            None => return Ok((found, crashes)),
        }
    }
}

/// Smaller questions, those that win most first.
fn candidates(question: &Json) -> Vec<Json> {
    let mut out = Vec::new();
    for (key, value) in [
        ("budget", Json::Null),
        ("variables", Json::Null),
        ("params", Json::Null),
        ("context", Json::Null),
        ("authorizer", Json::Null),
        ("bindings", json!("values")),
    ] {
        let mut smaller = question.clone();
        if let Some(fields) = smaller.as_object_mut()
            && fields.remove(key).is_some_and(|old| old != value)
        {
            if !value.is_null() {
                fields.insert(key.to_owned(), value);
            }
            out.push(smaller);
        }
    }
    let expression = question["expr"].as_str().unwrap_or_default();
    for smaller in smaller_texts(expression) {
        let mut question = question.clone();
        question["expr"] = json!(smaller);
        out.push(question);
    }
    for (at, variable) in question["variables"].as_array().into_iter().flatten().enumerate() {
        for smaller in smaller_texts(variable["expression"].as_str().unwrap_or_default()) {
            let mut question = question.clone();
            question["variables"][at]["expression"] = json!(smaller);
            out.push(question);
        }
    }
    out
}

fn smaller_texts(expression: &str) -> Vec<String> {
    let row = text::tokens(expression);
    let mut out = Vec::new();
    let mut push = |text: String| {
        if weight(&text) < weight(expression) && !out.contains(&text) {
            out.push(text);
        }
    };
    // A piece of it alone, the smallest first.
    let mut operands = text::operands(&row);
    operands.sort_by_key(|(start, end)| end - start);
    for (start, end) in operands.iter().filter(|(start, end)| end - start < row.len()) {
        push(text::join(&row[*start..*end]));
    }
    // Without a piece, the largest first; or with something simple in its place.
    let mut ranges = text::balanced(&row);
    ranges.sort_by_key(|(start, end)| start + row.len() - end);
    for (start, end) in &ranges {
        let with = |middle: &[&str]| {
            let parts = row[..*start].iter().map(String::as_str);
            let parts: Vec<&str> = parts
                .chain(middle.iter().copied())
                .chain(row[*end..].iter().map(String::as_str))
                .collect();
            text::join(&parts)
        };
        push(with(&[]));
        if end - start > 1 {
            for simple in &SIMPLE[..8] {
                push(with(&[simple]));
            }
            if matches!(row[*start].as_str(), "(" | "[" | "{") {
                let inner: Vec<&str> = row[start + 1..end - 1].iter().map(String::as_str).collect();
                push(with(&inner));
            }
        } else {
            for shorter in shorter_tokens(&row[*start]) {
                push(with(&[&shorter]));
            }
        }
    }
    push(text::join(&row));
    out
}

/// Less is simpler: short, and of two as long the one with the plainer values.
fn weight(text: &str) -> (usize, usize) {
    let plain = |c: char| !matches!(c, '0' | '1' | 'a' | '\'' | 'x');
    (text.chars().count(), text.chars().filter(|c| plain(*c)).count())
}

fn shorter_tokens(token: &str) -> Vec<String> {
    let mut out: Vec<String> = SIMPLE.iter().map(|simple| (*simple).to_owned()).collect();
    let chars: Vec<char> = token.chars().collect();
    if token.ends_with(['\'', '"']) || token.starts_with(|c: char| c.is_ascii_digit()) {
        for at in 0..chars.len() {
            let without = chars.iter().enumerate().filter(|(other, _)| *other != at);
            out.push(without.map(|(_, c)| *c).collect());
        }
    }
    out
}
