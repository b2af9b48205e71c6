//! Puts the cases to a real API server and writes down what it says.
//!
//! All cases live side by side: each has a namespace of its own, and its bindings match only there. The order is what
//! makes it fast and sure: first everything that policies could get in the way of, then all policies at once, then one
//! more policy of each kind, the canary. Policies take effect some time after they were created, but in the
//! order in which they were, so that once the canary's is felt, all are.

use super::{
    audit::AuditLog,
    canary,
    case::{Ask, Case, Topic, judge},
    kind,
    recording::{
        Acceptance, Access, Answer, Document, Exchange, Recording, Recordings, Request, stable,
    },
    wire::{Message, Reply, Wire},
};
use crate::{control_plane::ControlPlane, progress::Progress};
use anyhow::{Context, Result, bail};
use http::Method;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

/// What stands in the recordings for the end of a name that the API server made up.
const MADE_UP: &str = "xxxxx";

/// Records all topics, in their order. The control plane must have an audit log.
///
/// `known` is what former runs recorded.
pub async fn record(
    plane: &ControlPlane,
    topics: &[Topic],
    known: &[Recordings],
) -> Result<Vec<Recordings>> {
    let wire = Wire::connect(plane.admin_kubeconfig()).await?;
    let mut recorder = Recorder { audit: AuditLog::open(&plane.audit_log())?, wire };
    let cases: Vec<&Case> = topics.iter().flat_map(|topic| &topic.cases).collect();

    let progress = Progress::start("judging: what is there before the policies");
    recorder.install_kinds().await?;
    recorder.let_everybody_write().await?;
    let mut recordings = Vec::new();
    for case in &cases {
        let about = || format!("case {} could not be prepared", case.id);
        recordings.push(recorder.prepare(case).await.with_context(about)?);
    }
    progress.done();

    let progress = Progress::start("judging: the policies");
    canary::prepare(&recorder.wire, &cases).await?;
    for (case, recording) in cases.iter().zip(&mut recordings) {
        recording.access = recorder.access(case).await?;
        recording.documents = recorder.documents(case).await?;
    }
    canary::wait(&recorder.wire).await?;
    progress.done();

    let progress = Progress::start("judging: the requests");
    for (case, recording) in cases.iter().zip(&mut recordings) {
        for (number, ask) in case.requests.iter().enumerate() {
            let exchange = &mut recording.requests[number];
            let id = format!("{}.{number}", case.id);
            let answer = recorder.ask(ask, exchange, &id).await.context(id)?;
            exchange.answers.push(answer);
        }
    }
    progress.done();

    let mut recordings = recordings.into_iter();
    let of_topic = |topic: &Topic| Recordings {
        topic: topic.name.clone(),
        about: topic.about.trim().to_owned(),
        cases: recordings.by_ref().take(topic.cases.len()).collect(),
    };
    let mut now: Vec<Recordings> = topics.iter().map(of_topic).collect();
    remember(&mut now, known, topics);
    Ok(now)
}

/// Where chance decides, one run shows one answer: those of former runs are kept beside it.
fn remember(now: &mut [Recordings], known: &[Recordings], topics: &[Topic]) {
    let known: Vec<&Recording> = known.iter().flat_map(|topic| &topic.cases).collect();
    let asks = topics.iter().flat_map(|topic| &topic.cases);
    for (case, recording) in asks.zip(now.iter_mut().flat_map(|topic| &mut topic.cases)) {
        let before = known.iter().find(|before| {
            before.id == recording.id
                && before.documents == recording.documents
                && before.requests.len() == recording.requests.len()
        });
        let Some(before) = before else { continue };
        let exchanges = recording.requests.iter_mut().zip(&before.requests);
        for (ask, (exchange, before)) in case.requests.iter().zip(exchanges) {
            let same = before.request == exchange.request;
            let old = before.answers.iter().filter(|_| same && ask.outcomes > 1);
            let old: Vec<_> = old.filter(|old| !exchange.answers.contains(old)).cloned().collect();
            exchange.answers.extend(old);
            exchange
                .answers
                .sort_by_key(|answer| serde_json::to_string(answer).unwrap_or_default());
        }
    }
}

struct Recorder {
    wire: Wire,
    audit: AuditLog,
}

impl Recorder {
    async fn install_kinds(&self) -> Result<()> {
        let uri = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        for definition in super::kinds()? {
            self.must(&Method::POST, uri, Some(&definition)).await?;
            let name = definition["metadata"]["name"].as_str().unwrap_or_default();
            let uri = format!("{uri}/{name}");
            canary::eventually("the kinds are served", async || {
                let found = self.must(&Method::GET, &uri, None).await?;
                let conditions = found["status"]["conditions"].as_array().into_iter().flatten();
                let mut established = conditions.filter(|c| c["type"] == "Established");
                Ok(established.any(|condition| condition["status"] == "True"))
            })
            .await?;
        }
        Ok(())
    }

    /// So that the users of the cases get as far as admission.
    async fn let_everybody_write(&self) -> Result<()> {
        let role = json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": { "name": "judge-everybody" },
            "rules": [{ "apiGroups": ["", "judge.ironward.dev"], "verbs": ["get", "create", "update", "delete"],
                "resources": ["configmaps", "widgets", "gadgets"] }] });
        let binding = json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
            "metadata": { "name": "judge-everybody" },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "judge-everybody" },
            "subjects": [{ "kind": "Group", "name": "system:authenticated" }] });
        for object in [role, binding] {
            self.create(&object).await?;
        }
        Ok(())
    }

    /// Makes what the case finds and reads what its requests would come to without policies.
    async fn prepare(&self, case: &Case) -> Result<Recording> {
        let mut recording = Recording {
            id: case.id.clone(),
            name: case.name.clone(),
            given: Vec::new(),
            access: Vec::new(),
            documents: Vec::new(),
            requests: Vec::new(),
        };
        for object in &case.given {
            recording.given.push(stable(self.create(object).await?));
        }
        for ask in &case.requests {
            recording.requests.push(self.prepare_ask(ask).await?);
        }
        Ok(recording)
    }

    async fn access(&self, case: &Case) -> Result<Vec<Access>> {
        let mut all = Vec::new();
        for spec in &case.access {
            let status = canary::access(&self.wire, spec).await?;
            all.push(Access { spec: spec.clone(), status });
        }
        Ok(all)
    }

    async fn prepare_ask(&self, ask: &Ask) -> Result<Exchange> {
        let old = match &ask.old {
            None => None,
            Some(old) => {
                let mut stored = self.create(old).await?;
                if let Some(status) = old.get("status").filter(|_| ask.kind.kind == "Widget") {
                    stored["status"] = status.clone();
                    let uri = format!("{}/status", path(ask, &ask.name));
                    self.must(&Method::PUT, &uri, Some(&stored)).await?;
                }
                let uri = match ask.subresource.as_str() {
                    "" => path(ask, &ask.name),
                    subresource => format!("{}/{subresource}", path(ask, &ask.name)),
                };
                Some(self.must(&Method::GET, &uri, None).await?)
            }
        };
        let dry = Ask { dry_run: ask.operation != "CONNECT", ..ask.clone() };
        let reply = self.perform(&dry, None).await?;
        let without_policies = reply.refusal();
        let object = match ask.operation {
            "CREATE" | "UPDATE" if without_policies.is_none() => Some(reply.body),
            _ => ask.object.clone(),
        };
        let object = object.map(|object| named(ask, &stable(object))).transpose()?;
        let spoken = object.as_ref().or(old.as_ref()).context("a request has an object")?;
        let api = spoken["apiVersion"].as_str().unwrap_or("v1");
        let (group, version) = api.split_once('/').unwrap_or(("", api));
        let name = object.as_ref().and_then(|object| object["metadata"]["name"].as_str());
        let request = Request {
            operation: ask.operation.into(),
            kind: json!({ "group": group, "version": version, "kind": spoken["kind"] }),
            resource: json!({ "group": ask.kind.group, "version": ask.version,
                "resource": ask.kind.plural }),
            sub_resource: ask.subresource.clone(),
            name: name.unwrap_or(&ask.name).to_owned(),
            namespace: ask.namespace.clone(),
            user_info: ask.user.clone(),
            dry_run: ask.dry_run,
            options: options(ask),
            object,
            old_object: old.map(stable),
        };
        Ok(Exchange { request, without_policies, answers: Vec::new() })
    }

    async fn documents(&self, case: &Case) -> Result<Vec<Document>> {
        let mut documents = Vec::new();
        for document in &case.documents {
            let reply = self.wire.send(&judge(), creation(document, &policy_uri(document))).await?;
            let refusal = reply.refusal();
            let stored = (case.stored && refusal.is_none()).then(|| reply.body["spec"].clone());
            let acceptance = Acceptance { refusal, warnings: reply.warnings, stored };
            documents.push(Document { document: document.clone(), acceptance });
        }
        Ok(documents)
    }

    async fn ask(&mut self, ask: &Ask, exchange: &Exchange, id: &str) -> Result<Answer> {
        let reply = self.perform(ask, Some(id)).await?;
        let audit_annotations = self.audit.annotations_of(id).await?;
        let refusal = reply.refusal();
        let changed = refusal.is_none() && matches!(ask.operation, "CREATE" | "UPDATE");
        let mut object = changed.then(|| named(ask, &stable(reply.body))).transpose()?;
        if let (Some(object), "CREATE") = (&mut object, ask.operation) {
            // It has one only now that it is stored.
            object["metadata"].as_object_mut().map(|metadata| metadata.remove("resourceVersion"));
        }
        let object = object.filter(|object| Some(object) != exchange.request.object.as_ref());
        named(ask, &Answer { refusal, warnings: reply.warnings, audit_annotations, object })
    }

    async fn perform(&self, ask: &Ask, audit_id: Option<&str>) -> Result<Reply> {
        let mut uri = match (ask.operation, ask.subresource.as_str()) {
            ("CREATE", "") => path(ask, ""),
            (_, "") => path(ask, &ask.name),
            (_, subresource) => format!("{}/{subresource}", path(ask, &ask.name)),
        };
        let mut query = Vec::new();
        if ask.dry_run {
            query.push("dryRun=All");
        }
        if matches!(ask.operation, "CREATE" | "UPDATE") {
            query.push("fieldManager=judge");
        }
        if !ask.query.is_empty() {
            query.push(&ask.query);
        }
        if !query.is_empty() {
            uri = format!("{uri}?{}", query.join("&"));
        }
        let (method, body) = match ask.operation {
            "CREATE" => (Method::POST, ask.object.clone()),
            "UPDATE" => (Method::PUT, Some(self.as_read_before(ask).await?)),
            "DELETE" => (Method::DELETE, None),
            _ => (Method::POST, None),
        };
        let message = Message { method: &method, uri: &uri, body: body.as_ref(), audit_id };
        self.wire.send(&ask.user, message).await
    }

    /// With what the API server keeps in an object, as it is sent by everyone who read it before.
    async fn as_read_before(&self, ask: &Ask) -> Result<Value> {
        let found = self.must(&Method::GET, &path(ask, &ask.name), None).await?;
        let mut object = ask.object.clone().unwrap_or_default();
        for field in ["creationTimestamp", "resourceVersion", "uid"] {
            object["metadata"][field] = found["metadata"][field].clone();
        }
        Ok(object)
    }

    async fn create(&self, object: &Value) -> Result<Value> {
        self.must(&Method::POST, &kind::collection_of(object)?, Some(object)).await
    }

    async fn must(&self, method: &Method, uri: &str, body: Option<&Value>) -> Result<Value> {
        let message = Message { method, uri, body, audit_id: None };
        let reply = self.wire.send(&judge(), message).await?;
        if let Some(refusal) = reply.refusal() {
            bail!("{method} {uri}: {}", refusal.message);
        }
        Ok(reply.body)
    }
}

/// How a document is created: as strictly as `kubectl apply` does it.
pub(super) fn creation<'a>(document: &'a Value, uri: &'a str) -> Message<'a> {
    Message { method: &Method::POST, uri, body: Some(document), audit_id: None }
}

/// Where a policy or binding is created.
pub(super) fn policy_uri(document: &Value) -> String {
    let plural = match document["kind"].as_str().unwrap_or_default() {
        "ValidatingAdmissionPolicy" => "validatingadmissionpolicies",
        "ValidatingAdmissionPolicyBinding" => "validatingadmissionpolicybindings",
        "MutatingAdmissionPolicy" => "mutatingadmissionpolicies",
        _ => "mutatingadmissionpolicybindings",
    };
    let version = document["apiVersion"].as_str().unwrap_or_default();
    format!("/apis/{version}/{plural}?fieldValidation=Strict")
}

/// The same with a name that the API server made up made equal for every run.
fn named<T: Serialize + DeserializeOwned>(ask: &Ask, value: &T) -> Result<T> {
    let mut text = serde_json::to_string(value)?;
    let prefix = ask.object.as_ref().and_then(|object| object["metadata"]["generateName"].as_str());
    if let (Some(prefix), true) = (prefix, ask.name.is_empty()) {
        let mut made_equal = String::new();
        let mut parts = text.split(prefix);
        made_equal.push_str(parts.next().unwrap_or_default());
        for part in parts {
            let suffix = part
                .get(..MADE_UP.len())
                .filter(|suffix| suffix.bytes().all(|b| b.is_ascii_alphanumeric()));
            made_equal.push_str(prefix);
            made_equal.push_str(if suffix.is_some() { MADE_UP } else { "" });
            made_equal.push_str(suffix.map_or(part, |suffix| &part[suffix.len()..]));
        }
        text = made_equal;
    }
    Ok(serde_json::from_str(&text)?)
}

fn path(ask: &Ask, name: &str) -> String {
    let collection = ask.kind.collection(&ask.version, &ask.namespace);
    if name.is_empty() { collection } else { format!("{collection}/{name}") }
}

fn options(ask: &Ask) -> Option<Value> {
    let kind = match ask.operation {
        "CREATE" => "CreateOptions",
        "UPDATE" => "UpdateOptions",
        "DELETE" => "DeleteOptions",
        _ => return None,
    };
    let mut options = json!({ "apiVersion": "meta.k8s.io/v1", "kind": kind });
    if ask.dry_run {
        options["dryRun"] = json!(["All"]);
    }
    if ask.operation != "DELETE" {
        options["fieldManager"] = "judge".into();
    }
    Some(options)
}
