//! `Observed`: all that a decision about a host may depend on, read at one instant.

use jiff::Timestamp;
use serde_json::Value;

use super::{
    hidden::Hidden,
    machine::ConfigDrive,
    provisioner::{Error, Operation, Outcome},
    secrets::BmcSecret,
    slots::Work,
};
use crate::{
    api::{BareMetalHost, baremetalhost::BareMetalHostStatus, hardware::HardwareDetails},
    domain::{host_status::OperationalStatus, provisioning_state::ProvisioningState},
};

/// What is known of a host now.
#[derive(Debug, Clone)]
pub struct Observed {
    /// The host as the API server has it.
    pub host: BareMetalHost,
    /// The time.
    pub now: Timestamp,
    /// The Secret with its BMC's credentials.
    pub secret: BmcSecret,
    /// The details in the HardwareData of its name.
    pub hardware_data: Option<HardwareDetails>,
    /// What it would find at its first boot, or why that cannot be read. Only looked for when it is needed.
    pub config_drive: Result<ConfigDrive, String>,
    /// The network configuration of the ramdisk, if it names a Secret with one, or why that cannot be read.
    pub ramdisk_network: Result<Option<Hidden<Value>>, String>,
    /// Credentials for an `oci://` image, if it names a Secret with them.
    pub image_pull_secret: Option<Hidden<String>>,
    /// The older host that has a key of this one, if there is one.
    pub duplicate_of: Option<String>,
    /// The kinds of work that the provisioner has room for.
    pub room: Vec<Work>,
    /// What was done in this pass, and what came of it.
    pub done: Vec<(Operation, Result<Outcome, Error>)>,
    /// What people have set.
    pub settings: Settings,
}

/// What people have set for all hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// How often an image may fail to be written before that is given up; 0 for no limit.
    pub max_provisioning_retries: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self { max_provisioning_retries: 5 }
    }
}

impl Observed {
    /// Whether somebody has asked for its deletion.
    #[must_use]
    pub fn is_being_deleted(&self) -> bool {
        self.host.metadata.deletion_timestamp.is_some()
    }

    /// Whether it has what it takes to be managed.
    #[must_use]
    pub fn has_bmc(&self) -> bool {
        has_bmc(&self.host)
    }
}

/// Whether a host's power can be controlled: somebody has said how its BMC is reached. What is missing or wrong of that is a registration
/// error, which is shown before anything else is done.
#[must_use]
pub fn has_bmc(host: &BareMetalHost) -> bool {
    let bmc = host.spec.bmc.as_ref();
    bmc.is_some_and(|bmc| !bmc.address.is_empty() || !bmc.credentials_name.is_empty())
}

/// The state that is stored. A word that this build does not know is the beginning: nothing is done to such a host
/// by `decide`.
#[must_use]
pub fn state(status: &BareMetalHostStatus) -> Option<ProvisioningState> {
    status.provisioning.state.parse().ok()
}

/// When the state that a host is in began, as far as that is stored.
#[must_use]
pub fn since(status: &BareMetalHostStatus) -> Option<Timestamp> {
    let history = status.operation_history.as_ref()?;
    let metric = match state(status)? {
        ProvisioningState::Registering => &history.register,
        ProvisioningState::Inspecting => &history.inspect,
        ProvisioningState::Provisioning => &history.provision,
        ProvisioningState::Deprovisioning => &history.deprovision,
        ProvisioningState::None
        | ProvisioningState::Unmanaged
        | ProvisioningState::Importing
        | ProvisioningState::MatchProfile
        | ProvisioningState::Preparing
        | ProvisioningState::Ready
        | ProvisioningState::Available
        | ProvisioningState::Provisioned
        | ProvisioningState::ExternallyProvisioned
        | ProvisioningState::PoweringOffBeforeDelete
        | ProvisioningState::Deleting => return None,
    };
    metric.as_ref()?.start.as_ref().map(|time| time.0)
}

/// Whether it holds a slot by what is stored.
#[must_use]
pub fn holds_slot(status: &BareMetalHostStatus) -> bool {
    status.operational_status == OperationalStatus::Ok
        && state(status).is_some_and(ProvisioningState::is_busy)
}
