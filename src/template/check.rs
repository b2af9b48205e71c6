//! All that is wrong with a template and can be known without data.
//!
//! Go stops at the first mistake, and looks at the arguments of a function only when it calls it. Who writes a
//! template wants to know before, and all at once.

use super::{
    ast::{Command, List, Node, Offset, Operand, Pipe, Trees},
    builtins::{self, Failure},
    error::place,
    exec::Held,
    functions::{Functions, Signature, Type, find_builtin},
    go::{printf::sprintf, quote::quoted, text::lossy},
    limits::Limits,
    parse::parse,
    problem::Problem,
    value::Value,
};

/// Everything that is wrong with a template and can be known without data, in the order of the text. A template
/// without problems is one that [`Template::parse`](super::Template::parse) takes.
#[must_use]
pub fn problems(name: &str, source: &str, functions: &Functions) -> Vec<Problem> {
    let mut problems = Vec::new();
    match parse(name, source, functions, &Limits::default(), Some(&mut problems)) {
        Ok(trees) => {
            let mut checker = Checker { source, functions, trees: &trees, problems };
            for list in trees.values() {
                checker.list(list);
            }
            problems = checker.problems;
        }
        Err(error) => problems.push(Problem {
            line: error.line,
            column: error.column,
            text: error.text,
            message: error.message,
            suggestion: None,
        }),
    }
    problems.sort_by_key(|problem| (problem.line, problem.column));
    problems
}

struct Checker<'t> {
    source: &'t str,
    functions: &'t Functions,
    trees: &'t Trees,
    problems: Vec<Problem>,
}

/// What is known of an argument: the value itself if it is a literal, else one of its type.
#[derive(Clone)]
enum Known {
    Literal(Value),
    Type(Type),
    Nothing,
}

impl Known {
    fn sample(&self) -> Option<Value> {
        match self {
            Self::Literal(value) => Some(value.clone()),
            Self::Type(Type::Text) => Some("a".into()),
            Self::Type(Type::Int) => Some(Value::Int(1)),
            Self::Type(Type::Bool) => Some(Value::Bool(true)),
            Self::Type(Type::Float) => Some(Value::Float(1.5)),
            Self::Type(Type::Any | Type::Reflected) | Self::Nothing => None,
        }
    }
}

impl Checker<'_> {
    fn problem(&mut self, at: Offset, text: &dyn ToString, message: String) {
        let (line, column) = place(self.source, at);
        let text = text.to_string();
        self.problems.push(Problem { line, column, text, message, suggestion: None });
    }

    fn list(&mut self, list: &List) {
        for node in &list.nodes {
            match node {
                Node::Text { .. } | Node::Break { .. } | Node::Continue { .. } => {}
                Node::Action { pipe, .. } => {
                    self.pipe(pipe);
                }
                Node::Branch(branch) => {
                    self.pipe(&branch.pipe);
                    self.list(&branch.list);
                    if let Some(otherwise) = &branch.otherwise {
                        self.list(otherwise);
                    }
                }
                Node::Template { at, name, pipe } => {
                    if !self.trees.contains_key(name) {
                        let message = format!("template {} not defined", lossy(&quoted(name)));
                        self.problem(*at, node, message);
                    }
                    if let Some(pipe) = pipe {
                        self.pipe(pipe);
                    }
                }
            }
        }
    }

    fn pipe(&mut self, pipe: &Pipe) -> Known {
        let mut last = None;
        for command in &pipe.commands {
            last = Some(self.command(command, last));
        }
        last.unwrap_or(Known::Nothing)
    }

    fn command(&mut self, command: &Command, last: Option<Known>) -> Known {
        let Some((first, words)) = command.words.split_first() else { return Known::Nothing };
        if let Operand::Function { at, name } = first {
            let arguments: Vec<Known> =
                words.iter().map(|word| self.operand(word)).chain(last).collect();
            return self.call(*at, name, words, &arguments, command);
        }
        let known = self.operand(first);
        for word in words {
            self.operand(word);
        }
        let takes_none = match first {
            Operand::Field { .. } | Operand::Chain { .. } | Operand::Function { .. } => false,
            Operand::Variable(variable) => variable.fields.is_empty(),
            _ => true,
        };
        if takes_none && (!words.is_empty() || last.is_some()) {
            let message = format!("can't give argument to non-function {first}");
            self.problem(first.at(), command, message);
        } else if let Operand::Nil { .. } = first {
            self.problem(first.at(), first, "nil is not a command".to_owned());
        }
        known
    }

    fn operand(&mut self, operand: &Operand) -> Known {
        match operand {
            Operand::Bool { value, .. } => Known::Literal(Value::Bool(*value)),
            Operand::Text { value, .. } => Known::Literal(Value::Text(value.clone())),
            Operand::Number { text, number, .. } => match Value::of_literal(text, number) {
                Ok(value) => Known::Literal(value),
                Err(message) => {
                    self.problem(operand.at(), operand, message);
                    Known::Nothing
                }
            },
            Operand::Nil { .. } => Known::Literal(Value::Nil),
            Operand::Pipe(pipe) => self.pipe(pipe),
            Operand::Function { at, name } => self.call(*at, name, &[], &[], operand),
            Operand::Chain { of, .. } => {
                self.operand(of);
                Known::Nothing
            }
            Operand::Dot { .. } | Operand::Field { .. } | Operand::Variable(_) => Known::Nothing,
        }
    }

    fn call(
        &mut self,
        at: Offset,
        name: &str,
        words: &[Operand],
        arguments: &[Known],
        text: &dyn ToString,
    ) -> Known {
        let declared = self.functions.get(name);
        let Some(signature) = declared.or_else(|| find_builtin(name)).copied() else {
            return Known::Nothing;
        };
        let before = self.problems.len();
        self.check_count(at, &signature, arguments.len(), text);
        for (i, argument) in arguments.iter().enumerate() {
            let word = words.get(i);
            let place = word.map_or(at, Operand::at);
            let shown = word.map_or_else(|| text.to_string(), ToString::to_string);
            if let Some(message) =
                signature.parameter(i).and_then(|of| mismatch(of, argument, word))
            {
                self.problem(place, &shown, message);
            }
        }
        if declared.is_none()
            && self.problems.len() == before
            && let Some(message) = try_builtin(name, arguments)
        {
            self.problem(at, text, message);
        }
        match signature.returns {
            Type::Any | Type::Reflected => Known::Nothing,
            known => Known::Type(known),
        }
    }

    fn check_count(&mut self, at: Offset, of: &Signature, got: usize, text: &dyn ToString) {
        let want = of.parameters.len();
        let (wrong, least) = match of.variadic {
            Some(_) => (got < want, "at least "),
            None => (got != want, ""),
        };
        if wrong {
            let name = of.name;
            let message = format!(
                "wrong number of args for {name}: want {least}{want} got {got}; it is `{of}`"
            );
            self.problem(at, text, message);
        }
    }
}

/// Why an argument cannot be of a type.
fn mismatch(of: Type, argument: &Known, word: Option<&Operand>) -> Option<String> {
    if of.can_be_nil() {
        return None;
    }
    let expected = of.name();
    match (argument, word) {
        (Known::Literal(Value::Nil), _) => Some(format!("cannot assign nil to {expected}")),
        (Known::Literal(_), Some(Operand::Number { number, .. })) => {
            let fits = match of {
                Type::Int => number.int.is_some(),
                Type::Float => number.float.is_some(),
                Type::Any | Type::Text | Type::Bool | Type::Reflected => false,
            };
            (!fits).then(|| found(of, word))
        }
        (Known::Literal(value), Some(Operand::Bool { .. } | Operand::Text { .. })) => {
            (!of.takes(value)).then(|| found(of, word))
        }
        (known, _) => {
            let got = known.sample().filter(|sample| !of.takes(sample))?;
            let got = got.type_name();
            Some(format!("wrong type for value; expected {expected}; got {got}"))
        }
    }
}

fn found(of: Type, word: Option<&Operand>) -> String {
    let expected = match of {
        Type::Int => "integer",
        Type::Float => "float",
        Type::Any | Type::Reflected | Type::Bool | Type::Text => of.name(),
    };
    format!("expected {expected}; found {}", word.map(ToString::to_string).unwrap_or_default())
}

/// What one of Go's functions says to arguments of these types, if that does not depend on their values.
fn try_builtin(name: &str, arguments: &[Known]) -> Option<String> {
    const ENOUGH: usize = 1 << 16;
    match name {
        "eq" | "ne" | "lt" | "le" | "gt" | "ge" => {
            let samples: Option<Vec<Held>> =
                arguments.iter().map(|known| known.sample().map(Held::bare)).collect();
            match builtins::call(name, &samples?, ENOUGH) {
                Err(Failure::Message(message)) => Some(format!("error calling {name}: {message}")),
                _ => None,
            }
        }
        "printf" => {
            let (Known::Literal(Value::Text(format)), arguments) = arguments.split_first()? else {
                return None;
            };
            let known = arguments.iter().all(|argument| argument.sample().is_some());
            let samples: Vec<Value> =
                arguments.iter().map(|known| known.sample().unwrap_or(Value::Int(1))).collect();
            let printed = lossy(&sprintf(format, &samples, ENOUGH)?);
            // Of an argument of any type only its number is known, not whether the verb fits it.
            let marks: &[&str] = if known {
                &["%!"]
            } else {
                &["(MISSING)", "(BADINDEX)", "%!(NOVERB)", "%!(EXTRA "]
            };
            let is_marked =
                marks.iter().any(|mark| printed.contains(mark) && !format_has(format, mark));
            is_marked.then(|| {
                format!("the format does not fit its arguments: it would print {printed:?}")
            })
        }
        _ => None,
    }
}

fn format_has(format: &[u8], mark: &str) -> bool {
    format.windows(mark.len()).any(|part| part == mark.as_bytes())
}
