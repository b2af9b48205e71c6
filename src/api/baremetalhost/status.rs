//! What was last seen of a host.

use super::network::SwitchPort;
use super::{BootMode, FirmwareConfig};
use crate::api::conditions;
use crate::api::hardware::HardwareDetails;
use crate::api::image::{CustomDeploy, Image};
use crate::api::raid::{Raid, RootDeviceHints};
use crate::api::references::SecretReference;
use crate::api::schema::unformatted;
use crate::domain::host_status::{ErrorType, OperationalStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

/// What was last seen of a host.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BareMetalHostStatus {
    /// Whether the host can be worked with: OK, discovered (its BMC or the credentials are not
    /// known yet), error (see errorType and errorMessage; it is tried again by itself), delayed
    /// (waits until fewer hosts are being worked on), detached (on request nobody looks after it),
    /// servicing (firmware of a provisioned host is being changed), or empty before anything was
    /// done.
    pub operational_status: OperationalStatus,
    /// What failed, while operationalStatus is error: registration error (the BMC cannot be reached
    /// or refuses the credentials), provisioned registration error (the same for a host that is in
    /// use), inspection error, preparation error (RAID or firmware settings), provisioning error
    /// (writing the image or cleaning), power management error, detach error or servicing error.
    pub error_type: Option<ErrorType>,
    /// When the status was last written.
    pub last_updated: Option<Time>,
    /// Hardware profile. Deprecated.
    pub hardware_profile: Option<String>,
    /// What inspection found in the host. The HardwareData of the same name has it too, and keeps
    /// it when the status is lost.
    pub hardware: Option<HardwareDetails>,
    /// How far the host is, and with which settings.
    pub provisioning: ProvisionStatus,
    /// The credentials that last worked.
    pub good_credentials: Option<CredentialsStatus>,
    /// The credentials that were last tried.
    pub tried_credentials: Option<CredentialsStatus>,
    /// What went wrong last, in words. Empty if nothing did.
    pub error_message: String,
    /// Whether the host was powered on when last seen. It may lag behind while the host is being
    /// worked on.
    pub powered_on: bool,
    /// When the last registration, inspection, provisioning and deprovisioning began and ended.
    pub operation_history: Option<OperationHistory>,
    /// How often the host failed since it last succeeded. The pause before the next attempt doubles
    /// with each.
    #[serde(default)]
    #[schemars(transform = unformatted)]
    pub error_count: i64,
    /// How often in a row provisioning failed with the present image. It starts again with another
    /// image.
    #[serde(default)]
    #[schemars(transform = unformatted)]
    pub provisioning_fail_count: i64,
    /// The image that was last tried.
    pub last_attempted_image: Option<Image>,
    /// Answers about the host: Manageable, AvailableForProvisioning, Provisioned, Ready,
    /// Progressing, Healthy.
    #[serde(default)]
    #[schemars(schema_with = "conditions::schema")]
    pub conditions: Option<Vec<Condition>>,
    /// The settings of switch ports that were last applied.
    pub applied_network_attachment_configs: Option<Vec<AppliedNetworkAttachmentConfig>>,
}

/// How far a host is, and with which settings.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProvisionStatus {
    /// How far the host is: unmanaged (its BMC is not known), registering, importing (discovered,
    /// and its details are being fetched), match profile, inspecting, preparing, available (can be
    /// taken; ready means the same), provisioning, provisioned, externally provisioned,
    /// deprovisioning, powering off before delete or deleting.
    pub state: String,
    /// Identifier of the node in Ironic.
    #[serde(rename = "ID")]
    pub id: String,
    /// The image that the host runs.
    pub image: Option<Image>,
    /// The hints with which the root device was chosen.
    pub root_device_hints: Option<RootDeviceHints>,
    /// How the firmware starts the host.
    pub boot_mode: Option<BootMode>,
    /// The RAID volumes that were built.
    pub raid: Option<Raid>,
    /// BIOS settings. Deprecated, and always empty.
    pub firmware: Option<FirmwareConfig>,
    /// The deploy step that was run.
    pub custom_deploy: Option<CustomDeploy>,
}

/// A version of credentials.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CredentialsStatus {
    /// The Secret.
    pub credentials: Option<SecretReference>,
    /// The resourceVersion that the Secret had.
    pub credentials_version: Option<String>,
}

/// When things were last done to a host.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OperationHistory {
    /// The last registration.
    pub register: Option<OperationMetric>,
    /// The last inspection.
    pub inspect: Option<OperationMetric>,
    /// The last provisioning.
    pub provision: Option<OperationMetric>,
    /// The last deprovisioning.
    pub deprovision: Option<OperationMetric>,
}

/// When something began and ended.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OperationMetric {
    /// When it began.
    #[schemars(extend("nullable" = true))]
    pub start: Option<Time>,
    /// When it ended. Empty while it goes on.
    #[schemars(extend("nullable" = true))]
    pub end: Option<Time>,
}

/// The settings of a switch port that were last applied.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppliedNetworkAttachmentConfig {
    /// Name of the interface.
    pub name: String,
    /// The settings.
    pub switch_port_config: SwitchPortConfig,
    /// The switch port.
    pub switch_port: Option<SwitchPort>,
}

/// Settings of a switch port.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SwitchPortConfig {
    /// access (one VLAN), trunk (several, tagged) or hybrid (both).
    pub mode: SwitchPortMode,
    /// VLAN of untagged traffic.
    #[serde(rename = "nativeVLAN")]
    #[schemars(transform = unformatted)]
    pub native_vlan: i64,
    /// VLANs of tagged traffic.
    #[serde(rename = "allowedVLANs")]
    pub allowed_vlans: Option<Vec<i64>>,
    /// Largest packet in bytes.
    #[schemars(transform = unformatted)]
    pub mtu: Option<i64>,
}

/// How a switch port treats VLANs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SwitchPortMode {
    /// One, untagged.
    Access,
    /// Several, tagged.
    Trunk,
    /// Both.
    Hybrid,
}
