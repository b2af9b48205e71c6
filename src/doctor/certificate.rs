//! The serving certificate: there, whole, in time, and trusted by the API server.

use jiff::{SignedDuration, Timestamp, Unit};

use super::{Facts, Finding, Served};
use crate::certificates::{certificate, is_trusted};

const CHECK: &str = "certificate";

/// Sooner than this somebody should have renewed it: cert-manager and the self-signed mode do after two thirds of ninety days.
const SOON: SignedDuration = SignedDuration::from_hours(14 * 24);

pub(super) fn examine(facts: &Facts) -> Vec<Finding> {
    let served = match &facts.certificate {
        None => {
            return vec![Finding::warning(
                CHECK,
                "there is none, so admission is not served: nothing is judged or completed",
                "give `ironward run` a certificate: --tls-cert-file and --tls-key-file, or --self-signed-secret",
            )];
        }
        Some(Err(reason)) => {
            return vec![Finding::failed(
                CHECK,
                reason,
                "see that it is there and may be read; with cert-manager, `kubectl get certificate,certificaterequest --all-namespaces` says why one is not issued",
            )];
        }
        Some(Ok(served)) => served,
    };
    let mut found = vec![own(served, facts.now)];
    found.extend(trust(facts, served));
    found
}

fn own(served: &Served, now: Timestamp) -> Finding {
    let from = &served.from;
    let read = match certificate(&served.chain) {
        Ok(read) => read,
        Err(reason) => {
            return Finding::failed(
                CHECK,
                format!("{from}: {reason}"),
                "put a certificate there, in PEM; replicas go on with the last one that could be used",
            );
        }
    };
    if let Err(reason) = &served.pair {
        return Finding::failed(
            CHECK,
            format!("{from}: {reason}"),
            "replace both together: replicas go on with the last pair that could be used, and none starts without",
        );
    }
    let (names, expires) = (read.names.join(", "), read.expires);
    let renew = "renew it: with cert-manager `cmctl renew`, or see why that has not happened with `kubectl describe certificate`; in mode self-signed, \
                 the log of a replica says what is in the way";
    if expires <= now {
        return Finding::failed(CHECK, format!("{from}: it ended on {expires}"), renew);
    }
    if read.begins > now {
        let begins = read.begins;
        return Finding::failed(
            CHECK,
            format!("{from}: it does not begin before {begins}"),
            "compare the clock of this machine with that of whoever made it",
        );
    }
    let left = expires.duration_since(now);
    let days = left.round(Unit::Hour).unwrap_or(left).as_hours() / 24;
    if left < SOON {
        let what = format!("{from}: it ends on {expires}, in {days} days");
        return Finding::warning(CHECK, what, renew);
    }
    Finding::ok(CHECK, format!("{from}: for {names}, until {expires}, {days} days from now"))
}

/// Whether the API server would talk to who serves with it.
fn trust(facts: &Facts, served: &Served) -> Vec<Finding> {
    const CHECK: &str = "trust";
    let Ok(registrations) = &facts.registrations else { return Vec::new() };
    let mut found = Vec::new();
    for registered in registrations {
        let kind = registered.kind;
        let renewed = "replicas write the caBundle anew when it changes, and cert-manager's cainjector where that fills it in: see the log of a replica, or whether \
                       the cainjector runs";
        if registered.bundles.is_empty() {
            found.push(Finding::failed(
                CHECK,
                format!("{kind} has no caBundle: the API server trusts nobody there but the authorities of its own machine"),
                renewed,
            ));
        }
        for bundle in &registered.bundles {
            let distrust = registered.addresses.iter().find_map(|address| {
                is_trusted(&served.chain, bundle, &address.name, facts.now).err()
            });
            if let Some(reason) = distrust {
                let what =
                    format!("{kind}: the API server does not believe the certificate: {reason}");
                found.push(Finding::failed(CHECK, what, renewed));
            } else if served.authorities.as_ref().is_some_and(|wanted| !is_same(wanted, bundle)) {
                let what = format!(
                    "{kind}: its caBundle is not the one that replicas are to register, though it will do"
                );
                found.push(Finding::warning(CHECK, what, renewed));
            }
        }
    }
    if found.is_empty() && !registrations.is_empty() {
        found.push(Finding::ok(
            CHECK,
            "the API server believes the certificate, by the caBundle of its registrations",
        ));
    }
    found
}

/// Whether two texts hold the same certificates, whatever is between them.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    let ids = |pem: &[u8]| {
        let read = crate::certificates::authorities(pem).unwrap_or_default();
        read.into_iter().map(|it| it.id).collect::<std::collections::BTreeSet<_>>()
    };
    ids(one) == ids(other)
}
