//! The objects that a binding hands to its policy as `params`.

use serde_json::Value;

use super::{
    document::{ParamKind, ParamRef},
    facts::{Facts, Lookup, ParamQuery, Question, Scope, Which},
};

/// Why there are no params.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NoParams {
    Ask(Question),
    /// The API server's text.
    Error(String),
}

/// Whether the kind of a policy's params exists; the text if it does not.
pub(crate) fn scope(kind: &ParamKind, facts: &dyn Facts) -> Result<Scope, NoParams> {
    match facts.param_scope(kind) {
        Lookup::Found(scope) => Ok(scope),
        Lookup::Unknown => Err(NoParams::Ask(Question::ParamScope(kind.clone()))),
        Lookup::Absent => {
            let (group, version) =
                kind.api_version.split_once('/').unwrap_or(("", &kind.api_version));
            Err(NoParams::Error(format!(
                "failed to find resource referenced by paramKind: '{group}/{version}, Kind={}'",
                kind.kind
            )))
        }
    }
}

/// What a policy is evaluated with, once for each.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Params<'f> {
    /// It asks for none: once, without.
    Unasked,
    /// None of them if the binding skips what it cannot find.
    Found(&'f [Value]),
}

impl<'f> Params<'f> {
    pub(crate) fn iter(self) -> impl Iterator<Item = Option<&'f Value>> {
        let (unasked, found): (_, &[Value]) = match self {
            Self::Unasked => (Some(None), &[]),
            Self::Found(found) => (None, found),
        };
        unasked.into_iter().chain(found.iter().map(Some))
    }
}

/// The params of a binding, or what is missing for them.
pub(crate) fn collect<'f>(
    kind: Option<&ParamKind>,
    reference: Option<&ParamRef>,
    namespace: &str,
    facts: &'f dyn Facts,
) -> Result<Params<'f>, NoParams> {
    let (Some(kind), Some(reference)) = (kind, reference) else { return Ok(Params::Unasked) };
    let error = |text: &str| NoParams::Error(text.to_owned());
    let namespace = match (scope(kind, facts)?, reference.namespace.as_str(), namespace) {
        (Scope::Cluster, "", _) => None,
        (Scope::Cluster, _, _) => {
            return Err(error(
                "paramRef.namespace must not be provided for a cluster-scoped `paramKind`",
            ));
        }
        (Scope::Namespaced, "", "") => {
            return Err(error(
                "cannot use namespaced paramRef in policy binding that matches cluster-scoped \
                 resources",
            ));
        }
        (Scope::Namespaced, "", requested) => Some(requested.to_owned()),
        (Scope::Namespaced, named, _) => Some(named.to_owned()),
    };
    let which = match &reference.selector {
        Some(selector) if reference.name.is_empty() => Which::Selected(selector.clone()),
        _ => Which::Named(reference.name.clone()),
    };
    let query = ParamQuery { kind: kind.clone(), namespace, which };
    let Some(found) = facts.params(&query) else {
        return Err(NoParams::Ask(Question::Params(Box::new(query))));
    };
    if found.is_empty() && reference.parameter_not_found_action.as_deref() == Some("Deny") {
        return Err(error(
            "no params found for policy binding with `Deny` parameterNotFoundAction",
        ));
    }
    Ok(Params::Found(found))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::policy::facts::KnownFacts;

    fn kind(name: &str) -> ParamKind {
        ParamKind { api_version: "example.com/v1".to_owned(), kind: name.to_owned() }
    }

    fn query(name: &str, namespace: Option<&str>) -> ParamQuery {
        ParamQuery {
            kind: kind(name),
            namespace: namespace.map(str::to_owned),
            which: Which::Named("p".to_owned()),
        }
    }

    fn facts() -> KnownFacts {
        KnownFacts {
            param_scopes: [
                (kind("Local"), Some(Scope::Namespaced)),
                (kind("Global"), Some(Scope::Cluster)),
                (kind("Gone"), None),
            ]
            .into(),
            params: [
                (query("Local", Some("here")), vec![json!(1)]),
                (query("Local", Some("there")), vec![json!(2)]),
                (query("Local", Some("empty")), vec![]),
                (query("Global", None), vec![json!(3)]),
            ]
            .into(),
            ..KnownFacts::default()
        }
    }

    fn reference(namespace: &str, action: &str) -> ParamRef {
        ParamRef {
            name: "p".to_owned(),
            namespace: namespace.to_owned(),
            parameter_not_found_action: Some(action.to_owned()),
            ..ParamRef::default()
        }
    }

    #[rstest]
    #[case::of_the_request("Local", "", "here", vec![json!(1)])]
    #[case::named_namespace("Local", "there", "here", vec![json!(2)])]
    #[case::cluster_scoped("Global", "", "here", vec![json!(3)])]
    #[case::none_found("Local", "empty", "here", vec![])]
    fn params_are_found(
        #[case] of: &str,
        #[case] namespace: &str,
        #[case] requested: &str,
        #[case] want: Vec<Value>,
    ) {
        let facts = facts();
        let found =
            collect(Some(&kind(of)), Some(&reference(namespace, "Allow")), requested, &facts);
        let found: Vec<_> = found.unwrap().iter().flatten().cloned().collect();
        assert_eq!(found, want);
    }

    #[rstest]
    #[case::kind(
        "Gone",
        "",
        "here",
        "failed to find resource referenced by paramKind: 'example.com/v1, Kind=Gone'"
    )]
    #[case::needless_namespace(
        "Global",
        "here",
        "here",
        "paramRef.namespace must not be provided for a cluster-scoped `paramKind`"
    )]
    #[case::no_namespace(
        "Local",
        "",
        "",
        "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
    )]
    #[case::none_found(
        "Local",
        "empty",
        "here",
        "no params found for policy binding with `Deny` parameterNotFoundAction"
    )]
    fn what_is_not_found_says_so(
        #[case] of: &str,
        #[case] namespace: &str,
        #[case] requested: &str,
        #[case] want: &str,
    ) {
        let facts = facts();
        let found =
            collect(Some(&kind(of)), Some(&reference(namespace, "Deny")), requested, &facts);
        assert_eq!(found, Err(NoParams::Error(want.to_owned())));
    }

    #[test]
    fn what_is_not_known_is_asked() {
        let none = KnownFacts::default();
        let asked = collect(Some(&kind("Local")), Some(&reference("", "Deny")), "here", &none);
        assert_eq!(asked, Err(NoParams::Ask(Question::ParamScope(kind("Local")))));
        let facts = facts();
        let asked = collect(Some(&kind("Local")), Some(&reference("", "Deny")), "new", &facts);
        let wanted = Question::Params(Box::new(query("Local", Some("new"))));
        assert_eq!(asked, Err(NoParams::Ask(wanted)));
    }

    #[test]
    fn without_a_reference_params_are_null() {
        let none = KnownFacts::default();
        assert_eq!(collect(Some(&kind("Local")), None, "here", &none), Ok(Params::Unasked));
        assert_eq!(Params::Unasked.iter().collect::<Vec<_>>(), [None]);
        assert_eq!(collect(None, Some(&reference("", "Deny")), "here", &none), Ok(Params::Unasked));
    }
}
