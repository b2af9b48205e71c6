//! The choice: hosts that are reserved for the machine's pool before others, and of those the one that was idle for longest.

use std::{collections::BTreeSet, time::Duration};

use jiff::{SignedDuration, Timestamp};

use super::{
    candidate::{Candidate, HostId, Standing},
    hosts::{Hosts, Rank},
    shortage::{self, Shortage},
    wish::Wish,
};

/// For how long a machine waits for a host of its pool that is not available yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience(pub Duration);

impl Default for Patience {
    /// Longer than a host that is well takes to be deprovisioned and cleaned.
    fn default() -> Self {
        Self(Duration::from_mins(30))
    }
}

/// Which host a machine takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// It has this one already, by what is stored of the host.
    Has(HostId),
    /// This one.
    Take(Chosen),
    /// One of these of its pool, as soon as it is available; it is not waited for beyond this time.
    Await {
        /// Their names.
        hosts: Vec<String>,
        /// When the first of them is given up.
        until: Timestamp,
    },
    /// None, for these reasons.
    Nothing(Shortage),
}

/// A host that was chosen, in the version in which it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen {
    /// Its name.
    pub host: HostId,
    /// Which of all that had this name.
    pub uid: String,
    /// The claim is made on this version and no other.
    pub version: String,
    /// Whether it was reserved for the machine's pool.
    pub is_reused: bool,
    /// Hosts of its pool that were waited for in vain.
    pub given_up: Vec<String>,
}

impl Hosts {
    /// Which host a machine takes.
    #[must_use]
    pub fn choose(&self, wish: &Wish, now: Timestamp, patience: Patience) -> Choice {
        let namespace = &wish.machine.namespace;
        if let Some(name) = self.held.get(&wish.machine).and_then(BTreeSet::first) {
            return Choice::Has(HostId { namespace: namespace.clone(), name: name.clone() });
        }
        let pool = self.of_pool(wish);
        let ready = pool.iter().filter(|it| it.standing == Standing::Free);
        if let Some(host) = ready.min_by_key(|it| (it.last_used, &it.id.name)) {
            return Choice::Take(chosen(host, Vec::new()));
        }
        let end = |host: &Candidate| host.reservation.as_ref()?.since?.checked_add(patience.0).ok();
        let (given_up, awaited): (Vec<_>, Vec<_>) =
            pool.into_iter().partition(|it| end(it).is_some_and(|end| end <= now));
        // One host for each of those who wait; who comes after them takes another. Who has been promised one waits no more.
        let ahead = self.line.ahead(wish).filter(|it| !self.has_host(it)).count();
        if awaited.len() > ahead {
            let ends = awaited.iter().filter_map(|it| end(it));
            let later = now.checked_add(SignedDuration::try_from(patience.0).unwrap_or_default());
            return Choice::Await {
                until: ends.min().or(later.ok()).unwrap_or(now),
                hosts: awaited.iter().map(|it| it.id.name.clone()).collect(),
            };
        }
        match self.first_free(wish) {
            Some(host) => {
                let given_up = given_up.iter().map(|it| it.id.name.clone());
                Choice::Take(chosen(host, given_up.collect()))
            }
            None => Choice::Nothing(self.shortage(wish)),
        }
    }

    /// The hosts that are kept for a machine's pool, and fit. One that was given up or is going does not come back.
    fn of_pool(&self, wish: &Wish) -> Vec<&Candidate> {
        let Some(pool) = &wish.pool else { return Vec::new() };
        let namespace = &wish.machine.namespace;
        let from = (namespace.clone(), String::new());
        let labels = self.reserved.range(from..).take_while(|((its, _), _)| its == namespace);
        let names = labels.filter(|((_, label), _)| pool.matches(label)).flat_map(|(_, it)| it);
        let hosts = names.filter_map(|name| self.named(namespace, name));
        hosts
            .filter(|it| !matches!(it.standing, Standing::Unhealthy | Standing::BeingDeleted))
            .filter(|it| wish.shares(it) && wish.fits(it))
            .collect()
    }

    /// The first host that fits, looked for only among those that have the rarest of the labels.
    fn first_free(&self, wish: &Wish) -> Option<&Candidate> {
        let namespace = &wish.machine.namespace;
        let all = self.free.get(namespace)?;
        let mut fewest: &BTreeSet<Rank> = all;
        for (key, value) in wish.exact_labels() {
            let label = (namespace.clone(), key.to_owned(), value.to_owned());
            let having = self.free_by_label.get(&label)?;
            if having.len() < fewest.len() {
                fewest = having;
            }
        }
        let hosts = fewest.iter().filter_map(|(_, name)| self.named(namespace, name));
        hosts.into_iter().find(|host| wish.fits(host))
    }

    /// Why none fits. By the sizes of sets, without looking at every host.
    fn shortage(&self, wish: &Wish) -> Shortage {
        let namespace = &wish.machine.namespace;
        let free = self.free.get(namespace).map_or(0, BTreeSet::len);
        let there = wish.failure_domain.as_ref().map(|domain| {
            let label =
                (namespace.clone(), super::candidate::FAILURE_DOMAIN.to_owned(), domain.clone());
            (domain.clone(), self.free_by_label.get(&label).map_or(0, BTreeSet::len))
        });
        let unhealthy = self.unhealthy.get(namespace).into_iter().flatten();
        let unhealthy = unhealthy.map(|(name, why)| (name.clone(), why.clone()));
        let in_place = there.as_ref().map_or(free, |(_, count)| *count);
        Shortage {
            census: self.census.get(namespace).cloned().unwrap_or_default(),
            elsewhere: there.map(|(domain, count)| (domain, free - count)),
            unselected: in_place,
            unhealthy: unhealthy.take(shortage::NAMED).collect(),
        }
    }
}

fn chosen(host: &Candidate, given_up: Vec<String>) -> Chosen {
    Chosen {
        host: host.id.clone(),
        uid: host.uid.clone(),
        version: host.version.clone(),
        is_reused: host.reservation.is_some(),
        given_up,
    }
}
