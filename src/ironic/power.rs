//! `PowerState`: whether a machine is on, as Ironic last saw it, and what can be asked for.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use strum::{Display, EnumString};

/// `power_state` of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Display, EnumString)]
pub enum PowerState {
    /// It is on.
    #[strum(serialize = "power on")]
    On,
    /// It is off.
    #[strum(serialize = "power off")]
    Off,
    /// The BMC does not know, or did not answer.
    #[strum(serialize = "error")]
    Unclear,
}

impl Serialize for PowerState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for PowerState {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        Ok(word.parse().unwrap_or(Self::Unclear))
    }
}

/// The body of `PUT /v1/nodes/{node}/states/power`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct PowerRequest {
    /// What is asked for.
    pub target: PowerTarget,
    /// After how many seconds Ironic gives up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u16>,
}

/// How long an operating system may take to shut down, in seconds; Metal3's number.
const SOFT_TIMEOUT: u16 = 180;

/// What can be asked of a machine's power.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Display)]
#[allow(missing_docs, reason = "Ironic's own words")]
pub enum PowerTarget {
    #[strum(serialize = "power on")]
    On,
    #[strum(serialize = "power off")]
    Off,
    #[strum(serialize = "soft power off")]
    SoftOff,
    #[strum(serialize = "rebooting")]
    Reboot,
    #[strum(serialize = "soft rebooting")]
    SoftReboot,
}

impl Serialize for PowerTarget {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl PowerTarget {
    /// The request for it.
    #[must_use]
    pub fn request(self) -> PowerRequest {
        let is_soft = matches!(self, Self::SoftOff | Self::SoftReboot);
        PowerRequest { target: self, timeout: is_soft.then_some(SOFT_TIMEOUT) }
    }

    /// What a node reports when it is reached.
    #[must_use]
    pub const fn end(self) -> PowerState {
        match self {
            Self::On | Self::Reboot | Self::SoftReboot => PowerState::On,
            Self::Off | Self::SoftOff => PowerState::Off,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_shutdown_is_given_time_and_a_cut_is_not() {
        let sent = |target: PowerTarget| serde_json::to_value(target.request()).unwrap();
        assert_eq!(sent(PowerTarget::SoftOff), json!({"target": "soft power off", "timeout": 180}));
        assert_eq!(sent(PowerTarget::Off), json!({"target": "power off"}));
        assert_eq!(sent(PowerTarget::Reboot), json!({"target": "rebooting"}));
    }

    #[test]
    fn a_word_that_says_neither_on_nor_off_is_unclear() {
        let read = |word: &str| serde_json::from_value::<PowerState>(word.into()).unwrap();
        assert_eq!(read("power on"), PowerState::On);
        assert_eq!(read("power off"), PowerState::Off);
        assert_eq!(read("rebooting"), PowerState::Unclear);
    }
}
