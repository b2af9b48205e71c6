//! `Mac`: the address of a network interface, in any of the four spellings people use.

use std::{fmt, str::FromStr};

use thiserror::Error;

use super::text::{Excerpt, serde_as_text};

/// Long enough for the twenty octets of InfiniBand, so that they are counted and not just refused.
const MAX_LENGTH: usize = 64;

/// A MAC address: six octets. Written `52:54:00:12:34:56`; also read with `-` between the octets,
/// as `5254.0012.3456` and as `525400123456`, in either case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mac([u8; 6]);

serde_as_text!(Mac);

/// Why a text is not a MAC address.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MacError {
    /// Nothing was given.
    #[error("is empty, a MAC is written like `52:54:00:12:34:56`")]
    Empty,
    /// Not worth reading.
    #[error("{start} has {length} characters, a MAC has 17")]
    TooLong {
        /// How it begins.
        start: Excerpt,
        /// Of all of it, in bytes.
        length: usize,
    },
    /// A part is not of hexadecimal digits, or of too few or too many.
    #[error("{part} is not {expected}, a MAC is written like `52:54:00:12:34:56`")]
    NotHexadecimal {
        /// The part.
        part: Excerpt,
        /// What stands in its place in a MAC address.
        expected: &'static str,
    },
    /// Octets are missing, or too many.
    #[error("{text} has {octets} octets, a MAC has 6")]
    OctetCount {
        /// The text.
        text: Excerpt,
        /// How many there are.
        octets: usize,
    },
    /// Without separators, digits are missing, or too many.
    #[error("{text} has {digits} hexadecimal digits, a MAC has 12")]
    DigitCount {
        /// The text.
        text: Excerpt,
        /// How many there are.
        digits: usize,
    },
}

/// Why a MAC address cannot be that of a network interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum NotUnicast {
    /// Many interfaces listen to it.
    #[error("{0} is a multicast address, no network interface has it as its own")]
    Multicast(Mac),
    /// A placeholder.
    #[error("{0} is all zero, no network interface has it as its own")]
    Zero(Mac),
}

impl Mac {
    /// Whether many interfaces listen to it, as to the broadcast address.
    #[must_use]
    pub fn is_multicast(self) -> bool {
        self.0[0] & 1 == 1
    }

    /// Whether it is the placeholder `00:00:00:00:00:00`.
    #[must_use]
    pub fn is_zero(self) -> bool {
        self.0 == [0; 6]
    }

    /// Fails for an address that no network interface can have. Not part of parsing: such an
    /// address is well written, and what is wrong with it deserves its own message.
    pub fn check_unicast(self) -> Result<(), NotUnicast> {
        match self {
            _ if self.is_zero() => Err(NotUnicast::Zero(self)),
            _ if self.is_multicast() => Err(NotUnicast::Multicast(self)),
            _ => Ok(()),
        }
    }
}

impl From<[u8; 6]> for Mac {
    fn from(octets: [u8; 6]) -> Self {
        Self(octets)
    }
}

impl FromStr for Mac {
    type Err = MacError;

    fn from_str(text: &str) -> Result<Self, MacError> {
        if text.is_empty() {
            return Err(MacError::Empty);
        }
        if text.len() > MAX_LENGTH {
            return Err(MacError::TooLong { start: text.into(), length: text.len() });
        }
        let digits = match text.chars().find(|c| matches!(c, ':' | '-' | '.')) {
            Some('.') => joined(text.split('.'), 4, "a group of four hexadecimal digits")?,
            Some(separator) => joined(text.split(separator), 2, "a hexadecimal octet")?,
            None => joined([text], text.len(), "a row of hexadecimal digits")?,
        };
        match (digits.len(), u64::from_str_radix(&digits, 16)) {
            (12, Ok(value)) => {
                let [_, _, octets @ ..] = value.to_be_bytes();
                Ok(Self(octets))
            }
            (digits, _) if digits == text.len() => {
                Err(MacError::DigitCount { text: text.into(), digits })
            }
            (digits, _) => Err(MacError::OctetCount { text: text.into(), octets: digits / 2 }),
        }
    }
}

/// The parts put together, if each is `width` hexadecimal digits.
fn joined<'a>(
    parts: impl IntoIterator<Item = &'a str>,
    width: usize,
    expected: &'static str,
) -> Result<String, MacError> {
    parts
        .into_iter()
        .map(|part| {
            let is_hexadecimal = part.bytes().all(|byte| byte.is_ascii_hexdigit());
            if is_hexadecimal && part.len() == width {
                Ok(part)
            } else {
                Err(MacError::NotHexadecimal { part: part.into(), expected })
            }
        })
        .collect()
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, octet) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { ":" };
            write!(f, "{separator}{octet:02x}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::testing::hostile;
    use proptest::prelude::*;
    use rstest::rstest;

    const MAC: Mac = Mac([0x52, 0x54, 0x00, 0xab, 0xcd, 0xef]);

    #[rstest]
    #[case::colons("52:54:00:ab:cd:ef")]
    #[case::dashes("52-54-00-ab-cd-ef")]
    #[case::dots("5254.00ab.cdef")]
    #[case::no_separators("525400abcdef")]
    #[case::upper_case("52:54:00:AB:CD:EF")]
    #[case::mixed_case("52-54-00-Ab-cD-EF")]
    fn every_usual_spelling_is_the_same_address(#[case] text: &str) {
        assert_eq!(text.parse(), Ok(MAC));
    }

    #[rstest]
    #[case::nothing("", "is empty, a MAC is written like `52:54:00:12:34:56`")]
    #[case::five_octets("52:54:00:ab:cd", "`52:54:00:ab:cd` has 5 octets, a MAC has 6")]
    #[case::eight_octets(
        "52:54:00:ab:cd:ef:00:01",
        "`52:54:00:ab:cd:ef:00:01` has 8 octets, a MAC has 6"
    )]
    #[case::two_groups("5254.00ab", "`5254.00ab` has 4 octets, a MAC has 6")]
    #[case::eleven_digits("525400abcde", "`525400abcde` has 11 hexadecimal digits, a MAC has 12")]
    #[case::not_hexadecimal(
        "52:54:00:zz:cd:ef",
        "`zz` is not a hexadecimal octet, a MAC is written like `52:54:00:12:34:56`"
    )]
    #[case::one_digit_octet(
        "52:54:0:ab:cd:ef",
        "`0` is not a hexadecimal octet, a MAC is written like `52:54:00:12:34:56`"
    )]
    #[case::mixed_separators(
        "52:54-00:ab:cd:ef",
        "`54-00` is not a hexadecimal octet, a MAC is written like `52:54:00:12:34:56`"
    )]
    #[case::sign_is_not_a_digit(
        "+52:54:00:ab:cd:ef",
        "`+52` is not a hexadecimal octet, a MAC is written like `52:54:00:12:34:56`"
    )]
    #[case::short_group(
        "5254.00a.cdef",
        "`00a` is not a group of four hexadecimal digits, a MAC is written like `52:54:00:12:34:56`"
    )]
    #[case::surrounding_space(
        " 525400abcdef",
        "` 525400abcdef` is not a row of hexadecimal digits, a MAC is written like \
         `52:54:00:12:34:56`"
    )]
    fn what_is_wrong_is_said(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(text.parse::<Mac>().unwrap_err().to_string(), expected);
    }

    #[test]
    fn endless_text_is_refused_unread() {
        let error = "ab".repeat(500).parse::<Mac>().unwrap_err().to_string();
        assert!(error.ends_with("…` has 1000 characters, a MAC has 17"), "{error}");
    }

    #[rstest]
    #[case::of_a_nic("52:54:00:ab:cd:ef", None)]
    #[case::locally_administered("02:00:00:00:00:01", None)]
    #[case::zero(
        "00:00:00:00:00:00",
        Some("00:00:00:00:00:00 is all zero, no network interface has it as its own")
    )]
    #[case::multicast(
        "01:00:5e:00:00:01",
        Some("01:00:5e:00:00:01 is a multicast address, no network interface has it as its own")
    )]
    #[case::broadcast(
        "ff:ff:ff:ff:ff:ff",
        Some("ff:ff:ff:ff:ff:ff is a multicast address, no network interface has it as its own")
    )]
    fn only_unicast_addresses_belong_to_a_nic(#[case] text: &str, #[case] refusal: Option<&str>) {
        let checked = text.parse::<Mac>().unwrap().check_unicast();
        assert_eq!(checked.err().map(|error| error.to_string()).as_deref(), refusal);
    }

    #[test]
    fn json_has_it_as_text() {
        assert_eq!(serde_json::to_string(&MAC).unwrap(), r#""52:54:00:ab:cd:ef""#);
        assert_eq!(serde_json::from_str::<Mac>(r#""5254.00AB.cdef""#).unwrap(), MAC);
        assert!(serde_json::from_str::<Mac>(r#""52:54""#).is_err());
    }

    proptest! {
        #[test]
        fn what_is_printed_parses_to_the_same(octets: [u8; 6]) {
            prop_assert_eq!(Mac(octets).to_string().parse(), Ok(Mac(octets)));
        }

        #[test]
        fn no_text_panics_and_what_parses_has_one_canonical_form(
            text in hostile(any::<[u8; 6]>().prop_map(|octets| Mac(octets).to_string()))
        ) {
            if let Ok(mac) = text.parse::<Mac>() {
                let canonical = mac.to_string();
                prop_assert_eq!(canonical.parse::<Mac>().unwrap().to_string(), canonical);
            }
        }
    }
}
