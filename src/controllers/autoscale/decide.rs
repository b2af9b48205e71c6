//! How many machines each pool is to have: a total function of what is known.

use std::{collections::BTreeSet, time::Duration};

use super::{
    observed::{Kind, Machine, Observed, Pool, PoolId},
    plan::{Plan, Scaling},
};
use crate::{
    api::cluster_api::AUTOSCALER_MAX,
    controllers::host_choice::{Candidate, Standing, selector::Selector},
    domain::{
        host_discovery::autoscale::{AUTOSCALE, Bounds},
        node_reuse,
    },
};

/// For how long there must have been fewer hosts than machines: what is heard of hosts and of machines does not come in order.
const GRACE: Duration = Duration::from_secs(10);

/// A pool that is scaled, and how many hosts it can have.
struct Share<'a> {
    pool: &'a Pool,
    bounds: Bounds,
    selector: &'a Selector,
    hosts: u32,
}

/// Decides how many machines each pool is to have.
#[must_use]
pub fn decide(seen: &Observed<'_>) -> Plan {
    let mut plan = Plan::default();
    let mut pools: Vec<&Pool> = seen.pools.iter().filter(|pool| !pool.is_left_alone).collect();
    pools.sort_by(|one, other| (one.created, &one.id).cmp(&(other.created, &other.id)));
    let mut shares = Vec::new();
    for pool in pools {
        match read(pool) {
            Ok(Some((bounds, selector))) => {
                let hosts = own(pool, selector, seen);
                shares.push(Share { pool, bounds, selector, hosts });
            }
            Ok(None) => {}
            Err(problem) => plan.problems.push((pool.id.clone(), problem)),
        }
    }
    // A host that several could have is counted once: two machines would want it, and one would wait for ever.
    for host in seen.hosts.iter().filter(|host| host.standing() == Standing::Free) {
        let takes =
            |it: &&mut Share<'_>| it.bounds.has_room(it.hosts) && it.selector.matches(&host.labels);
        if let Some(share) = shares.iter_mut().find(takes) {
            share.hosts = share.hosts.saturating_add(1);
        }
    }
    for Share { pool, bounds, hosts, .. } in shares {
        let (id, from, to) = (pool.id.clone(), pool.replicas, bounds.hold(hosts));
        if to < from {
            plan.short.push(id.clone());
        }
        if to > from || (to < from && pool.short_for >= GRACE) {
            plan.scalings.push(Scaling { pool: id, from, to, hosts });
        }
    }
    plan
}

/// What a pool wants, if it is to be scaled.
fn read(pool: &Pool) -> Result<Option<(Bounds, &Selector)>, String> {
    let Some(bounds) = Bounds::read(&pool.annotation).map_err(|error| error.to_string())? else {
        return Ok(None);
    };
    if pool.has_autoscaler {
        return Err(format!(
            "{AUTOSCALE} and {AUTOSCALER_MAX} cannot both write spec.replicas: remove one of them"
        ));
    }
    let selector = pool.selector.as_ref().map_err(Clone::clone)?;
    Ok(Some((bounds, selector)))
}

/// The hosts that are a pool's already: in use, about to come back from a machine that goes, or kept for it.
fn own(pool: &Pool, selector: &Selector, seen: &Observed<'_>) -> u32 {
    let of_pool = |name: &str| seen.machines.get(name).filter(|it| it.is_of(&pool.id));
    let mut used: BTreeSet<&str> = BTreeSet::new();
    for (name, machine) in &seen.machines {
        if machine.is_of(&pool.id) && machine.has_host && !machine.is_leaving {
            used.insert(name);
        }
    }
    let mut others = 0_u32;
    for host in &seen.hosts {
        let consumer = host.consumer.as_ref().map(|it| it.name.as_str());
        match consumer.map(|name| (name, of_pool(name))) {
            Some((name, Some(Machine { is_leaving: false, .. }))) => {
                used.insert(name);
            }
            Some((_, Some(_))) if comes_back(host, pool, selector) => others += 1,
            None if is_kept_for(host, pool) => others += 1,
            Some(_) | None => {}
        }
    }
    u32::try_from(used.len()).unwrap_or(u32::MAX).saturating_add(others)
}

/// Whether a host whose machine goes can be had again then.
fn comes_back(host: &Candidate, pool: &Pool, selector: &Selector) -> bool {
    let is_well = !matches!(host.standing, Standing::BeingDeleted | Standing::Unhealthy);
    is_well && (selector.matches(&host.labels) || is_kept_for(host, pool))
}

/// Whether a host is kept for a pool (node reuse).
fn is_kept_for(host: &Candidate, pool: &Pool) -> bool {
    let PoolId { kind, name } = &pool.id;
    let label = match kind {
        Kind::MachineDeployment => node_reuse::Pool::MachineDeployment(name.clone()),
        // Those of a MachineSet share hosts with nobody.
        Kind::MachineSet => return false,
    };
    let is_gone = matches!(host.standing, Standing::BeingDeleted | Standing::Unhealthy);
    host.reservation.as_ref().is_some_and(|it| {
        !is_gone
            && label.matches(&it.pool)
            && it.cluster.as_ref().is_none_or(|cluster| *cluster == pool.cluster)
    })
}
