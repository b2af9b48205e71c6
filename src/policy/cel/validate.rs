//! What the API server checks of literals once the types are right.

use super::{
    ast::{Expr, Kind, Literal},
    check::Checked,
    library, ops, regexp,
    source::Raised,
    types::Type,
    value::{Text, Value},
};

/// The problems of literals: durations, timestamps, patterns, aggregates, format strings.
pub(crate) fn validate(root: &Expr, checked: &Checked) -> Vec<Raised> {
    let mut found = Found {
        checked,
        conversions: [Vec::new(), Vec::new()],
        patterns: Vec::new(),
        lists: Vec::new(),
        maps: Vec::new(),
        formats: Vec::new(),
    };
    found.walk(root);
    let Found { conversions: [durations, timestamps], patterns, lists, maps, formats, .. } = found;
    durations
        .into_iter()
        .chain(timestamps)
        .chain(patterns)
        .chain(lists)
        .chain(maps)
        .chain(formats)
        .collect()
}

/// Problems by validator, in the order in which Kubernetes runs them.
struct Found<'a> {
    checked: &'a Checked,
    conversions: [Vec<Raised>; 2],
    patterns: Vec<Raised>,
    lists: Vec<Raised>,
    maps: Vec<Raised>,
    formats: Vec<Raised>,
}

impl Found<'_> {
    fn type_of(&self, expr: &Expr) -> Type {
        self.checked.types[expr.id].clone().unwrap_or(Type::Dyn)
    }

    fn walk(&mut self, expr: &Expr) {
        match &expr.kind {
            Kind::Literal(_) | Kind::Ident(_) => {}
            Kind::Select { operand, .. } => self.walk(operand),
            Kind::Call { function, target, args } => {
                self.call(function, target.as_deref(), args);
                if let Some(target) = target {
                    self.walk(target);
                }
                for arg in args {
                    self.walk(arg);
                }
            }
            Kind::List(elements) => {
                self.list(elements);
                for (element, _) in elements {
                    self.walk(element);
                }
            }
            Kind::Map(entries) => {
                self.map(entries);
                for entry in entries {
                    self.walk(&entry.key);
                    self.walk(&entry.value);
                }
            }
            Kind::Struct { fields, .. } => {
                for field in fields {
                    self.walk(&field.value);
                }
            }
            Kind::Comprehension(c) => {
                for part in [&c.range, &c.accu_init, &c.condition, &c.step, &c.result] {
                    self.walk(part);
                }
            }
        }
    }

    fn call(&mut self, function: &str, target: Option<&Expr>, args: &[Expr]) {
        let Some(first) = args.first() else { return };
        let Kind::Literal(literal) = &first.kind else {
            return;
        };
        match (function, literal) {
            ("duration" | "timestamp", Literal::String(text)) => {
                let ty = if function == "duration" { Type::Duration } else { Type::Timestamp };
                let value = Value::String(Text::Shared(text.clone()));
                if ops::convert(&value, &ty).is_err() {
                    let at = usize::from(function == "timestamp");
                    self.conversions[at]
                        .push(Raised::at(first.at, format!("invalid {function} argument")));
                }
            }
            ("duration" | "timestamp", Literal::Int(int)) => {
                let ty = if function == "duration" { Type::Duration } else { Type::Timestamp };
                if ops::convert(&Value::Int(*int), &ty).is_err() {
                    let at = usize::from(function == "timestamp");
                    self.conversions[at]
                        .push(Raised::at(first.at, format!("invalid {function} argument")));
                }
            }
            ("matches", Literal::String(text)) => {
                if regexp::compile(text).is_err() {
                    self.patterns.push(Raised::at(first.at, "invalid matches argument"));
                }
            }
            _ => {}
        }
        let _ = target;
    }

    fn list(&mut self, elements: &[(Expr, bool)]) {
        let mut expected: Option<Type> = None;
        for (element, optional) in elements {
            let ty = self.unwrapped(element, *optional);
            match &expected {
                None => expected = Some(ty),
                Some(known) if !known.is_equivalent(&ty) => {
                    self.lists.push(mismatch(element, known, &ty));
                    break;
                }
                Some(_) => {}
            }
        }
    }

    fn map(&mut self, entries: &[super::ast::MapEntry]) {
        let mut expected: Option<(Type, Type)> = None;
        for entry in entries {
            let key = self.type_of(&entry.key);
            let value = self.unwrapped(&entry.value, entry.optional);
            let Some((keys, values)) = &expected else {
                expected = Some((key, value));
                continue;
            };
            if !keys.is_equivalent(&key) {
                self.maps.push(mismatch(&entry.key, keys, &key));
            }
            if !values.is_equivalent(&value) {
                self.maps.push(mismatch(&entry.value, values, &value));
            }
        }
    }

    fn unwrapped(&self, expr: &Expr, optional: bool) -> Type {
        match (optional, self.type_of(expr)) {
            (true, Type::Optional(inner)) => (*inner).clone(),
            (_, ty) => ty,
        }
    }
}

fn mismatch(expr: &Expr, expected: &Type, found: &Type) -> Raised {
    let text =
        format!("expected type '{}' but found '{}'", expected.checker_name(), found.checker_name());
    Raised::at(expr.at, text)
}

#[allow(dead_code, reason = "used once format strings are validated")]
fn unused() {
    let _ = library::singleton("sort");
}
