//! An expression about `object` made into the same about `oldObject`, token by token: names that
//! comprehensions shadow, names of fields, and texts stay as they are.

use std::collections::BTreeSet;

use crate::policy::{
    cel::{Tok, Token, tokens},
    document::Variable,
};

/// Macros whose first argument is a name of their own.
const ONE_NAME: [&str; 7] = ["all", "exists", "exists_one", "existsOne", "map", "filter", "sortBy"];
/// Those too, but of an optional.
const OPTIONAL: [&str; 2] = ["optMap", "optFlatMap"];
/// Macros that may have two names.
const TWO_NAMES: [&str; 6] =
    ["all", "exists", "existsOne", "transformList", "transformMap", "transformMapEntry"];

/// What a variable is called that is about the stored object.
pub(super) fn name_before(name: &str) -> String {
    format!("{name}_before")
}

/// The variables that look at `object`, themselves or through others.
pub(super) fn dependent(variables: &[Variable]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    // A variable sees only those above it.
    for variable in variables {
        if before(&variable.expression, &found) != variable.expression {
            found.insert(variable.name.clone());
        }
    }
    found
}

/// The same expression about the stored object; `copied` are the variables that have a copy.
pub(super) fn before(expression: &str, copied: &BTreeSet<String>) -> String {
    let (tokens, errors) = tokens(expression);
    if !errors.is_empty() {
        // It did not compile either.
        return expression.to_owned();
    }
    let scopes = scopes(&tokens);
    let chars: Vec<char> = expression.chars().collect();
    let mut written = String::with_capacity(expression.len());
    let mut done = 0;
    for (index, token) in tokens.iter().enumerate() {
        let Some(renamed) = renamed(&tokens, index, &scopes, copied) else { continue };
        written.extend(chars.get(done..token.at).into_iter().flatten());
        written.push_str(&renamed);
        done = token.at + token.text.chars().count();
    }
    written.extend(chars.get(done..).into_iter().flatten());
    written
}

/// What stands there instead, if something else must.
fn renamed(
    tokens: &[Token],
    index: usize,
    scopes: &[Scope],
    copied: &BTreeSet<String>,
) -> Option<String> {
    let token = tokens.get(index).filter(|token| token.kind == Tok::Ident)?;
    if is_free(tokens, index, scopes, "object") {
        return Some("oldObject".to_owned());
    }
    // `variables.x` and `variables.?x`.
    let back = if kind_before(tokens, index, 1) == Some(Tok::Question) { 3 } else { 2 };
    let is_variable = kind_before(tokens, index, back - 1) == Some(Tok::Dot)
        && index >= back
        && is_free(tokens, index - back, scopes, "variables");
    (is_variable && copied.contains(&token.text)).then(|| name_before(&token.text))
}

/// Whether the token is that name, as what it is outside of every macro.
fn is_free(tokens: &[Token], index: usize, scopes: &[Scope], name: &str) -> bool {
    let is_name = tokens.get(index).is_some_and(|it| it.kind == Tok::Ident && it.text == name);
    let after_dot = kind_before(tokens, index, 1) == Some(Tok::Dot)
        || (kind_before(tokens, index, 1) == Some(Tok::Question)
            && kind_before(tokens, index, 2) == Some(Tok::Dot));
    let is_called = tokens.get(index + 1).is_some_and(|next| next.kind == Tok::LParen);
    let is_shadowed =
        scopes.iter().any(|scope| scope.tokens.contains(&index) && scope.names.contains(name));
    is_name && !after_dot && !is_called && !is_shadowed
}

fn kind_before(tokens: &[Token], index: usize, back: usize) -> Option<Tok> {
    tokens.get(index.checked_sub(back)?).map(|token| token.kind)
}

/// The inside of a macro, and the names that are its own there.
struct Scope {
    tokens: std::ops::Range<usize>,
    names: BTreeSet<String>,
}

fn scopes(tokens: &[Token]) -> Vec<Scope> {
    let called = |index: usize| {
        let is_macro = tokens.get(index + 1)?.kind == Tok::LParen
            && kind_before(tokens, index, 1) == Some(Tok::Dot);
        let name = tokens.get(index).filter(|token| token.kind == Tok::Ident && is_macro)?;
        Some(name.text.as_str())
    };
    let own_name = |index: usize| {
        let is_name = tokens.get(index + 1)?.kind == Tok::Comma;
        let name = tokens.get(index).filter(|token| token.kind == Tok::Ident && is_name)?;
        Some(name.text.clone())
    };
    (0..tokens.len())
        .filter_map(|index| {
            let called = called(index)?;
            let has_one = ONE_NAME.contains(&called) || OPTIONAL.contains(&called);
            let has_two = TWO_NAMES.contains(&called);
            if !has_one && !has_two {
                return None;
            }
            let first = own_name(index + 2)?;
            let second = if has_two { own_name(index + 4) } else { None };
            let end = closing(tokens, index + 1);
            let names = [Some(first), second].into_iter().flatten().collect();
            Some(Scope { tokens: index + 2..end, names })
        })
        .collect()
}

/// The index of the bracket that closes the one there.
fn closing(tokens: &[Token], open: usize) -> usize {
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate().skip(open) {
        if matches!(token.kind, Tok::LParen | Tok::LBracket | Tok::LBrace) {
            depth += 1;
        } else if matches!(token.kind, Tok::RParen | Tok::RBracket | Tok::RBrace) {
            depth = depth.saturating_sub(1);
        }
        if depth == 0 {
            return index;
        }
    }
    tokens.len()
}
