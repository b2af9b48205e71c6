//! What policies say of a request: everything that is wrong, not only what the API server would have
//! stopped at.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{problem::quoted, request::Request};

/// Of validating policies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Why the request is refused, in the order of policies, bindings, params and expressions.
    pub denials: Vec<Denial>,
    /// What the user is told although the request is taken.
    pub warnings: Vec<Warning>,
    /// What is written to the audit log of rules that did not hold.
    pub audit_failures: Vec<AuditFailure>,
    /// The policies' own audit annotations: `policy/key` and value.
    pub audit_annotations: BTreeMap<String, String>,
}

/// One reason to refuse a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    /// The policy's name.
    pub policy: String,
    /// The binding's name; none if the policy itself is at fault.
    pub binding: Option<String>,
    /// Which of the policy's validations it was; none if it was none of them.
    pub validation: Option<usize>,
    /// A rule, or a failure to evaluate it.
    pub cause: Cause,
    /// What to tell the user.
    pub message: String,
    /// How the API classes it.
    pub reason: Reason,
}

/// Why a policy denies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cause {
    /// Its rule does not hold.
    Rule,
    /// Its expression failed, and `failurePolicy` is Fail.
    Error,
    /// It could not be set up for this request, and `failurePolicy` is Fail.
    Configuration,
}

/// The API's classes of refusals, those that a policy may give.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, strum::Display, strum::EnumString)]
#[expect(missing_docs, reason = "the variants are Kubernetes' own, documented there")]
pub enum Reason {
    Unauthorized,
    Forbidden,
    #[default]
    Invalid,
    RequestEntityTooLarge,
    NotFound,
    ServiceUnavailable,
    InternalError,
}

impl Reason {
    /// The HTTP status.
    #[must_use]
    pub const fn code(self) -> u16 {
        match self {
            Self::Unauthorized => 401,
            Self::Forbidden => 403,
            Self::NotFound => 404,
            Self::RequestEntityTooLarge => 413,
            Self::Invalid => 422,
            Self::InternalError => 500,
            Self::ServiceUnavailable => 503,
        }
    }
}

/// Something that is wrong and let through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// The policy's name.
    pub policy: String,
    /// The binding's name.
    pub binding: String,
    /// Which of the policy's validations it was.
    pub validation: usize,
    /// What to tell the user.
    pub message: String,
}

/// A rule that did not hold, for the audit log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditFailure {
    /// The policy's name.
    pub policy: String,
    /// The binding's name.
    pub binding: String,
    /// Which of the policy's validations it was.
    pub validation: usize,
    /// What it said.
    pub message: String,
    /// What the binding does with it.
    pub actions: Vec<String>,
}

/// The API server's own answer to a refused request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The HTTP status.
    pub code: u16,
    /// The API's class.
    pub reason: Reason,
    /// What kubectl prints.
    pub message: String,
    /// `details.causes`, their messages.
    pub causes: Vec<String>,
}

impl Denial {
    /// The API server's text for it.
    #[must_use]
    pub fn text(&self) -> String {
        let Self { policy, message, .. } = self;
        match &self.binding {
            Some(binding) => format!(
                "ValidatingAdmissionPolicy '{policy}' with binding '{binding}' denied request: \
                 {message}"
            ),
            None => format!("ValidatingAdmissionPolicy '{policy}' denied request: {message}"),
        }
    }
}

impl Warning {
    /// The API server's text for it.
    #[must_use]
    pub fn text(&self) -> String {
        let Self { policy, binding, message, .. } = self;
        format!(
            "Validation failed for ValidatingAdmissionPolicy '{policy}' with binding '{binding}': \
             {message}"
        )
    }
}

impl AuditFailure {
    /// The annotation's name in the API server's audit log.
    pub const KEY: &'static str = "validation.policy.admission.k8s.io/validation_failure";

    /// The annotation's value.
    #[must_use]
    pub fn value(&self) -> String {
        // The fields in the order of the API server's type.
        format!(
            "[{{\"message\":{},\"policy\":{},\"binding\":{},\"expressionIndex\":{},\
             \"validationActions\":{}}}]",
            go_json(&json!(self.message)),
            go_json(&json!(self.policy)),
            go_json(&json!(self.binding)),
            self.validation,
            go_json(&json!(self.actions))
        )
    }
}

fn go_json(value: &Value) -> String {
    super::problem::go_json(value)
}

impl Verdict {
    /// Whether nothing denies.
    #[must_use]
    pub fn allows(&self) -> bool {
        self.denials.is_empty()
    }

    /// What other policies say too.
    pub(crate) fn extend(&mut self, other: Self) {
        self.denials.extend(other.denials);
        self.warnings.extend(other.warnings);
        self.audit_failures.extend(other.audit_failures);
        self.audit_annotations.extend(other.audit_annotations);
    }

    /// What the API server itself would have answered: it stops at the first denial.
    #[must_use]
    pub fn as_api_server(&self, request: &Request<'_>) -> Option<Refusal> {
        let denial = self.denials.first()?;
        let text = denial.text();
        Some(Refusal {
            code: denial.reason.code(),
            reason: denial.reason,
            message: forbidden(request, &text),
            causes: vec![text],
        })
    }

    /// The annotations of the API server's audit log: of several failed rules only the first.
    #[must_use]
    pub fn api_server_annotations(&self) -> BTreeMap<String, String> {
        let mut annotations = self.audit_annotations.clone();
        if let Some(first) = self.audit_failures.first() {
            annotations.insert(AuditFailure::KEY.to_owned(), first.value());
        }
        annotations
    }
}

/// `resource "name" is forbidden: …`
pub(crate) fn forbidden(request: &Request<'_>, text: &str) -> String {
    let resource = request.request_resource;
    let qualified = if resource.group.is_empty() {
        resource.name.to_owned()
    } else {
        format!("{}.{}", resource.name, resource.group)
    };
    let of_object = |key: &str| {
        let metadata = request.object?.get("metadata")?;
        metadata.get(key)?.as_str().filter(|name| !name.is_empty())
    };
    let name = Some(request.name)
        .filter(|name| !name.is_empty())
        .or_else(|| of_object("name"))
        .or_else(|| of_object("generateName"))
        .unwrap_or("Unknown");
    format!("{qualified} {} is forbidden: {text}", quoted(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::request::tests::create;

    fn denial(binding: Option<&str>) -> Denial {
        Denial {
            policy: "p".to_owned(),
            binding: binding.map(str::to_owned),
            validation: Some(0),
            cause: Cause::Rule,
            message: "no".to_owned(),
            reason: Reason::Forbidden,
        }
    }

    #[test]
    fn the_api_server_stops_at_the_first() {
        let raw = create();
        let request = Request::from_json(&raw).unwrap();
        let second = Denial { reason: Reason::Invalid, ..denial(None) };
        let verdict = Verdict { denials: vec![denial(Some("b")), second], ..Verdict::default() };
        assert_eq!(
            verdict.as_api_server(&request),
            Some(Refusal {
                code: 403,
                reason: Reason::Forbidden,
                message: "baremetalhosts.metal3.io \"worker-0\" is forbidden: \
                     ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no"
                    .to_owned(),
                causes: vec![
                    "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no".to_owned()
                ],
            })
        );
    }

    #[test]
    fn a_generated_name_is_shown_as_far_as_it_is_known() {
        let mut raw = create();
        raw["name"] = json!("");
        raw["object"]["metadata"] = json!({"generateName": "worker-"});
        let request = Request::from_json(&raw).unwrap();
        assert_eq!(
            forbidden(&request, "no"),
            "baremetalhosts.metal3.io \"worker-\" is forbidden: no"
        );
    }

    #[test]
    fn the_audit_log_has_the_fields_of_the_api_server() {
        let failure = AuditFailure {
            policy: "p".to_owned(),
            binding: "b".to_owned(),
            validation: 1,
            message: "a < b".to_owned(),
            actions: vec!["Audit".to_owned()],
        };
        assert_eq!(
            failure.value(),
            "[{\"message\":\"a \\u003c b\",\"policy\":\"p\",\"binding\":\"b\",\"expressionIndex\":1,\
             \"validationActions\":[\"Audit\"]}]"
        );
    }
}
