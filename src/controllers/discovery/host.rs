//! The host that is made of a machine.

use std::collections::BTreeMap;

use super::{
    hosts::Key,
    observed::{Discovery, Reported, Verdict},
    plan::{Note, NoteReason},
};
use crate::{
    api::{
        BareMetalHost,
        baremetalhost::{BareMetalHostSpec, BareMetalHostStatus, BootMode},
        baremetalhostdiscovery::Approval,
    },
    controllers::host::annotations::STATUS,
    domain::{
        host_discovery::annotations::{APPROVAL, DISCOVERED_BY, PENDING},
        host_status::OperationalStatus,
        kubernetes_name::is_label_value,
        mac::Mac,
        provisioning_state::ProvisioningState,
        text::Excerpt,
    },
};

/// As much as is kept of a report. Kubernetes takes a quarter of a mebibyte in all annotations of an object.
const MAX_STATUS: usize = 128 << 10;

/// What its status begins as, in the annotation that it is filled from; or how long that would be.
pub(super) fn status(reported: &Reported, node: &str) -> Result<String, usize> {
    let mut status = BareMetalHostStatus {
        operational_status: OperationalStatus::Discovered,
        hardware: Some(reported.details.clone()),
        // Or it could not have reported.
        powered_on: true,
        ..BareMetalHostStatus::default()
    };
    status.provisioning.state = ProvisioningState::Unmanaged.to_string();
    node.clone_into(&mut status.provisioning.id);
    let text = serde_json::to_string(&status).unwrap_or_default();
    if text.len() <= MAX_STATUS { Ok(text) } else { Err(text.len()) }
}

/// Its labels, and what is to be said of those that cannot be.
pub(super) fn labels(
    verdict: &Verdict,
    node: &str,
    key: &Key,
) -> (BTreeMap<String, String>, Vec<Note>) {
    let (mut labels, mut notes) = (BTreeMap::new(), Vec::new());
    for (name, value) in &verdict.labels {
        let problem = match value {
            Ok(value) if is_label_value(value) => {
                labels.insert(name.clone(), value.clone());
                continue;
            }
            Ok(value) => {
                format!("{} cannot be the value of a label", Excerpt::from(value.as_str()))
            }
            Err(problem) => problem.clone(),
        };
        notes.push(Note {
            node: node.to_owned(),
            host: Some(key.name.clone()),
            reason: NoteReason::LabelLeftOut,
            message: format!("the host has no label {name}: {problem}"),
        });
    }
    (labels, notes)
}

/// The host itself.
pub(super) fn object(
    discovery: &Discovery,
    key: &Key,
    boot_mac: Mac,
    boot_mode: Option<BootMode>,
    labels: BTreeMap<String, String>,
    status: String,
) -> BareMetalHost {
    let mut annotations =
        BTreeMap::from([(STATUS.to_owned(), status), (DISCOVERED_BY.to_owned(), discovery.name())]);
    match discovery.object.spec.approval.unwrap_or_default() {
        Approval::Manual => {
            annotations.insert(APPROVAL.to_owned(), PENDING.to_owned());
        }
        Approval::Automatic => {}
    }
    let mut host = BareMetalHost::new(
        &key.name,
        BareMetalHostSpec {
            // It is: whoever adds a BMC does not want it switched off by that.
            online: true,
            boot_mac_address: Some(boot_mac.to_string()),
            boot_mode,
            ..BareMetalHostSpec::default()
        },
    );
    host.metadata.namespace = Some(key.namespace.clone());
    host.metadata.labels = Some(labels).filter(|labels| !labels.is_empty());
    host.metadata.annotations = Some(annotations);
    host
}
