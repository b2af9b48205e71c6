//! From text to syntax tree, by hand.
//!
//! Not the parser of crate `cel`: that ANTLR port overflows the stack on long sums, and neither its
//! positions nor its messages are cel-go's. The grammar is small; written out (`grammar`, `operand`), depth
//! is counted where cel-go counts it, positions are exact, and after a mistake it goes on as ANTLR does
//! (`recovery`), so that all of cel-go's messages can be given. As in cel-go, the tree is made afterwards
//! (`visit`), of whatever was read.

mod grammar;
mod operand;
mod recovery;
mod sets;
mod tree;
mod visit;

use super::{ast::Expr, lex::tokens, source::Raised};
pub(crate) use visit::Builder;

/// The tree, with macros expanded, and how many ids it uses.
pub(crate) struct Parsed {
    pub root: Expr,
    pub ids: usize,
}

/// Reads an expression, or says everything that is wrong with its syntax.
pub(crate) fn parse(source: &str) -> Result<Parsed, Vec<Raised>> {
    let (tokens, not_tokens) = tokens(source);
    let mut reader = recovery::Reader::new(tokens, not_tokens);
    let tree = grammar::start(&mut reader);
    if reader.aborted {
        return Err(reader.errors);
    }
    let mut builder = Builder::new(reader.errors);
    let root = builder.visit(tree);
    if builder.errors.is_empty() {
        return Ok(Parsed { root, ids: builder.ids });
    }
    Err(builder.errors)
}
