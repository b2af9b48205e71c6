//! The cases, complete: what is put to the API server.

use super::{kind::Kind, recording::UserInfo};
use anyhow::{Result, bail};
use serde_json::Value;
use std::collections::BTreeSet;

/// A file of cases.
#[derive(Debug, Clone)]
pub struct Topic {
    /// The name of the file, without its ending.
    pub name: String,
    /// What it is about.
    pub about: String,
    /// Its cases, in order.
    pub cases: Vec<Case>,
}

/// Policies, the world that they find, and requests.
#[derive(Debug, Clone)]
pub struct Case {
    /// Unique among all cases.
    pub id: String,
    /// What it shows, in a sentence.
    pub name: String,
    /// Objects that are there before: the case's own namespace comes first.
    pub given: Vec<Value>,
    /// `spec` of the SubjectAccessReviews that its policies ask.
    pub access: Vec<Value>,
    /// Policies and bindings, complete.
    pub documents: Vec<Value>,
    /// Whether it is about what a document looks like once it is stored.
    pub stored: bool,
    /// What is asked of the API server while the policies are in force.
    pub requests: Vec<Ask>,
}

/// A request, complete.
#[derive(Debug, Clone)]
pub struct Ask {
    /// CREATE, UPDATE, DELETE or CONNECT.
    pub operation: &'static str,
    /// The resource whose path it goes to.
    pub kind: Kind,
    /// The version in that path.
    pub version: String,
    /// Empty if none.
    pub subresource: String,
    /// Empty if the API server is to make one up.
    pub name: String,
    /// Empty if cluster-scoped.
    pub namespace: String,
    /// What is sent.
    pub object: Option<Value>,
    /// What kind of patch it is, if it is one.
    pub patch: Option<String>,
    /// What is there before.
    pub old: Option<Value>,
    /// Who asks.
    pub user: UserInfo,
    /// Whether nothing is to be stored.
    pub dry_run: bool,
    /// What else stands behind the `?` of the path.
    pub query: String,
    /// How many answers are possible, because chance decides.
    pub outcomes: usize,
}

/// The user for whom requests are made unless the case says otherwise: one to whom nothing is forbidden.
#[must_use]
pub fn judge() -> UserInfo {
    UserInfo {
        username: "judge".into(),
        groups: vec!["system:masters".into(), "system:authenticated".into()],
        ..UserInfo::default()
    }
}

/// That no two cases meet in the API server.
pub fn check_ids(topics: &[Topic]) -> Result<()> {
    let mut seen = BTreeSet::new();
    for case in topics.iter().flat_map(|topic| &topic.cases) {
        if !seen.insert(&case.id) {
            bail!("two cases have the id {}", case.id);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{super::written::topic, *};

    #[test]
    fn two_cases_of_one_id_are_told() {
        let one = topic("x", "about: x\ncases: [{ id: a, name: x }]").unwrap();
        assert!(check_ids(std::slice::from_ref(&one)).is_ok());
        let error = check_ids(&[one.clone(), one]).unwrap_err();
        assert_eq!(error.to_string(), "two cases have the id a");
    }
}
