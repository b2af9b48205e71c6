//! What people are told about a host, in Metal3's words. Told after it was stored, so that it is true.

use strum::{Display, EnumIter, IntoStaticStr};

use crate::controllers::{events, said::Voice};

/// Something to tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// In one word.
    pub reason: Reason,
    /// In a sentence. No secrets.
    pub note: String,
}

/// Why something is told: the reason of the event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Display, EnumIter, IntoStaticStr)]
#[allow(missing_docs, reason = "the words are Metal3's, and the notes explain them")]
pub enum Reason {
    Discovered,
    Registered,
    #[strum(serialize = "BMCAccessValidated")]
    BmcAccessValidated,
    #[strum(serialize = "BMCCredentialError")]
    BmcCredentialError,
    RegistrationError,
    ProvisionedRegistrationError,
    ImportStarted,
    ImportComplete,
    InspectionStarted,
    InspectionComplete,
    InspectionError,
    PreparationStarted,
    PreparationComplete,
    PreparationError,
    ProvisioningStarted,
    ProvisioningComplete,
    ProvisioningError,
    DeprovisioningStarted,
    DeprovisioningComplete,
    PowerOn,
    PowerOff,
    Rebooted,
    PowerManagementError,
    PowerManagementImpossible,
    DeletionStarted,
    DeletionWithoutCleaning,
    DeletionWithoutPowerOff,
    Detached,
    DetachError,
    ServicingError,
    StatusRestored,
    UpdateHardwareDetails,
    RemoveAnnotation,
    InvalidAnnotationValue,
}

impl events::Reason for Reason {
    const OF: Voice = Voice::Hosts;

    fn is_warning(self) -> bool {
        matches!(
            self,
            Self::BmcCredentialError
                | Self::RegistrationError
                | Self::ProvisionedRegistrationError
                | Self::InspectionError
                | Self::PreparationError
                | Self::ProvisioningError
                | Self::PowerManagementError
                | Self::PowerManagementImpossible
                | Self::DeletionWithoutCleaning
                | Self::DeletionWithoutPowerOff
                | Self::DetachError
                | Self::ServicingError
                | Self::InvalidAnnotationValue
        )
    }

    fn words(self) -> &'static [&'static str] {
        match self {
            Self::Discovered => {
                &["The host has no BMC details: it is not managed until they are added"]
            }
            Self::Registered => &["The host is registered"],
            Self::BmcAccessValidated => &["The BMC lets us in"],
            Self::BmcCredentialError => &[
                "spec.bmc.credentialsName is empty: name a Secret with username and password",
                "there is no Secret <secret> in the namespace of the host: create it with the username and password of the BMC",
                "Secret <secret> <what is wrong with it>",
                "spec.bmc.address cannot be used: <why>",
            ],
            Self::RegistrationError => &[
                "spec.bmc.address cannot be used: <why>",
                "spec.preprovisioningNetworkDataName cannot be used: <why>",
                "<what Ironic or the BMC answered>",
            ],
            Self::ProvisionedRegistrationError | Self::PowerManagementError => {
                &["<what Ironic or the BMC answered>"]
            }
            Self::ImportStarted => {
                &["What was found out when the host was discovered is looked up"]
            }
            Self::ImportComplete | Self::InspectionComplete => &["The hardware details are known"],
            Self::InspectionStarted => {
                &["The hardware is inspected", "The hardware is inspected again"]
            }
            Self::InspectionError => &["<what Ironic or the ramdisk answered>"],
            Self::PreparationStarted => &[
                "The host is prepared",
                "The host is prepared anew: its RAID or root device was changed",
            ],
            Self::PreparationComplete => &["The host is available"],
            Self::PreparationError | Self::DetachError | Self::ServicingError => {
                &["<what Ironic answered>"]
            }
            Self::ProvisioningStarted => &[
                "Image <url> is written",
                "Custom deploy <method> is written",
                "Nothing is written",
            ],
            Self::ProvisioningComplete => {
                &["Image <url> runs", "Custom deploy <method> runs", "Nothing runs"]
            }
            Self::ProvisioningError => {
                &["<what keeps the image from being written, or what Ironic answered>"]
            }
            Self::DeprovisioningStarted => &[
                "The image is no longer wanted: it is removed",
                "Writing the image failed: it is removed",
            ],
            Self::DeprovisioningComplete => &["The image is removed"],
            Self::PowerOn => &["The host is on"],
            Self::PowerOff => &["The host is off"],
            Self::Rebooted => &["The host is rebooted"],
            Self::PowerManagementImpossible => &[
                "A reboot was asked for, but the host has no BMC: add spec.bmc to have its power managed",
            ],
            Self::DeletionStarted => &["The host is deleted; the first step is <state>"],
            Self::DeletionWithoutCleaning => &[
                "The host is forgotten without being cleaned or switched off: its BMC cannot be reached",
                "The host could not be cleaned: it is deleted as it is",
            ],
            Self::DeletionWithoutPowerOff => {
                &["The host could not be switched off: it is deleted as it is"]
            }
            Self::Detached => &["The host was taken out of the provisioner"],
            Self::StatusRestored => &["The status was taken from the annotation"],
            Self::UpdateHardwareDetails => &["The hardware details were taken from the annotation"],
            Self::RemoveAnnotation => {
                &["The hardware details of the annotation are not needed: they are known"]
            }
            Self::InvalidAnnotationValue => &[
                "baremetalhost.metal3.io/status is not the status of a host: correct or remove it; nothing is done until then",
                "inspect.metal3.io/hardwaredetails was removed: <why>",
                "The value of <annotation> is not understood: it is taken for a soft reboot",
            ],
        }
    }
}
