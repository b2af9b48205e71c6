//! Validating policies on a request, decision by decision as the API server makes them; but where it
//! stops at the first denial, all of them are kept.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    cel::RUNTIME_BUDGET,
    conditions::{self, Conditions},
    engine::{Decisions, Inputs, Scope, Stop},
    facts::{Facts, Lookup, Question},
    matching::Matched,
    params::{self, NoParams},
    policy::{Binding, Policy, ValidatingPolicy, Validation},
    request::{Request, namespace_variable},
    verdict::{AuditFailure, Cause, Denial, Reason, Verdict, Warning},
};

/// The longest message that an expression may give.
const LONGEST_MESSAGE: usize = 5 * 1024;
/// The longest audit annotation.
const LONGEST_ANNOTATION: usize = 10 * 1024;
/// More than one expression can cost: its limit, and what a step may overshoot it by.
const MOST_PER_EXPRESSION: u64 = 1_100_000;

/// Everything that policies say of a request, or everything that must be known first.
pub(crate) fn validate(
    policies: &[ValidatingPolicy],
    request: &Request<'_>,
    facts: &dyn Facts,
) -> Result<Verdict, Vec<Question>> {
    let mut run = Run {
        request,
        facts,
        variable: request.variable(request.resource),
        condition_variable: request.variable(request.request_resource),
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
    variable: Value,
    /// Conditions are shown the resource as it was asked for.
    condition_variable: Value,
    verdict: Verdict,
    questions: Vec<Question>,
}

/// What one validation comes to.
struct Decision {
    validation: Option<usize>,
    /// None if it holds.
    denial: Option<(Cause, String, Reason)>,
}

/// What one param comes to.
#[derive(Default)]
struct Decided {
    decisions: Vec<Decision>,
    annotations: Vec<(String, Annotation)>,
}

enum Annotation {
    Publish(String),
    Error(String),
}

impl Run<'_> {
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
            .map_or(Matched::Yes, |it| it.matches(self.request, self.facts));
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
        for param in params {
            match self.param(policy, param, namespace.as_ref()) {
                Ok(decided) => self.act(definition, binding, decided, annotations),
                Err(question) => self.ask(question),
            }
        }
    }

    /// The namespace, if an expression wants it: whole, for the audit annotations see all of it.
    fn namespace(&self, policy: &ValidatingPolicy) -> Result<Option<Value>, Option<Question>> {
        let Some(name) = self.request.object_namespace().filter(|_| policy.wants_namespace())
        else {
            return Ok(None);
        };
        match self.facts.namespace(name) {
            Lookup::Found(namespace) => Ok(Some(namespace.clone())),
            Lookup::Unknown => Err(Some(Question::Namespace(name.to_owned()))),
            Lookup::Absent => Err(None),
        }
    }

    fn param(
        &self,
        policy: &ValidatingPolicy,
        params: Option<&Value>,
        namespace: Option<&Value>,
    ) -> Result<Decided, Question> {
        let definition = &policy.policy;
        let shown = namespace.map(namespace_variable);
        let decisions = Decisions(self.facts);
        let inputs = Inputs {
            request: self.request,
            variable: &self.variable,
            params,
            namespace: shown.as_ref(),
            authorizer: Some(&decisions),
        };
        let for_conditions = Inputs { variable: &self.condition_variable, ..inputs };
        match conditions::evaluate(definition, &for_conditions)? {
            Conditions::Met => {}
            Conditions::NotMet => return Ok(Decided::default()),
            Conditions::Failed(text) => return Ok(Decided::failed(definition, text)),
        }
        let decided = match validations(policy, &inputs)? {
            Ok(decisions) => decisions,
            Err(text) => return Ok(Decided::failed(definition, text)),
        };
        // Annotations have no authorizer, and see the namespace as it is.
        let inputs = Inputs { authorizer: None, namespace, ..inputs };
        match annotations(policy, &inputs)? {
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
        // A decision that is not about one validation stands first, as the API server counts.
        for (index, decision) in decided.decisions.into_iter().enumerate() {
            let Some((cause, message, reason)) = decision.denial else { continue };
            for action in &binding.actions {
                let (policy, binding_name) = (policy.name.clone(), binding.name.clone());
                let message = message.clone();
                match action.as_str() {
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

impl Decided {
    /// One decision instead of all others.
    fn failed(policy: &Policy, text: String) -> Self {
        let denial = policy.fails.then_some((Cause::Error, text, Reason::Invalid));
        Self { decisions: vec![Decision { validation: None, denial }], annotations: Vec::new() }
    }
}

type Stopped<T> = Result<Result<T, String>, Question>;

fn validations(policy: &ValidatingPolicy, inputs: &Inputs<'_>) -> Stopped<Vec<Decision>> {
    let definition = &policy.policy;
    let mut scope = Scope::new(inputs, &definition.variables, RUNTIME_BUDGET);
    let mut results = Vec::with_capacity(policy.validations.len());
    for validation in &policy.validations {
        match scope.evaluate(&validation.expression) {
            Ok(result) => results.push(result.map(|value| value.is_true())),
            Err(Stop::Ask(question)) => return Err(question),
            Err(Stop::OutOfBudget(text)) => return Ok(Err(text)),
        }
    }
    let messages = match messages(policy, inputs, &results, scope.remaining())? {
        Ok(messages) => messages,
        // Then nothing holds any more, not even what was true.
        Err(text) => {
            let text = format!("failed messageExpression: {text}");
            results =
                results.into_iter().map(|result| result.and_then(|_| Err(text.clone()))).collect();
            Vec::new()
        }
    };
    let decisions = policy
        .validations
        .iter()
        .zip(results)
        .enumerate()
        .map(|(index, (validation, result))| Decision {
            validation: Some(index),
            denial: match result {
                Ok(true) => None,
                Ok(false) => {
                    let said = messages.get(index).cloned().flatten();
                    Some((Cause::Rule, message(validation, said), validation.reason))
                }
                Err(text) => definition.fails.then_some((Cause::Error, text, Reason::Invalid)),
            },
        })
        .collect();
    Ok(Ok(decisions))
}

/// What the message expressions say. The API server evaluates them all, always; that shows only if it
/// runs out of budget, so where it cannot, only those that are wanted are evaluated.
fn messages(
    policy: &ValidatingPolicy,
    inputs: &Inputs<'_>,
    results: &[Result<bool, String>],
    budget: u64,
) -> Stopped<Vec<Option<String>>> {
    let expressions = policy.validations.iter().map(|it| it.message_expression.as_ref());
    let count = expressions.clone().flatten().count() + policy.policy.variables.len();
    let is_bounded =
        u64::try_from(count).is_ok_and(|count| count.saturating_mul(MOST_PER_EXPRESSION) <= budget);
    let inputs = Inputs { authorizer: None, ..*inputs };
    let mut scope = Scope::new(&inputs, &policy.policy.variables, budget);
    let mut messages = Vec::with_capacity(results.len());
    for (expression, result) in expressions.zip(results) {
        let wanted = expression.filter(|_| !is_bounded || *result == Ok(false));
        let said = match wanted.map(|expression| scope.evaluate(expression)) {
            None | Some(Ok(Err(_))) => None,
            Some(Ok(Ok(value))) => value.as_text().map(str::to_owned),
            Some(Err(Stop::Ask(question))) => return Err(question),
            Some(Err(Stop::OutOfBudget(text))) => return Ok(Err(text)),
        };
        messages.push(said);
    }
    Ok(Ok(messages))
}

/// What the expression says if it is fit to be shown, else what the policy says, else the rule.
fn message(validation: &Validation, said: Option<String>) -> String {
    let fit = said
        .as_deref()
        .map(str::trim)
        .filter(|said| said.len() <= LONGEST_MESSAGE && !said.contains('\n'))
        .unwrap_or_default();
    match (fit, validation.message.trim()) {
        ("", "") => format!("failed expression: {}", validation.expression.source().trim()),
        ("", message) => message.to_owned(),
        (said, _) => said.to_owned(),
    }
}

fn annotations(
    policy: &ValidatingPolicy,
    inputs: &Inputs<'_>,
) -> Stopped<Vec<(String, Annotation)>> {
    let definition = &policy.policy;
    let mut scope = Scope::new(inputs, &definition.variables, RUNTIME_BUDGET);
    let mut annotations = Vec::new();
    for audit in &policy.audits {
        let annotation = match scope.evaluate(&audit.expression) {
            Err(Stop::Ask(question)) => return Err(question),
            Err(Stop::OutOfBudget(text)) => return Ok(Err(text)),
            Ok(Err(text)) => definition.fails.then_some(Annotation::Error(text)),
            Ok(Ok(value)) => match value.as_text().map(str::trim) {
                Some("") => None,
                Some(text) => Some(Annotation::Publish(cut(text, LONGEST_ANNOTATION).to_owned())),
                None if value.is_null() => None,
                None => Some(Annotation::Error(format!(
                    "valueExpression '{}' resulted in unsupported return type: {}. Return type must \
                     be either string or null.",
                    audit.expression.source(),
                    value.type_name()
                ))),
            },
        };
        annotations.extend(annotation.map(|annotation| (audit.key.clone(), annotation)));
    }
    Ok(Ok(annotations))
}

/// At most so many bytes, whole characters only.
fn cut(text: &str, most: usize) -> &str {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
