//! The conditions of a Metal3Remediation, and of the Machine whose owner is asked.

use strum::{EnumIter, IntoStaticStr};

use super::{draft::HEALTH_CHECK_SUCCEEDED, read::OWNER_REMEDIATED};
use crate::controllers::{conditions::Reason, said::Subject};

/// The condition of a Metal3Remediation.
pub const REMEDIATING: &str = "Remediating";

/// Why something is done, or nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumIter, IntoStaticStr)]
pub enum Why {
    /// Enough others are at work.
    Delayed,
    /// Its strategy cannot be carried out.
    InvalidStrategy,
    /// Its Machine is not there.
    NoMachine,
    /// Its Machine is being deleted.
    MachineDeleted,
    /// Its Machine has no host.
    NoHost,
    /// Its Machine does not use its host any more.
    HostReleased,
    /// Nobody can switch the host.
    NoPowerControl,
    /// Somebody wants the host to be off.
    HostSwitchedOff,
    /// Something keeps the host as it is.
    HostHeld,
    /// The Node became ready just now.
    NodeReady,
    /// There is no need.
    MachineHealthy,
    /// Nobody knows whether there is.
    HealthUnknown,
    /// An attempt began.
    SwitchingOff,
    /// The host could not be asked.
    NotBegun,
    /// The Node's workload is let go.
    Fencing,
    /// The host is on, and its Node has time.
    WaitingForNode,
    /// It helped.
    Recovered,
    /// It did not.
    MachineGivenUp,
    /// What was taken from the Node is given back.
    Restoring,
}

impl Reason for Why {
    const OF: Subject = Subject::Metal3Remediation;

    fn types(self) -> &'static [&'static str] {
        &[REMEDIATING]
    }

    fn words(self) -> &'static [&'static str] {
        match self {
            Self::Delayed => &[
                "<number> of at most <limit> hosts of Cluster <cluster> are being remediated: this one waits for its turn",
                "Metal3Remediation <other> is at work on BareMetalHost <host>",
            ],
            Self::InvalidStrategy => &["<what is wrong with spec.strategy>"],
            Self::NoMachine => &[
                "There is no Machine <name>, or not the one that this was made for: a Metal3Remediation has the name of a Machine in its namespace",
            ],
            Self::MachineDeleted => &["Machine <name> is being deleted: its host is left as it is"],
            Self::NoHost => &[
                "Machine <name> has no BareMetalHost: its infrastructureRef names no Metal3Machine",
                "Machine <name> has no BareMetalHost: there is no Metal3Machine of its",
                "Machine <name> has no BareMetalHost: its Metal3Machine has not taken one; see its condition AssociateBareMetalHost",
                "Machine <name> has no BareMetalHost: the one that its Metal3Machine took does not exist",
            ],
            Self::HostReleased => &[
                "BareMetalHost <host> is not used by Machine <name> any more, or is being deleted",
            ],
            Self::NoPowerControl => &[
                "BareMetalHost <host> has no BMC, so that nobody can switch it off: add spec.bmc",
                "BareMetalHost <host> must never be off: it has disablePowerOff: true",
            ],
            Self::HostSwitchedOff => {
                &["Somebody wants BareMetalHost <host> to be off: it has online: false"]
            }
            Self::HostHeld => &[
                "Somebody else decides about the power of BareMetalHost <host>, by the annotation <annotation>",
                "BareMetalHost <host> is paused, so that nobody switches it",
                "BareMetalHost <host> is detached, so that nobody switches it",
                "BareMetalHost <host> is <state>, and is not switched off before it runs its image",
            ],
            Self::NodeReady => &[
                "The Node became ready a moment ago: MachineHealthCheck is to say whether it is healthy",
            ],
            Self::MachineHealthy => &[
                "The Machine is healthy, so that its host is not switched off; to have it done nevertheless, run `ironward remediate MACHINE --reason …`",
            ],
            Self::HealthUnknown => &[
                "No MachineHealthCheck says whether the Machine is healthy, and its cluster cannot be reached, so that its host is not switched off",
                "No MachineHealthCheck says whether the Machine is healthy, and its cluster cannot be reached, so that its host is not switched off; to have it done nevertheless, run `ironward remediate MACHINE --reason …`",
            ],
            Self::SwitchingOff => {
                &["Attempt <number> of <limit>: BareMetalHost <host> is switched off"]
            }
            Self::NotBegun => &[
                "BareMetalHost <host> could not be asked to go off in time, or somebody takes the annotation away that asks for it",
            ],
            Self::Fencing => &[
                "Node <node> has <number> pods that are being deleted and <number> volumes attached",
                "Node <node> is deleted",
                "The cluster of Node <node> cannot be reached: <why>",
            ],
            Self::WaitingForNode => &[
                "BareMetalHost <host> was off and is switched on; its Node has <seconds> s to become healthy",
                "The Machine is healthy: its host is not switched off",
            ],
            Self::Recovered => &["The Machine is healthy"],
            Self::MachineGivenUp => GIVEN_UP,
            Self::Restoring => RESTORING,
        }
    }
}

/// The attempts did not help. Told as an event, too.
pub(super) const GIVEN_UP: &[&str] = &[
    "<why>, after <number> of <limit> attempts. Its owner is asked to replace it, and BareMetalHost <host> is out of use until somebody runs `ironward uncordon`",
];

/// What is still to be given back to a Node. Told as an event, too, when it is not waited for any longer.
pub(super) const RESTORING: &[&str] = &[
    "The cluster of Node <node> cannot be reached (<why>): it may still have the taint node.kubernetes.io/out-of-service, which is then to be removed by hand",
    "BareMetalHost <host> does not go on: Node <node> still has the taint node.kubernetes.io/out-of-service, which is to be removed by hand when it does",
    "Node <node> does not come back to be given its labels and annotations",
];

/// What the owner of a Machine is told, on the Machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumIter, IntoStaticStr)]
pub enum Asking {
    /// Cluster API's word for a Machine that its owner is to replace.
    WaitingForRemediation,
    /// It is not healthy. Only said where no MachineHealthCheck has said it.
    RemediationFailed,
}

impl Asking {
    /// The one message of both.
    pub const MESSAGE: &str = "Its host was switched off and on as often as its remediation says, and it did not become healthy";
}

impl Reason for Asking {
    const OF: Subject = Subject::Machine;

    fn types(self) -> &'static [&'static str] {
        match self {
            Self::WaitingForRemediation => &[OWNER_REMEDIATED],
            Self::RemediationFailed => &[HEALTH_CHECK_SUCCEEDED],
        }
    }

    fn words(self) -> &'static [&'static str] {
        &[Self::MESSAGE]
    }
}
