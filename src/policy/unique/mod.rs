//! `UniquePolicy`: which keys an object has that no other may have. A UNIQUE constraint over all
//! namespaces. Who has a key is for `crate::uniqueness` to settle.

mod occupied;

use std::collections::BTreeSet;

use serde_json::json;

use super::{
    cel::{MATCH_CONDITIONS_BUDGET, RUNTIME_BUDGET, Value as CelValue},
    document::{Document, ResourceRule, UniquePolicySpec},
    engine::{Compiled, Expression, Outcome, Scope, Stop, Variables},
    json::Json,
    request::{Operation, Request, Versioned},
    selector::Selector,
    spoken::Spoken,
    verdict::{Cause, Denial, Reason},
};
pub use occupied::{Occupant, Occupied, holder};

use crate::uniqueness::Holder;

/// Longest key: it is repeated in messages and in an annotation of its claim.
const LONGEST_KEY: usize = 1024;
/// Longest message that an expression may give, as everywhere.
const LONGEST_MESSAGE: usize = 5 * 1024;

/// A policy that lets no two objects have the same key.
#[derive(Debug)]
pub struct UniquePolicy {
    name: String,
    fails: bool,
    rules: Vec<ResourceRule>,
    selector: Selector,
    conditions: Vec<Expression>,
    variables: Variables,
    key: Expression,
    reported: Option<Expression>,
    message: String,
    message_expression: Option<Expression>,
}

/// The keys of an object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Keys {
    /// What it has, and no other may have.
    pub claimed: BTreeSet<String>,
    /// What it was observed to have, and no other may claim.
    pub reported: BTreeSet<String>,
}

/// Who has a key, for messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held<'a> {
    /// The object.
    pub holder: &'a Holder,
    /// Its kind; may be empty if nobody knows.
    pub kind: &'a str,
}

impl UniquePolicy {
    /// None only if the check let something through that it should not have.
    pub(crate) fn new(
        document: &Document,
        spec: &UniquePolicySpec,
        compiled: Compiled,
    ) -> Option<Self> {
        let Compiled { conditions, variables, messages, keys, .. } = compiled;
        let constraints = spec.match_constraints.as_ref()?;
        let named = spec.variables.iter().map(|it| it.name.clone());
        let mut keys = keys.into_iter();
        Some(Self {
            name: document.metadata.name.clone(),
            fails: spec.failure_policy.as_deref() != Some("Ignore"),
            rules: constraints.resource_rules.clone(),
            selector: Selector::new(&constraints.object_selector.clone().unwrap_or_default()),
            conditions,
            variables: Variables::new(named.zip(variables)),
            key: keys.next()?,
            reported: keys.next(),
            message: spec.message.trim().to_owned(),
            message_expression: messages.into_iter().next(),
        })
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether an object whose keys cannot be evaluated is refused.
    #[must_use]
    pub fn fails(&self) -> bool {
        self.fails
    }

    /// The resources whose objects are subject to it, as group and plural.
    pub fn resources(&self) -> impl Iterator<Item = (&str, &str)> {
        self.rules.iter().flat_map(|rule| {
            let resources = move |group| rule.resources.iter().map(move |it| (group, it.as_str()));
            rule.api_groups.iter().map(String::as_str).flat_map(resources)
        })
    }

    /// Whether objects of a resource may be subject to it.
    #[must_use]
    pub fn covers(&self, resource: Versioned<'_>) -> bool {
        let lists = |texts: &[String], text: &str| texts.iter().any(|it| it == text || it == "*");
        self.rules.iter().any(|rule| {
            lists(&rule.api_groups, resource.group)
                && lists(&rule.api_versions, resource.version)
                && lists(&rule.resources, resource.name)
        })
    }

    /// Whether an object is subject to it, stored or about to be. An error counts as no, unless the
    /// policy fails.
    pub fn matches<'a>(
        &self,
        resource: Versioned<'_>,
        object: impl Into<Json<'a>>,
    ) -> Result<bool, String> {
        let object = object.into();
        if !self.covers(resource) || !self.selector.matches(object) {
            return Ok(false);
        }
        let none = Variables::default();
        let mut scope = Scope::of_object(object, &none, MATCH_CONDITIONS_BUDGET);
        let mut error = None;
        for condition in &self.conditions {
            match evaluated(&mut scope, condition) {
                Ok(value) if value.is_false() => return Ok(false),
                Ok(_) => {}
                Err(text) => error = error.or(Some(text)),
            }
        }
        match error {
            Some(text) if self.fails => Err(text),
            Some(_) => Ok(false),
            None => Ok(true),
        }
    }

    /// What an object has, and no other may have; nothing if it is not subject to the policy.
    pub fn claimed<'a>(
        &self,
        resource: Versioned<'_>,
        object: impl Into<Json<'a>>,
    ) -> Result<BTreeSet<String>, String> {
        let object = object.into();
        if self.matches(resource, object)? {
            self.texts(&self.key, object)
        } else {
            Ok(BTreeSet::new())
        }
    }

    /// All keys of an object that is stored; none if it is not subject to the policy.
    pub fn keys<'a>(
        &self,
        resource: Versioned<'_>,
        object: impl Into<Json<'a>>,
    ) -> Result<Keys, String> {
        let object = object.into();
        if !self.matches(resource, object)? {
            return Ok(Keys::default());
        }
        let reported = self.reported.as_ref().map(|reported| self.texts(reported, object));
        Ok(Keys {
            claimed: self.texts(&self.key, object)?,
            reported: reported.transpose()?.unwrap_or_default(),
        })
    }

    /// The keys that a request gives an object which it had not, in the order in which they are to be
    /// claimed. What it had needs no claim, even if others have it too: they did before.
    pub fn gained(&self, request: &Request<'_>) -> Result<BTreeSet<String>, String> {
        let writes = matches!(request.operation, Operation::Create | Operation::Update);
        let Some(object) = request.object.filter(|_| writes && request.sub_resource.is_empty())
        else {
            return Ok(BTreeSet::new());
        };
        let mut gained = self.claimed(request.resource, object)?;
        if gained.is_empty() {
            return Ok(gained);
        }
        // What cannot be evaluated had no key that could be relied on.
        let before = request.old_object.map(|old| self.claimed(request.resource, old));
        for key in before.and_then(Result::ok).unwrap_or_default() {
            gained.remove(&key);
        }
        Ok(gained)
    }

    /// What refuses a request, because of what another has or because that cannot be told.
    #[must_use]
    pub fn denial(&self, cause: Cause, message: String) -> Denial {
        Denial {
            policy: self.name.clone(),
            binding: None,
            validation: None,
            cause,
            message,
            reason: Reason::Invalid,
        }
    }

    /// What is said of an object that would have a key which is another's. Like every message, it may
    /// begin with a field: `finding::split`.
    #[must_use]
    pub fn message<'a>(&self, object: impl Into<Json<'a>>, key: &str, held: Held<'_>) -> String {
        let Holder { group, resource, namespace, name } = held.holder;
        let (key_value, holder) = (
            json!(key),
            json!({"group": group, "resource": resource, "kind": held.kind,
                "namespace": namespace, "name": name}),
        );
        if let Some(expression) = &self.message_expression {
            let scope = Scope::of_object(object.into(), &self.variables, RUNTIME_BUDGET);
            let said =
                evaluated(&mut scope.held((&key_value).into(), (&holder).into()), expression);
            let text = said.ok().and_then(|it| it.as_text().map(|text| text.trim().to_owned()));
            let is_fit = |text: &String| {
                !text.is_empty() && text.len() <= LONGEST_MESSAGE && !text.contains('\n')
            };
            if let Some(text) = text.filter(is_fit) {
                return text;
            }
        }
        let what = format!("{key} is already used by {held}");
        Spoken::AlreadyUsed.said(match self.message.as_str() {
            "" => format!("{what}: only one object may have it; change it here or there"),
            message => format!("{message}: {what}"),
        })
    }

    fn texts(&self, expression: &Expression, object: Json<'_>) -> Result<BTreeSet<String>, String> {
        let mut scope = Scope::of_object(object, &self.variables, RUNTIME_BUDGET);
        let value = evaluated(&mut scope, expression)?;
        let wrong = |value: &CelValue<'_>| {
            format!(
                "expression '{}' must give a string or a list of strings, and gave {}",
                expression.source(),
                value.type_name()
            )
        };
        let mut found = BTreeSet::new();
        let mut add = |item: &CelValue<'_>| match item.as_str() {
            Some("") => Ok(()),
            None if matches!(item, CelValue::Null) => Ok(()),
            None => Err(wrong(item)),
            Some(key) if key.len() > LONGEST_KEY => Err(format!(
                "expression '{}' gave a key of {} bytes, at most {LONGEST_KEY} are supported",
                expression.source(),
                key.len()
            )),
            Some(key) => {
                found.insert(key.to_owned());
                Ok(())
            }
        };
        if let CelValue::List(items) = &value.0 {
            items.iter().try_for_each(|item| add(&item))?;
        } else {
            add(&value.0)?;
        }
        Ok(found)
    }
}

/// As people write it: `BareMetalHost metal3/node-0`.
impl std::fmt::Display for Held<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.kind.is_empty() {
            return self.holder.fmt(f);
        }
        write!(f, "{} ", self.kind)?;
        if !self.holder.namespace.is_empty() {
            write!(f, "{}/", self.holder.namespace)?;
        }
        f.write_str(&self.holder.name)
    }
}

fn evaluated<'a>(scope: &mut Scope<'a>, expression: &'a Expression) -> Result<Outcome<'a>, String> {
    match scope.evaluate(expression) {
        Ok(result) => result,
        Err(Stop::OutOfBudget(text)) => Err(text),
        // Nothing that could ask is known to these expressions.
        Err(Stop::Ask(question)) => Err(format!("{question} is not known")),
    }
}

#[cfg(test)]
mod tests;
