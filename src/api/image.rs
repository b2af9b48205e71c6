//! What is written to a host's disk.

use kube::core::{Reason, Rule};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

/// An image and how to check it.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Image {
    /// Where the image is: an http://, https://, ftp://, gopher:// or oci:// URL that Ironic, and
    /// for images streamed by the host the host itself, can reach.
    pub url: String,
    /// Checksum of the image, or the URL of a file that holds it. Required, except for the format
    /// live-iso and for oci:// images, which carry their own digest and must not have one here.
    pub checksum: Option<String>,
    /// Algorithm of the checksum: md5, sha256, sha512, or auto to tell it from the length of the
    /// checksum. Without a value it is md5, which is no protection against a forged image: prefer
    /// auto, sha256 or sha512.
    pub checksum_type: Option<ChecksumType>,
    /// Format of the image: raw, qcow2, vdi or vmdk. live-iso is different: the host boots the ISO
    /// image over the network or virtual media and nothing is written to its disks. Without a value
    /// Ironic finds out by itself, which takes a conversion for everything but raw.
    pub format: Option<DiskFormat>,
    /// Name of a Secret in the namespace of the host with the credentials of the registry, of the
    /// type kubernetes.io/dockerconfigjson or kubernetes.io/dockercfg. Only used for oci:// images.
    pub oci_auth_secret_name: Option<String>,
}

/// Algorithm of a checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChecksumType {
    /// MD5.
    Md5,
    /// SHA-256.
    Sha256,
    /// SHA-512.
    Sha512,
    /// Told from the length of the checksum.
    Auto,
}

/// Format of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DiskFormat {
    /// Written as it is.
    Raw,
    /// QEMU's.
    Qcow2,
    /// VirtualBox'.
    Vdi,
    /// VMware's.
    Vmdk,
    /// Booted, not written.
    LiveIso,
}

/// A deployment that a ramdisk of one's own carries out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CustomDeploy {
    /// Name of the deploy step in the ramdisk, such as install_coreos.
    pub method: String,
}

/// The rules for an image, which stands in different places under slightly different names.
pub(super) struct Rules {
    /// CEL expression that yields the image.
    pub image: &'static str,
    /// Name of its field with the format.
    pub format: &'static str,
    /// CEL alternative, with `||` at its end, for when there is no image to judge.
    pub unless: &'static str,
}

impl Rules {
    /// Ironic downloads from these and no others.
    pub fn scheme(&self) -> Rule {
        let Self { image, unless, .. } = self;
        Rule::new(format!("{unless}{image}.url.matches('(?i)^(https?|ftp|gopher|oci)://')"))
            .message("image.url must begin with http://, https://, ftp://, gopher:// or oci://")
            .field_path(self.path("url"))
    }

    /// A disk image is checked before it is booted.
    pub fn checksum(&self) -> Rule {
        let Self { image, format, unless } = self;
        Rule::new(format!(
            "{unless}{image}.?checksum.orValue('') != '' || {image}.?{format}.orValue('') == \
             'live-iso' || {image}.url.matches('(?i)^oci://')"
        ))
        .message(
            "image.checksum is missing: write the checksum of the image, or the URL of a file that \
             holds it; only live-iso and oci:// images go without",
        )
        .field_path(self.path("checksum"))
        .reason(Reason::FieldValueRequired)
    }

    /// An OCI image is checked by the digest that its registry keeps.
    pub fn no_oci_checksum(&self) -> Rule {
        let Self { image, unless, .. } = self;
        Rule::new(format!(
            "{unless}!{image}.url.matches('(?i)^oci://') || {image}.?checksum.orValue('') == ''"
        ))
        .message("an oci:// image carries its own digest: remove image.checksum")
        .field_path(self.path("checksum"))
    }

    /// Path of a field of the image, relative to the rule.
    fn path(&self, field: &str) -> String {
        format!("{}.{field}", self.image.trim_start_matches("self"))
    }
}
