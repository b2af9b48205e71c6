//! What Kubernetes takes for a name, a label or a path segment, with its texts for what it does
//! not take.

const DNS1123_LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const DNS1035_LABEL: &str = "[a-z]([-a-z0-9]*[a-z0-9])?";
const QUALIFIED: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";

/// What is wrong with a DNS-1123 subdomain that is a name.
pub(crate) fn subdomain(value: &str) -> Vec<String> {
    subdomain_of(value, "characters")
}

/// Kubernetes counts bytes in both cases, and says so in one.
fn subdomain_of(value: &str, unit: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if value.len() > 253 {
        errors.push(format!("must be no more than 253 {unit}"));
    }
    if !value.split('.').all(is_dns1123_label) {
        errors.push(format!(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, \
             '-' or '.', and must start and end with an alphanumeric character (e.g. \
             'example.com', regex used for validation is \
             '{DNS1123_LABEL}(\\.{DNS1123_LABEL})*')"
        ));
    }
    errors
}

/// What is wrong with a DNS-1035 label.
pub(crate) fn dns1035_label(value: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if value.len() > 63 {
        errors.push("must be no more than 63 characters".to_owned());
    }
    if !(is_dns1123_label(value) && value.starts_with(|first: char| first.is_ascii_lowercase())) {
        errors.push(format!(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start \
             with an alphabetic character, and end with an alphanumeric character (e.g. \
             'my-name',  or 'abc-123', regex used for validation is '{DNS1035_LABEL}')"
        ));
    }
    errors
}

/// What is wrong with the name of a label: an optional subdomain, a slash, a name.
pub(crate) fn qualified_name(value: &str) -> Vec<String> {
    let form = format!(
        "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
         alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for \
         validation is '{QUALIFIED}')"
    );
    let mut errors = Vec::new();
    let parts: Vec<_> = value.split('/').collect();
    let name = match parts.as_slice() {
        [name] => name,
        [prefix, name] => {
            if prefix.is_empty() {
                errors.push("prefix part must be non-empty".to_owned());
            } else {
                errors.extend(
                    subdomain_of(prefix, "bytes")
                        .into_iter()
                        .map(|error| format!("prefix part {error}")),
                );
            }
            name
        }
        _ => {
            return vec![format!(
                "a valid label key {form} with an optional DNS subdomain prefix and '/' (e.g. \
                 'example.com/MyName')"
            )];
        }
    };
    if name.is_empty() {
        errors.push("name part must be non-empty".to_owned());
    } else if name.len() > 63 {
        errors.push(format!("name part {}", too_long(63)));
    }
    if !is_qualified(name) {
        errors.push(format!("name part {form}"));
    }
    errors
}

/// What is wrong with the value of a label.
pub(crate) fn label_value(value: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if value.len() > 63 {
        errors.push(too_long(63));
    }
    if !value.is_empty() && !is_qualified(value) {
        errors.push(format!(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', \
             '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  \
             or 'my_value',  or '12345', regex used for validation is '({QUALIFIED})?')"
        ));
    }
    errors
}

/// What is wrong with a name that becomes part of a URL.
pub(crate) fn path_segment(value: &str) -> Vec<String> {
    if matches!(value, "." | "..") {
        return vec![format!("may not be '{value}'")];
    }
    ["/", "%"]
        .into_iter()
        .filter(|illegal| value.contains(illegal))
        .map(|illegal| format!("may not contain '{illegal}'"))
        .collect()
}

/// Whether CEL can name a variable so.
pub(crate) fn is_cel_identifier(name: &str) -> bool {
    const RESERVED: [&str; 21] = [
        "true",
        "false",
        "null",
        "in",
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    ];
    name.starts_with(|first: char| first == '_' || first.is_ascii_alphabetic())
        && name.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
        && !RESERVED.contains(&name)
}

fn too_long(most: usize) -> String {
    format!("must be no more than {most} bytes")
}

fn is_dns1123_label(value: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    bounded(value, inner, |byte| inner(byte) || byte == b'-')
}

fn is_qualified(value: &str) -> bool {
    bounded(
        value,
        |byte| byte.is_ascii_alphanumeric(),
        |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'),
    )
}

/// Not empty, `edge` at both ends, `inner` everywhere.
fn bounded(value: &str, edge: impl Fn(u8) -> bool, inner: impl Fn(u8) -> bool) -> bool {
    match value.as_bytes() {
        [] => false,
        [only] => edge(*only),
        [first, middle @ .., last] => {
            edge(*first) && edge(*last) && middle.iter().copied().all(inner)
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::plain("a.b-c.d1", true)]
    #[case::empty("", false)]
    #[case::upper("A", false)]
    #[case::dots("a..b", false)]
    #[case::edge("-a", false)]
    fn subdomains(#[case] value: &str, #[case] good: bool) {
        assert_eq!(subdomain(value).is_empty(), good);
    }

    #[rstest]
    #[case::plain("MyName", true)]
    #[case::prefixed("example.com/My_Name.x", true)]
    #[case::no_prefix("/x", false)]
    #[case::no_name("example.com/", false)]
    #[case::two_slashes("a/b/c", false)]
    #[case::edge("x-", false)]
    fn qualified_names(#[case] value: &str, #[case] good: bool) {
        assert_eq!(qualified_name(value).is_empty(), good);
    }

    #[rstest]
    #[case::plain("a_1", true)]
    #[case::reserved("namespace", false)]
    #[case::digit_first("1a", false)]
    #[case::dash("a-b", false)]
    fn cel_identifiers(#[case] value: &str, #[case] good: bool) {
        assert_eq!(is_cel_identifier(value), good);
    }

    #[test]
    fn texts_name_the_rule() {
        assert_eq!(path_segment("a/b%"), ["may not contain '/'", "may not contain '%'"]);
        assert_eq!(label_value(&"x".repeat(64)), ["must be no more than 63 bytes"]);
    }
}
