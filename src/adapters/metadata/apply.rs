//! Carries out a plan. Makes no choices: what is written, and in which order, is said in [`Plan`](crate::controllers::metadata::plan).

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use futures::{StreamExt, stream};
use k8s_openapi::{ByteString, api::core::v1::Secret};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, ObjectMeta, Patch, PostParams, Preconditions},
};
use serde_json::{Value, json};

use super::{
    FIELD_MANAGER,
    followed::{FollowedMachine, machines},
    metrics::Written,
    reconcile::Reconciler,
};
use crate::{
    adapters::patch::{difference, is_conflict, precondition, written_by},
    api::{Metal3Metadata, metal3metadata::Metal3MetadataStatus},
    controllers::metadata::{
        observed::Link,
        plan::{Own, RESERVED, Version, Write},
    },
    domain::metadata::{META_DATA_KEY, SECRET_TYPE},
};

/// How many rows are carried out at one time.
const ROWS: usize = 16;

/// What became of a row.
enum Row {
    Done,
    /// Something else has the name of a Secret that was to be made.
    Taken(String),
    /// Somebody else wrote first.
    Outrun(anyhow::Error),
}

impl Reconciler {
    pub(super) async fn write_own(&self, metadata: &Metal3Metadata, own: &Own) -> Result<()> {
        let mut change = precondition(&metadata.metadata);
        if let Some(finalizers) = &own.finalizers {
            change["finalizers"] = json!(finalizers);
        }
        if let Some(owners) = &own.owners {
            change["ownerReferences"] = json!(owners);
        }
        if let Some(reserved) = &own.reserved {
            change["annotations"] = json!({RESERVED: reserved});
        }
        let patch = Patch::Merge(json!({"metadata": change}));
        let written = self
            .all(metadata)
            .patch(&metadata.name_any(), &written_by(FIELD_MANAGER), &patch)
            .await;
        self.metrics.written(Written::Metadata);
        written.context("could not write the Metal3Metadata")?;
        Ok(())
    }

    pub(super) async fn write_status(
        &self,
        metadata: &Metal3Metadata,
        status: &Metal3MetadataStatus,
    ) -> Result<()> {
        let before = metadata.status.as_ref().map_or(Ok(json!({})), serde_json::to_value)?;
        let patch = json!({
            "metadata": precondition(&metadata.metadata),
            "status": difference(&before, &serde_json::to_value(status)?),
        });
        let api = self.all(metadata);
        let patch = Patch::Merge(patch);
        let written =
            api.patch_status(&metadata.name_any(), &written_by(FIELD_MANAGER), &patch).await;
        self.metrics.written(Written::Status);
        written.context("could not write the status")?;
        Ok(())
    }

    fn all(&self, metadata: &Metal3Metadata) -> Api<Metal3Metadata> {
        Api::namespaced(self.client.clone(), &metadata.namespace().unwrap_or_default())
    }

    /// Carries out all rows, whatever becomes of one, and returns the names that were not to be had.
    pub(super) async fn carry_out(
        &self,
        namespace: &str,
        rows: Vec<Vec<Write>>,
    ) -> Result<BTreeSet<String>> {
        let ended = stream::iter(rows).map(|row| self.row(namespace, row)).buffer_unordered(ROWS);
        let ended: Vec<_> = ended.collect().await;
        let (mut taken, mut outrun) = (BTreeSet::new(), None);
        for row in ended {
            match row? {
                Row::Done => {}
                Row::Taken(name) => {
                    taken.insert(name);
                }
                Row::Outrun(error) => outrun = Some(error),
            }
        }
        outrun.map_or(Ok(taken), Err)
    }

    async fn row(&self, namespace: &str, row: Vec<Write>) -> Result<Row> {
        let mut version = None;
        for write in row {
            version = match self.write(namespace, &write, version).await {
                Ok(version) => version,
                Err(error) if is_conflict(&error) => {
                    return Ok(match &write {
                        Write::Create { name, .. } => Row::Taken(name.to_string()),
                        Write::Change { .. } | Write::Delete { .. } | Write::Give { .. } => {
                            Row::Outrun(error)
                        }
                    });
                }
                Err(error) if is_gone(&error) => return Ok(Row::Done),
                Err(error) => return Err(error),
            };
        }
        Ok(Row::Done)
    }

    /// Returns the version that it made of a Secret.
    async fn write(
        &self,
        namespace: &str,
        write: &Write,
        version: Option<String>,
    ) -> Result<Option<String>> {
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), namespace);
        match write {
            Write::Create { name, owners, labels, content } => {
                let content = ByteString(content.reveal().clone().into_bytes());
                let secret = Secret {
                    metadata: ObjectMeta {
                        name: Some(name.to_string()),
                        labels: Some(labels.clone()),
                        owner_references: Some(owners.clone()),
                        ..ObjectMeta::default()
                    },
                    type_: Some(SECRET_TYPE.to_owned()),
                    data: Some([(META_DATA_KEY.to_owned(), content)].into()),
                    ..Secret::default()
                };
                let parameters = PostParams {
                    field_manager: Some(FIELD_MANAGER.to_owned()),
                    ..PostParams::default()
                };
                let created = secrets.create(&parameters, &secret).await;
                self.metrics.written(Written::SecretCreated);
                let created = created.with_context(|| format!("could not make Secret {name}"))?;
                Ok(created.metadata.resource_version)
            }
            Write::Change { secret, owners, finalizers, content } => {
                let mut metadata = seen(secret);
                if let Some(owners) = owners {
                    metadata["ownerReferences"] = json!(owners);
                }
                if let Some(finalizers) = finalizers {
                    metadata["finalizers"] = json!(finalizers);
                }
                let mut patch = json!({"metadata": metadata});
                if let Some(content) = content {
                    let content = ByteString(content.reveal().clone().into_bytes());
                    patch["data"] = json!({META_DATA_KEY: content});
                }
                let name = &secret.name;
                let changed =
                    secrets.patch(name, &written_by(FIELD_MANAGER), &Patch::Merge(patch)).await;
                self.metrics.written(Written::SecretChanged);
                let changed = changed.with_context(|| format!("could not change Secret {name}"))?;
                Ok(changed.metadata.resource_version)
            }
            Write::Delete { secret } => {
                let preconditions = Preconditions {
                    uid: Some(secret.uid.clone()),
                    resource_version: version.or_else(|| Some(secret.version.clone())),
                };
                let parameters = DeleteParams::default().preconditions(preconditions);
                let deleted = secrets.delete(&secret.name, &parameters).await;
                self.metrics.written(Written::SecretDeleted);
                deleted.with_context(|| format!("could not delete Secret {}", secret.name))?;
                Ok(None)
            }
            Write::Give { machine, link, secret } => {
                let api: Api<FollowedMachine> =
                    Api::namespaced_with(self.client.clone(), namespace, &machines());
                let reference = json!({"name": secret.to_string(), "namespace": namespace});
                let meta_data = match link {
                    Link::ConfigRef => json!({"dataSecret": reference}),
                    Link::Annotation => reference,
                };
                let patch = json!({"metadata": seen(machine), "spec": {"metaData": meta_data}});
                let name = &machine.name;
                let given = api.patch(name, &written_by(FIELD_MANAGER), &Patch::Merge(patch)).await;
                self.metrics.written(Written::Machine);
                given.with_context(|| format!("could not write to Metal3Machine {name}"))?;
                Ok(None)
            }
        }
    }
}

/// Written to this very object, as it was seen.
fn seen(object: &Version) -> Value {
    json!({"uid": object.uid, "resourceVersion": object.version})
}

fn is_gone(error: &anyhow::Error) -> bool {
    let status = error.downcast_ref::<kube::Error>();
    matches!(status, Some(kube::Error::Api(status)) if status.code == 404)
}
