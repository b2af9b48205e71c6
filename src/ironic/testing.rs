//! A machine, for tests.

use std::collections::BTreeSet;

use crate::{
    api::baremetalhost::{BootMode, InspectionMode},
    controllers::host::{
        hidden::Hidden,
        machine::{BmcAccess, ConfigDrive, Credentials, Identity, Machine},
        provisioner::Provision,
    },
    domain::{automated_cleaning::AutomatedCleaningMode, provisioning_state::ProvisioningState},
};

pub(super) const UID: &str = "0a2e3d8c-e230-4511-845a-ccb12e0b71f4";
pub(super) const PASSWORD: &str = "correct horse";

pub(super) fn machine() -> Machine {
    Machine {
        identity: Identity {
            namespace: "default".into(),
            name: "worker-0".into(),
            uid: UID.into(),
        },
        provisioning_id: None,
        state: ProvisioningState::Registering,
        since: None,
        bmc: Some(access("redfish-virtualmedia://10.0.0.7/redfish/v1/Systems/1")),
        boot_mac: Some("52:54:00:00:00:01".parse().unwrap()),
        known_macs: BTreeSet::new(),
        boot_mode: BootMode::Uefi,
        architecture: None,
        inspection_mode: InspectionMode::Agent,
        root_device_hints: None,
        raid: None,
        image: None,
        custom_deploy: None,
        automated_cleaning: AutomatedCleaningMode::Metadata,
        disable_power_off: false,
        powered_on: false,
        externally_provisioned: false,
        preprovisioning_network_data: None,
    }
}

pub(super) fn access(address: &str) -> BmcAccess {
    BmcAccess {
        address: address.parse().unwrap(),
        credentials: Credentials {
            username: Hidden::new("admin".into()),
            password: Hidden::new(PASSWORD.into()),
        },
        disable_certificate_verification: false,
    }
}

pub(super) fn provision() -> Provision {
    Provision {
        image: Some(
            serde_json::from_value(serde_json::json!({
                "url": "http://images/a.raw", "checksum": "abc", "checksumType": "sha256",
            }))
            .unwrap(),
        ),
        custom_deploy: None,
        config_drive: ConfigDrive::default(),
        image_pull_secret: None,
        restart: false,
    }
}
