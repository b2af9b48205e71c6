//! What people are told about a remediation. Told after it was stored, so that it is true.

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
pub enum Reason {
    /// It waits until fewer are being remediated.
    RemediationDelayed,
    /// An attempt began.
    RemediationStarted,
    /// The host was off, and goes on.
    HostPoweredOff,
    /// The Node's workload was let go.
    NodeFenced,
    /// It was not, and the attempt goes on without.
    NodeNotFenced,
    /// What was taken from the Node could not be given back.
    NodeNotRestored,
    /// The attempt did not help.
    RemediationTimedOut,
    /// The Machine is healthy again.
    RemediationSucceeded,
    /// The owner of the Machine was asked to replace it.
    MachineGivenUp,
    /// Nothing can be done.
    RemediationFailed,
    /// Nothing need be done any more.
    RemediationCancelled,
}

impl Reason {
    /// Whether somebody should look at it.
    #[must_use]
    pub fn is_warning(self) -> bool {
        matches!(
            self,
            Self::RemediationDelayed
                | Self::NodeNotFenced
                | Self::NodeNotRestored
                | Self::RemediationTimedOut
                | Self::MachineGivenUp
                | Self::RemediationFailed
        )
    }
}
