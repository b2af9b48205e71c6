//! Waiting until all objects of a kind were heard of.

use std::{hash::Hash, time::Duration};

use kube::runtime::reflector::{Lookup, Store, store::WriterDropped};

/// How soon one looks again who was not woken.
const LOOK: Duration = Duration::from_millis(100);

/// Waits until a store has all objects that were there when it began to follow them. Of several that wait for `Store::wait_until_ready` it
/// wakes the last alone: who waits for it in passes that are made at one time waits for ever.
pub async fn until_listed<K>(store: &Store<K>) -> Result<(), WriterDropped>
where
    K: Lookup + Clone + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    loop {
        if let Ok(listed) = tokio::time::timeout(LOOK, store.wait_until_ready()).await {
            return listed;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::runtime::{reflector, watcher::Event};

    #[tokio::test]
    async fn all_who_wait_go_on() {
        let (store, mut writer) = reflector::store::<ConfigMap>();
        let wait = || {
            let store = store.clone();
            tokio::spawn(async move { until_listed(&store).await })
        };
        let waiting = [wait(), wait(), wait()];
        tokio::task::yield_now().await;
        writer.apply_watcher_event(&Event::Init);
        writer.apply_watcher_event(&Event::InitDone);
        for it in waiting {
            tokio::time::timeout(10 * LOOK, it).await.expect("it waits on").unwrap().unwrap();
        }
    }
}
