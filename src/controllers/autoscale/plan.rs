//! `Plan`: which replicas are written, and what people are told.

use strum::{EnumIter, IntoStaticStr};

use super::observed::PoolId;
use crate::controllers::{events, said::Voice};

/// What is to be done in a namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// The pools whose replicas are to be others.
    pub scalings: Vec<Scaling>,
    /// The pools that have fewer hosts than machines, and wait whether that lasts.
    pub short: Vec<PoolId>,
    /// The pools that are not scaled, and why.
    pub problems: Vec<(PoolId, String)>,
}

/// Other replicas for a pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scaling {
    /// Which pool.
    pub pool: PoolId,
    /// How many machines there were to be.
    pub from: u32,
    /// How many there are to be.
    pub to: u32,
    /// How many hosts it can have.
    pub hosts: u32,
}

/// Why something is told of a pool: the reason of the event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumIter, IntoStaticStr)]
pub enum Reason {
    /// Its replicas are others.
    ScaledToHosts,
    /// They are left as they are.
    NotScaledToHosts,
}

impl events::Reason for Reason {
    const OF: Voice = Voice::Autoscale;

    fn is_warning(self) -> bool {
        match self {
            Self::ScaledToHosts => false,
            Self::NotScaledToHosts => true,
        }
    }

    fn words(self) -> &'static [&'static str] {
        match self {
            Self::ScaledToHosts => {
                &["replicas <number> to <number>: there are <number> hosts that it can have"]
            }
            Self::NotScaledToHosts => &[
                "metal3.io/autoscale-to-hosts and cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size cannot both write spec.replicas: remove one of them",
                "<what is wrong with the annotation>",
                "its machines are made from a <kind>, which has no hostSelector",
                "there is no Metal3MachineTemplate <name>",
                "Metal3MachineTemplate <name>: <what is wrong with hostSelector>",
            ],
        }
    }
}
