//! A compiled expression.

use super::{
    authorizer::Question,
    bindings::Bindings,
    environment::Environment,
    error::{Error, Failure},
    eval,
    large_stack::on_large_stack,
    plan::{Global, Plan},
    source::{Problem, Raised, Source},
    types::Type,
    validate,
    value::Value,
    {PER_CALL_LIMIT, check, lower, parse},
};
use std::{fmt, sync::Arc};

/// Longer expressions are refused before they are read (the API server takes 100,000 code points).
pub const MAX_SOURCE: usize = 16 * 1024;
/// Larger trees are refused before they are checked.
pub const MAX_NODES: usize = 10_000;

/// An expression, ready to be evaluated any number of times, from any thread.
#[derive(Debug, Clone)]
pub struct Program {
    source: Arc<str>,
    plan: Arc<Plan>,
}

/// Why an expression does not compile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompileErrors {
    /// All problems with places, if it is about places.
    pub problems: Vec<Problem>,
    text: String,
}

impl CompileErrors {
    fn plain(text: impl Into<String>) -> Self {
        Self { problems: Vec::new(), text: text.into() }
    }

    fn placed(problems: Vec<Problem>) -> Self {
        let shown: Vec<&str> = problems.iter().map(|p| p.display.as_str()).collect();
        let text = format!("compilation failed: {}", shown.join("\n"));
        Self { problems, text }
    }
}

/// The API server's text.
impl fmt::Display for CompileErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for CompileErrors {}

/// What an evaluation gave.
#[derive(Debug)]
pub struct Outcome<'a> {
    /// A value, CEL's error, or a question to be answered first.
    pub result: Result<Value<'a>, Error>,
    /// What the expression itself cost.
    pub cost: u64,
    /// What the variables cost that it was the first to ask for.
    pub variables_cost: u64,
}

impl Outcome<'_> {
    /// The authorization that has to be fetched before the evaluation is repeated.
    #[must_use]
    pub fn question(&self) -> Option<&Question> {
        match self.result.as_ref().err().map(Error::failure) {
            Some(Failure::Unknown(question)) => Some(question),
            _ => None,
        }
    }
}

/// Compiles an expression whose type must be one of `expected` (empty: any).
///
/// Runs on a large stack, so that no expression can exhaust the caller's.
pub fn compile(
    source: &str,
    environment: &Environment,
    expected: &[Type],
) -> Result<Program, CompileErrors> {
    if source.len() > MAX_SOURCE {
        return Err(CompileErrors::plain(format!(
            "expression is too long: {} bytes, at most {MAX_SOURCE} are supported",
            source.len()
        )));
    }
    on_large_stack(|| compile_here(source, environment, expected))
        .unwrap_or_else(|text| Err(CompileErrors::plain(text)))
}

fn compile_here(
    source: &str,
    environment: &Environment,
    expected: &[Type],
) -> Result<Program, CompileErrors> {
    let place = |raised: Vec<Raised>| CompileErrors::placed(Source::new(source).problems(raised));
    let mut parsed = parse::parse(source).map_err(place)?;
    if parsed.ids > MAX_NODES {
        return Err(CompileErrors::plain(format!(
            "expression is too large: {} nodes, at most {MAX_NODES} are supported",
            parsed.ids
        )));
    }
    let (checked, errors) = check::check(&mut parsed.root, parsed.ids, environment);
    if !errors.is_empty() {
        return Err(place(errors));
    }
    let errors = validate::validate(&parsed.root, &checked);
    if !errors.is_empty() {
        return Err(place(errors));
    }
    let found = checked.types[parsed.root.id].clone().unwrap_or(Type::Dyn);
    if !expected.is_empty() && !expected.contains(found.plain()) {
        return Err(CompileErrors::plain(match expected {
            [one] => format!("must evaluate to {one} but got {found}"),
            many => {
                let names: Vec<String> = many.iter().map(ToString::to_string).collect();
                format!("must evaluate to one of [{}] but got {found}", names.join(" "))
            }
        }));
    }
    if checked.untyped {
        let text = "unexpected compilation error: missing type conversion to proto: ";
        return Err(CompileErrors::plain(text));
    }
    // Go converts it by rules of its own when it runs, with messages that depend on its libraries.
    if let Some(field) = &checked.unsure_field {
        return Err(CompileErrors::plain(format!(
            "field '{field}' is given a value whose type is only known at run time, which is not supported"
        )));
    }
    let plan = lower::lower(&parsed.root, &checked, environment)
        .map_err(|text| CompileErrors::plain(format!("program instantiation failed: {text}")))?;
    Ok(Program { source: Arc::from(source), plan: Arc::new(plan) })
}

impl Program {
    /// The text it was compiled from.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The static type of what it gives.
    #[must_use]
    pub fn result_type(&self) -> &Type {
        &self.plan.result
    }

    /// Whether it names a declared variable, such as `request`; one of its own loops with that name does not
    /// count.
    #[must_use]
    pub fn uses(&self, variable: &str) -> bool {
        Global::named(variable).is_some_and(|global| self.plan.uses.contains(&global))
    }

    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Evaluates with the API server's limit on a single expression.
    ///
    /// The budget of a policy is the caller's: it subtracts `variables_cost`, then `cost`, as
    /// [`Budget::charge`] does.
    #[must_use]
    pub fn evaluate<'a>(&'a self, bindings: &Bindings<'a>) -> Outcome<'a> {
        bindings.spent.set(0);
        let (result, cost) = eval::evaluate(&self.plan, bindings, PER_CALL_LIMIT);
        Outcome { result, cost, variables_cost: bindings.spent.take() }
    }
}

/// What is left to spend of a policy's budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget(u64);

/// The budget is spent; the API server's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "validation failed due to running out of cost budget, no further validation rules will be run"
)]
pub struct OutOfBudget;

impl Budget {
    /// So much.
    #[must_use]
    pub fn new(units: u64) -> Self {
        Self(units)
    }

    /// What is left.
    #[must_use]
    pub fn left(self) -> u64 {
        self.0
    }

    /// Subtracts what an evaluation cost, or says that it was too much.
    pub fn charge(&mut self, outcome: &Outcome<'_>) -> Result<(), OutOfBudget> {
        self.spend(outcome.variables_cost)?;
        self.spend(outcome.cost)
    }

    /// Subtracts so much, or says that it is too much.
    pub fn spend(&mut self, cost: u64) -> Result<(), OutOfBudget> {
        self.0 = self.0.checked_sub(cost).ok_or(OutOfBudget)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rstest::rstest;
    use serde_json::json;

    /// Evaluates on a stack as small as that of a worker thread.
    fn on_a_small_stack(source: &str, object: &serde_json::Value) -> String {
        let program = match compile(source, &Environment::new(), &[]) {
            Ok(program) => program,
            Err(errors) => return errors.to_string(),
        };
        std::thread::scope(|scope| {
            let run = || {
                let bindings = Bindings::new().object(object);
                let outcome = program.evaluate(&bindings);
                match outcome.result {
                    Ok(value) => super::super::display(&value),
                    Err(error) => error.to_string(),
                }
            };
            let thread = std::thread::Builder::new().stack_size(2 << 20);
            thread.spawn_scoped(scope, run).unwrap().join().unwrap()
        })
    }

    #[rstest]
    #[case::by_path("{object.a: 1, object.a: 2}")]
    #[case::by_name("[object.a].all(x, size({x: 1, x: 2}) == 1)")]
    fn what_kubernetes_tells_apart_by_its_address_is_no_key_twice(#[case] source: &str) {
        let answer = on_a_small_stack(source, &json!({"a": [1]}));
        assert!(answer.contains("is twice a key of one map"), "{answer}");
    }

    #[rstest]
    #[case::parentheses("(".repeat(249) + "1" + &")".repeat(249), "1")]
    #[case::lists("[".repeat(200) + &"]".repeat(200) + " == []", "false")]
    #[case::sum(vec!["1"; 251].join("+"), "251")]
    #[case::right_sum("1+(".repeat(120) + "1" + &")".repeat(120), "121")]
    #[case::conditions("object.a ? 1 : ".repeat(240) + "2", "no such key: a")]
    #[case::calls("dyn(object) == ".repeat(240) + "object", "false")]
    #[case::macros("[1].all(x, ".repeat(110) + "true" + &")".repeat(110), "true")]
    #[case::maps("{'a': ".repeat(200) + "1" + &"}".repeat(200) + " == object", "false")]
    #[case::many_nots("!".repeat(16_000) + "true", "true")]
    #[case::selects("object".to_owned() + &".a".repeat(250), "no such key: a")]
    fn deep_expressions_fit_the_stack(#[case] source: String, #[case] expected: &str) {
        assert_eq!(on_a_small_stack(&source, &json!({"b": 1})), expected);
    }

    #[rstest]
    #[case::parentheses("(".repeat(8_000) + "1")]
    #[case::open_brackets("[".repeat(16_000))]
    #[case::sum(vec!["1"; 8_000].join("+"))]
    #[case::selects("object".to_owned() + &".a".repeat(5_000))]
    #[case::negations("-".repeat(16_000) + "x")]
    #[case::conjunction(vec!["nope"; 2_700].join("&&"))]
    #[case::too_long("1".repeat(20_000))]
    #[case::unclosed("'".to_owned() + &"a".repeat(16_000))]
    fn hostile_expressions_are_refused(#[case] source: String) {
        compile(&source, &Environment::new(), &[]).unwrap_err();
    }

    #[rstest]
    #[case::nested_loops(
        "lists.range(1000).all(a, lists.range(1000).all(b, lists.range(1000).all(c, true)))"
    )]
    #[case::doubling(
        "[object.s].map(a, a+a).map(a, a+a+a+a+a+a+a+a).map(a, a+a+a+a+a+a+a+a).map(a, a+a+a+a+a+a+a+a).map(a, a+a+a+a+a+a+a+a).map(a, a+a+a+a+a+a+a+a).map(a, a+a+a+a+a+a+a+a)"
    )]
    #[case::lists(
        "[object.l].map(a, a+a+a+a+a+a+a+a).map(a, a+a+a+a+a+a+a+a).map(a, a+a+a+a+a+a+a+a).map(a, a+a+a+a+a+a+a+a).map(a, a+a+a+a+a+a+a+a).map(a, a+a+a+a+a+a+a+a).map(a, a+a+a+a+a+a+a+a).map(a, a.sort())"
    )]
    #[case::replace("object.s.replace('a', object.s).replace('a', object.s)")]
    #[case::range("lists.range(9223372036854775807)")]
    #[case::join("lists.range(900).map(x, object.s).join(object.s)")]
    #[case::distinct("(object.l + object.l + object.l).distinct()")]
    #[case::growing(
        "optional.of([]).optMap(e, optional.of([]).optMap(f, [e + [1], f + [1]].map(x, lists.range(60).map(y, [e + f, f + e].size()))))"
    )]
    #[case::growing_while_gone_through(
        "optional.of([]).optMap(e, (e + [1]).all(i, v, size(e + [v]) > 0))"
    )]
    fn hostile_evaluations_are_stopped_by_the_cost(#[case] source: &str) {
        let object = json!({"s": "a".repeat(4_000), "l": vec![1; 1_000]});
        let text = "operation cancelled: actual cost limit exceeded";
        assert_eq!(on_a_small_stack(source, &object), text);
    }

    #[test]
    fn hostile_patterns_match_in_linear_time() {
        let object = json!({"s": "a".repeat(30_000)});
        assert_eq!(on_a_small_stack("object.s.matches('^(a+)+$')", &object), "true");
        assert_eq!(on_a_small_stack("object.s.matches('(a*)*b')", &object), "false");
    }

    #[test]
    fn a_long_chain_of_variables_fits_the_stack() {
        const LENGTH: usize = 1_000;
        let mut environment = Environment::new().with_variables();
        let mut programs = Vec::new();
        let mut source = "1".to_owned();
        for at in 0..LENGTH {
            let program = compile(&source, &environment, &[]).unwrap();
            let name = format!("v{at}");
            environment.declare(&name, program.result_type());
            // Deep in itself, too.
            source = format!("{}variables.{name}{} + 1", "[".repeat(20), "][0]".repeat(20));
            programs.push((name, program));
        }
        let last = compile(&source, &environment, &[]).unwrap();
        let run = || {
            let bindings = programs.iter().fold(Bindings::new(), |bindings, (name, program)| {
                bindings.variable(name, program)
            });
            matches!(last.evaluate(&bindings).result, Ok(Value::Int(1_001)))
        };
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().stack_size(2 << 20);
            assert!(thread.spawn_scoped(scope, run).unwrap().join().unwrap());
        });
    }

    #[test]
    fn an_interrupt_ends_a_loop() {
        let program = compile("lists.range(5000).all(x, x >= 0)", &Environment::new(), &[]);
        let program = program.unwrap();
        let interrupt = || true;
        let bindings = Bindings::new().interrupt(&interrupt);
        let error = program.evaluate(&bindings).result.unwrap_err();
        assert_eq!(*error.failure(), Failure::Interrupted);
    }

    #[test]
    fn what_is_not_known_comes_back_as_a_question() {
        use super::super::authorizer::{Answer, Authorizer, ResourceAttributes, Subject};
        struct Ignorant;
        impl Authorizer for Ignorant {
            fn decide(&self, _: &Question) -> Answer {
                Answer::Unknown
            }

            fn request_resource(&self) -> ResourceAttributes {
                ResourceAttributes::default()
            }
        }
        let environment = Environment::new().with_authorizer();
        let source =
            "authorizer.group('apps').resource('deployments').check('get').allowed() || true";
        let program = compile(source, &environment, &[Type::Bool]).unwrap();
        let bindings = Bindings::new().authorizer(&Ignorant);
        let outcome = program.evaluate(&bindings);
        let Some(Question::Resource { subject, resource, verb }) = outcome.question() else {
            panic!("no question: {outcome:?}");
        };
        assert_eq!((subject, &*resource.group, &**verb), (&Subject::Requester, "apps", "get"));
    }

    #[rstest]
    #[case::named("request.name == ''", true)]
    #[case::in_a_loop("[1].all(x, request.dryRun)", true)]
    #[case::a_text("object.s == 'request'", false)]
    #[case::a_field("has(object.request)", false)]
    #[case::shadowed("[1].all(request, request > 0)", false)]
    fn what_is_used_is_known(#[case] source: &str, #[case] expected: bool) {
        let program = compile(source, &Environment::new(), &[]).unwrap();
        assert_eq!(program.uses("request"), expected);
    }

    #[test]
    fn a_misspelt_name_is_suggested() {
        let errors = compile("object.a.startWith('b')", &Environment::new(), &[]).unwrap_err();
        assert_eq!(errors.problems[0].suggestion.as_deref(), Some("startsWith"));
        let errors = compile("request.userinfo.username", &Environment::new(), &[]).unwrap_err();
        assert_eq!(errors.problems[0].suggestion.as_deref(), Some("userInfo"));
    }

    #[test]
    fn an_extension_is_called_and_charged_for() {
        let upper = super::super::Extension {
            name: "demo.upper",
            args: vec![Type::String],
            result: Type::String,
            call: |args| Ok(Value::text(args[0].as_str().unwrap_or_default().to_uppercase())),
            cost: |_| 7,
        };
        let environment = Environment::new().with_extension(Arc::new(upper));
        let program = compile("demo.upper('a') == 'A'", &environment, &[Type::Bool]).unwrap();
        let bindings = Bindings::new();
        let outcome = program.evaluate(&bindings);
        assert!(matches!(outcome.result, Ok(Value::Bool(true))));
        assert_eq!(outcome.cost, 8);
        compile("demo.upper('a')", &Environment::new(), &[]).unwrap_err();
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        #[test]
        fn no_text_makes_it_panic(source in r#"[a-z0-9 .()\[\]{}'"?:!&|<>=+*/%,_\-]{0,40}"#) {
            let object = json!({"a": {"b": [1, "x", null, {"c": 1.5}]}});
            on_a_small_stack(&source, &object);
        }

        #[test]
        fn no_mix_of_words_makes_it_panic(words in prop::collection::vec(prop::sample::select(vec![
            "object", ".a", ".b", "[0]", "[?1]", ".?c", "(", ")", "[", "]", "{", "}", ":", ",", "?",
            "1", "2u", "1.5", "'x'", "null", "true", "+", "-", "*", "==", "<", "in", "&&", "||", "!",
            "has(", ".map(x, ", ".all(k, v, ", ".exists(x, ", ".orValue(", ".matches(", "size(",
            "x", ".format(", ".sortBy(x, ", "optional.of(", ".optMap(x, ", "dyn(", "type(", "string(",
        ]), 0..14)) {
            let object = json!({"a": {"b": [1, "x", null, {"c": 1.5}]}});
            on_a_small_stack(&words.concat(), &object);
        }
    }
}
