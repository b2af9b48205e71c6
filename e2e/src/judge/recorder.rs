//! Puts the cases to a real API server and writes down what it says.
//!
//! All cases live side by side: each has a namespace of its own, and its bindings match only there. The order is what
//! makes it fast and sure: first everything that policies could get in the way of, then all policies at once, then one
//! more policy of each kind, the canary. Policies take effect some time after they were created, but in the
//! order in which they were, so that once the canary's is felt, all are.

use super::{
    asking::{named, options, path, perform},
    audit::AuditLog,
    canary,
    case::{Ask, Case, Topic, judge},
    chance, kind,
    recording::{
        Acceptance, Access, Answer, Document, Exchange, Recording, Recordings, Request, stable,
    },
    stage,
    wire::{Message, Wire},
};
use crate::{control_plane::ControlPlane, progress::Progress};
use anyhow::{Context, Result};
use http::Method;
use serde_json::json;

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
    stage::set(&recorder.wire).await?;
    let mut recordings = Vec::new();
    for case in &cases {
        let about = || format!("case {} could not be prepared", case.id);
        recordings.push(recorder.prepare(case).await.with_context(about)?);
    }
    stage::settled(&recorder.wire).await?;
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
    chance::remember(&mut now, known, topics);
    Ok(now)
}

struct Recorder {
    wire: Wire,
    audit: AuditLog,
}

impl Recorder {
    /// Makes what the case finds and reads what its requests would come to without policies.
    async fn prepare(&self, case: &Case) -> Result<Recording> {
        let mut recording =
            Recording { id: case.id.clone(), name: case.name.clone(), ..Recording::default() };
        for object in &case.given {
            recording.given.push(stable(self.wire.create(object).await?));
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
                let mut stored = self.wire.create(old).await?;
                if let Some(status) = old.get("status").filter(|_| ask.kind.kind == "Widget") {
                    stored["status"] = status.clone();
                    let uri = format!("{}/status", path(ask, &ask.name));
                    let message =
                        Message { method: &Method::PUT, ..Message::create(&uri, &stored) };
                    self.wire.must(message).await?;
                }
                let uri = match ask.subresource.as_str() {
                    "" => path(ask, &ask.name),
                    subresource => format!("{}/{subresource}", path(ask, &ask.name)),
                };
                Some(self.wire.must(Message::get(&uri)).await?)
            }
        };
        let dry = Ask { dry_run: ask.operation != "CONNECT", ..ask.clone() };
        let reply = perform(&self.wire, &dry, None).await?;
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
            // What follows is the path of what is connected to.
            sub_resource: ask.subresource.split('/').next().unwrap_or_default().to_owned(),
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
            let reply = self
                .wire
                .send(&judge(), Message::create(&kind::policies_of(document), document))
                .await?;
            let refusal = reply.refusal();
            let stored = (case.stored && refusal.is_none()).then(|| reply.body["spec"].clone());
            let acceptance = Acceptance { refusal, warnings: reply.warnings, stored };
            documents.push(Document { document: document.clone(), acceptance });
        }
        Ok(documents)
    }

    async fn ask(&mut self, ask: &Ask, exchange: &Exchange, id: &str) -> Result<Answer> {
        let reply = perform(&self.wire, ask, Some(id)).await?;
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
}
