//! A review read in part: what no policy reads of an object is skipped, not built and dropped again.

use std::{borrow::Cow, fmt};

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};

use crate::policy::{
    Reads,
    json::{Extent, Object, Stack, TextSeed, Tree, TreeSeed},
};

/// A review, before it is known to be one.
#[derive(Default)]
pub(super) struct Envelope<'a> {
    pub api_version: Cow<'a, str>,
    pub kind: Cow<'a, str>,
    pub request: Tree<'a>,
}

/// Reads one, as far as policies do.
pub(super) struct EnvelopeSeed<'r>(pub &'r Reads);

impl<'de> DeserializeSeed<'de> for EnvelopeSeed<'_> {
    type Value = Envelope<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for EnvelopeSeed<'_> {
    type Value = Envelope<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an AdmissionReview")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut envelope = Envelope::default();
        while let Some(key) = entries.next_key_seed(TextSeed)? {
            match &*key {
                "apiVersion" => envelope.api_version = entries.next_value_seed(TextSeed)?,
                "kind" => envelope.kind = entries.next_value_seed(TextSeed)?,
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
struct Request<'r>(&'r Reads);

impl<'de> DeserializeSeed<'de> for Request<'_> {
    type Value = Tree<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Request<'_> {
    type Value = Tree<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the request of an AdmissionReview")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Tree::Null)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let stack = &mut Stack::default();
        let mut fields = Vec::with_capacity(16);
        // A subresource may be about just those parts; the API server names it first.
        let mut is_whole = false;
        while let Some(key) = entries.next_key_seed(TextSeed)? {
            let extent = match &*key {
                "object" | "oldObject" if !is_whole => Part::Object(self.0),
                _ => Part::Whole,
            };
            let value = entries.next_value_seed(TreeSeed { extent, stack: &mut *stack })?;
            if key == "subResource" {
                is_whole = value.as_str().is_some_and(|it| !it.is_empty());
            }
            fields.push((key, value));
        }
        Ok(Tree::Object(Object::new(fields)))
    }
}

/// What is read of an object.
#[derive(Clone, Copy)]
enum Part<'r> {
    Object(&'r Reads),
    Metadata(&'r Reads),
    Status(&'r Reads),
    Whole,
}

impl Extent for Part<'_> {
    fn of(self, name: &str) -> Option<Self> {
        let is_read = match self {
            Self::Whole => true,
            Self::Metadata(reads) => reads.metadata(name),
            Self::Status(reads) => reads.status(name),
            Self::Object(reads) => {
                return Some(match name {
                    "metadata" => Self::Metadata(reads),
                    "status" => Self::Status(reads),
                    _ => Self::Whole,
                });
            }
        };
        is_read.then_some(Self::Whole)
    }

    fn of_item(self) -> Self {
        Self::Whole
    }
}
