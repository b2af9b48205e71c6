//! Which objects are to be marked as duplicates, and which no longer.

use std::collections::BTreeMap;

use super::Holder;

/// What is to be done to an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mark {
    /// Mark it with this.
    Set(String),
    /// Take the mark away.
    Clear,
}

/// What leads from what objects are marked with to what they should be marked with.
#[must_use]
pub fn marks(
    wanted: &BTreeMap<Holder, String>,
    present: &BTreeMap<Holder, String>,
) -> Vec<(Holder, Mark)> {
    let new = wanted.iter().filter(|(holder, text)| present.get(*holder) != Some(*text));
    let new = new.map(|(holder, text)| (holder.clone(), Mark::Set(text.clone())));
    let old = present.keys().filter(|holder| !wanted.contains_key(*holder));
    new.chain(old.map(|holder| (holder.clone(), Mark::Clear))).collect()
}

#[cfg(test)]
mod tests {
    use super::{super::holder::tests::host, *};

    #[test]
    fn only_what_differs_is_written() {
        let all = |entries: &[(&str, &str)]| {
            entries.iter().map(|(name, text)| (host(name), (*text).to_owned())).collect()
        };
        let wanted = all(&[("new", "a"), ("same", "b"), ("other", "c")]);
        let present = all(&[("same", "b"), ("other", "d"), ("gone", "e")]);
        let expected = [
            (host("new"), Mark::Set("a".to_owned())),
            (host("other"), Mark::Set("c".to_owned())),
            (host("gone"), Mark::Clear),
        ];
        assert_eq!(
            marks(&wanted, &present).into_iter().collect::<BTreeMap<_, _>>(),
            expected.into_iter().collect()
        );
    }
}
