//! Values that Go holds but JSON has no form for: the API server's conversion of CEL values stops at
//! the first literal inside a literal, and takes null for a number of protobuf's. Nothing they are
//! merged into accepts them; they only need to be named in what is said about that.

use serde_json::Value;

/// No document has this character: YAML and JSON forbid it, and CEL writes it only on request.
const MARK: char = '\0';

/// A value of a Go type, as Go prints it.
pub(crate) fn foreign(go_type: &str, shown: &str) -> Value {
    Value::String(format!("{MARK}{go_type}{MARK}{shown}"))
}

/// CEL's null.
pub(crate) fn null() -> Value {
    foreign("structpb.NullValue", "NULL_VALUE")
}

/// Go's type of bytes.
pub(crate) const BYTES: &str = "[]uint8";

/// The bytes that Go prints like this: `[120 121]`.
pub(crate) fn bytes(shown: &str) -> Vec<u8> {
    let numbers = shown.trim_matches(['[', ']']).split_whitespace();
    numbers.filter_map(|number| number.parse().ok()).collect()
}

/// The Go type, and how Go prints the value.
pub(crate) fn as_foreign(value: &Value) -> Option<(&str, &str)> {
    value.as_str()?.strip_prefix(MARK)?.split_once(MARK)
}
