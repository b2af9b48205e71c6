//! `ProvisionState`: where a node is on its way, in Ironic's words, and whether it moves by itself.

use std::convert::Infallible;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use strum::{Display, EnumIter, EnumString};

/// `provision_state` of a node. The variants have the names of Ironic's constants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Display, EnumIter, EnumString)]
#[strum(serialize_all = "lowercase")]
pub enum ProvisionState {
    /// Known by name only: its BMC was not tried yet, or turned Ironic away.
    Enroll,
    /// Ironic tries its BMC.
    Verifying,
    /// Its BMC obeys; it can be inspected and cleaned, but nothing is deployed to it.
    Manageable,
    /// Ready for a deployment.
    Available,
    /// Something is deployed to it.
    Active,
    /// Ironic deploys.
    Deploying,
    /// Ironic waits for the ramdisk that deploys.
    #[strum(serialize = "wait call-back")]
    DeployWait,
    /// A deployment failed.
    #[strum(serialize = "deploy failed")]
    DeployFail,
    /// A deployment waits for a person.
    #[strum(serialize = "deploy hold")]
    DeployHold,
    /// What was deployed is torn down.
    Deleting,
    /// Tearing down failed.
    Error,
    /// Ironic cleans the disks.
    Cleaning,
    /// Ironic waits for the ramdisk that cleans.
    #[strum(serialize = "clean wait")]
    CleanWait,
    /// Cleaning failed.
    #[strum(serialize = "clean failed")]
    CleanFail,
    /// Cleaning waits for a person.
    #[strum(serialize = "clean hold")]
    CleanHold,
    /// Ironic looks at the hardware.
    Inspecting,
    /// Ironic waits for the ramdisk that looks at the hardware.
    #[strum(serialize = "inspect wait")]
    InspectWait,
    /// An inspection failed.
    #[strum(serialize = "inspect failed")]
    InspectFail,
    /// Ironic takes over a machine that runs already.
    Adopting,
    /// Taking it over failed.
    #[strum(serialize = "adopt failed")]
    AdoptFail,
    /// Runs a rescue ramdisk.
    Rescue,
    /// Boots a rescue ramdisk.
    Rescuing,
    /// Ironic waits for the rescue ramdisk.
    #[strum(serialize = "rescue wait")]
    RescueWait,
    /// The rescue ramdisk did not come up.
    #[strum(serialize = "rescue failed")]
    RescueFail,
    /// Leaves the rescue ramdisk.
    Unrescuing,
    /// Leaving the rescue ramdisk failed.
    #[strum(serialize = "unrescue failed")]
    UnrescueFail,
    /// Ironic services the machine under what is deployed to it.
    Servicing,
    /// Ironic waits for the ramdisk that services.
    #[strum(serialize = "service wait")]
    ServiceWait,
    /// Servicing failed.
    #[strum(serialize = "service failed")]
    ServiceFail,
    /// Servicing waits for a person.
    #[strum(serialize = "service hold")]
    ServiceHold,
    /// A state that this build does not know. Left alone.
    Unknown,
}

/// Whether a state changes by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Motion {
    /// It stays until somebody asks for another.
    Resting,
    /// Ironic works, or waits for a ramdisk: it ends by itself, well or badly.
    Moving,
    /// Something went wrong, and it stays until somebody asks for another.
    Failed,
    /// It stays until a person lets it go on.
    Held,
}

impl ProvisionState {
    /// Whether it changes by itself.
    #[must_use]
    pub const fn motion(self) -> Motion {
        match self {
            Self::Enroll | Self::Manageable | Self::Available | Self::Active | Self::Rescue => {
                Motion::Resting
            }
            Self::Verifying
            | Self::Deploying
            | Self::DeployWait
            | Self::Deleting
            | Self::Cleaning
            | Self::CleanWait
            | Self::Inspecting
            | Self::InspectWait
            | Self::Adopting
            | Self::Rescuing
            | Self::RescueWait
            | Self::Unrescuing
            | Self::Servicing
            | Self::ServiceWait => Motion::Moving,
            Self::Error
            | Self::DeployFail
            | Self::CleanFail
            | Self::InspectFail
            | Self::AdoptFail
            | Self::RescueFail
            | Self::UnrescueFail
            | Self::ServiceFail => Motion::Failed,
            // What is not known is not touched either.
            Self::DeployHold | Self::CleanHold | Self::ServiceHold | Self::Unknown => Motion::Held,
        }
    }

    /// Whether it changes by itself.
    #[must_use]
    pub const fn is_moving(self) -> bool {
        matches!(self.motion(), Motion::Moving)
    }

    /// Whether Ironic takes a PATCH of the node: not while it works on it, nor while it is held.
    #[must_use]
    pub const fn takes_changes(self) -> bool {
        matches!(self.motion(), Motion::Resting | Motion::Failed)
    }
}

impl Serialize for ProvisionState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ProvisionState {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = Option::<String>::deserialize(deserializer)?.unwrap_or_default();
        Ok::<_, Infallible>(word.parse().unwrap_or(Self::Unknown))
            .map_err(|never: Infallible| match never {})
    }
}

#[cfg(test)]
mod tests {
    use strum::IntoEnumIterator;

    use super::*;

    #[test]
    fn ironics_words_are_read_and_others_are_unknown() {
        let read = |word: &str| serde_json::from_value::<ProvisionState>(word.into()).unwrap();
        assert_eq!(read("wait call-back"), ProvisionState::DeployWait);
        assert_eq!(read("clean failed"), ProvisionState::CleanFail);
        assert_eq!(read("enroll"), ProvisionState::Enroll);
        assert_eq!(read("teleporting"), ProvisionState::Unknown);
        let nothing = serde_json::from_value::<ProvisionState>(serde_json::Value::Null);
        assert_eq!(nothing.unwrap(), ProvisionState::Unknown);
    }

    #[test]
    fn what_is_written_is_read_again() {
        for state in ProvisionState::iter() {
            assert_eq!(state.to_string().parse(), Ok(state));
        }
    }

    /// Ironic's own lists, `STABLE_STATES` and `UNSTABLE_STATES` of ironic/common/states.py.
    #[test]
    fn what_ironic_calls_unstable_moves_and_what_it_calls_stable_does_not() {
        let unstable = "deploying,wait call-back,cleaning,clean wait,verifying,deleting,inspecting,\
                        inspect wait,adopting,rescuing,rescue wait,unrescuing,servicing,service wait";
        let unstable: Vec<_> = unstable.split(',').collect();
        for state in ProvisionState::iter() {
            let named = unstable.contains(&state.to_string().as_str());
            assert_eq!(state.is_moving(), named, "{state}");
        }
        for word in ["enroll", "manageable", "available", "active", "error", "rescue"] {
            let state: ProvisionState = word.parse().unwrap();
            assert!(state.takes_changes(), "{state}");
        }
    }
}
