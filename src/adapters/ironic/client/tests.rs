//! What the client sends, seen from the other end of the wire: how much at one time, and what a second time.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    sync::{
        Arc, Barrier,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use futures::future::join_all;
use prometheus_client::registry::Registry;

use super::*;
use crate::adapters::ironic::TlsFiles;

const VERSION: &str = r#"{"version": {"min_version": "1.1", "version": "1.95"}}"#;

/// Answers in threads of its own, until the process ends: the version, and else what is made of the connection.
fn serve(each: impl Fn(&mut TcpStream) + Send + Sync + 'static) -> Client {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let each = Arc::new(each);
    thread::spawn(move || {
        for mut connection in listener.incoming().flatten() {
            let each = Arc::clone(&each);
            thread::spawn(move || {
                let mut request = [0; 4096];
                let read = connection.read(&mut request).unwrap_or_default();
                if request[..read].starts_with(b"GET /v1 ") {
                    answer(&mut connection, "200 OK", VERSION);
                } else {
                    each(&mut connection);
                }
            });
        }
    });
    let _ = rustls::crypto::ring::default_provider().install_default();
    let settings = Settings { url, login: None, tls: TlsFiles::default() };
    Client::new(&settings, Metrics::new(&mut Registry::default())).unwrap()
}

fn answer(connection: &mut TcpStream, status: &str, body: &str) {
    let length = body.len();
    let text =
        format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}");
    connection.write_all(text.as_bytes()).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn no_more_is_asked_at_one_time_than_ironic_bears() {
    let [open, most] = [Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0))];
    // Nobody is answered before as many have come as may come.
    let full = Barrier::new(AT_ONCE);
    let (counted, seen) = (Arc::clone(&open), Arc::clone(&most));
    let client = serve(move |connection| {
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
    let client = serve(move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
    });
    let unanswered = |error: Option<Error>| matches!(error, Some(Error::Unanswered { .. }));
    assert!(unanswered(client.node("a").await.err()));
    assert_eq!(asked.swap(0, Ordering::SeqCst), 2);
    assert!(unanswered(client.provision("a", &Verb::Manage).await.err()));
    assert_eq!(asked.swap(0, Ordering::SeqCst), 1);
}
