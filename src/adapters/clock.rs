//! The clock: read here, and given to whoever decides.

use jiff::Timestamp;

/// The time.
#[must_use]
pub fn now() -> Timestamp {
    #[expect(clippy::disallowed_methods, reason = "this is the place")]
    Timestamp::now()
}
