//! `Claim`: a key's Lease, as the protocol reads it and as it is written.
//!
//! The Lease's name tells the key; its annotations tell who holds it, for programs;
//! `holderIdentity` tells it to people: `kubectl get leases -l ironward.dev/unique-policy=NAME`.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta},
};
use serde::{Deserialize, Serialize};

use super::{Holder, lease_name};
use crate::domain::kubernetes_name::label_value;

/// Which policy the claim is for: a label, shortened if it must be, and whole in an annotation.
pub const POLICY: &str = "ironward.dev/unique-policy";
/// The exact key, for people: the name of the Lease is what counts.
pub const KEY: &str = "ironward.dev/unique-key";
/// The holder, as JSON: one annotation, so that it is read whole or not at all.
pub const HOLDER: &str = "ironward.dev/holder";
const MANAGED_BY: &str = "app.kubernetes.io/managed-by";

/// How far a replica's clock may be ahead of the API server's before it is not believed: a claim
/// must not be fresh for years because a clock once was wrong.
const FURTHEST_AHEAD: SignedDuration = SignedDuration::from_hours(1);

/// A claim as it was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Claim {
    /// Who holds the key; none if the Lease does not tell: somebody edited it.
    pub holder: Option<Holder>,
    /// When it was last written.
    pub renewed: Timestamp,
    /// Its `resourceVersion`.
    pub version: String,
}

/// The policy and the key that a Lease says it is for; none if its name says another.
#[must_use]
pub fn subject(lease: &Lease) -> Option<(&str, &str)> {
    let annotations = lease.metadata.annotations.as_ref()?;
    let (policy, key) = (annotations.get(POLICY)?, annotations.get(KEY)?);
    let is_true = lease.metadata.name.as_deref() == Some(lease_name(policy, key).as_str());
    is_true.then_some((policy, key))
}

impl Claim {
    /// From when on nothing that relied on the claim can still be stored.
    #[must_use]
    pub fn settled_at(&self, grace: SignedDuration) -> Timestamp {
        self.renewed.checked_add(grace).unwrap_or(Timestamp::MAX)
    }
}

impl From<&Lease> for Claim {
    fn from(lease: &Lease) -> Self {
        let said = lease.metadata.annotations.as_ref().and_then(|all| all.get(HOLDER));
        let told = said.and_then(|text| serde_json::from_str::<Told>(text).ok());
        let told = told.filter(|it| !it.holder.resource.is_empty() && !it.holder.name.is_empty());
        Self {
            holder: told.map(|it| it.holder),
            renewed: renewed(lease),
            version: lease.metadata.resource_version.clone().unwrap_or_default(),
        }
    }
}

/// When the Lease was last written: by the clock of the API server, which stamps every write, or by
/// the writer's where that is later. So a claim is never taken for older than it is because one
/// clock is slow.
fn renewed(lease: &Lease) -> Timestamp {
    let metadata = &lease.metadata;
    let stamps = metadata.managed_fields.iter().flatten().filter_map(|it| it.time.as_ref());
    let stamped = stamps.map(|time| time.0).max();
    let said = lease.spec.as_ref().and_then(|spec| spec.renew_time.as_ref()).map(|time| time.0);
    let created = metadata.creation_timestamp.as_ref().map(|time| time.0);
    let latest = stamped.and_then(|time| time.checked_add(FURTHEST_AHEAD).ok());
    let believed = said.map(|said| latest.map_or(said, |latest| said.min(latest)));
    stamped.max(believed).max(created).unwrap_or_default()
}

/// The annotation [`HOLDER`].
#[derive(Debug, Serialize, Deserialize)]
struct Told {
    #[serde(flatten)]
    holder: Holder,
    /// Only for people.
    #[serde(default)]
    kind: String,
    /// Only for people: see [`Holder`].
    #[serde(default)]
    uid: String,
}

/// What a claim says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// The name of the UniquePolicy.
    pub policy: String,
    /// The key.
    pub key: String,
    /// Who holds it.
    pub holder: Holder,
    /// Of what kind that is.
    pub kind: String,
    /// Its uid, as information.
    pub uid: String,
}

/// How a claim is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Write<'a> {
    /// As a new Lease.
    Create,
    /// By a merge patch onto this version, by its holder.
    Renew(&'a str),
    /// By a merge patch onto this version, by another.
    TakeOver(&'a str),
}

impl Content {
    /// The name of the Lease.
    #[must_use]
    pub fn name(&self) -> String {
        lease_name(&self.policy, &self.key)
    }

    /// The Lease to create, or to send as a merge patch: with its `resourceVersion`, so that the API
    /// server refuses it if the claim was written since it was read.
    #[must_use]
    pub fn lease(&self, namespace: &str, write: Write<'_>, at: Timestamp) -> Lease {
        let (version, acquired) = match write {
            Write::Create => (None, Some(at)),
            Write::Renew(version) => (Some(version), None),
            Write::TakeOver(version) => (Some(version), Some(at)),
        };
        let Self { holder, kind, uid, .. } = self.clone();
        let told = serde_json::to_string(&Told { holder, kind, uid }).unwrap_or_default();
        let text = str::to_owned;
        Lease {
            metadata: ObjectMeta {
                name: Some(self.name()),
                namespace: Some(text(namespace)),
                resource_version: version.map(text),
                labels: Some(BTreeMap::from([
                    (text(MANAGED_BY), text("ironward")),
                    (text(POLICY), label_value(&self.policy)),
                ])),
                annotations: Some(BTreeMap::from([
                    (text(POLICY), self.policy.clone()),
                    (text(KEY), self.key.clone()),
                    (text(HOLDER), told),
                ])),
                ..ObjectMeta::default()
            },
            spec: Some(LeaseSpec {
                holder_identity: Some(self.holder.to_string()),
                acquire_time: acquired.map(MicroTime),
                renew_time: Some(MicroTime(at)),
                ..LeaseSpec::default()
            }),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ManagedFieldsEntry, Time};
    use proptest::prelude::*;
    use rstest::rstest;

    use super::{super::holder::tests::host, *};
    use crate::{domain::kubernetes_name::is_label_value, uniqueness::is_lease_name};

    pub(in crate::uniqueness) const NOW: Timestamp = Timestamp::constant(1_000_000, 0);

    /// A claim of a host, or of nobody who can be read, that was written so long before `NOW`.
    pub(in crate::uniqueness) fn claim(holder: &str, seconds_ago: i64) -> Claim {
        Claim {
            holder: (!holder.is_empty()).then(|| host(holder)),
            renewed: NOW - SignedDuration::from_secs(seconds_ago),
            version: "7".to_owned(),
        }
    }

    fn content() -> Content {
        Content {
            policy: "unique-boot-mac".to_owned(),
            key: "52:54:00:12:34:56".to_owned(),
            holder: host("node-0"),
            kind: "BareMetalHost".to_owned(),
            uid: "9a51".to_owned(),
        }
    }

    fn seconds(count: i64) -> SignedDuration {
        SignedDuration::from_secs(count)
    }

    fn stored(written: Timestamp, renewed: Option<Timestamp>) -> Lease {
        let mut lease = content().lease("ironward-system", Write::Create, NOW);
        lease.metadata.creation_timestamp = Some(Time(NOW - seconds(5_000)));
        let entry = ManagedFieldsEntry { time: Some(Time(written)), ..Default::default() };
        lease.metadata.managed_fields = Some(vec![ManagedFieldsEntry::default(), entry]);
        lease.metadata.resource_version = Some("7".to_owned());
        lease.spec.get_or_insert_default().renew_time = renewed.map(MicroTime);
        lease
    }

    #[test]
    fn people_see_who_holds_what() {
        let lease = content().lease("ironward-system", Write::Create, NOW);
        let json = serde_json::to_value(&lease).unwrap();
        assert_eq!(
            json,
            serde_json::json!({
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": {
                    "name": "unique-boot-mac.52-54-00-12-34-56.cc87ff1cca8570a0d39805c3162f7f44",
                    "namespace": "ironward-system",
                    "labels": {
                        "app.kubernetes.io/managed-by": "ironward",
                        "ironward.dev/unique-policy": "unique-boot-mac",
                    },
                    "annotations": {
                        "ironward.dev/unique-policy": "unique-boot-mac",
                        "ironward.dev/unique-key": "52:54:00:12:34:56",
                        "ironward.dev/holder": "{\"group\":\"metal3.io\",\"resource\":\"baremetalhosts\",\
                            \"namespace\":\"metal3\",\"name\":\"node-0\",\"kind\":\"BareMetalHost\",\
                            \"uid\":\"9a51\"}",
                    },
                },
                "spec": {
                    "holderIdentity": "baremetalhosts.metal3.io metal3/node-0",
                    "acquireTime": "1970-01-12T13:46:40.000000Z",
                    "renewTime": "1970-01-12T13:46:40.000000Z",
                },
            })
        );
    }

    #[rstest]
    #[case::create(Write::Create, None, true)]
    #[case::renew(Write::Renew("7"), Some("7"), false)]
    #[case::take_over(Write::TakeOver("7"), Some("7"), true)]
    fn a_write_onto_a_claim_names_its_version(
        #[case] write: Write<'_>,
        #[case] version: Option<&str>,
        #[case] is_acquired: bool,
    ) {
        let lease = content().lease("ironward-system", write, NOW);
        let spec = lease.spec.unwrap();
        assert_eq!(lease.metadata.resource_version.as_deref(), version);
        assert_eq!(spec.acquire_time.is_some(), is_acquired);
        assert_eq!(spec.renew_time, Some(MicroTime(NOW)));
    }

    #[test]
    fn what_is_written_is_read() {
        let claim = Claim::from(&stored(NOW, Some(NOW)));
        let expected =
            Claim { holder: Some(host("node-0")), renewed: NOW, version: "7".to_owned() };
        assert_eq!(claim, expected);
        let mut lease = stored(NOW, Some(NOW));
        assert_eq!(subject(&lease), Some(("unique-boot-mac", "52:54:00:12:34:56")));
        lease.metadata.name = Some(lease_name("unique-boot-mac", "52:54:00:12:34:57"));
        assert_eq!(subject(&lease), None);
        assert_eq!(claim.settled_at(seconds(90)), NOW + seconds(90));
        assert_eq!(claim.settled_at(SignedDuration::MAX), Timestamp::MAX);
    }

    #[rstest]
    #[case::same(NOW, Some(NOW), NOW)]
    #[case::the_writers_clock_is_slow(NOW, Some(NOW - seconds(600)), NOW)]
    #[case::the_api_servers_clock_is_slow(NOW, Some(NOW + seconds(600)), NOW + seconds(600))]
    #[case::the_writers_clock_is_absurd(NOW, Some(NOW + seconds(999_999)), NOW + seconds(3_600))]
    #[case::it_was_edited_away(NOW, None, NOW)]
    fn a_claim_is_as_young_as_any_clock_says(
        #[case] written: Timestamp,
        #[case] renewed: Option<Timestamp>,
        #[case] expected: Timestamp,
    ) {
        assert_eq!(Claim::from(&stored(written, renewed)).renewed, expected);
    }

    #[test]
    fn without_stamps_the_claims_own_times_count() {
        let mut lease = stored(NOW, Some(NOW - seconds(60)));
        lease.metadata.managed_fields = None;
        assert_eq!(Claim::from(&lease).renewed, NOW - seconds(60));
        lease.spec = None;
        assert_eq!(Claim::from(&lease).renewed, NOW - seconds(5_000));
    }

    #[rstest]
    #[case::none(None)]
    #[case::no_json(Some("metal3/node-0"))]
    #[case::no_name(Some(r#"{"resource": "baremetalhosts"}"#))]
    #[case::empty_name(Some(r#"{"resource": "baremetalhosts", "name": ""}"#))]
    #[case::another_shape(Some("[]"))]
    fn a_holder_that_cannot_be_read_is_unknown(#[case] said: Option<&str>) {
        let mut lease = stored(NOW, None);
        let annotations = lease.metadata.annotations.get_or_insert_default();
        match said {
            Some(said) => annotations.insert(HOLDER.to_owned(), said.to_owned()),
            None => annotations.remove(HOLDER),
        };
        let claim = Claim::from(&lease);
        assert_eq!((claim.holder, claim.renewed), (None, NOW));
    }

    #[test]
    fn an_empty_lease_is_an_old_claim_of_nobody() {
        assert_eq!(Claim::from(&Lease::default()), Claim::default());
    }

    proptest! {
        #[test]
        fn any_content_makes_a_legal_lease_that_is_read_again(
            policy in "[a-z]([a-z0-9-]{0,200}[a-z])?", key in any::<String>(), name in ".{1,20}",
        ) {
            let content = Content { policy, key, holder: host(&name), ..content() };
            let lease = content.lease("n", Write::Create, NOW);
            let label = &lease.metadata.labels.as_ref().unwrap()[POLICY];
            prop_assert!(is_label_value(label));
            prop_assert!(is_lease_name(lease.metadata.name.as_deref().unwrap()));
            prop_assert_eq!(Claim::from(&lease).holder, Some(host(&name)));
        }
    }
}
