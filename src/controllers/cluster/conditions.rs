//! The conditions of a Metal3Cluster. Metal3's types and reasons.

use strum::{EnumIter, IntoStaticStr};

use crate::controllers::{conditions::Reason, said::Subject};

/// Is it all that its machines need?
pub(super) const READY: &str = "Ready";
/// The same, as Metal3 asks it.
pub(super) const INFRASTRUCTURE_READY: &str = "BaremetalInfrastructureReady";
/// Is it to be left alone?
pub(super) const PAUSED: &str = "Paused";

/// Why an answer is what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumIter, IntoStaticStr)]
pub enum Why {
    /// All is there.
    Ready,
    /// Something is missing; `BaremetalInfrastructureReady` says what.
    NotReady,
    /// No Cluster has it.
    FailedToGetOwnerCluster,
    /// Its endpoint is not complete.
    ControlPlaneEndpointFailed,
    /// It waits for its machines.
    Deleting,
    /// It is to be left alone.
    Paused,
    /// It is not.
    NotPaused,
}

impl Reason for Why {
    const OF: Subject = Subject::Metal3Cluster;

    fn types(self) -> &'static [&'static str] {
        match self {
            Self::Ready | Self::Deleting => &[INFRASTRUCTURE_READY, READY],
            Self::NotReady => &[READY],
            Self::FailedToGetOwnerCluster | Self::ControlPlaneEndpointFailed => {
                &[INFRASTRUCTURE_READY]
            }
            Self::Paused | Self::NotPaused => &[PAUSED],
        }
    }

    fn words(self) -> &'static [&'static str] {
        match self {
            Self::Ready | Self::Paused | Self::NotPaused => &[],
            Self::NotReady => &[
                "no Cluster has it as its infrastructureRef yet",
                "missing in spec.controlPlaneEndpoint: <fields>",
            ],
            Self::FailedToGetOwnerCluster => &["no Cluster has it as its infrastructureRef yet"],
            Self::ControlPlaneEndpointFailed => &["missing in spec.controlPlaneEndpoint: <fields>"],
            Self::Deleting => &[
                "1 Machine of the Cluster is still there",
                "<number> Machines of the Cluster are still there",
            ],
        }
    }
}
