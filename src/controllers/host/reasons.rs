//! Why a condition of a host is what it is. Metal3's words.

use strum::{EnumIter, IntoStaticStr};

use crate::controllers::{conditions::Reason, said::Subject};

/// Why an answer is what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumIter, IntoStaticStr)]
pub enum Why {
    /// Its BMC lets nobody in, or is not known.
    RegistrationFailed,
    /// Its BMC does not switch it.
    PowerFailure,
    /// It has no BMC, or nobody has looked at it yet.
    NotManaged,
    /// Its BMC is tried.
    Registering,
    /// Its BMC can be worked with.
    Manageable,
    /// It can be given an image.
    Available,
    /// It cannot.
    NotAvailable,
    /// It runs an image.
    Provisioned,
    /// It does not.
    NotProvisioned,
    /// Something failed.
    Error,
    /// It is left alone, by its annotation.
    Detached,
    /// Its firmware or BIOS is being changed.
    Servicing,
    /// Its hardware is looked at.
    Inspecting,
    /// Its RAID is set up.
    Preparing,
    /// An image is written.
    Provisioning,
    /// An image is removed.
    Deprovisioning,
    /// It is deleted, and switched off for that.
    PoweringOffBeforeDelete,
    /// It is deleted.
    Deleting,
    /// Nothing is done with it.
    NotProgressing,
    /// Its BMC says that all is well.
    Healthy,
    /// Its BMC says that something will break.
    Warning,
    /// Its BMC says that something broke.
    CriticalError,
}

impl Reason for Why {
    const OF: Subject = Subject::BareMetalHost;

    fn types(self) -> &'static [&'static str] {
        match self {
            Self::RegistrationFailed | Self::PowerFailure | Self::NotManaged | Self::Manageable => {
                &["Manageable"]
            }
            Self::Registering => &["Manageable", "Progressing"],
            Self::Available | Self::NotAvailable => &["AvailableForProvisioning"],
            Self::Provisioned | Self::NotProvisioned => &["Provisioned", "Ready"],
            Self::Error | Self::Servicing => &["Ready"],
            Self::Detached => &["Progressing", "Ready"],
            Self::Inspecting
            | Self::Preparing
            | Self::Provisioning
            | Self::Deprovisioning
            | Self::PoweringOffBeforeDelete
            | Self::Deleting
            | Self::NotProgressing => &["Progressing"],
            Self::Healthy | Self::Warning | Self::CriticalError => &["Healthy"],
        }
    }

    /// Of Ready, if it is False: what the status says.
    fn words(self) -> &'static [&'static str] {
        match self {
            Self::Error | Self::Detached | Self::Servicing | Self::NotProvisioned => {
                &["<status.errorMessage of the host>"]
            }
            Self::RegistrationFailed
            | Self::PowerFailure
            | Self::NotManaged
            | Self::Registering
            | Self::Manageable
            | Self::Available
            | Self::NotAvailable
            | Self::Provisioned
            | Self::Inspecting
            | Self::Preparing
            | Self::Provisioning
            | Self::Deprovisioning
            | Self::PoweringOffBeforeDelete
            | Self::Deleting
            | Self::NotProgressing
            | Self::Healthy
            | Self::Warning
            | Self::CriticalError => &[],
        }
    }
}
