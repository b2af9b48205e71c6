//! The loops of the macros, run natively and charged for as cel-go charges for their long form.

use super::{
    error::{Error, fail, no_overload},
    eval::{Machine, Res, Slot, frozen, go_type},
    gofmt,
    plan::{Body, Fold, Node},
    value::{Entries, List, Map, Text, Value},
};
use crate::policy::json::Fields;
use std::sync::Arc;

/// What is gone through.
enum Range<'a> {
    List(List<'a>),
    /// Keys and values.
    Entries(Vec<(Value<'a>, Value<'a>)>),
    JsonMap(Fields<'a>),
    /// Of `variables`, where the second may fail.
    Pairs(Vec<(Value<'a>, Res<'a>)>),
}

/// How a loop goes on.
enum Turn {
    Next,
    Done,
}

impl<'a> Machine<'_, 'a> {
    pub(super) fn fold(&mut self, fold: &'a Fold) -> Res<'a> {
        if let Body::Bind { slot, value, result } = &fold.body {
            self.slots[*slot] = Slot::Lazy(value);
            let result = self.eval(result);
            let grown = matches!(self.slots[*slot], Slot::Growing(_));
            self.slots[*slot] = Slot::Unset;
            return if grown { result.map(frozen) } else { result };
        }
        let range = self.eval(&fold.range)?;
        let range = match range {
            Value::List(list) => Range::List(list),
            Value::Map(Map::Json(map)) => Range::JsonMap(map),
            // An oddity: `variables` gives its values where other maps give their keys.
            Value::Map(Map::Variables) => {
                let names: Vec<&'a str> =
                    self.bindings.variables.iter().map(|it| it.name).collect();
                let mut values = Vec::with_capacity(names.len());
                for name in names {
                    let key = Value::String(Text::Borrowed(name));
                    values.extend(self.variable(&key, false)?);
                }
                if fold.var2.is_none() {
                    Range::List(List::from(values))
                } else {
                    // And then looks these up as if they were the keys.
                    let found = values.into_iter().map(|value| {
                        let second = self.variable(&value, false);
                        (value, second.and_then(|found| found.ok_or_else(no_overload)))
                    });
                    Range::Pairs(found.collect())
                }
            }
            Value::Map(map) => Range::Entries(map.entries()),
            other if fold.var2.is_some() => {
                let text =
                    format!("unsupported comprehension range type: {}", go_type(&other, false));
                return Err(fail(text));
            }
            other => {
                let text = format!("got '{}', expected iterable type", go_type(&other, false));
                return Err(fail(text));
            }
        };
        match &fold.body {
            Body::All(predicate) => self.quantify(fold, range, predicate, false),
            Body::Exists(predicate) => self.quantify(fold, range, predicate, true),
            Body::ExistsOne(predicate) => self.exists_one(fold, range, predicate),
            Body::List { filter, element } => {
                self.build_list(fold, range, filter.as_ref(), element)
            }
            Body::Map { filter, value } => self.build_map(fold, range, filter.as_ref(), value),
            Body::MapEntry { filter, entry, certain } => {
                self.build_entries(fold, range, filter.as_ref(), entry, *certain)
            }
            Body::Bind { .. } => Err(no_overload()),
        }
    }

    /// Runs the body once for every element, with the variables set.
    fn each(
        &mut self,
        fold: &'a Fold,
        range: Range<'a>,
        body: &mut dyn FnMut(&mut Self) -> Result<Turn, Error>,
    ) -> Result<(), Error> {
        let (first, second) = (fold.var, fold.var2);
        let mut step =
            |machine: &mut Self, index: usize, key: Option<Value<'a>>, value: Res<'a>| {
                match (second, key) {
                    (None, Some(key)) => machine.slots[first] = Slot::Set(Ok(key)),
                    (None, None) => machine.slots[first] = Slot::Set(value),
                    (Some(second), key) => {
                        let index = Value::Int(i64::try_from(index).unwrap_or(i64::MAX));
                        machine.slots[first] = Slot::Set(Ok(key.unwrap_or(index)));
                        machine.slots[second] = Slot::Set(value);
                    }
                }
                let turn = body(machine)?;
                if matches!(turn, Turn::Next) {
                    machine.turn()?;
                }
                Ok::<Turn, Error>(turn)
            };
        match range {
            Range::List(List::Json(items)) => {
                for (index, item) in items.iter().enumerate() {
                    if matches!(step(self, index, None, Ok(Value::from_json(item)))?, Turn::Done) {
                        break;
                    }
                }
            }
            // With two variables cel-go also goes through what is added meanwhile.
            Range::List(list @ List::Growing(_)) if second.is_some() => {
                let mut index = 0;
                while let Some(item) = list.get(index) {
                    if matches!(step(self, index, None, Ok(item))?, Turn::Done) {
                        break;
                    }
                    index += 1;
                }
            }
            Range::List(list) => {
                for index in 0..list.len() {
                    let Some(item) = list.get(index) else { break };
                    if matches!(step(self, index, None, Ok(item))?, Turn::Done) {
                        break;
                    }
                }
            }
            Range::Entries(entries) => {
                for (index, (key, value)) in entries.into_iter().enumerate() {
                    if matches!(step(self, index, Some(key), Ok(value))?, Turn::Done) {
                        break;
                    }
                }
            }
            Range::Pairs(pairs) => {
                for (index, (key, value)) in pairs.into_iter().enumerate() {
                    if matches!(step(self, index, Some(key), value)?, Turn::Done) {
                        break;
                    }
                }
            }
            Range::JsonMap(entries) => {
                for (index, (key, value)) in entries.iter().enumerate() {
                    let key = Value::String(Text::Borrowed(key));
                    let value = Value::from_json(value);
                    if matches!(step(self, index, Some(key), Ok(value))?, Turn::Done) {
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// `all` (`decisive` false) and `exists` (true).
    fn quantify(
        &mut self,
        fold: &'a Fold,
        range: Range<'a>,
        predicate: &'a Node,
        decisive: bool,
    ) -> Res<'a> {
        // The accumulator: not decided, an error that may still be overruled, or decided.
        let mut error: Option<Error> = None;
        let mut decided = false;
        // `@not_strictly_false(@result)`, and one more for the `!` of `exists`.
        let condition = if decisive { 3 } else { 2 };
        self.each(fold, range, &mut |machine| {
            machine.charge(condition)?;
            if decided {
                return Ok(Turn::Done);
            }
            machine.charge(1)?;
            match machine.eval(predicate) {
                Ok(Value::Bool(b)) if b == decisive => decided = true,
                Ok(Value::Bool(_)) => {}
                Ok(_) => error = Some(error.take().unwrap_or_else(no_overload)),
                Err(failed) if failed.is_value() => error = Some(error.take().unwrap_or(failed)),
                Err(stop) => return Err(stop),
            }
            Ok(Turn::Next)
        })?;
        self.charge(1)?;
        match error {
            _ if decided => Ok(Value::Bool(decisive)),
            Some(error) => Err(error),
            None => Ok(Value::Bool(!decisive)),
        }
    }

    /// A predicate of a filter: anything but a boolean is an error.
    fn holds(&mut self, predicate: &'a Node) -> Result<bool, Error> {
        match self.eval(predicate)? {
            Value::Bool(b) => Ok(b),
            _ => Err(no_overload()),
        }
    }

    fn exists_one(&mut self, fold: &'a Fold, range: Range<'a>, predicate: &'a Node) -> Res<'a> {
        let mut count: Result<i64, Error> = Ok(0);
        self.each(fold, range, &mut |machine| {
            match machine.holds(predicate) {
                Ok(true) => {
                    machine.charge(2)?;
                    if let Ok(count) = &mut count {
                        *count += 1;
                    }
                }
                Ok(false) => {}
                Err(error) if error.is_value() => count = Err(error),
                Err(stop) => return Err(stop),
            }
            Ok(Turn::Next)
        })?;
        self.charge(2)?;
        count.map(|count| Value::Bool(count == 1))
    }

    fn build_list(
        &mut self,
        fold: &'a Fold,
        range: Range<'a>,
        filter: Option<&'a Node>,
        element: &'a Node,
    ) -> Res<'a> {
        let mut items: Result<Vec<Value<'a>>, Error> = Ok(Vec::new());
        self.each(fold, range, &mut |machine| {
            if let Some(filter) = filter {
                match machine.holds(filter) {
                    Ok(true) => {}
                    Ok(false) => return Ok(Turn::Next),
                    Err(error) if error.is_value() => {
                        items = Err(error);
                        return Ok(Turn::Next);
                    }
                    Err(stop) => return Err(stop),
                }
            }
            machine.charge(1)?;
            let made = machine.eval(element);
            if let Err(stop) = &made
                && !stop.is_value()
            {
                return Err(stop.clone());
            }
            machine.charge(1)?;
            match (&mut items, made) {
                (Ok(items), Ok(Value::List(one))) => items.extend(one.iter()),
                (Ok(_), Err(error)) => items = Err(error),
                _ => {}
            }
            Ok(Turn::Next)
        })?;
        self.charge(1)?;
        items.map(Value::list)
    }

    fn build_map(
        &mut self,
        fold: &'a Fold,
        range: Range<'a>,
        filter: Option<&'a Node>,
        value: &'a Node,
    ) -> Res<'a> {
        let mut entries: Result<Entries<'a>, Error> = Ok(Entries::default());
        self.each(fold, range, &mut |machine| {
            if let Some(filter) = filter {
                match machine.holds(filter) {
                    Ok(true) => {}
                    Ok(false) => return Ok(Turn::Next),
                    Err(error) if error.is_value() => {
                        entries = Err(error);
                        return Ok(Turn::Next);
                    }
                    Err(stop) => return Err(stop),
                }
            }
            machine.charge(1)?;
            let Ok(map) = &mut entries else { return Ok(Turn::Next) };
            machine.charge(1)?;
            let key = machine.local(fold.var)?;
            let made = machine.eval(value);
            if let Err(stop) = &made
                && !stop.is_value()
            {
                return Err(stop.clone());
            }
            machine.charge(1)?;
            match made {
                Ok(made) => {
                    if let Err(error) = insert(map, key, made) {
                        entries = Err(error);
                    }
                }
                Err(error) => entries = Err(error),
            }
            Ok(Turn::Next)
        })?;
        self.charge(1)?;
        entries.map(|entries| Value::Map(Map::Owned(Arc::new(entries))))
    }

    fn build_entries(
        &mut self,
        fold: &'a Fold,
        range: Range<'a>,
        filter: Option<&'a Node>,
        entry: &'a Node,
        certain: bool,
    ) -> Res<'a> {
        let mut entries: Result<Entries<'a>, Error> = Ok(Entries::default());
        self.each(fold, range, &mut |machine| {
            if let Some(filter) = filter {
                match machine.holds(filter) {
                    Ok(true) => {}
                    Ok(false) => return Ok(Turn::Next),
                    Err(error) if error.is_value() => {
                        entries = Err(error);
                        return Ok(Turn::Next);
                    }
                    Err(stop) => return Err(stop),
                }
            }
            machine.charge(1)?;
            if entries.is_err() && !certain {
                return Ok(Turn::Next);
            }
            let made = machine.eval(entry);
            if let Err(stop) = &made
                && !stop.is_value()
            {
                return Err(stop.clone());
            }
            machine.charge(1)?;
            let Ok(map) = &mut entries else { return Ok(Turn::Next) };
            match made {
                Ok(Value::Map(more)) => {
                    for (key, value) in more.entries() {
                        if let Err(error) = insert(map, key, value) {
                            entries = Err(error);
                            break;
                        }
                    }
                }
                Ok(other) => {
                    let text =
                        format!("no such overload: cel.@mapInsert(map, {})", other.type_name());
                    entries = Err(fail(text));
                }
                Err(error) => entries = Err(error),
            }
            Ok(Turn::Next)
        })?;
        self.charge(1)?;
        entries.map(|entries| Value::Map(Map::Owned(Arc::new(entries))))
    }
}

/// cel-go's `@mapInsert`: a key that is there already is an error.
fn insert<'a>(map: &mut Entries<'a>, key: Value<'a>, value: Value<'a>) -> Result<(), Error> {
    if map.find(&key).is_some() {
        return Err(fail(format!("insert failed: key {} already exists", gofmt::wrapped(&key))));
    }
    map.set(key, value);
    Ok(())
}
