//! All that Ironward can say of objects: the reasons of conditions and events, with the words beside them. `tests/troubleshooting.rs` keeps the
//! guide equal to it. Whoever says something new has to be [`Subject`] or [`Voice`], and then the compiler asks for its list here.

use strum::{Display, EnumIter, IntoEnumIterator};

use super::{
    autoscale, cluster, conditions,
    discovery::{self, plan::NoteReason},
    duplicate, events, host, machine, metadata, remediation, reservation,
};

/// The objects that get conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Display, EnumIter)]
pub enum Subject {
    /// A host.
    BareMetalHost,
    /// A discovery of hosts.
    BareMetalHostDiscovery,
    /// A cluster.
    Metal3Cluster,
    /// A machine.
    Metal3Machine,
    /// Metadata for nodes.
    Metal3Metadata,
    /// A remediation.
    Metal3Remediation,
    /// Cluster API's Machine.
    Machine,
    /// Whatever a UniquePolicy is about.
    #[strum(serialize = "any kind")]
    Any,
}

/// Whose events they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, EnumIter)]
pub enum Voice {
    /// Who keeps hosts.
    Hosts,
    /// Who keeps machines.
    Machines,
    /// Who keeps the reservations of hosts.
    Reservations,
    /// Who remediates.
    Remediation,
    /// Who scales pools.
    Autoscale,
    /// Who looks for keys that two objects have.
    Uniqueness,
}

impl Voice {
    /// What its events are about.
    #[must_use]
    pub fn kinds(self) -> &'static str {
        match self {
            Self::Hosts | Self::Reservations => "BareMetalHost",
            Self::Machines => "Metal3Machine",
            Self::Remediation => "Metal3Remediation and BareMetalHost",
            Self::Autoscale => "MachineDeployment and MachineSet",
            Self::Uniqueness => "any kind",
        }
    }
}

/// A reason that conditions of an object can have.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Condition {
    /// Of which object.
    pub subject: Subject,
    /// The word.
    pub reason: &'static str,
    /// The conditions that can have it.
    pub types: &'static [&'static str],
    /// The messages beside it, with a `<placeholder>` for what varies.
    pub words: &'static [&'static str],
}

/// A reason that events can have.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Event {
    /// Who tells it.
    pub voice: Voice,
    /// The word.
    pub reason: &'static str,
    /// Whether somebody should look at it.
    pub is_warning: bool,
    /// The notes, with a `<placeholder>` for what varies.
    pub words: &'static [&'static str],
}

/// The reasons of all conditions.
#[must_use]
pub fn conditions() -> Vec<Condition> {
    let of = |subject| match subject {
        Subject::BareMetalHost => answers::<host::conditions::Why>(),
        Subject::BareMetalHostDiscovery => answers::<discovery::status::Why>(),
        Subject::Metal3Cluster => answers::<cluster::Why>(),
        Subject::Metal3Machine => answers::<machine::Why>(),
        Subject::Metal3Metadata => answers::<metadata::Why>(),
        Subject::Metal3Remediation => answers::<remediation::Why>(),
        Subject::Machine => answers::<remediation::Asking>(),
        Subject::Any => answers::<duplicate::Reason>(),
    };
    Subject::iter().flat_map(of).collect()
}

/// The reasons of all events.
#[must_use]
pub fn events() -> Vec<Event> {
    let of = |voice| match voice {
        Voice::Hosts => news::<host::events::Reason>(),
        Voice::Machines => news::<machine::events::Reason>(),
        Voice::Reservations => news::<reservation::Reason>(),
        Voice::Remediation => news::<remediation::events::Reason>(),
        Voice::Autoscale => news::<autoscale::plan::Reason>(),
        Voice::Uniqueness => news::<duplicate::Reason>(),
    };
    Voice::iter().flat_map(of).collect()
}

/// What a discovery notes of servers, in `status.refusals`: the reasons, and the messages beside each.
#[must_use]
pub fn notes() -> Vec<(&'static str, &'static [&'static str])> {
    NoteReason::iter().map(|it| (it.into(), it.words())).collect()
}

fn answers<R: conditions::Reason + IntoEnumIterator>() -> Vec<Condition> {
    let listed = |it: R| Condition {
        subject: R::OF,
        reason: it.into(),
        types: it.types(),
        words: it.words(),
    };
    R::iter().map(listed).collect()
}

fn news<R: events::Reason + IntoEnumIterator>() -> Vec<Event> {
    let listed = |it: R| Event {
        voice: R::OF,
        reason: it.into(),
        is_warning: it.is_warning(),
        words: it.words(),
    };
    R::iter().map(listed).collect()
}
