//! Ways to get it wrong, each by one line.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mistake {
    /// A Secret is settled whatever has become of it.
    SettledWithoutCompare,
    /// A Secret is deleted whatever has become of it, and of what keeps it.
    DeletedWithoutCompare,
    /// A Secret that was just made is given to its machine, without a look at the status.
    GivenAtOnce,
    /// A Secret is settled while another has the same index.
    SettledBesideAnother,
}
