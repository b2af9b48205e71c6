//! What Ironic's answers are to a host: its own fault, ours, or nobody's.

use super::snapshot::POLL;
use crate::{
    controllers::host::{
        machine::{BmcAccess, Identity, Machine},
        provisioner::{Error, Health, Outcome},
    },
    ironic::error::{self, Kind},
};

/// What was asked for has begun, or why not: it is the machine's fault where Ironic finds what it was
/// told wrong, and else nobody's.
pub(super) fn moving(asked: Result<(), error::Error>) -> Result<Outcome, Error> {
    match asked {
        Ok(()) => Ok(Outcome::Moving { poll: POLL }),
        Err(error) if is_late(&error) => Err(Error::Busy),
        Err(error) => match error.kind() {
            Some(Kind::Invalid | Kind::Conflict) => {
                Ok(Outcome::Failed { message: error.to_string() })
            }
            Some(
                Kind::Busy
                | Kind::Unauthorized
                | Kind::Forbidden
                | Kind::NotFound
                | Kind::Version
                | Kind::Broken,
            )
            | None => Err(error.into()),
        },
    }
}

/// Whether somebody else was faster: the node is no longer in the state that it was just read in.
fn is_late(error: &error::Error) -> bool {
    error.kind() == Some(Kind::Invalid)
        && error.to_string().contains("can not be performed on node")
}

impl From<error::Error> for Error {
    fn from(error: error::Error) -> Self {
        match error.kind() {
            Some(Kind::Busy) => Self::Busy,
            Some(Kind::NotFound) => Self::NotRegistered,
            Some(Kind::Unauthorized | Kind::Forbidden | Kind::Version) => {
                Self::Unreachable(error.to_string())
            }
            Some(Kind::Conflict | Kind::Invalid | Kind::Broken) => {
                Self::Unexpected(error.to_string())
            }
            None if matches!(error, error::Error::Unreadable { .. }) => {
                Self::Unexpected(error.to_string())
            }
            None => Self::Unreachable(error.to_string()),
        }
    }
}

pub(super) fn no_bmc() -> Outcome {
    Outcome::Failed { message: "the host has no BMC address to register it with".to_owned() }
}

pub(super) fn health(word: &str) -> Option<Health> {
    match word.to_ascii_lowercase().as_str() {
        "ok" => Some(Health::Ok),
        "warning" => Some(Health::Warning),
        "critical" => Some(Health::Critical),
        _ => None,
    }
}

pub(super) fn secrets(machine: &Machine) -> Vec<String> {
    let password = |bmc: &BmcAccess| bmc.credentials.password.reveal().clone();
    machine.bmc.iter().map(password).collect()
}

pub(super) fn shown(host: &Identity) -> String {
    format!("{}/{}", host.namespace, host.name)
}
