//! Expressions and objects that mean harm: refused, or stopped by the budget, and never the end of the process.
//!
//! Everything is evaluated on a stack of two mebibytes, Tokio's default, also in a build without optimisation.
//! What is asserted is the outcome; the watchdog is generous and only there so that a hang fails.

use ironward::policy::cel::{
    Bindings, Environment, MAX_NODES, MAX_SOURCE, Program, Type, compile, display,
};
use rstest::rstest;
use serde_json::{Value as Json, json};
use std::{fs, sync::mpsc, thread, time::Duration};

const STACK: usize = 2 << 20;
const WATCHDOG: Duration = Duration::from_mins(5);
/// Kilobytes that the whole test may ever hold.
const MEMORY: u64 = 1 << 20;
const STOPPED: &str = "operation cancelled: actual cost limit exceeded";

/// Runs the work where requests are served.
fn on_a_small_stack<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (send, result) = mpsc::channel();
    let thread = thread::Builder::new().stack_size(STACK).spawn(move || {
        let _ = send.send(work());
    });
    let result = result.recv_timeout(WATCHDOG);
    assert!(!matches!(result, Err(mpsc::RecvTimeoutError::Timeout)), "no end in sight");
    thread.expect("a thread").join().expect("no panic");
    assert!(peak_memory() < MEMORY, "{} KB", peak_memory());
    result.expect("a result")
}

fn peak_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    peak.and_then(|kb| kb.trim().trim_end_matches(" kB").parse().ok()).unwrap_or_default()
}

/// What becomes of an expression: its value as text, or why there is none.
fn outcome(source: &str, object: Json) -> Result<String, String> {
    let source = source.to_owned();
    on_a_small_stack(move || {
        let program = compile(&source, &environment(), &[]).map_err(|errors| errors.to_string());
        let program = program.inspect_err(|text| assert!(!text.contains("panicked"), "{text}"))?;
        evaluate(&program, &object)
    })
}

fn environment() -> Environment {
    Environment::new().with_params().with_authorizer()
}

fn evaluate(program: &Program, object: &Json) -> Result<String, String> {
    let bindings = Bindings::new().object(object);
    let found = program.evaluate(&bindings);
    found.result.map(|value| display(&value)).map_err(|error| error.to_string())
}

fn nested(open: &str, middle: &str, close: &str, times: usize) -> String {
    format!("{}{middle}{}", open.repeat(times), close.repeat(times))
}

#[rstest]
#[case::parentheses("(", "1", ")")]
#[case::lists("[", "1", "]")]
#[case::maps("{1:", "1", "}")]
#[case::messages("Object{a:", "1", "}")]
#[case::calls("dyn(", "1", ")")]
#[case::methods("'a'.contains(string(", "1", "))")]
#[case::ternary_conditions("(", "true", "?true:false)")]
#[case::ternaries_left("true?1:(", "1", ")")]
#[case::ternaries_right("true?1:", "1", "")]
#[case::not("!", "true", "")]
#[case::not_in_parentheses("!(", "true", ")")]
#[case::minus("-", "object", "")]
#[case::minus_in_parentheses("-(", "1", ")")]
#[case::selects("", "object", ".a")]
#[case::optional_selects("", "object", ".?a")]
#[case::indexes("", "object", "[0]")]
#[case::inner_indexes("object[", "0", "]")]
#[case::methods_in_a_row("", "'a'", ".trim()")]
#[case::sums("", "1", "+1")]
#[case::differences("", "1", "-1")]
#[case::products("", "1", "*1")]
#[case::right_sums("1+(", "1", ")")]
#[case::relations("", "1", "==1")]
#[case::ands("", "true", "&&true")]
#[case::ors("", "false", "||false")]
#[case::both("(", "true", "&&true||false)")]
#[case::loops("[1].map(x,", "1", ")")]
#[case::loops_in_ranges("", "[1]", ".map(x,x)")]
#[case::all("[1].all(x,", "true", ")")]
#[case::sorts("[1].sortBy(x,", "1", ")")]
#[case::optionals("optional.of(", "1", ")")]
#[case::optional_loops("optional.of(1).optMap(x,", "1", ")")]
#[case::has("", "has(object.a)", "&&has(object.a)")]
#[case::open_only("(", "", "")]
#[case::open_lists("[", "", "")]
#[case::close_only("", "1", ")")]
#[case::quotes("'", "", "")]
#[case::triple_quotes("'''", "", "")]
#[case::backslashes("", "'", "\\")]
#[case::comments("//\n", "1", "")]
#[case::dots(".", "a", "")]
#[case::question_marks("?", "1", "")]
fn nesting_is_refused_or_evaluated(#[case] open: &str, #[case] middle: &str, #[case] close: &str) {
    for times in [10, 50, 90, 120, 200, 240, 260, 1000, 3000, 20_000] {
        let source = nested(open, middle, close, times);
        let _ = outcome(&source, json!({"a": {"a": 1}}));
        let longest = times * (open.len() + close.len()).max(1);
        if longest > MAX_SOURCE {
            outcome(&source, json!({})).expect_err("too long");
        }
    }
}

#[test]
fn what_is_too_long_or_too_large_is_refused_before_it_is_checked() {
    let long = format!("'{}'", "x".repeat(MAX_SOURCE));
    assert!(outcome(&long, json!({})).unwrap_err().contains("too long"));
    let megabytes = format!("'{}'", "x".repeat(64 << 20));
    assert!(outcome(&megabytes, json!({})).unwrap_err().contains("too long"));
    // Macros write out more than is read.
    let many = format!("[{}]", "[].all(a,1==1),".repeat(MAX_SOURCE / 16));
    assert!(outcome(&many, json!({})).unwrap_err().contains("too large"), "{MAX_NODES}");
}

#[rstest]
#[case::all(|inner: &str| format!("lists.range(100).all(x, {inner})"), "true")]
#[case::exists(|inner: &str| format!("lists.range(100).exists(x, {inner})"), "false")]
#[case::map(|inner: &str| format!("lists.range(100).map(x, {inner})"), "1")]
#[case::filter(|inner: &str| format!("lists.range(100).filter(x, size({inner}) >= 0)"), "[1]")]
#[case::transform(|inner: &str| format!("lists.range(100).transformMap(k, v, {inner})"), "1")]
#[case::sort_by(|inner: &str| format!("lists.range(100).sortBy(x, size({inner}))"), "[1]")]
#[case::of_the_object(|inner: &str| format!("object.many.all(x, {inner})"), "true")]
fn loops_in_loops_are_stopped_by_the_budget(#[case] wrap: fn(&str) -> String, #[case] inner: &str) {
    let mut source = inner.to_owned();
    for _ in 0..6 {
        source = wrap(&source);
    }
    let many: Vec<u32> = (0..100).collect();
    assert_eq!(outcome(&source, json!({"many": many})).unwrap_err(), STOPPED);
}

#[rstest]
#[case::sum("['a']".to_owned(), ".map(x, x + x)")]
#[case::list_sum("[[1]]".to_owned(), ".map(x, x + x)")]
#[case::bytes("[b'a']".to_owned(), ".map(x, x + x)")]
#[case::replace("['aa']".to_owned(), ".map(x, x.replace('a', 'aa'))")]
#[case::replace_nothing("['aa']".to_owned(), ".map(x, x.replace('', x))")]
#[case::join("['a']".to_owned(), ".map(x, [x, x].join(x))")]
#[case::format("['a']".to_owned(), ".map(x, '%s%s'.format([x, x]))")]
#[case::quote("['\"']".to_owned(), ".map(x, strings.quote(x) + strings.quote(x))")]
#[case::split("['a']".to_owned(), ".map(x, x.split('').join('aa'))")]
#[case::nested_lists("[[1]]".to_owned(), ".map(x, [x, x])")]
fn doubling_is_stopped_by_the_budget(#[case] mut source: String, #[case] step: &str) {
    for _ in 0..60 {
        source.push_str(step);
    }
    let found = outcome(&format!("size({source}) > 0"), json!({}));
    assert!(
        found.as_ref().is_err_and(|text| text == STOPPED) || found == Ok("true".to_owned()),
        "{found:?}"
    );
}

#[test]
fn doubling_through_variables_is_stopped_by_the_budget() {
    let found = on_a_small_stack(|| {
        let mut environment = environment().with_variables();
        let mut programs = Vec::new();
        for at in 0..60 {
            let source = match at {
                0 => "'xxxxxxxxxx'".to_owned(),
                _ => format!("variables.v{0} + variables.v{0}", at - 1),
            };
            let program = compile(&source, &environment, &[]).unwrap();
            environment.declare(&format!("v{at}"), program.result_type());
            programs.push((format!("v{at}"), program));
        }
        let last = compile("size(variables.v59)", &environment, &[Type::Int]).unwrap();
        let mut bindings = Bindings::new();
        for (name, program) in &programs {
            bindings = bindings.variable(name, program);
        }
        last.evaluate(&bindings)
            .result
            .map(|value| display(&value))
            .map_err(|error| error.to_string())
    });
    assert!(found.unwrap_err().contains("cost"));
}

#[test]
fn a_long_chain_of_variables_is_no_deep_stack() {
    on_a_small_stack(|| {
        let mut environment = environment().with_variables();
        let mut programs = Vec::new();
        for at in 0..2000 {
            let source =
                if at == 0 { "[1]".to_owned() } else { format!("[variables.v{}]", at - 1) };
            // The type of a list of lists of lists is as deep as they are.
            let Ok(program) = compile(&source, &environment, &[]) else { break };
            environment.declare(&format!("v{at}"), &Type::Dyn);
            programs.push((format!("v{at}"), program));
        }
        let last = format!("variables.v{}", programs.len() - 1);
        for source in [
            format!("{last} == {last}"),
            format!("'%s'.format([{last}]) != ''"),
            format!("{last} in [{last}]"),
        ] {
            let program = compile(&source, &environment, &[]).unwrap();
            let mut bindings = Bindings::new();
            for (name, program) in &programs {
                bindings = bindings.variable(name, program);
            }
            let found = program.evaluate(&bindings);
            // A value or an error: both are fine, an overflow of the stack is not.
            let _ = found.result.map(|value| display(&value));
        }
    });
}

#[rstest]
#[case("lists.range(9223372036854775807)")]
#[case("lists.range(1000000000).size()")]
#[case("lists.range(100000000).map(x, x).size()")]
#[case("lists.range(3000).sort().size()")]
#[case("lists.range(3000).distinct().size()")]
#[case("lists.range(500000).reverse().reverse().reverse().size()")]
#[case("lists.range(2000).sortBy(x, -x).size()")]
#[case(
    "lists.range(300000).slice(0, 300000).slice(0, 300000).slice(0, 300000).slice(0, 300000).size()"
)]
#[case("lists.range(2000).map(x, lists.range(2000)).flatten().size()")]
#[case("lists.range(1000).map(x, lists.range(1000)).flatten(9223372036854775807).size()")]
#[case("[[1], [2]].flatten(9223372036854775807)")]
#[case("sets.contains(lists.range(2000), lists.range(2000))")]
#[case("sets.intersects(lists.range(2000), lists.range(2000).map(x, x + 100000))")]
#[case("lists.range(200000).map(x, [x]) == lists.range(200000).map(x, [x])")]
#[case("lists.range(900000).sum() + lists.range(900000).max()")]
fn large_lists_are_stopped_by_the_budget(#[case] source: &str) {
    assert_eq!(outcome(source, json!({})).unwrap_err(), STOPPED);
}

#[rstest]
#[case::distance("'abc'.substring(0, 3).size() == 3 && !'abc'.contains('d')")]
#[case::format("'%.0f'.format([1e308]).size() > 300")]
fn large_numbers_alone_are_harmless(#[case] source: &str) {
    assert_eq!(outcome(source, json!({})), Ok("true".to_owned()));
}

#[rstest]
#[case::precision("'%.999999999f'.format([1.0])")]
#[case::precision_overflows("'%.99999999999999999999f'.format([1.0])")]
#[case::exponent("'%.1000000e'.format([1.0])")]
#[case::quantity("quantity('1e999999999')")]
#[case::long_quantity("quantity(object.digits)")]
#[case::sum_of_quantities("quantity('1e1000000').add(quantity('1e-1000000'))")]
#[case::semver("semver(object.digits + '.0.0')")]
#[case::duration("duration(object.digits + 'h')")]
#[case::timestamp("timestamp(object.digits + '-01-01T00:00:00Z')")]
#[case::double("double(object.digits)")]
#[case::int("int(object.digits)")]
#[case::url("url('http://' + object.digits)")]
#[case::cidr("cidr('1.2.3.4/' + object.digits)")]
#[case::time_zone("timestamp('2026-01-01T00:00:00Z').getHours(object.digits)")]
#[case::replace_count("object.digits.replace('9', '99', 9223372036854775807)")]
#[case::split_count("object.digits.split('', 9223372036854775807)")]
#[case::find_all("object.digits.findAll('9', 9223372036854775807)")]
#[case::negative("object.digits.substring(-1)")]
fn whatever_it_is_it_ends(#[case] source: &str) {
    let _ = outcome(source, json!({"digits": "9".repeat(100_000)}));
}

#[rstest]
#[case("(a*)*b")]
#[case("(a|aa)+$")]
#[case("(a|a)*c")]
#[case("^(([a-z])+.)+[A-Z]([a-z])+$")]
#[case("(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)[^a]")]
#[case("a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?aaaaaaaaaaaaaaaaaaaab")]
fn patterns_that_explode_elsewhere_are_linear_here(#[case] pattern: &str) {
    let text = json!({"text": "a".repeat(30_000), "pattern": pattern});
    for source in [
        format!("object.text.matches('{pattern}')"),
        format!("object.text.find('{pattern}') == 'x'"),
        "object.text.matches(object.pattern)".to_owned(),
        "object.text.findAll(object.pattern).size() > 5".to_owned(),
    ] {
        let _ = outcome(&source, text.clone());
    }
}

#[rstest]
#[case("((a{1000}){1000}){1000}")]
#[case("(((a{100}){100}){100}){100}")]
#[case("a{1000000000}")]
#[case("(\\\\pL{1000}){100}")]
#[case("[[:word:]]{1000}{1000}")]
fn patterns_that_repeat_too_often_are_refused(#[case] pattern: &str) {
    outcome(&format!("'a'.matches('{pattern}')"), json!({})).expect_err("as a literal");
    let pattern = pattern.replace("\\\\", "\\");
    outcome("'a'.matches(object.pattern)", json!({"pattern": pattern})).expect_err("as a value");
}

#[rstest]
#[case::groups("(", ")")]
#[case::repeated_groups("(?:", ")*")]
#[case::choices("(a|", ")")]
#[case::classes("[", "]")]
#[case::stars("", "*")]
#[case::question_marks("", "?")]
#[case::flags("(?i:", ")")]
fn patterns_with_deep_groups_are_refused_or_compiled(#[case] open: &str, #[case] close: &str) {
    for times in [100, 240, 900, 1100, 5000, 500_000] {
        let pattern = nested(open, "a", close, times);
        let _ = outcome("'a'.matches(object.pattern)", json!({"pattern": pattern}));
        let _ = outcome(&format!("'a'.matches('{pattern}')"), json!({}));
    }
}

/// As deep as JSON is ever read: the reader itself stops at 128.
fn deep(mut inner: Json, times: usize) -> Json {
    for at in 0..times {
        inner = if at % 2 == 0 { json!([inner]) } else { json!({"a": inner}) };
    }
    inner
}

#[rstest]
#[case("object == oldObject")]
#[case("object == object")]
#[case("object in [object]")]
#[case("[object, object].distinct()")]
#[case("sets.equivalent([object], [object])")]
#[case("'%s'.format([object])")]
#[case("[object].indexOf(object)")]
#[case("[[object]].flatten(1000)")]
#[case("dyn(object)")]
#[case("optional.ofNonZeroValue(object)")]
#[case("string(object)")]
fn deep_objects_are_walked_without_a_deep_stack(#[case] source: &'static str) {
    on_a_small_stack(move || {
        let program = compile(source, &environment(), &[]);
        let Ok(program) = program else { return };
        for times in [60, 100, 127] {
            let (object, old) = (deep(json!(1), times), deep(json!(1), times));
            let bindings = Bindings::new().object(&object).old_object(&old);
            let _ = program.evaluate(&bindings).result.map(|value| display(&value));
        }
    });
}

#[test]
fn deep_json_is_refused_by_its_reader() {
    let text = nested("[", "1", "]", 100_000);
    serde_json::from_str::<Json>(&text).expect_err("nested too deep");
}

#[rstest]
#[case("object.text.contains(object.text)")]
#[case("object.text.matches('x*y')")]
#[case("object.text.replace('x', 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx').size()")]
#[case("object.text.split('').size()")]
#[case("object.text.upperAscii().lowerAscii().upperAscii().lowerAscii().size()")]
#[case("object.text.lastIndexOf('y')")]
#[case("(object.text + object.text + object.text + object.text + object.text).size()")]
#[case("object.text == object.text && object.text < object.text + 'x'")]
#[case("url(object.text)")]
#[case("quantity(object.text)")]
#[case("strings.quote(object.text).size()")]
#[case("object.text.charAt(2999999)")]
#[case("object.text.substring(1, 2999999).size()")]
#[case("bytes(object.text).size()")]
#[case("lists.range(1000).map(x, object.text + 'x').size()")]
#[case("lists.range(1000).all(x, object.text != 'y')")]
#[case("lists.range(1000).all(x, object.text.size() > 0)")]
#[case("lists.range(100).map(x, object.text.charAt(x)).size()")]
#[case("lists.range(10000).map(x, object.text.substring(1)).size()")]
#[case("lists.range(10000).map(x, object.text.trim()).size()")]
fn a_request_of_three_megabytes_is_handled(#[case] source: &str) {
    let _ = outcome(source, json!({"text": "x".repeat(3_000_000)}));
}

#[rstest]
#[case("object.all(k, object[k] == 1)")]
#[case("object.map(k, k).sort().size()")]
#[case("object.transformMap(k, v, v + 1).size()")]
#[case("object == object")]
#[case("object.exists(k, object.exists(l, k == l + 'x'))")]
fn an_object_of_many_fields_is_handled(#[case] source: &str) {
    let fields: serde_json::Map<String, Json> =
        (0..200_000).map(|at| (format!("field{at}"), json!(1))).collect();
    let _ = outcome(source, Json::Object(fields));
}

#[test]
fn an_interrupt_ends_a_loop() {
    let found = on_a_small_stack(|| {
        let program = compile("lists.range(10000).all(x, x >= 0)", &environment(), &[]).unwrap();
        let stop = || true;
        let bindings = Bindings::new().interrupt(&stop);
        program
            .evaluate(&bindings)
            .result
            .map(|value| display(&value))
            .map_err(|error| error.to_string())
    });
    assert!(found.unwrap_err().contains("interrupted"));
}
