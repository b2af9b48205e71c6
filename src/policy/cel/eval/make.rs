//! Lists, maps and objects that an expression makes, and sets that it looks into.

use super::{
    Machine, Res,
    native::{double_member, go_native, unwrapped},
};
use crate::policy::cel::{
    error::{Error, fail},
    gofmt,
    library::messages,
    ops,
    plan::{InSet, ListNode, MapNode, Member, StructNode},
    value::{Entries, Map, Object, Value},
};
use std::sync::Arc;

impl<'a> Machine<'_, 'a> {
    pub(super) fn list(&mut self, list: &'a ListNode) -> Res<'a> {
        let items = self.elements(list);
        if let Err(stop) = &items
            && !stop.is_value()
        {
            return Err(stop.clone());
        }
        self.charge(10)?;
        items.map(Value::list)
    }

    pub(super) fn elements(&mut self, list: &'a ListNode) -> Result<Vec<Value<'a>>, Error> {
        let mut items = Vec::with_capacity(list.elements.len());
        for (element, optional) in &list.elements {
            let value = self.eval(element)?;
            if !optional {
                items.push(value);
                continue;
            }
            match value {
                Value::Optional(Some(inner)) => items.push((*inner).clone()),
                Value::Optional(None) => {}
                other => {
                    return Err(fail(format!(
                        "cannot initialize optional list element from non-optional value {}",
                        gofmt::wrapped(&other)
                    )));
                }
            }
        }
        Ok(items)
    }

    pub(super) fn map(&mut self, map: &'a MapNode) -> Res<'a> {
        let entries = self.entries(map);
        if let Err(stop) = &entries
            && !stop.is_value()
        {
            return Err(stop.clone());
        }
        self.charge(30)?;
        entries.map(|entries| Value::Map(Map::Owned(Arc::new(entries))))
    }

    pub(super) fn entries(&mut self, map: &'a MapNode) -> Result<Entries<'a>, Error> {
        let mut entries = Entries::default();
        for (key, value, optional) in &map.entries {
            let key = self.eval(key)?;
            let value = match self.eval(value)? {
                value if !optional => Some(value),
                Value::Optional(inner) => inner.map(|inner| (*inner).clone()),
                other => return Err(not_optional(&gofmt::plain(&key), &other)),
            };
            if let Some(value) = value {
                ops::hashable(&key)?;
                once(&key, &entries)?;
                entries.set(key, value);
            } else {
                ops::removable(&key, &entries)?;
                entries.remove(&key);
            }
        }
        Ok(entries)
    }

    pub(super) fn structure(&mut self, structure: &'a StructNode) -> Res<'a> {
        let made = self.make(structure);
        if let Err(stop) = &made
            && !stop.is_value()
        {
            return made;
        }
        self.charge(40)?;
        made
    }

    pub(super) fn make(&mut self, structure: &'a StructNode) -> Res<'a> {
        let mut fields: Vec<(Arc<str>, Value<'a>)> = Vec::with_capacity(structure.fields.len());
        for (name, value, optional) in &structure.fields {
            let value = self.eval(value)?;
            let value = match value {
                value if !optional => Some(value),
                Value::Optional(inner) => inner.map(|inner| (*inner).clone()),
                other => return Err(not_optional(name, &other)),
            };
            fields.retain(|(known, _)| known != name);
            if let Some(value) = value {
                fields.push((name.clone(), value));
            }
        }
        make_object(&structure.name, fields)
    }

    pub(super) fn in_set(&mut self, set: &'a InSet) -> Res<'a> {
        let value = self.eval(&set.element)?;
        if let Value::String(text) = &value {
            self.charge(0)?;
            return Ok(Value::Bool(set.texts.has(text)));
        }
        let member = match &value {
            Value::Bool(b) => Some(Member::Bool(*b)),
            Value::Int(i) => Some(Member::Int(*i)),
            Value::Uint(u) => Some(Member::Uint(*u)),
            Value::Double(d) => double_member(*d),
            other => {
                ops::hashable(other)?;
                None
            }
        };
        self.charge(0)?;
        Ok(Value::Bool(member.is_some_and(|m| set.members.contains(&m))))
    }
}

/// Lists and maps are one key in Go if they are one in memory. Those of the document are wrapped there anew each time they are reached, and
/// not when a name holds them: which it was cannot be told here, so neither is taken for granted.
fn once(key: &Value<'_>, entries: &Entries<'_>) -> Result<(), Error> {
    let Some(place) = key.place_in_document() else { return Ok(()) };
    let is_there = entries.list.iter().any(|(known, _)| known.place_in_document() == Some(place));
    if is_there { Err(fail(TWICE_A_KEY)) } else { Ok(()) }
}

const TWICE_A_KEY: &str = "a list or map of the object is twice a key of one map";

fn not_optional(field: &str, value: &Value<'_>) -> Error {
    fail(format!(
        "cannot initialize optional entry '{field}' from non-optional value {}",
        gofmt::wrapped(value)
    ))
}

fn make_object<'a>(name: &Arc<str>, mut fields: Vec<(Arc<str>, Value<'a>)>) -> Res<'a> {
    if &**name == "JSONPatch" {
        for (field, value) in &mut fields {
            match &**field {
                "value" => {}
                "op" | "path" | "from" => {
                    let text = unwrapped(value);
                    if !matches!(text, Value::String(_)) {
                        let found = go_native(value);
                        return Err(fail(format!(
                            "unexpected type {found} for JSONPatchType '{field}' field"
                        )));
                    }
                    *value = text;
                }
                _ => return Err(fail(format!("unexpected JSONPatchType field: {field}"))),
            }
        }
    } else if name.starts_with("google.protobuf.") {
        return messages::make(name, &fields);
    } else if !(&**name == "Object" || name.starts_with("Object.")) {
        return Err(fail(format!("unknown type '{name}'")));
    }
    Ok(Value::Object(Arc::new(Object { name: name.clone(), fields })))
}
