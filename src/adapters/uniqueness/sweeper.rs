//! Keeps the claims in step with the objects, and marks the duplicates that are there already. Done by
//! one replica.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use anyhow::Result;
use futures::{StreamExt, stream};
use jiff::Timestamp;
use kube::Client;

use super::{
    claimed::{Claimed, Seen},
    claims::{Claims, Outcome},
    marks::{self, Marker},
    occupants::Occupants,
};
use crate::{
    adapters::clock,
    policy::{PolicySet, UniquePolicy},
    uniqueness::{Claim, Content, Holder, Sight, Sweep, Swept, Write, lease_name, sweep},
};

const EVERY: Duration = Duration::from_secs(10);
/// How many claims are written at one time: on the first day there is one to write for every host.
const AT_ONCE: usize = 8;

/// Sweeps for as long as it runs.
pub async fn keep_swept(
    client: Client,
    replica: String,
    claims: Claims,
    occupants: Arc<Occupants>,
) {
    let marker = Marker::new(client, &replica);
    let claimed = Claimed::default();
    let sweeper = Sweeper { occupants, claimed: &claimed, claims: &claims };
    let sweeping = async {
        loop {
            if let Err(error) = sweeper.sweep().await {
                tracing::warn!(error = format!("{error:#}"), "claims are not swept");
            }
            sweeper.mark(&marker).await;
            tokio::time::sleep(EVERY).await;
        }
    };
    tokio::select! {
        () = claimed.follow(&claims) => {}
        () = sweeping => {}
    }
}

struct Sweeper<'a> {
    claims: &'a Claims,
    claimed: &'a Claimed,
    occupants: Arc<Occupants>,
}

/// A key that somebody has or claims.
struct Entry {
    policy: String,
    key: String,
    claim: Option<Claim>,
    /// Who has it, oldest first, as far as is known.
    holders: Vec<Holder>,
}

impl Sweeper<'_> {
    async fn sweep(&self) -> Result<()> {
        self.occupants.wait_until_ready().await?;
        let claimed = self.claimed.all().await;
        let read_at = clock::now();
        let (policies, entries) = self.entries(claimed);
        let entries = stream::iter(entries.into_iter().map(|(lease, entry)| {
            let policies = Arc::clone(&policies);
            async move { self.settle(read_at, &policies, &lease, entry).await }
        }));
        let mut results = entries.buffer_unordered(AT_ONCE);
        while let Some(result) = results.next().await {
            result?;
        }
        Ok(())
    }

    /// Every key that has a claim or an object, by the name of its Lease.
    fn entries(
        &self,
        claimed: BTreeMap<String, Seen>,
    ) -> (Arc<PolicySet>, BTreeMap<String, Entry>) {
        let known = self.occupants.known();
        let mut entries = BTreeMap::new();
        for (policy, key, occupants) in known.occupied.all() {
            let claiming = occupants.iter().filter(|it| it.is_claimed);
            let holders: Vec<_> = claiming.map(|it| it.age.holder.clone()).collect();
            if !holders.is_empty() {
                let (policy, key) = (policy.to_owned(), key.to_owned());
                let name = lease_name(&policy, &key);
                entries.insert(name, Entry { policy, key, claim: None, holders });
            }
        }
        for (name, Seen { policy, key, claim }) in claimed {
            let nobodys = Entry { policy, key, claim: None, holders: Vec::new() };
            entries.entry(name).or_insert(nobodys).claim = Some(claim);
        }
        (Arc::clone(&known.policies), entries)
    }

    async fn settle(
        &self,
        read_at: Timestamp,
        policies: &PolicySet,
        lease: &str,
        entry: Entry,
    ) -> Result<()> {
        let Entry { policy, key, claim, holders } = entry;
        let grace = self.claims.grace;
        let decide =
            |stored: &[Holder]| sweep(&Swept { read_at, grace, claim: claim.as_ref(), stored });
        if matches!(decide(&holders), Sweep::Keep | Sweep::Wait { .. }) {
            return Ok(());
        }
        // What is to be done is decided by what is there now, and not by what was heard of it.
        let named = claim.as_ref().and_then(|claim| claim.holder.clone());
        let stored = match policies.unique().iter().find(|it| it.name() == policy) {
            Some(policy) => self.stored(policy, &key, holders, named).await?,
            None => Vec::new(),
        };
        let order: Vec<Holder> = stored.iter().map(|(holder, _)| holder.clone()).collect();
        let content = |holder: &Holder| {
            let found = stored.iter().find(|(it, _)| it == holder);
            found.map(|(_, content)| content.clone())
        };
        let plan = decide(&order);
        let (holder, write) = match &plan {
            Sweep::Keep | Sweep::Wait { .. } => return Ok(()),
            Sweep::Delete { version } => return self.claims.delete(lease, version).await,
            Sweep::Create { holder } => (holder, Write::Create),
            Sweep::HandOver { holder, version } => (holder, Write::TakeOver(version)),
        };
        let Some(content) = content(holder) else { return Ok(()) };
        // Whoever was faster has settled it.
        match self.claims.write(&content, write).await? {
            Outcome::Done(_) => tracing::info!(holder = %content.holder, key, policy, "claimed"),
            Outcome::TooLate => {}
        }
        Ok(())
    }

    /// Those that have the key as the API server has them now, oldest first, and what their claim says.
    async fn stored(
        &self,
        policy: &UniquePolicy,
        key: &str,
        holders: Vec<Holder>,
        named: Option<Holder>,
    ) -> Result<Vec<(Holder, Content)>> {
        let mut seen = BTreeSet::new();
        let mut stored = Vec::new();
        for holder in holders.into_iter().chain(named) {
            if !seen.insert(holder.clone()) {
                continue;
            }
            let look = self.occupants.look(policy, key, &holder).await?;
            if look.sight == Sight::WithKey {
                let content = Content {
                    policy: policy.name().to_owned(),
                    key: key.to_owned(),
                    holder: holder.clone(),
                    kind: look.text("/kind").to_owned(),
                    uid: look.text("/metadata/uid").to_owned(),
                };
                stored.push((holder, content));
            }
        }
        Ok(stored)
    }

    /// What cannot be marked now is marked the next time.
    async fn mark(&self, marker: &Marker) {
        let due = marks::due(&self.occupants.known());
        for (holder, mark) in due {
            let Some(served) = self.occupants.served(&holder) else { continue };
            if let Err(error) = marker.write(&served, &holder, &mark).await {
                tracing::warn!(error = format!("{error:#}"), "a duplicate is not marked");
            }
        }
    }
}
