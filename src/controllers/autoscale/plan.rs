//! `Plan`: which replicas are written, and what people are told.

use super::observed::PoolId;

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
