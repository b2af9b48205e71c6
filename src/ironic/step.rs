//! `Step`: what is done next to a node, one request at a time.

use serde_json::{Map, Value, json};

use super::{patch::Patch, power::PowerTarget, raid::CleanStep};

/// What is done next.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Nothing: all is as it should be.
    Done,
    /// Nothing: Ironic is at work, or must first be.
    Wait,
    /// Nothing now: somebody else has to act first, such as a person who holds the node.
    Stuck {
        /// Who and why, for people.
        reason: String,
    },
    /// Nothing: it went wrong.
    Failed {
        /// What went wrong; the reason is the node's to tell.
        what: &'static str,
        /// The reason, if it is not the node's.
        reason: Option<String>,
    },
    /// `PATCH` the node.
    Patch(Patch),
    /// `PUT` its RAID configuration.
    Raid(Map<String, Value>),
    /// Ask for another provision state.
    Provision(Verb),
    /// Ask for another power state.
    Power(PowerTarget),
    /// Tell Ironic to leave the node alone, so that it can be deleted as it is.
    SetMaintenance,
    /// Tell Ironic to see to the node again.
    ClearMaintenance,
    /// Delete the node. Nothing happens to the machine.
    Delete,
}

/// A provision state that can be asked for, and what goes with it.
#[derive(Clone, PartialEq)]
#[allow(missing_docs, reason = "Ironic's own words")]
pub enum Verb {
    Manage,
    Inspect,
    Provide,
    Clean { steps: Vec<CleanStep> },
    Adopt,
    Active { config_drive: Option<Value>, deploy_steps: Option<Value> },
    Deleted,
    Abort,
}

impl std::fmt::Debug for Verb {
    /// Without the config drive, which is full of secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.target())
    }
}

impl Verb {
    /// Ironic's word for it.
    #[must_use]
    pub const fn target(&self) -> &'static str {
        match self {
            Self::Manage => "manage",
            Self::Inspect => "inspect",
            Self::Provide => "provide",
            Self::Clean { .. } => "clean",
            Self::Adopt => "adopt",
            Self::Active { .. } => "active",
            Self::Deleted => "deleted",
            Self::Abort => "abort",
        }
    }

    /// Whether Ironic may clean the disks because of it, as `automated_clean` says, now or at the end
    /// of what it begins.
    #[must_use]
    pub const fn may_clean(&self) -> bool {
        matches!(self, Self::Provide | Self::Active { .. } | Self::Deleted)
    }

    /// The body of `PUT /v1/nodes/{node}/states/provision`.
    #[must_use]
    pub fn request(&self) -> Value {
        let mut request = json!({"target": self.target()});
        let mut put = |name: &str, value: Value| {
            if let Some(fields) = request.as_object_mut() {
                fields.insert(name.into(), value);
            }
        };
        match self {
            Self::Clean { steps } => put("clean_steps", json!(steps)),
            Self::Active { config_drive, deploy_steps } => {
                let parts = [("configdrive", config_drive), ("deploy_steps", deploy_steps)];
                for (name, part) in parts {
                    part.iter().cloned().for_each(|part| put(name, part));
                }
            }
            Self::Manage
            | Self::Inspect
            | Self::Provide
            | Self::Adopt
            | Self::Deleted
            | Self::Abort => {}
        }
        request
    }
}

impl Step {
    /// A failure whose reason the node tells.
    #[must_use]
    pub const fn failed(what: &'static str) -> Self {
        Self::Failed { what, reason: None }
    }

    /// Whether something is asked of Ironic.
    #[must_use]
    pub const fn is_request(&self) -> bool {
        match self {
            Self::Done | Self::Wait | Self::Stuck { .. } | Self::Failed { .. } => false,
            Self::Patch(_)
            | Self::Raid(_)
            | Self::Provision(_)
            | Self::Power(_)
            | Self::SetMaintenance
            | Self::ClearMaintenance
            | Self::Delete => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_what_goes_with_it() {
        assert_eq!(Verb::Manage.request(), json!({"target": "manage"}));
        let active = Verb::Active {
            config_drive: Some(json!({"user_data": "secret"})),
            deploy_steps: Some(json!([])),
        };
        assert_eq!(
            active.request(),
            json!({"target": "active", "configdrive": {"user_data": "secret"}, "deploy_steps": []})
        );
        assert_eq!(format!("{active:?}"), "active");
        let steps = crate::ironic::raid::clean_steps(Some(&crate::api::raid::Raid {
            hardware_raid_volumes: Some(Vec::new()),
            ..Default::default()
        }));
        assert_eq!(
            Verb::Clean { steps }.request(),
            json!({"target": "clean", "clean_steps": [{"interface": "raid", "step": "delete_configuration"}]})
        );
    }
}
