//! An apply configuration merged into an object by the schema of its kind, as the API server's
//! structured merge does it: what the configuration does not say stays, sets and list-maps are
//! merged by item, and what is atomic may not be touched at all.

pub(crate) mod foreign;
mod key;
mod list;
mod print;
mod schema;
mod validate;

use serde_json::{Map, Value};

pub(crate) use schema::KindSchema;
pub use schema::Schemas;
use schema::{MapType, Scalar, TypeRef};
use validate::{Fault, Form, Validator, atomics, narrowed, printed, scalar_fault};

/// The object with the configuration merged in, or the API server's text for why not.
pub(crate) fn apply(
    schemas: &Schemas,
    kind: &KindSchema,
    object: &Value,
    configuration: &Value,
) -> Result<Value, String> {
    let of = &kind.root;
    let checked = |allows_duplicates, value, what| {
        let faults = Validator { schemas, allows_duplicates }.validate(of, value);
        if faults.is_empty() {
            return Ok(());
        }
        Err(format!("failed to convert {what} object to typed object: {}", printed(&faults)))
    };
    checked(false, configuration, "patch")?;
    let atomics = atomics(schemas, of, configuration, "");
    if !atomics.is_empty() {
        return Err(format!(
            "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {}",
            atomics.join(", ")
        ));
    }
    checked(true, object, "original")?;
    let merged = Merger { schemas }.merge(of, Some(object), Some(configuration));
    match merged {
        Ok(merged) => Ok(merged.unwrap_or(Value::Null)),
        Err(faults) => Err(format!("failed to merge patch: {}", printed(&faults))),
    }
}

struct Merger<'a> {
    schemas: &'a Schemas,
}

type Merged = Result<Option<Value>, Vec<Fault>>;

impl Merger<'_> {
    /// At least one side is there. The right one wins, as far as it goes.
    fn merge(&self, of: &TypeRef, left: Option<&Value>, right: Option<&Value>) -> Merged {
        let Some(atom) = self.schemas.resolve(of) else {
            return Err(vec![Fault::new("schema error: no type found matching: inlined type")]);
        };
        // What is not there, or null, takes whatever form the other side has.
        let deciding = right.or(left);
        match narrowed(&atom, deciding) {
            Some(Form::Map(map)) => self.merge_maps(map, left, right),
            Some(Form::Scalar(scalar)) => merge_scalars(scalar, left, right),
            Some(Form::List(list)) => self.merge_lists(list, left, right),
            None => Err(vec![Fault::new("schema error: invalid atom: inlined")]),
        }
    }

    fn merge_maps(&self, of: &MapType, left: Option<&Value>, right: Option<&Value>) -> Merged {
        let (own, other) = (left.and_then(Value::as_object), right.and_then(Value::as_object));
        let is_empty = |entries: Option<&Map<_, _>>| entries.is_none_or(Map::is_empty);
        if of.atomic || (is_empty(own) && is_empty(other)) {
            return Ok(whole(left, right));
        }
        let mut merged = Map::new();
        let mut faults = Vec::new();
        let nothing = Map::new();
        let (own, other) = (own.unwrap_or(&nothing), other.unwrap_or(&nothing));
        let keys = own.keys().chain(other.keys().filter(|key| !own.contains_key(*key)));
        for key in keys {
            let element = of.fields.get(key).map(|field| &field.of).or(of.element.as_ref());
            let result = match element {
                Some(element) => self.merge(element, own.get(key), other.get(key)),
                None => Err(vec![Fault::new("schema error: invalid atom: inlined")]),
            };
            match result {
                Ok(Some(value)) => {
                    merged.insert(key.clone(), value);
                }
                Ok(None) => {}
                Err(found) => {
                    let prefix = format!(".{key}");
                    faults.extend(found.into_iter().map(|fault| fault.under(&prefix)));
                }
            }
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        Ok((!merged.is_empty()).then_some(Value::Object(merged)))
    }
}

fn merge_scalars(of: Scalar, left: Option<&Value>, right: Option<&Value>) -> Merged {
    let faulty = |value: Option<&Value>, side| scalar_fault(of, value?, side);
    match (faulty(left, "lhs: "), faulty(right, "rhs: ")) {
        (Some(left), Some(right)) => Err(vec![left, right]),
        _ => Ok(whole(left, right)),
    }
}

/// The right side as it is, or the left one if there is no right one.
fn whole(left: Option<&Value>, right: Option<&Value>) -> Option<Value> {
    right.or(left).cloned()
}

#[cfg(test)]
mod tests;
