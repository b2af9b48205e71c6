//! What is stored, as somebody sees it who watches: without asking again and again, and with all that was on the way.

use anyhow::{Context, Result, bail};
use futures::StreamExt;
use kube::{
    Api, Client, Config, ResourceExt,
    api::{ApiResource, DynamicObject, GroupVersionKind},
    config::{KubeConfigOptions, Kubeconfig},
    runtime::{
        WatchStreamExt,
        watcher::{self, Event},
    },
};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    fmt::{self, Display},
    path::Path,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

/// A kind that is watched: group, version, kind.
pub type Kind = (&'static str, &'static str, &'static str);

/// Objects by kind, namespace and name.
type Objects = BTreeMap<(String, String, String), Value>;

/// What is there, and what has been.
#[derive(Debug, Default)]
pub struct Seen {
    objects: Objects,
    past: Vec<Value>,
    /// Of how many kinds everything has been heard.
    complete: usize,
}

/// A watch of several kinds in all namespaces. It ends with the process, or with the API server when nobody looks any more.
#[derive(Clone)]
pub struct Watched {
    seen: Arc<(Mutex<Seen>, Condvar)>,
}

impl fmt::Debug for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watched").finish_non_exhaustive()
    }
}

impl Watched {
    /// Starts to watch, and returns when it has heard of all there is.
    pub fn start(kubeconfig: &Path, kinds: &[Kind]) -> Result<Self> {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
        let watched = Self { seen: Arc::default() };
        let (own, kinds) = (watched.clone(), kinds.to_vec());
        let count = kinds.len();
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let end = runtime.map_err(anyhow::Error::from).and_then(|runtime| {
                runtime.block_on(async {
                    let options = KubeConfigOptions::default();
                    let config = Config::from_custom_kubeconfig(kubeconfig, &options).await?;
                    let client = Client::try_from(config)?;
                    futures::future::join_all(kinds.iter().map(|kind| own.watch(&client, *kind)))
                        .await;
                    anyhow::Ok(())
                })
            });
            if let Err(error) = end {
                eprintln!("nothing is watched any more: {error:#}");
            }
        });
        watched.until(Duration::from_mins(1), "all is heard of", |seen| {
            if seen.complete >= count { Ok(()) } else { Err(seen.complete) }
        })?;
        Ok(watched)
    }

    async fn watch(&self, client: &Client, (group, version, kind): Kind) {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        let api = Api::<DynamicObject>::all_with(client.clone(), &resource);
        // With lists in one piece: a watch that begins with them asks the API server for a feature of its own.
        let mut events =
            watcher::watcher(api, watcher::Config::default()).default_backoff().boxed();
        while let Some(event) = events.next().await {
            let mut seen = self.lock();
            match event {
                Ok(Event::Apply(object) | Event::InitApply(object)) => {
                    let key = key(kind, &object);
                    if let Ok(value) = serde_json::to_value(&object) {
                        seen.past.push(value.clone());
                        seen.objects.insert(key, value);
                    }
                }
                Ok(Event::Delete(object)) => {
                    seen.objects.remove(&key(kind, &object));
                }
                Ok(Event::InitDone) => seen.complete += 1,
                Ok(Event::Init) => {}
                // The kind may not be served yet, or the API server be busy: it is tried again.
                Err(error) => {
                    // Nobody looks any more, and so the API server may be gone for good.
                    if Arc::strong_count(&self.seen) == 1 {
                        return;
                    }
                    eprintln!("{kind} is not watched for now: {error}");
                }
            }
            drop(seen);
            self.seen.1.notify_all();
        }
    }

    /// What is there now.
    pub fn now<T>(&self, look: impl FnOnce(&Seen) -> T) -> T {
        look(&self.lock())
    }

    /// Looks whenever something has changed, until `look` has what is waited for; its error says what is there instead.
    pub fn until<T, S: Display>(
        &self,
        patience: Duration,
        what: &str,
        mut look: impl FnMut(&Seen) -> Result<T, S>,
    ) -> Result<T> {
        let end = Instant::now() + patience;
        let mut seen = self.lock();
        loop {
            let instead = match look(&seen) {
                Ok(found) => return Ok(found),
                Err(instead) => instead,
            };
            let Some(left) = end.checked_duration_since(Instant::now()) else {
                bail!("\"{what}\" has not come about in {patience:?}; last seen: {instead:#}")
            };
            seen = self.seen.1.wait_timeout(seen, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key(kind: &str, object: &DynamicObject) -> (String, String, String) {
    (kind.to_owned(), object.namespace().unwrap_or_default(), object.name_any())
}

impl Seen {
    /// One object, if it is there.
    pub fn get(&self, kind: &str, namespace: &str, name: &str) -> Result<&Value> {
        let key = (kind.to_owned(), namespace.to_owned(), name.to_owned());
        self.objects.get(&key).with_context(|| format!("there is no {kind} {namespace}/{name}"))
    }

    /// All of a kind in a namespace.
    pub fn all<'a>(&'a self, kind: &'a str, namespace: &'a str) -> impl Iterator<Item = &'a Value> {
        self.objects
            .iter()
            .filter(move |((of, within, _), _)| of == kind && within == namespace)
            .map(|(_, object)| object)
    }

    /// Everything of a kind that was stored in a namespace since the watch began, in order.
    pub fn past<'a>(
        &'a self,
        kind: &'a str,
        namespace: &'a str,
    ) -> impl Iterator<Item = &'a Value> {
        self.past.iter().filter(move |object| {
            object["kind"] == kind && object["metadata"]["namespace"] == namespace
        })
    }
}
