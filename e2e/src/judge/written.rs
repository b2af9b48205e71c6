//! The cases as people write them, and what they leave unsaid: `policy-cases/README.md` says it in words.

use super::{
    case::{Ask, Case, Topic, judge},
    kind::Kind,
    recording::UserInfo,
    spelling::spelt_out,
};
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{fs, path::Path};

impl Topic {
    /// Reads a file and completes all that it leaves unsaid.
    pub fn read(path: &Path) -> Result<Self> {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text = fs::read_to_string(path)?;
        topic(&name, &text).with_context(|| format!("{} is no case file", path.display()))
    }
}

pub(super) fn topic(name: &str, text: &str) -> Result<Topic> {
    let Written { about, cases } = serde_saphyr::from_str(text)?;
    let cases = cases.into_iter().map(|case| {
        let id = case["id"].as_str().unwrap_or("of a case without id").to_owned();
        complete(case).with_context(|| format!("case {id} is wrong"))
    });
    Ok(Topic { name: name.into(), about, cases: cases.collect::<Result<_>>()? })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    about: String,
    cases: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct WrittenCase {
    #[serde(rename = "id")]
    _id: String,
    name: String,
    #[serde(default)]
    given: Vec<Value>,
    #[serde(default)]
    access: Vec<Value>,
    validate: Option<Value>,
    mutate: Option<Value>,
    bind: Option<Value>,
    #[serde(default)]
    documents: Vec<Value>,
    #[serde(default)]
    stored: bool,
    #[serde(default)]
    requests: Vec<WrittenAsk>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct WrittenAsk {
    create: Option<Value>,
    update: Option<Value>,
    delete: Option<Value>,
    connect: Option<Value>,
    old: Option<Value>,
    patch: Option<String>,
    #[serde(default)]
    subresource: String,
    user: Option<UserInfo>,
    #[serde(default)]
    dry_run: bool,
    #[serde(default)]
    query: String,
    #[serde(default = "one")]
    outcomes: usize,
}

fn one() -> usize {
    1
}

fn complete(case: Value) -> Result<Case> {
    let id = case["id"].as_str().context("a case has no id")?.to_owned();
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if id.len() > 40 || !id.chars().all(fits) {
        bail!("an id is a name of at most 40 small letters, digits and hyphens");
    }
    let written: WrittenCase = serde_json::from_value(spelt_out(case, &id)?)?;
    let own = written.given.iter().any(|object| {
        object["kind"] == "Namespace" && object["metadata"]["name"].as_str() == Some(&id)
    });
    let mut given = Vec::new();
    if !own {
        given.push(json!({ "kind": "Namespace", "metadata": { "name": id } }));
    }
    given.extend(written.given);
    let given = given.into_iter().map(|object| complete_given(object, &id));

    let quiet = written.requests.is_empty() || !written.documents.is_empty();
    let bind = written.bind.unwrap_or(if quiet { json!([]) } else { json!({}) });
    let bindings = if let Value::Array(all) = bind { all } else { vec![bind] };
    let mut documents = Vec::new();
    for (kind, spec) in [
        ("ValidatingAdmissionPolicy", written.validate),
        ("MutatingAdmissionPolicy", written.mutate),
    ] {
        let Some(spec) = spec else { continue };
        documents.push(json!({ "kind": kind, "spec": spec }));
        for (number, spec) in bindings.iter().enumerate() {
            let name = if number == 0 { id.clone() } else { format!("{id}-{}", number + 1) };
            let kind = format!("{kind}Binding");
            documents.push(json!({ "kind": kind, "metadata": { "name": name }, "spec": spec }));
        }
    }
    documents.extend(written.documents);
    let requests = written.requests.into_iter().enumerate();
    let requests = requests.map(|(number, ask)| complete_ask(ask, number + 1, &id));
    Ok(Case {
        name: written.name,
        given: given.collect::<Result<_>>()?,
        access: written.access,
        documents: documents.into_iter().map(|document| complete_document(document, &id)).collect(),
        stored: written.stored,
        requests: requests.collect::<Result<_>>()?,
        id,
    })
}

/// Fills in what is not there; what is `null` is meant to be missing.
fn default_to(object: &mut Value, field: &str, value: Value) {
    if let Some(fields) = object.as_object_mut() {
        fields.entry(field).or_insert(value);
    }
}

fn complete_given(mut object: Value, id: &str) -> Result<Value> {
    let kind = Kind::named(object["kind"].as_str().context("a given object has no kind")?)?;
    default_to(&mut object, "apiVersion", kind.api_version(kind.version).into());
    default_to(&mut object, "metadata", json!({}));
    if kind.namespaced {
        default_to(&mut object["metadata"], "namespace", id.into());
    }
    if kind.kind == "Namespace" {
        // What the bindings of the case look for.
        default_to(&mut object["metadata"], "labels", json!({}));
        default_to(&mut object["metadata"]["labels"], "case", id.into());
    }
    Ok(object)
}

fn complete_document(mut document: Value, id: &str) -> Value {
    default_to(&mut document, "apiVersion", "admissionregistration.k8s.io/v1".into());
    default_to(&mut document, "metadata", json!({ "name": id }));
    let kind = document["kind"].as_str().unwrap_or_default().to_owned();
    let spec = &mut document["spec"];
    if kind.ends_with("Binding") {
        default_to(spec, "policyName", id.into());
        default_to(spec, "matchResources", json!({}));
        let fence = json!({ "matchLabels": { "case": id } });
        default_to(&mut spec["matchResources"], "namespaceSelector", fence);
        if kind.starts_with("Validating") {
            default_to(spec, "validationActions", json!(["Deny"]));
        }
    } else {
        let rule = json!({ "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"],
            "operations": ["CREATE", "UPDATE"] });
        default_to(spec, "matchConstraints", json!({ "resourceRules": [rule] }));
        if kind.starts_with("Mutating") {
            default_to(spec, "reinvocationPolicy", "Never".into());
        }
    }
    if let Some(spec) = spec.as_object_mut() {
        spec.retain(|_, value| !value.is_null());
    }
    document
}

fn complete_ask(ask: WrittenAsk, number: usize, id: &str) -> Result<Ask> {
    let (operation, object, old) = match (ask.create, ask.update, ask.delete, ask.connect) {
        (Some(object), None, None, None) => ("CREATE", Some(object), None),
        (None, Some(object), None, None) => {
            ("UPDATE", Some(object), Some(ask.old.context("an update needs an old object")?))
        }
        (None, None, Some(old), None) => ("DELETE", None, Some(old)),
        (None, None, None, Some(object)) => ("CONNECT", Some(object), ask.old),
        _ => bail!("a request is one of create, update, delete, connect"),
    };
    let addressed = old.as_ref().or(object.as_ref()).context("a request has an object")?;
    let kind = Kind::named(addressed["kind"].as_str().unwrap_or("ConfigMap"))?;
    let version = addressed["apiVersion"]
        .as_str()
        .map_or(kind.version, |api| api.rsplit_once('/').map_or(api, |(_, version)| version));
    let version = version.to_owned();
    let metadata = &addressed["metadata"];
    let name = match (metadata["name"].as_str(), metadata.get("generateName")) {
        (Some(name), _) => name.to_owned(),
        (None, Some(_)) => String::new(),
        (None, None) if kind.namespaced => format!("subject-{number}"),
        (None, None) => format!("{id}-{number}"),
    };
    let namespace = match metadata["namespace"].as_str() {
        _ if !kind.namespaced => String::new(),
        Some(namespace) => namespace.to_owned(),
        None => id.to_owned(),
    };
    let whole = |mut object: Value| -> Result<Value> {
        let own = object["kind"].as_str().unwrap_or(kind.kind).to_owned();
        default_to(&mut object, "kind", own.clone().into());
        if operation == "CONNECT" {
            return Ok(object);
        }
        let own = Kind::named(&own)?;
        let spoken = if own == kind { &version } else { own.version };
        default_to(&mut object, "apiVersion", own.api_version(spoken).into());
        default_to(&mut object, "metadata", json!({}));
        if !name.is_empty() {
            default_to(&mut object["metadata"], "name", name.clone().into());
        }
        if !namespace.is_empty() {
            default_to(&mut object["metadata"], "namespace", namespace.clone().into());
        }
        Ok(object)
    };
    Ok(Ask {
        operation,
        kind,
        subresource: ask.subresource,
        patch: ask.patch.map(|kind| format!("application/{kind}")),
        object: object.map(whole).transpose()?,
        old: match (operation, old) {
            // What is connected to is addressed, not made.
            ("CONNECT", _) | (_, None) => None,
            (_, Some(old)) => Some(whole(old)?),
        },
        user: ask.user.map_or_else(judge, with_the_groups_of_everybody),
        dry_run: ask.dry_run,
        query: ask.query,
        outcomes: ask.outcomes,
        version,
        name,
        namespace,
    })
}

/// The API server itself adds these to whoever is named.
fn with_the_groups_of_everybody(mut user: UserInfo) -> UserInfo {
    if let Some(account) = user.username.strip_prefix("system:serviceaccount:") {
        let namespace = account.split(':').next().unwrap_or_default();
        user.groups.push("system:serviceaccounts".into());
        user.groups.push(format!("system:serviceaccounts:{namespace}"));
    }
    user.groups.push("system:authenticated".into());
    user
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(text: &str) -> Case {
        let text = format!("about: x\ncases:\n- id: a\n  name: x\n{text}");
        topic("x", &text).unwrap().cases.remove(0)
    }

    #[test]
    fn a_short_case_becomes_complete_documents_fenced_into_its_namespace() {
        let case = case(
            "  validate: { validations: [{ expression: '$id' }] }\n  requests: [{ create: {} }]",
        );
        assert_eq!(case.documents[0]["metadata"]["name"], "a");
        assert_eq!(case.documents[0]["spec"]["validations"][0]["expression"], "a");
        let binding = &case.documents[1]["spec"];
        let fence = json!({ "namespaceSelector": { "matchLabels": { "case": "a" } } });
        assert_eq!(binding["matchResources"], fence);
        assert_eq!(binding["validationActions"], json!(["Deny"]));
        assert_eq!(case.given[0]["metadata"]["labels"]["case"], "a");
        assert_eq!(case.requests[0].name, "subject-1");
    }

    #[test]
    fn null_means_missing() {
        let case = case("  validate: { matchConstraints: null, validations: [] }");
        assert_eq!(
            case.documents,
            [json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
            "metadata": { "name": "a" }, "spec": { "validations": [] } })]
        );
    }
}
