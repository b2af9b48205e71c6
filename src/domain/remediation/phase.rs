//! `Phase`: how far a remediation has come.

use strum::{Display, EnumIter, EnumString, VariantNames};

use crate::domain::text::{UnknownWord, vocabulary};

/// `status.phase` of a Metal3Remediation. The proposal's lower case is read, Metal3's is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Display, EnumIter, EnumString, VariantNames)]
#[strum(ascii_case_insensitive)]
#[strum(parse_err_ty = UnknownWord, parse_err_fn = Phase::unknown)]
pub enum Phase {
    /// The host is being switched off and its Node fenced.
    Running,
    /// The host is on again, and its Node has until the timeout to become healthy.
    Waiting,
    /// Nothing helped: the owner of the Machine is to replace it.
    #[strum(serialize = "Deleting machine")]
    DeletingMachine,
    /// Remediation could not be tried.
    Failed,
}

vocabulary!(Phase, "a phase of remediation");

#[cfg(test)]
mod tests {
    use super::*;
    use strum::IntoEnumIterator;

    #[test]
    fn the_words_are_those_of_metal3() {
        assert_eq!(Phase::VARIANTS, ["Running", "Waiting", "Deleting machine", "Failed"]);
    }

    #[test]
    fn what_is_printed_and_its_lower_case_parse_to_the_same() {
        for phase in Phase::iter() {
            assert_eq!(phase.to_string().parse(), Ok(phase));
            assert_eq!(phase.to_string().to_lowercase().parse(), Ok(phase));
        }
    }

    #[test]
    fn another_word_is_told_the_right_ones() {
        assert_eq!(
            "Done".parse::<Phase>().unwrap_err().to_string(),
            "`Done` is not a phase of remediation, which is `Running`, `Waiting`, \
             `Deleting machine` or `Failed`"
        );
    }
}
