//! What templates are made of.

/// Numbers.
#[rustfmt::skip]
pub const NUMBERS: &[&str] = &[
    "0", "1", "2", "3", "-1", "+1", "7", "42", "-0", "00", "017", "0o17", "0x1F", "-0x1e", "0b101", "1_000", "1.5",
    ".5", "5.", "-2.5", "1e3", "1e-7", "1e21", "0x1p4", "0x1.8p-2", "9223372036854775807", "-9223372036854775808",
    "1i", "1+2i", "-1.5-2i", "0i", "'a'", "'\\n'", "'é'", "'\\''", "'\\x41'", "'\\u00e9'", "123456.789", "100000.0",
    "1e6", "0.0001", "0.00001", "2.5e-5", "1e20", "0.1", "3.0",
];

/// What is no number, or none that fits.
#[rustfmt::skip]
pub const BAD_NUMBERS: &[&str] = &[
    "1__0", "1_", "0x", "089", "1e400", "0x1.8", "9223372036854775808", "18446744073709551615",
    "18446744073709551616", "1+i", "''", "'ab'", "'\\400'", "1a", "1.2.3", "0b2", "1e", "+", "-", "1_+2i", "0x1+2i",
    "'\\q'", "'a",
];

/// Small numbers, of which loops may be made.
#[rustfmt::skip]
pub const SMALL: &[&str] = &[
    "0", "1", "2", "3", "5", "-1", "'\\x03'",
];

/// Texts.
#[rustfmt::skip]
pub const TEXTS: &[&str] = &[
    "\"\"", "\"a\"", "\"b\"", "\"text\"", "\"two words\"", "`raw`", "`a\"b`", "\"é☃𝄞\"", "\"\\xff\"", "\"\\xc3\"",
    "\"a\\tb\\n\"", "\"\\\"\"", "\"\\\\\"", "\"\\u00e9\\U0001F600\\101\"", "\"<a href='x'>&=\\x00\"", "\"%d\"",
    "\"%s-%03d\"", "\"pool\"", "\"rack\"", "\"name\"", "\"ABCdef\"", "\"  padded \"", "\"x2x9q\"", "\"-\"", "\":\"",
    "``", "\"\\u200b\\u00a0\\ufeff\"", "\"ÄßİΣ\"", "`two\nlines`",
];

/// What is no text.
#[rustfmt::skip]
pub const BAD_TEXTS: &[&str] = &[
    "\"\\q\"", "\"\\400\"", "\"\\ud800\"", "\"a", "`a", "\"a\nb\"",
];

/// Expressions that give a text, an int, a list and a map, with the large data and whatever dot is.
#[rustfmt::skip]
pub const OF_TEXT: &[&str] =
    &[
    "$.s", "$.utf", "$.html", "$.empty", "$.q", "machineName", "$.K8s", "clusterName",
];
/// Ints.
#[rustfmt::skip]
pub const OF_INT: &[&str] = &[
    "$.n", "$.zero", "$.neg", "getIndex", "(len $.list)", "(index $.ints 1)", "(getIndexWithOffset 2)",
];
/// Floats and others that are not whole.
#[rustfmt::skip]
pub const OF_FLOAT: &[&str] =
    &[
    "$.f", "$.fbig", "$.fsmall", "$.fneg", "$.negzero", "$.huge", "$.fw", "1.5", "2.5e-5",
];
/// Lists.
#[rustfmt::skip]
pub const OF_LIST: &[&str] = &[
    "$.list", "$.ints", "$.mixed", "$.none", "(slice $.list 1)", "(slice $.list 0 2)", "$.deep.list",
];
/// Maps.
#[rustfmt::skip]
pub const OF_MAP: &[&str] =
    &[
    "$.map", "$.deep", "$.void", "$.deep.x", "$", "(index $.deep.list 0)",
];

/// Fields, of which the data has most.
#[rustfmt::skip]
pub const FIELDS: &[&str] = &[
    "s", "n", "f", "t", "no", "null", "list", "ints", "none", "mixed", "map", "void", "deep", "x", "y", "z", "k", "a",
    "b", "name", "ip", "utf", "html", "zero", "empty", "neg", "fbig", "huge", "nope", "metadata", "labels", "spec",
    "status", "hardware", "nics", "mac", "K8s", "über",
];

/// Names of variables.
#[rustfmt::skip]
pub const VARIABLES: &[&str] = &[
    "$x", "$y", "$z", "$i", "$é", "$_",
];

/// Names of templates.
#[rustfmt::skip]
pub const TEMPLATES: &[&str] =
    &[
    "\"a\"", "\"b\"", "`c`", "\"\\xff\"", "\"é\"", "\"a%d\"",
];

/// Functions, the frequent ones more than once.
#[rustfmt::skip]
pub const FUNCTIONS: &[&str] = &[
    "and", "or", "not", "len", "index", "index", "slice", "slice", "print", "print", "println", "printf", "html",
    "js", "urlquery", "call", "eq", "eq", "ne", "lt", "le", "gt", "ge", "getIndex", "getIndexWithOffset",
    "machineName", "machineLabel", "metal3MachineUID", "hostLabel", "hostMAC", "bootMAC", "clusterName", "lower",
    "upper", "trim", "trimPrefix", "trimSuffix", "replace", "trunc", "default", "quote", "contains", "hasPrefix",
    "hasSuffix",
];

/// Text between actions.
#[rustfmt::skip]
pub const PLAIN: &[&str] = &[
    "a", " ", "\n", " b ", "\t", "\r\n", "é", "{x", "}", "}}", "- ", "text\n  more", "{ x {}", "☃ ", "", "%d", "<x>",
];

/// Tokens that a template may gain where they do not belong.
#[rustfmt::skip]
pub const STRAY: &[&str] = &[
    "{{", "}}", "{{-", "-}}", "(", ")", "|", ",", ":=", "=", ".", "$", "\"", "`", "'", "/*", "*/", "if", "else",
    "end", "range", "with", "define", "block", "template", "break", "continue", "nil", "true", "\n", " ", "-", "+",
    "@", "§", "\u{0}", "\u{1b}", ".x", "$x", "print", "{{end}}", "{{else}}", "{{/* c */}}", "{{if 1}}", "{{break}}",
    "\\", ":",
];

/// The verbs of package fmt, and others.
#[rustfmt::skip]
pub const VERBS: &[&str] = &[
    "v", "d", "s", "q", "x", "X", "o", "O", "b", "c", "U", "e", "E", "f", "F", "g", "G", "t", "T", "%", "w", "z", "é",
    "!",
];
