//! The serving certificate in files, read again on a timer: a mounted Secret is swapped under a symbolic
//! link, of which a watch on the file says nothing.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, Result};

use super::serving::{Serving, Usable};

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

#[derive(PartialEq, Eq)]
struct Texts {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

/// Reads it for the first time, when a mistake can still be said to whoever starts us.
pub fn load(files: &Files) -> Result<Usable> {
    usable(files, &read(files)?)
}

/// Keeps it current for as long as it runs. A certificate that cannot be used leaves the last
/// one in place, and says so.
pub async fn keep_current(files: Files, serving: Serving) {
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
        match usable(&files, &found) {
            Ok(usable) => {
                serving.swap(usable);
                current = Some(found);
                refused = None;
            }
            Err(error) => say_once(&mut refused, format!("{error:#}")),
        }
    }
}

fn say_once(said: &mut Option<String>, error: String) {
    if said.as_ref() != Some(&error) {
        tracing::error!(error, "the new certificate is not used; the last one stays");
        *said = Some(error);
    }
}

fn usable(files: &Files, texts: &Texts) -> Result<Usable> {
    Usable::read(&texts.certificate, &texts.key).with_context(|| {
        format!(
            "{} and {} cannot be served with (--tls-cert-file, --tls-key-file)",
            files.certificate.display(),
            files.key.display()
        )
    })
}

fn read(files: &Files) -> Result<Texts> {
    Ok(Texts {
        certificate: bytes(&files.certificate, "--tls-cert-file")?,
        key: bytes(&files.key, "--tls-key-file")?,
    })
}

fn bytes(path: &Path, flag: &str) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| {
        format!(
            "could not read {} ({flag}); in a cluster it comes from a Secret: is that there, with this key?",
            path.display()
        )
    })
}
