//! Pipelines, commands and operands.

use super::{Parser, Result};
use crate::{
    domain::suggest::closest,
    template::{
        ast::{Command, Operand, Pipe, Variable},
        go::{
            number::{Literal, read},
            quote::{SYNTAX, quoted, unquote},
            text::lossy,
        },
        lex::{Kind, Token},
    },
};

impl<'s> Parser<'s, '_, '_> {
    pub(super) fn pipeline(&mut self, context: &str, end: Kind) -> Result<Pipe> {
        let at = self.peek_but_space().at;
        let mut pipe = Pipe { at, assigns: false, variables: Vec::new(), commands: Vec::new() };
        while self.declaration(&mut pipe, context)? {}
        loop {
            let token = self.next_but_space();
            match token.kind {
                kind if kind == end => {
                    self.check(&pipe, context)?;
                    return Ok(pipe);
                }
                Kind::Bool
                | Kind::CharConstant
                | Kind::Complex
                | Kind::Dot
                | Kind::Field
                | Kind::Identifier
                | Kind::Number
                | Kind::Nil
                | Kind::RawString
                | Kind::String
                | Kind::Variable
                | Kind::LeftParen => {
                    self.back();
                    pipe.commands.push(self.command()?);
                }
                _ => return Err(self.unexpected(&token, context)),
            }
        }
    }

    /// A variable that is declared or assigned, if there is one; true if another may follow.
    fn declaration(&mut self, pipe: &mut Pipe, context: &str) -> Result<bool> {
        let variable = self.peek_but_space();
        if variable.kind != Kind::Variable {
            return Ok(false);
        }
        self.next();
        // Only behind the variable it shows whether it is declared or used; both tokens may have to go back.
        let adjacent = self.peek();
        let next = self.peek_but_space();
        match next.kind {
            Kind::Assign | Kind::Declare => {
                pipe.assigns = next.kind == Kind::Assign;
                self.next_but_space();
                self.declare(pipe, &variable);
                Ok(false)
            }
            Kind::Char if next.text == "," => {
                self.next_but_space();
                self.declare(pipe, &variable);
                if context != "range" || pipe.variables.len() >= 2 {
                    let message = format!("too many declarations in {context}");
                    return Err(self.error_here(message));
                }
                match self.peek_but_space().kind {
                    Kind::Variable | Kind::RightDelim | Kind::RightParen => Ok(true),
                    _ => Err(self.error_here("range can only initialize variables")),
                }
            }
            _ if adjacent.kind == Kind::Space => {
                self.back_three(variable, adjacent);
                Ok(false)
            }
            _ => {
                self.back_two(variable);
                Ok(false)
            }
        }
    }

    fn declare(&mut self, pipe: &mut Pipe, token: &Token<'s>) {
        let name = token.text.into();
        pipe.variables.push(Variable { at: token.at, name, fields: Vec::new() });
        self.variables.push(token.text);
    }

    fn check(&mut self, pipe: &Pipe, context: &str) -> Result<()> {
        if pipe.commands.is_empty() {
            return Err(self.error_here(format!("missing value for {context}")));
        }
        for (i, command) in pipe.commands.iter().enumerate().skip(1) {
            if let Operand::Bool { .. }
            | Operand::Dot { .. }
            | Operand::Nil { .. }
            | Operand::Number { .. }
            | Operand::Text { .. } = command.words[0]
            {
                let message = format!("non executable command in pipeline stage {}", i + 1);
                return Err(self.error_here(message));
            }
        }
        Ok(())
    }

    fn command(&mut self) -> Result<Command> {
        let mut command = Command { at: self.peek_but_space().at, words: Vec::new() };
        loop {
            self.peek_but_space();
            command.words.extend(self.operand()?);
            let token = self.next();
            match token.kind {
                Kind::Space => continue,
                Kind::RightDelim | Kind::RightParen => self.back(),
                Kind::Pipe => {}
                _ => return Err(self.unexpected(&token, "operand")),
            }
            break;
        }
        if command.words.is_empty() {
            return Err(self.error_here("empty command"));
        }
        Ok(command)
    }

    /// A term with the fields behind it; nothing if the next token begins none.
    fn operand(&mut self) -> Result<Option<Operand>> {
        let Some(term) = self.term()? else { return Ok(None) };
        let next = self.peek();
        if next.kind != Kind::Field {
            return Ok(Some(term));
        }
        let at = next.at;
        let mut fields: Vec<Box<str>> = Vec::new();
        while self.peek().kind == Kind::Field {
            fields.push(self.next().text[1..].into());
        }
        Ok(Some(match term {
            Operand::Field { mut names, .. } => {
                names.append(&mut fields);
                Operand::Field { at, names }
            }
            Operand::Variable(variable) => Operand::Variable(Variable { at, fields, ..variable }),
            Operand::Bool { .. }
            | Operand::Text { .. }
            | Operand::Number { .. }
            | Operand::Nil { .. }
            | Operand::Dot { .. } => {
                let shown = lossy(&quoted(term.to_string().as_bytes()));
                return Err(self.error(&next, format!("unexpected . after term {shown}")));
            }
            Operand::Chain { .. } | Operand::Function { .. } | Operand::Pipe(_) => {
                Operand::Chain { at, of: Box::new(term), fields }
            }
        }))
    }

    fn term(&mut self) -> Result<Option<Operand>> {
        let token = self.next_but_space();
        let at = token.at;
        Ok(Some(match token.kind {
            Kind::Identifier => {
                self.check_function(&token)?;
                Operand::Function { at, name: token.text.into() }
            }
            Kind::Dot => Operand::Dot { at },
            Kind::Nil => Operand::Nil { at },
            Kind::Variable => {
                self.check_variable(&token)?;
                Operand::Variable(Variable { at, name: token.text.into(), fields: Vec::new() })
            }
            Kind::Field => Operand::Field { at, names: vec![token.text[1..].into()] },
            Kind::Bool => Operand::Bool { at, value: token.text == "true" },
            Kind::CharConstant => self.number(&token, Literal::Character)?,
            Kind::Complex => self.number(&token, Literal::Complex)?,
            Kind::Number => self.number(&token, Literal::Plain)?,
            Kind::LeftParen => {
                let context = "parenthesized pipeline";
                let pipe = self.nested(|parser| parser.pipeline(context, Kind::RightParen))?;
                Operand::Pipe(Box::new(pipe))
            }
            Kind::String | Kind::RawString => {
                let value = unquote(token.text).ok_or_else(|| self.error(&token, SYNTAX))?;
                Operand::Text { at, literal: token.text.into(), value: value.into() }
            }
            _ => {
                self.back();
                return Ok(None);
            }
        }))
    }

    fn number(&mut self, token: &Token<'s>, literal: Literal) -> Result<Operand> {
        let number = read(token.text, literal).map_err(|message| self.error(token, message))?;
        Ok(Operand::Number { at: token.at, text: token.text.into(), number: Box::new(number) })
    }

    fn check_function(&mut self, token: &Token<'s>) -> Result<()> {
        if self.shared.functions.has(token.text) {
            return Ok(());
        }
        let meant = closest(token.text, self.shared.functions.names()).map(ToOwned::to_owned);
        let name = lossy(&quoted(token.text.as_bytes()));
        self.recoverable(token, format!("function {name} not defined"), meant)
    }

    fn check_variable(&mut self, token: &Token<'s>) -> Result<()> {
        if self.variables.contains(&token.text) {
            return Ok(());
        }
        let meant = closest(token.text, self.variables.iter().copied()).map(ToOwned::to_owned);
        let name = lossy(&quoted(token.text.as_bytes()));
        self.recoverable(token, format!("undefined variable {name}"), meant)
    }
}
