//! Validating policies on a request, decision by decision as the API server makes them; but where it
//! stops at the first denial, all of them are kept.

use std::{cell::OnceCell, collections::BTreeMap};

use serde_json::Value;

use super::{
    compiled::{Binding, Policy, ValidatingPolicy},
    conditions::{self, Conditions, Memo},
    decide::{self, Annotation, Decided},
    engine::{Decisions, Inputs},
    facts::{Facts, Lookup, Question},
    json::{Json, Tree},
    matching::Matched,
    params::{self, NoParams},
    ratchet,
    request::{Request, namespace_variable},
    verdict::{AuditFailure, Cause, Denial, Reason, Verdict, Warning},
};

/// Everything that policies say of a request, or everything that must be known first.
pub(crate) fn validate<'p>(
    policies: impl Iterator<Item = &'p ValidatingPolicy>,
    request: &Request<'_>,
    facts: &dyn Facts,
) -> Result<Verdict, Vec<Question>> {
    let mut run = Run {
        request,
        facts,
        variable: OnceCell::new(),
        condition_variable: OnceCell::new(),
        conditions: Memo::default(),
        verdict: Verdict::default(),
        questions: Vec::new(),
    };
    for policy in policies {
        run.policy(policy);
    }
    if run.questions.is_empty() { Ok(run.verdict) } else { Err(run.questions) }
}

struct Run<'a> {
    request: &'a Request<'a>,
    facts: &'a dyn Facts,
    /// `request`, made when a policy wants it.
    variable: OnceCell<Tree<'a>>,
    /// Conditions are shown the resource as it was asked for.
    condition_variable: OnceCell<Tree<'a>>,
    conditions: Memo,
    verdict: Verdict,
    questions: Vec<Question>,
}

impl<'a> Run<'a> {
    fn policy(&mut self, policy: &ValidatingPolicy) {
        let definition = &policy.policy;
        if definition.bindings.is_empty() {
            return;
        }
        match definition.matcher.matches(self.request, self.facts) {
            Matched::Yes => {}
            Matched::No => return,
            Matched::Ask(question) => return self.ask(question),
            Matched::Failed(text) => return self.misconfigured(definition, None, &text),
        }
        if let Some(kind) = &definition.param_kind {
            match params::scope(kind, self.facts) {
                Ok(_) => {}
                Err(NoParams::Ask(question)) => return self.ask(question),
                Err(NoParams::Error(text)) => return self.misconfigured(definition, None, &text),
            }
        }
        let mut annotations = BTreeMap::new();
        for binding in &definition.bindings {
            self.binding(policy, binding, &mut annotations);
        }
        for (key, values) in annotations {
            let key = format!("{}/{key}", definition.name);
            self.verdict.audit_annotations.insert(key, values.join(", "));
        }
    }

    fn binding(
        &mut self,
        policy: &ValidatingPolicy,
        binding: &Binding,
        annotations: &mut BTreeMap<String, Vec<String>>,
    ) {
        let definition = &policy.policy;
        let matched = binding
            .matcher
            .as_ref()
            .map_or(Matched::Yes, |it| it.matches_as_asked(self.request, self.facts));
        match matched {
            Matched::Yes => {}
            Matched::No => return,
            Matched::Ask(question) => return self.ask(question),
            Matched::Failed(text) => return self.misconfigured(definition, Some(binding), &text),
        }
        let params = match params::collect(
            definition.param_kind.as_ref(),
            binding.param_ref.as_ref(),
            self.request.namespace,
            self.facts,
        ) {
            Ok(params) => params,
            Err(NoParams::Ask(question)) => return self.ask(question),
            Err(NoParams::Error(text)) => {
                return self.misconfigured(definition, Some(binding), &text);
            }
        };
        let namespace = match self.namespace(policy) {
            Ok(namespace) => namespace,
            Err(Some(question)) => return self.ask(question),
            Err(None) => return self.no_namespace(definition, binding),
        };
        for param in params.iter() {
            let denies = binding.actions.iter().any(|action| action == "Deny");
            match self.param(policy, param, namespace, denies) {
                Ok(decided) => self.act(definition, binding, decided, annotations),
                Err(question) => self.ask(question),
            }
        }
    }

    /// The namespace, if an expression wants it: whole, for the audit annotations see all of it.
    fn namespace(&self, policy: &ValidatingPolicy) -> Result<Option<&'a Value>, Option<Question>> {
        let Some(name) = self.request.object_namespace().filter(|_| policy.wants_namespace) else {
            return Ok(None);
        };
        match self.facts.namespace(name) {
            Lookup::Found(namespace) => Ok(Some(namespace)),
            Lookup::Unknown => Err(Some(Question::Namespace(name.to_owned()))),
            Lookup::Absent => Err(None),
        }
    }

    fn param(
        &self,
        policy: &ValidatingPolicy,
        params: Option<&Value>,
        namespace: Option<&Value>,
        denies: bool,
    ) -> Result<Decided, Question> {
        let definition = &policy.policy;
        let shown = namespace.map(namespace_variable);
        let request = self.request;
        let decisions = Decisions { facts: self.facts, request };
        let wants_request = definition.wants_request;
        let variable =
            wants_request.then(|| self.variable.get_or_init(|| request.variable(request.resource)));
        let inputs = Inputs {
            request,
            variable,
            params: params.map(Json::Value),
            namespace: shown.as_ref().map(Json::Value),
            authorizer: Some(&decisions),
        };
        let is_converted = request.resource != request.request_resource;
        let as_asked = (wants_request && is_converted).then(|| {
            self.condition_variable.get_or_init(|| request.variable(request.request_resource))
        });
        let for_conditions = Inputs { variable: as_asked.or(variable), ..inputs };
        match conditions::evaluate(definition, &for_conditions, &self.conditions)? {
            Conditions::Met => {}
            Conditions::NotMet => return Ok(Decided::default()),
            Conditions::Failed(text) => return Ok(Decided::failed(definition, text)),
        }
        let mut decided = match decide::validations(policy, &inputs)? {
            Ok(decisions) => decisions,
            Err(text) => return Ok(Decided::failed(definition, text)),
        };
        if denies && policy.ratchets {
            ratchet::mark(policy, &inputs, &for_conditions, &mut decided)?;
        }
        // Annotations have no authorizer, and see the namespace as it is.
        let namespace = namespace.map(Json::Value);
        let inputs = Inputs { authorizer: None, namespace, ..inputs };
        match decide::annotations(policy, &inputs)? {
            Ok(annotations) => Ok(Decided { decisions: decided, annotations }),
            Err(text) => Ok(Decided::failed(definition, text)),
        }
    }

    fn act(
        &mut self,
        policy: &Policy,
        binding: &Binding,
        decided: Decided,
        annotations: &mut BTreeMap<String, Vec<String>>,
    ) {
        // A decision that is not about one validation counts as the first, as in the API server.
        for decision in decided.decisions {
            let Some((cause, message, reason)) = decision.denial else { continue };
            let index = decision.validation.unwrap_or_default();
            for action in &binding.actions {
                let (policy, binding_name) = (policy.name.clone(), binding.name.clone());
                let message = message.clone();
                match action.as_str() {
                    "Deny" if decision.was_stored => self.verdict.warnings.push(Warning {
                        policy,
                        binding: binding_name,
                        validation: index,
                        message: ratchet::warning(&message),
                    }),
                    "Deny" => self.verdict.denials.push(Denial {
                        policy,
                        binding: Some(binding_name),
                        validation: decision.validation,
                        cause,
                        message,
                        reason,
                    }),
                    "Warn" => self.verdict.warnings.push(Warning {
                        policy,
                        binding: binding_name,
                        validation: index,
                        message,
                    }),
                    "Audit" => self.verdict.audit_failures.push(AuditFailure {
                        policy,
                        binding: binding_name,
                        validation: index,
                        message,
                        actions: binding.actions.clone(),
                    }),
                    _ => {}
                }
            }
        }
        for (key, annotation) in decided.annotations {
            match annotation {
                Annotation::Publish(value) => {
                    let values = annotations.entry(key).or_default();
                    if !values.contains(&value) {
                        values.push(value);
                    }
                }
                // Whatever the binding's actions are.
                Annotation::Error(message) => self.verdict.denials.push(Denial {
                    policy: policy.name.clone(),
                    binding: Some(binding.name.clone()),
                    validation: None,
                    cause: Cause::Error,
                    message,
                    reason: Reason::Invalid,
                }),
            }
        }
    }

    fn ask(&mut self, question: Question) {
        if !self.questions.contains(&question) {
            self.questions.push(question);
        }
    }

    /// Denies whatever the binding's actions are, if the policy fails on errors.
    fn misconfigured(&mut self, policy: &Policy, binding: Option<&Binding>, text: &str) {
        if policy.fails {
            let what = if binding.is_some() { "binding" } else { "policy" };
            self.verdict.denials.push(Denial {
                policy: policy.name.clone(),
                binding: binding.map(|binding| binding.name.clone()),
                validation: None,
                cause: Cause::Configuration,
                message: format!("failed to configure {what}: {text}"),
                reason: Reason::Invalid,
            });
        }
    }

    fn no_namespace(&mut self, policy: &Policy, binding: &Binding) {
        self.verdict.denials.push(Denial {
            policy: policy.name.clone(),
            binding: Some(binding.name.clone()),
            validation: None,
            cause: Cause::Configuration,
            message: format!("namespaces {:?} not found", self.request.namespace),
            reason: Reason::NotFound,
        });
    }
}
