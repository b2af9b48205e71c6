//! Which of several objects with one key is the one too many: the younger.

use jiff::Timestamp;

use super::Holder;

/// What decides between two objects that have the same key: the older was there first; of two of
/// one second, the first by name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Age {
    /// `metadata.creationTimestamp`; none of an object that is not stored yet, which is the youngest.
    created: Youngest,
    /// The object.
    pub holder: Holder,
}

/// In the order of declaration: what has a time comes before what has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Youngest {
    At(Timestamp),
    NotYet,
}

impl Age {
    /// The age of an object.
    #[must_use]
    pub fn new(created: Option<Timestamp>, holder: Holder) -> Self {
        Self { created: created.map_or(Youngest::NotYet, Youngest::At), holder }
    }
}

/// An object that has a key which was another's already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Duplicate {
    /// The younger.
    pub holder: Holder,
    /// The oldest.
    pub of: Holder,
}

/// All but the oldest of the objects that have one key.
#[must_use]
pub fn duplicates(mut ages: Vec<Age>) -> Vec<Duplicate> {
    ages.sort();
    ages.dedup_by(|one, other| one.holder == other.holder);
    let mut ages = ages.into_iter();
    let Some(oldest) = ages.next() else { return Vec::new() };
    ages.map(|age| Duplicate { holder: age.holder, of: oldest.holder.clone() }).collect()
}

#[cfg(test)]
mod tests {
    use super::{super::holder::tests::host, *};

    fn age(name: &str, created: Option<i64>) -> Age {
        Age::new(created.map(|second| Timestamp::constant(second, 0)), host(name))
    }

    fn names(ages: Vec<Age>) -> Vec<(String, String)> {
        let name = |it: Duplicate| (it.holder.name, it.of.name);
        duplicates(ages).into_iter().map(name).collect()
    }

    #[test]
    fn the_oldest_is_none() {
        let pair = |one: &str, other: &str| (one.to_owned(), other.to_owned());
        assert_eq!(names(vec![age("a", Some(2)), age("b", Some(1))]), [pair("a", "b")]);
        assert_eq!(names(vec![age("b", Some(1)), age("a", Some(1))]), [pair("b", "a")]);
        assert_eq!(
            names(vec![age("a", None), age("c", Some(9)), age("b", Some(1))]),
            [pair("c", "b"), pair("a", "b")]
        );
        assert_eq!(names(vec![age("a", Some(1)), age("a", Some(1))]), []);
        assert_eq!(names(Vec::new()), []);
    }
}
