//! How a machine's firmware starts it, in Ironic's two ways of writing it.

use serde_json::{Value, json};

use crate::api::baremetalhost::BootMode;

fn of(mode: BootMode) -> (&'static str, bool) {
    match mode {
        BootMode::Uefi => ("uefi", false),
        BootMode::UefiSecureBoot => ("uefi", true),
        BootMode::Legacy => ("bios", false),
    }
}

/// `properties.capabilities`, `name:value,name:value`; those that inspection found stay.
#[must_use]
pub fn of_node(current: &str, mode: BootMode) -> String {
    let (boot_mode, secure_boot) = of(mode);
    let ours = ["boot_mode", "secure_boot"];
    let others = current.split(',').map(str::trim).filter(|entry| {
        let name = entry.split_once(':').map_or(*entry, |(name, _)| name);
        !entry.is_empty() && !ours.contains(&name)
    });
    let mut entries: Vec<String> = others.map(str::to_owned).collect();
    entries.push(format!("boot_mode:{boot_mode}"));
    if secure_boot {
        entries.push("secure_boot:true".into());
    }
    // The same entries are the same text, whatever order Ironic has them in.
    entries.sort_unstable();
    entries.join(",")
}

/// Whether `properties.capabilities` says it.
#[must_use]
pub fn says(current: &str, mode: BootMode) -> bool {
    let mut entries: Vec<&str> = current.split(',').map(str::trim).collect();
    entries.sort_unstable();
    entries.join(",") == of_node(current, mode)
}

/// `instance_info.capabilities`.
#[must_use]
pub fn of_instance(mode: BootMode) -> Value {
    let (boot_mode, secure_boot) = of(mode);
    if secure_boot {
        json!({"boot_mode": boot_mode, "secure_boot": "true"})
    } else {
        json!({"boot_mode": boot_mode})
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::new("", BootMode::Uefi, "boot_mode:uefi")]
    #[case::secure("", BootMode::UefiSecureBoot, "boot_mode:uefi,secure_boot:true")]
    #[case::others_stay("cpu_vt:true,boot_mode:bios", BootMode::Uefi, "boot_mode:uefi,cpu_vt:true")]
    #[case::no_longer_secure("secure_boot:true,boot_mode:uefi", BootMode::Legacy, "boot_mode:bios")]
    fn the_boot_mode_takes_its_place_among_others(
        #[case] current: &str,
        #[case] mode: BootMode,
        #[case] expected: &str,
    ) {
        assert_eq!(of_node(current, mode), expected);
        assert!(says(expected, mode));
        assert!(!says(current, mode));
    }

    #[test]
    fn another_order_says_the_same() {
        assert!(says("cpu_vt:true,boot_mode:uefi", BootMode::Uefi));
    }
}
