//! Text, branches, loops and templates in templates.

use super::{At, Held, Result, State};
use crate::template::{
    ast::{Branch, Control, List, Node, Pipe},
    go::{
        printf::{shown, sprint},
        quote::quoted,
        text::lossy,
    },
    value::Value,
};

/// How a list was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    Next,
    Break,
    Continue,
}

impl<'t> State<'t> {
    pub(super) fn nodes(&mut self, dot: &Held, list: &'t List) -> Result<Flow> {
        for node in &list.nodes {
            self.pay(1)?;
            let flow = self.walk(dot, node)?;
            if flow != Flow::Next {
                return Ok(flow);
            }
        }
        Ok(Flow::Next)
    }

    fn walk(&mut self, dot: &Held, node: &'t Node) -> Result<Flow> {
        self.at = At::Node(node);
        match node {
            Node::Text { text, .. } => self.write(text.as_bytes())?,
            Node::Action { pipe, .. } => {
                let value = self.pipeline(dot, pipe)?;
                if pipe.variables.is_empty() {
                    self.at = At::Node(node);
                    self.print(&value)?;
                }
            }
            Node::Break { .. } => return Ok(Flow::Break),
            Node::Continue { .. } => return Ok(Flow::Continue),
            Node::Branch(branch) => return self.branch(dot, branch),
            Node::Template { name, pipe, .. } => self.template(dot, name, pipe.as_ref())?,
        }
        Ok(Flow::Next)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let most = self.template.limits.output;
        if self.out.len() + bytes.len() > most {
            return Err(self.limit(format!("the output is longer than {most} bytes")));
        }
        self.out.extend_from_slice(bytes);
        Ok(())
    }

    fn print(&mut self, value: &Held) -> Result<()> {
        match &value.value {
            Value::Nil => self.write(b"<no value>"),
            Value::Text(text) => self.write(text),
            value => {
                let most = self.template.limits.output;
                let Some(text) = sprint(std::slice::from_ref(value), most) else {
                    return Err(self.limit(format!("the output is longer than {most} bytes")));
                };
                self.write(&text)
            }
        }
    }

    fn branch(&mut self, dot: &Held, branch: &'t Branch) -> Result<Flow> {
        let mark = self.variables.len();
        let flow = match branch.control {
            Control::Range => self.range(dot, branch),
            Control::If | Control::With => self.if_or_with(dot, branch),
        };
        self.variables.truncate(mark);
        flow
    }

    fn if_or_with(&mut self, dot: &Held, branch: &'t Branch) -> Result<Flow> {
        let value = self.pipeline(dot, &branch.pipe)?;
        match (&branch.otherwise, value.value.is_true()) {
            (_, true) if branch.control == Control::With => self.list(&value, &branch.list),
            (_, true) => self.list(dot, &branch.list),
            (Some(otherwise), false) => self.list(dot, otherwise),
            (None, false) => Ok(Flow::Next),
        }
    }

    fn range(&mut self, dot: &Held, branch: &'t Branch) -> Result<Flow> {
        let value = self.pipeline(dot, &branch.pipe)?;
        let mark = self.variables.len();
        let mut ran = false;
        match &value.value {
            Value::Int(_) | Value::Byte(_) if branch.pipe.variables.len() > 1 => {
                let number = lossy(&shown(&value.value, 'v', 100));
                let message = format!("can't use {number} to iterate over more than one variable");
                return Err(self.error(message));
            }
            Value::Int(end) => {
                for number in 0..*end {
                    ran = true;
                    let item = Held::bare(Value::Int(number));
                    if self.round(branch, mark, Held::NOTHING, &item)? == Flow::Break {
                        return Ok(Flow::Next);
                    }
                }
            }
            Value::Byte(end) => {
                for number in 0..*end {
                    ran = true;
                    let item = Held::bare(Value::Byte(number));
                    if self.round(branch, mark, Held::NOTHING, &item)? == Flow::Break {
                        return Ok(Flow::Next);
                    }
                }
            }
            Value::List(list) => {
                for (index, item) in (0_i64..).zip(list.as_slice()) {
                    ran = true;
                    let (index, item) = (Held::bare(Value::Int(index)), Held::boxed(item.clone()));
                    if self.round(branch, mark, index, &item)? == Flow::Break {
                        return Ok(Flow::Next);
                    }
                }
            }
            Value::Map(map) => {
                for (key, item) in map.iter() {
                    ran = true;
                    let (key, item) = (Held::bare(key.as_str().into()), Held::boxed(item.clone()));
                    if self.round(branch, mark, key, &item)? == Flow::Break {
                        return Ok(Flow::Next);
                    }
                }
            }
            Value::Nil => {}
            other => {
                let text = lossy(&shown(other, 'v', self.template.limits.output));
                return Err(self.error(format!("range can't iterate over {text}")));
            }
        }
        let Some(otherwise) = branch.otherwise.as_ref().filter(|_| !ran) else {
            return Ok(Flow::Next);
        };
        // As in Go, `break` here ends this loop, and `continue` goes on with the one around it.
        match self.list(dot, otherwise)? {
            Flow::Break => Ok(Flow::Next),
            flow => Ok(flow),
        }
    }

    /// One round of a loop, whose variables are the last ones below `mark`.
    fn round(&mut self, branch: &'t Branch, mark: usize, index: Held, item: &Held) -> Result<Flow> {
        self.pay(1)?;
        let variables = &branch.pipe.variables;
        match variables.as_slice() {
            [] => {}
            [one] if branch.pipe.assigns => self.assign(&one.name, item.clone())?,
            [one, two, ..] if branch.pipe.assigns => {
                self.assign(&one.name, index)?;
                self.assign(&two.name, item.clone())?;
            }
            [_] => self.variables[mark - 1].1 = item.clone(),
            [_, _, ..] => {
                self.variables[mark - 1].1 = item.clone();
                self.variables[mark - 2].1 = index;
            }
        }
        let flow = self.list(item, &branch.list);
        self.variables.truncate(mark);
        flow
    }

    fn template(&mut self, dot: &Held, name: &'t [u8], pipe: Option<&'t Pipe>) -> Result<()> {
        let Some((name, list)) = self.template.trees.get_key_value(name) else {
            let name = lossy(&quoted(name));
            return Err(self.error(format!("template {name} not defined")));
        };
        let dot = match pipe {
            Some(pipe) => self.pipeline(dot, pipe)?,
            None => Held::NOTHING,
        };
        // A template sees no variables but its own.
        let variables = std::mem::replace(&mut self.variables, vec![("$", dot.clone())]);
        let executing = std::mem::replace(&mut self.executing, name);
        let at = self.at;
        self.list(&dot, list)?;
        (self.variables, self.executing, self.at) = (variables, executing, at);
        Ok(())
    }
}
