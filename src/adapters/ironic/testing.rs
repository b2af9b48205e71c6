//! The other end of the wire, for what a real Ironic cannot be made to do: answer late, too much at once or not at all.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    sync::Arc,
    thread,
};

use prometheus_client::registry::Registry;

use super::{Client, Metrics, Settings, TlsFiles};

const VERSION: &str = r#"{"version": {"min_version": "1.1", "version": "1.95"}}"#;

/// Answers in threads of its own, until the process ends: the version, and else what is made of the request and its connection.
pub(super) fn serve(each: impl Fn(&str, &mut TcpStream) + Send + Sync + 'static) -> Client {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let each = Arc::new(each);
    thread::spawn(move || {
        for mut connection in listener.incoming().flatten() {
            let each = Arc::clone(&each);
            thread::spawn(move || {
                let mut request = [0; 4096];
                let read = connection.read(&mut request).unwrap_or_default();
                let request = String::from_utf8_lossy(&request[..read]);
                if request.starts_with("GET /v1 ") {
                    answer(&mut connection, "200 OK", VERSION);
                } else {
                    each(&request, &mut connection);
                }
            });
        }
    });
    let _ = rustls::crypto::ring::default_provider().install_default();
    let settings = Settings { url, login: None, tls: TlsFiles::default() };
    Client::new(&settings, Metrics::new(&mut Registry::default())).unwrap()
}

pub(super) fn answer(connection: &mut TcpStream, status: &str, body: &str) {
    let length = body.len();
    let text =
        format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}");
    connection.write_all(text.as_bytes()).unwrap();
}
