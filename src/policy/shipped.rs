//! The policies that Ironward ships: the files of `policies/`, in the binary.

use super::{
    directory::{Directory, File},
    functions::extensions,
    problem::Problem,
    set::PolicySet,
};

/// The embedded files, sorted by name. A test compares the list with the folder.
#[must_use]
pub fn files() -> &'static [File<'static>] {
    FILES
}

/// The set that is in force with these files of a user's, or every problem of every file.
pub fn with(user: &[File<'_>]) -> Result<PolicySet, Vec<Problem>> {
    PolicySet::compile(&Directory { embedded: files(), user }, &extensions())
}

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(File { name: $name, content: include_str!(concat!("../../policies/", $name)) }),*]
    };
}

const FILES: &[File<'static>] = files![
    "cleaning-mode-default.yaml",
    "cleaning-mode-spelling.yaml",
    "cluster-defaults.yaml",
    "cluster-endpoint-change.yaml",
    "cluster-endpoint.yaml",
    "data-template-keys.yaml",
    "discovery-expressions.yaml",
    "discovery-overlap.yaml",
    "host-bmc-address-fixed.yaml",
    "host-bmc-address.yaml",
    "host-boot-mac-fixed.yaml",
    "host-cleaning-mode-change.yaml",
    "host-cleaning-mode-choice.yaml",
    "host-cleaning-mode-in-use.yaml",
    "host-consumer.yaml",
    "host-delete-in-use.yaml",
    "host-detached-annotation.yaml",
    "host-driver.yaml",
    "host-externally-provisioned.yaml",
    "host-firmware.yaml",
    "host-hardware-details-annotation.yaml",
    "host-image-change.yaml",
    "host-inspect-annotation.yaml",
    "host-name.yaml",
    "host-node-reuse-label.yaml",
    "host-offline-in-use.yaml",
    "host-paused-annotation.yaml",
    "host-reboot-annotation.yaml",
    "host-root-device.yaml",
    "host-status-annotation.yaml",
    "host-unhealthy.yaml",
    "host-without-effect.yaml",
    "image-checksum-md5.yaml",
    "machine-host-selector.yaml",
    "machine-image.yaml",
    "metadata-index.yaml",
    "metadata-templates.yaml",
    "reference-namespace.yaml",
    "remediation-bounds.yaml",
    "remediation-default.yaml",
    "remediation-spelling.yaml",
    "template-changed-in-place.yaml",
    "template-node-reuse-cleaning.yaml",
    "template-node-reuse-default.yaml",
    "unique-bmc-endpoint.yaml",
    "unique-boot-mac.yaml",
];
