//! What is followed of Cluster API: Machines, Clusters, and the Metal3Clusters behind them. Their stores answer without a request.

use std::{
    fmt::Debug,
    hash::{DefaultHasher, Hash, Hasher},
};

use futures::{Stream, StreamExt};
use kube::{
    Api, Client, Resource,
    runtime::{
        PredicateConfig, WatchStreamExt,
        reflector::{self, Store},
        watcher,
    },
};
use serde::de::DeserializeOwned;

use super::PAGE;

/// Objects of a kind in all namespaces, and what of them is worth a look. What changes is told by `facet`.
pub(in crate::adapters) fn follow<K, F>(
    client: Client,
    facet: F,
) -> (Store<K>, impl Stream<Item = Result<K, watcher::Error>> + Send)
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
    F: Fn(&K) -> Option<u64> + Send + 'static,
{
    let (reader, writer) = reflector::store();
    let config = watcher::Config::default().page_size(PAGE);
    let stream = watcher(Api::<K>::all(client), config)
        .default_backoff()
        .modify(|object| object.meta_mut().managed_fields = None)
        .reflect(writer)
        .inspect(|event| {
            if let Err(error) = event {
                let kind = K::kind(&());
                tracing::warn!(%error, "the {kind}s cannot be followed");
            }
        })
        .applied_objects()
        .predicate_filter(facet, PredicateConfig::default());
    (reader, stream)
}

/// The hash of what is worth a look when it changes. In an option, as kube wants it.
#[allow(clippy::unnecessary_wraps, reason = "the signature is kube's")]
pub(in crate::adapters) fn hash(facets: impl Hash) -> Option<u64> {
    let mut hasher = DefaultHasher::new();
    facets.hash(&mut hasher);
    Some(hasher.finish())
}
