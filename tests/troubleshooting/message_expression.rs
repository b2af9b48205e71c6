//! The fixed words of a `messageExpression`, with `<>` for what is computed. As much of CEL as the shipped policies need for that: texts that are
//! put together by `+`, one of two by `? :`, and one for each of a list by `map`.

/// All that it can say.
pub fn words(expression: &str) -> Vec<String> {
    let expression = expression.trim();
    if let Some((_, either)) = split(expression, " ? ") {
        let (one, other) = split(either, " : ").unwrap();
        return [words(one), words(other)].concat();
    }
    if let Some(arguments) = mapped(expression) {
        let (_, body) = split(arguments, ",").unwrap();
        return words(body);
    }
    let mut text = String::new();
    let mut rest = Some(expression);
    while let Some(all) = rest {
        let part = split(all, "+").map(|(part, behind)| (part, Some(behind)));
        let (part, behind) = part.unwrap_or((all, None));
        match literal(part.trim()) {
            Some(fixed) => text.push_str(fixed),
            None if text.ends_with("<>") => {}
            None => text.push_str("<>"),
        }
        rest = behind;
    }
    vec![text.trim().to_owned()]
}

/// What stands between the parentheses of a `map` at the end.
fn mapped(expression: &str) -> Option<&str> {
    let begin = places(expression).find(|at| expression[*at..].starts_with(".map("))?;
    expression[begin + ".map(".len()..].strip_suffix(')')
}

fn literal(part: &str) -> Option<&str> {
    let quote = part.chars().next().filter(|it| matches!(it, '\'' | '"'))?;
    let inner = part[1..].strip_suffix(quote)?;
    assert!(!inner.contains('\\'), "escapes are not read: {part}");
    (!inner.contains(quote)).then_some(inner)
}

/// Before and behind the first separator that is in no text and no parentheses.
fn split<'a>(expression: &'a str, separator: &str) -> Option<(&'a str, &'a str)> {
    let at = places(expression).find(|at| expression[*at..].starts_with(separator))?;
    Some((&expression[..at], &expression[at + separator.len()..]))
}

/// The places that are in no text and no parentheses.
fn places(expression: &str) -> impl Iterator<Item = usize> {
    let (mut quote, mut depth) = (None, 0_usize);
    expression.char_indices().filter_map(move |(at, character)| {
        let is_outside = quote.is_none() && depth == 0;
        match (quote, character) {
            (Some(open), _) if open == character => quote = None,
            (None, '\'' | '"') => quote = Some(character),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => depth = depth.saturating_sub(1),
            (Some(_) | None, _) => {}
        }
        is_outside.then_some(at)
    })
}

#[test]
fn words_are_what_is_fixed() {
    assert_eq!(words("'a: ' + string(x.?y.orValue('')) + \" isn't\""), ["a: <> isn't"]);
    assert_eq!(words("(x ? 'a' : 'b') + '.c: no'"), ["<>.c: no"]);
    assert_eq!(words("x.hasValue() ? 'a: b' : 'c: ' + d"), ["a: b", "c: <>"]);
    assert_eq!(words("f(x).map(it, 'a[' + string(it[0]) + ']: no')"), ["a[<>]: no"]);
    assert_eq!(words("variables.problems"), ["<>"]);
}
