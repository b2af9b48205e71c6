//! A finding's message and the field it is about. By convention a message begins with the field:
//! `spec.bmc.address: …`.

/// The parts of an object that a finding can be about.
const ROOTS: [&str; 3] = ["spec", "metadata", "status"];

/// The path of the field that a message begins with, if it begins with one, and the rest of it.
///
/// Only a real path counts, such as `spec.raid.softwareRAIDVolumes[1].level` or
/// `metadata.annotations[reboot.metal3.io]`; a message that merely has a colon is all text.
#[must_use]
pub fn split(message: &str) -> (Option<&str>, &str) {
    let end = path_length(message);
    match message.get(end..).and_then(|rest| rest.strip_prefix(": ")) {
        Some(text) if end > 0 && !text.trim().is_empty() => (message.get(..end), text.trim_start()),
        _ => (None, message),
    }
}

/// How many bytes of the text are a path.
fn path_length(text: &str) -> usize {
    let root = ROOTS.iter().find(|root| {
        text.strip_prefix(**root).is_some_and(|rest| rest.starts_with(['.', '[', ':']))
    });
    let Some(root) = root else { return 0 };
    let mut end = root.len();
    while let Some(length) = text.get(end..).and_then(step_length) {
        end += length;
    }
    end
}

/// How many bytes a step takes: `.field`, `[1]` or `[key]`.
fn step_length(text: &str) -> Option<usize> {
    if let Some(name) = text.strip_prefix('.') {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let length = name.find(|c| !is_part(c)).unwrap_or(name.len());
        return name.starts_with(|c: char| c.is_ascii_alphabetic()).then_some(1 + length);
    }
    let key = text.strip_prefix('[')?;
    let length = key.find(']').filter(|length| *length > 0)?;
    let is_blank = |c: char| c.is_whitespace() || c == '[';
    (!key.get(..length)?.contains(is_blank)).then_some(length + 2)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::a_field("spec.bmc.address: is empty", Some("spec.bmc.address"), "is empty")]
    #[case::an_index("spec.raid.volumes[1].level: no", Some("spec.raid.volumes[1].level"), "no")]
    #[case::a_key(
        "metadata.annotations[reboot.metal3.io/x]: no",
        Some("metadata.annotations[reboot.metal3.io/x]"),
        "no"
    )]
    #[case::a_root("spec: is missing", Some("spec"), "is missing")]
    #[case::of_status(
        "status.provisioning.state: is odd",
        Some("status.provisioning.state"),
        "is odd"
    )]
    fn the_field_is_split_off(
        #[case] message: &str,
        #[case] field: Option<&str>,
        #[case] text: &str,
    ) {
        assert_eq!(split(message), (field, text));
    }

    #[rstest]
    #[case::no_field("the host is in use")]
    #[case::another_root("speculation: no")]
    #[case::a_sentence("spec of the host: no")]
    #[case::no_root("kind.name: no")]
    #[case::no_text("spec.online: ")]
    #[case::no_space("spec.online:no")]
    #[case::an_open_bracket("spec.list[1: no")]
    #[case::an_empty_key("spec.list[]: no")]
    #[case::a_blank_key("spec.list[a b]: no")]
    #[case::a_number_for_a_field("spec.1: no")]
    #[case::a_double_dot("spec..a: no")]
    fn what_is_no_path_stays_text(#[case] message: &str) {
        assert_eq!(split(message), (None, message));
    }

    proptest! {
        #[test]
        fn no_message_is_lost(message in r"(spec|metadata|status)?[a-z\.\[\]: é0-9-]{0,24}") {
            let (field, text) = split(&message);
            prop_assert!(message.starts_with(field.unwrap_or_default()));
            prop_assert!(message.ends_with(text));
        }
    }
}
