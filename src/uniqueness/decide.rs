//! What a request that gains a key does about its claim.

use jiff::{SignedDuration, Timestamp};

use super::{Claim, Holder};

/// How long after a claim was written a request that relied on it may still be stored: as long as
/// the API server works on one (`--request-timeout`, 60 s), and as much again as etcd and two clocks
/// may be late.
pub const GRACE: SignedDuration = SignedDuration::from_secs(90);

/// All that the decision may depend on.
#[derive(Debug, Clone, Copy)]
pub struct Observed<'a> {
    /// The object that gains the key.
    pub me: &'a Holder,
    /// When the claim was asked for: never later than the look at its holder. A clock that is read
    /// after it would let a request pass that was stored between the two.
    pub read_at: Timestamp,
    /// See [`GRACE`].
    pub grace: SignedDuration,
    /// Then nothing is written.
    pub dry_run: bool,
    /// The claim of the key, read from the API server.
    pub claim: Option<&'a Claim>,
    /// What the claim's holder was found to be, after the claim was read.
    pub holder: Sight,
    /// Another object that has the key, be it claimed or reported: found in a cache, and found to have
    /// it still when it was looked at.
    pub occupant: Option<&'a Holder>,
}

/// What was found where an object should be. Only a read of the API server's newest state counts
/// (no `resourceVersion`), not a cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sight {
    /// Nobody looked yet.
    NotLooked,
    /// There is no such object.
    Absent,
    /// It is not subject to the policy, or has other keys.
    WithoutKey,
    /// It has the key, or its keys cannot be evaluated. Also while it is being deleted.
    WithKey,
}

/// What to do. Whoever is told to write and is too late reads again: [`super::after_contention`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Plan {
    /// Create the claim.
    Create,
    /// Write my own claim again.
    Renew {
        /// Only onto this version.
        version: String,
    },
    /// Look at the holder, then decide again, with the same claim and the same `read_at`.
    LookAtHolder {
        /// The object.
        holder: Holder,
    },
    /// Write my name into the claim.
    TakeOver {
        /// Only onto this version.
        version: String,
    },
    /// The key is another's.
    Deny {
        /// Whose.
        holder: Holder,
    },
    /// The key may be another's: it was claimed moments ago, and what claimed it is not stored yet.
    Wait {
        /// By whom; none if the claim cannot be read, which the sweep repairs.
        holder: Option<Holder>,
        /// When it pays to try again.
        until: Timestamp,
    },
    /// The key could be had: the answer to a dry run.
    Free,
}

/// Decides for one key. Keys are taken in their order, so that of two requests with several common
/// keys one gets them all.
#[must_use]
pub fn decide(seen: &Observed<'_>) -> Plan {
    if let Some(occupant) = seen.occupant.filter(|occupant| *occupant != seen.me) {
        return Plan::Deny { holder: occupant.clone() };
    }
    let Some(claim) = seen.claim else {
        return if seen.dry_run { Plan::Free } else { Plan::Create };
    };
    let version = || claim.version.clone();
    let until = claim.settled_at(seen.grace);
    let Some(holder) = &claim.holder else {
        return Plan::Wait { holder: None, until };
    };
    let is_mine = holder == seen.me;
    match seen.holder {
        _ if is_mine && seen.dry_run => Plan::Free,
        // Not even if it was written just now: that write covers another request than this.
        _ if is_mine => Plan::Renew { version: version() },
        Sight::NotLooked => Plan::LookAtHolder { holder: holder.clone() },
        Sight::WithKey => Plan::Deny { holder: holder.clone() },
        Sight::Absent | Sight::WithoutKey if seen.read_at < until => {
            Plan::Wait { holder: Some(holder.clone()), until }
        }
        Sight::Absent | Sight::WithoutKey if seen.dry_run => Plan::Free,
        Sight::Absent | Sight::WithoutKey => Plan::TakeOver { version: version() },
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::{
        super::{
            claim::tests::{NOW, claim},
            holder::tests::host,
        },
        *,
    };

    fn plan(claim: Option<&Claim>, holder: Sight, dry_run: bool) -> Plan {
        let (me, read_at, grace) = (&host("me"), NOW, GRACE);
        decide(&Observed { me, read_at, grace, dry_run, claim, holder, occupant: None })
    }

    fn renew() -> Plan {
        Plan::Renew { version: "7".to_owned() }
    }

    fn take_over() -> Plan {
        Plan::TakeOver { version: "7".to_owned() }
    }

    fn look() -> Plan {
        Plan::LookAtHolder { holder: host("b") }
    }

    fn deny() -> Plan {
        Plan::Deny { holder: host("b") }
    }

    fn wait(holder: &str, left: i64) -> Plan {
        let holder = (!holder.is_empty()).then(|| host(holder));
        Plan::Wait { holder, until: NOW + SignedDuration::from_secs(left) }
    }

    #[rstest]
    #[case::no_claim(None, Sight::NotLooked, Plan::Create, Plan::Free)]
    #[case::mine(Some(claim("me", 900)), Sight::NotLooked, renew(), Plan::Free)]
    #[case::mine_and_fresh(Some(claim("me", 0)), Sight::NotLooked, renew(), Plan::Free)]
    #[case::anothers(Some(claim("b", 900)), Sight::NotLooked, look(), look())]
    #[case::who_lives(Some(claim("b", 900)), Sight::WithKey, deny(), deny())]
    #[case::who_lives_and_is_new(Some(claim("b", 0)), Sight::WithKey, deny(), deny())]
    #[case::who_is_gone(Some(claim("b", 90)), Sight::Absent, take_over(), Plan::Free)]
    #[case::who_left_it(Some(claim("b", 90)), Sight::WithoutKey, take_over(), Plan::Free)]
    #[case::who_may_come(Some(claim("b", 89)), Sight::Absent, wait("b", 1), wait("b", 1))]
    #[case::who_may_update(Some(claim("b", 9)), Sight::WithoutKey, wait("b", 81), wait("b", 81))]
    #[case::unreadable(Some(claim("", 10)), Sight::NotLooked, wait("", 80), wait("", 80))]
    #[case::unreadable_for_long(Some(claim("", 900)), Sight::Absent, wait("", -810), wait("", -810))]
    fn a_request_does(
        #[case] claim: Option<Claim>,
        #[case] holder: Sight,
        #[case] expected: Plan,
        #[case] expected_on_dry_run: Plan,
    ) {
        assert_eq!(plan(claim.as_ref(), holder, false), expected);
        assert_eq!(plan(claim.as_ref(), holder, true), expected_on_dry_run);
    }

    #[rstest]
    #[case::another("b", deny())]
    #[case::myself("me", Plan::Create)]
    fn what_a_cache_knows_to_be_taken_is_refused(#[case] occupant: &str, #[case] expected: Plan) {
        let (me, occupant) = (&host("me"), &host(occupant));
        let seen = Observed {
            me,
            read_at: NOW,
            grace: GRACE,
            dry_run: false,
            claim: None,
            holder: Sight::NotLooked,
            occupant: Some(occupant),
        };
        assert_eq!(decide(&seen), expected);
    }

    fn any_sight() -> impl Strategy<Value = Sight> {
        prop_oneof![
            Just(Sight::NotLooked),
            Just(Sight::Absent),
            Just(Sight::WithoutKey),
            Just(Sight::WithKey)
        ]
    }

    proptest! {
        #[test]
        fn a_dry_run_never_writes(
            holder in "(|me|b)", age in -1000_i64..1000, sight in any_sight(), is_there: bool,
        ) {
            let claim = claim(&holder, age);
            let plan = plan(is_there.then_some(&claim), sight, true);
            let writes = matches!(plan, Plan::Create | Plan::Renew { .. } | Plan::TakeOver { .. });
            prop_assert!(!writes, "{:?}", plan);
        }

        #[test]
        fn nobody_takes_what_is_held_or_fresh(age in -1000_i64..1000, sight in any_sight()) {
            let plan = plan(Some(&claim("b", age)), sight, false);
            if matches!(plan, Plan::TakeOver { .. }) {
                prop_assert!(age >= GRACE.as_secs());
                prop_assert!(matches!(sight, Sight::Absent | Sight::WithoutKey));
            }
        }

        #[test]
        fn no_time_is_too_far(
            renewed in any::<i64>(), read_at in any::<i64>(), sight in any_sight(),
        ) {
            let time = |seconds: i64| Timestamp::from_second(seconds % 250_000_000_000).unwrap_or_default();
            let claim = Claim { renewed: time(renewed), ..claim("b", 0) };
            let me = &host("me");
            let seen = Observed {
                me, read_at: time(read_at), grace: GRACE, dry_run: false, claim: Some(&claim),
                holder: sight, occupant: None,
            };
            let _ = decide(&seen);
        }
    }
}
