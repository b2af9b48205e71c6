//! Paths: from a variable or a value, by fields and indexes, to what is there.

use super::{
    Machine, Res, Slot,
    native::{Form, go_type_of, native_field, odd_key, present, unwrapped},
};
use crate::policy::cel::{
    error::{Error, fail, no_overload},
    gofmt,
    library::{authz, messages},
    plan::{Attr, Base, Global, Key, Qualifier},
    value::{Map, Object, Text, Value, double_to_int},
};

/// What a path leads to. An optional is not made before somebody wants one: most are asked for their value at
/// once, by `orValue`.
pub(super) enum Found<'a> {
    Plain(Value<'a>),
    Present(Value<'a>),
    Absent,
}

impl<'a> From<Found<'a>> for Value<'a> {
    fn from(found: Found<'a>) -> Self {
        match found {
            Found::Plain(value) => value,
            Found::Present(value) => Value::some(value),
            Found::Absent => Value::Optional(None),
        }
    }
}

impl<'a> Machine<'_, 'a> {
    /// A path as an expression of its own.
    pub(super) fn attr(&mut self, attr: &'a Attr) -> Res<'a> {
        self.found(attr).map(Value::from)
    }

    /// What a path leads to, charged for as an expression of its own.
    pub(super) fn found(&mut self, attr: &'a Attr) -> Result<Found<'a>, Error> {
        let resolved = self.resolve_as(attr, &mut Form::Cel);
        if let Err(stop) = &resolved
            && !stop.is_value()
        {
            return resolved;
        }
        let condition = matches!(attr.base, Base::Condition(_));
        match (condition, attr.test_only) {
            (false, false) => self.charge(1)?,
            (true, true) => self.charge(u64::MAX)?,
            (true, false) | (false, true) => self.charge(0)?,
        }
        Ok(match resolved? {
            Found::Plain(Value::Optional(inner)) if attr.test_only => {
                Found::Plain(Value::Bool(inner.is_some()))
            }
            Found::Present(_) if attr.test_only => Found::Plain(Value::Bool(true)),
            Found::Absent if attr.test_only => Found::Plain(Value::Bool(false)),
            // A list can hold a failure, which shows when it is taken out.
            Found::Plain(value @ Value::Opaque(_)) => Found::Plain(present(&value)?),
            other => other,
        })
    }

    /// What a path leads to, charged for its steps only.
    fn resolve_as(&mut self, attr: &'a Attr, form: &mut Form) -> Result<Found<'a>, Error> {
        let start = match &attr.base {
            Base::Global(global) => self.global(*global)?,
            Base::Local(slot) => self.local(*slot)?,
            Base::Node(node) => self.eval(node)?,
            Base::Condition(parts) => {
                let (condition, yes, no) = &**parts;
                return match self.eval(condition)? {
                    Value::Bool(true) => self.resolve_as(yes, form),
                    Value::Bool(false) => self.resolve_as(no, form),
                    _ => Err(no_overload()),
                };
            }
        };
        *form = if matches!(attr.base, Base::Global(_)) { Form::Json } else { Form::Cel };
        match start {
            // What goes through a path comes out as what it wraps: cel-go's oddity of optionals.
            Value::Optional(Some(inner)) if attr.qualifiers.is_empty() => {
                Ok(Found::Present(unwrapped(&inner)))
            }
            start if attr.qualifiers.is_empty() => Ok(Found::Plain(start)),
            start => self.qualify_all(start, &attr.qualifiers, form),
        }
    }

    pub(super) fn global(&mut self, global: Global) -> Res<'a> {
        let json = match global {
            Global::Object => self.bindings.object,
            Global::OldObject => self.bindings.old_object,
            Global::Params => self.bindings.params,
            Global::Request => self.bindings.request,
            Global::NamespaceObject => self.bindings.namespace_object,
            Global::Key => self.bindings.key,
            Global::Holder => self.bindings.holder,
            Global::Hardware => self.bindings.hardware,
            Global::Inventory => self.bindings.inventory,
            Global::Node => self.bindings.node,
            Global::Variables => return Ok(Value::Map(Map::Variables)),
            Global::Authorizer => {
                return match self.bindings.authorizer {
                    Some(_) => Ok(authz::authorizer()),
                    None => Err(fail("no such attribute(s): authorizer")),
                };
            }
            Global::RequestResource => {
                let unbound = || fail("no such attribute(s): authorizer.requestResource");
                return self.bindings.resource_check().ok_or_else(unbound);
            }
        };
        Ok(json.map_or(Value::Null, Value::from_json))
    }

    pub(in crate::policy::cel) fn local(&mut self, slot: usize) -> Res<'a> {
        if let Some(Slot::Lazy(node)) = self.slots.get(slot) {
            let node = *node;
            self.slots[slot] = Slot::Unset;
            let value = self.eval(node);
            self.slots[slot] = self.named(value);
        }
        match self.slots.get(slot) {
            Some(Slot::Set(value)) => value.clone(),
            Some(Slot::Growing(value)) => Ok(value.clone()),
            _ => Err(fail("no such attribute(s)")),
        }
    }

    fn qualify_all(
        &mut self,
        start: Value<'a>,
        qualifiers: &'a [Qualifier],
        form: &mut Form,
    ) -> Result<Found<'a>, Error> {
        let mut optional = false;
        let mut value = match start {
            Value::Optional(None) => return Ok(Found::Absent),
            Value::Optional(Some(inner)) => {
                optional = true;
                // Whether it can be looked into is asked when the first key is known.
                unwrapped(&inner)
            }
            other => other,
        };
        for qualifier in qualifiers {
            optional = optional || qualifier.optional;
            if optional {
                match self.qualify(&value, qualifier, true, form)? {
                    Some(found) => {
                        self.charge(1)?;
                        value = found;
                    }
                    None => return Ok(Found::Absent),
                }
            } else {
                let found = self.qualify(&value, qualifier, qualifier.test, form);
                if let Err(stop) = &found
                    && !stop.is_value()
                {
                    return Err(stop.clone());
                }
                self.charge(1)?;
                value = match found? {
                    Some(_) if qualifier.test => Value::Bool(true),
                    None if qualifier.test => Value::Bool(false),
                    Some(found) => found,
                    None => return Err(no_overload()),
                };
            }
        }
        Ok(if optional { Found::Present(value) } else { Found::Plain(value) })
    }

    /// One step; `presence`: that it is not there is no error.
    pub(super) fn qualify(
        &mut self,
        value: &Value<'a>,
        qualifier: &'a Qualifier,
        presence: bool,
        form: &mut Form,
    ) -> Result<Option<Value<'a>>, Error> {
        if qualifier.typed
            && let (Value::Object(object), Key::Field(name)) = (value, &qualifier.key)
        {
            *form = match object.field(name) {
                // Go's nil, as in the request.
                None | Some(Value::Optional(None)) => Form::Json,
                Some(_) => Form::Field,
            };
        }
        match &qualifier.key {
            Key::Field(name) => {
                if let Value::Map(Map::Json(map)) = value {
                    return match map.get(name) {
                        Some(found) => Ok(Some(Value::from_json(found))),
                        None if presence => Ok(None),
                        None => Err(fail(format!("no such key: {name}"))),
                    };
                }
                let key = Value::String(Text::Borrowed(name));
                self.select(value, &key, presence, qualifier.typed)
            }
            Key::Const(key) => {
                note_key(key, form);
                self.select(value, key, presence, qualifier.typed)
            }
            Key::Attr(attr) => {
                let mut key_form = Form::Cel;
                let key = Value::from(self.resolve_as(attr, &mut key_form)?);
                check_key(&key, key_form)?;
                note_key(&key, form);
                self.select(value, &key, presence, qualifier.typed)
            }
            Key::Node(node) => {
                let key = self.eval(node)?;
                check_key(&key, Form::Cel)?;
                note_key(&key, form);
                self.select(value, &key, presence, qualifier.typed)
            }
        }
    }

    pub(super) fn select(
        &mut self,
        value: &Value<'a>,
        key: &Value<'_>,
        presence: bool,
        typed: bool,
    ) -> Result<Option<Value<'a>>, Error> {
        match value {
            Value::Map(Map::Variables) => self.variable(key, presence),
            Value::Map(map) => match map.find(key) {
                Some(found) => Ok(Some(found)),
                None if presence => Ok(None),
                None => Err(no_key(key)),
            },
            Value::List(list) => {
                let index = list_index(key)?;
                match usize::try_from(index).ok().and_then(|i| list.get(i)) {
                    Some(found) => Ok(Some(found)),
                    None if presence => Ok(None),
                    None => Err(fail(format!("index out of bounds: {}", gofmt::plain(key)))),
                }
            }
            Value::Object(object) => select_object(object, key, presence, typed),
            Value::Opaque(_) => {
                present(value)?;
                if presence { Ok(None) } else { Err(no_key(key)) }
            }
            _ if presence => Ok(None),
            _ => Err(no_key(key)),
        }
    }
}

fn select_object<'a>(
    object: &Object<'a>,
    key: &Value<'_>,
    presence: bool,
    typed: bool,
) -> Result<Option<Value<'a>>, Error> {
    if object.is_message() {
        return messages::field(object, key, presence);
    }
    let unsupported = || {
        let what = if presence { "field" } else { "indexer" };
        fail(format!("unsupported {what}: {}", gofmt::text(key)))
    };
    let name = match key {
        Value::String(name) => name,
        _ if &*object.name == "JSONPatch" => return Err(unsupported()),
        _ if presence => return Ok(None),
        _ => return Err(no_key(key)),
    };
    let found = object.field(name).cloned();
    if &*object.name == "JSONPatch" {
        if !matches!(&**name, "op" | "path" | "from" | "value") {
            return Err(unsupported());
        }
        let text = &**name != "value";
        return match found {
            Some(Value::String(text)) if presence && text.is_empty() => Ok(None),
            Some(found) => Ok(Some(found)),
            None if presence => Ok(None),
            None if text => Ok(Some(Value::String(Text::Borrowed("")))),
            None => Ok(Some(Value::Null)),
        };
    }
    if typed && object.fields.iter().any(|(_, field)| odd_key(field).is_some()) {
        // Then no map comes of it, and Kubernetes looks for the field in the error.
        let text = format!("cannot get field {}", gofmt::quote(name));
        return if presence { Ok(None) } else { Err(fail(text)) };
    }
    match found {
        // Only where its type is known, and then as the plain value.
        Some(found) if typed => Ok(Some(native_field(&found))),
        _ if presence => Ok(None),
        None if typed => Ok(Some(Value::Null)),
        _ => Err(fail(format!("no such key: {}", &**name))),
    }
}

/// cel-go's `IndexOrError`.
fn list_index(key: &Value<'_>) -> Result<i64, Error> {
    let unsupported = || fail(format!("unsupported index value {} in list", gofmt::plain(key)));
    match key {
        Value::Int(i) => Ok(*i),
        Value::Double(d) => double_to_int(*d).ok_or_else(unsupported),
        Value::Uint(u) => i64::try_from(*u).map_err(|_| unsupported()),
        other => Err(fail(format!("unsupported index type '{}' in list", other.type_name()))),
    }
}

fn no_key(key: &Value<'_>) -> Error {
    fail(format!("no such key: {}", gofmt::plain(key)))
}

/// Go's own values are found by texts and integers only; cel-go makes its own of them for other keys.
fn note_key(key: &Value<'_>, form: &mut Form) {
    if !matches!(key, Value::String(_) | Value::Int(_)) {
        *form = Form::Cel;
    }
}

fn check_key(key: &Value<'_>, form: Form) -> Result<(), Error> {
    match key {
        Value::String(_) | Value::Int(_) | Value::Uint(_) | Value::Bool(_) | Value::Double(_) => {
            Ok(())
        }
        other => Err(fail(format!("invalid qualifier type: {}", go_type_of(other, form)))),
    }
}
