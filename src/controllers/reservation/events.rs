//! What people are told about a host that was reserved.

use strum::{EnumIter, IntoStaticStr};

use crate::controllers::{events, said::Voice};

/// Why something is told: the reason of the event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumIter, IntoStaticStr)]
pub enum Reason {
    /// The host is anybody's again.
    ReservationReleased,
}

impl events::Reason for Reason {
    const OF: Voice = Voice::Reservations;

    fn is_warning(self) -> bool {
        match self {
            Self::ReservationReleased => false,
        }
    }

    fn words(self) -> &'static [&'static str] {
        match self {
            Self::ReservationReleased => &[
                "the host is not kept for reuse any more: the owner of its pool is gone",
                "the host is not kept for reuse any more: its pool has all the hosts that it needs",
                "the host is not kept for reuse any more: it is marked unhealthy, so that no machine would take it",
                "the host is not kept for reuse any more: its label was taken away",
            ],
        }
    }
}
