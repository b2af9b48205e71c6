//! What the cases stand on: the kinds, and the right of everybody to get as far as admission.

use super::{
    canary::eventually,
    wire::{Message, Wire},
};
use anyhow::Result;
use serde_json::json;
use std::collections::BTreeSet;

/// Prepares an API server that nobody has used yet.
pub(super) async fn set(wire: &Wire) -> Result<()> {
    install_kinds(wire).await?;
    let_everybody_write(wire).await
}

/// Waits until the controllers of Kubernetes have put into every namespace what they put into each.
///
/// A case whose policies met those writes would not be alone with its own: one that renames whatever is created finds
/// the name taken.
pub(super) async fn settled(wire: &Wire) -> Result<()> {
    let fields_of = async |uri: &str, field: &str| {
        let list = wire.must(Message::get(uri)).await?;
        let items = list["items"].as_array().into_iter().flatten();
        let names = items.filter_map(|item| item["metadata"][field].as_str().map(str::to_owned));
        anyhow::Ok(names.collect::<BTreeSet<String>>())
    };
    eventually("every namespace has what Kubernetes puts there", async || {
        let namespaces = fields_of("/api/v1/namespaces", "name").await?;
        let selected = |kind, name| format!("/api/v1/{kind}?fieldSelector=metadata.name%3D{name}");
        let authorities =
            fields_of(&selected("configmaps", "kube-root-ca.crt"), "namespace").await?;
        let accounts = fields_of(&selected("serviceaccounts", "default"), "namespace").await?;
        Ok(namespaces.is_subset(&authorities) && namespaces.is_subset(&accounts))
    })
    .await
}

async fn install_kinds(wire: &Wire) -> Result<()> {
    let uri = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    for definition in super::kinds()? {
        wire.must(Message::create(uri, &definition)).await?;
        let name = definition["metadata"]["name"].as_str().unwrap_or_default();
        let uri = format!("{uri}/{name}");
        eventually("the kinds are served", async || {
            let found = wire.must(Message::get(&uri)).await?;
            let conditions = found["status"]["conditions"].as_array().into_iter().flatten();
            let mut established = conditions.filter(|c| c["type"] == "Established");
            Ok(established.any(|condition| condition["status"] == "True"))
        })
        .await?;
    }
    Ok(())
}

/// So that the users of the cases get as far as admission.
async fn let_everybody_write(wire: &Wire) -> Result<()> {
    let role = json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": { "name": "judge-everybody" },
        "rules": [{ "apiGroups": ["", "judge.ironward.dev"], "verbs": ["get", "create", "update", "delete"],
            "resources": ["configmaps", "widgets", "gadgets"] }] });
    let binding = json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": { "name": "judge-everybody" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "judge-everybody" },
        "subjects": [{ "kind": "Group", "name": "system:authenticated" }] });
    for object in [role, binding] {
        wire.create(&object).await?;
    }
    Ok(())
}
