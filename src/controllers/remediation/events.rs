//! What people are told about a remediation. Told after it was stored, so that it is true.

use strum::{Display, EnumIter, IntoStaticStr};

use super::conditions::{GIVEN_UP, RESTORING, Why};
use crate::controllers::{conditions, events, said::Voice};

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

impl events::Reason for Reason {
    const OF: Voice = Voice::Remediation;

    fn is_warning(self) -> bool {
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

    fn words(self) -> &'static [&'static str] {
        match self {
            Self::RemediationDelayed => conditions::Reason::words(Why::Delayed),
            Self::RemediationStarted => conditions::Reason::words(Why::SwitchingOff),
            Self::HostPoweredOff => &[
                "BareMetalHost <host> was off and is switched on; its Node has <seconds> s to become healthy",
            ],
            Self::NodeFenced => {
                &["The host of Node <node> is off, and its workload can run elsewhere"]
            }
            Self::NodeNotFenced => &[
                "The cluster of Node <node> cannot be reached: <why>. Its workload moves when that cluster notices by itself",
                "Node <node> has <number> pods that are being deleted and <number> volumes attached, and it was waited long enough for them",
            ],
            Self::NodeNotRestored => RESTORING,
            Self::RemediationTimedOut => &[
                "BareMetalHost <host> was not switched off in time",
                "BareMetalHost <host> was not switched off in time: <error>",
                "Machine <name> did not become healthy within <seconds> s",
            ],
            Self::RemediationSucceeded => &["The Machine is healthy"],
            Self::MachineGivenUp => GIVEN_UP,
            Self::RemediationFailed => &["<what the condition Remediating says>"],
            Self::RemediationCancelled => {
                &["It was called off", "<what the condition Remediating says>"]
            }
        }
    }
}
