//! What an evaluation may need that is not in the request. What is not known comes back as a
//! question, is fetched by the caller, and the evaluation is repeated: it stays synchronous.

use std::{collections::HashMap, fmt};

use serde_json::Value;

use super::{
    cel::authorizer::{Decision, Question as Authorization, Subject},
    document::{LabelSelector, ParamKind},
};

/// A fact as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lookup<T> {
    /// Not asked yet.
    Unknown,
    /// Asked: there is none.
    Absent,
    /// Asked: this is it.
    Found(T),
}

/// Whether the objects of a kind live in namespaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scope {
    /// They do not.
    Cluster,
    /// They do.
    Namespaced,
}

/// Which objects a binding takes its params from.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ParamQuery {
    /// Their kind.
    pub kind: ParamKind,
    /// Where to look; none for a cluster-scoped kind.
    pub namespace: Option<String>,
    /// Which of them.
    pub which: Which,
}

/// One object by name, or all that a selector selects.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Which {
    /// By name.
    Named(String),
    /// By labels; an empty selector selects all.
    Selected(LabelSelector),
}

/// What the caller must find out before the evaluation can be repeated.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Question {
    /// A namespace, whole.
    Namespace(String),
    /// Whether a kind exists, and in which scope.
    ParamScope(ParamKind),
    /// Objects to be `params`.
    Params(Box<ParamQuery>),
    /// What someone may do.
    Authorization(Box<Authorization>),
}

/// What is missing, in words.
impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Namespace(name) => write!(f, "the labels of namespace {name}"),
            Self::ParamScope(kind) => write!(f, "whether the kind {} exists", kind.kind),
            Self::Params(query) => match &query.which {
                Which::Named(name) => write!(f, "the {} {name}", query.kind.kind),
                Which::Selected(_) => write!(f, "which objects of kind {} exist", query.kind.kind),
            },
            Self::Authorization(question) => {
                let (subject, verb, what) = match question.as_ref() {
                    Authorization::Path { subject, path, verb } => (subject, verb, path.clone()),
                    Authorization::Resource { subject, resource, verb } => {
                        (subject, verb, resource.resource.clone())
                    }
                };
                let who = match subject {
                    Subject::Requester => "the user".to_owned(),
                    Subject::ServiceAccount { namespace, name } => {
                        format!("the service account {namespace}/{name}")
                    }
                };
                write!(f, "whether {who} may {verb} {what}")
            }
        }
    }
}

/// The facts that an evaluation looks up.
pub trait Facts {
    /// A namespace, as the API server returns it.
    fn namespace(&self, name: &str) -> Lookup<&Value>;
    /// The scope of a kind.
    fn param_scope(&self, kind: &ParamKind) -> Lookup<Scope>;
    /// Objects, each with `apiVersion` and `kind`; an empty list is an answer, `None` is not.
    fn params(&self, query: &ParamQuery) -> Option<&[Value]>;
    /// A SubjectAccessReview's answer.
    fn authorization(&self, question: &Authorization) -> Option<&Decision>;
}

/// Facts that were fetched one by one.
#[derive(Debug, Clone, Default)]
pub struct KnownFacts {
    /// By name.
    pub namespaces: HashMap<String, Option<Value>>,
    /// By kind.
    pub param_scopes: HashMap<ParamKind, Option<Scope>>,
    /// By query.
    pub params: HashMap<ParamQuery, Vec<Value>>,
    /// By what was asked.
    pub authorizations: HashMap<Authorization, Decision>,
}

impl Facts for KnownFacts {
    fn namespace(&self, name: &str) -> Lookup<&Value> {
        lookup(self.namespaces.get(name).map(Option::as_ref))
    }

    fn param_scope(&self, kind: &ParamKind) -> Lookup<Scope> {
        lookup(self.param_scopes.get(kind).copied())
    }

    fn params(&self, query: &ParamQuery) -> Option<&[Value]> {
        self.params.get(query).map(Vec::as_slice)
    }

    fn authorization(&self, question: &Authorization) -> Option<&Decision> {
        self.authorizations.get(question)
    }
}

#[expect(clippy::option_option, reason = "not asked, or asked and not there")]
fn lookup<T>(known: Option<Option<T>>) -> Lookup<T> {
    match known {
        None => Lookup::Unknown,
        Some(None) => Lookup::Absent,
        Some(Some(value)) => Lookup::Found(value),
    }
}
