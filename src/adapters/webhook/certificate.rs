//! The serving certificate, read again on a timer: a mounted Secret is swapped under a symbolic
//! link, of which a watch on the file says nothing.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, Result};
use axum_server::tls_rustls::RustlsConfig;

/// The kubelet takes up to two minutes to bring a new Secret to the file.
const EVERY: Duration = Duration::from_secs(10);

/// Where the certificate is.
#[derive(Debug, Clone)]
pub struct Files {
    /// PEM of the certificate, with those that lead to its authority.
    pub certificate: PathBuf,
    /// PEM of its key.
    pub key: PathBuf,
}

#[derive(Debug, PartialEq, Eq)]
struct Pair {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

/// Reads it for the first time, when a mistake can still be said to whoever starts us.
pub async fn load(files: &Files) -> Result<RustlsConfig> {
    let Pair { certificate, key } = read(files)?;
    RustlsConfig::from_pem(certificate, key).await.with_context(|| unusable(files))
}

/// Keeps it current for as long as it runs. A certificate that cannot be used leaves the last
/// one in place, and says so.
pub async fn keep_current(files: Files, config: RustlsConfig) {
    let mut current = read(&files).ok();
    let mut refused = None;
    loop {
        tokio::time::sleep(EVERY).await;
        let found = match read(&files) {
            Ok(found) if current.as_ref() == Some(&found) => continue,
            Ok(found) => found,
            Err(error) => {
                say_once(&mut refused, format!("{error:#}"));
                continue;
            }
        };
        let (certificate, key) = (found.certificate.clone(), found.key.clone());
        match config.reload_from_pem(certificate, key).await {
            Ok(()) => {
                tracing::info!(file = %files.certificate.display(), "serving with a new certificate");
                current = Some(found);
                refused = None;
            }
            Err(error) => say_once(&mut refused, format!("{}: {error}", unusable(&files))),
        }
    }
}

fn say_once(said: &mut Option<String>, error: String) {
    if said.as_ref() != Some(&error) {
        tracing::error!(error, "the new certificate is not used; the last one stays");
        *said = Some(error);
    }
}

fn unusable(Files { certificate, key }: &Files) -> String {
    format!(
        "{} and {} are not a certificate and its key in PEM (--tls-cert-file, --tls-key-file)",
        certificate.display(),
        key.display()
    )
}

fn read(files: &Files) -> Result<Pair> {
    Ok(Pair { certificate: bytes(&files.certificate)?, key: bytes(&files.key)? })
}

fn bytes(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("could not read {}", path.display()))
}
