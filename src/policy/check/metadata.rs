//! The metadata of a cluster-scoped object.

use std::collections::BTreeMap;

use crate::policy::{document::Metadata, names, path::FieldPath, problem::FieldError};

const MOST_ANNOTATION_BYTES: usize = 256 * 1024;

pub(crate) fn metadata(metadata: &Metadata) -> Vec<FieldError> {
    let path = FieldPath::new("metadata");
    let mut errors = Vec::new();
    if !metadata.generate_name.is_empty() {
        let at = path.child("generateName");
        // What is generated ends in five more characters, so a dash at the end is no fault.
        let masked = match metadata.generate_name.strip_suffix('-') {
            Some(stem) if !stem.is_empty() => format!("{stem}a"),
            _ => metadata.generate_name.clone(),
        };
        for message in names::subdomain(&masked) {
            errors.push(FieldError::invalid(&at, &metadata.generate_name, &message));
        }
    }
    let at = path.child("name");
    if metadata.name.is_empty() {
        errors.push(FieldError::required(&at, "name or generateName is required"));
    }
    for message in
        (!metadata.name.is_empty()).then(|| names::subdomain(&metadata.name)).into_iter().flatten()
    {
        errors.push(FieldError::invalid(&at, &metadata.name, &message));
    }
    // A namespace does no harm: the API server takes it off what is in none.
    errors.extend(labels(&metadata.labels, &path.child("labels")));
    errors.extend(annotations(&metadata.annotations, &path.child("annotations")));
    let at = path.child("finalizers");
    for finalizer in &metadata.finalizers {
        for message in names::qualified_name(finalizer) {
            errors.push(FieldError::invalid(&at, finalizer, &message));
        }
    }
    errors
}

/// Labels, and `matchLabels` of a selector.
pub(crate) fn labels(labels: &BTreeMap<String, String>, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (name, value) in labels {
        for message in names::qualified_name(name) {
            errors.push(FieldError::invalid(path, name, &message));
        }
        for message in names::label_value(value) {
            errors.push(FieldError::invalid(path, value, &message));
        }
    }
    errors
}

fn annotations(annotations: &BTreeMap<String, String>, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for name in annotations.keys() {
        for message in names::qualified_name(&name.to_lowercase()) {
            errors.push(FieldError::invalid(path, name, &message));
        }
    }
    let bytes: usize = annotations.iter().map(|(name, value)| name.len() + value.len()).sum();
    if bytes > MOST_ANNOTATION_BYTES {
        errors.push(FieldError::too_long(path, MOST_ANNOTATION_BYTES));
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_required() {
        let errors = metadata(&Metadata::default());
        assert_eq!(errors.len(), 1);
        assert_eq!(errors[0].path.to_string(), "metadata.name");
        assert_eq!(errors[0].message, "Required value: name or generateName is required");
    }

    #[test]
    fn every_fault_is_found() {
        let errors = metadata(&Metadata {
            name: "Bad_Name".to_owned(),
            namespace: "default".to_owned(),
            labels: [("-".to_owned(), "-".to_owned())].into(),
            annotations: [("a/b/c".to_owned(), String::new())].into(),
            finalizers: vec!["x y".to_owned()],
            ..Metadata::default()
        });
        let paths: Vec<_> = errors.iter().map(|error| error.path.to_string()).collect();
        assert_eq!(
            paths,
            [
                "metadata.name",
                "metadata.labels",
                "metadata.labels",
                "metadata.annotations",
                "metadata.finalizers",
            ]
        );
    }
}
