//! `Hidden`: a value that no log line, error or event may show.

use std::fmt;

/// A password, or what may hold one. It is compared and handed on; printing it prints nothing of it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Hidden<T>(T);

impl<T> Hidden<T> {
    /// Hides a value.
    pub const fn new(value: T) -> Self {
        Self(value)
    }

    /// The value, for the one who needs it.
    pub const fn reveal(&self) -> &T {
        &self.0
    }
}

impl<T> fmt::Debug for Hidden<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(hidden)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_hidden_is_not_printed() {
        let hidden = Hidden::new("calvin".to_owned());
        assert_eq!(format!("{hidden:?} {:?}", Some(&hidden)), "(hidden) Some((hidden))");
        assert_eq!(hidden.reveal(), "calvin");
    }
}
