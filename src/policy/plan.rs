//! Which mutating policies are invoked on a request, with which bindings and params: decided before any
//! of them changes the object.

use std::{borrow::Cow, ptr};

use serde_json::Value;

use super::{
    compiled::{Binding, MutatingPolicy, Policy},
    facts::{Facts, Question},
    matching::Matched,
    mutate::MutationDenial,
    params::{self, NoParams},
    request::Request,
    verdict::Reason,
};

/// The groups that Kubernetes' own client knows.
const NATIVE: [&str; 21] = [
    "",
    "admissionregistration.k8s.io",
    "apps",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    "extensions",
    "flowcontrol.apiserver.k8s.io",
    "internal.apiserver.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "resource.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
];

/// A policy and a binding, by where they are, and the name and namespace of a param.
pub(crate) type Key = (usize, usize, Option<(String, String)>);

/// One policy, one binding, one param.
pub(crate) struct Invocation<'a> {
    pub policy: &'a MutatingPolicy,
    pub binding: &'a Binding,
    pub param: Option<Cow<'a, Value>>,
}

impl Invocation<'_> {
    pub(crate) fn key(&self) -> Key {
        let of = |param: &Value, key: &str| {
            let value = param.get("metadata").and_then(|metadata| metadata.get(key));
            value.and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let param = self.param.as_deref().map(|param| (of(param, "name"), of(param, "namespace")));
        (ptr::from_ref(self.policy).addr(), ptr::from_ref(self.binding).addr(), param)
    }
}

/// What is to be invoked, decided before anything is.
pub(crate) struct Plan<'a> {
    pub request: &'a Request<'a>,
    pub facts: &'a dyn Facts,
    pub denials: Vec<MutationDenial>,
    pub questions: Vec<Question>,
}

impl<'a> Plan<'a> {
    pub(crate) fn invocations<'p>(&mut self, policy: &'p MutatingPolicy) -> Vec<Invocation<'p>>
    where
        'a: 'p,
    {
        let definition = &policy.policy;
        if definition.bindings.is_empty() {
            return Vec::new();
        }
        let matched = definition.matcher.matches(self.request, self.facts);
        if !self.is_matched(definition, None, matched) {
            return Vec::new();
        }
        if let Some(kind) = &definition.param_kind
            && let Err(missing) = params::scope(kind, self.facts)
        {
            self.missing(definition, None, missing);
            return Vec::new();
        }
        let mut invocations = Vec::new();
        for binding in &definition.bindings {
            if let Some(matcher) = &binding.matcher {
                let matched = matcher.matches_as_asked(self.request, self.facts);
                if !self.is_matched(definition, Some(binding), matched) {
                    continue;
                }
            }
            match params::collect(
                definition.param_kind.as_ref(),
                binding.param_ref.as_ref(),
                self.request.namespace,
                self.facts,
            ) {
                Ok(found) => invocations.extend(found.iter().map(|param| Invocation {
                    policy,
                    binding,
                    param: param.map(shown),
                })),
                Err(missing) => self.missing(definition, Some(binding), missing),
            }
        }
        invocations
    }

    fn is_matched(&mut self, policy: &Policy, binding: Option<&Binding>, matched: Matched) -> bool {
        match matched {
            Matched::Yes => return true,
            Matched::No => {}
            Matched::Ask(question) => self.missing(policy, binding, NoParams::Ask(question)),
            Matched::Failed(text) => self.missing(policy, binding, NoParams::Error(text)),
        }
        false
    }

    fn missing(&mut self, policy: &Policy, binding: Option<&Binding>, missing: NoParams) {
        match missing {
            NoParams::Ask(question) if self.questions.contains(&question) => {}
            NoParams::Ask(question) => self.questions.push(question),
            NoParams::Error(_) if !policy.fails => {}
            NoParams::Error(text) => {
                let what = if binding.is_some() { "binding" } else { "policy" };
                self.denials.push(MutationDenial {
                    policy: policy.name.clone(),
                    binding: binding.map(|binding| binding.name.clone()),
                    message: format!("failed to configure {what}: {text}"),
                    reason: Reason::Forbidden,
                    is_final: false,
                });
            }
        }
    }
}

/// Mutating policies get a param of Kubernetes' own kinds as its client holds it: without `apiVersion`
/// and `kind`.
fn shown(param: &Value) -> Cow<'_, Value> {
    let api_version = param.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    if !NATIVE.contains(&group) {
        return Cow::Borrowed(param);
    }
    let mut shown = param.clone();
    if let Some(fields) = shown.as_object_mut() {
        fields.retain(|name, _| name != "apiVersion" && name != "kind");
    }
    Cow::Owned(shown)
}

impl Invocation<'_> {
    /// If the policy fails on errors.
    pub(crate) fn denial(&self, message: String, reason: Reason) -> Option<MutationDenial> {
        self.policy.policy.fails.then(|| self.always(message, reason))
    }

    pub(crate) fn always(&self, message: String, reason: Reason) -> MutationDenial {
        MutationDenial {
            policy: self.policy.policy.name.clone(),
            binding: Some(self.binding.name.clone()),
            message,
            reason,
            is_final: false,
        }
    }
}
