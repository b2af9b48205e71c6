//! The documents: Kubernetes' four kinds of admission policy objects, with its field names and
//! its defaults. The same shape serves the portable and the extended tier.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Kubernetes' own group: the file also runs inside the API server.
pub const PORTABLE: &str = "admissionregistration.k8s.io/v1";
/// Ironward's group: same kinds and fields, more CEL functions.
pub const EXTENDED: &str = "policies.ironward.dev/v1";

/// Which functions a document may use, and whether the API server takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tier {
    /// `admissionregistration.k8s.io/v1`.
    Portable,
    /// `policies.ironward.dev/v1`.
    Extended,
}

/// The kinds of documents.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, strum::EnumString, strum::Display,
)]
pub enum Kind {
    /// Denies, warns or annotates.
    ValidatingAdmissionPolicy,
    /// Puts a validating policy to work.
    ValidatingAdmissionPolicyBinding,
    /// Changes objects.
    MutatingAdmissionPolicy,
    /// Puts a mutating policy to work.
    MutatingAdmissionPolicyBinding,
    /// Lets no two objects have the same key. Only in Ironward's group, and without a binding.
    UniquePolicy,
}

/// A document that the API server would have taken, its defaults filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// Which group it was written in.
    pub tier: Tier,
    /// The file it came from.
    pub file: String,
    /// Its metadata.
    pub metadata: Metadata,
    /// What it says.
    pub spec: Spec,
}

impl Document {
    /// Its kind.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self.spec {
            Spec::ValidatingPolicy(_) => Kind::ValidatingAdmissionPolicy,
            Spec::ValidatingBinding(_) => Kind::ValidatingAdmissionPolicyBinding,
            Spec::MutatingPolicy(_) => Kind::MutatingAdmissionPolicy,
            Spec::MutatingBinding(_) => Kind::MutatingAdmissionPolicyBinding,
            Spec::Unique(_) => Kind::UniquePolicy,
        }
    }
}

/// What a document of each kind says.
#[derive(Debug, Clone, PartialEq)]
pub enum Spec {
    /// Of a ValidatingAdmissionPolicy.
    ValidatingPolicy(ValidatingPolicySpec),
    /// Of a ValidatingAdmissionPolicyBinding.
    ValidatingBinding(BindingSpec),
    /// Of a MutatingAdmissionPolicy.
    MutatingPolicy(MutatingPolicySpec),
    /// Of a MutatingAdmissionPolicyBinding.
    MutatingBinding(BindingSpec),
    /// Of a UniquePolicy.
    Unique(UniquePolicySpec),
}

/// The part of a document's metadata that a file may carry.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[expect(missing_docs, reason = "the fields are Kubernetes' own, documented there")]
pub struct Metadata {
    pub name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub generate_name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    pub labels: BTreeMap<String, String>,
    pub annotations: BTreeMap<String, String>,
    pub finalizers: Vec<String>,
}

/// `spec` of a ValidatingAdmissionPolicy.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[expect(missing_docs, reason = "the fields are Kubernetes' own, documented there")]
pub struct ValidatingPolicySpec {
    pub failure_policy: Option<String>,
    pub param_kind: Option<ParamKind>,
    pub match_constraints: Option<MatchResources>,
    pub match_conditions: Vec<MatchCondition>,
    pub variables: Vec<Variable>,
    pub validations: Vec<Validation>,
    pub audit_annotations: Vec<AuditAnnotation>,
}

/// `spec` of a MutatingAdmissionPolicy.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[expect(missing_docs, reason = "the fields are Kubernetes' own, documented there")]
pub struct MutatingPolicySpec {
    pub failure_policy: Option<String>,
    pub param_kind: Option<ParamKind>,
    pub match_constraints: Option<MatchResources>,
    pub match_conditions: Vec<MatchCondition>,
    pub variables: Vec<Variable>,
    pub mutations: Vec<Mutation>,
    pub reinvocation_policy: String,
}

/// `spec` of a UniquePolicy: Kubernetes' fields where it has some.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct UniquePolicySpec {
    /// What an error in an expression does: `Fail`, which refuses, or `Ignore`.
    pub failure_policy: Option<String>,
    /// Which objects are subject to it.
    pub match_constraints: Option<MatchResources>,
    /// Which of them; may ask of `object` only.
    pub match_conditions: Vec<MatchCondition>,
    /// Named expressions, which may ask of `object` only.
    pub variables: Vec<Variable>,
    /// What no other object may have: a string or a list of strings. Nothing, if it is empty or null.
    pub key: String,
    /// What the object was observed to have: no other object's key may be among it.
    pub reported: String,
    /// What is said to whoever is refused, before the key and its holder.
    pub message: String,
    /// The same, in full; also sees `key` and `holder`.
    pub message_expression: String,
}

/// `spec` of a binding; mutating bindings have no `validationActions`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[expect(missing_docs, reason = "the fields are Kubernetes' own, documented there")]
pub struct BindingSpec {
    pub policy_name: String,
    pub param_ref: Option<ParamRef>,
    pub match_resources: Option<MatchResources>,
    pub validation_actions: Vec<String>,
}

/// The kind of the objects that `params` can be.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[expect(missing_docs, reason = "the fields are Kubernetes' own, documented there")]
pub struct ParamKind {
    pub api_version: String,
    pub kind: String,
}

/// Which objects of the param kind a binding uses.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[expect(missing_docs, reason = "the fields are Kubernetes' own, documented there")]
pub struct ParamRef {
    pub name: String,
    pub namespace: String,
    pub selector: Option<LabelSelector>,
    pub parameter_not_found_action: Option<String>,
}

/// Which requests are matched.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[expect(missing_docs, reason = "the fields are Kubernetes' own, documented there")]
pub struct MatchResources {
    pub namespace_selector: Option<LabelSelector>,
    pub object_selector: Option<LabelSelector>,
    pub resource_rules: Vec<ResourceRule>,
    pub exclude_resource_rules: Vec<ResourceRule>,
    pub match_policy: Option<String>,
}

/// Operations on resources.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[expect(missing_docs, reason = "the fields are Kubernetes' own, documented there")]
pub struct ResourceRule {
    pub resource_names: Vec<String>,
    pub operations: Vec<String>,
    pub api_groups: Vec<String>,
    pub api_versions: Vec<String>,
    pub resources: Vec<String>,
    pub scope: Option<String>,
}

/// A label selector.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[expect(missing_docs, reason = "the fields are Kubernetes' own, documented there")]
pub struct LabelSelector {
    pub match_labels: BTreeMap<String, String>,
    pub match_expressions: Vec<LabelRequirement>,
}

/// One requirement of a label selector.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[expect(missing_docs, reason = "the fields are Kubernetes' own, documented there")]
pub struct LabelRequirement {
    pub key: String,
    pub operator: String,
    pub values: Vec<String>,
}

/// A condition on requests.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[expect(missing_docs, reason = "the fields are Kubernetes' own, documented there")]
pub struct MatchCondition {
    pub name: String,
    pub expression: String,
}

/// A named expression.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[expect(missing_docs, reason = "the fields are Kubernetes' own, documented there")]
pub struct Variable {
    pub name: String,
    pub expression: String,
}

/// A rule that must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[expect(missing_docs, reason = "the fields are Kubernetes' own, documented there")]
pub struct Validation {
    pub expression: String,
    pub message: String,
    pub message_expression: String,
    pub reason: Option<String>,
}

/// A value for the audit log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[expect(missing_docs, reason = "the fields are Kubernetes' own, documented there")]
pub struct AuditAnnotation {
    pub key: String,
    pub value_expression: String,
}

/// A change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[expect(missing_docs, reason = "the fields are Kubernetes' own, documented there")]
pub struct Mutation {
    pub patch_type: String,
    pub apply_configuration: Option<Patch>,
    pub json_patch: Option<Patch>,
}

/// The expression of a change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[expect(missing_docs, reason = "the fields are Kubernetes' own, documented there")]
pub struct Patch {
    pub expression: String,
}

impl ValidatingPolicySpec {
    pub(crate) fn fill_defaults(&mut self) {
        self.failure_policy.get_or_insert_with(|| "Fail".to_owned());
        self.match_constraints.iter_mut().for_each(MatchResources::fill_defaults);
    }
}

impl MutatingPolicySpec {
    pub(crate) fn fill_defaults(&mut self) {
        self.failure_policy.get_or_insert_with(|| "Fail".to_owned());
        self.match_constraints.iter_mut().for_each(MatchResources::fill_defaults);
    }
}

impl UniquePolicySpec {
    /// An object can gain its key whenever it is written, so that is when we are asked.
    pub(crate) fn fill_defaults(&mut self) {
        self.failure_policy.get_or_insert_with(|| "Fail".to_owned());
        self.match_constraints.iter_mut().for_each(MatchResources::fill_defaults);
        let constraints = self.match_constraints.iter_mut();
        for rule in constraints.flat_map(|constraints| &mut constraints.resource_rules) {
            if rule.operations.is_empty() || rule.operations == ["*"] {
                rule.operations = vec!["CREATE".to_owned(), "UPDATE".to_owned()];
            }
        }
    }
}

impl BindingSpec {
    pub(crate) fn fill_defaults(&mut self) {
        self.match_resources.iter_mut().for_each(MatchResources::fill_defaults);
    }
}

impl MatchResources {
    fn fill_defaults(&mut self) {
        self.match_policy.get_or_insert_with(|| "Equivalent".to_owned());
        self.namespace_selector.get_or_insert_default();
        self.object_selector.get_or_insert_default();
        for rule in self.resource_rules.iter_mut().chain(&mut self.exclude_resource_rules) {
            rule.scope.get_or_insert_with(|| "*".to_owned());
        }
    }
}
