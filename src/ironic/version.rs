//! `Version`: which version of Ironic's API both sides know.

use std::fmt;

use thiserror::Error;

/// The oldest version that has all we need: what baremetal-operator needs too.
pub const OLDEST: Version = Version(89);
/// The newest that we were written for. A newer Ironic speaks it as well.
pub const NEWEST: Version = Version(110);
/// From here on a node can be kept from being powered off.
pub const DISABLE_POWER_OFF: Version = Version(95);
/// From here on a deployment that waits for its ramdisk can be broken off.
pub const DEPLOY_ABORT: Version = Version(110);
/// From here on a node tells its health.
pub const HEALTH: Version = Version(109);

/// A version of Ironic's API; all are `1.` and a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(u16);

impl Version {
    /// Reads `1.89`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        text.strip_prefix("1.")?.parse().ok().map(Self)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "1.{}", self.0)
    }
}

/// Why there is no version that both sides know.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum VersionError {
    /// Ironic is from before our time.
    #[error(
        "Ironic is too old: it speaks API versions up to {newest}, and {OLDEST} is the oldest that \
         is understood; upgrade Ironic (2024.1 or later)"
    )]
    TooOld {
        /// The newest that it speaks.
        newest: Version,
    },
    /// Ironic has left our time behind.
    #[error(
        "Ironic is too new: it speaks API versions from {oldest} on, and {NEWEST} is the newest that \
         is understood; upgrade Ironward"
    )]
    TooNew {
        /// The oldest that it speaks.
        oldest: Version,
    },
    /// That is no Ironic.
    #[error(
        "what answers there does not say which versions of Ironic's API it speaks; is the address \
         that of Ironic's API?"
    )]
    NotIronic,
}

/// The newest version that both sides know.
pub fn negotiate(oldest: Option<&str>, newest: Option<&str>) -> Result<Version, VersionError> {
    let read = |text: Option<&str>| text.and_then(Version::parse).ok_or(VersionError::NotIronic);
    let (oldest, newest) = (read(oldest)?, read(newest)?);
    if newest < OLDEST {
        Err(VersionError::TooOld { newest })
    } else if oldest > NEWEST {
        Err(VersionError::TooNew { oldest })
    } else {
        Ok(newest.min(NEWEST))
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::todays("1.1", "1.115", Ok(NEWEST))]
    #[case::the_oldest_that_will_do("1.1", "1.89", Ok(OLDEST))]
    #[case::between("1.1", "1.95", Ok(DISABLE_POWER_OFF))]
    #[case::too_old("1.1", "1.88", Err(VersionError::TooOld { newest: Version(88) }))]
    #[case::too_new("1.111", "1.140", Err(VersionError::TooNew { oldest: Version(111) }))]
    #[case::another_service("2.1", "2.95", Err(VersionError::NotIronic))]
    fn the_newest_common_version_is_spoken(
        #[case] oldest: &str,
        #[case] newest: &str,
        #[case] expected: Result<Version, VersionError>,
    ) {
        assert_eq!(negotiate(Some(oldest), Some(newest)), expected);
    }

    #[test]
    fn what_says_no_version_is_no_ironic() {
        assert_eq!(negotiate(None, Some("1.100")), Err(VersionError::NotIronic));
    }

    #[test]
    fn versions_are_compared_as_numbers() {
        assert!(Version::parse("1.100") > Version::parse("1.99"));
    }
}
