//! What a person sees on an object that has another's key: a condition, and an event when it is found.
//! The object itself is left as it is.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use anyhow::{Context, Result};
use jiff::Timestamp;
use kube::{
    Client,
    api::{Patch, PatchParams},
    runtime::events::{Event, EventType, Recorder, Reporter},
};
use serde_json::{Value, json};

use super::occupants::Known;
use crate::{
    adapters::{clock, stored::Served},
    policy::Held,
    uniqueness::{Holder, Mark, marks},
};

/// The condition's type. `False` means that an older object has a key of this one.
const CONDITION: &str = "Unique";
const REASON: &str = "Duplicate";
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
    events: Recorder,
    /// What was said already: a kind without conditions cannot be marked, and is not to be nagged about.
    said: Mutex<BTreeMap<Holder, String>>,
}

impl Marker {
    pub(super) fn new(client: Client, replica: &str) -> Self {
        let reporter =
            Reporter { controller: "ironward".to_owned(), instance: Some(replica.to_owned()) };
        Self { events: Recorder::new(client.clone(), reporter), client, said: Mutex::default() }
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
            let event = Event {
                type_: EventType::Warning,
                reason: REASON.to_owned(),
                note: Some(message.clone()),
                action: "Compare".to_owned(),
                secondary: None,
            };
            let reference = reference(&object);
            self.events
                .publish(&event, &reference)
                .await
                .with_context(|| format!("could not write an event about {holder}"))?;
        }
        let parameters = PatchParams::apply(FIELD_MANAGER).force();
        let applied = applied(&object, mark, clock::now());
        match api.patch_status(&holder.name, &parameters, &Patch::Apply(&applied)).await {
            Ok(_) => Ok(()),
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

/// What is applied: our condition and nothing else, or nothing, which takes ours away.
fn applied(object: &Value, mark: &Mark, now: Timestamp) -> Value {
    let metadata = &object["metadata"];
    let mut applied = json!({
        "apiVersion": object["apiVersion"], "kind": object["kind"],
        "metadata": {"name": metadata["name"], "namespace": metadata["namespace"]},
        "status": {},
    });
    if let Mark::Set(message) = mark {
        applied["status"]["conditions"] = json!([{
            "type": CONDITION, "status": "False", "reason": REASON, "message": message,
            "lastTransitionTime": now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        }]);
    }
    // A host that nobody works on yet has no status, and its kind asks for more than conditions.
    let status = &object["status"];
    let is_untouched = status.is_null()
        || (status["operationalStatus"] == "" && status["provisioning"]["state"] == "");
    if object["kind"] == "BareMetalHost" && is_untouched {
        for (field, nothing) in [
            ("errorMessage", json!("")),
            ("operationalStatus", json!("")),
            ("poweredOn", json!(false)),
            ("provisioning", json!({"ID": "", "state": ""})),
        ] {
            applied["status"][field] = nothing;
        }
    }
    if metadata["namespace"].is_null()
        && let Some(metadata) = applied["metadata"].as_object_mut()
    {
        metadata.remove("namespace");
    }
    applied
}
