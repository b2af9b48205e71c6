//! Makes certificates: chance is needed for their keys.

use anyhow::{Context, Result};
use jiff::{SignedDuration, Timestamp};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use time::OffsetDateTime;

use crate::certificates::{Authority, BACKDATED, Key, Pair, authorities, certificate};

/// A certificate for a server of these names and addresses, and its authority, whose key is gone when this returns.
pub(super) fn make(
    names: &[String],
    now: Timestamp,
    lifetime: SignedDuration,
) -> Result<(Pair, Authority)> {
    let (begins, ends) = (date(now - BACKDATED)?, date(now + lifetime)?);
    let mut params = CertificateParams::default();
    // Unlike any other: the API server looks for an authority by its name first.
    let name = format!("ironward {}", now.strftime("%Y-%m-%dT%H:%M:%S%.3fZ"));
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    (params.not_before, params.not_after) = (begins, ends);
    let authority_key = KeyPair::generate().context("could not make a key")?;
    let own = params.self_signed(&authority_key).context("could not make an authority")?;
    let issuer = Issuer::new(params, authority_key);

    let mut params = CertificateParams::new(names.to_vec())
        .with_context(|| format!("{} cannot be names of a server", names.join(", ")))?;
    params.distinguished_name.push(DnType::CommonName, "ironward");
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.use_authority_key_identifier_extension = true;
    (params.not_before, params.not_after) = (begins, ends);
    let key = KeyPair::generate().context("could not make a key")?;
    let made = params.signed_by(&key, &issuer).context("could not sign a certificate")?;

    let chain = made.pem() + &own.pem();
    let authority = authorities(own.pem().as_bytes())?.pop().context("no authority was made")?;
    let certificate = certificate(chain.as_bytes())?;
    Ok((Pair { certificate, chain, key: Key(key.serialize_pem()) }, authority))
}

fn date(time: Timestamp) -> Result<OffsetDateTime> {
    OffsetDateTime::from_unix_timestamp(time.as_second()).context("no such date")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::certificates::serving::Usable;

    #[test]
    fn what_is_made_can_be_served_with_and_says_what_was_asked_for() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let names = ["127.0.0.1".to_owned(), "ironward.default.svc".to_owned()];
        let now = Timestamp::constant(1_800_000_000, 0);
        let lifetime = SignedDuration::from_hours(24);
        let (pair, authority) = make(&names, now, lifetime).unwrap();
        Usable::read(pair.chain.as_bytes(), pair.key.0.as_bytes()).unwrap();
        assert_eq!(pair.certificate.names, names);
        assert_eq!(pair.certificate.authority, authority.id);
        assert_eq!(pair.certificate.begins, now - BACKDATED);
        assert_eq!((pair.certificate.expires, authority.expires), (now + lifetime, now + lifetime));
    }
}
