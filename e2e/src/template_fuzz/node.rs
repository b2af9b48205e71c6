//! The node that functions speak of, from the file that the oracle reads, too.

use anyhow::{Context, Result};
use ironward::template::metadata::{Host, Node, Object};
use serde_json::Value as Json;
use std::{collections::BTreeMap, fs, path::Path};

/// Reads a node.
pub fn read(file: &Path) -> Result<Node> {
    let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let json: Json = serde_json::from_str(&text)?;
    let nics = texts(&json["host"]["nics"]);
    let nics: Result<_, _> =
        nics.into_iter().map(|(name, mac)| mac.parse().map(|mac| (name, mac))).collect();
    let boot_mac = json["host"]["bootMAC"].as_str().map(str::parse).transpose()?;
    Ok(Node {
        index: u32::try_from(json["index"].as_u64().unwrap_or_default())?,
        namespace: text_of(&json["namespace"]),
        cluster_name: text_of(&json["clusterName"]),
        machine: object(&json["machine"]),
        metal3_machine: object(&json["metal3Machine"]),
        metal3_machine_uid: text_of(&json["metal3MachineUID"]),
        host: Host { object: object(&json["host"]), nics: nics?, boot_mac },
    })
}

fn object(json: &Json) -> Object {
    Object {
        name: text_of(&json["name"]),
        labels: texts(&json["labels"]),
        annotations: texts(&json["annotations"]),
    }
}

fn texts(json: &Json) -> BTreeMap<String, String> {
    let entries = json.as_object().into_iter().flatten();
    entries.map(|(key, value)| (key.clone(), text_of(value))).collect()
}

fn text_of(json: &Json) -> String {
    json.as_str().unwrap_or_default().to_owned()
}
