//! What the policies say of objects that are stored already: as if each were created now, by a
//! controller, for who once wrote it is not known. Rules about changes have nothing to say then.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use strum::{Display, IntoStaticStr};

use crate::policy::{Cause, Held, Occupied, PolicySet, Verdict, Versioned, finding};
use crate::uniqueness::Holder;

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
    let finding =
        |severity, policy: &str, message: &str| finding(subject, severity, policy, message);
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

/// Which objects have keys that others have too. Objects are seen one by one, and judged when all
/// are known.
#[derive(Debug, Default)]
pub struct Duplicates {
    occupied: Occupied,
    seen: BTreeMap<Holder, (Subject, Value)>,
    errors: Vec<Finding>,
}

impl Duplicates {
    /// Takes note of an object.
    pub fn see(&mut self, policies: &PolicySet, kind: Kind<'_>, object: &Value) {
        if policies.unique().is_empty() {
            return;
        }
        let resource = Versioned { group: kind.group, version: kind.version, name: kind.resource };
        let subject = subject(kind, object);
        let errors = self.occupied.set(policies, resource, object);
        let fails = |name: &str| policies.unique().iter().any(|it| it.name() == name && it.fails());
        for (policy, text) in errors.into_iter().filter(|(policy, _)| fails(policy)) {
            self.errors.push(finding(&subject, Severity::Error, &policy, &text));
        }
        let holder = Holder {
            group: kind.group.to_owned(),
            resource: kind.resource.to_owned(),
            namespace: subject.namespace.clone(),
            name: subject.name.clone(),
        };
        self.seen.insert(holder, (subject, without_large_parts(object)));
    }

    /// One finding for each key of an object that an older one has, on the younger.
    #[must_use]
    pub fn findings(&self, policies: &PolicySet) -> Vec<Finding> {
        let mut findings = self.errors.clone();
        for (name, key, younger, older) in self.occupied.duplicates() {
            let policy = policies.unique().iter().find(|it| it.name() == name);
            let seen = self.seen.get(&younger.age.holder);
            if let (Some(policy), Some((subject, object))) = (policy, seen) {
                let held = Held { holder: &older.age.holder, kind: &older.kind };
                let message = policy.message(object, key, held);
                findings.push(finding(subject, Severity::Fail, name, &message));
            }
        }
        findings
    }
}

/// What a message may be about: all objects of a fleet are kept until the last is seen.
fn without_large_parts(object: &Value) -> Value {
    let mut kept = json!({"apiVersion": object["apiVersion"], "kind": object["kind"]});
    kept["spec"] = object["spec"].clone();
    kept["metadata"] = object["metadata"].clone();
    if let Some(metadata) = kept["metadata"].as_object_mut() {
        metadata.remove("managedFields");
    }
    kept
}

fn finding(subject: &Subject, severity: Severity, policy: &str, message: &str) -> Finding {
    let (field, text) = finding::split(message);
    Finding {
        subject: subject.clone(),
        severity,
        policy: policy.to_owned(),
        field: field.map(str::to_owned),
        message: text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::shipped;

    const HOSTS: Kind<'static> = Kind {
        group: "metal3.io",
        version: "v1alpha1",
        resource: "baremetalhosts",
        kind: "BareMetalHost",
    };

    #[test]
    fn a_duplicate_is_found_on_the_younger() {
        let policies = shipped::with(&[]).unwrap();
        let mut duplicates = Duplicates::default();
        for (name, created) in [("young", "2026-02-01T00:00:00Z"), ("old", "2026-01-01T00:00:00Z")]
        {
            let host = json!({"apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
                "metadata": {"name": name, "namespace": "metal3", "creationTimestamp": created},
                "spec": {"bootMACAddress": "52:54:00:12:34:56"}});
            duplicates.see(&policies, HOSTS, &host);
        }
        let findings = duplicates.findings(&policies);
        assert_eq!(findings.len(), 1, "{findings:?}");
        let Finding { subject, severity, field, message, .. } = &findings[0];
        assert_eq!((subject.name.as_str(), *severity), ("young", Severity::Fail));
        assert_eq!(field.as_deref(), Some("spec.bootMACAddress"));
        assert!(message.contains("metal3/old"), "{message}");
    }
}
