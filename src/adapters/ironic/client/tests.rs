//! What the client sends, seen from the other end of the wire: how much at one time, and what a second time.

use std::sync::{
    Arc, Barrier,
    atomic::{AtomicUsize, Ordering},
};

use futures::future::join_all;

use super::*;
use crate::adapters::ironic::testing::{answer, serve};

#[tokio::test(flavor = "multi_thread")]
async fn no_more_is_asked_at_one_time_than_ironic_bears() {
    let [open, most] = [Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0))];
    // Nobody is answered before as many have come as may come.
    let full = Barrier::new(AT_ONCE);
    let (counted, seen) = (Arc::clone(&open), Arc::clone(&most));
    let client = serve(move |_, connection| {
        seen.fetch_max(counted.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        full.wait();
        counted.fetch_sub(1, Ordering::SeqCst);
        answer(connection, "404 Not Found", "{}");
    });
    client.version().await.unwrap();
    let found = join_all((0..4 * AT_ONCE).map(|_| client.node("a"))).await;
    assert!(found.iter().all(|it| *it == Ok(None)), "{found:?}");
    assert_eq!(most.load(Ordering::SeqCst), AT_ONCE);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_not_answered_is_asked_again_only_if_that_changes_nothing() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    // The connection ends, and nobody knows what has become of the request.
    let client = serve(move |_, _| {
        counted.fetch_add(1, Ordering::SeqCst);
    });
    let unanswered = |error: Option<Error>| matches!(error, Some(Error::Unanswered { .. }));
    assert!(unanswered(client.node("a").await.err()));
    assert_eq!(asked.swap(0, Ordering::SeqCst), 2);
    assert!(unanswered(client.provision("a", &Verb::Manage).await.err()));
    assert_eq!(asked.swap(0, Ordering::SeqCst), 1);
}
