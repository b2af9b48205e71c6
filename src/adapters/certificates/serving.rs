//! A certificate and its key, as they are served with.

use std::sync::Arc;

use axum_server::tls_rustls::RustlsConfig;
use jiff::Timestamp;
use prometheus_client::metrics::gauge::Gauge;
use rustls::{
    InconsistentKeys, ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};

use crate::{
    adapters::clock,
    certificates::{Unreadable, certificate},
};

/// Why nobody can be served with it.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    /// The certificate is none.
    #[error("the certificate cannot be used: {0}")]
    Certificate(#[from] Unreadable),
    /// The key is none. Why is not said: a text about a key may hold some of it.
    #[error("the key cannot be used: there is no private key in it (-----BEGIN PRIVATE KEY-----)")]
    Key,
    /// They do not belong together.
    #[error("the key is not that of the certificate; both must come from one Secret")]
    Mismatch,
    /// What else rustls does not like.
    #[error("the certificate cannot be used: {0}")]
    Other(rustls::Error),
}

/// What can be served with, and until when.
#[derive(Debug, Clone)]
pub struct Usable {
    config: Arc<ServerConfig>,
    expires: Timestamp,
}

impl Usable {
    /// Reads a certificate, with those that lead to its authority, and its key, both in PEM.
    pub fn read(chain: &[u8], key: &[u8]) -> Result<Self, Unusable> {
        let expires = certificate(chain)?.expires;
        let ders: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(chain).collect();
        let ders = ders.map_err(|error| Unreadable::Pem(error.to_string()))?;
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| Unusable::Key)?;
        let config = ServerConfig::builder().with_no_client_auth().with_single_cert(ders, key);
        let mut config = config.map_err(|error| {
            if error == rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch) {
                Unusable::Mismatch
            } else {
                Unusable::Other(error)
            }
        })?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self { config: Arc::new(config), expires })
    }
}

/// What is served with now. Connections that are open keep what they began with.
#[derive(Debug, Clone)]
pub struct Serving {
    /// As the server takes it.
    pub tls: RustlsConfig,
    expiry: Gauge,
}

impl Serving {
    /// Begins.
    #[must_use]
    pub fn start(usable: &Usable, expiry: Gauge) -> Self {
        let tls = RustlsConfig::from_config(Arc::clone(&usable.config));
        let serving = Self { tls, expiry };
        serving.note(usable.expires, "serving with a certificate");
        serving
    }

    /// Goes on with another.
    pub fn swap(&self, usable: Usable) {
        self.tls.reload_from_config(usable.config);
        self.note(usable.expires, "serving with a new certificate");
    }

    fn note(&self, expires: Timestamp, what: &str) {
        self.expiry.set(expires.as_second());
        if expires <= clock::now() {
            tracing::error!(%expires, "the certificate has expired: the API server will not accept it");
        } else {
            tracing::info!(%expires, "{what}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertifiedKey, generate_simple_self_signed};

    fn made() -> (String, String) {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        (cert.pem(), signing_key.serialize_pem())
    }

    fn refusal(chain: &str, key: &str) -> String {
        Usable::read(chain.as_bytes(), key.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn what_belongs_together_is_taken() {
        let (chain, key) = made();
        Usable::read(chain.as_bytes(), key.as_bytes()).unwrap();
    }

    #[test]
    fn what_does_not_is_refused_with_the_reason() {
        let ((chain, key), (_, other_key)) = (made(), made());
        assert_eq!(
            refusal(&chain, &other_key),
            "the key is not that of the certificate; both must come from one Secret"
        );
        assert!(refusal(&chain, "").starts_with("the key cannot be used"));
        assert!(refusal(&chain, &chain).starts_with("the key cannot be used"));
        assert!(refusal("", &key).starts_with("the certificate cannot be used: there is no"));
    }

    #[test]
    fn a_key_is_in_no_error() {
        let (chain, key) = made();
        let secret = key.lines().nth(1).unwrap();
        let broken = key.replace("-----END PRIVATE KEY-----", "");
        for text in [refusal(&chain, &broken), refusal(&key, &key)] {
            assert!(!text.contains(secret), "{text}");
        }
    }
}
