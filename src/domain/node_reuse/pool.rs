//! `Pool`: the machines that share their hosts, as the value of the label on those hosts.

use std::str::FromStr;

use thiserror::Error;

use crate::domain::{
    kubernetes_name::{CUT, label_value},
    text::Excerpt,
};

/// The label on a BareMetalHost that reserves it for a pool.
pub const LABEL: &str = "infrastructure.cluster.x-k8s.io/node-reuse";

/// The annotation on a BareMetalHost that tells since when it is reserved. Metal3 does not write it.
pub const SINCE_ANNOTATION: &str = "ironward.dev/reserved-since";

/// What stands before the name of a control plane, and stood there in the proposal.
const CONTROL_PLANE: &str = "cp-";
const CONTROL_PLANE_ONCE: &str = "kcp-";
const MACHINE_DEPLOYMENT: &str = "md-";

/// The machines that share their hosts. Both are known by the name of the object that owns them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Pool {
    /// Those of a control plane, such as a KubeadmControlPlane.
    ControlPlane(String),
    /// Those of a MachineDeployment.
    MachineDeployment(String),
}

/// Why a label's value does not tell the pool.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PoolError {
    /// It does not say whether of a control plane or of a MachineDeployment.
    #[error(
        "{given} does not name a pool, which is written `cp-<control plane>` or \
         `md-<MachineDeployment>`"
    )]
    NoPrefix {
        /// The value.
        given: Excerpt,
    },
    /// Only the hash of the name is left.
    #[error("{given} holds the hash of a long name, which cannot be turned back into the name")]
    Shortened {
        /// The value.
        given: Excerpt,
    },
}

impl Pool {
    /// The value of [`LABEL`] on a host of this pool: `cp-<name>` or `md-<name>`. A name that does
    /// not fit is cut, and ends in the hash of the whole of it, so that it is the same each time
    /// and another for every name.
    #[must_use]
    pub fn label_value(&self) -> String {
        let (prefix, name) = match self {
            Self::ControlPlane(name) => (CONTROL_PLANE, name),
            Self::MachineDeployment(name) => (MACHINE_DEPLOYMENT, name),
        };
        label_value(&format!("{prefix}{name}"))
    }

    /// Whether a host with this value of [`LABEL`] is reserved for this pool. Also the older
    /// `kcp-<name>` is understood, which is not written any more.
    #[must_use]
    pub fn matches(&self, value: &str) -> bool {
        let is_older_spelling = match self {
            Self::ControlPlane(name) => value.strip_prefix(CONTROL_PLANE_ONCE) == Some(name),
            Self::MachineDeployment(_) => false,
        };
        is_older_spelling || value == self.label_value()
    }
}

/// Reads a label's value, where it tells the name.
impl FromStr for Pool {
    type Err = PoolError;

    fn from_str(value: &str) -> Result<Self, PoolError> {
        if value.contains(CUT) {
            return Err(PoolError::Shortened { given: value.into() });
        }
        let control_plane = [CONTROL_PLANE, CONTROL_PLANE_ONCE];
        let of_control_plane = control_plane.iter().find_map(|prefix| value.strip_prefix(prefix));
        match (of_control_plane, value.strip_prefix(MACHINE_DEPLOYMENT)) {
            (Some(name), _) if !name.is_empty() => Ok(Self::ControlPlane(name.to_owned())),
            (_, Some(name)) if !name.is_empty() => Ok(Self::MachineDeployment(name.to_owned())),
            (Some(_) | None, _) => Err(PoolError::NoPrefix { given: value.into() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{kubernetes_name::is_label_value, testing::hostile};
    use proptest::prelude::*;
    use rstest::rstest;

    fn control_plane(name: &str) -> Pool {
        Pool::ControlPlane(name.to_owned())
    }

    fn machine_deployment(name: &str) -> Pool {
        Pool::MachineDeployment(name.to_owned())
    }

    /// Names that Kubernetes accepts, many of which do not fit into a label.
    fn any_name() -> impl Strategy<Value = String> {
        "[a-z0-9]{1,9}([a-z0-9.-]{0,80}[a-z0-9])?"
    }

    fn any_pool() -> impl Strategy<Value = Pool> {
        (any_name(), any::<bool>()).prop_map(|(name, is_control_plane)| {
            if is_control_plane { Pool::ControlPlane(name) } else { Pool::MachineDeployment(name) }
        })
    }

    #[rstest]
    #[case::control_plane(control_plane("pool1"), "cp-pool1")]
    #[case::machine_deployment(machine_deployment("pool1"), "md-pool1")]
    #[case::just_fits(
        machine_deployment("a23456789-123456789-123456789-123456789-123456789-123456789x"),
        "md-a23456789-123456789-123456789-123456789-123456789-123456789x"
    )]
    #[case::one_too_long(
        machine_deployment("a23456789-123456789-123456789-123456789-123456789-123456789xy"),
        "md-a23456789-123456789-123456789-123456789-123456789_c8355e7955"
    )]
    #[case::cut_after_a_dash(
        machine_deployment("a23456789-123456789-123456789-123456789-1234567-------------y"),
        "md-a23456789-123456789-123456789-123456789-1234567--_43ad21ed5b"
    )]
    #[case::what_no_name_may_have(machine_deployment("ä/b "), "md-b_6bdb7f08b0")]
    #[case::no_name(machine_deployment(""), "md-_07fd91f34b")]
    fn a_pool_is_written_as_a_label(#[case] pool: Pool, #[case] expected: &str) {
        assert_eq!(pool.label_value(), expected);
    }

    #[rstest]
    #[case::today(control_plane("a"), "cp-a", true)]
    #[case::once(control_plane("a"), "kcp-a", true)]
    #[case::machine_deployment(machine_deployment("a"), "md-a", true)]
    #[case::another_name(control_plane("a"), "cp-ab", false)]
    #[case::another_kind(control_plane("a"), "md-a", false)]
    #[case::a_deployment_never_was_a_control_plane(machine_deployment("a"), "kcp-a", false)]
    #[case::the_bare_name(machine_deployment("a"), "a", false)]
    #[case::nothing(machine_deployment("a"), "", false)]
    fn a_host_is_matched_by_its_label(
        #[case] pool: Pool,
        #[case] value: &str,
        #[case] expected: bool,
    ) {
        assert_eq!(pool.matches(value), expected);
    }

    #[rstest]
    #[case::today("cp-a", control_plane("a"))]
    #[case::once("kcp-a", control_plane("a"))]
    #[case::machine_deployment("md-a", machine_deployment("a"))]
    #[case::a_name_that_begins_like_a_prefix("md-cp-a", machine_deployment("cp-a"))]
    fn the_pool_is_read_from_the_label(#[case] value: &str, #[case] expected: Pool) {
        assert_eq!(value.parse(), Ok(expected));
    }

    #[rstest]
    #[case::no_prefix(
        "pool1",
        "`pool1` does not name a pool, which is written `cp-<control plane>` or \
         `md-<MachineDeployment>`"
    )]
    #[case::no_name(
        "md-",
        "`md-` does not name a pool, which is written `cp-<control plane>` or \
         `md-<MachineDeployment>`"
    )]
    #[case::shortened(
        "md-a_0123456789",
        "`md-a_0123456789` holds the hash of a long name, which cannot be turned back into the name"
    )]
    fn why_a_label_tells_no_pool_is_said(#[case] value: &str, #[case] expected: &str) {
        assert_eq!(value.parse::<Pool>().unwrap_err().to_string(), expected);
    }

    proptest! {
        #[test]
        fn any_name_makes_a_valid_label(name in hostile(any_name())) {
            for pool in [control_plane(&name), machine_deployment(&name)] {
                prop_assert!(is_label_value(&pool.label_value()), "{}", pool.label_value());
                prop_assert!(pool.matches(&pool.label_value()));
            }
        }

        #[test]
        fn different_pools_have_different_labels(one in any_pool(), other in any_pool()) {
            prop_assert_eq!(one == other, one.label_value() == other.label_value());
        }

        #[test]
        fn names_that_differ_only_behind_the_cut_have_different_labels(
            start in "[a-z]{60}", one in "[a-z]{1,20}", other in "[a-z]{1,20}",
        ) {
            let label = |end: &str| control_plane(&format!("{start}{end}")).label_value();
            prop_assert_eq!(one == other, label(&one) == label(&other));
        }

        #[test]
        fn a_short_name_is_not_changed_and_is_read_back(
            name in "[a-z0-9]([a-z0-9.-]{0,58}[a-z0-9])?",
        ) {
            let pool = machine_deployment(&name);
            prop_assert_eq!(pool.label_value(), format!("md-{name}"));
            prop_assert_eq!(pool.label_value().parse(), Ok(pool));
        }

        #[test]
        fn what_was_shortened_is_not_shortened_again(name in any_name()) {
            let value = machine_deployment(&name).label_value();
            let kept = value.strip_prefix(MACHINE_DEPLOYMENT).unwrap();
            prop_assert_eq!(machine_deployment(kept).label_value(), value.clone());
        }

        #[test]
        fn no_label_panics(value in hostile(any_pool().prop_map(|pool| pool.label_value()))) {
            if let Ok(pool) = value.parse::<Pool>() {
                prop_assert!(!is_label_value(&value) || pool.matches(&value));
            }
        }
    }
}
