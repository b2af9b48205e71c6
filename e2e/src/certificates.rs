//! The certificates of one control plane: an authority, its server, and a certificate per user.

use anyhow::{Context, Result};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// An authority whose files are kept in a folder.
#[derive(Debug)]
pub struct Authority {
    dir: PathBuf,
    issuer: Issuer<'static, KeyPair>,
}

/// Where a certificate and its key are.
#[derive(Debug, Clone)]
pub struct Files {
    /// PEM of the certificate.
    pub certificate: PathBuf,
    /// PEM of its key.
    pub key: PathBuf,
}

impl Authority {
    /// A new one, with its own certificate in `<dir>/ca.crt`.
    pub fn new(dir: &Path) -> Result<Self> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "ironward e2e");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate().context("could not make a key")?;
        let certificate = params.self_signed(&key).context("could not make an authority")?;
        fs::write(dir.join("ca.crt"), certificate.pem()).context("could not write ca.crt")?;
        Ok(Self { dir: dir.into(), issuer: Issuer::new(params, key) })
    }

    /// The authority's own certificate.
    #[must_use]
    pub fn certificate(&self) -> PathBuf {
        self.dir.join("ca.crt")
    }

    /// For a server that is reached by these names and addresses.
    pub fn for_server(&self, name: &str, names: &[&str]) -> Result<Files> {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let mut params = CertificateParams::new(names).context("could not name a server")?;
        params.distinguished_name.push(DnType::CommonName, name);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.issue(name, params)
    }

    /// For a user as Kubernetes reads one from a certificate: common name and organisations.
    pub fn for_user(&self, user: &str, groups: &[&str]) -> Result<Files> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, user);
        for group in groups {
            params.distinguished_name.push(DnType::OrganizationName, *group);
        }
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.issue(&user.replace([':', '/'], "-"), params)
    }

    fn issue(&self, file: &str, mut params: CertificateParams) -> Result<Files> {
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate().context("could not make a key")?;
        let certificate = params
            .signed_by(&key, &self.issuer)
            .with_context(|| format!("could not sign the certificate of {file}"))?;
        let files = Files {
            certificate: self.dir.join(format!("{file}.crt")),
            key: self.dir.join(format!("{file}.key")),
        };
        for (path, pem) in
            [(&files.certificate, certificate.pem()), (&files.key, key.serialize_pem())]
        {
            fs::write(path, pem).with_context(|| format!("could not write {}", path.display()))?;
        }
        Ok(files)
    }
}
