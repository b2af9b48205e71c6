//! A review read in part: what no policy reads of an object is skipped, not built and dropped again.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, Value};

use crate::policy::Reads;

/// A review, before it is known to be one.
#[derive(Default)]
pub(super) struct Envelope {
    pub api_version: String,
    pub kind: String,
    pub request: Value,
}

/// Reads one, as far as policies do.
pub(super) struct EnvelopeSeed<'a>(pub &'a Reads);

impl<'de> DeserializeSeed<'de> for EnvelopeSeed<'_> {
    type Value = Envelope;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Envelope, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for EnvelopeSeed<'_> {
    type Value = Envelope;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an AdmissionReview")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Envelope, A::Error> {
        let mut envelope = Envelope::default();
        while let Some(key) = entries.next_key::<String>()? {
            match key.as_str() {
                "apiVersion" => envelope.api_version = entries.next_value()?,
                "kind" => envelope.kind = entries.next_value()?,
                "request" => envelope.request = entries.next_value_seed(Request(self.0))?,
                _ => {
                    entries.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(envelope)
    }
}

/// The `request` of a review.
struct Request<'a>(&'a Reads);

impl<'de> DeserializeSeed<'de> for Request<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Request<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the request of an AdmissionReview")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut request = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            // A subresource may be about just those parts; the API server names it first.
            let is_whole =
                request.get("subResource").and_then(Value::as_str).is_some_and(|it| !it.is_empty());
            let value = match key.as_str() {
                "object" | "oldObject" if !is_whole => entries.next_value_seed(Object(self.0))?,
                _ => entries.next_value()?,
            };
            request.insert(key, value);
        }
        Ok(Value::Object(request))
    }
}

struct Object<'a>(&'a Reads);

impl<'de> DeserializeSeed<'de> for Object<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        let Self(reads) = self;
        deserializer.deserialize_any(Fields(|key: &str| match key {
            "metadata" => Child::Part(Part { reads, is_status: false }),
            "status" => Child::Part(Part { reads, is_status: true }),
            _ => Child::Whole,
        }))
    }
}

/// `metadata` or `status`.
#[derive(Clone, Copy)]
struct Part<'a> {
    reads: &'a Reads,
    is_status: bool,
}

impl<'de> DeserializeSeed<'de> for Part<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        let Self { reads, is_status } = self;
        deserializer.deserialize_any(Fields(|key: &str| {
            let is_read = if is_status { reads.status(key) } else { reads.metadata(key) };
            if is_read { Child::Whole } else { Child::Skipped }
        }))
    }
}

/// What becomes of a field.
enum Child<'a> {
    Whole,
    Part(Part<'a>),
    Skipped,
}

/// An object whose fields are each read as is said; anything else is read as it is.
struct Fields<F>(F);

impl<'de, 'a, F: Fn(&str) -> Child<'a>> Visitor<'de> for Fields<F> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let value = match (self.0)(&key) {
                Child::Whole => entries.next_value()?,
                Child::Part(part) => entries.next_value_seed(part)?,
                Child::Skipped => {
                    entries.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }
}
