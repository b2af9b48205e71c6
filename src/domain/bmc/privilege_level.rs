//! `PrivilegeLevel`: as whom IPMI acts, the query `privilegelevel` of an address.

use strum::{Display, EnumString, VariantNames};

use crate::domain::text::{UnknownWord, vocabulary};

/// Ironic's `ipmi_priv_level`. Read in any case; Ironic takes only the capitals that are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Display, EnumString, VariantNames)]
#[strum(serialize_all = "UPPERCASE", ascii_case_insensitive)]
#[strum(parse_err_ty = UnknownWord, parse_err_fn = PrivilegeLevel::unknown)]
#[allow(missing_docs, reason = "IPMI's own words")]
pub enum PrivilegeLevel {
    #[default]
    Administrator,
    Operator,
    User,
    Callback,
}

vocabulary!(PrivilegeLevel, "an IPMI privilege level");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_case_is_read_and_capitals_are_written() {
        let level: PrivilegeLevel = "operator".parse().unwrap();
        assert_eq!(level.to_string(), "OPERATOR");
    }

    #[test]
    fn an_unknown_level_is_told_the_right_ones() {
        assert_eq!(
            "root".parse::<PrivilegeLevel>().unwrap_err().to_string(),
            "`root` is not an IPMI privilege level, which is `ADMINISTRATOR`, `OPERATOR`, `USER` \
             or `CALLBACK`"
        );
    }
}
