//! Policies and bindings, compiled: what evaluation works on.

use std::collections::BTreeMap;

use super::{
    conditions::{Condition, Numbering},
    document::{BindingSpec, Document, ParamKind, ParamRef, Spec},
    engine::{Compiled, Expression, Variables},
    matching::Matcher,
    ratchet,
    verdict::Reason,
};

/// What both kinds of policies have.
#[derive(Debug)]
pub(crate) struct Policy {
    pub name: String,
    /// Errors deny; otherwise they are ignored.
    pub fails: bool,
    pub matcher: Matcher,
    pub param_kind: Option<ParamKind>,
    pub conditions: Vec<Condition>,
    pub variables: Variables,
    pub bindings: Vec<Binding>,
    /// Whether any expression may want `request`.
    pub wants_request: bool,
}

/// A policy that denies, warns or annotates.
#[derive(Debug)]
pub(crate) struct ValidatingPolicy {
    pub policy: Policy,
    pub validations: Vec<Validation>,
    pub audits: Vec<Audit>,
    /// Whether any expression may want `namespaceObject`; conditions never get it.
    pub wants_namespace: bool,
    /// Whether what the stored object already had only warns.
    pub ratchets: bool,
}

/// A policy that changes objects.
#[derive(Debug)]
pub(crate) struct MutatingPolicy {
    pub policy: Policy,
    pub mutations: Vec<Mutation>,
    pub reinvoked: bool,
}

/// A rule.
#[derive(Debug)]
pub(crate) struct Validation {
    pub expression: Expression,
    pub message: String,
    pub message_expression: Option<Expression>,
    pub reason: Reason,
}

/// A value for the audit log.
#[derive(Debug)]
pub(crate) struct Audit {
    pub key: String,
    pub expression: Expression,
}

/// A change.
#[derive(Debug)]
pub(crate) enum Mutation {
    Apply(Expression),
    JsonPatch(Expression),
}

/// What puts a policy to work.
#[derive(Debug)]
pub(crate) struct Binding {
    pub name: String,
    pub matcher: Option<Matcher>,
    pub param_ref: Option<ParamRef>,
    pub actions: Vec<String>,
}

/// Bindings by the policy they name, sorted by their own names.
pub(crate) type Bindings = BTreeMap<String, Vec<Binding>>;

impl Policy {
    fn has_conditions_on_the_request(&self) -> bool {
        self.conditions.iter().any(|condition| condition.expression().uses_request())
    }
}

impl Mutation {
    fn expression(&self) -> &Expression {
        let (Self::Apply(expression) | Self::JsonPatch(expression)) = self;
        expression
    }
}

impl ValidatingPolicy {
    /// All expressions but the conditions.
    fn expressions(&self) -> impl Iterator<Item = &Expression> {
        let validations = self
            .validations
            .iter()
            .flat_map(|it| std::iter::once(&it.expression).chain(&it.message_expression));
        let audits = self.audits.iter().map(|audit| &audit.expression);
        validations.chain(audits).chain(self.policy.variables.expressions())
    }
}

impl Binding {
    pub(crate) fn new(name: &str, spec: &BindingSpec) -> Self {
        Self {
            name: name.to_owned(),
            matcher: spec.match_resources.as_ref().map(Matcher::new),
            param_ref: spec.param_ref.clone(),
            actions: spec.validation_actions.clone(),
        }
    }
}

/// A validating policy, if the document is one.
pub(crate) fn validating(
    document: &Document,
    compiled: Compiled,
    bindings: Vec<Binding>,
    numbering: &mut Numbering,
) -> Option<ValidatingPolicy> {
    let Spec::ValidatingPolicy(spec) = &document.spec else { return None };
    let Compiled { conditions, variables, validations, messages, audits, .. } = compiled;
    let policy = Policy {
        name: document.metadata.name.clone(),
        fails: spec.failure_policy.as_deref() != Some("Ignore"),
        matcher: Matcher::new(spec.match_constraints.as_ref()?),
        param_kind: spec.param_kind.clone(),
        conditions: spec
            .match_conditions
            .iter()
            .zip(conditions)
            .map(|(said, expression)| numbering.condition(expression.said(&said.expression)))
            .collect(),
        variables: Variables::new(
            spec.variables
                .iter()
                .zip(variables)
                .map(|(said, expression)| (said.name.clone(), expression.said(&said.expression))),
        ),
        bindings,
        wants_request: false,
    };
    let mut messages = messages.into_iter();
    let validations = spec
        .validations
        .iter()
        .zip(validations)
        .map(|(said, expression)| Validation {
            expression: expression.said(&said.expression),
            message: said.message.clone(),
            message_expression: (!said.message_expression.is_empty())
                .then(|| messages.next())
                .flatten()
                .map(|expression| expression.said(&said.message_expression)),
            reason: said.reason.as_deref().and_then(|it| it.parse().ok()).unwrap_or_default(),
        })
        .collect();
    let audits = spec
        .audit_annotations
        .iter()
        .zip(audits)
        .map(|(said, expression)| Audit {
            key: said.key.clone(),
            expression: expression.said(&said.value_expression),
        })
        .collect();
    let mut policy = ValidatingPolicy {
        policy,
        validations,
        audits,
        wants_namespace: false,
        ratchets: ratchet::is_wanted(&document.metadata),
    };
    let wants_namespace = policy.expressions().any(Expression::uses_namespace);
    let wants_request = policy.expressions().any(Expression::uses_request);
    policy.wants_namespace = wants_namespace;
    policy.policy.wants_request = wants_request || policy.policy.has_conditions_on_the_request();
    Some(policy)
}

/// A mutating policy, if the document is one.
pub(crate) fn mutating(
    document: &Document,
    compiled: Compiled,
    bindings: Vec<Binding>,
    numbering: &mut Numbering,
) -> Option<MutatingPolicy> {
    let Spec::MutatingPolicy(spec) = &document.spec else { return None };
    let Compiled { conditions, variables, mutations, .. } = compiled;
    let mut policy = Policy {
        name: document.metadata.name.clone(),
        fails: spec.failure_policy.as_deref() != Some("Ignore"),
        matcher: Matcher::new(spec.match_constraints.as_ref()?),
        param_kind: spec.param_kind.clone(),
        conditions: spec
            .match_conditions
            .iter()
            .zip(conditions)
            .map(|(said, expression)| numbering.condition(expression.said(&said.expression)))
            .collect(),
        variables: Variables::new(
            spec.variables
                .iter()
                .zip(variables)
                .map(|(said, expression)| (said.name.clone(), expression.said(&said.expression))),
        ),
        bindings,
        wants_request: false,
    };
    let mutations: Vec<_> = spec
        .mutations
        .iter()
        .zip(mutations)
        .map(|(said, expression)| match (&said.apply_configuration, &said.json_patch) {
            (Some(patch), _) => Mutation::Apply(expression.said(&patch.expression)),
            (None, Some(patch)) => Mutation::JsonPatch(expression.said(&patch.expression)),
            (None, None) => Mutation::JsonPatch(expression),
        })
        .collect();
    let mut expressions =
        policy.variables.expressions().chain(mutations.iter().map(Mutation::expression));
    let wants_request = expressions.any(Expression::uses_request);
    drop(expressions);
    policy.wants_request = wants_request || policy.has_conditions_on_the_request();
    Some(MutatingPolicy { policy, mutations, reinvoked: spec.reinvocation_policy == "IfNeeded" })
}
