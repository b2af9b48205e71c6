//! Text and actions: what stands between the delimiters first.

use super::{End, Item, Parser, Result};
use crate::template::{
    ast::{Branch, Control, List, Node},
    go::quote::{SYNTAX, unquote},
    lex::{Kind, Token},
};

impl<'s> Parser<'s, '_, '_> {
    /// All of the source. `define` is known here only, outside any block.
    pub(super) fn root(&mut self) -> Result<List> {
        let mut list = List::default();
        while self.peek().kind != Kind::Eof {
            if self.peek().kind == Kind::LeftDelim {
                let delimiter = self.next();
                if self.next_but_space().kind == Kind::Define {
                    Parser::new(self.shared).definition()?;
                    continue;
                }
                self.back_two(delimiter);
            }
            match self.text_or_action()? {
                Item::Node(node) => list.nodes.push(node),
                Item::End(end) => {
                    return Err(self.error_here(format!("unexpected {}", end.shown())));
                }
            }
        }
        Ok(list)
    }

    fn definition(&mut self) -> Result<()> {
        const CONTEXT: &str = "define clause";
        let token = self.next_but_space();
        let name = self.template_name(&token, CONTEXT)?;
        self.expect(Kind::RightDelim, CONTEXT)?;
        let (list, end) = self.nested(Self::list)?;
        if let End::Else = end {
            return Err(self.error_here(format!("unexpected {} in {CONTEXT}", end.shown())));
        }
        self.add(&name, list)
    }

    /// Up to `end` or `else`.
    fn list(&mut self) -> Result<(List, End)> {
        let mut list = List::default();
        while self.peek_but_space().kind != Kind::Eof {
            match self.text_or_action()? {
                Item::Node(node) => list.nodes.push(node),
                Item::End(end) => return Ok((list, end)),
            }
        }
        Err(self.error_here("unexpected EOF"))
    }

    fn text_or_action(&mut self) -> Result<Item> {
        let token = self.next_but_space();
        match token.kind {
            Kind::Text => Ok(Item::Node(Node::Text { at: token.at, text: token.text.into() })),
            Kind::LeftDelim => {
                self.action_line = Some(token.line);
                let item = self.action()?;
                self.action_line = None;
                Ok(item)
            }
            _ => Err(self.unexpected(&token, "input")),
        }
    }

    fn action(&mut self) -> Result<Item> {
        let token = self.next_but_space();
        let node = match token.kind {
            Kind::Block => self.block()?,
            Kind::Break => {
                self.loop_control(&token, "{{break}}")?;
                Node::Break { at: token.at }
            }
            Kind::Continue => {
                self.loop_control(&token, "{{continue}}")?;
                Node::Continue { at: token.at }
            }
            Kind::Else => return self.else_control(),
            Kind::End => {
                self.expect(Kind::RightDelim, "end")?;
                return Ok(Item::End(End::End));
            }
            Kind::If => self.branch(Control::If)?,
            Kind::Range => self.branch(Control::Range)?,
            Kind::With => self.branch(Control::With)?,
            Kind::Template => self.template()?,
            _ => {
                self.back();
                let at = self.peek().at;
                Node::Action { at, pipe: self.pipeline("command", Kind::RightDelim)? }
            }
        };
        Ok(Item::Node(node))
    }

    fn loop_control(&mut self, word: &Token<'s>, shown: &str) -> Result<()> {
        self.expect(Kind::RightDelim, shown)?;
        if self.ranges == 0 {
            return Err(self.error(word, format!("{shown} outside {{{{range}}}}")));
        }
        Ok(())
    }

    /// `if` and `with` after `else` are left for the branch that is being read.
    fn else_control(&mut self) -> Result<Item> {
        if !matches!(self.peek_but_space().kind, Kind::If | Kind::With) {
            self.expect(Kind::RightDelim, "else")?;
        }
        Ok(Item::End(End::Else))
    }

    fn branch(&mut self, control: Control) -> Result<Node> {
        let variables = self.variables.len();
        let branch = self.nested(|parser| parser.branch_inside(control))?;
        self.variables.truncate(variables);
        Ok(Node::Branch(Box::new(branch)))
    }

    fn branch_inside(&mut self, control: Control) -> Result<Branch> {
        let pipe = self.pipeline(control.word(), Kind::RightDelim)?;
        let in_range = usize::from(control == Control::Range);
        self.ranges += in_range;
        let (list, end) = self.list()?;
        self.ranges -= in_range;
        let otherwise = match end {
            End::End => None,
            End::Else => Some(self.otherwise(control)?),
        };
        Ok(Branch { control, pipe, list, otherwise })
    }

    fn otherwise(&mut self, control: Control) -> Result<List> {
        // `{{if a}}{{else if b}}{{end}}` is `{{if a}}{{else}}{{if b}}{{end}}{{end}}`.
        let again = match control {
            Control::If => Some(Kind::If),
            Control::With => Some(Kind::With),
            Control::Range => None,
        };
        if again == Some(self.peek().kind) {
            self.next();
            return Ok(List { nodes: vec![self.branch(control)?] });
        }
        let (list, end) = self.list()?;
        match end {
            End::End => Ok(list),
            End::Else => Err(self.error_here(format!("expected end; found {}", end.shown()))),
        }
    }

    fn block(&mut self) -> Result<Node> {
        const CONTEXT: &str = "block clause";
        let token = self.next_but_space();
        let name = self.template_name(&token, CONTEXT)?;
        let pipe = self.pipeline(CONTEXT, Kind::RightDelim)?;
        let mut block = Parser::new(self.shared);
        let (list, end) = block.nested(Parser::list)?;
        if let End::Else = end {
            return Err(self.error_here(format!("unexpected {} in {CONTEXT}", end.shown())));
        }
        block.add(&name, list)?;
        Ok(Node::Template { at: token.at, name: name.into(), pipe: Some(pipe) })
    }

    fn template(&mut self) -> Result<Node> {
        const CONTEXT: &str = "template clause";
        let token = self.next_but_space();
        let name = self.template_name(&token, CONTEXT)?;
        let mut pipe = None;
        if self.next_but_space().kind != Kind::RightDelim {
            self.back();
            pipe = Some(self.pipeline(CONTEXT, Kind::RightDelim)?);
        }
        Ok(Node::Template { at: token.at, name: name.into(), pipe })
    }

    fn template_name(&mut self, token: &Token<'s>, context: &str) -> Result<Vec<u8>> {
        if !matches!(token.kind, Kind::String | Kind::RawString) {
            return Err(self.unexpected(token, context));
        }
        unquote(token.text).ok_or_else(|| self.error(token, SYNTAX))
    }
}
