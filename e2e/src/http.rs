//! Plain HTTP to what runs on this machine.

use anyhow::{Context, Result};
use reqwest::blocking::{Client, ClientBuilder};

/// A client that uses no proxy: all that is asked here is on loopback.
pub fn client() -> Result<Client> {
    builder().build().context("could not make an HTTP client")
}

/// The same, to be told more.
pub fn builder() -> ClientBuilder {
    // The provider is the process's; an error means that somebody was faster.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder().no_proxy()
}
