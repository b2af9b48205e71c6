//! The cases as people write them, and what they stand for: `policy-cases/README.md` says it in words.

use super::recording::UserInfo;
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::{collections::BTreeSet, fs, path::Path};

/// A file of cases.
#[derive(Debug, Clone)]
pub struct Topic {
    /// The name of the file, without its ending.
    pub name: String,
    /// What it is about.
    pub about: String,
    /// Its cases, in order.
    pub cases: Vec<Case>,
}

/// Policies, the world that they find, and requests.
#[derive(Debug, Clone)]
pub struct Case {
    /// Unique among all cases.
    pub id: String,
    /// What it shows, in a sentence.
    pub name: String,
    /// Objects that are there before: the case's own namespace comes first.
    pub given: Vec<Value>,
    /// `spec` of the SubjectAccessReviews that its policies ask.
    pub access: Vec<Value>,
    /// Policies and bindings, complete.
    pub documents: Vec<Value>,
    /// Whether it is about what a document looks like once it is stored.
    pub stored: bool,
    /// What is asked of the API server while the policies are in force.
    pub requests: Vec<Ask>,
}

/// A request, complete.
#[derive(Debug, Clone)]
pub struct Ask {
    /// CREATE, UPDATE, DELETE or CONNECT.
    pub operation: &'static str,
    /// The resource whose path it goes to.
    pub kind: Kind,
    /// The version in that path.
    pub version: String,
    /// Empty if none.
    pub subresource: String,
    /// Empty if the API server is to make one up.
    pub name: String,
    /// Empty if cluster-scoped.
    pub namespace: String,
    /// What is sent.
    pub object: Option<Value>,
    /// What is there before.
    pub old: Option<Value>,
    /// Who asks.
    pub user: UserInfo,
    /// Whether nothing is to be stored.
    pub dry_run: bool,
    /// What else stands behind the `?` of the path.
    pub query: String,
    /// How many answers are possible, because chance decides.
    pub outcomes: usize,
}

/// A resource that cases may ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    /// The kind.
    pub kind: &'static str,
    /// Its group; empty for Kubernetes' core.
    pub group: &'static str,
    /// The version that is meant when none is said.
    pub version: &'static str,
    /// Its name in paths.
    pub plural: &'static str,
    /// Whether it lives in a namespace.
    pub namespaced: bool,
}

const JUDGE: &str = "judge.ironward.dev";
const ADMISSION: &str = "admissionregistration.k8s.io";
const RBAC: &str = "rbac.authorization.k8s.io";

/// All of them.
pub const KINDS: [Kind; 17] = [
    kind("ConfigMap", "", "configmaps", true),
    kind("Secret", "", "secrets", true),
    kind("Pod", "", "pods", true),
    kind("PodTemplate", "", "podtemplates", true),
    kind("Service", "", "services", true),
    kind("ServiceAccount", "", "serviceaccounts", true),
    kind("Namespace", "", "namespaces", false),
    kind("Node", "", "nodes", false),
    kind("Deployment", "apps", "deployments", true),
    kind("Widget", JUDGE, "widgets", true),
    kind("Gadget", JUDGE, "gadgets", false),
    kind("Role", RBAC, "roles", true),
    kind("RoleBinding", RBAC, "rolebindings", true),
    kind("ClusterRole", RBAC, "clusterroles", false),
    kind("ClusterRoleBinding", RBAC, "clusterrolebindings", false),
    kind("Scale", "autoscaling", "scales", true),
    kind("ValidatingAdmissionPolicyBinding", ADMISSION, "validatingadmissionpolicybindings", false),
];

const fn kind(
    kind: &'static str,
    group: &'static str,
    plural: &'static str,
    namespaced: bool,
) -> Kind {
    Kind { kind, group, version: "v1", plural, namespaced }
}

impl Kind {
    /// The one of this name.
    pub fn named(name: &str) -> Result<Self> {
        let found = KINDS.into_iter().find(|kind| kind.kind == name);
        found.with_context(|| format!("{name} is not among the kinds of case.rs"))
    }

    /// Its `apiVersion` in a version.
    #[must_use]
    pub fn api_version(&self, version: &str) -> String {
        if self.group.is_empty() { version.into() } else { format!("{}/{version}", self.group) }
    }

    /// The path of its collection.
    #[must_use]
    pub fn collection(&self, version: &str, namespace: &str) -> String {
        let root = if self.group.is_empty() { "/api" } else { "/apis" };
        let api = self.api_version(version);
        if self.namespaced {
            format!("{root}/{api}/namespaces/{namespace}/{}", self.plural)
        } else {
            format!("{root}/{api}/{}", self.plural)
        }
    }
}

/// The user for whom requests are made unless the case says otherwise: one to whom nothing is forbidden.
#[must_use]
pub fn judge() -> UserInfo {
    UserInfo {
        username: "judge".into(),
        groups: vec!["system:masters".into(), "system:authenticated".into()],
        ..UserInfo::default()
    }
}

/// That no two cases meet in the API server.
pub fn check_ids(topics: &[Topic]) -> Result<()> {
    let mut seen = BTreeSet::new();
    for case in topics.iter().flat_map(|topic| &topic.cases) {
        if !seen.insert(&case.id) {
            bail!("two cases have the id {}", case.id);
        }
    }
    Ok(())
}

impl Topic {
    /// Reads a file and completes all that it leaves unsaid.
    pub fn read(path: &Path) -> Result<Self> {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text = fs::read_to_string(path)?;
        Self::parse(&name, &text).with_context(|| format!("{} is no case file", path.display()))
    }

    fn parse(name: &str, text: &str) -> Result<Self> {
        let Written { about, cases } = serde_saphyr::from_str(text)?;
        let cases = cases.into_iter().map(|case| {
            let id = case["id"].as_str().unwrap_or("of a case without id").to_owned();
            complete(case).with_context(|| format!("case {id} is wrong"))
        });
        Ok(Self { name: name.into(), about, cases: cases.collect::<Result<_>>()? })
    }
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

/// Puts the id in the place of `$id`, and copies in the place of an element with `$times`.
fn spelt_out(value: Value, id: &str) -> Result<Value> {
    Ok(match value {
        Value::String(text) => Value::String(repeated(&text.replace("$id", id))?),
        Value::Array(elements) => {
            let mut all = Vec::new();
            for mut element in elements {
                let times = element.as_object_mut().and_then(|fields| fields.remove("$times"));
                match times.as_ref().and_then(Value::as_u64) {
                    None => all.push(spelt_out(element, id)?),
                    Some(times) => {
                        for number in 1..=times {
                            all.push(spelt_out(numbered(&element, number), id)?);
                        }
                    }
                }
            }
            Value::Array(all)
        }
        Value::Object(fields) => {
            let mut all = Map::new();
            for (key, value) in fields {
                all.insert(repeated(&key.replace("$id", id))?, spelt_out(value, id)?);
            }
            Value::Object(all)
        }
        other => other,
    })
}

fn numbered(value: &Value, number: u64) -> Value {
    match value {
        Value::String(text) => Value::String(text.replace("$n", &number.to_string())),
        Value::Object(fields) => {
            fields.iter().map(|(key, value)| (key.clone(), numbered(value, number))).collect()
        }
        other => other.clone(),
    }
}

/// `$repeat<x|3>` is `xxx`.
fn repeated(text: &str) -> Result<String> {
    let mut done = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("$repeat<") {
        let (inside, behind) = after.split_once('>').context("$repeat<text|times> ends with >")?;
        let (what, times) = inside.split_once('|').context("$repeat<text|times> has a |")?;
        done.push_str(before);
        done.push_str(&what.repeat(times.trim().parse().context("times is a number")?));
        rest = behind;
    }
    done.push_str(rest);
    Ok(done)
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
    default_to(&mut document, "apiVersion", format!("{ADMISSION}/v1").into());
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
    let version = addressed["apiVersion"].as_str().map_or(kind.version, |api| {
        api.rsplit_once('/').map_or(api, |(_, version)| version)
    });
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
        Topic::parse("x", &text).unwrap().cases.remove(0)
    }

    #[test]
    fn a_short_case_becomes_complete_documents_fenced_into_its_namespace() {
        let case = case("  validate: { validations: [{ expression: '$id' }] }\n  requests: [{ create: {} }]");
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
        assert_eq!(case.documents, [json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
            "metadata": { "name": "a" }, "spec": { "validations": [] } })]);
    }

    #[test]
    fn what_is_long_or_many_is_written_short() {
        let case = case("  validate: { validations: [{ $times: 2, expression: 'c$n' }], x: '$repeat<ab|3>!' }");
        let spec = &case.documents[0]["spec"];
        assert_eq!(spec["validations"], json!([{ "expression": "c1" }, { "expression": "c2" }]));
        assert_eq!(spec["x"], "ababab!");
    }
}
