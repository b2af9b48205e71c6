//! The conditions of a Metal3Machine. Metal3's types and reasons.

use strum::{Display, EnumIter, IntoStaticStr};

use crate::controllers::{conditions::Reason, said::Subject};

/// A question about a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Display)]
pub enum Question {
    /// Does it do what it is for?
    Ready,
    /// Has it a host?
    AssociateBareMetalHost,
    /// Has it the Secrets that its host boots with?
    Metal3DataReady,
    /// Is it to be left alone?
    Paused,
}

const READY: &[&str] = &["Ready"];
const HOST: &[&str] = &["AssociateBareMetalHost"];
const BOTH: &[&str] = &["AssociateBareMetalHost", "Ready"];
const DATA: &[&str] = &["Metal3DataReady"];
const PAUSED: &[&str] = &["Paused"];

/// Why an answer is what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumIter, IntoStaticStr)]
pub enum Why {
    /// It runs.
    Ready,
    /// It does not run yet.
    NotReady,
    /// No Machine has it.
    WaitingForMetal3MachineOwnerRef,
    /// Its Cluster has nowhere to be.
    WaitingForClusterInfrastructureReady,
    /// Its Cluster is of another provider.
    #[strum(serialize = "WaitingforMetal3Cluster")]
    WaitingForMetal3Cluster,
    /// Nobody has said what is to boot.
    WaitingForBootstrapData,
    /// It has no host.
    AssociateBareMetalHostFailed,
    /// It has one.
    AssociateBareMetalHostSuccess,
    /// It has one that its pool had before.
    AssociateBareMetalHostViaNodeReuseSuccess,
    /// It had one.
    #[strum(serialize = "MissingBMH")]
    MissingBmh,
    /// Its host waits for Secrets.
    WaitingForMetal3Data,
    /// They are there.
    SecretsSetExternally,
    /// Its host is deprovisioned.
    Deleting,
    /// It is to be left alone.
    Paused,
    /// It is not.
    NotPaused,
}

impl Reason for Why {
    const OF: Subject = Subject::Metal3Machine;

    fn types(self) -> &'static [&'static str] {
        match self {
            Self::Ready | Self::NotReady => READY,
            Self::WaitingForMetal3MachineOwnerRef
            | Self::WaitingForClusterInfrastructureReady
            | Self::WaitingForMetal3Cluster
            | Self::WaitingForBootstrapData
            | Self::AssociateBareMetalHostFailed
            | Self::AssociateBareMetalHostSuccess
            | Self::AssociateBareMetalHostViaNodeReuseSuccess
            | Self::MissingBmh => HOST,
            Self::WaitingForMetal3Data | Self::SecretsSetExternally => DATA,
            Self::Deleting => BOTH,
            Self::Paused | Self::NotPaused => PAUSED,
        }
    }

    fn words(self) -> &'static [&'static str] {
        match self {
            Self::Ready => &[
                "Node <node> has the providerID <its>, not <expected>",
                "Nodes <nodes> all claim to run on host <host>",
            ],
            Self::NotReady => &[
                "host <host> is <state>",
                "the cloud provider has not given the Node its providerID yet",
                "<what AssociateBareMetalHost or Metal3DataReady says>",
            ],
            Self::WaitingForMetal3MachineOwnerRef => {
                &["no Machine has it as its infrastructureRef yet"]
            }
            Self::WaitingForClusterInfrastructureReady => {
                &["there is no such Cluster", "the Cluster's infrastructure is not provisioned yet"]
            }
            Self::WaitingForMetal3Cluster => {
                &["the Cluster's infrastructureRef names no Metal3Cluster"]
            }
            Self::WaitingForBootstrapData => {
                &["the Machine's spec.bootstrap.dataSecretName is not there yet"]
            }
            Self::AssociateBareMetalHostFailed => &[
                "no host fits: <numbers>",
                "waits until <time> for a host that is reserved for its pool to become available: <hosts>",
                "<the API server's refusal, or what is wrong with hostSelector>",
            ],
            Self::MissingBmh => &[
                "host <host> is not there any more: delete the Machine to have it replaced",
                "host <host> has another consumerRef: delete the Machine to have it replaced",
            ],
            Self::WaitingForMetal3Data => &[
                "spec.metaData.<field> is not there yet: it is rendered from Metal3Metadata <name>, whose condition Ready says what stands in the way",
                "spec.dataTemplate asks for Metal3DataTemplate <name>, which is not rendered by Ironward: use spec.metaData.configRef, or Metal3's own controllers",
                "the Secret of spec.<field> is in namespace <other>: it must be in <namespace>, like the machine",
            ],
            Self::Deleting => &["host <host> is <state>"],
            Self::AssociateBareMetalHostSuccess
            | Self::AssociateBareMetalHostViaNodeReuseSuccess
            | Self::SecretsSetExternally
            | Self::Paused
            | Self::NotPaused => &[],
        }
    }
}
