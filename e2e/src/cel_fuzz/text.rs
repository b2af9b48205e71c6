//! Expressions as rows of tokens: enough to cut, splice and shrink any text, also one that is no expression.

use super::{literals, random::Random};

/// The tokens of a text, without the space between them. Never fails: what is no token is one character.
#[must_use]
pub fn tokens(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let mut out = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        let end = token_end(&chars, at);
        if !chars[at].is_whitespace() {
            out.push(chars[at..end].iter().collect());
        }
        at = end;
    }
    out
}

fn token_end(chars: &[char], at: usize) -> usize {
    let word = |c: &char| c.is_alphanumeric() || *c == '_';
    let prefix = chars[at..].iter().take(2).take_while(|c| "rRbB".contains(**c)).count();
    for prefix in (0..=prefix).rev() {
        if let Some(quote @ ('\'' | '"')) = chars.get(at + prefix).copied() {
            return string_end(chars, at + prefix, quote);
        }
    }
    if chars[at].is_ascii_digit() {
        let mut end = at;
        while let Some(c) = chars.get(end) {
            let sign = "+-".contains(*c) && "eE".contains(chars[end - 1]);
            let point = *c == '.' && chars.get(end + 1).is_some_and(char::is_ascii_digit);
            if !(word(c) || point || sign) {
                break;
            }
            end += 1;
        }
        return end;
    }
    if word(&chars[at]) {
        return at + chars[at..].iter().take_while(|c| word(c)).count();
    }
    let two: String = chars[at..].iter().take(2).collect();
    let pairs = ["&&", "||", "==", "!=", "<=", ">=", ".?", "[?", "//"];
    at + if pairs.contains(&two.as_str()) { 2 } else { 1 }
}

fn string_end(chars: &[char], at: usize, quote: char) -> usize {
    let triple = chars[at..].iter().take(3).filter(|c| **c == quote).count() == 3;
    let closing = if triple { 3 } else { 1 };
    let mut end = at + closing;
    while end < chars.len() {
        if chars[end] == '\\' {
            end += 2;
        } else if chars[end..].iter().take(closing).filter(|c| **c == quote).count() == closing {
            return end + closing;
        } else {
            end += 1;
        }
    }
    chars.len()
}

/// The text of tokens, with space only where two would become one.
#[must_use]
pub fn join(tokens: &[impl AsRef<str>]) -> String {
    let mut out = String::new();
    for token in tokens {
        let token = token.as_ref();
        let word = |c: char| c.is_alphanumeric() || "_'\"".contains(c);
        let glued = out.ends_with(word) && token.starts_with(word);
        if glued || (out.ends_with('-') && token.starts_with('-')) {
            out.push(' ');
        }
        out.push_str(token);
    }
    out
}

/// Every row of tokens in which each bracket has its other half, as ranges.
#[must_use]
pub fn balanced(tokens: &[impl AsRef<str>]) -> Vec<(usize, usize)> {
    let mut out = Vec::new();
    for start in 0..tokens.len() {
        let mut depth = 0;
        for (end, token) in tokens.iter().enumerate().skip(start) {
            match token.as_ref() {
                "(" | "[" | "[?" | "{" => depth += 1,
                ")" | "]" | "}" => depth -= 1,
                _ => {}
            }
            if depth < 0 {
                break;
            }
            if depth == 0 {
                out.push((start, end + 1));
            }
        }
    }
    out
}

/// The balanced ranges that could be a whole operand: what is spliced from one expression into another.
#[must_use]
pub fn operands(tokens: &[String]) -> Vec<(usize, usize)> {
    let cut = |token: Option<&String>, of: &[&str]| {
        token.is_none_or(|token| of.contains(&token.as_str()))
    };
    let before = [
        "(", "[", "[?", "{", ",", ":", "?", "&&", "||", "==", "!=", "<", "<=", ">", ">=", "+", "-",
        "*", "/", "%", "!", "in",
    ];
    let after = [
        ")", "]", "}", ",", ":", "?", "&&", "||", "==", "!=", "<", "<=", ">", ">=", "+", "-", "*",
        "/", "%", "in", ".", ".?", "[", "[?",
    ];
    balanced(tokens)
        .into_iter()
        .filter(|(start, end)| {
            let previous = start.checked_sub(1).and_then(|at| tokens.get(at));
            cut(previous, &before) && cut(tokens.get(*end), &after)
        })
        .collect()
}

/// Puts a piece of one expression into another.
#[must_use]
pub fn splice(into: &str, from: &str, random: &mut Random) -> String {
    let (into, from) = (tokens(into), tokens(from));
    let (Some(hole), Some(piece)) =
        (random.choose(&operands(&into)).copied(), random.choose(&operands(&from)).copied())
    else {
        return join(&from);
    };
    let mut out = into[..hole.0].to_vec();
    out.extend_from_slice(&from[piece.0..piece.1]);
    out.extend_from_slice(&into[hole.1..]);
    join(&out)
}

/// Breaks a text here and there.
#[must_use]
pub fn damage(text: &str, random: &mut Random) -> String {
    let mut row = tokens(text);
    for _ in 0..=random.below(2) {
        let at = random.below(row.len() + 1);
        let other = random.below(row.len() + 1);
        match random.below(8) {
            0 | 1 if at < row.len() => {
                row.remove(at);
            }
            2 if at < row.len() => literals::noise(random).clone_into(&mut row[at]),
            3 if at < row.len() && other < row.len() => row.swap(at, other),
            4 if at < row.len() => row.insert(other, row[at].clone()),
            5 if at < row.len() && !row[at].is_empty() => {
                let mut chars: Vec<char> = row[at].chars().collect();
                let place = random.below(chars.len());
                match random.below(3) {
                    0 => drop(chars.remove(place)),
                    1 => chars.insert(place, chars[place]),
                    _ => chars[place] = literals::noise(random).chars().next().unwrap_or('?'),
                }
                row[at] = chars.into_iter().collect();
            }
            _ => row.insert(at, literals::noise(random).to_owned()),
        }
    }
    if random.percent(85) {
        return join(&row);
    }
    // Places in messages are lines and columns.
    let space = [" ", "  ", "\n", "\t", "\r\n", " // é\n"];
    row.iter().fold(String::new(), |out, token| out + token + random.pick(&space))
}

/// What an expression is made of, without its names and values.
#[must_use]
pub fn shape(text: &str) -> String {
    let row = tokens(text);
    let mut out: Vec<String> = Vec::new();
    for (at, token) in row.iter().enumerate() {
        let called = row.get(at + 1).is_some_and(|next| next == "(");
        let kind = match token.chars().next().unwrap_or(' ') {
            '0'..='9' => "0".to_owned(),
            '\'' | '"' => "''".to_owned(),
            _ if token.ends_with(['\'', '"']) => format!("{}''", &token[..1]),
            'a'..='z' | 'A'..='Z' | '_' if !called => match token.as_str() {
                "in" | "true" | "false" | "null" => token.clone(),
                _ => "x".to_owned(),
            },
            _ => token.clone(),
        };
        out.push(kind);
    }
    out.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_and_back() {
        for text in ["a.b['c d'] + -1.5e-3", "r'\\' + b\"x\" == '''it's'''", "[?a.?b, 1u]"] {
            let row = tokens(text);
            assert_eq!(tokens(&join(&row)), row, "{text}");
        }
        assert_eq!(tokens("'open"), ["'open"]);
        assert_eq!(tokens("1.e"), ["1", ".", "e"]);
    }

    #[test]
    fn brackets_stay_in_pairs() {
        let row = tokens("f(a)[1");
        assert!(!balanced(&row).contains(&(0, 2)));
        assert!(balanced(&row).contains(&(0, 4)));
    }
}
