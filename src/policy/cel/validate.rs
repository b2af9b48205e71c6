//! What the API server checks of literals once the types are right.

use super::{
    ast::{Expr, Kind, Literal},
    check::Checked,
    library::format_string::{self, Clause, Piece},
    ops, regexp,
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
        exempt: 0,
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
    /// How many calls of `format` this is inside of: their lists may be mixed.
    exempt: usize,
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
                self.call(function, args);
                let exempt = &**function == "format";
                if exempt && let Some(target) = target {
                    self.format(expr.at, target, args);
                }
                self.exempt += usize::from(exempt);
                if let Some(target) = target {
                    self.walk(target);
                }
                for arg in args {
                    self.walk(arg);
                }
                self.exempt -= usize::from(exempt);
            }
            Kind::List(elements) => {
                if self.exempt == 0 {
                    self.list(elements);
                }
                for (element, _) in elements {
                    self.walk(element);
                }
            }
            Kind::Map(entries) => {
                if self.exempt == 0 {
                    self.map(entries);
                }
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

    fn call(&mut self, function: &str, args: &[Expr]) {
        let Some(first) = args.first() else { return };
        let Kind::Literal(literal) = &first.kind else {
            return;
        };
        match (function, literal) {
            ("duration" | "timestamp", literal) => {
                let ty = if function == "duration" { Type::Duration } else { Type::Timestamp };
                let fine = match literal {
                    Literal::String(text) => {
                        let value = Value::String(Text::Shared(text.clone()));
                        ops::convert(&value, &ty).is_ok()
                    }
                    Literal::Int(int) => ops::convert(&Value::Int(*int), &ty).is_ok(),
                    Literal::Null
                    | Literal::Bool(_)
                    | Literal::Uint(_)
                    | Literal::Double(_)
                    | Literal::Bytes(_) => false,
                };
                if !fine {
                    let at = usize::from(function == "timestamp");
                    self.conversions[at]
                        .push(Raised::at(first.at, format!("invalid {function} argument")));
                }
            }
            ("matches", Literal::String(text)) => {
                if let Err(problem) = regexp::compile(text) {
                    // Go's reason is not said, but this is not Go's.
                    let own = problem.find("\\B is not supported").map(|at| &problem[at..]);
                    let own = own.map(|own| format!(": {own}")).unwrap_or_default();
                    let text = format!("invalid matches argument{own}");
                    self.patterns.push(Raised::at(first.at, text));
                }
            }
            _ => {}
        }
    }

    /// A constant format string with a list literal is checked against the types in the list.
    fn format(&mut self, at: usize, target: &Expr, args: &[Expr]) {
        let Kind::Literal(Literal::String(format)) = &target.kind else { return };
        let [Expr { kind: Kind::List(elements), .. }] = args else { return };
        let mut index = 0;
        let problem = |text: String| Raised::at(at, text);
        let used = format_string::read(format, elements.len(), true, problem, |piece| {
            let Piece::Clause(clause) = piece else { return Ok(()) };
            let element = &elements[index].0;
            index += 1;
            match self.refused(clause, element) {
                None => Ok(()),
                Some(bad) => {
                    let refusal = clause.refusal(self.type_of(bad).runtime_name());
                    Err(Raised::at(bad.at, format!("error during formatting: {refusal}")))
                }
            }
        });
        match used {
            Err(raised) => self.formats.push(raised),
            Ok(used) if elements.len() > used => self.formats.push(Raised::at(
                at,
                format!(
                    "too many arguments supplied to string.format (expected {used}, got {})",
                    elements.len()
                ),
            )),
            Ok(_) => {}
        }
    }

    /// The first expression that the clause does not take, looking into literals.
    fn refused<'e>(&self, clause: Clause, expr: &'e Expr) -> Option<&'e Expr> {
        if !takes(clause, &self.type_of(expr)) {
            return Some(expr);
        }
        if clause != Clause::String {
            return None;
        }
        match &expr.kind {
            Kind::List(elements) => elements.iter().find_map(|(e, _)| self.refused(clause, e)),
            Kind::Map(entries) => entries.iter().find_map(|entry| {
                self.refused(clause, &entry.key).or_else(|| self.refused(clause, &entry.value))
            }),
            Kind::Literal(_)
            | Kind::Ident(_)
            | Kind::Select { .. }
            | Kind::Call { .. }
            | Kind::Struct { .. }
            | Kind::Comprehension(_) => None,
        }
    }

    fn list(&mut self, elements: &[(Expr, bool)]) {
        let mut expected: Option<Type> = None;
        for (element, optional) in elements {
            let ty = self.unwrapped(element, *optional);
            match expected.as_ref().filter(|ty| !ty.is_missing()) {
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

/// Whether a clause takes values of a type, as far as that is known.
fn takes(clause: Clause, ty: &Type) -> bool {
    let ty = ty.plain();
    if ty.is_dyn() {
        return true;
    }
    match clause {
        Clause::Decimal | Clause::Octal => matches!(ty, Type::Int | Type::Uint),
        Clause::Fixed(_) | Clause::Scientific(_) => matches!(ty, Type::Double | Type::String),
        Clause::Binary => matches!(ty, Type::Int | Type::Uint | Type::Bool),
        Clause::Hex { .. } => {
            matches!(ty, Type::Int | Type::Uint | Type::String | Type::Bytes)
        }
        Clause::String => matches!(
            ty,
            Type::List(_)
                | Type::Map(_)
                | Type::Int
                | Type::Uint
                | Type::Double
                | Type::Bool
                | Type::String
                | Type::Timestamp
                | Type::Bytes
                | Type::Duration
                | Type::Type(_)
                | Type::Null
        ),
    }
}
