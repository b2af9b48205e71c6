//! Which keys the stored objects have: followed, so that admission refuses what is known to be taken
//! without a claim, and so that the sweep need not list the fleet each time.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
    time::Duration,
};

use anyhow::{Context, Result};
use futures::{StreamExt, future};
use kube::{
    Client,
    runtime::{WatchStreamExt, watcher},
};
use serde_json::Value;
use tokio::sync::watch;

use super::marks;
use crate::{
    adapters::{
        stored::{self, Served},
        webhook::policies::InForce,
    },
    policy::{Occupied, PolicySet, UniquePolicy, holder},
    uniqueness::{Holder, Sight},
};

/// How many objects are read at one time, and held whole until their keys are known.
const PAGE: u32 = 100;
/// How soon a kind is found that was not installed.
const EVERY: Duration = Duration::from_secs(15);

/// What is known of the stored objects.
#[derive(Default)]
pub struct Known {
    /// By which policies.
    pub policies: Arc<PolicySet>,
    /// Who has which keys.
    pub occupied: Occupied,
    /// What objects are marked with, as marks have it.
    pub marked: BTreeMap<Holder, String>,
    served: BTreeMap<(String, String), Served>,
}

/// The stored objects that policies want to be unique.
pub struct Occupants {
    client: Client,
    known: RwLock<Known>,
    is_ready: watch::Sender<bool>,
}

/// An object as it is now.
pub struct Look {
    /// Whether it has the key as its own.
    pub sight: Sight,
    /// Whether it has it at all, as its own or reported.
    pub has_key: bool,
    /// The object; none if there is none.
    pub object: Option<Value>,
}

impl Look {
    /// A text of the object, empty if there is none.
    #[must_use]
    pub fn text(&self, pointer: &str) -> &str {
        let value = self.object.as_ref().and_then(|object| object.pointer(pointer));
        value.and_then(Value::as_str).unwrap_or_default()
    }
}

impl Occupants {
    /// Nothing is known yet.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self { client, known: RwLock::default(), is_ready: watch::Sender::new(false) }
    }

    /// What is known now.
    pub fn known(&self) -> RwLockReadGuard<'_, Known> {
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn known_mut(&self) -> RwLockWriteGuard<'_, Known> {
        self.known.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until all stored objects were seen once.
    pub async fn wait_until_ready(&self) -> Result<()> {
        let mut is_ready = self.is_ready.subscribe();
        is_ready.wait_for(|it| *it).await.context("the stored objects are not followed")?;
        Ok(())
    }

    /// The resource of an object, if policies want its objects to be unique.
    #[must_use]
    pub fn served(&self, holder: &Holder) -> Option<Served> {
        self.known().served.get(&(holder.group.clone(), holder.resource.clone())).cloned()
    }

    /// The older object that has a key of this host, if there is one.
    #[must_use]
    pub fn older_than(&self, namespace: &str, name: &str) -> Option<String> {
        let holder = Holder {
            group: "metal3.io".to_owned(),
            resource: "baremetalhosts".to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        };
        self.known().occupied.older_than(&holder).map(|older| older.age.holder.to_string())
    }

    /// Looks at an object in the API server's newest state.
    pub async fn look(&self, policy: &UniquePolicy, key: &str, holder: &Holder) -> Result<Look> {
        // A resource that no policy matches has no keys.
        let nothing = |sight| Look { sight, has_key: false, object: None };
        let Some(served) = self.served(holder) else { return Ok(nothing(Sight::WithoutKey)) };
        let api = served.beside(self.client.clone(), &holder.namespace);
        let found = api.get_opt(&holder.name).await;
        let Some(object) = found.with_context(|| format!("could not look at {holder}"))? else {
            return Ok(nothing(Sight::Absent));
        };
        let object = served.json(object);
        let (is_claimed, is_reported) = match policy.keys(served.versioned(), &object) {
            Ok(keys) => (keys.claimed.contains(key), keys.reported.contains(key)),
            // What cannot be told is not taken away.
            Err(_) => (true, false),
        };
        Ok(Look {
            sight: if is_claimed { Sight::WithKey } else { Sight::WithoutKey },
            has_key: is_claimed || is_reported,
            object: Some(object),
        })
    }

    /// Follows the stored objects for as long as it runs.
    pub async fn follow(self: Arc<Self>, mut policies: watch::Receiver<InForce>) {
        loop {
            let set = Arc::clone(&policies.borrow_and_update().policies);
            tokio::select! {
                () = self.follow_for(set) => {}
                changed = policies.changed() => if changed.is_err() { return; },
            }
        }
    }

    async fn follow_for(&self, policies: Arc<PolicySet>) {
        self.is_ready.send_replace(false);
        loop {
            let served = match self.discover(&policies).await {
                Ok(served) => served,
                Err(error) => {
                    tracing::warn!(error = format!("{error:#}"), "uniqueness waits");
                    tokio::time::sleep(EVERY).await;
                    continue;
                }
            };
            *self.known_mut() = Known {
                policies: Arc::clone(&policies),
                served: served.clone(),
                ..Known::default()
            };
            let (unlisted, mut listed) = watch::channel(served.len());
            let following = async {
                if served.is_empty() {
                    future::pending::<()>().await;
                }
                let each = served.values().map(|served| self.follow_one(served, &unlisted));
                future::join_all(each).await;
            };
            let ready = async {
                if listed.wait_for(|left| *left == 0).await.is_ok() {
                    self.is_ready.send_replace(true);
                }
                future::pending::<()>().await;
            };
            tokio::select! {
                () = following => {}
                () = ready => {}
                () = self.until_served_otherwise(&policies, &served) => {}
            }
        }
    }

    /// The resources that policies want to be unique, each in one version.
    async fn discover(&self, policies: &PolicySet) -> Result<BTreeMap<(String, String), Served>> {
        if policies.unique().is_empty() {
            return Ok(BTreeMap::new());
        }
        let mut found = BTreeMap::new();
        for served in stored::served(&self.client).await? {
            if policies.unique().iter().any(|policy| policy.covers(served.versioned())) {
                let key = (served.resource.group.clone(), served.resource.name.clone());
                found.entry(key).or_insert(served);
            }
        }
        Ok(found)
    }

    async fn until_served_otherwise(
        &self,
        policies: &PolicySet,
        served: &BTreeMap<(String, String), Served>,
    ) {
        loop {
            tokio::time::sleep(EVERY).await;
            let wanted = policies.unique().iter().flat_map(UniquePolicy::resources);
            let is_known = |(group, name): (&str, &str)| {
                served.contains_key(&(group.to_owned(), name.to_owned()))
            };
            if wanted.into_iter().all(is_known) {
                continue;
            }
            if let Ok(now) = self.discover(policies).await
                && now.keys().ne(served.keys())
            {
                return;
            }
        }
    }

    async fn follow_one(&self, served: &Served, unlisted: &watch::Sender<usize>) {
        let config = watcher::Config::default().page_size(PAGE);
        let changes = watcher(served.everywhere(self.client.clone()), config).default_backoff();
        let mut changes = std::pin::pin!(changes);
        let (mut listed, mut is_first) = (BTreeSet::new(), true);
        while let Some(change) = changes.next().await {
            match change {
                Ok(watcher::Event::Init) => listed.clear(),
                Ok(watcher::Event::InitApply(object)) => {
                    listed.insert(self.take(served, &served.json(object)));
                }
                Ok(watcher::Event::InitDone) => {
                    let mut known = self.known_mut();
                    known.occupied.keep_only(served.versioned(), &listed);
                    known.marked.retain(|holder, _| listed.contains(holder));
                    drop(known);
                    listed.clear();
                    if std::mem::take(&mut is_first) {
                        unlisted.send_modify(|left| *left = left.saturating_sub(1));
                    }
                }
                Ok(watcher::Event::Apply(object)) => {
                    self.take(served, &served.json(object));
                }
                Ok(watcher::Event::Delete(object)) => {
                    let holder = holder(served.versioned(), &served.json(object));
                    let mut known = self.known_mut();
                    known.occupied.remove(&holder);
                    known.marked.remove(&holder);
                }
                Err(error) => {
                    let resource = &served.resource.name;
                    tracing::warn!(%error, resource, "stored objects cannot be watched");
                }
            }
        }
    }

    fn take(&self, served: &Served, object: &Value) -> Holder {
        let holder = holder(served.versioned(), object);
        let mut known = self.known_mut();
        let policies = Arc::clone(&known.policies);
        for (policy, error) in known.occupied.set(&policies, served.versioned(), object) {
            tracing::warn!(policy, %holder, error, "the keys of an object cannot be told");
        }
        match marks::of(object) {
            Some(message) => known.marked.insert(holder.clone(), message.to_owned()),
            None => known.marked.remove(&holder),
        };
        holder
    }
}
