//! Random expressions that mostly make sense: made backwards from the type that is wanted, over the whole table.

use super::{
    kinds::{Kind, Overload, Parameters, Table},
    literals,
    random::Random,
    text,
};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

/// What expressions are made from.
#[derive(Debug)]
pub struct Grammar {
    table: Table,
    /// The places in every fixture, by its name.
    places: BTreeMap<String, Vec<Place>>,
    /// Questions that were asked before: their pieces are put into others.
    corpus: Vec<Json>,
}

/// A field of a fixture, and what JSON has there.
#[derive(Debug)]
struct Place {
    path: Vec<Step>,
    holds: &'static str,
}

#[derive(Debug, Clone)]
enum Step {
    Name(String),
    Index(usize),
}

const RESERVED: &[&str] = &["in", "true", "false", "null"];
const NAMES: &[&str] = &["x", "y", "k", "v", "i", "e", "a", "b"];

impl Grammar {
    /// From the table, the fixtures and the questions of the golden vectors.
    #[must_use]
    pub fn new(table: Table, fixtures: &BTreeMap<String, Json>, corpus: Vec<Json>) -> Self {
        let places = fixtures
            .iter()
            .map(|(name, fixture)| {
                let mut found = Vec::new();
                for root in ["object", "oldObject", "params", "request", "namespaceObject"] {
                    let path = vec![Step::Name(root.to_owned())];
                    collect(fixture.get(root).unwrap_or(&Json::Null), path, &mut found);
                }
                (name.clone(), found)
            })
            .collect();
        Self { table, places, corpus }
    }

    /// One question for both judges.
    #[must_use]
    pub fn question(&self, random: &mut Random) -> Json {
        let mut question = match random.below(100) {
            0..68 => self.made(random),
            68..74 => {
                let mut question = self.made(random);
                question["expr"] = json!(text::damage(expression(&question), random));
                question
            }
            74..97 => self.spliced(random),
            _ => {
                let mut question = self.spliced(random);
                question["expr"] = json!(text::damage(expression(&question), random));
                question
            }
        };
        if random.percent(2) {
            question["budget"] = json!(1 + random.below(200));
        }
        question
    }

    fn spliced(&self, random: &mut Random) -> Json {
        let Some(mut question) = random.choose(&self.corpus).cloned() else {
            return self.made(random);
        };
        // A compiler with variables takes ten times as long to make.
        if question.get("variables").is_some() && !random.percent(10) {
            return self.made(random);
        }
        for _ in 0..=random.below(2) {
            let made;
            let other = match random.choose(&self.corpus) {
                Some(other) if random.percent(75) => other,
                _ => {
                    made = self.made(random);
                    &made
                }
            };
            question["expr"] =
                json!(text::splice(expression(&question), expression(other), random));
        }
        question
    }

    fn made(&self, random: &mut Random) -> Json {
        let bindings = match random.below(10) {
            0..6 => "values",
            6..8 => "host",
            8 => "create",
            _ => random.pick(&["delete", "cluster"]),
        };
        let bool = Kind::named("bool");
        let (context, wanted) = match random.below(100) {
            0..72 => ("any", None),
            72..80 => ("validation", Some(bool)),
            80..83 => ("matchCondition", Some(bool)),
            83..87 => ("messageExpression", Some(Kind::named("string"))),
            87..90 => ("auditAnnotation", Some(Kind::named("string"))),
            90..94 => ("anyPatch", None),
            94..97 => ("mutationApply", Some(Kind::named("Object"))),
            _ => ("mutationPatch", Some(Kind::list(Kind::named("JSONPatch")))),
        };
        let mut maker = Maker {
            grammar: self,
            random,
            places: self.places.get(bindings).map_or(&[], Vec::as_slice),
            scope: Vec::new(),
            variables: Vec::new(),
            patch_types: context.ends_with("Patch") || context == "mutationApply",
            left: 60,
        };
        let mut declared = Vec::new();
        if maker.random.percent(3) {
            for name in ["p", "q"] {
                let kind = maker.kind();
                let made = maker.make(&kind, 3);
                declared.push(json!({"name": name, "expression": made.text}));
                maker.variables.push((name.to_owned(), kind));
            }
        }
        maker.left = 60;
        let depth = 1 + maker.random.below(6);
        let made = match wanted {
            // The type is checked: a dyn one is refused.
            Some(wanted) if maker.random.percent(90) => maker.call(&wanted, depth),
            Some(wanted) => maker.make(&wanted, depth),
            None if maker.random.percent(35) => maker.any_call(1 + depth / 3),
            None => {
                let wanted = maker.kind();
                maker.make(&wanted, depth)
            }
        };
        let mut question = json!({"expr": made.text, "context": context, "bindings": bindings});
        if random.percent(70) {
            question["params"] = json!(true);
        }
        if !declared.is_empty() {
            question["variables"] = json!(declared);
        }
        question
    }
}

fn expression(question: &Json) -> &str {
    question["expr"].as_str().unwrap_or_default()
}

fn collect(value: &Json, path: Vec<Step>, found: &mut Vec<Place>) {
    let with = |step: Step| path.iter().cloned().chain([step]).collect();
    let holds = match value {
        Json::Null => "null_type",
        Json::Bool(_) => "bool",
        Json::Number(n) if n.is_i64() => "int",
        Json::Number(_) => "double",
        Json::String(_) => "string",
        Json::Array(items) => {
            for (at, item) in items.iter().enumerate().take(4) {
                collect(item, with(Step::Index(at)), found);
            }
            "list"
        }
        Json::Object(fields) => {
            for (name, field) in fields {
                collect(field, with(Step::Name(name.clone())), found);
            }
            "map"
        }
    };
    found.push(Place { path, holds });
}

/// An expression, and whether it can stand before a dot as it is.
#[derive(Debug)]
struct Made {
    text: String,
    tight: bool,
}

impl Made {
    fn tight(text: impl Into<String>) -> Self {
        Self { text: text.into(), tight: true }
    }

    fn loose(text: impl Into<String>) -> Self {
        Self { text: text.into(), tight: false }
    }
}

struct Maker<'a> {
    grammar: &'a Grammar,
    random: &'a mut Random,
    places: &'a [Place],
    scope: Vec<(String, Kind)>,
    variables: Vec<(String, Kind)>,
    patch_types: bool,
    /// How many calls may still be made: deep ones also branch.
    left: usize,
}

impl Maker<'_> {
    /// Any type, the usual ones more often.
    fn kind(&mut self) -> Kind {
        match self.random.below(24) {
            0..4 => Kind::named("bool"),
            4..7 => Kind::named("int"),
            7..10 => Kind::named("string"),
            10..12 => Kind::named("double"),
            12 => Kind::named("uint"),
            13 => Kind::named("bytes"),
            14 => Kind::named("google.protobuf.Duration"),
            15 => Kind::named("google.protobuf.Timestamp"),
            16 => Kind::Dyn,
            17..19 => Kind::list(self.kind()),
            19..21 => Kind::map(self.key_kind(), self.kind()),
            21 => Kind::optional(self.kind()),
            22 => Kind::named(self.random.pick(&[
                "net.IP",
                "net.CIDR",
                "kubernetes.URL",
                "kubernetes.Quantity",
                "kubernetes.Semver",
                "kubernetes.NamedFormat",
                "kubernetes.authorization.Decision",
                "kubernetes.authorization.ResourceCheck",
                "kubernetes.authorization.Authorizer",
                "kubernetes.authorization.PathCheck",
            ])),
            _ if self.random.percent(60) => Kind::Type(Box::new(self.simple_kind())),
            _ => Kind::named("null_type"),
        }
    }

    fn simple_kind(&mut self) -> Kind {
        Kind::named(self.random.pick(&["bool", "int", "string", "double", "uint", "bytes"]))
    }

    fn key_kind(&mut self) -> Kind {
        match self.random.below(12) {
            0..7 => Kind::named("string"),
            7..9 => Kind::named("int"),
            9 => Kind::named("bool"),
            10 => Kind::named("uint"),
            _ => self.kind(),
        }
    }

    /// An expression of a type.
    fn make(&mut self, wanted: &Kind, depth: usize) -> Made {
        self.make_for(wanted, depth, "", 0)
    }

    /// An expression of a type, for an argument of a function.
    fn make_for(&mut self, wanted: &Kind, depth: usize, function: &str, argument: usize) -> Made {
        if self.random.permille(12) {
            let other = self.kind();
            let made = self.right(&other, depth.saturating_sub(1), "", 0);
            return if self.random.percent(60) {
                Made::tight(format!("dyn({})", made.text))
            } else {
                made
            };
        }
        if self.random.permille(35) {
            let made = self.right(wanted, depth.saturating_sub(1), function, argument);
            return Made::tight(format!("dyn({})", made.text));
        }
        self.right(wanted, depth, function, argument)
    }

    fn right(&mut self, wanted: &Kind, depth: usize, function: &str, argument: usize) -> Made {
        self.left = self.left.saturating_sub(1);
        if depth == 0 || self.left == 0 {
            return self.leaf(wanted, function, argument);
        }
        match self.random.below(100) {
            0..18 => self.leaf(wanted, function, argument),
            18..30 => self.macro_call(wanted, depth).unwrap_or_else(|| self.call(wanted, depth)),
            30..34 => {
                let (condition, yes, no) = (
                    self.operand(&Kind::named("bool"), depth),
                    self.operand(wanted, depth),
                    self.operand(wanted, depth),
                );
                Made::loose(format!("{condition} ? {yes} : {no}"))
            }
            34..40 => self.container(wanted, depth),
            _ => self.call(wanted, depth),
        }
    }

    /// An expression that can be an operand of any operator; rarely without the parentheses that this takes.
    fn operand(&mut self, wanted: &Kind, depth: usize) -> String {
        let made = self.make(wanted, depth - 1);
        self.tightened(made)
    }

    fn tightened(&mut self, made: Made) -> String {
        if made.tight || self.random.percent(3) { made.text } else { format!("({})", made.text) }
    }

    fn leaf(&mut self, wanted: &Kind, function: &str, argument: usize) -> Made {
        let scope: Vec<String> = self
            .scope
            .iter()
            .enumerate()
            .filter(|(at, (name, kind))| {
                let hidden = self.scope[at + 1..].iter().any(|(other, _)| other == name);
                !hidden && (kind == wanted || *kind == Kind::Dyn)
            })
            .map(|(_, (name, _))| name.clone())
            .collect();
        if self.random.percent(60)
            && let Some(name) = self.random.choose(&scope)
        {
            return Made::tight(name);
        }
        let variables: Vec<String> = self
            .variables
            .iter()
            .filter(|(_, kind)| kind == wanted)
            .map(|(name, _)| format!("variables.{name}"))
            .collect();
        if self.random.percent(50)
            && let Some(name) = self.random.choose(&variables)
        {
            return Made::tight(name);
        }
        if self.random.percent(30)
            && let Some(path) = self.path(wanted)
        {
            return Made::tight(path);
        }
        self.literal(wanted, function, argument)
    }

    /// A field of the fixture that holds the type.
    fn path(&mut self, wanted: &Kind) -> Option<String> {
        let holds = match wanted {
            Kind::Dyn => "",
            Kind::Named(name) => name,
            Kind::List(_) => "list",
            Kind::Map(..) => "map",
            Kind::Optional(of) => {
                let of = of.clone();
                let path = self.path(&of)?;
                let at = path.rfind(['.', '['])?;
                let (front, back) = path.split_at(at + 1);
                return Some(format!("{front}?{back}"));
            }
            Kind::Type(_) | Kind::Parameter(_) => return None,
        };
        let wrong = self.random.permille(20);
        let fitting: Vec<&Place> = self
            .places
            .iter()
            .filter(|place| wrong || holds.is_empty() || place.holds == holds)
            .collect();
        let place = self.random.choose(&fitting)?;
        let mut text = String::new();
        for (at, step) in place.path.clone().iter().enumerate() {
            match step {
                Step::Name(name) if at == 0 => text.push_str(name),
                Step::Name(name) if is_identifier(name) && !self.random.percent(8) => {
                    text.push('.');
                    text.push_str(name);
                }
                Step::Name(name) => {
                    let key = literals::quoted(self.random, name);
                    text = format!("{text}[{key}]");
                }
                Step::Index(index) => text = format!("{text}[{index}]"),
            }
        }
        if self.random.permille(25) {
            text.push_str(
                self.random.pick(&[
                    ".nope", "[0]", "['x']", ".a", "[1.0]", "[0u]", "[true]", "[-1]", "[99]",
                ]),
            );
        }
        Some(text)
    }

    fn literal(&mut self, wanted: &Kind, function: &str, argument: usize) -> Made {
        let name = match wanted {
            Kind::Dyn | Kind::Parameter(_) => {
                let kind = self.simple_kind();
                return self.literal(&kind, function, argument);
            }
            Kind::List(of) => {
                let items: Vec<String> = (0..self.random.below(4))
                    .map(|_| self.literal(of, function, argument).text)
                    .collect();
                return Made::tight(format!("[{}]", items.join(", ")));
            }
            Kind::Map(key, value) => {
                let entries: Vec<String> = (0..self.random.below(3))
                    .map(|_| {
                        let key = self.literal(key, "", 0).text;
                        format!("{key}: {}", self.literal(value, "", 0).text)
                    })
                    .collect();
                return Made::tight(format!("{{{}}}", entries.join(", ")));
            }
            Kind::Optional(of) => {
                return Made::tight(match self.random.below(3) {
                    0 => "optional.none()".to_owned(),
                    1 => format!("optional.ofNonZeroValue({})", self.literal(of, "", 0).text),
                    _ => format!("optional.of({})", self.literal(of, "", 0).text),
                });
            }
            Kind::Type(of) => {
                if let Kind::Named(name) = &**of {
                    return Made::tight(name);
                }
                return Made::tight(format!("type({})", self.literal(of, "", 0).text));
            }
            Kind::Named(name) => name.clone(),
        };
        let small =
            matches!(function, "lists.range" | "flatten" | "substring" | "charAt" | "slice");
        let text = match name.as_str() {
            "bool" => self.random.pick(&["true", "false"]).to_owned(),
            "int" => {
                let text = literals::int(self.random, small);
                if text.starts_with('-') {
                    return Made::loose(text);
                }
                text
            }
            "uint" => literals::uint(self.random),
            "double" => {
                let text = literals::double(self.random);
                if text.starts_with('-') {
                    return Made::loose(text);
                }
                text
            }
            "string" => {
                let content = literals::content(self.random, function, argument);
                literals::quoted(self.random, &content)
            }
            "bytes" => literals::bytes(self.random),
            "null_type" => "null".to_owned(),
            "google.protobuf.Duration" => self.text_call("duration"),
            "google.protobuf.Timestamp" => self.text_call("timestamp"),
            "net.IP" => self.text_call("ip"),
            "net.CIDR" => self.text_call("cidr"),
            "kubernetes.URL" => self.text_call("url"),
            "kubernetes.Quantity" => self.text_call("quantity"),
            "kubernetes.Semver" => self.text_call("semver"),
            "kubernetes.NamedFormat" => format!("{}.value()", self.text_call("format.named")),
            "kubernetes.authorization.Authorizer" => "authorizer".to_owned(),
            "kubernetes.authorization.PathCheck" => self.text_method("authorizer", "path"),
            "kubernetes.authorization.GroupCheck" => self.text_method("authorizer", "group"),
            "kubernetes.authorization.ResourceCheck" => {
                if self.random.percent(40) {
                    "authorizer.requestResource".to_owned()
                } else {
                    let group = self.text_method("authorizer", "group");
                    self.text_method(&group, "resource")
                }
            }
            "kubernetes.authorization.Decision" => {
                let group = self.text_method("authorizer", "group");
                let resource = self.text_method(&group, "resource");
                self.text_method(&resource, "check")
            }
            "kubernetes.AdmissionRequest" => "request".to_owned(),
            "kubernetes.Namespace" => "namespaceObject".to_owned(),
            "Object" => self.object(0),
            "JSONPatch" => self.json_patch(1),
            other => format!("{other}{{}}"),
        };
        Made::tight(text)
    }

    fn text_call(&mut self, function: &str) -> String {
        let content = literals::content(self.random, function, 0);
        format!("{function}({})", literals::quoted(self.random, &content))
    }

    fn text_method(&mut self, target: &str, method: &str) -> String {
        let content = literals::content(self.random, method, 1);
        format!("{target}.{method}({})", literals::quoted(self.random, &content))
    }

    /// A literal with expressions in it.
    fn container(&mut self, wanted: &Kind, depth: usize) -> Made {
        match wanted {
            Kind::List(of) => {
                let items: Vec<String> = (0..self.random.below(4))
                    .map(|_| {
                        if self.random.percent(6) {
                            let optional = Kind::optional((**of).clone());
                            format!("?{}", self.make(&optional, depth - 1).text)
                        } else {
                            self.make(of, depth - 1).text
                        }
                    })
                    .collect();
                let comma = if self.random.percent(2) { "," } else { "" };
                Made::tight(format!("[{}{comma}]", items.join(", ")))
            }
            Kind::Map(key, value) => {
                let entries: Vec<String> = (0..self.random.below(4))
                    .map(|_| {
                        let key = self.operand(key, depth);
                        if self.random.percent(6) {
                            let optional = Kind::optional((**value).clone());
                            format!("?{key}: {}", self.make(&optional, depth - 1).text)
                        } else {
                            format!("{key}: {}", self.make(value, depth - 1).text)
                        }
                    })
                    .collect();
                Made::tight(format!("{{{}}}", entries.join(", ")))
            }
            Kind::Named(name) if name == "Object" => Made::tight(self.object(depth)),
            Kind::Named(name) if name == "JSONPatch" => Made::tight(self.json_patch(depth)),
            Kind::Dyn if self.random.percent(30) => Made::tight(self.structure(depth)),
            Kind::Dyn | Kind::Named(_) | Kind::Optional(_) | Kind::Type(_) | Kind::Parameter(_) => {
                self.call(wanted, depth)
            }
        }
    }

    /// A message of the table, with some of its fields.
    fn structure(&mut self, depth: usize) -> String {
        let structures = &self.grammar.table.structures;
        let Some((name, fields)) = self.random.choose(structures) else {
            return "{}".to_owned();
        };
        let mut set = Vec::new();
        for (field, kind) in fields {
            if self.random.percent(40) {
                set.push(format!("{field}: {}", self.make(kind, depth.saturating_sub(1)).text));
            }
        }
        if self.random.percent(3) {
            set.push("nope: 1".to_owned());
        }
        format!("{name}{{{}}}", set.join(", "))
    }

    fn object(&mut self, depth: usize) -> String {
        self.object_at("Object", depth)
    }

    fn object_at(&mut self, name: &str, depth: usize) -> String {
        let mut fields = Vec::new();
        for _ in 0..self.random.below(3) {
            let field =
                self.random.pick(&["spec", "metadata", "labels", "online", "x", "list", "bmc"]);
            let value = match self.random.below(10) {
                0..4 if depth > 0 => {
                    let inner = if self.random.percent(90) {
                        format!("{name}.{field}")
                    } else {
                        format!("{name}.nope")
                    };
                    self.object_at(&inner, depth - 1)
                }
                4 if depth > 0 => {
                    format!("[{}]", self.object_at(&format!("{name}.{field}"), depth - 1))
                }
                _ => {
                    let kind = self.kind();
                    self.make(&kind, depth.saturating_sub(1)).text
                }
            };
            let mark = if self.random.percent(4) { "?" } else { "" };
            fields.push(format!("{mark}{field}: {value}"));
        }
        format!("{name}{{{}}}", fields.join(", "))
    }

    fn json_patch(&mut self, depth: usize) -> String {
        let mut fields = Vec::new();
        let string = Kind::named("string");
        for field in ["op", "path", "from"] {
            if self.random.percent(70) {
                let value = if self.random.percent(80) {
                    let content = literals::content(self.random, field, 0);
                    literals::quoted(self.random, &content)
                } else {
                    self.make(&string, depth.saturating_sub(1)).text
                };
                fields.push(format!("{field}: {value}"));
            }
        }
        if self.random.percent(60) {
            let kind = self.kind();
            fields.push(format!("value: {}", self.make(&kind, depth.saturating_sub(1)).text));
        }
        format!("JSONPatch{{{}}}", fields.join(", "))
    }

    /// A call of any function that gives the type.
    fn call(&mut self, wanted: &Kind, depth: usize) -> Made {
        let table = &self.grammar.table;
        let mut fitting: Vec<(&Overload, Parameters)> = Vec::new();
        for overload in &table.overloads {
            let mut learnt = Parameters::new();
            let patch = self.patch_types || !overload.function.starts_with("jsonpatch");
            if overload.result.fits(wanted, &mut learnt) && patch {
                fitting.push((overload, learnt));
            }
        }
        // Each function as often as any other, however many overloads it has.
        let mut functions: Vec<&str> = fitting.iter().map(|(o, _)| o.function.as_str()).collect();
        functions.dedup();
        let Some(function) = self.random.choose(&functions).copied() else {
            return self.leaf(wanted, "", 0);
        };
        fitting.retain(|(overload, _)| overload.function == function);
        let at = self.random.below(fitting.len());
        let (overload, learnt) = fitting.swap_remove(at);
        self.call_of(overload, learnt, depth)
    }

    /// A call of any function, each as often as any other: what gives a rare type is rarely wanted otherwise.
    fn any_call(&mut self, depth: usize) -> Made {
        let overloads = &self.grammar.table.overloads;
        let mut functions: Vec<&str> = overloads.iter().map(|o| o.function.as_str()).collect();
        functions.dedup();
        let function = self.random.choose(&functions).copied().unwrap_or_default();
        let fitting: Vec<&Overload> = overloads.iter().filter(|o| o.function == function).collect();
        match self.random.choose(&fitting).copied() {
            Some(overload) => self.call_of(overload, Parameters::new(), depth),
            None => Made::tight("null"),
        }
    }

    fn call_of(&mut self, overload: &Overload, mut learnt: Parameters, depth: usize) -> Made {
        let function = overload.function.as_str();
        let mut arguments = Vec::new();
        for (at, argument) in overload.arguments.iter().enumerate() {
            let kind = argument.filled(&mut learnt, &mut || self.kind());
            let made = self.make_for(&kind, depth - 1, function, at);
            arguments.push(made);
        }
        self.render(overload, arguments)
    }

    fn render(&mut self, overload: &Overload, arguments: Vec<Made>) -> Made {
        let function = overload.function.as_str();
        let operator = matches!(function, "!_" | "-_" | "@in")
            || (function.starts_with('_') && function != "_in_");
        if operator {
            // An index is between brackets: it needs no parentheses.
            let bracket = function.starts_with("_[");
            let parts: Vec<String> = arguments
                .into_iter()
                .enumerate()
                .map(|(at, made)| if bracket && at == 1 { made.text } else { self.tightened(made) })
                .collect();
            let part = |at: usize| parts.get(at).map_or("", String::as_str);
            return match function {
                "!_" => Made::loose(format!("!{}", part(0))),
                "-_" => Made::loose(format!("-{}", part(0))),
                "@in" => Made::loose(format!("{} in {}", part(0), part(1))),
                "_[_]" => Made::tight(format!("{}[{}]", part(0), part(1))),
                "_[?_]" => Made::tight(format!("{}[?{}]", part(0), part(1))),
                "_?._" => {
                    Made::tight(format!("{}.?{}", part(0), self.random.pick(&["a", "x", "k", "b"])))
                }
                "_?_:_" => Made::loose(format!("{} ? {} : {}", part(0), part(1), part(2))),
                _ => Made::loose(format!("{} {} {}", part(0), function.trim_matches('_'), part(1))),
            };
        }
        let mut parts: Vec<String> = Vec::new();
        let mut target = String::new();
        for (at, made) in arguments.into_iter().enumerate() {
            if at == 0 && overload.member {
                target = self.tightened(made) + ".";
            } else {
                parts.push(made.text);
            }
        }
        Made::tight(format!("{target}{function}({})", parts.join(", ")))
    }

    /// A name for the variable of a loop, rarely one that hides another.
    fn name(&mut self) -> &'static str {
        if self.random.percent(2) { "object" } else { self.random.pick(NAMES) }
    }

    /// A macro that gives the type, if there is one.
    fn macro_call(&mut self, wanted: &Kind, depth: usize) -> Option<Made> {
        let bool = Kind::named("bool");
        Some(match wanted {
            Kind::Named(name) if name == "bool" => match self.random.below(10) {
                0..3 => self.has(),
                3 => self.over_two("existsOne", depth, &bool, None),
                4..6 => {
                    let name = self.random.pick(&["all", "exists", "exists_one"]);
                    self.over_two(name, depth, &bool, None)
                }
                _ => {
                    let name = self.random.pick(&["all", "exists", "exists_one"]);
                    self.over_one(name, depth, &bool, None)
                }
            },
            Kind::List(of) => match self.random.below(10) {
                0..3 => self.over_one("map", depth, of, None),
                3 => self.over_one("map", depth, of, Some(&bool)),
                4..6 => self.filter(of, depth),
                6 => self.sort_by(of, depth),
                7 => self.over_two("transformList", depth, of, Some(&bool)),
                _ => self.over_two("transformList", depth, of, None),
            },
            Kind::Map(key, value) => {
                let filter = self.random.percent(40);
                let filter = filter.then_some(&bool);
                if self.random.percent(50) {
                    self.over_two("transformMap", depth, value, filter)
                } else {
                    let entry = Kind::map((**key).clone(), (**value).clone());
                    self.over_two("transformMapEntry", depth, &entry, filter)
                }
            }
            Kind::Optional(of) => {
                let inner = self.kind();
                let target = self.operand(&Kind::optional(inner.clone()), depth);
                let name = self.name();
                let (function, body) = if self.random.percent(50) {
                    ("optMap", &**of)
                } else {
                    ("optFlatMap", wanted)
                };
                let body = self.inside(&[(name, inner)], body, depth);
                Made::tight(format!("{target}.{function}({name}, {body})"))
            }
            Kind::Dyn | Kind::Named(_) | Kind::Type(_) | Kind::Parameter(_) => return None,
        })
    }

    fn has(&mut self) -> Made {
        let path = self.path(&Kind::Dyn).unwrap_or_else(|| "object.spec".to_owned());
        let path = if self.random.percent(20) { format!("{path}.nope") } else { path };
        let path = if self.random.percent(5) { path.replacen('.', ".?", 1) } else { path };
        Made::tight(format!("has({path})"))
    }

    /// What a loop goes over: its text, and the types of index or key, and of element or value.
    fn range(&mut self, depth: usize) -> (String, Kind, Kind, bool) {
        let element = self.kind();
        match self.random.below(10) {
            0..6 => {
                let text = self.operand(&Kind::list(element.clone()), depth);
                (text, Kind::named("int"), element, false)
            }
            6..8 => {
                let key = self.key_kind();
                let text = self.operand(&Kind::map(key.clone(), element.clone()), depth);
                (text, key, element, true)
            }
            8 => {
                let path = self.path(&Kind::list(Kind::Dyn)).unwrap_or_else(|| "[]".to_owned());
                (path, Kind::named("int"), Kind::Dyn, false)
            }
            _ => {
                let path =
                    self.path(&Kind::map(Kind::Dyn, Kind::Dyn)).unwrap_or_else(|| "{}".to_owned());
                (path, Kind::named("string"), Kind::Dyn, true)
            }
        }
    }

    fn over_one(&mut self, name: &str, depth: usize, body: &Kind, filter: Option<&Kind>) -> Made {
        let (range, key, element, map) = self.range(depth);
        let kind = if map { key } else { element };
        let variable = self.name();
        let mut bodies = Vec::new();
        for wanted in filter.into_iter().chain([body]) {
            bodies.push(self.inside(&[(variable, kind.clone())], wanted, depth));
        }
        Made::tight(format!("{range}.{name}({variable}, {})", bodies.join(", ")))
    }

    fn over_two(&mut self, name: &str, depth: usize, body: &Kind, filter: Option<&Kind>) -> Made {
        let (range, key, element, _) = self.range(depth);
        let first = self.name();
        let second = self.name();
        let second = if first == second && !self.random.percent(5) { "w" } else { second };
        let scope = [(first, key), (second, element)];
        let mut bodies = Vec::new();
        for wanted in filter.into_iter().chain([body]) {
            bodies.push(self.inside(&scope, wanted, depth));
        }
        Made::tight(format!("{range}.{name}({first}, {second}, {})", bodies.join(", ")))
    }

    fn filter(&mut self, of: &Kind, depth: usize) -> Made {
        let range = self.operand(&Kind::list(of.clone()), depth);
        let name = self.name();
        let body = self.inside(&[(name, of.clone())], &Kind::named("bool"), depth);
        Made::tight(format!("{range}.filter({name}, {body})"))
    }

    fn sort_by(&mut self, of: &Kind, depth: usize) -> Made {
        let range = self.operand(&Kind::list(of.clone()), depth);
        let name = self.name();
        let key = self.simple_kind();
        let body = self.inside(&[(name, of.clone())], &key, depth);
        Made::tight(format!("{range}.sortBy({name}, {body})"))
    }

    fn inside(&mut self, scope: &[(&str, Kind)], wanted: &Kind, depth: usize) -> String {
        let before = self.scope.len();
        self.scope.extend(scope.iter().map(|(name, kind)| ((*name).to_owned(), kind.clone())));
        let made = self.make(wanted, depth - 1);
        self.scope.truncate(before);
        made.text
    }
}

fn is_identifier(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !RESERVED.contains(&name)
}
