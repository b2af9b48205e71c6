//! `Wish`: what a machine wants of a host.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::{
    candidate::{Candidate, FAILURE_DOMAIN},
    selector::Selector,
};
use crate::domain::node_reuse::Pool;

/// A Metal3Machine by name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MachineId {
    /// Its namespace, which is that of its host.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// What a machine wants of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wish {
    /// Who wants it.
    pub machine: MachineId,
    /// Which labels it is to have.
    pub selector: Selector,
    /// Where it is to be.
    pub failure_domain: Option<String>,
    /// The machines with which it shares hosts.
    pub pool: Option<Pool>,
    /// The Cluster that it belongs to.
    pub cluster: String,
    /// When the machine was created: who came first is served first.
    pub since: Timestamp,
}

impl Wish {
    /// Whether a host has what is wanted. Whether it can be had is another question.
    #[must_use]
    pub fn fits(&self, host: &Candidate) -> bool {
        self.is_in_failure_domain(host) && self.selector.matches(&host.labels)
    }

    /// Whether a host is where it is wanted.
    #[must_use]
    pub fn is_in_failure_domain(&self, host: &Candidate) -> bool {
        self.failure_domain.is_none() || self.failure_domain.as_deref() == host.failure_domain()
    }

    /// Whether a host is kept for this machine's pool.
    #[must_use]
    pub fn shares(&self, host: &Candidate) -> bool {
        host.reservation.as_ref().is_some_and(|it| {
            self.pool.as_ref().is_some_and(|pool| pool.matches(&it.pool))
                && it.cluster.as_ref().is_none_or(|cluster| *cluster == self.cluster)
        })
    }

    /// Labels that a host must have with just these values.
    #[must_use]
    pub fn exact_labels(&self) -> BTreeMap<&str, &str> {
        let domain = self.failure_domain.iter().map(|it| (FAILURE_DOMAIN, it.as_str()));
        self.selector.exact().chain(domain).collect()
    }
}
