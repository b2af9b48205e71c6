//! BareMetalHost: a server.

mod network;
mod rules;
mod status;

pub use network::{HostNetworkAttachmentReference, NetworkInterface, SwitchPort};
pub use status::{
    AppliedNetworkAttachmentConfig, BareMetalHostStatus, CredentialsStatus, OperationHistory,
    OperationMetric, ProvisionStatus, SwitchPortConfig, SwitchPortMode,
};

use super::image::{CustomDeploy, Image};
use super::raid::{Raid, RootDeviceHints};
use super::references::SecretReference;
use crate::domain::automated_cleaning::AutomatedCleaningMode;
use k8s_openapi::api::core::v1::{ObjectReference, Taint};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

/// What a BareMetalHost should be.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, CustomResource, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "metal3.io",
    version = "v1alpha1",
    kind = "BareMetalHost",
    namespaced,
    status = "BareMetalHostStatus",
    shortname = "bmh",
    shortname = "bmhost",
    derive = "Default",
    derive = "PartialEq",
    attr = "cfg_attr(all(), serde(default = \"BareMetalHost::default\"))",
    validation = rules::name_is_not_a_uuid(),
    doc = "A server: how to reach its management controller (BMC), what to run on it, and what was \
        found in it.\n\nCreating one has the server registered and inspected, after which it is \
        available. Giving it an image has the image written to its root device and booted; taking \
        the image away has its disks cleaned. Deleting it has all of this undone, the server \
        powered off and forgotten. With Cluster API, Metal3Machines choose hosts and give them \
        images, and people write bmc, bootMACAddress, rootDeviceHints and online.",
    printcolumn(
        name = "Status",
        type_ = "string",
        json_path = ".status.operationalStatus",
        description = "Whether the host can be worked with",
        priority = 1
    ),
    printcolumn(
        name = "State",
        type_ = "string",
        json_path = ".status.provisioning.state",
        description = "Where the host is on its way to being provisioned"
    ),
    printcolumn(
        name = "Consumer",
        type_ = "string",
        json_path = ".spec.consumerRef.name",
        description = "What uses the host"
    ),
    printcolumn(
        name = "BMC",
        type_ = "string",
        json_path = ".spec.bmc.address",
        description = "Address of the management controller",
        priority = 1
    ),
    printcolumn(
        name = "Online",
        type_ = "string",
        json_path = ".spec.online",
        description = "Whether the host should be powered on"
    ),
    printcolumn(
        name = "Powered",
        type_ = "string",
        json_path = ".status.poweredOn",
        description = "Whether the host was powered on when last seen"
    ),
    printcolumn(
        name = "Error",
        type_ = "string",
        json_path = ".status.errorType",
        description = "What went wrong last"
    ),
    printcolumn(
        name = "Unhealthy",
        type_ = "string",
        json_path = r".metadata.annotations.capm3\.metal3\.io/unhealthy",
        description = "Why no machine takes the host, if it is out of use"
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp",
        description = "Time since the host was created"
    )
)]
#[x_kube(
    validation = rules::online_unless_it_may_be_powered_off(),
    validation = rules::boot_mac_address_without_inspection(),
    validation = rules::one_root_device(),
)]
pub struct BareMetalHostSpec {
    /// Taints for the Node. Deprecated: nothing ever applied them. Set them in the bootstrap
    /// configuration instead.
    pub taints: Option<Vec<Taint>>,

    /// The management controller of the host. A host without one can be created, for example by
    /// discovery, but stays unmanaged: it is not inspected, provisioned or powered until this is
    /// filled in.
    pub bmc: Option<BmcDetails>,

    /// RAID volumes to build before the host becomes available. Without a value the volumes stay as
    /// they are. A change takes effect while the host is available, and destroys what is on the
    /// volumes that it touches. Hardware and software volumes exclude each other.
    #[x_kube(
        validation = rules::one_kind_of_raid(),
        validation = rules::controller_of_physical_disks(),
        validation = rules::number_of_physical_disks(),
        validation = rules::one_root_volume(),
        validation = rules::root_volume_is_mirrored(),
    )]
    pub raid: Option<Raid>,

    /// BIOS settings. Deprecated: no driver applies them any more. Use a HostFirmwareSettings of
    /// the same name.
    pub firmware: Option<FirmwareConfig>,

    /// Hardware profile, which only decides about the root device: unknown and no value mean
    /// /dev/sda, empty means no preference. Deprecated: use rootDeviceHints.
    pub hardware_profile: Option<String>,

    /// Which disk the image is written to. Every hint has to match, and the first disk that matches
    /// all of them is taken. Without hints it is /dev/sda, or the first volume of raid. On servers
    /// with more than one disk give hints that fit exactly one, such as a serial number or WWN:
    /// device names may change from boot to boot, and with automatedCleaningMode disabled an image
    /// on the wrong disk leaves an old one bootable.
    #[x_kube(validation = rules::device_name())]
    pub root_device_hints: Option<RootDeviceHints>,

    /// How the firmware starts the host: UEFI (default), UEFISecureBoot (UEFI, and secure boot is
    /// switched on after the image was written, which needs a redfish BMC and a signed image) or
    /// legacy (BIOS, for old servers only).
    pub boot_mode: Option<BootMode>,

    /// MAC address of the network interface that the host boots from, six pairs of hexadecimal
    /// digits separated by colons. It is how the host is told from others while it boots over the
    /// network, so it must be unique, and it must not be the MAC address of the BMC. It can be left
    /// out for BMCs that boot by virtual media, where inspection finds it out, unless
    /// inspectionMode is disabled.
    #[serde(rename = "bootMACAddress")]
    #[x_kube(validation = rules::boot_mac_address())]
    pub boot_mac_address: Option<String>,

    /// Whether the host should be powered on. In a stable state (available, provisioned, externally
    /// provisioned) the power follows this field; while something is being done to the host it does
    /// not. A host is only provisioned while this is true. To reboot, do not toggle it: annotate
    /// the host with reboot.metal3.io.
    pub online: bool,

    /// What uses the host. While it is set, nobody else takes the host. Cluster API's Metal3Machine
    /// sets it and clears it again; set it by hand to keep a host out of every pool.
    #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
    pub consumer_ref: Option<ObjectReference>,

    /// The image to run. Setting it has the host provisioned, as soon as it is available and
    /// online. Removing it, or changing its URL, has the host deprovisioned, whereupon its disks
    /// are cleaned as automatedCleaningMode says; a new image is written after that.
    #[x_kube(
        validation = rules::IMAGE.scheme(),
        validation = rules::IMAGE.checksum(),
        validation = rules::IMAGE.no_oci_checksum(),
    )]
    pub image: Option<Image>,

    /// Secret with the user data for the first boot, under the key userData or value: what
    /// cloud-init or Ignition reads from the config drive.
    pub user_data: Option<SecretReference>,

    /// Name of a Secret with network configuration for the ramdisk that inspects, cleans and
    /// provisions the host, for networks without DHCP. The image gets the same configuration,
    /// unless networkData is given.
    pub preprovisioning_network_data_name: Option<String>,

    /// Secret with the network configuration of the image, under the key networkData or value, in
    /// the format of OpenStack's network_data.json. cloud-init reads it from the config drive.
    pub network_data: Option<SecretReference>,

    /// Secret with metadata for the first boot, under the key metaData or value: a YAML map. What
    /// is in it is added to the metadata that every host gets (uuid, name, local-hostname,
    /// metal3-name, metal3-namespace) and wins over it.
    pub meta_data: Option<SecretReference>,

    /// Anything that helps people to recognise the host.
    pub description: Option<String>,

    /// Says that the host already runs what it should, installed by other means. It is registered
    /// and its power is managed, but it is not inspected, cleaned or provisioned. Set it when the
    /// host is created, or later while it is available. Clearing it makes the host an ordinary one:
    /// without an image it is deprovisioned, which cleans its disks.
    pub externally_provisioned: Option<bool>,

    /// What becomes of the data on the disks before the host is used for the first time and each
    /// time it is deprovisioned.
    ///
    /// metadata (default) wipes partition tables, file system signatures and RAID superblocks of
    /// all disks, not only of the root device. That takes seconds to minutes, and what was on the
    /// disks is lost for practical purposes, but not erased: a determined reader can restore it.
    ///
    /// disabled leaves all disks as they are. Use it to keep the data of secondary disks, for
    /// example through an upgrade with nodeReuse. The risks: the next user of the host can read
    /// everything that the last one left, a left-over boot loader on another disk may start an old
    /// system, and old signatures may confuse software RAID, LVM or Ceph. Give rootDeviceHints that
    /// fit exactly one disk.
    ///
    /// A change takes effect with the next cleaning; one that is under way ends as it began. For a
    /// host that is used by a Metal3Machine with a value of its own, the machine's value is written
    /// here.
    #[schemars(extend("default" = "metadata"))]
    pub automated_cleaning_mode: Option<AutomatedCleaningMode>,

    /// Has a deploy step of your own ramdisk run instead of writing an image. Setting it has the
    /// host provisioned, with or without an image.
    pub custom_deploy: Option<CustomDeploy>,

    /// Architecture of the processor, such as x86_64 or aarch64. Without a value inspection fills
    /// it in. It decides which ramdisk is booted.
    pub architecture: Option<String>,

    /// Never power the host off; where it would have been, it is rebooted instead. For hosts whose
    /// power is shared or must not fail, such as those behind a DPU. It needs online: true, and
    /// Ironic with API version 1.95 or later.
    pub disable_power_off: Option<bool>,

    /// How the parts of the host are found out: agent (default: a ramdisk is booted and looks, some
    /// minutes), fast (the BMC is asked by redfish, some seconds and fewer details) or disabled
    /// (not at all; bootMACAddress is then required, and the details can be given in the annotation
    /// inspect.metal3.io/hardwaredetails).
    pub inspection_mode: Option<InspectionMode>,

    /// Networks that the interfaces of the host belong to, for switches that Metal3 configures. Not
    /// acted on by Ironward, but kept.
    #[schemars(length(max = 256))]
    #[x_kube(
        validation = rules::each_interface_once("name"),
        validation = rules::each_interface_once("macAddress"),
    )]
    pub network_interfaces: Option<Vec<NetworkInterface>>,
}

/// How to reach a management controller.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BmcDetails {
    /// URL of the management controller. Its scheme chooses the driver: redfish,
    /// redfish-virtualmedia, redfish-uefihttp, idrac-redfish, idrac-virtualmedia, ilo5-redfish,
    /// ilo5-virtualmedia (each also with +http or +https, which is the default), ipmi or libvirt;
    /// an address without a scheme means ipmi. Redfish addresses end with the path of the system,
    /// such as redfish-virtualmedia://192.168.1.2/redfish/v1/Systems/1. Two hosts with one BMC
    /// would fight over the power button, so it must be unique. It can only be changed while the
    /// host is registering or detached.
    pub address: String,
    /// Name of a Secret in the namespace of the host with the keys username and password.
    pub credentials_name: String,
    /// Accept any certificate from the BMC, such as the self-signed one that it came with. Anyone
    /// between Ironic and the BMC can then read the password: prefer to give Ironic the CA of your
    /// BMCs.
    pub disable_certificate_verification: Option<bool>,
}

/// BIOS settings that no driver applies any more.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FirmwareConfig {
    /// Virtualisation support of the processor.
    #[schemars(extend("enum" = [true, false]))]
    pub virtualization_enabled: Option<bool>,
    /// More than one thread per core.
    #[schemars(extend("enum" = [true, false]))]
    pub simultaneous_multithreading_enabled: Option<bool>,
    /// Virtual functions of PCI Express devices (SR-IOV).
    #[schemars(extend("enum" = [true, false]))]
    pub sriov_enabled: Option<bool>,
}

/// How the firmware starts a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum BootMode {
    /// UEFI.
    #[serde(rename = "UEFI")]
    Uefi,
    /// UEFI with secure boot.
    #[serde(rename = "UEFISecureBoot")]
    UefiSecureBoot,
    /// BIOS.
    #[serde(rename = "legacy")]
    Legacy,
}

/// How the parts of a host are found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum InspectionMode {
    /// Not at all.
    Disabled,
    /// By a ramdisk on the host.
    Agent,
    /// By asking the BMC.
    Fast,
}
