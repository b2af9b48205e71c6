//! `Provisioner`: who registers, inspects, writes images and switches power. Ironic does it for real;
//! the demo does it by the clock.
//!
//! Every operation may be called again at any time, with the same or with newer facts: a controller
//! that was killed does not know what it had begun. So an operation looks at how far things are and goes
//! on from there. It begins nothing that is under way, and does nothing again that is done.

use std::time::Duration;

use futures::{future::BoxFuture, stream::BoxStream};
use strum::IntoStaticStr;
use thiserror::Error;

use super::{
    hidden::Hidden,
    machine::{ConfigDrive, Identity, Machine},
};
use crate::api::{
    hardware::HardwareDetails,
    image::{CustomDeploy, Image},
};

/// Does things to machines.
pub trait Provisioner: Send + Sync {
    /// Does one thing, as far as it goes without waiting: what takes longer is begun, and looked at when
    /// the same is called again.
    fn perform<'a>(
        &'a self,
        machine: &'a Machine,
        operation: &'a Operation,
    ) -> BoxFuture<'a, Result<Outcome, Error>>;

    /// The hosts with which something has happened that the controller should look at. It looks at each
    /// now and then in any case, so that none need be told twice.
    fn changes(&self) -> BoxStream<'static, Identity>;
}

/// What can be done to a machine. The words are those of baremetal-operator's interface.
#[derive(Debug, Clone, PartialEq, IntoStaticStr)]
pub enum Operation {
    /// Sees to it that there is a node for this machine, and that it is as the machine is described:
    /// BMC, driver, boot MAC, boot mode, architecture, `automated_clean`, `disable_power_off`, name. Called at
    /// the beginning of every pass, so where all is well already it costs nothing.
    ///
    /// A node is found by the provisioning id, by name, and by boot MAC if it has no name yet. Done when the BMC
    /// was reached with these credentials; learns the id.
    ///
    /// While Ironic works on the node (inspecting, cleaning, deploying) only what can be changed is; that is done too.
    Register {
        /// The Secret has changed since they were last seen to be good: try them now.
        credentials_changed: bool,
        /// The last try failed: try again, even if the node says that it failed.
        retry: bool,
    },
    /// Looks for what Ironic learned when it discovered the machine. Begins no inspection. Done when there are
    /// details; learns them and the id. Moving while there are none.
    Import,
    /// Finds out about its hardware. Done at once if that is known to the node and no refresh is asked for; learns it.
    Inspect {
        /// Inspect even if something is known.
        refresh: bool,
        /// The last try failed: begin again.
        retry: bool,
        /// Somebody wants it rebooted: abort what is under way and begin again.
        restart: bool,
    },
    /// Builds RAID volumes, if they are not what they should be.
    Prepare {
        /// What is to be built is other than what was built last, or nothing was: build it even if the
        /// node looks prepared.
        changed: bool,
        /// The last try failed: begin again.
        retry: bool,
    },
    /// Takes over what runs on the machine (`machine.image` tells it) without touching it, if the node does not
    /// know of it: Ironic lost its memory, or the machine is externally provisioned. Done at once if the
    /// node is active.
    Adopt {
        /// The last try failed: begin again.
        retry: bool,
    },
    /// Writes an image and starts it. Done when it runs: that is when the node is active with this host's uid as its instance.
    Provision(Box<Provision>),
    /// Takes the image away, and cleans disks as `machine.automated_cleaning` says, which is compared with the node's
    /// right before it begins. Done when the node is available, or when there is nothing to take away.
    Deprovision {
        /// The last try failed: begin again.
        retry: bool,
    },
    /// Reads whether it is on. Done at once; learns it, and the node's health where Ironic knows it.
    Observe,
    /// Switches it on. Done when it is on.
    PowerOn {
        /// Even if the node is in a state in which power is not switched, because somebody forced a reboot.
        force: bool,
    },
    /// Switches it off. Done when it is off.
    PowerOff {
        /// How.
        mode: RebootMode,
        /// Even if the node is in a state in which power is not switched: what it does is aborted. And even if it is said to be off.
        force: bool,
    },
    /// For what must not be switched off: off and on again in one go. Done when it has begun.
    Reboot {
        /// How.
        mode: RebootMode,
    },
    /// Forgets the machine, whatever it does, without changing what is on it. Done when there is no node; so if there was none. The node is that of the id or the
    /// name, never of the MAC: a host that was refused because another has its MAC is deleted by this, too.
    Delete,
    /// The same for a machine that somebody wants to hold on to.
    Detach {
        /// Abort what is under way.
        force: bool,
    },
}

impl Operation {
    /// Whether it changes what is on a machine, or who may use it, so that it is done only by what is wanted at that very moment.
    #[must_use]
    pub fn is_grave(&self) -> bool {
        match self {
            Self::Prepare { .. }
            | Self::Provision(_)
            | Self::Deprovision { .. }
            | Self::PowerOff { .. }
            | Self::Delete
            | Self::Detach { .. } => true,
            Self::Register { .. }
            | Self::Import
            | Self::Inspect { .. }
            | Self::Adopt { .. }
            | Self::Observe
            | Self::PowerOn { .. }
            | Self::Reboot { .. } => false,
        }
    }
}

/// An image, and how it is written.
#[derive(Debug, Clone, PartialEq)]
pub struct Provision {
    /// The image; a live ISO is told by its format. With a deploy step of one's own there need not be one.
    pub image: Option<Image>,
    /// A deploy step of one's own.
    pub custom_deploy: Option<CustomDeploy>,
    /// What it finds at its first boot.
    pub config_drive: ConfigDrive,
    /// A Docker config with credentials for an `oci://` image.
    pub image_pull_secret: Option<Hidden<String>>,
    /// Somebody wants it rebooted: abort a deployment that waits, and begin again.
    pub restart: bool,
}

/// How power goes off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RebootMode {
    /// The system is asked to shut down, and cut off if it does not in time or cannot be asked.
    #[default]
    Soft,
    /// The power is cut.
    Hard,
}

/// How far an operation is.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// Under way. Call again after a while.
    Moving {
        /// When to look again, unless [`Provisioner::changes`] says it before.
        poll: Duration,
    },
    /// As it should be.
    Done(Learnt),
    /// The machine, its BMC or what it was given is at fault. People see it and it is counted; it is tried again later and later.
    /// The operation and the host's state tell which of Metal3's error types it is.
    Failed {
        /// What happened, for people. No secrets.
        message: String,
    },
}

/// What was learnt. What is none is not known, which changes nothing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Learnt {
    /// The node's id, which becomes `status.provisioning.ID`.
    pub provisioning_id: Option<String>,
    /// Whether it is on.
    pub powered_on: Option<bool>,
    /// Its parts.
    pub hardware: Option<Box<HardwareDetails>>,
    /// How it is, in Ironic's word (`OK`, `Warning`, `Critical`).
    pub health: Option<Health>,
}

/// How a machine is, by its BMC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Health {
    /// All is well.
    Ok,
    /// Something is to be looked at.
    Warning,
    /// Something is broken.
    Critical,
}

/// Why an operation could not be tried: our trouble, not the machine's. Not counted, not shown as the host's error, tried again.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Error {
    /// Somebody else holds the node for a moment.
    #[error("the node is busy")]
    Busy,
    /// The provisioner cannot be spoken to.
    #[error("the provisioner cannot be reached: {0}")]
    Unreachable(String),
    /// There is no node, or not this one, for an operation that needs it: register first.
    #[error("there is no node for this host")]
    NotRegistered,
    /// An answer that makes no sense. It is logged, and tried again.
    #[error("the provisioner answered what was not expected: {0}")]
    Unexpected(String),
}

impl Error {
    /// When to try again.
    #[must_use]
    pub fn retry_after(&self) -> Duration {
        match self {
            Self::Busy | Self::NotRegistered => Duration::from_secs(5),
            Self::Unreachable(_) | Self::Unexpected(_) => Duration::from_secs(30),
        }
    }
}
