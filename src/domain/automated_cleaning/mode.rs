//! `AutomatedCleaningMode`: wipe the partition tables of all disks, or leave the disks alone.

use strum::{Display, EnumIter, EnumString, VariantNames};

use crate::domain::text::{UnknownWord, vocabulary};

/// `automatedCleaningMode`. The proposal's `Metadata` and `Disabled` are read, today's `metadata`
/// and `disabled` are written; only these are in the schema.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Display, EnumIter, EnumString, VariantNames,
)]
#[strum(parse_err_ty = UnknownWord, parse_err_fn = AutomatedCleaningMode::unknown)]
pub enum AutomatedCleaningMode {
    /// Partition tables and file system signatures are wiped; the rest of the disks is not.
    #[default]
    #[strum(to_string = "metadata", serialize = "Metadata")]
    Metadata,
    /// The disks stay as they are.
    #[strum(to_string = "disabled", serialize = "Disabled")]
    Disabled,
}

vocabulary!(AutomatedCleaningMode, "an automated cleaning mode");

impl AutomatedCleaningMode {
    /// `automated_clean` of the Ironic node.
    #[must_use]
    pub fn automated_clean(self) -> bool {
        match self {
            Self::Metadata => true,
            Self::Disabled => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use strum::IntoEnumIterator;

    #[rstest]
    #[case::today("metadata", AutomatedCleaningMode::Metadata)]
    #[case::proposal("Metadata", AutomatedCleaningMode::Metadata)]
    #[case::disabled_today("disabled", AutomatedCleaningMode::Disabled)]
    #[case::disabled_in_the_proposal("Disabled", AutomatedCleaningMode::Disabled)]
    fn both_spellings_are_read_and_todays_is_written(
        #[case] text: &str,
        #[case] expected: AutomatedCleaningMode,
    ) {
        assert_eq!(text.parse(), Ok(expected));
        let json = format!(r#""{text}""#);
        let mode: AutomatedCleaningMode = serde_json::from_str(&json).unwrap();
        assert_eq!(serde_json::to_string(&mode).unwrap(), json.to_lowercase());
    }

    #[rstest]
    #[case::another_mode("full")]
    #[case::shouting("METADATA")]
    #[case::nothing("")]
    fn another_word_is_told_the_right_ones(#[case] text: &str) {
        assert_eq!(
            text.parse::<AutomatedCleaningMode>().unwrap_err().to_string(),
            format!(
                "`{text}` is not an automated cleaning mode, which is `metadata` or `disabled`"
            )
        );
    }

    #[test]
    fn the_schema_has_todays_words_only() {
        let schema = schemars::schema_for!(AutomatedCleaningMode);
        assert_eq!(schema.get("enum"), Some(&serde_json::json!(["metadata", "disabled"])));
    }

    #[test]
    fn what_is_printed_parses_to_the_same() {
        for mode in AutomatedCleaningMode::iter() {
            assert_eq!(mode.to_string().parse(), Ok(mode));
        }
    }

    #[test]
    fn disks_are_cleaned_unless_that_is_disabled() {
        assert!(AutomatedCleaningMode::default().automated_clean());
        assert!(!AutomatedCleaningMode::Disabled.automated_clean());
    }
}
