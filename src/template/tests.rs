//! What the golden vectors cannot show: places as fields, problems all at once, and templates that mean harm.

use super::*;
use proptest::prelude::*;
use rstest::rstest;

fn no_functions(name: &str, _: &[Value]) -> Result<Value, String> {
    Err(format!("{name} does nothing"))
}

fn parse(source: &str) -> Result<Template, Box<ParseError>> {
    Template::parse("t", source, &Functions::default(), &Limits::default())
}

fn render(source: &str) -> Result<String, Box<ExecError>> {
    parse(source).unwrap().render(&Value::Nil, &no_functions)
}

#[test]
fn a_parse_error_has_its_place() {
    let error = parse("é {{ \"a\" | nope }}").unwrap_err();
    assert_eq!((error.line, error.column, error.text.as_str()), (1, 12, "nope"));
    assert_eq!(error.kind, Kind::Fault);
    assert_eq!(error.to_string(), "template: t:1: function \"nope\" not defined");
}

#[test]
fn an_error_of_rendering_has_its_place() {
    let error = render("one\né {{ len 3 }}").unwrap_err();
    assert_eq!((error.line, error.column, error.text.as_str()), (2, 6, "len 3"));
    assert_eq!(error.kind, Kind::Fault);
    // Go counts bytes, from 0 on.
    assert!(error.to_string().starts_with("template: t:2:6: executing \"t\" at <len 3>: "));
}

#[test]
fn bytes_that_are_no_text_are_replaced_in_the_output() {
    assert_eq!(render(r#"{{slice "é" 0 1}}"#).unwrap(), "\u{FFFD}");
}

#[test]
fn all_problems_are_told_at_once() {
    let source = "{{ nope }}{{ lenn \"a\" }}{{ $x }}\n{{ len }}{{ len \"a\" \"b\" }}{{ printf 1 }}\
                  {{ template \"u\" }}{{ 1 | len 2 }}{{ eq 1 \"a\" }}{{ printf \"%d\" \"a\" }}{{ nil }}";
    let found: Vec<String> =
        problems("t", source, &Functions::default()).iter().map(ToString::to_string).collect();
    let want = [
        "1:4: function \"nope\" not defined; did you mean \"ne\"?",
        "1:14: function \"lenn\" not defined; did you mean \"len\"?",
        "1:28: undefined variable \"$x\"; did you mean \"$\"?",
        "2:4: wrong number of args for len: want 1 got 0; it is `len any -> int`",
        "2:13: wrong number of args for len: want 1 got 2; it is `len any -> int`",
        "2:37: expected string; found 1",
        "2:53: template \"u\" not defined",
        "2:66: wrong number of args for len: want 1 got 2; it is `len any -> int`",
        "2:77: error calling eq: incompatible types for comparison: int and string",
        "2:91: the format does not fit its arguments: it would print \"%!d(string=a)\"",
        "2:112: nil is not a command",
    ];
    assert_eq!(found, want);
}

#[rstest]
#[case::field("{{ .a.b }}{{ index .a 1 | len }}")]
#[case::unknown_types("{{ printf \"%d %s\" .a .b }}{{ eq .a 1 }}{{ lt 1 .b }}")]
#[case::piped("{{ \"a\" | printf \"%s-%03d\" .a | len | eq 3 }}")]
#[case::percent("{{ printf \"%d%%!\" 3 }}{{ printf .a 1 }}")]
fn what_may_be_right_is_no_problem(#[case] source: &str) {
    assert_eq!(problems("t", source, &Functions::default()), []);
}

#[test]
fn a_syntax_error_is_a_problem_with_those_before_it() {
    let found = problems("t", "{{ nope }}{{ if }}", &Functions::default());
    let texts: Vec<&str> = found.iter().map(|problem| problem.message.as_str()).collect();
    assert_eq!(texts, ["function \"nope\" not defined", "missing value for if"]);
}

#[rstest]
#[case::parentheses(&"(".repeat(5000), "{{", "}}")]
#[case::open_parentheses(&"(".repeat(5000), "{{", "")]
#[case::ifs(&"{{if 1}}".repeat(5000), "", "")]
#[case::ends(&format!("{}{}", "{{if 1}}".repeat(3000), "{{end}}".repeat(3000)), "", "")]
#[case::else_ifs(&"{{else if 0}}".repeat(4500), "{{if 0}}", "{{end}}")]
#[case::else_withs(&"{{else with 0}}".repeat(4000), "{{with 0}}", "{{end}}")]
#[case::ranges(&"{{range 1}}".repeat(5000), "", "")]
#[case::blocks(&"{{block \"a\" 1}}".repeat(4000), "", "")]
fn deep_nesting_is_refused(#[case] deep: &str, #[case] before: &str, #[case] after: &str) {
    let source = format!("{before}{deep}{after}");
    let error = parse(&source).unwrap_err();
    assert_eq!(error.kind, Kind::Limit, "{error}");
    assert_eq!(problems("t", &source, &Functions::default())[0].message, error.message);
}

/// As deep as may be, on the two mebibytes that a thread of a test has.
#[test]
fn what_is_just_not_too_deep_is_rendered() {
    let most = Limits::default().nesting;
    let parens = format!("{{{{{}1{}}}}}", "(".repeat(most), ")".repeat(most));
    assert_eq!(render(&parens).unwrap(), "1");
    let ifs = format!("{}a{}", "{{if 1}}".repeat(most), "{{end}}".repeat(most));
    assert_eq!(render(&ifs).unwrap(), "a");
    let inner = (0..most - 1).fold("1".to_owned(), |inner, _| format!("(print {inner})"));
    let calls = format!("{{{{print {inner}}}}}");
    assert_eq!(render(&calls).unwrap(), "1");
    let chains = (0..most - 1).fold("1".to_owned(), |inner, _| format!("(and 1 {inner})"));
    assert_eq!(render(&format!("{{{{{chains}}}}}")).unwrap(), "1");
}

#[rstest]
#[case::itself("{{define \"a\"}}{{template \"a\"}}{{end}}{{template \"a\"}}")]
#[case::each_other(
    "{{define \"a\"}}{{template \"b\"}}{{end}}{{define \"b\"}}{{template \"a\"}}{{end}}{{template \"a\"}}"
)]
#[case::in_blocks(
    "{{define \"a\"}}{{if 1}}{{range 2}}{{template \"a\" (print (print .))}}{{end}}{{end}}{{end}}{{template \"a\"}}"
)]
#[case::twice("{{define \"a\"}}x{{template \"a\"}}{{template \"a\"}}{{end}}{{template \"a\"}}")]
#[case::endless_loop("{{range 9223372036854775807}}{{end}}")]
#[case::loops_in_loops("{{range 100000}}{{range 100000}}{{end}}{{end}}")]
#[case::doubling("{{$x := \"aaaaaaaaaaaaaaaa\"}}{{range 60}}{{$x = print $x $x}}{{end}}{{$x}}")]
#[case::quoting("{{$x := \"\\\\\"}}{{range 60}}{{$x = printf \"%q%q\" $x $x}}{{end}}")]
#[case::escaping("{{$x := \"&\"}}{{range 99}}{{$x = html $x $x}}{{end}}")]
#[case::much_output("{{range 90000}}0123456789012345678901234567890123456789{{end}}")]
#[case::width("{{printf \"%10000000d\" 1}}")]
#[case::widths("{{range 9}}{{$x := printf \"%1000000d\" 1}}{{end}}")]
#[case::width_argument("{{printf \"%*d%*d\" 1000000 1 1000000 1}}")]
#[case::precision("{{printf \"%.9999999f%.9999999d%.9999999U\" 1.5 1 1}}")]
#[case::long_comparisons("{{$x := printf \"%999999d\" 1}}{{range 50000}}{{$y := eq $x $x}}{{end}}")]
fn what_would_not_end_is_ended(#[case] source: &str) {
    let error = render(source).unwrap_err();
    assert_eq!(error.kind, Kind::Limit, "{error}");
    assert!(error.line >= 1 && error.column >= 1);
}

#[rstest]
#[case::not_a_width("{{printf \"%1000000000d\" 1}}", "%!(NOVERB)%!(EXTRA int=1)")]
#[case::bad_width("{{printf \"%*d\" 1000001 1}}", "%!(BADWIDTH)1")]
fn numbers_too_large_for_go_are_not_numbers(#[case] source: &str, #[case] want: &str) {
    assert_eq!(render(source).unwrap(), want);
}

#[test]
fn a_megabyte_of_source_is_refused_unread() {
    for part in ["{{", "a", "{{1}}", "{{(", "{{/*"] {
        let source = part.repeat((1 << 20) / part.len());
        assert_eq!(parse(&source).unwrap_err().kind, Kind::Limit);
        assert_eq!(problems("t", &source, &Functions::default()).len(), 1);
    }
}

#[test]
fn as_much_source_as_may_be_is_read_quickly() {
    let most = Limits::default().source;
    for part in ["{{1}}", "{{(", "{{\"a\" | print }}", "{{$x := 1}}", "a {{- /* b */ -}}\n", "{{\n"]
    {
        let source = part.repeat(most / part.len());
        drop(parse(&source));
        drop(problems("t", &source, &Functions::default()));
    }
}

const PIECES: [&str; 32] = [
    "{{",
    "}}",
    "{{- ",
    " -}}",
    "{{if .a}}",
    "{{else}}",
    "{{end}}",
    "{{range $i, $x := .}}",
    "{{define \"a\"}}",
    "{{template \"a\" .}}",
    "{{break}}",
    "(",
    ")",
    "|",
    " ",
    "$x",
    ".a",
    "\"%d\"",
    "`b`",
    "'c'",
    "1",
    "-0x1p4",
    "1+2i",
    "print",
    "printf \"%[2]*.[1]q\"",
    "index",
    "slice",
    "\n",
    "é",
    ":=",
    "=",
    ",",
];

proptest! {
    #[test]
    fn nothing_panics(picks in prop::collection::vec(0..PIECES.len(), 0..60), other: String) {
        let source: String = picks.iter().map(|pick| PIECES[*pick]).chain([other.as_str()]).collect();
        let found = problems("t", &source, &Functions::default());
        match parse(&source) {
            Ok(template) => drop(template.render(&Value::Nil, &no_functions)),
            Err(error) => {
                prop_assert!(!found.is_empty(), "{}", error);
                prop_assert!(error.line <= 1 + source.matches('\n').count());
            }
        }
    }
}
