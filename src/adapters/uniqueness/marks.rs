//! What a person sees on an object that has another's key: a condition, and an event when it is found.
//! The object itself is left as it is.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use anyhow::{Context, Result};
use jiff::Timestamp;
use kube::{Client, api::Patch};
use serde_json::{Value, json};

use super::occupants::Known;
use crate::{
    adapters::{clock, events::Events, patch, stored::Served},
    controllers::duplicate::{CONDITION, Reason},
    policy::Held,
    uniqueness::{Holder, Mark, marks},
};

const FIELD_MANAGER: &str = "ironward-uniqueness";

/// What an object is marked with.
pub(super) fn of(object: &Value) -> Option<&str> {
    let conditions = object.pointer("/status/conditions")?.as_array()?;
    let condition = conditions.iter().find(|it| it["type"] == CONDITION && it["status"] == "False");
    condition?["message"].as_str()
}

/// What is to be marked, and with what, and what is marked and should not be.
pub(super) fn due(known: &Known) -> Vec<(Holder, Mark)> {
    let mut wanted: BTreeMap<Holder, Vec<String>> = BTreeMap::new();
    for (policy, key, younger, older) in known.occupied.duplicates() {
        let held = Held { holder: &older.age.holder, kind: &older.kind };
        let text = format!("{key} is already used by {held} [{policy}]");
        wanted.entry(younger.age.holder.clone()).or_default().push(text);
    }
    let wanted = wanted.into_iter().map(|(holder, texts)| (holder, texts.join("; ")));
    marks(&wanted.collect(), &known.marked)
}

/// Writes marks.
pub(super) struct Marker {
    client: Client,
    events: Events,
    /// What was said already: a kind without conditions cannot be marked, and is not to be nagged about.
    said: Mutex<BTreeMap<Holder, String>>,
}

impl Marker {
    pub(super) fn new(client: Client, replica: &str) -> Self {
        Self { events: Events::new(client.clone(), replica), client, said: Mutex::default() }
    }

    pub(super) async fn write(&self, served: &Served, holder: &Holder, mark: &Mark) -> Result<()> {
        let api = served.beside(self.client.clone(), &holder.namespace);
        let found = api.get_opt(&holder.name).await;
        let Some(object) = found.with_context(|| format!("could not look at {holder}"))? else {
            return Ok(());
        };
        let object = served.json(object);
        if let Mark::Set(message) = mark
            && self.is_new(holder, message)
        {
            let reference = reference(&object);
            self.events
                .publish(Reason::Duplicate, message, "Compare", &reference)
                .await
                .with_context(|| format!("could not write an event about {holder}"))?;
        }
        let parameters = patch::written_by(FIELD_MANAGER);
        let marked = Patch::Merge(marked(&object, mark, clock::now()));
        match api.patch_status(&holder.name, &parameters, &marked).await {
            Ok(_) => Ok(()),
            // Somebody was faster: it is marked the next time.
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
            // A kind without conditions, or an object that is gone: the event has said it.
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 422 | 500) => {
                tracing::info!(%holder, text = status.message, "cannot be marked");
                Ok(())
            }
            Err(error) => Err(error).with_context(|| format!("could not mark {holder}")),
        }
    }
}

impl Marker {
    fn is_new(&self, holder: &Holder, message: &str) -> bool {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.insert(holder.clone(), message.to_owned()).as_deref() != Some(message)
    }
}

fn reference(object: &Value) -> k8s_openapi::api::core::v1::ObjectReference {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    k8s_openapi::api::core::v1::ObjectReference {
        api_version: text("/apiVersion"),
        kind: text("/kind"),
        namespace: text("/metadata/namespace"),
        name: text("/metadata/name"),
        uid: text("/metadata/uid"),
        ..Default::default()
    }
}

/// The conditions as they are to be. Bound to the version that was read: whoever keeps the object may write at the same time, and must
/// not find its status as it was before.
fn marked(object: &Value, mark: &Mark, now: Timestamp) -> Value {
    let status = &object["status"];
    let others = status["conditions"].as_array().into_iter().flatten();
    let mut conditions: Vec<Value> = others.filter(|it| it["type"] != CONDITION).cloned().collect();
    if let Mark::Set(message) = mark {
        let reason: &str = Reason::Duplicate.into();
        conditions.push(json!({
            "type": CONDITION, "status": "False", "reason": reason, "message": message,
            "lastTransitionTime": now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        }));
    }
    let mut marked = json!({
        "metadata": patch::precondition_of(object),
        "status": {"conditions": conditions},
    });
    // A host that nobody works on yet has no status, and its kind asks for more than conditions.
    if object["kind"] == "BareMetalHost" && status.is_null() {
        for (field, nothing) in [
            ("errorMessage", json!("")),
            ("operationalStatus", json!("")),
            ("poweredOn", json!(false)),
            ("provisioning", json!({"ID": "", "state": ""})),
        ] {
            marked["status"][field] = nothing;
        }
    }
    marked
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::constant(1_000_000, 0);

    fn set() -> Mark {
        Mark::Set("taken".to_owned())
    }

    #[test]
    fn what_others_say_stays() {
        let ready = json!({"type": "Ready", "status": "True"});
        let object = json!({
            "kind": "BareMetalHost", "metadata": {"uid": "u", "resourceVersion": "7"},
            "status": {"operationalStatus": "OK", "conditions": [ready]},
        });
        let patch = marked(&object, &set(), NOW);
        assert_eq!(patch["metadata"], json!({"uid": "u", "resourceVersion": "7"}));
        assert_eq!(patch["status"].as_object().unwrap().len(), 1, "{patch}");
        assert_eq!(patch["status"]["conditions"][0], ready);
        assert_eq!(of(&patch), Some("taken"));
        let again = marked(&json!({"kind": "X", "status": patch["status"]}), &set(), NOW);
        assert_eq!(again["status"]["conditions"].as_array().unwrap().len(), 2);
        let cleared = marked(&json!({"kind": "X", "status": patch["status"]}), &Mark::Clear, NOW);
        assert_eq!(cleared["status"], json!({"conditions": [ready]}));
    }

    #[test]
    fn a_host_without_a_status_gets_what_its_kind_asks_for() {
        let patch = marked(&json!({"kind": "BareMetalHost", "metadata": {}}), &set(), NOW);
        assert_eq!(patch["status"]["provisioning"], json!({"ID": "", "state": ""}));
        let other = marked(&json!({"kind": "Other", "metadata": {}}), &set(), NOW);
        assert_eq!(other["status"].as_object().unwrap().len(), 1);
    }
}
