//! The rules of operands: names, calls, selections, literals, lists, maps and messages.

use super::{
    grammar::expr,
    recovery::{Reader, Stop},
    sets::{AFTER_PRIMARY, ENTRY, FIELD, Follow, NAME, NOTHING, START, set},
    tree::{Entry, Field, MessageField, Tree},
};
use crate::policy::cel::lex::Tok;

pub(super) fn member(reader: &mut Reader) -> Tree {
    let mut tree = Tree::Missing;
    reader.rule(Follow(NOTHING, true), |r| {
        tree = primary(r);
        loop {
            match r.kind() {
                Tok::Dot => select_or_call(r, &mut tree)?,
                Tok::LBracket => index(r, &mut tree)?,
                _ => return Ok(()),
            }
        }
    });
    tree
}

fn take(tree: &mut Tree) -> Box<Tree> {
    Box::new(std::mem::replace(tree, Tree::Missing))
}

fn index(r: &mut Reader, tree: &mut Tree) -> Result<(), Stop> {
    let open = r.fits();
    let operand = take(tree);
    let mut index = Tree::Missing;
    let mut optional = false;
    let read = r.sync(121, ENTRY).and_then(|()| {
        optional = r.eat(Tok::Question).is_some();
        index = expr(r, Follow(set(&[Tok::RBracket]), false));
        r.expect(124, Tok::RBracket, Follow(AFTER_PRIMARY, true)).map(drop)
    });
    *tree = Tree::Index { operand, open, optional, index: Box::new(index) };
    read
}

fn select_or_call(r: &mut Reader, tree: &mut Tree) -> Result<(), Stop> {
    if !matches!(r.ahead(1), Tok::Question | Tok::Ident | Tok::Escaped) {
        return Err(r.no_way(126, 1));
    }
    let is_call = r.ahead(1) == Tok::Ident && r.ahead(2) == Tok::LParen;
    let dot = r.fits();
    let operand = take(tree);
    if is_call {
        let name = r.fits();
        let open = r.fits();
        let mut args = Vec::new();
        let read = arguments(r, 115, 117, Follow(AFTER_PRIMARY, true), &mut args);
        *tree = Tree::MemberCall { operand, name, open, args };
        return read;
    }
    let optional = r.eat(Tok::Question).is_some();
    let field = Some(field_name(r, Follow(AFTER_PRIMARY, true)));
    *tree = Tree::Select { operand, dot, optional, field };
    Ok(())
}

/// `name`, or what is refused later: a name in backticks.
fn field_name(reader: &mut Reader, follow: Follow) -> Field {
    let mut field = Field { at: reader.token().at, token: None };
    reader.rule(follow, |r| {
        r.sync(235, NAME)?;
        if !NAME.has(r.kind()) {
            return Err(r.no_way(235, 0));
        }
        field.token = Some(r.fits());
        Ok(())
    });
    field
}

fn arguments(
    r: &mut Reader,
    before: u16,
    after: u16,
    next: Follow,
    args: &mut Vec<Tree>,
) -> Result<(), Stop> {
    r.sync(before, START.and(set(&[Tok::RParen])))?;
    if START.has(r.kind()) {
        r.rule(Follow(set(&[Tok::RParen]), false), |r| {
            loop {
                args.push(expr(r, Follow(set(&[Tok::Comma]), true)));
                if r.eat(Tok::Comma).is_none() {
                    return Ok(());
                }
            }
        });
    }
    r.expect(after, Tok::RParen, next).map(drop)
}

fn primary(reader: &mut Reader) -> Tree {
    let mut tree = Tree::Missing;
    reader.rule(Follow(AFTER_PRIMARY, true), |r| {
        // Not `!`, though the message lists it with the rest where an operand may begin.
        r.sync(184, START)?;
        match r.kind() {
            Tok::Dot | Tok::Ident => name(r, &mut tree),
            Tok::LParen => {
                r.fits();
                tree = expr(r, Follow(set(&[Tok::RParen]), false));
                r.expect(146, Tok::RParen, Follow(NOTHING, true)).map(drop)
            }
            Tok::LBracket => list(r, &mut tree),
            Tok::LBrace => map(r, &mut tree),
            Tok::Minus
            | Tok::Int
            | Tok::Uint
            | Tok::Float
            | Tok::String
            | Tok::Bytes
            | Tok::True
            | Tok::False
            | Tok::Null => {
                literal(r, &mut tree);
                Ok(())
            }
            _ => Err(r.no_way(184, 0)),
        }
    });
    tree
}

fn literal(reader: &mut Reader, tree: &mut Tree) {
    reader.rule(Follow(NOTHING, true), |r| {
        let at = r.token().at;
        let negative = r.kind() == Tok::Minus;
        if negative {
            if !matches!(r.ahead(1), Tok::Int | Tok::Float) {
                return Err(r.no_way(256, 1));
            }
            r.fits();
        }
        *tree = Tree::Literal { at, negative, token: r.fits() };
        Ok(())
    });
}

fn name(r: &mut Reader, tree: &mut Tree) -> Result<(), Stop> {
    let at = r.token().at;
    if r.kind() == Tok::Dot && r.ahead(1) != Tok::Ident {
        return Err(r.no_way(184, 1));
    }
    let message = is_message(r);
    let leading_dot = r.eat(Tok::Dot).is_some();
    if message {
        return structure(r, at, leading_dot, tree);
    }
    let name = r.fits();
    if r.kind() != Tok::LParen {
        *tree = Tree::Ident { at, leading_dot, name };
        return Ok(());
    }
    let open = r.fits();
    let mut args = Vec::new();
    let read = arguments(r, 141, 143, Follow(NOTHING, true), &mut args);
    *tree = Tree::Call { at, leading_dot, name, open, args };
    read
}

/// `a.b.c {` opens a message; nothing shorter does.
fn is_message(r: &mut Reader) -> bool {
    let mut n = usize::from(r.kind() == Tok::Dot);
    loop {
        if r.ahead(n) != Tok::Ident {
            return false;
        }
        match r.ahead(n + 1) {
            Tok::LBrace => return true,
            Tok::Dot => n += 2,
            _ => return false,
        }
    }
}

fn structure(r: &mut Reader, at: usize, leading_dot: bool, tree: &mut Tree) -> Result<(), Stop> {
    let mut name = String::new();
    if leading_dot {
        name.push('.');
    }
    loop {
        name.push_str(&r.fits().text);
        if r.eat(Tok::Dot).is_none() {
            break;
        }
        name.push('.');
    }
    let open = r.fits();
    let mut fields = Vec::new();
    let mut start = at;
    let read = r.sync(177, FIELD.and(set(&[Tok::RBrace, Tok::Comma]))).and_then(|()| {
        if FIELD.has(r.kind()) {
            start = r.token().at;
            r.rule(Follow(set(&[Tok::RBrace, Tok::Comma]), false), |r| {
                message_fields(r, &mut fields)
            });
        }
        close(r, 180, 182, Tok::RBrace)
    });
    *tree = Tree::Message { open, name, at: start, fields };
    read
}

fn message_fields(r: &mut Reader, fields: &mut Vec<MessageField>) -> Result<(), Stop> {
    loop {
        let mut optional = false;
        let mut name = None;
        r.rule(Follow(set(&[Tok::Colon]), false), |r| {
            optional = r.eat(Tok::Question).is_some();
            name = Some(field_name(r, Follow(NOTHING, true)));
            Ok(())
        });
        let name = name.unwrap_or(Field { at: 0, token: None });
        fields.push(MessageField { name, optional, value: None });
        // Another place in the grammar in the turns after the first.
        let state = if fields.len() == 1 { 205 } else { 210 };
        let colon = r.expect(state, Tok::Colon, Follow(START, false))?;
        let value = expr(r, Follow(set(&[Tok::Comma]), true));
        if let Some(field) = fields.last_mut() {
            field.value = Some((colon, value));
        }
        if r.kind() == Tok::Comma && FIELD.has(r.ahead(1)) {
            r.fits();
        } else {
            return Ok(());
        }
    }
}

fn close(r: &mut Reader, before: u16, last: u16, bracket: Tok) -> Result<(), Stop> {
    r.sync(before, set(&[bracket, Tok::Comma]))?;
    r.eat(Tok::Comma);
    r.expect(last, bracket, Follow(NOTHING, true)).map(drop)
}

/// `?x` or `x`.
fn optional_expr(reader: &mut Reader, follow: Follow) -> (Tree, bool) {
    let (mut tree, mut optional) = (Tree::Missing, false);
    reader.rule(follow, |r| {
        optional = r.eat(Tok::Question).is_some();
        tree = expr(r, Follow(NOTHING, true));
        Ok(())
    });
    (tree, optional)
}

fn list(r: &mut Reader, tree: &mut Tree) -> Result<(), Stop> {
    let open = r.fits();
    let mut elements = Vec::new();
    let read = r.sync(150, ENTRY.and(set(&[Tok::RBracket, Tok::Comma]))).and_then(|()| {
        if ENTRY.has(r.kind()) {
            r.rule(Follow(set(&[Tok::RBracket, Tok::Comma]), false), |r| {
                loop {
                    elements.push(optional_expr(r, Follow(set(&[Tok::Comma]), true)));
                    if r.kind() == Tok::Comma && ENTRY.has(r.ahead(1)) {
                        r.fits();
                    } else {
                        return Ok(());
                    }
                }
            });
        }
        close(r, 153, 155, Tok::RBracket)
    });
    *tree = Tree::List { open, elements };
    read
}

fn map(r: &mut Reader, tree: &mut Tree) -> Result<(), Stop> {
    let open = r.fits();
    let mut entries = Vec::new();
    let read = r.sync(158, ENTRY.and(set(&[Tok::RBrace, Tok::Comma]))).and_then(|()| {
        if ENTRY.has(r.kind()) {
            r.rule(Follow(set(&[Tok::RBrace, Tok::Comma]), false), |r| {
                map_entries(r, &mut entries)
            });
        }
        close(r, 161, 163, Tok::RBrace)
    });
    *tree = Tree::Map { open, entries };
    read
}

fn map_entries(r: &mut Reader, entries: &mut Vec<Entry>) -> Result<(), Stop> {
    let mut state = 221;
    loop {
        let (key, optional) = optional_expr(r, Follow(set(&[Tok::Colon]), false));
        r.expect(state, Tok::Colon, Follow(START, false))?;
        state = 225;
        let value = expr(r, Follow(set(&[Tok::Comma]), true));
        entries.push(Entry { key, optional, value });
        if r.kind() == Tok::Comma && ENTRY.has(r.ahead(1)) {
            r.fits();
        } else {
            return Ok(());
        }
    }
}
