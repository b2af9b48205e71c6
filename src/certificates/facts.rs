//! What a certificate says of itself.

use std::fmt::Write as _;

use jiff::Timestamp;
use rustls::pki_types::{CertificateDer, pem::PemObject};
use sha2::{Digest, Sha256};
use x509_parser::{
    extensions::GeneralName,
    prelude::{FromDer, X509Certificate},
};

/// One whose certificates are trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authority {
    /// The hash of its certificate.
    pub id: String,
    /// When it is trusted no longer.
    pub expires: Timestamp,
    /// Its certificate.
    pub pem: String,
}

/// A serving certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificate {
    /// The hash of its authority's certificate, or of the last one that leads to it.
    pub authority: String,
    /// When it begins to count.
    pub begins: Timestamp,
    /// When it ends.
    pub expires: Timestamp,
    /// The names and addresses of the server, sorted.
    pub names: Vec<String>,
}

/// Why a text is no certificate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// Nothing in it looks like one.
    #[error("there is no certificate in it (-----BEGIN CERTIFICATE-----)")]
    Nothing,
    /// It is not PEM.
    #[error("it is not PEM: {0}")]
    Pem(String),
    /// What is inside is none.
    #[error("it holds something that is no certificate: {0}")]
    Certificate(String),
}

/// All certificates of a text, as authorities.
pub fn authorities(pem: &[u8]) -> Result<Vec<Authority>, Unreadable> {
    let ders = ders(pem)?;
    ders.iter()
        .map(|der| {
            let read = parse(der)?;
            let expires = time(read.validity().not_after.timestamp())?;
            Ok(Authority { id: identity(der), expires, pem: written(der) })
        })
        .collect()
}

/// The first certificate of a text, which is the server's; those behind it lead to its authority.
pub fn certificate(pem: &[u8]) -> Result<Certificate, Unreadable> {
    let ders = ders(pem)?;
    let (Some(first), Some(last)) = (ders.first(), ders.last()) else {
        return Err(Unreadable::Nothing);
    };
    let read = parse(first)?;
    let validity = read.validity();
    Ok(Certificate {
        authority: identity(last),
        begins: time(validity.not_before.timestamp())?,
        expires: time(validity.not_after.timestamp())?,
        names: names(&read),
    })
}

/// The hash of a certificate.
#[must_use]
pub fn identity(der: &[u8]) -> String {
    Sha256::digest(der).iter().fold(String::new(), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

pub(super) fn ders(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, Unreadable> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let found = found.map_err(|error| Unreadable::Pem(error.to_string()))?;
    if found.is_empty() { Err(Unreadable::Nothing) } else { Ok(found) }
}

fn parse(der: &[u8]) -> Result<X509Certificate<'_>, Unreadable> {
    let read = X509Certificate::from_der(der);
    read.map(|(_, read)| read).map_err(|error| Unreadable::Certificate(error.to_string()))
}

fn time(seconds: i64) -> Result<Timestamp, Unreadable> {
    let time = Timestamp::from_second(seconds);
    time.map_err(|error| Unreadable::Certificate(error.to_string()))
}

fn names(read: &X509Certificate<'_>) -> Vec<String> {
    let extension = read.subject_alternative_name().ok().flatten();
    let general = extension.map(|extension| extension.value.general_names.as_slice());
    let name = |name: &GeneralName<'_>| {
        if let GeneralName::DNSName(name) = name {
            return Some((*name).to_owned());
        }
        let GeneralName::IPAddress(octets) = name else { return None };
        address(octets)
    };
    let mut names: Vec<_> = general.unwrap_or_default().iter().filter_map(name).collect();
    names.sort();
    names
}

fn address(octets: &[u8]) -> Option<String> {
    let of_4 =
        || <[u8; 4]>::try_from(octets).map(|octets| std::net::Ipv4Addr::from(octets).to_string());
    let of_16 =
        || <[u8; 16]>::try_from(octets).map(|octets| std::net::Ipv6Addr::from(octets).to_string());
    of_4().or_else(|_| of_16()).ok()
}

fn written(der: &[u8]) -> String {
    use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
    let text = BASE64.encode(der);
    let mut pem = "-----BEGIN CERTIFICATE-----\n".to_owned();
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let (line, after) = rest.split_at(rest.len().min(64));
        pem.push_str(line);
        pem.push('\n');
        rest = after;
    }
    pem + "-----END CERTIFICATE-----\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[test]
    fn a_certificate_says_whose_it_is_and_until_when() {
        let key = rcgen::KeyPair::generate().unwrap();
        let names = vec!["127.0.0.1".to_owned(), "ironward.ironward-system.svc".to_owned()];
        let mut params = rcgen::CertificateParams::new(names.clone()).unwrap();
        params.not_before = rcgen::date_time_ymd(2026, 1, 2);
        params.not_after = rcgen::date_time_ymd(2026, 4, 2);
        let made = params.self_signed(&key).unwrap();

        let read = certificate(made.pem().as_bytes()).unwrap();

        assert_eq!(read.begins, "2026-01-02T00:00:00Z".parse().unwrap());
        assert_eq!(read.expires, "2026-04-02T00:00:00Z".parse().unwrap());
        assert_eq!(read.names, names);
        let [authority] = authorities(made.pem().as_bytes()).unwrap().try_into().unwrap();
        assert_eq!((authority.id, authority.expires), (read.authority, read.expires));
        let again = authorities(authority.pem.as_bytes()).unwrap();
        assert_eq!(again.len(), 1, "what is written can be read: {}", authority.pem);
    }

    #[rstest]
    #[case::empty("", "there is no certificate in it (-----BEGIN CERTIFICATE-----)")]
    #[case::words("nonsense", "there is no certificate in it (-----BEGIN CERTIFICATE-----)")]
    #[case::broken(
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
        "it holds something that is no certificate"
    )]
    fn what_is_no_certificate_is_told_why(#[case] text: &str, #[case] why: &str) {
        let error = certificate(text.as_bytes()).unwrap_err().to_string();
        assert!(error.starts_with(why), "{error}");
    }
}
