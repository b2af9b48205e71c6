//! How a host is, beside what is being done with it: `OperationalStatus` and `ErrorType`.

use strum::{Display, EnumIter, EnumString, VariantNames};

use super::text::{UnknownWord, vocabulary};

/// `status.operationalStatus` of a BareMetalHost.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Display, EnumIter, EnumString, VariantNames,
)]
#[strum(serialize_all = "lowercase")]
#[strum(parse_err_ty = UnknownWord, parse_err_fn = OperationalStatus::unknown)]
pub enum OperationalStatus {
    /// Not looked at yet.
    #[default]
    #[strum(serialize = "")]
    None,
    /// All is well.
    #[strum(serialize = "OK")]
    Ok,
    /// Known, but without BMC details.
    Discovered,
    /// The last thing tried failed; the error says which.
    Error,
    /// Waiting until Ironic has less to do.
    Delayed,
    /// Taken out of Ironic, by annotation.
    Detached,
    /// Being changed while it runs.
    Servicing,
}

vocabulary!(OperationalStatus, "an operational status");

/// `status.errorType` of a BareMetalHost: what failed. Absent when nothing did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Display, EnumIter, EnumString, VariantNames)]
#[strum(parse_err_ty = UnknownWord, parse_err_fn = ErrorType::unknown)]
pub enum ErrorType {
    /// Registering again a host that runs an image.
    #[strum(serialize = "provisioned registration error")]
    ProvisionedRegistration,
    /// Reaching the BMC, or registering the host with Ironic.
    #[strum(serialize = "registration error")]
    Registration,
    /// Inspecting its hardware.
    #[strum(serialize = "inspection error")]
    Inspection,
    /// Setting RAID, BIOS or firmware.
    #[strum(serialize = "preparation error")]
    Preparation,
    /// Writing the image, or removing it.
    #[strum(serialize = "provisioning error")]
    Provisioning,
    /// Switching it on or off.
    #[strum(serialize = "power management error")]
    PowerManagement,
    /// Taking it out of Ironic. Set by Metal3's controller, though not in the enum of its CRD.
    #[strum(serialize = "detach error")]
    Detach,
    /// Changing it while it runs.
    #[strum(serialize = "servicing error")]
    Servicing,
}

vocabulary!(ErrorType, "a type of error");

#[cfg(test)]
mod tests {
    use super::*;
    use strum::IntoEnumIterator;

    #[test]
    fn operational_statuses_are_those_of_metal3() {
        let words = ["", "OK", "discovered", "error", "delayed", "detached", "servicing"];
        assert_eq!(OperationalStatus::VARIANTS, words);
        for status in OperationalStatus::iter() {
            assert_eq!(status.to_string().parse(), Ok(status));
        }
    }

    #[test]
    fn error_types_are_those_of_metal3() {
        let words = [
            "provisioned registration error",
            "registration error",
            "inspection error",
            "preparation error",
            "provisioning error",
            "power management error",
            "detach error",
            "servicing error",
        ];
        assert_eq!(ErrorType::VARIANTS, words);
        for error in ErrorType::iter() {
            assert_eq!(error.to_string().parse(), Ok(error));
        }
    }

    #[test]
    fn case_matters_as_it_does_to_metal3() {
        assert!("ok".parse::<OperationalStatus>().is_err());
    }
}
