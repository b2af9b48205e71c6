//! Manifests as kubectl reads them: many documents to a file, lists unrolled, each object with its place.

use serde_json::Value;

use super::{
    problem::Problem,
    yaml::{self, Node, Place, Tree},
};

/// What a file holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Manifest {
    /// An object.
    Object {
        /// Where it begins.
        place: Place,
        /// What it is.
        value: Value,
    },
    /// Something without `apiVersion` or `kind`, such as the values of a chart.
    Other {
        /// Where it begins.
        place: Place,
    },
}

/// The objects of a file, or what is wrong with its text.
pub fn read(file: &str, content: &str) -> Result<Vec<Manifest>, Vec<Problem>> {
    let roots = yaml::read(content).map_err(|faults| {
        let problem = |fault: yaml::Fault| Problem {
            file: file.to_owned(),
            excerpt: content
                .lines()
                .nth(fault.place.line.saturating_sub(1))
                .unwrap_or_default()
                .to_owned(),
            place: fault.place,
            field: String::new(),
            message: fault.message,
            suggestion: None,
        };
        faults.into_iter().map(problem).collect::<Vec<_>>()
    })?;
    let mut found = Vec::new();
    for root in &roots {
        unroll(root, &mut found);
    }
    Ok(found)
}

fn unroll(node: &Node, found: &mut Vec<Manifest>) {
    let place = node.place;
    let kind = node.text("kind").unwrap_or_default();
    if node.text("apiVersion").is_none() || kind.is_empty() {
        return found.push(Manifest::Other { place });
    }
    match node.get("items").map(|entry| &entry.node.tree) {
        Some(Tree::List(items)) if kind.ends_with("List") => {
            for item in items {
                unroll(item, found);
            }
        }
        _ => found.push(Manifest::Object { place, value: node.to_json() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(content: &str) -> Vec<(usize, bool)> {
        let read = read("a.yaml", content).unwrap();
        read.iter()
            .map(|manifest| match manifest {
                Manifest::Object { place, .. } => (place.line, true),
                Manifest::Other { place } => (place.line, false),
            })
            .collect()
    }

    #[test]
    fn documents_and_lists_are_taken_apart() {
        let content = "apiVersion: v1\nkind: Pod\n---\napiVersion: v1\nkind: List\nitems:\n\
            - {apiVersion: v1, kind: Pod}\n- {apiVersion: v1, kind: Pod}\n---\nreplicas: 3\n";
        assert_eq!(lines(content), [(1, true), (7, true), (8, true), (10, false)]);
    }

    #[test]
    fn a_text_that_is_no_yaml_is_placed() {
        let problems = read("a.yaml", "a: 1\nb: [\n").unwrap_err();
        assert_eq!(problems[0].file, "a.yaml");
    }
}
