//! Carries out a plan. Makes no choices: what is written, and in which order, is said in [`Plan`]. Every write is bound to what was read.

use anyhow::{Context, Result};
use k8s_openapi::{
    api::core::v1::{Node, Taint},
    apimachinery::pkg::apis::meta::v1::{Condition, Time},
};
use kube::{
    Api, Resource, ResourceExt,
    api::{DeleteParams, ObjectMeta, Patch, PatchParams, Preconditions},
};
use serde_json::{Value, json};

use super::{FIELD_MANAGER, history, observe::Scene, reconcile::Reconciler, workload::told};
use crate::{
    adapters::patch::{precondition, written_by},
    api::{
        BareMetalHost, Metal3Remediation,
        cluster_api::{CLUSTER_NAME, Machine},
        conditions::V1Beta1Condition,
    },
    controllers::{
        history::remember,
        remediation::{
            Asking, HEALTH_CHECK_SUCCEEDED, events,
            observed::Backup,
            plan::{Action, Plan},
            read::{self, OWNER_REMEDIATED, REMEDIATE_MACHINE, taints},
        },
    },
    domain::remediation::{
        FINALIZER, NODE_ANNOTATIONS_BACKUP, NODE_LABELS_BACKUP, OUT_OF_SERVICE_EFFECT,
        OUT_OF_SERVICE_TAINT, OUT_OF_SERVICE_VALUE, POWER_OFF_VALUE, UNHEALTHY_ANNOTATION,
        UNHEALTHY_VALUE, power_off_annotation,
    },
};

impl Reconciler {
    /// Writes what a plan says of a remediation.
    pub(super) async fn write(&self, scene: &mut Scene, plan: &Plan) -> Result<()> {
        let namespace = scene.remediation.namespace().unwrap_or_default();
        if let Some(entry) = &plan.history {
            let said = history::say(&self.client, &namespace, &entry.host, |stored| {
                remember(stored, entry)
            });
            let news = said.await?.and_then(|fields| fields.last_remediation);
            if let Some(outcome) = news.and_then(|record| record.outcome) {
                self.metrics.outcome(outcome);
            }
        }
        if let Some(status) = &plan.status {
            let patch = json!({
                "metadata": precondition(&scene.remediation.metadata),
                "status": status,
            });
            let api = self.remediations_in(&scene.remediation);
            let name = scene.remediation.name_any();
            let written = api.patch_status(&name, &parameters(), &Patch::Merge(patch)).await;
            scene.remediation = written.context("could not write the status")?;
        }
        for event in &plan.events {
            self.tell(scene, event).await;
        }
        Ok(())
    }

    /// Does the one thing.
    pub(super) async fn act(&self, scene: &Scene, action: &Action) -> Result<()> {
        let ours = power_off_annotation(&scene.seen.remediation.uid);
        match action {
            Action::Guard => self.guard(scene).await,
            Action::Release => {
                let all = scene.remediation.finalizers().iter();
                let left: Vec<_> = all.filter(|it| *it != FINALIZER).collect();
                self.annotate(scene, &json!({"finalizers": left})).await
            }
            Action::Delete => self.delete(&scene.remediation).await,
            Action::SwitchOff => {
                self.patch_host(
                    scene,
                    json!({"metadata": {"annotations": {ours: POWER_OFF_VALUE}}}),
                )
                .await
            }
            Action::SwitchOn => {
                self.patch_host(scene, json!({"metadata": {"annotations": {ours: null}}})).await
            }
            Action::GiveUpHost => {
                let mut annotations = json!({ours: null});
                if scene.seen.host.as_ref().is_ok_and(|host| host.unhealthy.is_none()) {
                    annotations[UNHEALTHY_ANNOTATION] = UNHEALTHY_VALUE.into();
                }
                let patch =
                    json!({"metadata": {"annotations": annotations}, "spec": {"online": false}});
                self.patch_host(scene, patch).await
            }
            Action::BackUp(Backup { labels, annotations }) => {
                let kept = json!({"annotations": {
                    NODE_LABELS_BACKUP: serde_json::to_string(labels)?,
                    NODE_ANNOTATIONS_BACKUP: serde_json::to_string(annotations)?,
                }});
                self.annotate(scene, &kept).await
            }
            Action::Taint => taint(scene, true).await,
            Action::Untaint => taint(scene, false).await,
            Action::DeleteNode(uid) => delete_node(scene, uid).await,
            Action::Restore(backup) => {
                restore(scene, backup).await?;
                let forgotten = json!({"annotations": {NODE_LABELS_BACKUP: null, NODE_ANNOTATIONS_BACKUP: null}});
                self.annotate(scene, &forgotten).await
            }
            Action::AskOwner => self.ask_owner(scene).await,
            Action::AnswerRequest => {
                let machine = scene.machine.as_ref().context("there is no Machine")?;
                let mut metadata = precondition(&machine.metadata);
                metadata["annotations"] = json!({REMEDIATE_MACHINE: null});
                let patch = Patch::Merge(json!({"metadata": metadata}));
                let (namespace, name) = names(&machine.metadata);
                let api: Api<Machine> = Api::namespaced(self.client.clone(), &namespace);
                let written = api.patch(&name, &parameters(), &patch).await;
                written.context("could not write the Machine").map(drop)
            }
        }
    }

    fn remediations_in(&self, remediation: &Metal3Remediation) -> Api<Metal3Remediation> {
        Api::namespaced(self.client.clone(), &remediation.namespace().unwrap_or_default())
    }

    /// With the label by which it is counted among those of its Cluster.
    async fn guard(&self, scene: &Scene) -> Result<()> {
        let mut finalizers = scene.remediation.finalizers().to_vec();
        finalizers.push(FINALIZER.to_owned());
        let cluster = scene.seen.machine.as_ref().map(|machine| machine.cluster.clone());
        let change = json!({"finalizers": finalizers, "labels": {CLUSTER_NAME: cluster}});
        self.annotate(scene, &change).await
    }

    /// Changes the metadata of the remediation.
    async fn annotate(&self, scene: &Scene, change: &Value) -> Result<()> {
        let remediation = &scene.remediation;
        let mut metadata = precondition(&remediation.metadata);
        if let (Value::Object(metadata), Value::Object(change)) = (&mut metadata, change) {
            metadata.extend(change.clone());
        }
        let patch = Patch::Merge(json!({"metadata": metadata}));
        let api = self.remediations_in(remediation);
        let written = api.patch(&remediation.name_any(), &parameters(), &patch).await;
        written.context("could not write the remediation").map(drop)
    }

    async fn delete(&self, remediation: &Metal3Remediation) -> Result<()> {
        let uid = Preconditions { uid: remediation.uid(), ..Preconditions::default() };
        let parameters = DeleteParams { preconditions: Some(uid), ..DeleteParams::default() };
        let api = self.remediations_in(remediation);
        match api.delete(&remediation.name_any(), &parameters).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            Err(error) => Err(error).context("could not delete the remediation"),
        }
    }

    async fn patch_host(&self, scene: &Scene, mut patch: Value) -> Result<()> {
        let host = scene.host.as_ref().context("there is no host")?;
        let bound = precondition(&host.metadata);
        patch["metadata"]["uid"] = bound["uid"].clone();
        patch["metadata"]["resourceVersion"] = bound["resourceVersion"].clone();
        let (namespace, name) = names(&host.metadata);
        let api: Api<BareMetalHost> = Api::namespaced(self.client.clone(), &namespace);
        let written = api.patch(&name, &parameters(), &Patch::Merge(patch)).await;
        written.context("could not write the host").map(drop)
    }

    /// Both conditions, where Cluster API reads them now and where it did. Where no MachineHealthCheck has said so, it is said here that the
    /// Machine is not healthy, for its owner replaces no other.
    async fn ask_owner(&self, scene: &Scene) -> Result<()> {
        let machine = scene.machine.as_ref().context("there is no Machine")?;
        let status = asking(machine, &Time(scene.seen.now));
        let patch = json!({"metadata": precondition(&machine.metadata), "status": status});
        let (namespace, name) = names(&machine.metadata);
        let api: Api<Machine> = Api::namespaced(self.client.clone(), &namespace);
        let written = api.patch_status(&name, &parameters(), &Patch::Merge(patch)).await;
        written.context("could not write the conditions of the Machine").map(drop)
    }

    /// What cannot be told is logged: the status says the same. It is told of the host too, which is there when the remediation is gone.
    async fn tell(&self, scene: &Scene, event: &events::Event) {
        let host = scene.host.as_ref().map(|host| host.object_ref(&()));
        for about in [Some(scene.remediation.object_ref(&())), host].into_iter().flatten() {
            let told = self.events.publish(event.reason, &event.note, "Remediate", &about);
            if let Err(error) = told.await {
                tracing::warn!(%error, reason = %event.reason, "an event could not be written");
            }
        }
    }
}

fn asking(machine: &Machine, now: &Time) -> Value {
    let (now_told, told_before) = read::conditions(machine);
    let is_checked = now_told.iter().any(|it| it.type_ == HEALTH_CHECK_SUCCEEDED);
    let (mut conditions, mut deprecated) = (now_told.to_vec(), told_before.to_vec());
    let mut say = |question: &str, reason: Asking| {
        let reason: &str = reason.into();
        conditions.retain(|it| it.type_ != question);
        conditions.push(Condition {
            type_: question.to_owned(),
            status: "False".to_owned(),
            reason: reason.to_owned(),
            message: Asking::MESSAGE.to_owned(),
            last_transition_time: now.clone(),
            observed_generation: None,
        });
        deprecated.retain(|it| it.r#type != question);
        deprecated.push(V1Beta1Condition {
            r#type: question.to_owned(),
            status: "False".to_owned(),
            severity: Some("Warning".to_owned()),
            last_transition_time: now.clone(),
            reason: Some(reason.to_owned()),
            message: Some(Asking::MESSAGE.to_owned()),
        });
    };
    if !is_checked {
        say(HEALTH_CHECK_SUCCEEDED, Asking::RemediationFailed);
    }
    say(OWNER_REMEDIATED, Asking::WaitingForRemediation);
    json!({
        "conditions": conditions, "deprecated": {"v1beta1": {"conditions": deprecated}},
    })
}

async fn taint(scene: &Scene, is_wanted: bool) -> Result<()> {
    let (reached, node) = scene.node.as_ref().context("there is no Node")?;
    let mut all: Vec<_> =
        taints(node).filter(|taint| taint.key != OUT_OF_SERVICE_TAINT).cloned().collect();
    if is_wanted {
        all.push(Taint {
            key: OUT_OF_SERVICE_TAINT.to_owned(),
            value: Some(OUT_OF_SERVICE_VALUE.to_owned()),
            effect: OUT_OF_SERVICE_EFFECT.to_owned(),
            time_added: None,
        });
    }
    let patch = json!({"metadata": precondition(&node.metadata), "spec": {"taints": all}});
    let nodes: Api<Node> = Api::all(reached.client.clone());
    let (name, parameters) = (node.name_any(), parameters());
    told(nodes.patch(&name, &parameters, &Patch::Merge(patch))).await
}

async fn delete_node(scene: &Scene, uid: &str) -> Result<()> {
    let (reached, node) = scene.node.as_ref().context("there is no Node")?;
    let uid = Preconditions { uid: Some(uid.to_owned()), ..Preconditions::default() };
    let parameters = DeleteParams { preconditions: Some(uid), ..DeleteParams::default() };
    let nodes: Api<Node> = Api::all(reached.client.clone());
    let name = node.name_any();
    told(nodes.delete(&name, &parameters)).await
}

/// Where it has nothing of its own.
async fn restore(scene: &Scene, backup: &Backup) -> Result<()> {
    let (reached, node) = scene.node.as_ref().context("there is no Node")?;
    let missing = |had: &std::collections::BTreeMap<String, String>,
                   has: &std::collections::BTreeMap<String, String>| {
        let lost = had.iter().filter(|(key, _)| !has.contains_key(*key));
        Value::Object(lost.map(|(key, value)| (key.clone(), value.clone().into())).collect())
    };
    let mut metadata = precondition(&node.metadata);
    metadata["labels"] = missing(&backup.labels, node.labels());
    metadata["annotations"] = missing(&backup.annotations, node.annotations());
    let nodes: Api<Node> = Api::all(reached.client.clone());
    let (name, parameters) = (node.name_any(), parameters());
    let patch = Patch::Merge(json!({"metadata": metadata}));
    told(nodes.patch(&name, &parameters, &patch)).await
}

fn parameters() -> PatchParams {
    written_by(FIELD_MANAGER)
}

fn names(metadata: &ObjectMeta) -> (String, String) {
    super::followed::key(metadata)
}
