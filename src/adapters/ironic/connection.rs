//! Where Ironic is, who we are to it, and whom we take it for.

use std::{fs, path::PathBuf, time::Duration};

use anyhow::{Context, Result, bail, ensure};
use reqwest::{Certificate, Identity};

use crate::controllers::host::hidden::Hidden;

/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(5);
/// How long a request may take. Ironic retries a lock for some seconds, and asks some BMCs before it
/// answers.
const REQUEST: Duration = Duration::from_secs(30);
/// Ironic closes connections that were idle for ten seconds.
const IDLE: Duration = Duration::from_secs(5);

/// How many requests there are at one time: Ironic's API lets five connections wait in line.
pub(super) const AT_ONCE: usize = 8;

/// Where Ironic is, and how it is spoken to.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The address of its API, such as `https://ironic.example:6385`.
    pub url: String,
    /// Who we are; `None` where it asks nobody.
    pub login: Option<Login>,
    /// Certificates.
    pub tls: TlsFiles,
}

/// A user of Ironic's HTTP basic authentication.
#[derive(Debug, Clone)]
pub struct Login {
    /// The name.
    pub username: String,
    /// The password.
    pub password: Hidden<String>,
    /// Where both were read, and are read again when they are not accepted any more.
    pub folder: Option<PathBuf>,
}

/// Where certificates are, in PEM.
#[derive(Debug, Clone, Default)]
pub struct TlsFiles {
    /// The authorities that Ironic's certificate is to be signed by, instead of the system's.
    pub ca: Option<PathBuf>,
    /// Our own certificate and its key.
    pub identity: Option<(PathBuf, PathBuf)>,
    /// Whether any certificate will do.
    pub insecure: bool,
}

impl Login {
    /// Reads it from a folder with the files `username` and `password`: a mounted Secret.
    pub fn read(folder: &std::path::Path) -> Result<Self> {
        let read = |name: &str| {
            let file = folder.join(name);
            let text = fs::read_to_string(&file)
                .with_context(|| format!("could not read {}", file.display()))?;
            let text = text.trim().to_owned();
            ensure!(!text.is_empty(), "{} is empty", file.display());
            Ok(text)
        };
        Ok(Self {
            username: read("username")?,
            password: Hidden::new(read("password")?),
            folder: Some(folder.to_owned()),
        })
    }

    /// Another login, if there is another by now: passwords are changed while we run.
    pub(super) fn newer(&self) -> Option<Self> {
        let read = Self::read(self.folder.as_deref()?).ok()?;
        let is_other = read.username != self.username || read.password != self.password;
        is_other.then_some(read)
    }
}

impl Settings {
    /// The address without a path: Metal3's has `/v1` at its end, or a slash.
    pub(super) fn root(&self) -> Result<String> {
        let url = url::Url::parse(&self.url)
            .with_context(|| format!("{} is not the URL of Ironic's API", self.url))?;
        if !url.username().is_empty() || url.password().is_some() {
            bail!(
                "the URL of Ironic has a user name or password in it: give them in files instead"
            );
        }
        ensure!(
            matches!(url.scheme(), "http" | "https") && url.has_host(),
            "{} is not the URL of Ironic's API, which begins with http:// or https://",
            self.url
        );
        let text = url.as_str().trim_end_matches('/');
        Ok(text.strip_suffix("/v1").unwrap_or(text).to_owned())
    }

    /// What sends requests.
    pub(super) fn http(&self) -> Result<reqwest::Client> {
        let mut http = reqwest::Client::builder()
            .connect_timeout(CONNECT)
            .timeout(REQUEST)
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(AT_ONCE)
            // It is in the cluster, or its address is as it is meant.
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("ironward/", env!("CARGO_PKG_VERSION")));
        if let Some(file) = &self.tls.ca {
            let pem =
                fs::read(file).with_context(|| format!("could not read {}", file.display()))?;
            let authorities = Certificate::from_pem_bundle(&pem)
                .with_context(|| format!("{} holds no certificate in PEM", file.display()))?;
            ensure!(!authorities.is_empty(), "{} holds no certificate in PEM", file.display());
            http = http.tls_certs_only(authorities);
        }
        if let Some((certificate, key)) = &self.tls.identity {
            let read = |file: &PathBuf| {
                fs::read(file).with_context(|| format!("could not read {}", file.display()))
            };
            let mut pem = read(key)?;
            pem.push(b'\n');
            pem.extend(read(certificate)?);
            let identity = Identity::from_pem(&pem).with_context(|| {
                format!(
                    "{} and {} are no certificate and key",
                    certificate.display(),
                    key.display()
                )
            })?;
            http = http.identity(identity);
        }
        if self.tls.insecure {
            tracing::warn!(
                "any certificate is accepted of Ironic: who is between can read passwords"
            );
            http = http.tls_danger_accept_invalid_certs(true);
        }
        http.build().context("could not make a client for Ironic")
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn root(url: &str) -> Result<String> {
        Settings { url: url.into(), login: None, tls: TlsFiles::default() }.root()
    }

    #[rstest]
    #[case::plain("http://172.22.0.1:6385", "http://172.22.0.1:6385")]
    #[case::metal3s("https://ironic.example:6385/v1/", "https://ironic.example:6385")]
    #[case::behind_a_path("https://gate.example/baremetal", "https://gate.example/baremetal")]
    fn an_address_is_taken_with_or_without_its_version(#[case] url: &str, #[case] expected: &str) {
        assert_eq!(root(url).unwrap(), expected);
    }

    #[rstest]
    #[case::no_scheme("ironic:6385")]
    #[case::another_scheme("ftp://ironic")]
    #[case::password("http://admin:hunter2@ironic:6385")]
    fn what_is_no_address_is_refused_without_repeating_a_password(#[case] url: &str) {
        let error = format!("{:#}", root(url).unwrap_err());
        assert!(!error.contains("hunter2"), "{error}");
    }

    #[test]
    fn a_login_is_read_from_a_mounted_secret_and_not_shown() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("username"), "ironward\n").unwrap();
        assert!(Login::read(folder.path()).is_err());
        fs::write(folder.path().join("password"), "correct horse\n").unwrap();
        let login = Login::read(folder.path()).unwrap();
        assert_eq!(
            (login.username.as_str(), login.password.reveal().as_str()),
            ("ironward", "correct horse")
        );
        assert!(!format!("{login:?}").contains("horse"));

        assert!(login.newer().is_none());
        fs::write(folder.path().join("password"), "battery staple").unwrap();
        let newer = login.newer().map(|login| login.password.reveal().clone());
        assert_eq!(newer.as_deref(), Some("battery staple"));
    }
}
