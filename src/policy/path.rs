//! The path of a field, written as the API server writes it: `spec.validations[0].expression`.

#![allow(clippy::wildcard_enum_match_arm, reason = "only objects and lists can be walked into")]

use std::fmt;

use super::yaml::{Node, Place, Tree};

/// A path from the root of a document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FieldPath(Vec<Step>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Field(String),
    Index(usize),
}

impl FieldPath {
    pub(crate) fn new(field: &str) -> Self {
        Self::default().child(field)
    }

    #[must_use]
    pub(crate) fn child(&self, field: &str) -> Self {
        self.with(Step::Field(field.to_owned()))
    }

    #[must_use]
    pub(crate) fn index(&self, index: usize) -> Self {
        self.with(Step::Index(index))
    }

    fn with(&self, step: Step) -> Self {
        let mut steps = self.0.clone();
        steps.push(step);
        Self(steps)
    }

    /// The text of the field, if it is one.
    pub(crate) fn text_in<'a>(&self, root: &'a Node) -> Option<&'a str> {
        let node = self.0.iter().try_fold(root, |node, step| match (step, &node.tree) {
            (Step::Field(field), Tree::Map(_)) => node.get(field).map(|entry| &entry.node),
            (Step::Index(index), Tree::List(items)) => items.get(*index),
            _ => None,
        })?;
        match &node.tree {
            Tree::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Where the field is in the document; of a field that is not there, where its parent is.
    pub(crate) fn place_in(&self, root: &Node) -> Place {
        let mut node = root;
        let mut place = root.place;
        for step in &self.0 {
            match (step, &node.tree) {
                (Step::Field(field), Tree::Map(_)) => match node.get(field) {
                    Some(entry) => {
                        node = &entry.node;
                        // Of a collection, its name says more than its first line.
                        place = match entry.node.tree {
                            Tree::Map(_) | Tree::List(_) => entry.place,
                            _ => entry.node.place,
                        };
                    }
                    None => return place,
                },
                (Step::Index(index), Tree::List(items)) => match items.get(*index) {
                    Some(item) => {
                        node = item;
                        place = item.place;
                    }
                    None => return place,
                },
                _ => return place,
            }
        }
        place
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, step) in self.0.iter().enumerate() {
            match step {
                Step::Field(field) if position == 0 => formatter.write_str(field)?,
                Step::Field(field) => write!(formatter, ".{field}")?,
                Step::Index(index) => write!(formatter, "[{index}]")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::yaml::read;

    #[test]
    fn it_reads_as_the_api_server_writes_it() {
        let path = FieldPath::new("spec").child("validations").index(2).child("expression");
        assert_eq!(path.to_string(), "spec.validations[2].expression");
    }

    #[test]
    fn a_missing_field_is_shown_at_its_parent() {
        let documents = read("spec:\n  validations:\n  - message: x\n").unwrap();
        let place = |path: &FieldPath| {
            let place = path.place_in(&documents[0]);
            (place.line, place.column)
        };
        let item = FieldPath::new("spec").child("validations").index(0);
        assert_eq!(place(&item.child("message")), (3, 14));
        assert_eq!(place(&item.child("expression")), (3, 5));
        assert_eq!(place(&FieldPath::new("spec").child("failurePolicy")), (1, 1));
    }
}
