//! The annotations of discovered hosts.

use std::collections::BTreeMap;

/// Whether somebody has to look at a host before it is used: [`PENDING`] until then.
pub const APPROVAL: &str = "ironward.dev/approval";
/// Nobody has looked at it yet.
pub const PENDING: &str = "pending";
/// Somebody has; so has whoever takes the annotation away.
pub const APPROVED: &str = "approved";

/// With `true`, the machine of a host that is deleted is not made a host again when it reports again.
pub const FORGET: &str = "ironward.dev/forget";

/// The BareMetalHostDiscovery that made a host, as `<namespace>/<name>`.
pub const DISCOVERED_BY: &str = "ironward.dev/discovered-by";

/// Whether nothing may be written to a host yet. What is neither known nor said is no approval.
#[must_use]
pub fn awaits_approval(annotations: Option<&BTreeMap<String, String>>) -> bool {
    annotations.and_then(|all| all.get(APPROVAL)).is_some_and(|said| said != APPROVED)
}

/// Whether a host that is deleted is deleted for good.
#[must_use]
pub fn is_to_be_forgotten(annotations: Option<&BTreeMap<String, String>>) -> bool {
    annotations.and_then(|all| all.get(FORGET)).is_some_and(|said| said == "true")
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::not_asked_for(None, false)]
    #[case::pending(Some(PENDING), true)]
    #[case::approved(Some(APPROVED), false)]
    #[case::misspelt(Some("aproved"), true)]
    #[case::empty(Some(""), true)]
    fn only_an_approval_is_one(#[case] said: Option<&str>, #[case] waits: bool) {
        let annotations = said.map(|said| BTreeMap::from([(APPROVAL.to_owned(), said.to_owned())]));
        assert_eq!(awaits_approval(annotations.as_ref()), waits);
        assert!(!is_to_be_forgotten(annotations.as_ref()));
    }
}
