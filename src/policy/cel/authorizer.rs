//! The authorizer of CEL: evaluation stays synchronous, so what is not known comes back as a question.

/// Who is asked about.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Subject {
    /// The user of the admission request.
    Requester,
    /// A service account: `authorizer.serviceAccount(namespace, name)`.
    ServiceAccount {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
}

/// What an expression wants to know: one SubjectAccessReview.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Question {
    /// `authorizer.path(p).check(verb)`.
    Path {
        /// Who.
        subject: Subject,
        /// The URL's path.
        path: String,
        /// The HTTP verb.
        verb: String,
    },
    /// `authorizer.group(g).resource(r)….check(verb)`.
    Resource {
        /// Who.
        subject: Subject,
        /// What.
        resource: ResourceAttributes,
        /// The API verb.
        verb: String,
    },
}

/// What a check on a resource names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct ResourceAttributes {
    /// The API group.
    pub group: String,
    /// The resource, plural.
    pub resource: String,
    /// The subresource, or nothing.
    pub subresource: String,
    /// The namespace, or nothing.
    pub namespace: String,
    /// The object's name, or nothing.
    pub name: String,
    /// As text, or nothing.
    pub field_selector: String,
    /// As text, or nothing.
    pub label_selector: String,
}

/// What the API server answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// Allowed, rather than denied or without opinion.
    pub allowed: bool,
    /// Denied, rather than without opinion.
    pub denied: bool,
    /// Why.
    pub reason: String,
    /// The authorizer failed.
    pub error: Option<String>,
}

/// What is known about a question now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// It was asked before.
    Known(Decision),
    /// It has to be asked; the evaluation stops and gives the question to the caller.
    Unknown,
}

/// The decisions that are known while an expression is evaluated.
pub trait Authorizer {
    /// Looks up a decision; never waits.
    fn decide(&self, question: &Question) -> Answer;

    /// What `authorizer.requestResource` is about. Asked only if an expression names it.
    fn request_resource(&self) -> ResourceAttributes;
}
