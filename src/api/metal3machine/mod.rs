//! Metal3Machine: the host behind a Machine of Cluster API.

mod rules;
mod selector;

pub use selector::{HostSelector, HostSelectorRequirement};

use super::conditions::{self, DeprecatedStatus};
use super::image::{ChecksumType, DiskFormat};
use super::metal3cluster::Initialization;
use super::references::{Metal3ObjectReference, NamespacedName, SecretReference};
use crate::domain::automated_cleaning::AutomatedCleaningMode;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

/// What a Metal3Machine should be.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, CustomResource, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "infrastructure.cluster.x-k8s.io",
    version = "v1beta2",
    kind = "Metal3Machine",
    namespaced,
    status = "Metal3MachineStatus",
    category = "cluster-api",
    shortname = "m3m",
    shortname = "m3machine",
    shortname = "m3machines",
    shortname = "metal3m",
    shortname = "metal3machine",
    derive = "Default",
    derive = "PartialEq",
    attr = "cfg_attr(all(), serde(default = \"Metal3Machine::default\"))",
    validation = rules::spec_is_there(),
    doc = "The bare-metal side of a Machine of Cluster API: which hosts will do, and what to run \
        on the one that is taken. It chooses an available BareMetalHost in its namespace, writes \
        image and data to it, and gives it back when it is deleted. Cluster API makes \
        Metal3Machines from a Metal3MachineTemplate; people rarely write them.",
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp",
        description = "Time since the Metal3Machine was created"
    ),
    printcolumn(
        name = "ProviderID",
        type_ = "string",
        json_path = ".spec.providerID",
        description = "Identifier that the Node of this machine has too"
    ),
    printcolumn(
        name = "Provisioned",
        type_ = "string",
        json_path = ".status.initialization.provisioned",
        description = "Whether the host runs the image"
    ),
    printcolumn(
        name = "Cluster",
        type_ = "string",
        json_path = r".metadata.labels.cluster\.x-k8s\.io/cluster-name",
        description = "The Cluster that it belongs to"
    ),
    printcolumn(
        name = "Host",
        type_ = "string",
        json_path = r".metadata.annotations.metal3\.io/BareMetalHost",
        description = "The BareMetalHost that it took"
    )
)]
#[x_kube(
    validation = rules::image_or_custom_deploy(),
    validation = rules::IMAGE.scheme(),
    validation = rules::IMAGE.checksum(),
    validation = rules::IMAGE.no_oci_checksum(),
)]
pub struct Metal3MachineSpec {
    /// Identifier of the machine, metal3://<namespace>/<host>/<metal3machine>, that its Node has
    /// too. It is filled in once the host is provisioned.
    #[serde(rename = "providerID")]
    #[schemars(length(min = 1, max = 512))]
    pub provider_id: Option<String>,

    /// The image to run. Either this or customDeploy is required.
    pub image: Option<MachineImage>,

    /// Has a deploy step of your own ramdisk run instead of writing an image.
    pub custom_deploy: Option<MachineCustomDeploy>,

    /// Secret with the user data for the first boot, under the key userData or value. Left out, it
    /// is the bootstrap data of the Machine, which is what you want.
    pub user_data: Option<SecretReference>,

    /// Which hosts will do. Left out, any available host in the namespace will.
    pub host_selector: Option<HostSelector>,

    /// The Metal3DataTemplate that metadata and network data are rendered from. Not rendered by
    /// Ironward, which warns when it is given; use metaData.configRef, or leave it to Metal3.
    pub data_template: Option<Metal3ObjectReference>,

    /// Metadata for the first boot: a Secret that you wrote, or a Metal3Metadata to render one
    /// from.
    #[x_kube(validation = rules::one_metadata_secret(), validation = rules::secret_or_template())]
    pub meta_data: Option<MachineMetaData>,

    /// Secret with the network configuration of the image, under the key networkData or value, in
    /// the format of OpenStack's network_data.json.
    pub network_data: Option<SecretReference>,

    /// What becomes of the data on the disks of the host before it is provisioned and when it is
    /// deprovisioned: metadata wipes partition tables and signatures of all disks, disabled leaves
    /// all disks as they are, so that the next user of the host can read them.
    ///
    /// The value is written to the host when the machine takes it and whenever it changes here, and
    /// takes effect with the next cleaning. Left out, the host keeps its own. A
    /// Metal3MachineTemplate with a value writes it here, in every machine that was made from it.
    /// See BareMetalHost's field of the same name for the consequences.
    pub automated_cleaning_mode: Option<AutomatedCleaningMode>,

    /// The failure domain to take a host from. It is copied from the Machine.
    #[schemars(length(min = 1, max = 256))]
    pub failure_domain: Option<String>,
}

/// An image and how to check it.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineImage {
    /// Where the image is: an http://, https://, ftp://, gopher:// or oci:// URL that Ironic and
    /// the hosts can reach.
    #[schemars(length(min = 1, max = 512), extend("format" = "uri"))]
    pub url: String,
    /// Checksum of the image, or the URL of a file that holds it. Required, except for the format
    /// live-iso and for oci:// images, which carry their own digest and must not have one here.
    #[schemars(length(max = 512))]
    pub checksum: Option<String>,
    /// Algorithm of the checksum: md5, sha256 or sha512. Without a value it is md5, which is no
    /// protection against a forged image.
    pub checksum_type: Option<MachineChecksumType>,
    /// Format of the image: raw, qcow2, vdi or vmdk. live-iso is different: the host boots the ISO
    /// image and nothing is written to its disks. (A BareMetalHost calls this field format.)
    pub disk_format: Option<DiskFormat>,
}

/// Algorithm of a checksum; unlike a BareMetalHost, a Metal3Machine has to name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MachineChecksumType {
    /// MD5.
    Md5,
    /// SHA-256.
    Sha256,
    /// SHA-512.
    Sha512,
}

impl From<MachineChecksumType> for ChecksumType {
    fn from(algorithm: MachineChecksumType) -> Self {
        match algorithm {
            MachineChecksumType::Md5 => Self::Md5,
            MachineChecksumType::Sha256 => Self::Sha256,
            MachineChecksumType::Sha512 => Self::Sha512,
        }
    }
}

/// A deployment that a ramdisk of one's own carries out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MachineCustomDeploy {
    /// Name of the deploy step in the ramdisk, such as install_coreos.
    #[schemars(length(min = 1, max = 512))]
    pub method: String,
}

/// Metadata for the first boot. Not an atomic map as in Metal3: people write `configRef`, the
/// controller `dataSecret`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineMetaData {
    /// Name of a Secret with metadata for the first boot, under the key metaData or value: a YAML
    /// map. It is used as it is.
    pub name: Option<String>,
    /// Namespace of that Secret. It can be left out, and must otherwise be that of the machine.
    pub namespace: Option<String>,
    /// The Metal3Metadata to render a Secret from, for this machine alone. The machine waits until
    /// dataSecret is filled in.
    pub config_ref: Option<NamespacedName>,
    /// The Secret that was rendered from configRef. Filled in by the controller; give it yourself,
    /// without configRef, to use a Secret of your own, which is the same as name.
    pub data_secret: Option<NamespacedName>,
}

/// What was last seen of a Metal3Machine.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Metal3MachineStatus {
    /// What Cluster API waits for before it looks for the Node.
    pub initialization: Option<Initialization>,
    /// IP addresses and names of the host.
    #[schemars(length(min = 1, max = 32), extend("x-kubernetes-list-type" = "atomic"))]
    pub addresses: Option<Vec<MachineAddress>>,
    /// The failure domain of the host that was taken.
    #[schemars(length(min = 1, max = 256))]
    pub failure_domain: Option<String>,
    /// The Secret with user data that the host got.
    pub user_data: Option<SecretReference>,
    /// The Secret with metadata that the host got.
    pub meta_data: Option<SecretReference>,
    /// The Secret with network data that the host got.
    pub network_data: Option<SecretReference>,
    /// The Metal3Data that was rendered from dataTemplate.
    pub rendered_data: Option<Metal3ObjectReference>,
    /// When the status was last written.
    pub last_updated: Option<Time>,
    /// Answers about the machine: Ready, AssociateBareMetalHost (why no host fits, while none
    /// does), AssociateMetal3MachineMetaData, Metal3DataReady, Paused.
    #[serde(default)]
    #[schemars(schema_with = "conditions::schema")]
    pub conditions: Option<Vec<Condition>>,
    /// What older versions of Cluster API read.
    pub deprecated: Option<DeprecatedStatus>,
}

/// An address of a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MachineAddress {
    /// Kind of address: Hostname, ExternalIP, InternalIP, ExternalDNS or InternalDNS.
    pub r#type: MachineAddressType,
    /// The address.
    #[schemars(length(min = 1, max = 256))]
    pub address: String,
}

/// Kind of address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum MachineAddressType {
    /// Name of the host.
    Hostname,
    /// IP address outside of the site.
    #[serde(rename = "ExternalIP")]
    ExternalIp,
    /// IP address inside of the site.
    #[serde(rename = "InternalIP")]
    InternalIp,
    /// DNS name outside of the site.
    #[serde(rename = "ExternalDNS")]
    ExternalDns,
    /// DNS name inside of the site.
    #[serde(rename = "InternalDNS")]
    InternalDns,
}
