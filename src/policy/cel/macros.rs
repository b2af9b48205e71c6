//! The macros, written out as cel-go writes them out: the checker then sees what its checker sees.

use super::{
    ast::{Comprehension, Expr, Form, Kind, Literal, MapEntry, StructField},
    parse::Builder,
};
use std::sync::Arc;

const ACCU: &str = "@result";
/// What cel-go called it before; still not to be used as a name.
const OLD_ACCU: &str = "__result__";
const UNUSED: &str = "#unused";
const SORT_INPUT: &str = "@__sortBy_input__";

/// `f(args)`: only `has` is a macro.
pub(crate) fn global(p: &mut Builder, at: usize, name: &Arc<str>, mut args: Vec<Expr>) -> Expr {
    if &**name == "has" && args.len() == 1 {
        let arg = args.remove(0);
        let place = arg.at;
        if let Kind::Select { operand, field, test_only: _ } = arg.kind {
            return p.node(at, Kind::Select { operand, field, test_only: true });
        }
        return failed(p, place, "invalid argument to has() macro");
    }
    p.node(at, Kind::Call { function: name.clone(), target: None, args })
}

/// `target.name(args)`.
pub(crate) fn receiver(
    p: &mut Builder,
    at: usize,
    name: &str,
    target: Expr,
    args: Vec<Expr>,
) -> Expr {
    let mut maker = Maker { p, at };
    match (name, args.len()) {
        ("all" | "exists" | "exists_one", 2) => maker.quantifier(name, target, args),
        ("map", 2 | 3) => maker.map(target, args),
        ("filter", 2) => maker.filter(target, args),
        ("all" | "exists" | "existsOne" | "exists_one", 3)
        | ("transformList" | "transformMap" | "transformMapEntry", 3 | 4) => {
            maker.two(name, target, args)
        }
        ("optMap" | "optFlatMap", 2) => maker.opt_map(name, target, args),
        ("sortBy", 2) => maker.sort_by(target, args),
        _ => {
            let kind =
                Kind::Call { function: Arc::from(name), target: Some(Box::new(target)), args };
            p.node(at, kind)
        }
    }
}

fn failed(p: &mut Builder, at: usize, message: impl Into<String>) -> Expr {
    p.raise(at, message);
    p.node(at, Kind::Literal(Literal::Null))
}

/// Makes nodes at the place of the macro's call.
struct Maker<'a> {
    p: &'a mut Builder,
    at: usize,
}

/// The parts of a loop that differ.
struct Loop {
    form: Form,
    init: Expr,
    condition: Expr,
    step: Expr,
    result: Expr,
}

impl Maker<'_> {
    fn node(&mut self, kind: Kind) -> Expr {
        self.p.node(self.at, kind)
    }

    fn ident(&mut self, name: &str) -> Expr {
        self.node(Kind::Ident(Arc::from(name)))
    }

    fn accu(&mut self) -> Expr {
        self.ident(ACCU)
    }

    fn literal(&mut self, literal: Literal) -> Expr {
        self.node(Kind::Literal(literal))
    }

    fn yes(&mut self) -> Expr {
        self.literal(Literal::Bool(true))
    }

    fn call(&mut self, function: &str, args: Vec<Expr>) -> Expr {
        self.node(Kind::Call { function: Arc::from(function), target: None, args })
    }

    fn list(&mut self, elements: Vec<Expr>) -> Expr {
        self.node(Kind::List(elements.into_iter().map(|e| (e, false)).collect()))
    }

    fn fold(&mut self, range: Expr, var: Arc<str>, var2: Option<Arc<str>>, parts: Loop) -> Expr {
        self.node(Kind::Comprehension(Box::new(Comprehension {
            form: parts.form,
            range,
            var,
            var2,
            accu_var: Arc::from(ACCU),
            accu_init: parts.init,
            condition: parts.condition,
            step: parts.step,
            result: parts.result,
        })))
    }

    fn variable(&mut self, arg: &Expr, complaint: &str) -> Result<Arc<str>, Expr> {
        let Kind::Ident(name) = &arg.kind else {
            return Err(failed(self.p, arg.at, complaint));
        };
        if matches!(&**name, ACCU | OLD_ACCU) {
            let text = "iteration variable overwrites accumulator variable";
            return Err(failed(self.p, arg.at, text));
        }
        Ok(name.clone())
    }

    fn quantifier(&mut self, name: &str, target: Expr, args: Vec<Expr>) -> Expr {
        let var = match self.variable(&args[0], "argument must be a simple name") {
            Ok(var) => var,
            Err(node) => return node,
        };
        let Some(predicate) = args.into_iter().nth(1) else { return target };
        let parts = self.quantify(name, predicate);
        self.fold(target, var, None, parts)
    }

    fn quantify(&mut self, name: &str, predicate: Expr) -> Loop {
        match name {
            "all" => {
                let init = self.yes();
                let accu = self.accu();
                let condition = self.call("@not_strictly_false", vec![accu]);
                let accu = self.accu();
                let step = self.call("_&&_", vec![accu, predicate]);
                Loop { form: Form::All, init, condition, step, result: self.accu() }
            }
            "exists" => {
                let init = self.literal(Literal::Bool(false));
                let accu = self.accu();
                let not = self.call("!_", vec![accu]);
                let condition = self.call("@not_strictly_false", vec![not]);
                let accu = self.accu();
                let step = self.call("_||_", vec![accu, predicate]);
                Loop { form: Form::Exists, init, condition, step, result: self.accu() }
            }
            _ => {
                let init = self.literal(Literal::Int(0));
                let condition = self.yes();
                let (accu, one) = (self.accu(), self.literal(Literal::Int(1)));
                let more = self.call("_+_", vec![accu, one]);
                let accu = self.accu();
                let step = self.call("_?_:_", vec![predicate, more, accu]);
                let (accu, one) = (self.accu(), self.literal(Literal::Int(1)));
                let result = self.call("_==_", vec![accu, one]);
                Loop { form: Form::ExistsOne, init, condition, step, result }
            }
        }
    }

    /// `filter ? step : @result`.
    fn filtered(&mut self, filter: Option<Expr>, step: Expr) -> Expr {
        match filter {
            Some(filter) => {
                let accu = self.accu();
                self.call("_?_:_", vec![filter, step, accu])
            }
            None => step,
        }
    }

    fn appending(&mut self, filter: Option<Expr>, element: Expr) -> Loop {
        let init = self.list(Vec::new());
        let condition = self.yes();
        let accu = self.accu();
        let one = self.list(vec![element]);
        let step = self.call("_+_", vec![accu, one]);
        let step = self.filtered(filter, step);
        Loop { form: Form::List, init, condition, step, result: self.accu() }
    }

    fn map(&mut self, target: Expr, args: Vec<Expr>) -> Expr {
        let var = match self.variable(&args[0], "argument is not an identifier") {
            Ok(var) => var,
            Err(node) => return node,
        };
        let mut rest = args.into_iter().skip(1);
        let (first, second) = (rest.next(), rest.next());
        let (filter, transform) = match (first, second) {
            (Some(filter), Some(transform)) => (Some(filter), transform),
            (Some(transform), None) => (None, transform),
            _ => return target,
        };
        let parts = self.appending(filter, transform);
        self.fold(target, var, None, parts)
    }

    fn filter(&mut self, target: Expr, args: Vec<Expr>) -> Expr {
        let var = match self.variable(&args[0], "argument is not an identifier") {
            Ok(var) => var,
            Err(node) => return node,
        };
        let mut args = args.into_iter();
        let (Some(element), Some(predicate)) = (args.next(), args.next()) else { return target };
        let parts = self.appending(Some(predicate), element);
        self.fold(target, var, None, parts)
    }

    fn two(&mut self, name: &str, target: Expr, args: Vec<Expr>) -> Expr {
        let simple = |maker: &mut Self, arg: &Expr| match &arg.kind {
            Kind::Ident(name) => Ok(name.clone()),
            _ => Err(failed(maker.p, arg.at, "argument must be a simple name")),
        };
        let var = match simple(self, &args[0]) {
            Ok(var) => var,
            Err(node) => return node,
        };
        let var2 = match simple(self, &args[1]) {
            Ok(var) => var,
            Err(node) => return node,
        };
        if var == var2 {
            return failed(self.p, args[1].at, format!("duplicate variable name: {var}"));
        }
        for (var, arg) in [(&var, &args[0]), (&var2, &args[1])] {
            if matches!(&**var, ACCU | OLD_ACCU) {
                let text = "iteration variable overwrites accumulator variable";
                return failed(self.p, arg.at, text);
            }
        }
        let mut rest = args.into_iter().skip(2);
        let (first, second) = (rest.next(), rest.next());
        let (filter, last) = match (first, second) {
            (Some(filter), Some(last)) => (Some(filter), last),
            (Some(last), None) => (None, last),
            _ => return target,
        };
        let parts = match name {
            "transformList" => self.appending(filter, last),
            "transformMap" | "transformMapEntry" => self.inserting(name, &var, filter, last),
            _ => self.quantify(name, last),
        };
        self.fold(target, var, Some(var2), parts)
    }

    fn inserting(&mut self, name: &str, key: &str, filter: Option<Expr>, value: Expr) -> Loop {
        let init = self.node(Kind::Map(Vec::new()));
        let condition = self.yes();
        let accu = self.accu();
        let (form, args) = if name == "transformMap" {
            let key = self.ident(key);
            (Form::Map, vec![accu, key, value])
        } else {
            (Form::MapEntry, vec![accu, value])
        };
        let step = self.call("cel.@mapInsert", args);
        let step = self.filtered(filter, step);
        Loop { form, init, condition, step, result: self.accu() }
    }

    /// Binds a name to a value, as a loop that never turns.
    fn bind(&mut self, name: &str, value: Expr, result: Expr) -> Expr {
        let range = self.list(Vec::new());
        let condition = self.literal(Literal::Bool(false));
        let step = self.ident(name);
        self.node(Kind::Comprehension(Box::new(Comprehension {
            form: Form::Bind,
            range,
            var: Arc::from(UNUSED),
            var2: None,
            accu_var: Arc::from(name),
            accu_init: value,
            condition,
            step,
            result,
        })))
    }

    fn opt_map(&mut self, name: &str, target: Expr, args: Vec<Expr>) -> Expr {
        let Kind::Ident(var) = &args[0].kind else {
            let text = format!("{name}() variable name must be a simple identifier");
            return failed(self.p, args[0].at, text);
        };
        let var = var.clone();
        let Some(body) = args.into_iter().nth(1) else { return target };
        let copy = self.copy(&target);
        let method = |maker: &mut Self, function: &str, target: Expr| {
            let target = Some(Box::new(target));
            maker.node(Kind::Call { function: Arc::from(function), target, args: Vec::new() })
        };
        let there = method(self, "hasValue", target);
        let value = method(self, "value", copy);
        let bound = self.bind(&var, value, body);
        let mapped = if name == "optMap" { self.call("optional.of", vec![bound]) } else { bound };
        let none = self.call("optional.none", Vec::new());
        self.call("_?_:_", vec![there, mapped, none])
    }

    fn sort_by(&mut self, target: Expr, args: Vec<Expr>) -> Expr {
        if matches!(target.kind, Kind::Literal(_) | Kind::Map(_) | Kind::Struct { .. }) {
            let text = "sortBy can only be applied to a list, identifier, comprehension, call or \
                        select expression";
            return failed(self.p, target.at, text);
        }
        let input = self.ident(SORT_INPUT);
        let keys = self.map(input, args);
        if !matches!(keys.kind, Kind::Comprehension(_)) {
            return keys;
        }
        let input = Some(Box::new(self.ident(SORT_INPUT)));
        let function = Arc::from("@sortByAssociatedKeys");
        let sorted = self.node(Kind::Call { function, target: input, args: vec![keys] });
        self.bind(SORT_INPUT, target, sorted)
    }

    /// The same tree with ids of its own.
    fn copy(&mut self, expr: &Expr) -> Expr {
        let kind = match &expr.kind {
            Kind::Literal(l) => Kind::Literal(l.clone()),
            Kind::Ident(name) => Kind::Ident(name.clone()),
            Kind::Select { operand, field, test_only } => Kind::Select {
                operand: Box::new(self.copy(operand)),
                field: field.clone(),
                test_only: *test_only,
            },
            Kind::Call { function, target, args } => Kind::Call {
                function: function.clone(),
                target: target.as_ref().map(|t| Box::new(self.copy(t))),
                args: args.iter().map(|a| self.copy(a)).collect(),
            },
            Kind::List(elements) => {
                Kind::List(elements.iter().map(|(e, o)| (self.copy(e), *o)).collect())
            }
            Kind::Map(entries) => Kind::Map(
                entries
                    .iter()
                    .map(|e| MapEntry {
                        key: self.copy(&e.key),
                        value: self.copy(&e.value),
                        optional: e.optional,
                    })
                    .collect(),
            ),
            Kind::Struct { name, fields } => Kind::Struct {
                name: name.clone(),
                fields: fields
                    .iter()
                    .map(|f| StructField {
                        // Not where it was written: cel-go gives the copy a place of its own.
                        at: self.at,
                        name: f.name.clone(),
                        value: self.copy(&f.value),
                        optional: f.optional,
                    })
                    .collect(),
            },
            Kind::Comprehension(c) => Kind::Comprehension(Box::new(Comprehension {
                form: c.form,
                range: self.copy(&c.range),
                var: c.var.clone(),
                var2: c.var2.clone(),
                accu_var: c.accu_var.clone(),
                accu_init: self.copy(&c.accu_init),
                condition: self.copy(&c.condition),
                step: self.copy(&c.step),
                result: self.copy(&c.result),
            })),
        };
        self.p.node(expr.at, kind)
    }
}
