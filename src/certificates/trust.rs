//! Whether a client that trusts some authorities would talk to a server: what the API server decides of a webhook.

use std::sync::Arc;

use jiff::Timestamp;
use rustls::{
    RootCertStore,
    client::{WebPkiServerVerifier, danger::ServerCertVerifier},
    pki_types::{CertificateDer, ServerName, UnixTime},
};

use super::{Unreadable, facts::ders};

/// Why it would not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Distrust {
    /// The authorities are none.
    #[error("the authorities cannot be read: {0}")]
    Authorities(Unreadable),
    /// The certificate is none.
    #[error("the certificate cannot be read: {0}")]
    Certificate(Unreadable),
    /// It is not what the server is asked by.
    #[error("{0} is not a name of a server")]
    Name(String),
    /// It is all there, and does not fit.
    #[error("{0}")]
    Refused(String),
}

/// Whether a server with this chain, in PEM, may be believed to be `name` by who trusts `authorities`, in PEM.
pub fn is_trusted(
    chain: &[u8],
    authorities: &[u8],
    name: &str,
    now: Timestamp,
) -> Result<(), Distrust> {
    let chain = ders(chain).map_err(Distrust::Certificate)?;
    let trusted = ders(authorities).map_err(Distrust::Authorities)?;
    let server = ServerName::try_from(name.to_owned()).map_err(|_| Distrust::Name(name.into()))?;
    let refused = |error: &dyn std::fmt::Display| Distrust::Refused(error.to_string());
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(trusted.iter().cloned());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
        .build()
        .map_err(|error| refused(&error))?;
    let Some((own, between)) = chain.split_first() else {
        return Err(Distrust::Certificate(Unreadable::Nothing));
    };
    let seconds = u64::try_from(now.as_second()).unwrap_or_default();
    let now = UnixTime::since_unix_epoch(std::time::Duration::from_secs(seconds));
    let between: Vec<CertificateDer<'_>> = between.to_vec();
    verifier
        .verify_server_cert(own, &between, &server, &[], now)
        .map(drop)
        .map_err(|error| refused(&error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

    fn authority() -> CertifiedIssuer<'static, KeyPair> {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
    }

    #[test]
    fn a_server_is_known_by_its_authority_its_name_and_the_time() {
        let (own, other) = (authority(), authority());
        let name = "ironward.metal.svc";
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let chain = params.signed_by(&KeyPair::generate().unwrap(), &own).unwrap().pem();
        let asked = |authorities: &str, name: &str, now: &str| {
            let now = now.parse().unwrap();
            is_trusted(chain.as_bytes(), authorities.as_bytes(), name, now)
        };
        let now = "2026-01-01T00:00:00Z";
        assert_eq!(asked(&own.pem(), name, now), Ok(()));
        let said = asked(&other.pem(), name, now).unwrap_err().to_string();
        assert!(said.contains("BadSignature"), "{said}");
        let said = asked(&own.pem(), "other.metal.svc", now).unwrap_err().to_string();
        assert!(said.contains("not valid for name"), "{said}");
        let said = asked(&own.pem(), name, "5000-01-01T00:00:00Z").unwrap_err().to_string();
        assert!(said.contains("expired"), "{said}");
        let said = asked("", name, now).unwrap_err().to_string();
        assert!(said.contains("authorities cannot be read"), "{said}");
    }
}
