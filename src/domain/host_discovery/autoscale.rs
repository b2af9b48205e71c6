//! `Bounds`: how many machines a pool may have whose replicas follow the number of hosts, as its annotation says.

use serde::Deserialize;
use thiserror::Error;

use crate::domain::text::Excerpt;

/// The annotation of a MachineDeployment or MachineSet whose replicas are to follow the number of hosts that it can have.
pub const AUTOSCALE: &str = "metal3.io/autoscale-to-hosts";

/// How many machines there may be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Bounds {
    /// So many at least, even if they wait for hosts.
    pub min: u32,
    /// So many at most, however many hosts there are.
    pub max: Option<u32>,
}

/// What is wrong with an annotation.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BoundsError {
    /// It is neither nothing nor bounds.
    #[error(
        "{AUTOSCALE} is {0}: write \"true\", or bounds such as {{\"min\": 1, \"max\": 10}}; \"false\" is off"
    )]
    Unreadable(String),
    /// Nothing lies between them.
    #[error("{AUTOSCALE} has min {min} above max {max}")]
    Empty {
        /// The lower one.
        min: u32,
        /// The upper one.
        max: u32,
    },
}

impl Bounds {
    /// Reads the annotation; none if it says that it is off. What cannot be read is not taken for no bounds: each machine more writes to the disks of
    /// a host.
    pub fn read(annotation: &str) -> Result<Option<Self>, BoundsError> {
        match annotation.trim() {
            "" | "true" => Ok(Some(Self::default())),
            "false" => Ok(None),
            text => {
                let bounds: Self = serde_json::from_str(text)
                    .map_err(|_| BoundsError::Unreadable(Excerpt::from(annotation).to_string()))?;
                match bounds.max {
                    Some(max) if max < bounds.min => {
                        Err(BoundsError::Empty { min: bounds.min, max })
                    }
                    Some(_) | None => Ok(Some(bounds)),
                }
            }
        }
    }

    /// How many machines there are to be, of the hosts that there are.
    #[must_use]
    pub fn hold(self, hosts: u32) -> u32 {
        hosts.clamp(self.min, self.max.unwrap_or(u32::MAX).max(self.min))
    }

    /// Whether there may be one more.
    #[must_use]
    pub fn has_room(self, hosts: u32) -> bool {
        self.max.is_none_or(|max| hosts < max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("", Some((0, None)))]
    #[case("true", Some((0, None)))]
    #[case(r#"{"min": 2}"#, Some((2, None)))]
    #[case(r#" {"min": 1, "max": 3} "#, Some((1, Some(3))))]
    #[case("false", None)]
    fn it_is_read(#[case] text: &str, #[case] expected: Option<(u32, Option<u32>)>) {
        let expected = expected.map(|(min, max)| Bounds { min, max });
        assert_eq!(Bounds::read(text), Ok(expected));
    }

    #[rstest]
    #[case("yes, please")]
    #[case(r#"{"mni": 1}"#)]
    #[case(r#"{"min": -1}"#)]
    #[case(r#"{"min": 3, "max": 2}"#)]
    fn a_mistake_is_not_taken_for_no_bounds(#[case] text: &str) {
        let error = Bounds::read(text).unwrap_err().to_string();
        assert!(error.starts_with(AUTOSCALE), "{error}");
    }

    #[rstest]
    #[case(0, 1, false)]
    #[case(2, 2, true)]
    #[case(9, 3, false)]
    fn it_holds(#[case] hosts: u32, #[case] expected: u32, #[case] has_room: bool) {
        let bounds = Bounds { min: 1, max: Some(3) };
        assert_eq!(bounds.hold(hosts), expected);
        assert_eq!(bounds.has_room(hosts), has_room || hosts == 0);
        assert_eq!(Bounds::default().hold(hosts), hosts);
    }
}
