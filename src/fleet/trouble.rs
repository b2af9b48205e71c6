//! What is wrong with a host, and what a person does about it.

use std::fmt;

use kube::ResourceExt;
use serde::Serialize;
use strum::Display;

use crate::{
    api::BareMetalHost,
    controllers::host::annotations::{DETACHED, PAUSED},
    domain::{
        host_discovery::annotations::awaits_approval,
        host_status::{ErrorType, OperationalStatus},
        remediation::UNHEALTHY_ANNOTATIONS,
    },
};

/// Why a host needs somebody, and what that one does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Trouble {
    /// How bad it is.
    pub kind: Kind,
    /// Why.
    pub reason: String,
    /// What to do about it.
    pub next_step: String,
    /// How often it has failed in a row.
    pub errors: i64,
}

/// How bad it is, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Display)]
pub enum Kind {
    /// Something was tried and failed, and is tried again.
    Failing,
    /// Another host has its MAC address or its BMC.
    Duplicate,
    /// No machine takes it.
    Cordoned,
    /// It was discovered, and somebody has to look at it.
    Unapproved,
    /// Somebody has told Ironward to leave it alone.
    Held,
}

impl Trouble {
    /// What is worst about a host, if anything is.
    #[must_use]
    pub fn of(host: &BareMetalHost) -> Option<Self> {
        failing(host)
            .or_else(|| duplicate(host))
            .or_else(|| cordoned(host))
            .or_else(|| unapproved(host))
            .or_else(|| held(host))
    }
}

/// A command about this host, as it is typed.
struct Kubectl<'a>(&'a BareMetalHost, &'a str, &'a str);

impl fmt::Display for Kubectl<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(host, verb, rest) = self;
        let (namespace, name) = (host.namespace().unwrap_or_default(), host.name_any());
        write!(f, "`kubectl -n {namespace} {verb} bmh {name}{rest}`")
    }
}

fn failing(host: &BareMetalHost) -> Option<Trouble> {
    let status = host.status.as_ref()?;
    if status.operational_status != OperationalStatus::Error && status.error_type.is_none() {
        return None;
    }
    let what = status.error_type.map_or("error".to_owned(), |it| it.to_string());
    let reason = if status.error_message.is_empty() {
        what
    } else {
        format!("{what}: {}", status.error_message)
    };
    Some(Trouble {
        kind: Kind::Failing,
        reason,
        next_step: after_failure(host, status.error_type),
        errors: status.error_count,
    })
}

fn after_failure(host: &BareMetalHost, error: Option<ErrorType>) -> String {
    let secret = host.spec.bmc.as_ref().map_or("", |bmc| bmc.credentials_name.as_str());
    match error {
        Some(ErrorType::Registration | ErrorType::ProvisionedRegistration) => format!(
            "check spec.bmc.address and the user and password in Secret {secret}; it is tried again by itself, and at once when either changes"
        ),
        Some(ErrorType::Inspection) => format!(
            "look at the machine's console: does it boot the ramdisk, and does that reach Ironic? Then {}",
            Kubectl(host, "annotate", " inspect.metal3.io=")
        ),
        Some(ErrorType::Preparation) => {
            "check spec.raid and spec.firmware against what the hardware can do; an edit has it tried again at once".to_owned()
        }
        Some(ErrorType::Provisioning) => {
            "check that spec.image.url and its checksum can be fetched from where the host is; an edit has it tried again at once".to_owned()
        }
        Some(ErrorType::PowerManagement) => {
            "check that the BMC answers and that its user may switch power; it is tried again by itself".to_owned()
        }
        Some(ErrorType::Detach) => format!(
            "Ironic did not let go of the host; it is tried again by itself. To keep it, {}",
            Kubectl(host, "annotate", &format!(" {DETACHED}-"))
        ),
        Some(ErrorType::Servicing) => {
            "undo the change of firmware or settings, or take the host out of use first".to_owned()
        }
        None => format!("{} has all that is known", Kubectl(host, "describe", "")),
    }
}

fn duplicate(host: &BareMetalHost) -> Option<Trouble> {
    let conditions = host.status.as_ref()?.conditions.as_ref()?;
    let marked = conditions.iter().find(|it| it.type_ == "Unique" && it.status == "False")?;
    Some(Trouble {
        kind: Kind::Duplicate,
        reason: marked.message.clone(),
        next_step: "delete one of the two, or correct the field in which they are alike".to_owned(),
        errors: 0,
    })
}

fn cordoned(host: &BareMetalHost) -> Option<Trouble> {
    let mark = UNHEALTHY_ANNOTATIONS.iter().find_map(|key| host.annotations().get(*key))?;
    let (namespace, name) = (host.namespace().unwrap_or_default(), host.name_any());
    let why = if mark.is_empty() { "no reason was given" } else { mark };
    Some(Trouble {
        kind: Kind::Cordoned,
        reason: format!("out of use: {why}"),
        next_step: format!("when it is mended, `ironward uncordon -n {namespace} {name}`"),
        errors: 0,
    })
}

fn unapproved(host: &BareMetalHost) -> Option<Trouble> {
    awaits_approval(host.metadata.annotations.as_ref()).then(|| Trouble {
        kind: Kind::Unapproved,
        reason: "discovered, and nobody has approved it".to_owned(),
        next_step: format!(
            "if it is yours, {}",
            Kubectl(host, "annotate", " --overwrite ironward.dev/approval=approved")
        ),
        errors: 0,
    })
}

fn held(host: &BareMetalHost) -> Option<Trouble> {
    let (key, what) = [(PAUSED, "paused"), (DETACHED, "detached")]
        .into_iter()
        .find(|(key, _)| host.annotations().contains_key(*key))?;
    let by = host.annotations().get(key).filter(|it| !it.is_empty());
    let by = by.map_or(String::new(), |it| format!(" by {it}"));
    Some(Trouble {
        kind: Kind::Held,
        reason: format!("{what}{by}: nothing is done about it"),
        next_step: format!("to go on, {}", Kubectl(host, "annotate", &format!(" {key}-"))),
        errors: 0,
    })
}
