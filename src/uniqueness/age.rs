//! Which of several objects with one key was there first; the younger are too many.

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

#[cfg(test)]
mod tests {
    use super::{super::holder::tests::host, *};

    fn names(ages: &[(&str, Option<i64>)]) -> Vec<String> {
        let age = |(name, created): &(&str, Option<i64>)| {
            Age::new(created.map(|second| Timestamp::constant(second, 0)), host(name))
        };
        let mut ages: Vec<_> = ages.iter().map(age).collect();
        ages.sort();
        ages.into_iter().map(|age| age.holder.name).collect()
    }

    #[test]
    fn the_oldest_comes_first() {
        assert_eq!(names(&[("a", Some(2)), ("b", Some(1))]), ["b", "a"]);
        assert_eq!(names(&[("b", Some(1)), ("a", Some(1))]), ["a", "b"]);
        assert_eq!(names(&[("a", None), ("c", Some(9)), ("b", Some(1))]), ["b", "c", "a"]);
    }
}
