//! Pipelines, commands, fields and arguments.

use super::{At, Held, Result, State};
use crate::template::{
    MissingKey,
    ast::{Command, Operand, Pipe, Variable},
    functions::Type,
    go::{quote::quoted, text::lossy},
    value::Value,
};

impl<'t> State<'t> {
    pub(super) fn pipeline(&mut self, dot: &Held, pipe: &'t Pipe) -> Result<Held> {
        self.at = At::Pipe(pipe);
        let mut value = None;
        for command in &pipe.commands {
            self.pay(1)?;
            // What comes out of a command goes on without its interface.
            value = Some(Held::bare(self.command(dot, command, value)?.value));
        }
        let value = value.unwrap_or(Held::NOTHING);
        for variable in &pipe.variables {
            if pipe.assigns {
                self.assign(&variable.name, value.clone())?;
            } else {
                self.variables.push((&variable.name, value.clone()));
            }
        }
        Ok(value)
    }

    pub(super) fn assign(&mut self, name: &str, value: Held) -> Result<()> {
        match self.variables.iter_mut().rev().find(|(known, _)| *known == name) {
            Some((_, old)) => {
                *old = value;
                Ok(())
            }
            None => Err(self.error(format!("undefined variable: {name}"))),
        }
    }

    fn command(&mut self, dot: &Held, command: &'t Command, last: Option<Held>) -> Result<Held> {
        let Some((first, arguments)) = command.words.split_first() else {
            return Err(self.error("empty command"));
        };
        let has_arguments = !arguments.is_empty() || last.is_some();
        match first {
            Operand::Field { names, .. } => {
                self.at = At::Operand(first);
                self.fields(dot.clone(), names, has_arguments)
            }
            Operand::Chain { .. } => self.chain(dot, first, has_arguments),
            Operand::Function { name, .. } => {
                self.at = At::Operand(first);
                self.function(dot, name, At::Command(command), arguments, last)
            }
            Operand::Pipe(pipe) => {
                self.takes_no_arguments(first, has_arguments)?;
                self.nested(|state| state.pipeline(dot, pipe))
            }
            Operand::Variable(variable) => self.variable(first, variable, has_arguments),
            Operand::Bool { .. }
            | Operand::Dot { .. }
            | Operand::Nil { .. }
            | Operand::Number { .. }
            | Operand::Text { .. } => {
                self.at = At::Operand(first);
                self.takes_no_arguments(first, has_arguments)?;
                match first {
                    Operand::Dot { .. } => Ok(dot.clone()),
                    Operand::Nil { .. } => Err(self.error("nil is not a command")),
                    _ => self.literal(first),
                }
            }
        }
    }

    fn takes_no_arguments(&self, first: &Operand, has_arguments: bool) -> Result<()> {
        if has_arguments {
            return Err(self.error(format!("can't give argument to non-function {first}")));
        }
        Ok(())
    }

    /// A literal where nothing says which type it should have.
    pub(super) fn literal(&mut self, operand: &'t Operand) -> Result<Held> {
        self.at = At::Operand(operand);
        Ok(Held::bare(match operand {
            Operand::Bool { value, .. } => Value::Bool(*value),
            Operand::Text { value, .. } => Value::Text(value.clone()),
            Operand::Number { text, number, .. } => {
                Value::of_literal(text, number).map_err(|message| self.error(message))?
            }
            other => {
                let message =
                    format!("can't handle assignment of {other} to empty interface argument");
                return Err(self.error(message));
            }
        }))
    }

    fn chain(&mut self, dot: &Held, chain: &'t Operand, has_arguments: bool) -> Result<Held> {
        self.at = At::Operand(chain);
        let Operand::Chain { of, fields, .. } = chain else { return Ok(Held::NOTHING) };
        let receiver = match &**of {
            Operand::Function { name, .. } => {
                self.at = At::Operand(of);
                self.function(dot, name, At::Operand(of), &[], None)?
            }
            Operand::Pipe(pipe) => {
                self.at = At::Operand(of);
                self.nested(|state| state.pipeline(dot, pipe))?
            }
            other => self.literal(other)?,
        };
        self.fields(receiver, fields, has_arguments)
    }

    fn variable(
        &mut self,
        operand: &'t Operand,
        variable: &'t Variable,
        has_arguments: bool,
    ) -> Result<Held> {
        self.at = At::Operand(operand);
        let found = self.variables.iter().rev().find(|(name, _)| **name == *variable.name);
        let Some((_, value)) = found else {
            return Err(self.error(format!("undefined variable: {}", variable.name)));
        };
        let value = value.clone();
        if variable.fields.is_empty() {
            self.takes_no_arguments(operand, has_arguments)?;
            return Ok(value);
        }
        self.fields(value, &variable.fields, has_arguments)
    }

    fn fields(&self, of: Held, names: &[Box<str>], has_arguments: bool) -> Result<Held> {
        let mut value = of;
        for (i, name) in names.iter().enumerate() {
            let is_last = i + 1 == names.len();
            value = self.field(&value, name, has_arguments && is_last)?;
        }
        Ok(value)
    }

    fn field(&self, of: &Held, name: &str, has_arguments: bool) -> Result<Held> {
        let shown = || lossy(&quoted(name.as_bytes()));
        let strict = self.template.missing_key == MissingKey::Error;
        match &of.value {
            Value::Nil if of.boxed => {
                Err(self.error(format!("nil pointer evaluating interface {{}}.{name}")))
            }
            Value::Nil if strict => {
                Err(self.error(format!("nil data; no entry for key {}", shown())))
            }
            Value::Nil => Ok(Held::NOTHING),
            Value::Map(_) if has_arguments => {
                Err(self.error(format!("{name} is not a method but has arguments")))
            }
            Value::Map(map) => match map.get(name) {
                Some(value) => Ok(Held::boxed(value.clone())),
                None if strict => Err(self.error(format!("map has no entry for key {}", shown()))),
                None => Ok(Held::NOTHING),
            },
            _ => {
                let of = of.type_name();
                Err(self.error(format!("can't evaluate field {name} in type {of}")))
            }
        }
    }

    /// An argument for a parameter.
    pub(super) fn argument(&mut self, dot: &Held, of: Type, operand: &'t Operand) -> Result<Held> {
        self.at = At::Operand(operand);
        let value = match operand {
            Operand::Dot { .. } => dot.clone(),
            Operand::Nil { .. } if of.can_be_nil() => {
                return Ok(Held { value: Value::Nil, boxed: of == Type::Any });
            }
            Operand::Nil { .. } => {
                return Err(self.error(format!("cannot assign nil to {}", of.name())));
            }
            Operand::Field { names, .. } => self.fields(dot.clone(), names, false)?,
            Operand::Variable(variable) => self.variable(operand, variable, false)?,
            Operand::Pipe(pipe) => self.nested(|state| state.pipeline(dot, pipe))?,
            Operand::Function { name, .. } => {
                self.function(dot, name, At::Operand(operand), &[], None)?
            }
            Operand::Chain { .. } => self.chain(dot, operand, false)?,
            Operand::Bool { .. } | Operand::Number { .. } | Operand::Text { .. } => {
                return self.literal_for(of, operand);
            }
        };
        self.assignable(value, of)
    }

    fn literal_for(&mut self, of: Type, operand: &'t Operand) -> Result<Held> {
        let value = match (of, operand) {
            (Type::Any | Type::Reflected, _) => return self.literal(operand),
            (Type::Bool, Operand::Bool { value, .. }) => Some(Value::Bool(*value)),
            (Type::Text, Operand::Text { value, .. }) => Some(Value::Text(value.clone())),
            (Type::Int, Operand::Number { number, .. }) => number.int.map(Value::Int),
            (Type::Float, Operand::Number { number, .. }) => number.float.map(Value::Float),
            _ => None,
        };
        let expected = match of {
            Type::Int => "integer",
            Type::Float => "float",
            Type::Any | Type::Reflected | Type::Bool | Type::Text => of.name(),
        };
        let message = || format!("expected {expected}; found {operand}");
        value.map(Held::bare).ok_or_else(|| self.error(message()))
    }

    /// The value, if Go would assign it to the type.
    pub(super) fn assignable(&self, value: Held, to: Type) -> Result<Held> {
        if value.is_nothing() {
            if to.can_be_nil() {
                return Ok(Held { value: Value::Nil, boxed: to == Type::Any });
            }
            return Err(self.error(format!("invalid value; expected {}", to.name())));
        }
        if to.can_be_nil() {
            return Ok(value);
        }
        if to.takes(&value.value) {
            return Ok(Held::bare(value.value));
        }
        let got = if matches!(value.value, Value::Nil) {
            value.type_name()
        } else {
            value.value.type_name()
        };
        let expected = to.name();
        Err(self.error(format!("wrong type for value; expected {expected}; got {got}")))
    }
}
