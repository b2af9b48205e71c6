//! What is to be done about the certificates now.

use jiff::{SignedDuration, Timestamp};

use super::{Authority, Content, Pair};

/// How long a replica may take from reading what is trusted to having written it into the registrations.
const SETTLING: SignedDuration = SignedDuration::from_secs(60);

/// How long before it was made a certificate begins to count, for clocks that are late.
pub const BACKDATED: SignedDuration = SignedDuration::from_mins(5);

/// All that the decision may depend on.
#[derive(Debug, Clone, Copy)]
pub struct Observed<'a> {
    /// The time.
    pub now: Timestamp,
    /// How long a certificate lasts.
    pub lifetime: SignedDuration,
    /// By which names and addresses we are reached, sorted.
    pub names: &'a [String],
    /// What the replicas share.
    pub content: &'a Content,
    /// The authorities that every webhook of the registrations trusts; none if there are no webhooks.
    pub registered: Option<&'a [Authority]>,
}

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plan {
    /// Nothing.
    Keep,
    /// Make a certificate to serve with: there is none.
    MakeFirst,
    /// Make the next one.
    MakeNext,
    /// Serve with the next one.
    Promote,
}

/// See [`SETTLING`]; less for certificates that last minutes.
#[must_use]
pub fn settling(lifetime: SignedDuration) -> SignedDuration {
    SETTLING.min(lifetime / 20)
}

/// Decides, for whichever replica looks.
#[must_use]
pub fn decide(seen: &Observed<'_>) -> Plan {
    let Content { current, next, .. } = seen.content;
    let next = next.as_ref().filter(|pair| is_usable(seen, pair) && is_ours(seen, pair));
    let Some(current) = current.as_ref().filter(|pair| is_usable(seen, pair)) else {
        // Nobody serves: there is nothing to wait for.
        return if next.is_some() { Plan::Promote } else { Plan::MakeFirst };
    };
    let is_due = seen.now >= current.certificate.expires - seen.lifetime / 3;
    match next {
        Some(next) if is_settled(seen, next) && is_covered(seen, next) => Plan::Promote,
        None if is_due || !is_ours(seen, current) => Plan::MakeNext,
        Some(_) | None => Plan::Keep,
    }
}

/// What the replicas share once that is done. `made` is the certificate that the plan asks for, with its authority.
#[must_use]
pub fn carried_out(seen: &Observed<'_>, plan: Plan, made: Option<(Pair, Authority)>) -> Content {
    let mut content = seen.content.clone();
    let is_alive = |authority: &Authority| authority.expires > seen.now;
    match (plan, made) {
        (Plan::MakeFirst, Some((pair, authority))) => {
            // Whoever still serves with something that we know nothing of stays trusted.
            for known in seen.registered.unwrap_or_default() {
                if content.trusted.iter().all(|it| it.id != known.id) {
                    content.trusted.push(known.clone());
                }
            }
            // What has ended is left in place, as a sign that this is not the first of all: see `may_serve`.
            content.trusted.push(authority);
            content.current = Some(pair);
            content.next = None;
        }
        (Plan::MakeNext, Some((pair, authority))) => {
            content.trusted.retain(is_alive);
            content.trusted.push(authority);
            content.next = Some(pair);
        }
        (Plan::Promote, _) => content.current = content.next.take(),
        (Plan::Keep | Plan::MakeFirst | Plan::MakeNext, _) => {}
    }
    content
}

/// Whether a replica may serve with the current certificate.
#[must_use]
pub fn may_serve(seen: &Observed<'_>) -> bool {
    let Some(current) = &seen.content.current else { return false };
    // Where one authority is all that ever was trusted, no replica can have read anything else.
    let is_only = seen.content.trusted.len() == 1;
    is_covered(seen, current) && (is_only || is_settled(seen, current))
}

fn is_usable(seen: &Observed<'_>, pair: &Pair) -> bool {
    let is_trusted = seen.content.trusted.iter().any(|it| it.id == pair.certificate.authority);
    is_trusted && pair.certificate.expires > seen.now
}

fn is_ours(seen: &Observed<'_>, pair: &Pair) -> bool {
    pair.certificate.names == seen.names
}

fn is_settled(seen: &Observed<'_>, pair: &Pair) -> bool {
    seen.now >= pair.certificate.begins + BACKDATED + settling(seen.lifetime)
}

fn is_covered(seen: &Observed<'_>, pair: &Pair) -> bool {
    seen.registered
        .is_none_or(|registered| registered.iter().any(|it| it.id == pair.certificate.authority))
}

#[cfg(test)]
mod tests;
