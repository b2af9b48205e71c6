//! What people are told about a machine. Told after it was stored, so that it is true.

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

impl Event {
    /// Something to tell.
    #[must_use]
    pub fn new(reason: Reason, note: impl Into<String>) -> Self {
        Self { reason, note: note.into() }
    }
}

/// Why something is told: the reason of the event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Display, EnumIter, IntoStaticStr)]
pub enum Reason {
    /// A host was taken.
    HostClaimed,
    /// A host was taken that was reserved for the machine's pool.
    HostReused,
    /// A host of the pool was not waited for any longer.
    ReuseGivenUp,
    /// The host is being deprovisioned.
    HostReleased,
    /// The host is being deprovisioned, and kept for the machine's pool.
    HostReserved,
    /// The Node cannot be identified.
    NodeNotIdentified,
}

impl events::Reason for Reason {
    const OF: Voice = Voice::Machines;

    fn is_warning(self) -> bool {
        match self {
            Self::ReuseGivenUp | Self::NodeNotIdentified => true,
            Self::HostClaimed | Self::HostReused | Self::HostReleased | Self::HostReserved => false,
        }
    }

    fn words(self) -> &'static [&'static str] {
        match self {
            Self::HostClaimed => &["took host <host>"],
            Self::HostReused => &["took host again, which was reserved for its pool: <host>"],
            Self::ReuseGivenUp => &[
                "host <host> is reserved for this machine's pool and did not become available in time: another is taken",
            ],
            Self::HostReleased => &["host <host> is deprovisioned"],
            Self::HostReserved => &["host <host> is deprovisioned and kept for <pool>"],
            Self::NodeNotIdentified => &[
                "Node <node> has the providerID <its>, not <expected>",
                "Nodes <nodes> all claim to run on host <host>",
            ],
        }
    }
}
