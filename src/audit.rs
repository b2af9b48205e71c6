//! What the policies say of objects that are stored already: as if each were created now, by a
//! controller, for who once wrote it is not known. Rules about changes have nothing to say then.

use serde_json::{Value, json};
use strum::{Display, IntoStaticStr};

use crate::policy::{Cause, Verdict, finding};

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Display, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Severity {
    /// It would be refused.
    Fail,
    /// A rule could not be evaluated on it, which refuses it too.
    Error,
    /// Its author would be warned.
    Warn,
}

/// An object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the fields are Kubernetes' own, documented there")]
pub struct Subject {
    pub namespace: String,
    pub api_version: String,
    pub kind: String,
    pub name: String,
    pub uid: String,
}

/// One thing that a policy says of an object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// Of which object.
    pub subject: Subject,
    /// How bad it is.
    pub severity: Severity,
    /// Which policy says so.
    pub policy: String,
    /// The field, if the message names one.
    pub field: Option<String>,
    /// What is wrong and what to do.
    pub message: String,
}

/// A resource whose objects are looked at.
#[derive(Debug, Clone, Copy)]
#[expect(missing_docs, reason = "the fields are Kubernetes' own, documented there")]
pub struct Kind<'a> {
    pub group: &'a str,
    pub version: &'a str,
    pub resource: &'a str,
    pub kind: &'a str,
}

/// The `request` by which a stored object is judged.
#[must_use]
pub fn request(kind: Kind<'_>, object: Value) -> Value {
    let metadata = |key: &str| object["metadata"][key].as_str().unwrap_or_default().to_owned();
    let (name, namespace) = (metadata("name"), metadata("namespace"));
    let mut request = json!({
        "uid": metadata("uid"),
        "kind": {"group": kind.group, "version": kind.version, "kind": kind.kind},
        "resource": {"group": kind.group, "version": kind.version, "resource": kind.resource},
        "name": name,
        "namespace": namespace,
        "operation": "CREATE",
        "userInfo": {
            "username": "system:serviceaccount:ironward-system:ironward-audit",
            "groups": ["system:serviceaccounts", "system:serviceaccounts:ironward-system", "system:authenticated"],
        },
        "dryRun": true,
    });
    // Moved, where the macro would copy it.
    request["object"] = object;
    request
}

/// Which object it is.
#[must_use]
pub fn subject(kind: Kind<'_>, object: &Value) -> Subject {
    let metadata = |key: &str| object["metadata"][key].as_str().unwrap_or_default().to_owned();
    let Kind { group, version, kind, .. } = kind;
    Subject {
        namespace: metadata("namespace"),
        api_version: if group.is_empty() {
            version.to_owned()
        } else {
            format!("{group}/{version}")
        },
        kind: kind.to_owned(),
        name: metadata("name"),
        uid: metadata("uid"),
    }
}

/// All that was said, worst first; what several bindings of a policy say is said once.
#[must_use]
pub fn findings(subject: &Subject, verdict: &Verdict) -> Vec<Finding> {
    let finding = |severity, policy: &str, message: &str| {
        let (field, text) = finding::split(message);
        Finding {
            subject: subject.clone(),
            severity,
            policy: policy.to_owned(),
            field: field.map(str::to_owned),
            message: text.to_owned(),
        }
    };
    let denials = verdict.denials.iter().map(|denial| {
        let severity = match denial.cause {
            Cause::Rule => Severity::Fail,
            Cause::Error | Cause::Configuration => Severity::Error,
        };
        finding(severity, &denial.policy, &denial.message)
    });
    let warnings =
        verdict.warnings.iter().map(|it| finding(Severity::Warn, &it.policy, &it.message));
    let mut findings: Vec<_> = denials.chain(warnings).collect();
    findings.sort();
    findings.dedup();
    findings
}
