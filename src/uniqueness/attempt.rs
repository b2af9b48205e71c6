//! What a request does between its claims: how often it tries again, and what it takes back.

/// How often a claim is read and written before the request gives up. Each round that fails is
/// another's that succeeded, so that more rounds only help who is outnumbered.
pub const ROUNDS: u32 = 5;

/// What comes after a write that came too late: `AlreadyExists`, a conflict, or `NotFound`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Read the claim, look and decide again, all of it.
    ReadAgain {
        /// Which round that is, from 0.
        round: u32,
    },
    /// Refuse with the advice to try again.
    GiveUp,
}

/// What comes after a round, counted from 0, whose write came too late.
#[must_use]
pub fn after_contention(round: u32) -> Next {
    match round.checked_add(1) {
        Some(round) if round < ROUNDS => Next::ReadAgain { round },
        Some(_) | None => Next::GiveUp,
    }
}

/// A claim that a request has written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The name of its Lease.
    pub lease: String,
    /// The version that the write made.
    pub version: String,
    /// Whether the claim was this object's before: it was only renewed.
    pub was_mine: bool,
}

/// A claim to delete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undo {
    /// The name of its Lease.
    pub lease: String,
    /// Only this version: if the claim was written since, another request of this object relies on it.
    pub version: String,
}

/// What a request that is refused takes back of what it wrote. What was this object's before stays:
/// the object may be stored with it.
#[must_use]
pub fn rollback(written: &[Written]) -> Vec<Undo> {
    let taken = written.iter().rev().filter(|write| !write.was_mine);
    taken.map(|it| Undo { lease: it.lease.clone(), version: it.version.clone() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_end() {
        let mut round = 0;
        while let Next::ReadAgain { round: next } = after_contention(round) {
            assert_eq!(next, round + 1);
            round = next;
        }
        assert_eq!(round + 1, ROUNDS);
        assert_eq!(after_contention(u32::MAX), Next::GiveUp);
    }

    #[test]
    fn only_what_was_taken_is_taken_back() {
        let write = |lease: &str, was_mine| Written {
            lease: lease.to_owned(),
            version: format!("{lease}1"),
            was_mine,
        };
        let undo = |lease: &str| Undo { lease: lease.to_owned(), version: format!("{lease}1") };
        let written = [write("a", false), write("b", true), write("c", false)];
        assert_eq!(rollback(&written), [undo("c"), undo("a")]);
    }
}
