//! What the sweep does about one key: claims that nobody needs are deleted, keys without a claim get
//! theirs back. Objects are never touched.

use jiff::{SignedDuration, Timestamp};

use super::{Claim, Holder};

/// All that the decision may depend on.
#[derive(Debug, Clone, Copy)]
pub struct Swept<'a> {
    /// When the claims were asked for; never later than the objects were.
    pub read_at: Timestamp,
    /// See [`super::GRACE`].
    pub grace: SignedDuration,
    /// The claim of the key.
    pub claim: Option<&'a Claim>,
    /// The objects that have the key, oldest first, listed after the claims, from the API server's
    /// newest state and not from a cache. None if the policy is not loaded any more.
    pub stored: &'a [Holder],
}

/// What to do. Whoever is too late does nothing: the next sweep sees what has become of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sweep {
    /// All is well.
    Keep,
    /// Create the claim of an object that is older than it, or whose claim was deleted by hand.
    Create {
        /// Of this object.
        holder: Holder,
    },
    /// Write the object that has the key into a claim whose holder has not.
    HandOver {
        /// To this object.
        holder: Holder,
        /// Only onto this version.
        version: String,
    },
    /// Delete the claim.
    Delete {
        /// Only this version.
        version: String,
    },
    /// The claim was written moments ago, maybe for a request that is not stored yet.
    Wait {
        /// When to look again.
        until: Timestamp,
    },
}

/// Decides for one key.
///
/// Where two objects have it already, the claim stays with whichever has it: moving it to the older
/// would guard nothing more, as long as both live, and each move is one write more that can race.
/// Once the holder gives the key up, the claim goes to the oldest that is left.
#[must_use]
pub fn sweep(seen: &Swept<'_>) -> Sweep {
    let oldest = seen.stored.first();
    let Some(claim) = seen.claim else {
        return oldest.map_or(Sweep::Keep, |holder| Sweep::Create { holder: holder.clone() });
    };
    let has_key = claim.holder.as_ref().is_some_and(|holder| seen.stored.contains(holder));
    let until = claim.settled_at(seen.grace);
    let version = claim.version.clone();
    match oldest {
        Some(_) if has_key => Sweep::Keep,
        _ if seen.read_at < until => Sweep::Wait { until },
        Some(holder) => Sweep::HandOver { holder: holder.clone(), version },
        None => Sweep::Delete { version },
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::{
        super::{
            claim::tests::{NOW, claim},
            holder::tests::host,
        },
        *,
    };
    use crate::uniqueness::GRACE;

    fn hand_over(to: &str) -> Sweep {
        Sweep::HandOver { holder: host(to), version: "7".to_owned() }
    }

    fn delete() -> Sweep {
        Sweep::Delete { version: "7".to_owned() }
    }

    fn wait(left: i64) -> Sweep {
        Sweep::Wait { until: NOW + SignedDuration::from_secs(left) }
    }

    #[rstest]
    #[case::nothing(None, &[], Sweep::Keep)]
    #[case::older_than_claims(None, &["a", "b"], Sweep::Create { holder: host("a") })]
    #[case::held(Some(claim("a", 900)), &["a"], Sweep::Keep)]
    #[case::a_duplicate_does_not_move_it(Some(claim("b", 900)), &["a", "b"], Sweep::Keep)]
    #[case::left_behind(Some(claim("a", 90)), &[], delete())]
    #[case::in_flight(Some(claim("a", 89)), &[], wait(1))]
    #[case::the_duplicate_inherits(Some(claim("a", 90)), &["b", "c"], hand_over("b"))]
    #[case::in_flight_beside_a_duplicate(Some(claim("a", 0)), &["b"], wait(90))]
    #[case::unreadable(Some(claim("", 10)), &["a"], wait(80))]
    #[case::unreadable_is_repaired(Some(claim("", 90)), &["a"], hand_over("a"))]
    #[case::unreadable_of_nobody(Some(claim("", 90)), &[], delete())]
    fn the_sweep_does(
        #[case] claim: Option<Claim>,
        #[case] stored: &[&str],
        #[case] expected: Sweep,
    ) {
        let stored: Vec<Holder> = stored.iter().map(|name| host(name)).collect();
        let (claim, read_at, grace) = (claim.as_ref(), NOW, GRACE);
        assert_eq!(sweep(&Swept { read_at, grace, claim, stored: &stored }), expected);
    }
}
