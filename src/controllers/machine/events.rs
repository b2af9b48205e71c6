//! What people are told about a machine. Told after it was stored, so that it is true.

use strum::{Display, EnumIter};

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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Display, EnumIter)]
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

impl Reason {
    /// Whether somebody should look at it.
    #[must_use]
    pub fn is_warning(self) -> bool {
        match self {
            Self::ReuseGivenUp | Self::NodeNotIdentified => true,
            Self::HostClaimed | Self::HostReused | Self::HostReleased | Self::HostReserved => false,
        }
    }
}
