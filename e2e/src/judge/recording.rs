//! What was put to the API server and what it said, without anything that changes from run to run.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// The recordings of one topic: a file in `policy-cases/recorded`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Recordings {
    /// The name of the file, without its ending.
    pub topic: String,
    /// What the topic is about.
    pub about: String,
    /// Case by case.
    pub cases: Vec<Recording>,
}

/// One case: all that an engine needs to know, and what the API server said.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Recording {
    /// Unique; also the name of its namespace and, unless it says otherwise, of its policy and binding.
    pub id: String,
    /// What it shows, in a sentence.
    pub name: String,
    /// The objects that were there before, as they are stored: namespaces, params, roles.
    pub given: Vec<Value>,
    /// What the API server's authorizer answers to whom; only what the case's policies ask.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub access: Vec<Access>,
    /// Policies and bindings, in the order in which they were created.
    pub documents: Vec<Document>,
    /// The requests, each with its answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<Exchange>,
}

/// A question to the authorizer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Access {
    /// `spec` of a SubjectAccessReview.
    pub spec: Value,
    /// Its `status`.
    pub status: Value,
}

/// A policy or binding, and whether the API server took it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Document {
    /// As it was sent, with strict field validation.
    pub document: Value,
    /// What the API server said.
    pub acceptance: Acceptance,
}

/// Whether a document was taken.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Acceptance {
    /// Why not; none if it was taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<Refusal>,
    /// The texts of the Warning headers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The `spec` as it was stored, defaults and all; only in cases that are about that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stored: Option<Value>,
}

/// A request, and what the API server answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Exchange {
    /// As admission sees it.
    pub request: Request,
    /// Why the API server refuses it even without any policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without_policies: Option<Refusal>,
    /// The answer; several where Kubernetes leaves it to chance (the order of policies), and then each is right.
    pub answers: Vec<Answer>,
}

/// An AdmissionRequest as it is before any policy, without `uid`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Request {
    /// CREATE, UPDATE, DELETE or CONNECT.
    pub operation: String,
    /// `{group, version, kind}` of the request.
    pub kind: Value,
    /// `{group, version, resource}` of the request.
    pub resource: Value,
    /// Empty if none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sub_resource: String,
    /// Empty if the API server is to make one up.
    pub name: String,
    /// Empty if cluster-scoped.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Who asks.
    pub user_info: UserInfo,
    /// Whether nothing is to be stored.
    pub dry_run: bool,
    /// CreateOptions, UpdateOptions or DeleteOptions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<Value>,
    /// The new object as it would be stored if there were no policy: defaulted and pruned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<Value>,
    /// The object as it is stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_object: Option<Value>,
}

/// Who asks.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct UserInfo {
    /// The name.
    pub username: String,
    /// Empty if there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// The groups, in order.
    #[serde(default)]
    pub groups: Vec<String>,
    /// What the authenticator knows beyond that.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub extra: BTreeMap<String, Vec<String>>,
}

/// What came of a request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Answer {
    /// Why it was refused; none if it was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<Refusal>,
    /// The texts of the Warning headers, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// What the policies wrote into the audit log.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub audit_annotations: BTreeMap<String, String>,
    /// The object that came out, if it is another than the request's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<Value>,
}

/// A `Status` of failure.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Refusal {
    /// The HTTP status code.
    pub code: u16,
    /// `reason`, a word.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// `message`, in full.
    pub message: String,
    /// `details.causes`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<Cause>,
}

impl Refusal {
    /// Whether the policies refused it. The schema and other parts of the API server have other words.
    #[must_use]
    pub fn is_by_policies(&self) -> bool {
        // 500: a patch of theirs came to nothing that can be read.
        self.code == 500 || self.message.contains(" denied request: ")
    }
}

/// One of several causes of a refusal.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Cause {
    /// A word like `FieldValueInvalid`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The text.
    pub message: String,
    /// The path of the field.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub field: String,
}

/// An object in which what changes from run to run is always the same, or left out.
#[must_use]
pub fn stable(mut object: Value) -> Value {
    const LEFT_OUT: [&str; 2] = ["generation", "managedFields"];
    const THE_SAME: [(&str, &str); 3] = [
        ("creationTimestamp", "2026-01-01T00:00:00Z"),
        ("resourceVersion", "1"),
        ("uid", "00000000-0000-0000-0000-000000000000"),
    ];
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.retain(|field, _| !LEFT_OUT.contains(&field.as_str()));
        for (field, value) in THE_SAME {
            metadata.entry(field).and_modify(|found| *found = value.into());
        }
    }
    object
}

/// Where two recordings differ: a line each, with the path.
#[must_use]
pub fn differences(before: &Value, now: &Value) -> Vec<String> {
    let mut found = Vec::new();
    compare("", before, now, &mut found);
    found
}

fn compare(path: &str, before: &Value, now: &Value, found: &mut Vec<String>) {
    match (before, now) {
        (Value::Object(before), Value::Object(now)) => {
            for (field, value) in before {
                let path = format!("{path}.{field}");
                compare(&path, value, now.get(field).unwrap_or(&Value::Null), found);
            }
            for (field, value) in now.iter().filter(|(field, _)| !before.contains_key(*field)) {
                compare(&format!("{path}.{field}"), &Value::Null, value, found);
            }
        }
        (Value::Array(before), Value::Array(now)) if before.len() == now.len() => {
            for (index, (before, now)) in before.iter().zip(now).enumerate() {
                compare(&format!("{path}[{index}]"), before, now, found);
            }
        }
        (before, now) if before == now => {}
        (before, now) => found.push(format!("{path}: recorded {before}, now {now}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_difference_is_told_with_its_path() {
        let before = json!({ "a": [{ "b": 1 }], "gone": true, "same": "x" });
        let now = json!({ "a": [{ "b": 2 }], "same": "x", "new": null, "more": [1] });
        assert_eq!(
            differences(&before, &now),
            [
                ".a[0].b: recorded 1, now 2",
                ".gone: recorded true, now null",
                ".more: recorded null, now [1]"
            ]
        );
    }

    #[test]
    fn what_changes_from_run_to_run_is_always_the_same() {
        let object =
            json!({ "metadata": { "name": "a", "generation": 3, "resourceVersion": "4711" } });
        assert_eq!(stable(object), json!({ "metadata": { "name": "a", "resourceVersion": "1" } }));
    }
}
