//! How one knows that policies are in force: by policies whose effect is known.

use super::{
    case::{Case, judge},
    kind::{self, Kind},
    wire::{Message, Reply, Wire},
};
use anyhow::{Result, bail};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

const PATIENCE: Duration = Duration::from_mins(1);
const NAMESPACE: &str = "canary";
const VERSIONS: [&str; 2] = ["v1", "v1beta1"];

/// Asks until the answer is yes.
pub(super) async fn eventually(
    what: &str,
    mut asked: impl AsyncFnMut() -> Result<bool>,
) -> Result<()> {
    let start = Instant::now();
    while !asked().await? {
        if start.elapsed() > PATIENCE {
            bail!("waited in vain: {what}");
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}

/// The authorizer's answer to the `spec` of a SubjectAccessReview.
pub(super) async fn access(wire: &Wire, spec: &Value) -> Result<Value> {
    let review = json!({ "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
        "spec": spec });
    let uri = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    Ok(wire.must(Message::create(uri, &review)).await?["status"].clone())
}

/// Waits until the authorizer knows all roles and bindings that were created so far.
async fn roles(wire: &Wire) -> Result<()> {
    let rules = json!([{ "apiGroups": ["canary"], "resources": ["canaries"], "verbs": ["sing"] }]);
    for scope in ["", "Cluster"] {
        let kind = format!("{scope}Role");
        let metadata = if scope.is_empty() {
            json!({ "name": NAMESPACE, "namespace": NAMESPACE })
        } else {
            json!({ "name": NAMESPACE })
        };
        let user = format!("{scope}canary");
        let role = json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind,
            "metadata": metadata, "rules": rules });
        let binding = json!({ "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": format!("{kind}Binding"), "metadata": metadata,
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": NAMESPACE },
            "subjects": [{ "kind": "User", "name": user }] });
        for object in [role, binding] {
            wire.create(&object).await?;
        }
        let question = json!({ "user": user, "resourceAttributes": { "namespace": NAMESPACE,
            "group": "canary", "resource": "canaries", "verb": "sing" } });
        eventually("the roles are in force", async || {
            Ok(access(wire, &question).await?["allowed"] == true)
        })
        .await?;
    }
    Ok(())
}

/// Waits until the policies of the cases will find their params, the schemas of what they change, and the roles.
pub(super) async fn prepare(wire: &Wire, cases: &[&Case]) -> Result<()> {
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace",
        "metadata": { "name": NAMESPACE, "labels": { "case": NAMESPACE } } });
    wire.create(&namespace).await?;
    roles(wire).await?;
    let mut names = Vec::new();
    for (number, kind) in param_kinds(cases).iter().enumerate() {
        for family in [Family::Validating, Family::Mutating] {
            let name = format!("canary-{}-{number}", family.word().to_ascii_lowercase());
            // No such param exists, and this is said only by those who can look for it.
            let param = json!({ "selector": { "matchLabels": { "canary": "none" } },
                "parameterNotFoundAction": "Deny" });
            family.create(wire, &name, "configmaps", Some((kind, &param))).await?;
            names.push(name);
        }
    }
    Family::Mutating.create(wire, "canary-schema", "widgets", None).await?;
    for name in names {
        eventually("the params can be looked for", async || {
            let refusal = create(wire, &config_map(&name)).await?.refusal();
            Ok(refusal.is_some_and(|refusal| refusal.message.contains("no params found")))
        })
        .await?;
    }
    for version in VERSIONS {
        let widget = json!({ "apiVersion": format!("judge.ironward.dev/{version}"), "kind": "Widget",
            "metadata": { "name": "canary-schema", "namespace": NAMESPACE } });
        eventually("the schemas are known", async || Ok(changed(&create(wire, &widget).await?)))
            .await?;
    }
    Ok(())
}

/// Waits until all policies and bindings that were created so far are in force.
pub(super) async fn wait(wire: &Wire) -> Result<()> {
    Family::Validating.create(wire, "canary-denies", "configmaps", None).await?;
    Family::Mutating.create(wire, "canary-changes", "configmaps", None).await?;
    eventually("validating policies are in force", async || {
        Ok(create(wire, &config_map("canary-denies")).await?.refusal().is_some())
    })
    .await?;
    eventually("mutating policies are in force", async || {
        Ok(changed(&create(wire, &config_map("canary-changes")).await?))
    })
    .await
}

/// The kinds of params that exist. Cases about one that does not exist want it so.
fn param_kinds(cases: &[&Case]) -> BTreeSet<String> {
    let documents = cases.iter().flat_map(|case| &case.documents);
    let kinds = documents.map(|document| &document["spec"]["paramKind"]);
    kinds
        .filter(|kind| {
            let known = Kind::named(kind["kind"].as_str().unwrap_or_default());
            known.is_ok_and(|known| kind["apiVersion"] == known.api_version(known.version))
        })
        .map(Value::to_string)
        .collect()
}

#[derive(Clone, Copy)]
enum Family {
    Validating,
    Mutating,
}

impl Family {
    fn word(self) -> &'static str {
        match self {
            Self::Validating => "Validating",
            Self::Mutating => "Mutating",
        }
    }

    /// A policy that denies, or marks, the object of its own name.
    async fn create(
        self,
        wire: &Wire,
        name: &str,
        resource: &str,
        params: Option<(&String, &Value)>,
    ) -> Result<()> {
        let rule = json!({ "apiGroups": ["*"], "apiVersions": ["*"], "operations": ["CREATE"],
            "resources": [resource], "resourceNames": [name] });
        let mut policy =
            json!({ "matchConstraints": { "resourceRules": [rule], "matchPolicy": "Exact" } });
        let fence = json!({ "namespaceSelector": { "matchLabels": { "case": NAMESPACE } } });
        let mut binding = json!({ "policyName": name, "matchResources": fence });
        match self {
            Self::Validating => {
                policy["validations"] = json!([{ "expression": "false" }]);
                binding["validationActions"] = json!(["Deny"]);
            }
            Self::Mutating => {
                let mark = "Object{metadata: Object.metadata{labels: Object.metadata.labels{canary: 'yes'}}}";
                policy["reinvocationPolicy"] = "Never".into();
                policy["mutations"] = json!([{ "patchType": "ApplyConfiguration",
                    "applyConfiguration": { "expression": mark } }]);
            }
        }
        if let Some((kind, param)) = params {
            policy["paramKind"] = serde_json::from_str(kind)?;
            binding["paramRef"] = param.clone();
        }
        for (kind, spec) in [("", policy), ("Binding", binding)] {
            let kind = format!("{}AdmissionPolicy{kind}", self.word());
            let document = json!({ "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind,
                "metadata": { "name": name }, "spec": spec });
            wire.must(Message::create(&kind::policies_of(&document), &document)).await?;
        }
        Ok(())
    }
}

fn config_map(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": name, "namespace": NAMESPACE } })
}

fn changed(reply: &Reply) -> bool {
    reply.body["metadata"]["labels"]["canary"] == "yes"
}

async fn create(wire: &Wire, object: &Value) -> Result<Reply> {
    let uri = format!("{}?dryRun=All", kind::collection_of(object)?);
    wire.send(&judge(), Message::create(&uri, object)).await
}
