//! What people are told: one condition, Ready, with all that stands in the way of it.

use std::fmt;

use jiff::Timestamp;
use strum::{EnumIter, IntoStaticStr};

use crate::{
    api::metal3metadata::Metal3MetadataStatus,
    controllers::{
        conditions::{self, Answer, Reason},
        said::Subject,
    },
    domain::words,
};

const READY: &str = "Ready";
/// So many problems are told; a thousand machines mostly have the same.
const TOLD: usize = 10;

/// What stands in the way of a Secret, the gravest first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Problem {
    /// It is deleted, and machines have metadata of it.
    InUse { count: usize, first: String },
    /// Two machines have one index in use.
    Duplicate { machine: String, index: u32, other: String },
    /// A template cannot be rendered.
    Fails { key: String, machine: String, why: String },
    /// No Secret can have that name.
    NoName { machine: String, why: String },
    /// Something else has the name.
    Taken { machine: String, secret: String },
    /// It cannot be deleted.
    Lingers { secret: String },
    /// Another Secret has its index, and is on its way out.
    Contested { machine: String, secret: String },
    /// Its machine has not taken a host yet.
    WaitsForHost { machine: String },
    /// Its Machine is not there yet.
    WaitsForMachine { machine: String },
    /// It, or its Cluster, is to be left alone.
    Paused { machine: String },
}

/// Why it is ready, or not: the gravest problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumIter, IntoStaticStr)]
pub enum Why {
    /// All Secrets are as they are to be.
    Rendered,
    /// It is deleted, and machines have metadata of it.
    Deleting,
    /// Two machines have one index in use.
    DuplicateIndex,
    /// A template cannot be rendered.
    RenderingFailed,
    /// No Secret can have that name.
    SecretNotPossible,
    /// Something else has the name.
    SecretNameTaken,
    /// It cannot be deleted.
    SecretNotDeleted,
    /// Another Secret has its index, and is on its way out.
    Settling,
    /// Its machine has not taken a host yet.
    WaitingForHost,
    /// Its Machine is not there yet.
    WaitingForMachine,
    /// It, or its Cluster, is to be left alone.
    Paused,
}

impl Reason for Why {
    const OF: Subject = Subject::Metal3Metadata;

    fn types(self) -> &'static [&'static str] {
        &[READY]
    }

    fn words(self) -> &'static [&'static str] {
        match self {
            Self::Rendered => {
                &["1 Secret is as the templates say", "<number> Secrets are as the templates say"]
            }
            Self::Deleting => &[
                "is deleted when the Metal3Machines are gone that have its Secrets: <number>, <secret> among them",
            ],
            Self::DuplicateIndex => &[
                "Metal3Machine <machine> has index <index> in use, which is that of <other>: delete one of the two machines",
            ],
            Self::RenderingFailed => {
                &["<key> of Metal3Machine <machine>: <why>; its Secret stays as it is"]
            }
            Self::SecretNotPossible => &["Metal3Machine <machine>: <why>"],
            Self::SecretNameTaken => &[
                "Metal3Machine <machine>: there is a Secret <secret> that is not its own: delete it, or name it in the machine to have it used as it is",
            ],
            Self::SecretNotDeleted => {
                &["Secret <secret> is deleted, and stays because of a finalizer that is not ours"]
            }
            Self::Settling => &[
                "Metal3Machine <machine> gets Secret <secret> when no other has its index any more",
            ],
            Self::WaitingForHost => {
                &["Metal3Machine <machine> has no host yet, of which the templates speak"]
            }
            Self::WaitingForMachine => {
                &["Metal3Machine <machine> belongs to no Machine yet, of which the templates speak"]
            }
            Self::Paused => &[
                "Metal3Machine <machine> or its Cluster is paused: nothing is written for it until that ends",
            ],
        }
    }

    /// All problems are told in one message, each in the words of its own reason.
    fn says(self, message: &str) -> bool {
        self != Self::Rendered || words::fit_any(self.words(), message)
    }
}

impl Problem {
    fn why(&self) -> Why {
        match self {
            Self::InUse { .. } => Why::Deleting,
            Self::Duplicate { .. } => Why::DuplicateIndex,
            Self::Fails { .. } => Why::RenderingFailed,
            Self::NoName { .. } => Why::SecretNotPossible,
            Self::Taken { .. } => Why::SecretNameTaken,
            Self::Lingers { .. } => Why::SecretNotDeleted,
            Self::Contested { .. } => Why::Settling,
            Self::WaitsForHost { .. } => Why::WaitingForHost,
            Self::WaitsForMachine { .. } => Why::WaitingForMachine,
            Self::Paused { .. } => Why::Paused,
        }
    }

    /// Whether nobody tells us when it is over.
    pub fn ends_unheard(&self) -> bool {
        match self {
            Self::Taken { .. } | Self::Paused { .. } => true,
            Self::InUse { .. }
            | Self::Duplicate { .. }
            | Self::Fails { .. }
            | Self::NoName { .. }
            | Self::Lingers { .. }
            | Self::Contested { .. }
            | Self::WaitsForHost { .. }
            | Self::WaitsForMachine { .. } => false,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InUse { count, first } => write!(
                f,
                "is deleted when the Metal3Machines are gone that have its Secrets: {count}, {first} among them"
            ),
            Self::Duplicate { machine, index, other } => write!(
                f,
                "Metal3Machine {machine} has index {index} in use, which is that of {other}: delete one of the two machines"
            ),
            Self::Fails { key, machine, why } => {
                write!(f, "{key} of Metal3Machine {machine}: {why}; its Secret stays as it is")
            }
            Self::NoName { machine, why } => write!(f, "Metal3Machine {machine}: {why}"),
            Self::Taken { machine, secret } => write!(
                f,
                "Metal3Machine {machine}: there is a Secret {secret} that is not its own: delete it, or name it in the machine to have it used as it is"
            ),
            Self::Lingers { secret } => write!(
                f,
                "Secret {secret} is deleted, and stays because of a finalizer that is not ours"
            ),
            Self::Contested { machine, secret } => write!(
                f,
                "Metal3Machine {machine} gets Secret {secret} when no other has its index any more"
            ),
            Self::WaitsForHost { machine } => {
                write!(f, "Metal3Machine {machine} has no host yet, of which the templates speak")
            }
            Self::WaitsForMachine { machine } => write!(
                f,
                "Metal3Machine {machine} belongs to no Machine yet, of which the templates speak"
            ),
            Self::Paused { machine } => write!(
                f,
                "Metal3Machine {machine} or its Cluster is paused: nothing is written for it until that ends"
            ),
        }
    }
}

/// Sets Ready.
pub(super) fn set(
    status: &mut Metal3MetadataStatus,
    problems: &mut [Problem],
    generation: Option<i64>,
    now: Timestamp,
) {
    problems.sort();
    let answer = match problems.first() {
        None => {
            let count = status.secrets.as_ref().map_or(0, std::collections::BTreeMap::len);
            let noun = if count == 1 { "Secret is" } else { "Secrets are" };
            let message = format!("{count} {noun} as the templates say");
            Answer { message, ..Answer::yes(Why::Rendered) }
        }
        Some(worst) => Answer::no(worst.why(), told(problems)),
    };
    conditions::set(&mut status.conditions, READY, &answer, generation, now);
}

fn told(problems: &[Problem]) -> String {
    debug_assert!(
        problems.iter().all(|it| words::fit_any(it.why().words(), &it.to_string())),
        "not listed: {problems:?}"
    );
    let mut texts: Vec<_> = problems.iter().take(TOLD).map(ToString::to_string).collect();
    let more = problems.len().saturating_sub(TOLD);
    if more > 0 {
        texts.push(format!("and {more} more"));
    }
    let text = texts.join("; ");
    // The API server takes so many characters.
    text.chars().take(32_000).collect()
}
