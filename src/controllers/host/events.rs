//! What people are told about a host, in Metal3's words. Told after it was stored, so that it is true.

use strum::{Display, EnumIter};

/// Something to tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// In one word.
    pub reason: Reason,
    /// In a sentence. No secrets.
    pub note: String,
}

/// Why something is told: the reason of the event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Display, EnumIter)]
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

impl Reason {
    /// Whether somebody should look at it.
    #[must_use]
    pub fn is_warning(self) -> bool {
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
}
