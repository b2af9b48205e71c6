//! What people are told when something happens.

use super::said::Voice;
use crate::domain::words;

/// Why something is told: one word of a closed list, so that the guide can explain each.
pub trait Reason: Copy + Into<&'static str> {
    /// Whose list it is.
    const OF: Voice;

    /// Whether somebody should look at it.
    fn is_warning(self) -> bool;

    /// The notes that it can have, with a `<placeholder>` for what varies.
    fn words(self) -> &'static [&'static str];

    /// Whether a note is one of them.
    fn says(self, note: &str) -> bool {
        words::fit_any(self.words(), note)
    }
}
