//! The annotations by which people and other controllers speak to this one. Their values are free text to the API
//! server, so each has one reader here.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::provisioner::RebootMode;
pub use crate::domain::host_discovery::annotations::{
    APPROVAL, APPROVED, awaits_approval, is_to_be_forgotten,
};

/// Nothing is done to the host while it is there, whatever its value.
pub const PAUSED: &str = "baremetalhost.metal3.io/paused";
/// The host is taken out of the provisioner while it is there.
pub const DETACHED: &str = "baremetalhost.metal3.io/detached";
/// A status to begin with, for a host that was moved here.
pub const STATUS: &str = "baremetalhost.metal3.io/status";
/// `disabled`, or a wish to inspect again.
pub const INSPECT: &str = "inspect.metal3.io";
/// What the host is made of, as JSON.
pub const HARDWARE_DETAILS: &str = "inspect.metal3.io/hardwaredetails";
/// One reboot. With a key behind a slash: stay off while it is there.
pub const REBOOT: &str = "reboot.metal3.io";

/// The annotations of an object.
pub type Annotations = BTreeMap<String, String>;

/// What `detached` asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Detach {
    /// Whether a deletion waits until the annotation is gone, instead of forgetting the host at once.
    pub delays_deletion: bool,
    /// Whether it is done in any state, aborting what is under way.
    pub force: bool,
}

/// Any value detaches; one that is JSON may say how.
#[must_use]
pub fn detach(annotations: &Annotations) -> Option<Detach> {
    #[derive(Default, Deserialize)]
    #[serde(default, rename_all = "camelCase")]
    struct Arguments {
        delete_action: String,
        force: bool,
    }

    let text = annotations.get(DETACHED)?;
    let Arguments { delete_action, force } = serde_json::from_str(text).unwrap_or_default();
    Some(Detach { delays_deletion: delete_action == "delay", force })
}

/// What is asked for about inspection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inspect {
    /// Nothing.
    Unsaid,
    /// Not to be done.
    Disabled,
    /// To be done again.
    Again,
}

/// Any value but `disabled` asks for another inspection.
#[must_use]
pub fn inspect(annotations: &Annotations) -> Inspect {
    match annotations.get(INSPECT).map(String::as_str) {
        None => Inspect::Unsaid,
        Some("disabled") => Inspect::Disabled,
        Some(_) => Inspect::Again,
    }
}

/// What the reboot annotations ask for together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reboots {
    /// One reboot, by the annotation without a key.
    pub once: Option<Wish>,
    /// To stay off, by at least one annotation with a key.
    pub hold: Option<Wish>,
    /// Annotations whose value was not understood. They count as soft.
    pub unreadable: Vec<String>,
}

/// How one of them wants it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Wish {
    /// How the power goes off.
    pub mode: RebootMode,
    /// Whether that is done in states in which nobody's work is on the host yet, too.
    pub force: bool,
}

impl Wish {
    /// Hard wins, and so does force.
    fn and(self, other: Self) -> Self {
        let mode = if self.mode == RebootMode::Hard { self.mode } else { other.mode };
        Self { mode, force: self.force || other.force }
    }
}

impl Reboots {
    /// All of them, or only those that do not ask whether it is the time.
    #[must_use]
    pub fn wish(&self, only_forced: bool) -> Option<Wish> {
        let counts = |wish: &Wish| wish.force || !only_forced;
        let (once, hold) = (self.once.filter(counts), self.hold.filter(counts));
        match (once, hold) {
            (Some(once), Some(hold)) => Some(once.and(hold)),
            (wish, None) | (None, wish) => wish,
        }
    }
}

/// Reads all of them.
#[must_use]
pub fn reboots(annotations: &Annotations) -> Reboots {
    let mut found = Reboots::default();
    for (key, value) in annotations {
        let is_once = key == REBOOT;
        let is_hold = key.strip_prefix(REBOOT).is_some_and(|rest| rest.starts_with('/'));
        if !is_once && !is_hold {
            continue;
        }
        let wish = wish(value).unwrap_or_else(|| {
            found.unreadable.push(key.clone());
            Wish::default()
        });
        let kept = if is_once { &mut found.once } else { &mut found.hold };
        *kept = Some(kept.map_or(wish, |before| before.and(wish)));
    }
    found
}

/// None if it is not understood.
fn wish(value: &str) -> Option<Wish> {
    #[derive(Deserialize)]
    #[serde(default)]
    struct Arguments {
        mode: String,
        force: bool,
    }

    impl Default for Arguments {
        fn default() -> Self {
            Self { mode: "soft".to_owned(), force: false }
        }
    }

    if value.trim().is_empty() {
        return Some(Wish::default());
    }
    let Arguments { mode, force } = serde_json::from_str(value).ok()?;
    let mode = match mode.as_str() {
        "hard" => RebootMode::Hard,
        "soft" | "" => RebootMode::Soft,
        _ => return None,
    };
    Some(Wish { mode, force })
}

#[cfg(test)]
mod tests {
    use super::*;
    use RebootMode::{Hard, Soft};
    use rstest::rstest;

    fn with(pairs: &[(&str, &str)]) -> Annotations {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[rstest]
    #[case::empty("", false, false)]
    #[case::free_text("metal3.io/capm3", false, false)]
    #[case::delay(r#"{"deleteAction": "delay"}"#, true, false)]
    #[case::delete(r#"{"deleteAction": "delete", "force": true}"#, false, true)]
    #[case::another_shape(r#"{"force": "yes"}"#, false, false)]
    fn any_value_detaches(#[case] value: &str, #[case] delays_deletion: bool, #[case] force: bool) {
        assert_eq!(detach(&with(&[(DETACHED, value)])), Some(Detach { delays_deletion, force }));
    }

    #[test]
    fn nothing_detaches_what_is_not_annotated() {
        assert_eq!(detach(&with(&[(PAUSED, "")])), None);
    }

    #[rstest]
    #[case::empty("", Some((Soft, false)))]
    #[case::soft(r#"{"mode": "soft"}"#, Some((Soft, false)))]
    #[case::hard(r#"{"mode": "hard"}"#, Some((Hard, false)))]
    #[case::forced(r#"{"force": true}"#, Some((Soft, true)))]
    #[case::another_mode(r#"{"mode": "gently"}"#, None)]
    #[case::no_json("now!", None)]
    fn a_wish_is_read(#[case] value: &str, #[case] expected: Option<(RebootMode, bool)>) {
        assert_eq!(wish(value), expected.map(|(mode, force)| Wish { mode, force }));
    }

    #[test]
    fn hard_wins_and_what_is_not_understood_is_soft_and_said() {
        let found = reboots(&with(&[
            ("reboot.metal3.io", "now!"),
            ("reboot.metal3.io/a", ""),
            ("reboot.metal3.io/b", r#"{"mode": "hard"}"#),
            ("reboot.metal3.iox", r#"{"mode": "hard", "force": true}"#),
        ]));
        assert_eq!(found.once, Some(Wish::default()));
        assert_eq!(found.hold, Some(Wish { mode: Hard, force: false }));
        assert_eq!(found.unreadable, ["reboot.metal3.io"]);
        assert_eq!(found.wish(false), Some(Wish { mode: Hard, force: false }));
        assert_eq!(found.wish(true), None);
    }

    #[test]
    fn only_forced_ones_count_where_only_they_do() {
        let found = reboots(&with(&[
            ("reboot.metal3.io", r#"{"force": true}"#),
            ("reboot.metal3.io/b", r#"{"mode": "hard"}"#),
        ]));
        assert_eq!(found.wish(true), Some(Wish { mode: Soft, force: true }));
    }
}
