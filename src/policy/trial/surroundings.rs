//! What is known around a request without asking a cluster.

use serde_json::Value;

use crate::policy::{
    cel::authorizer::{Decision, Question as Authorization},
    document::ParamKind,
    facts::{KnownFacts, ParamQuery, Question, Scope, Which},
    selector::Selector,
};

/// What is known around a request.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Surroundings {
    /// Objects, namespaces among them, each with `apiVersion`, `kind` and `metadata`.
    pub objects: Vec<Value>,
    /// Objects that are stored, whose keys no other may have.
    pub stored: Vec<Value>,
    /// What the user may do.
    pub authorized: Authorized,
    /// Whether that is all there is, as in a test, or a part of a cluster that nobody asked.
    pub is_complete: bool,
}

/// What the user may do.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Authorized {
    /// Nobody said.
    #[default]
    Unknown,
    /// Everything that one of these permits.
    To(Vec<Permission>),
}

/// Something that the user may do; what is empty permits all of its kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Permission {
    /// The API verb, or the HTTP verb of a path.
    pub verb: String,
    /// The API group.
    pub group: String,
    /// The resource, plural.
    pub resource: String,
    /// The subresource.
    pub subresource: String,
    /// The namespace.
    pub namespace: String,
    /// The object's name.
    pub name: String,
    /// The path, for what is no resource.
    pub path: String,
}

/// Kinds of Kubernetes' own that people use as params.
const NAMESPACED: [(&str, &str); 2] = [("v1", "ConfigMap"), ("v1", "Secret")];

impl Surroundings {
    /// Puts the answer among the facts, if there is one.
    pub(crate) fn answer(&self, question: &Question, facts: &mut KnownFacts) -> bool {
        match question {
            Question::Namespace(name) => {
                let found = self.find("v1", "Namespace").find(|it| name_of(it) == name.as_str());
                if found.is_none() && !self.is_complete {
                    return false;
                }
                facts.namespaces.insert(name.clone(), found.cloned());
            }
            Question::ParamScope(kind) => {
                let Some(scope) = self.scope(kind) else { return false };
                facts.param_scopes.insert(kind.clone(), Some(scope));
            }
            Question::Params(query) => {
                let found: Vec<Value> = self.params(query).cloned().collect();
                let is_named = matches!(query.which, Which::Named(_)) && !found.is_empty();
                if !self.is_complete && !is_named {
                    return false;
                }
                facts.params.insert(query.as_ref().clone(), found);
            }
            Question::Authorization(question) => {
                let Authorized::To(permissions) = &self.authorized else { return false };
                let allowed = permissions.iter().any(|permission| permission.permits(question));
                facts.authorizations.insert(question.as_ref().clone(), decision(allowed));
            }
        }
        true
    }

    fn find(&self, api_version: &str, kind: &str) -> impl Iterator<Item = &Value> {
        let is =
            move |object: &&Value| object["apiVersion"] == api_version && object["kind"] == kind;
        self.objects.iter().filter(is)
    }

    fn scope(&self, kind: &ParamKind) -> Option<Scope> {
        let known = (kind.api_version.as_str(), kind.kind.as_str());
        let group = kind.api_version.split('/').next().unwrap_or_default();
        let is_ours = super::review::of_ours(group, &kind.kind).is_some();
        if is_ours || NAMESPACED.contains(&known) {
            return Some(Scope::Namespaced);
        }
        match self.find(known.0, known.1).next() {
            Some(object) if object["metadata"]["namespace"].is_string() => Some(Scope::Namespaced),
            Some(_) => Some(Scope::Cluster),
            None => self.is_complete.then_some(Scope::Namespaced),
        }
    }

    fn params(&self, query: &ParamQuery) -> impl Iterator<Item = &Value> {
        let namespace = query.namespace.as_deref();
        let selector = match &query.which {
            Which::Named(_) => None,
            Which::Selected(selector) => Some(Selector::new(selector)),
        };
        self.find(&query.kind.api_version, &query.kind.kind).filter(move |object| {
            let is_there = namespace.is_none_or(|it| object["metadata"]["namespace"] == it);
            is_there
                && match (&query.which, &selector) {
                    (Which::Named(name), _) => name_of(object) == name,
                    (Which::Selected(_), selector) => {
                        selector.as_ref().is_none_or(|selector| selector.matches(*object))
                    }
                }
        })
    }
}

impl Permission {
    fn permits(&self, question: &Authorization) -> bool {
        let fits = |permitted: &str, asked: &str| permitted.is_empty() || permitted == asked;
        match question {
            Authorization::Path { path, verb, .. } => {
                !self.path.is_empty() && self.path == *path && fits(&self.verb, verb)
            }
            Authorization::Resource { resource, verb, .. } => {
                self.path.is_empty()
                    && fits(&self.verb, verb)
                    && fits(&self.group, &resource.group)
                    && fits(&self.resource, &resource.resource)
                    && fits(&self.subresource, &resource.subresource)
                    && fits(&self.namespace, &resource.namespace)
                    && fits(&self.name, &resource.name)
            }
        }
    }
}

fn name_of(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

fn decision(allowed: bool) -> Decision {
    Decision { allowed, denied: false, reason: String::new(), error: None }
}
