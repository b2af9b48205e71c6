//! The rules of CEL's grammar, down to operands. Numbers name places in it, as recovery compares them.

use super::{
    recovery::{Reader, Stop},
    sets::{CALC, Follow, NOTHING, RELATION, START, set},
    tree::Tree,
};
use crate::policy::cel::lex::{Tok, Token};

/// Reads everything.
pub(super) fn start(reader: &mut Reader) -> Tree {
    let mut tree = Tree::Missing;
    reader.rule(Follow(NOTHING, false), |r| {
        tree = expr(r, Follow(set(&[Tok::End]), false));
        r.expect(35, Tok::End, Follow(NOTHING, false)).map(drop)
    });
    tree
}

pub(super) fn expr(reader: &mut Reader, follow: Follow) -> Tree {
    let mut condition = Tree::Missing;
    let mut question = None;
    let (mut yes, mut no) = (Tree::Missing, Tree::Missing);
    reader.depth.expr += 1;
    reader.rule(follow, |r| {
        r.too_deep(r.depth.expr)?;
        condition = or(r, Follow(set(&[Tok::Question]), true));
        question = r.eat(Tok::Question);
        if question.is_some() {
            yes = or(r, Follow(set(&[Tok::Colon]), false));
            r.expect(40, Tok::Colon, Follow(START, false))?;
            no = expr(r, Follow(NOTHING, true));
        }
        Ok(())
    });
    reader.depth.expr -= 1;
    match question {
        Some(question) => Tree::Conditional { question, parts: Box::new([condition, yes, no]) },
        None => condition,
    }
}

fn or(reader: &mut Reader, follow: Follow) -> Tree {
    logic(reader, follow, Tok::Or, "_||_", and)
}

fn and(reader: &mut Reader, follow: Follow) -> Tree {
    logic(reader, follow, Tok::And, "_&&_", |r, follow| relation(r, 0, follow))
}

fn logic(
    reader: &mut Reader,
    follow: Follow,
    operator: Tok,
    function: &'static str,
    operand: fn(&mut Reader, Follow) -> Tree,
) -> Tree {
    let mut first = Tree::Missing;
    let mut rest = Vec::new();
    let next = Follow(if operator == Tok::Or { set(&[Tok::Or]) } else { set(&[Tok::And]) }, true);
    reader.rule(follow, |r| {
        first = operand(r, next);
        while let Some(token) = r.eat(operator) {
            rest.push((token, operand(r, next)));
        }
        Ok(())
    });
    if rest.is_empty() { first } else { Tree::Logic { function, first: Box::new(first), rest } }
}

fn relation(reader: &mut Reader, level: usize, follow: Follow) -> Tree {
    let mut left = Tree::Missing;
    reader.depth.relation += 1;
    reader.rule(follow, |r| {
        r.too_deep(r.depth.relation)?;
        left = calc(r, 0, Follow(RELATION, true));
        while level <= 1
            && let Some(function) = relation_of(r.kind())
        {
            let operator = r.fits();
            let right = relation(r, 2, Follow(RELATION, true));
            binary(&mut left, function, operator, right);
        }
        Ok(())
    });
    reader.depth.relation -= 1;
    left
}

fn calc(reader: &mut Reader, level: usize, follow: Follow) -> Tree {
    let mut left = Tree::Missing;
    reader.depth.calc += 1;
    reader.rule(follow, |r| {
        r.too_deep(r.depth.calc)?;
        left = unary(r);
        while let Some((function, strength)) = calc_of(r.kind())
            && strength >= level
        {
            let operator = r.fits();
            let right = calc(r, strength + 1, Follow(CALC, true));
            binary(&mut left, function, operator, right);
        }
        Ok(())
    });
    reader.depth.calc -= 1;
    left
}

fn binary(left: &mut Tree, function: &'static str, operator: Token, right: Tree) {
    let first = std::mem::replace(left, Tree::Missing);
    *left = Tree::Binary { function, operator, sides: Box::new((first, right)) };
}

fn unary(reader: &mut Reader) -> Tree {
    let mut tree = Tree::Broken { at: reader.token().at };
    reader.rule(Follow(CALC, true), |r| unary_body(r, &mut tree));
    tree
}

fn unary_body(r: &mut Reader, tree: &mut Tree) -> Result<(), Stop> {
    r.sync(99, START)?;
    let operator = r.kind();
    if !START.has(operator) {
        return Err(r.no_way(99, 0));
    }
    let signed = operator == Tok::Minus && matches!(r.ahead(1), Tok::Int | Tok::Float);
    if signed || !matches!(operator, Tok::Not | Tok::Minus) {
        *tree = super::operand::member(r);
        return Ok(());
    }
    let mut operators = Vec::new();
    let prefix = |function, operators: &mut Vec<Token>, operand| Tree::Prefix {
        function,
        operators: std::mem::take(operators),
        operand: Box::new(operand),
    };
    if operator == Tok::Not {
        while r.kind() == Tok::Not {
            operators.push(r.fits());
            r.sync_loop(90, START);
        }
        let operand = super::operand::member(r);
        *tree = prefix("!_", &mut operators, operand);
        return Ok(());
    }
    // A dash is an operator or the sign of a number: the token after it tells.
    if !goes_on(r.ahead(1)) {
        return Err(r.no_way(99, 1));
    }
    loop {
        operators.push(r.fits());
        if r.kind() != Tok::Minus {
            break;
        }
        if !goes_on(r.ahead(1)) {
            let stop = r.no_way(96, 1);
            *tree = prefix("-_", &mut operators, Tree::Missing);
            return Err(stop);
        }
    }
    let operand = super::operand::member(r);
    *tree = prefix("-_", &mut operators, operand);
    Ok(())
}

/// What may come after a dash.
fn goes_on(kind: Tok) -> bool {
    START.has(kind) && kind != Tok::Not
}

fn relation_of(kind: Tok) -> Option<&'static str> {
    match kind {
        Tok::Less => Some("_<_"),
        Tok::LessEquals => Some("_<=_"),
        Tok::GreaterEquals => Some("_>=_"),
        Tok::Greater => Some("_>_"),
        Tok::Equals => Some("_==_"),
        Tok::NotEquals => Some("_!=_"),
        Tok::In => Some("@in"),
        _ => None,
    }
}

fn calc_of(kind: Tok) -> Option<(&'static str, usize)> {
    match kind {
        Tok::Star => Some(("_*_", 2)),
        Tok::Slash => Some(("_/_", 2)),
        Tok::Percent => Some(("_%_", 2)),
        Tok::Plus => Some(("_+_", 1)),
        Tok::Minus => Some(("_-_", 1)),
        _ => None,
    }
}
