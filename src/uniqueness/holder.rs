//! `Holder`: which object a key belongs to.

use std::fmt;

use serde::{Deserialize, Serialize};

/// An object, by the name that etcd keeps at most one object of. Not by uid: an object that is
/// deleted and created again is the same holder, for there are never two of them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are Kubernetes' own, documented there")]
pub struct Holder {
    #[serde(default)]
    pub group: String,
    pub resource: String,
    /// Empty if it lives in none.
    #[serde(default)]
    pub namespace: String,
    pub name: String,
}

/// As people write it: `baremetalhosts.metal3.io metal3/node-0`.
impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.resource)?;
        if !self.group.is_empty() {
            write!(f, ".{}", self.group)?;
        }
        f.write_str(" ")?;
        if !self.namespace.is_empty() {
            write!(f, "{}/", self.namespace)?;
        }
        f.write_str(&self.name)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use rstest::rstest;

    /// A host of that name.
    pub(in crate::uniqueness) fn host(name: &str) -> Holder {
        Holder {
            group: "metal3.io".to_owned(),
            resource: "baremetalhosts".to_owned(),
            namespace: "metal3".to_owned(),
            name: name.to_owned(),
        }
    }

    #[rstest]
    #[case::host(host("node-0"), "baremetalhosts.metal3.io metal3/node-0")]
    #[case::core(Holder { group: String::new(), resource: "pods".to_owned(), ..host("a") }, "pods metal3/a")]
    #[case::of_the_cluster(Holder { namespace: String::new(), ..host("a") }, "baremetalhosts.metal3.io a")]
    fn a_holder_is_written_for_people(#[case] holder: Holder, #[case] expected: &str) {
        assert_eq!(holder.to_string(), expected);
    }
}
