//! Ways to get the protocol wrong, each by one line.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mistake {
    /// A claim that is mine is not written again.
    NoRenewal,
    /// A claim is taken over at once.
    NoGrace,
    /// A claim is taken over whatever has become of it.
    NoCompare,
    /// My claim is written again whatever has become of it.
    RenewalWithoutCompare,
    /// The holder is looked at before the claim is read.
    LookFirst,
    /// The clock is read after the holder was looked at.
    LateClock,
    /// The sweep deletes claims that were written just now.
    SweepWithoutGrace,
    /// The sweep deletes a claim whatever has become of it.
    SweepWithoutCompare,
    /// The sweep lists objects before claims.
    SweepListsFirst,
    /// A refused request takes back also what was its object's before.
    RollbackOfRenewals,
    /// A refused request deletes its claim whatever has become of it.
    RollbackWithoutCompare,
    /// The API server stores updates onto objects that have changed: what we rely on it not to do.
    LostUpdates,
}
