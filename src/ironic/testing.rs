//! A machine, for tests.

use crate::{
    api::BareMetalHost,
    controllers::host::{
        hidden::Hidden,
        machine::{BmcAccess, ConfigDrive, Credentials, Identity, Machine},
        provisioner::Provision,
        secrets::BmcSecret,
    },
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
        bmc: Some(access("redfish-virtualmedia://10.0.0.7/redfish/v1/Systems/1")),
        boot_mac: Some("52:54:00:00:00:01".parse().unwrap()),
        root_device_hints: None,
        ..Machine::of(&BareMetalHost::default(), &BmcSecret::Unnamed, None)
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
