//! Calls: how many arguments of which types, what is evaluated of them, and what comes back.

use super::{At, Held, Result, State};
use crate::template::{
    ast::Operand,
    builtins::{self, Failure},
    functions::{Signature, Type, find_builtin},
    go::{quote::quoted, text::lossy},
    value::Value,
};

/// So many bytes of an argument are one step.
const BYTES_PER_STEP: usize = 64;

impl<'t> State<'t> {
    /// Calls a function; `node` is to blame for what it says, and `last` comes out of the pipeline before it.
    pub(super) fn function(
        &mut self,
        dot: &Held,
        name: &'t str,
        node: At<'t>,
        words: &'t [Operand],
        last: Option<Held>,
    ) -> Result<Held> {
        let template = self.template;
        if let Some(signature) = template.functions.get(name) {
            let arguments = self.arguments(dot, signature, words, last)?;
            let arguments: Vec<Value> = arguments.into_iter().map(|held| held.value).collect();
            let result = self.call.call(name, &arguments).map_err(Failure::Message);
            let value = self.outcome(name, node, result)?;
            return Ok(Held { value, boxed: signature.returns == Type::Any });
        }
        let Some(signature) = find_builtin(name) else {
            let name = lossy(&quoted(name.as_bytes()));
            return Err(self.error(format!("{name} is not a defined function")));
        };
        if matches!(name, "and" | "or") {
            return self.logic(dot, signature, words, last);
        }
        let callee = callee(words, last.as_ref());
        let arguments = self.arguments(dot, signature, words, last)?;
        let result = if name == "call" {
            Err(not_a_function(&callee, &arguments))
        } else {
            let most = template.limits.output.min(self.text);
            builtins::call(name, &arguments, most)
        };
        match result {
            Ok(Held { value, boxed }) => {
                Ok(Held { value: self.outcome(name, node, Ok(value))?, boxed })
            }
            Err(failure) => Ok(Held::bare(self.outcome(name, node, Err(failure))?)),
        }
    }

    fn outcome(
        &mut self,
        name: &str,
        node: At<'t>,
        result: std::result::Result<Value, Failure>,
    ) -> Result<Value> {
        let made = match &result {
            Ok(Value::Text(text)) => text.len(),
            _ => 0,
        };
        let left = self.text.checked_sub(made).filter(|_| made <= self.template.limits.output);
        match (result, left) {
            (Ok(value), Some(left)) => {
                self.text = left;
                Ok(value)
            }
            (Err(Failure::Message(message)), _) => {
                self.at = node;
                Err(self.error(format!("error calling {name}: {message}")))
            }
            (Ok(_), None) | (Err(Failure::TooLong), _) => {
                self.at = node;
                let (one, all) = (self.template.limits.output, self.template.limits.text);
                let message = format!(
                    "{name} makes a text longer than {one} bytes, or more than {all} in all"
                );
                Err(self.limit(message))
            }
        }
    }

    /// The arguments, evaluated in order.
    fn arguments(
        &mut self,
        dot: &Held,
        signature: &Signature,
        words: &'t [Operand],
        last: Option<Held>,
    ) -> Result<Vec<Held>> {
        self.check_count(signature, words.len(), last.is_some())?;
        let mut arguments = Vec::with_capacity(words.len() + 1);
        for (i, word) in words.iter().enumerate() {
            let of = signature.parameter(i).unwrap_or(Type::Any);
            arguments.push(self.argument(dot, of, word)?);
        }
        if let Some(last) = last {
            let of = signature.parameter(words.len()).unwrap_or(Type::Any);
            arguments.push(self.assignable(last, of)?);
        }
        self.pay(1 + arguments.iter().map(size).sum::<usize>() / BYTES_PER_STEP)?;
        Ok(arguments)
    }

    fn check_count(&self, signature: &Signature, words: usize, has_last: bool) -> Result<()> {
        let (name, want) = (signature.name, signature.parameters.len());
        let got = words + usize::from(has_last);
        if signature.variadic.is_some() && got < want {
            let message =
                format!("wrong number of args for {name}: want at least {want} got {words}");
            return Err(self.error(message));
        }
        if signature.variadic.is_none() && got != want {
            return Err(
                self.error(format!("wrong number of args for {name}: want {want} got {got}"))
            );
        }
        Ok(())
    }

    /// `and` and `or`, which stop at the first argument that decides.
    fn logic(
        &mut self,
        dot: &Held,
        signature: &Signature,
        words: &'t [Operand],
        last: Option<Held>,
    ) -> Result<Held> {
        self.check_count(signature, words.len(), last.is_some())?;
        let decides = signature.name == "or";
        let mut value = Held::NOTHING;
        for word in words {
            self.pay(1)?;
            value = self.argument(dot, Type::Reflected, word)?;
            if value.value.is_true() == decides {
                return Ok(value);
            }
        }
        match last {
            Some(last) => self.assignable(last, Type::Reflected),
            None => Ok(value),
        }
    }
}

/// What `call` says it was to call.
fn callee(words: &[Operand], last: Option<&Held>) -> String {
    match (words.first(), last.map(|last| &last.value)) {
        (Some(word), _) => word.to_string(),
        (None, Some(Value::Text(text))) => lossy(text),
        (None, Some(value)) => format!("<{} Value>", value.type_name()),
        (None, None) => String::new(),
    }
}

/// No value of a template is a function.
fn not_a_function(callee: &str, arguments: &[Held]) -> Failure {
    match arguments.first().map(|argument| &argument.value) {
        None | Some(Value::Nil) => "call of nil".into(),
        Some(value) => format!("non-function {callee} of type {}", value.type_name()).into(),
    }
}

fn size(argument: &Held) -> usize {
    if let Value::Text(text) = &argument.value { text.len() } else { 0 }
}
