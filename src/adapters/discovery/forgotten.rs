//! The machines that are not to be made hosts again: a ConfigMap in Ironward's namespace, with a key for each MAC address. Ironic may lose its memory; this
//! stays. Whoever takes a key out lets the machine be discovered again.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client, api::Patch};
use serde_json::{Map, Value, json};

use crate::{adapters::patch::written_by, domain::mac::Mac};

/// What it is called.
pub const NAME: &str = "ironward-forgotten";
const FIELD_MANAGER: &str = "ironward-discovery";

/// The machines that were forgotten.
#[derive(Clone)]
pub struct Forgotten(Api<ConfigMap>);

impl Forgotten {
    /// Those of an installation, by its namespace.
    #[must_use]
    pub fn new(client: Client, namespace: &str) -> Self {
        Self(Api::namespaced(client, namespace))
    }

    /// Their addresses. What is no address is nobody's.
    pub async fn all(&self) -> Result<BTreeSet<Mac>> {
        let found = self.0.get_opt(NAME).await;
        let found = found.with_context(|| format!("could not read ConfigMap {NAME}"))?;
        let keys = found.and_then(|it| it.data).unwrap_or_default().into_keys();
        Ok(keys.filter_map(|key| key.parse().ok()).collect())
    }

    /// Writes down the addresses of a machine, and whose they were.
    pub async fn add(&self, macs: &BTreeSet<Mac>, host: &str) -> Result<()> {
        // A key of a ConfigMap has no colons.
        let key = |mac: &Mac| (mac.to_string().replace(':', "-"), Value::from(host));
        let data: Map<String, Value> = macs.iter().map(key).collect();
        let patch = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": NAME}, "data": data,
        });
        let parameters = written_by(FIELD_MANAGER);
        match self.0.patch(NAME, &parameters, &Patch::Merge(&patch)).await {
            Ok(_) => return Ok(()),
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(error) => {
                return Err(error).with_context(|| format!("could not write ConfigMap {NAME}"));
            }
        }
        let new: ConfigMap = serde_json::from_value(patch)?;
        let created = self.0.create(&kube::api::PostParams::default(), &new).await;
        created.map(drop).with_context(|| format!("could not create ConfigMap {NAME}"))
    }
}
