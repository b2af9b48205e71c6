//! Which fields the documents have and of what type: Kubernetes 1.36's, as a table.

use super::shape::{Field, Shape, Struct, embedded, field};

const TEXT: Shape = Shape::Text("string");
const TEXTS: Shape = Shape::List("[]string", &TEXT);
const TEXT_MAP: Shape = Shape::Map("map[string]string", &TEXT);

static METADATA: Struct = Struct {
    go: "ObjectMeta",
    fields: &[
        field("name", TEXT),
        field("generateName", TEXT),
        field("namespace", TEXT),
        field("selfLink", TEXT),
        field("uid", Shape::Text("types.UID")),
        field("resourceVersion", TEXT),
        field("generation", Shape::Integer("int64")),
        field("creationTimestamp", TEXT),
        field("deletionTimestamp", TEXT),
        field("deletionGracePeriodSeconds", Shape::Integer("int64")),
        field("labels", TEXT_MAP),
        field("annotations", TEXT_MAP),
        field("ownerReferences", Shape::List("[]v1.OwnerReference", &Shape::Struct(&OWNER))),
        field("finalizers", TEXTS),
        field("managedFields", Shape::List("[]v1.ManagedFieldsEntry", &Shape::Any)),
    ],
};

static OWNER: Struct = Struct {
    go: "OwnerReference",
    fields: &[
        field("apiVersion", TEXT),
        field("kind", TEXT),
        field("name", TEXT),
        field("uid", Shape::Text("types.UID")),
        field("controller", Shape::Bool("bool")),
        field("blockOwnerDeletion", Shape::Bool("bool")),
    ],
};

static SELECTOR: Struct = Struct {
    go: "LabelSelector",
    fields: &[
        field("matchLabels", TEXT_MAP),
        field(
            "matchExpressions",
            Shape::List("[]v1.LabelSelectorRequirement", &Shape::Struct(&REQUIREMENT)),
        ),
    ],
};

static REQUIREMENT: Struct = Struct {
    go: "LabelSelectorRequirement",
    fields: &[
        field("key", TEXT),
        field("operator", Shape::Text("v1.LabelSelectorOperator")),
        field("values", TEXTS),
    ],
};

static RULE: Struct = Struct {
    go: "NamedRuleWithOperations",
    fields: &[
        field("resourceNames", TEXTS),
        embedded(
            "operations",
            "RuleWithOperations.operations",
            Shape::List("[]v1.OperationType", &Shape::Text("v1.OperationType")),
        ),
        embedded("apiGroups", "RuleWithOperations.Rule.apiGroups", TEXTS),
        embedded("apiVersions", "RuleWithOperations.Rule.apiVersions", TEXTS),
        embedded("resources", "RuleWithOperations.Rule.resources", TEXTS),
        embedded("scope", "RuleWithOperations.Rule.scope", Shape::Text("v1.ScopeType")),
    ],
};

static MATCH: Struct = Struct {
    go: "MatchResources",
    fields: &[
        field("namespaceSelector", Shape::Struct(&SELECTOR)),
        field("objectSelector", Shape::Struct(&SELECTOR)),
        field("resourceRules", Shape::List("[]v1.NamedRuleWithOperations", &Shape::Struct(&RULE))),
        field(
            "excludeResourceRules",
            Shape::List("[]v1.NamedRuleWithOperations", &Shape::Struct(&RULE)),
        ),
        field("matchPolicy", Shape::Text("v1.MatchPolicyType")),
    ],
};

static PARAM_KIND: Struct =
    Struct { go: "ParamKind", fields: &[field("apiVersion", TEXT), field("kind", TEXT)] };

static PARAM_REF: Struct = Struct {
    go: "ParamRef",
    fields: &[
        field("name", TEXT),
        field("namespace", TEXT),
        field("selector", Shape::Struct(&SELECTOR)),
        field("parameterNotFoundAction", Shape::Text("v1.ParameterNotFoundActionType")),
    ],
};

static CONDITION: Struct =
    Struct { go: "MatchCondition", fields: &[field("name", TEXT), field("expression", TEXT)] };

static VARIABLE: Struct =
    Struct { go: "Variable", fields: &[field("name", TEXT), field("expression", TEXT)] };

static VALIDATION: Struct = Struct {
    go: "Validation",
    fields: &[
        field("expression", TEXT),
        field("message", TEXT),
        field("reason", Shape::Text("v1.StatusReason")),
        field("messageExpression", TEXT),
    ],
};

static AUDIT: Struct =
    Struct { go: "AuditAnnotation", fields: &[field("key", TEXT), field("valueExpression", TEXT)] };

static APPLY: Struct = Struct { go: "ApplyConfiguration", fields: &[field("expression", TEXT)] };
static JSON_PATCH: Struct = Struct { go: "JSONPatch", fields: &[field("expression", TEXT)] };

static MUTATION: Struct = Struct {
    go: "Mutation",
    fields: &[
        field("patchType", Shape::Text("v1.PatchType")),
        field("applyConfiguration", Shape::Struct(&APPLY)),
        field("jsonPatch", Shape::Struct(&JSON_PATCH)),
    ],
};

const FAILURE_POLICY: Field = field("failurePolicy", Shape::Text("v1.FailurePolicyType"));
static A_CONDITION: Shape = Shape::Struct(&CONDITION);
const CONDITIONS: Field =
    field("matchConditions", Shape::List("[]v1.MatchCondition", &A_CONDITION));
static A_VARIABLE: Shape = Shape::Struct(&VARIABLE);
const VARIABLES: Field = field("variables", Shape::List("[]v1.Variable", &A_VARIABLE));

static VALIDATING_SPEC: Struct = Struct {
    go: "ValidatingAdmissionPolicySpec",
    fields: &[
        field("paramKind", Shape::Struct(&PARAM_KIND)),
        field("matchConstraints", Shape::Struct(&MATCH)),
        field("validations", Shape::List("[]v1.Validation", &Shape::Struct(&VALIDATION))),
        FAILURE_POLICY,
        field("auditAnnotations", Shape::List("[]v1.AuditAnnotation", &Shape::Struct(&AUDIT))),
        CONDITIONS,
        VARIABLES,
    ],
};

static MUTATING_SPEC: Struct = Struct {
    go: "MutatingAdmissionPolicySpec",
    fields: &[
        field("paramKind", Shape::Struct(&PARAM_KIND)),
        field("matchConstraints", Shape::Struct(&MATCH)),
        VARIABLES,
        field("mutations", Shape::List("[]v1.Mutation", &Shape::Struct(&MUTATION))),
        FAILURE_POLICY,
        CONDITIONS,
        field("reinvocationPolicy", Shape::Text("v1.ReinvocationPolicyType")),
    ],
};

static VALIDATING_BINDING_SPEC: Struct = Struct {
    go: "ValidatingAdmissionPolicyBindingSpec",
    fields: &[
        field("policyName", TEXT),
        field("paramRef", Shape::Struct(&PARAM_REF)),
        field("matchResources", Shape::Struct(&MATCH)),
        field(
            "validationActions",
            Shape::List("[]v1.ValidationAction", &Shape::Text("v1.ValidationAction")),
        ),
    ],
};

static MUTATING_BINDING_SPEC: Struct = Struct {
    go: "MutatingAdmissionPolicyBindingSpec",
    fields: &[
        field("policyName", TEXT),
        field("paramRef", Shape::Struct(&PARAM_REF)),
        field("matchResources", Shape::Struct(&MATCH)),
    ],
};

/// Ours; the rest is Kubernetes'.
static UNIQUE_SPEC: Struct = Struct {
    go: "UniquePolicySpec",
    fields: &[
        field("matchConstraints", Shape::Struct(&MATCH)),
        FAILURE_POLICY,
        CONDITIONS,
        VARIABLES,
        field("key", TEXT),
        field("reported", TEXT),
        field("message", TEXT),
        field("messageExpression", TEXT),
    ],
};

pub(crate) static UNIQUE_POLICY: Struct = Struct {
    go: "UniquePolicy",
    fields: &[
        field("apiVersion", TEXT),
        field("kind", TEXT),
        field("metadata", Shape::Struct(&METADATA)),
        field("spec", Shape::Struct(&UNIQUE_SPEC)),
    ],
};

pub(crate) static VALIDATING_POLICY: Struct = Struct {
    go: "ValidatingAdmissionPolicy",
    fields: &[
        field("apiVersion", TEXT),
        field("kind", TEXT),
        field("metadata", Shape::Struct(&METADATA)),
        field("spec", Shape::Struct(&VALIDATING_SPEC)),
        field("status", Shape::Any),
    ],
};

pub(crate) static VALIDATING_BINDING: Struct = Struct {
    go: "ValidatingAdmissionPolicyBinding",
    fields: &[
        field("apiVersion", TEXT),
        field("kind", TEXT),
        field("metadata", Shape::Struct(&METADATA)),
        field("spec", Shape::Struct(&VALIDATING_BINDING_SPEC)),
    ],
};

pub(crate) static MUTATING_POLICY: Struct = Struct {
    go: "MutatingAdmissionPolicy",
    fields: &[
        field("apiVersion", TEXT),
        field("kind", TEXT),
        field("metadata", Shape::Struct(&METADATA)),
        field("spec", Shape::Struct(&MUTATING_SPEC)),
    ],
};

pub(crate) static MUTATING_BINDING: Struct = Struct {
    go: "MutatingAdmissionPolicyBinding",
    fields: &[
        field("apiVersion", TEXT),
        field("kind", TEXT),
        field("metadata", Shape::Struct(&METADATA)),
        field("spec", Shape::Struct(&MUTATING_BINDING_SPEC)),
    ],
};
