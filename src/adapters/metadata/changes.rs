//! What has changed of objects that are followed, as far as it counts. That one is gone always does.

use std::{collections::HashMap, fmt::Debug};

use futures::{Stream, StreamExt};
use kube::{
    ResourceExt,
    runtime::watcher::{self, Event},
};

/// Those objects of a watch that have changed in what counts, or are gone.
pub(super) fn changes<K: ResourceExt + Debug + Send + 'static>(
    what: &'static str,
    watched: impl Stream<Item = Result<Event<K>, watcher::Error>> + Send,
    counts: impl Fn(&K) -> u64 + Send,
) -> impl Stream<Item = Result<K, watcher::Error>> + Send {
    let mut known: HashMap<(String, String), u64> = HashMap::new();
    watched.filter_map(move |event| {
        let changed = match event {
            Ok(Event::Init | Event::InitDone) => None,
            Ok(Event::InitApply(object) | Event::Apply(object)) => {
                let now = counts(&object);
                (known.insert(key(&object), now) != Some(now)).then_some(Ok(object))
            }
            Ok(Event::Delete(object)) => {
                known.remove(&key(&object));
                Some(Ok(object))
            }
            Err(error) => {
                tracing::debug!(%error, what, "cannot be followed");
                Some(Err(error))
            }
        };
        futures::future::ready(changed)
    })
}

fn key(object: &impl ResourceExt) -> (String, String) {
    (object.namespace().unwrap_or_default(), object.name_any())
}
