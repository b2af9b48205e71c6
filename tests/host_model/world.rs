//! A cluster with one host, and a provisioner that does what it should: both survive when the controller is killed, the controller's
//! thoughts do not. The decisions are those of the product.

use ironward::{
    api::{
        BareMetalHost,
        baremetalhost::{BareMetalHostStatus, BmcDetails},
        hardware::{Cpu, HardwareDetails},
        image::Image,
    },
    controllers::host::{
        decide,
        events::Event,
        hidden::Hidden,
        machine::{ConfigDrive, Credentials, Machine},
        observed::{self, Observed, Settings},
        plan::{FINALIZER, Plan, Then},
        provisioner::{Error, Learnt, Operation, Outcome},
        secrets::BmcSecret,
        slots::{Slots, Work},
    },
    domain::{mac::Mac, provisioning_state::ProvisioningState},
};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::Value;
use std::{collections::BTreeSet, time::Duration};
use strum::IntoEnumIterator;

/// How long anything takes the provisioner, in questions.
const SLOWNESS: u32 = 2;
/// More steps than any way to the end has.
const STEPS: usize = 2_000;
/// What the controller says when nothing is to be done.
const IDLE: Duration = Duration::from_mins(10);

/// A node of the provisioner.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Node {
    pub is_manageable: bool,
    pub is_inspected: bool,
    /// The image that runs.
    pub runs: Option<String>,
    pub is_on: bool,
    /// What it is busy with, and for how long still.
    pub busy: Option<(&'static str, u32)>,
}

/// What outlives a controller.
#[derive(Debug, Clone)]
pub struct World {
    pub host: Option<BareMetalHost>,
    pub hardware_data: Option<HardwareDetails>,
    pub node: Option<Node>,
    pub now: Timestamp,
    pub secret: BmcSecret,
    pub ramdisk_network: Result<Option<Hidden<Value>>, String>,
    /// What happened, in words that tests count.
    pub log: Vec<String>,
    pub events: Vec<Event>,
    /// The addresses of machines that are not to be discovered again.
    pub forgotten: BTreeSet<Mac>,
    /// The writes and calls until the controller is killed.
    pub until_killed: Option<usize>,
    /// Whether the provisioner looks for a node by its id only, which is a mistake.
    pub is_forgetful: bool,
    /// The operations that fail, by name.
    pub failing: Vec<&'static str>,
}

/// The controller was killed.
#[derive(Debug)]
pub struct Killed;

pub fn good_secret() -> BmcSecret {
    let hidden = |text: &str| Hidden::new(text.to_owned());
    let credentials = Credentials { username: hidden("root"), password: hidden("calvin") };
    BmcSecret::Good { credentials, version: "1".into() }
}

pub fn image(name: &str) -> Image {
    Image { url: format!("http://images/{name}"), checksum: Some("0".into()), ..Image::default() }
}

pub fn host() -> BareMetalHost {
    let mut host = BareMetalHost::default();
    host.metadata.name = Some("worker-0".into());
    host.metadata.namespace = Some("lab".into());
    host.metadata.uid = Some("u-0".into());
    host.metadata.generation = Some(1);
    host.spec.online = true;
    host.spec.bmc = Some(BmcDetails {
        address: "redfish://192.0.2.1/redfish/v1/Systems/1".into(),
        credentials_name: "worker-0-bmc".into(),
        disable_certificate_verification: None,
    });
    host
}

impl World {
    pub fn with(host: BareMetalHost) -> Self {
        Self {
            host: Some(host),
            hardware_data: None,
            node: None,
            now: Timestamp::from_second(1_800_000_000).unwrap(),
            secret: good_secret(),
            ramdisk_network: Ok(None),
            log: Vec::new(),
            events: Vec::new(),
            forgotten: BTreeSet::new(),
            until_killed: None,
            is_forgetful: false,
            failing: Vec::new(),
        }
    }

    pub fn status(&self) -> BareMetalHostStatus {
        self.host.as_ref().and_then(|host| host.status.clone()).unwrap_or_default()
    }

    pub fn state(&self) -> ProvisioningState {
        observed::state(&self.status()).unwrap()
    }

    pub fn count(&self, what: &str) -> usize {
        self.log.iter().filter(|it| it.starts_with(what)).count()
    }

    /// Somebody changes the host.
    pub fn edit(&mut self, change: impl FnOnce(&mut BareMetalHost)) {
        if let Some(host) = &mut self.host {
            change(host);
            host.metadata.generation = host.metadata.generation.map(|it| it + 1);
        }
    }

    pub fn delete(&mut self) {
        let now = self.now;
        self.edit(|host| host.metadata.deletion_timestamp = Some(Time(now)));
        self.collect();
    }

    /// What the API server does with a deleted object that nothing holds on to.
    fn collect(&mut self) {
        let is_free = |host: &BareMetalHost| {
            host.metadata.deletion_timestamp.is_some()
                && host.metadata.finalizers.iter().flatten().next().is_none()
        };
        if self.host.as_ref().is_some_and(is_free) {
            self.host = None;
        }
    }

    /// Runs the controller until there is nothing to do, starting it again each time it is killed.
    pub fn settle(&mut self) {
        for _ in 0..STEPS {
            match self.pass() {
                Ok(None) => return,
                Ok(Some(pause)) => {
                    self.now = self.now.checked_add(pause).unwrap();
                }
                Err(Killed) => self.until_killed = None,
            }
        }
        panic!("the controller comes to no end: {:#?}", self.host);
    }

    /// Runs it for a while, as something that fails is tried for ever.
    pub fn keep_trying(&mut self, passes: usize) {
        for _ in 0..passes {
            let pause = self.pass().unwrap().unwrap_or(IDLE);
            self.now = self.now.checked_add(pause).unwrap();
        }
    }

    /// One pass: how long to wait for the next, or that there is nothing to do.
    pub fn pass(&mut self) -> Result<Option<Duration>, Killed> {
        let mut done = Vec::new();
        for _ in 0..STEPS {
            let Some(seen) = self.observe(&done) else { return Ok(None) };
            let plan = decide(&seen);
            assert_eq!(plan, decide(&seen), "the same is decided twice");
            self.check_transition(&plan);
            self.write(&plan)?;
            match plan.then {
                Then::Await => return Ok(None),
                Then::After(pause) if pause >= IDLE && self.is_still() => return Ok(None),
                Then::After(pause) => return Ok(Some(pause)),
                Then::Again => done.clear(),
                Then::Guard => {
                    self.effect()?;
                    self.edit_metadata(|host| {
                        host.metadata.finalizers.get_or_insert_default().push(FINALIZER.into());
                    });
                    done.clear();
                }
                Then::Release => {
                    self.effect()?;
                    self.edit_metadata(|host| {
                        host.metadata
                            .finalizers
                            .get_or_insert_default()
                            .retain(|it| it != FINALIZER);
                    });
                    self.collect();
                    return Ok(None);
                }
                Then::Call(operation) => {
                    self.effect()?;
                    let machine = Machine::of(&seen_host(self), &self.secret, None);
                    let answer = self.perform(&machine, &operation);
                    self.effect()?;
                    done.push((operation, answer));
                }
            }
        }
        panic!("a pass comes to no end: {:#?}", self.host);
    }

    /// Nothing is to be waited for after an idle pass unless an error is.
    fn is_still(&self) -> bool {
        self.status().error_type.is_none()
    }

    pub fn observe(&self, done: &[(Operation, Result<Outcome, Error>)]) -> Option<Observed> {
        let host = self.host.clone()?;
        let mut slots = Slots::new(1);
        slots.set("u-0", None);
        let room = Work::iter().filter(|work| slots.has_room("u-0", *work, self.now)).collect();
        Some(Observed {
            host,
            now: self.now,
            secret: self.secret.clone(),
            hardware_data: self.hardware_data.clone(),
            config_drive: Ok(ConfigDrive::default()),
            ramdisk_network: self.ramdisk_network.clone(),
            image_pull_secret: None,
            duplicate_of: None,
            room,
            done: done.to_vec(),
            settings: Settings::default(),
        })
    }

    fn check_transition(&self, plan: &Plan) {
        let Some(status) = &plan.status else { return };
        let (before, after) = (self.state(), observed::state(status).unwrap());
        // A restored status is not a step of ours.
        let is_restored = plan.remove_annotations.iter().any(|it| it.ends_with("/status"));
        let is_allowed = before == after || after.may_follow(before) || is_restored;
        assert!(is_allowed, "{before} -> {after} is not in the table");
    }

    fn write(&mut self, plan: &Plan) -> Result<(), Killed> {
        if let Some(details) = &plan.hardware_data {
            self.effect()?;
            self.hardware_data = Some((**details).clone());
        }
        if let Some(status) = &plan.status {
            self.effect()?;
            self.edit_metadata(|host| host.status = Some((**status).clone()));
        }
        if plan.architecture.is_some() || !plan.remove_annotations.is_empty() {
            self.effect()?;
            self.edit_metadata(|host| {
                if plan.architecture.is_some() {
                    host.spec.architecture.clone_from(&plan.architecture);
                }
                let annotations = host.metadata.annotations.get_or_insert_default();
                annotations.retain(|key, _| !plan.remove_annotations.contains(key));
            });
        }
        if !plan.forget.is_empty() {
            self.effect()?;
            self.forgotten.clone_from(&plan.forget);
        }
        self.events.extend(plan.events.iter().cloned());
        Ok(())
    }

    fn edit_metadata(&mut self, change: impl FnOnce(&mut BareMetalHost)) {
        change(self.host.as_mut().unwrap());
    }

    fn effect(&mut self) -> Result<(), Killed> {
        match &mut self.until_killed {
            None => Ok(()),
            Some(0) => Err(Killed),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
        }
    }

    /// What a provisioner makes of an operation: it goes on from where the node is.
    #[allow(clippy::too_many_lines, reason = "one arm an operation: a table is read at one place")]
    fn perform(&mut self, machine: &Machine, operation: &Operation) -> Result<Outcome, Error> {
        let done = |learnt| Ok(Outcome::Done(learnt));
        let nothing = Learnt::default;
        let name: &str = operation.into();
        if self.failing.contains(&name) {
            self.log.push(format!("failed {operation:?}"));
            return Ok(Outcome::Failed { message: "the machine is on fire".into() });
        }
        if let Operation::Register { .. } = operation {
            let is_lost =
                self.is_forgetful && machine.provisioning_id.is_none() && !self.is_at("verify");
            if (self.node.is_none() || is_lost) && machine.bmc.is_some() {
                self.log.push("node created".into());
                self.node = Some(Node::default());
            }
            if self.node.is_none() {
                return Ok(Outcome::Failed { message: "nobody discovered it".into() });
            }
            if self.node.as_ref().is_some_and(|node| !node.is_manageable) && self.is_busy("verify")
            {
                return moving();
            }
            let node = self.node.as_mut().unwrap();
            node.is_manageable = true;
            return done(Learnt { provisioning_id: Some("node-0".into()), ..nothing() });
        }
        if let Operation::Delete | Operation::Detach { .. } = operation {
            if self.node.take().is_some() {
                self.log.push("node deleted".into());
            }
            return done(nothing());
        }
        if self.node.is_none() {
            return Err(Error::NotRegistered);
        }
        let details = || HardwareDetails {
            hostname: Some("found".into()),
            cpu: Some(Cpu { arch: Some("aarch64".into()), ..Cpu::default() }),
            ..Default::default()
        };
        match operation {
            Operation::Register { .. } | Operation::Delete | Operation::Detach { .. } => {
                unreachable!()
            }
            Operation::Import => done(Learnt {
                hardware: Some(Box::new(details())),
                provisioning_id: Some("node-0".into()),
                ..nothing()
            }),
            Operation::Inspect { refresh, .. } => {
                let is_needed = *refresh || !self.node.as_ref().unwrap().is_inspected;
                if (is_needed || self.is_at("inspect")) && self.is_busy("inspect") {
                    return moving();
                }
                self.node.as_mut().unwrap().is_inspected = true;
                done(Learnt { hardware: Some(Box::new(details())), ..nothing() })
            }
            Operation::Prepare { changed, .. } => {
                if (*changed || self.is_at("prepare")) && self.is_busy("prepare") {
                    return moving();
                }
                done(nothing())
            }
            Operation::Adopt { .. } => {
                let node = self.node.as_mut().unwrap();
                if node.runs.is_none() {
                    self.log.push("adopted".into());
                    let url = machine.image.as_ref().map(|it| it.url.clone());
                    node.runs = Some(url.unwrap_or_default());
                }
                done(nothing())
            }
            Operation::Provision(what) => {
                let url = what.image.as_ref().map(|it| it.url.clone()).unwrap_or_default();
                if self.node.as_ref().unwrap().runs.as_ref() == Some(&url) {
                    return done(Learnt { powered_on: Some(true), ..nothing() });
                }
                if self.is_busy("deploy") {
                    return moving();
                }
                self.log.push(format!("written {url}"));
                let node = self.node.as_mut().unwrap();
                (node.runs, node.is_on) = (Some(url), true);
                done(Learnt { powered_on: Some(true), ..nothing() })
            }
            Operation::Deprovision { .. } => {
                let node = self.node.as_ref().unwrap();
                if node.runs.is_none() && !self.is_at("clean") && !self.is_at("deploy") {
                    return done(nothing());
                }
                if self.is_at("deploy") {
                    self.node.as_mut().unwrap().busy = None;
                }
                if self.is_busy("clean") {
                    return moving();
                }
                self.log.push("cleaned".into());
                self.node.as_mut().unwrap().runs = None;
                done(nothing())
            }
            Operation::Observe => {
                done(Learnt { powered_on: Some(self.node.as_ref().unwrap().is_on), ..nothing() })
            }
            Operation::PowerOn { .. } => self.switch(true, "switched on".into()),
            Operation::PowerOff { mode, .. } => {
                self.switch(false, format!("switched off {mode:?}"))
            }
            Operation::Reboot { .. } => {
                self.log.push("rebooted".into());
                done(nothing())
            }
        }
    }

    #[allow(clippy::unnecessary_wraps, reason = "it is an answer like the others")]
    fn switch(&mut self, on: bool, what: String) -> Result<Outcome, Error> {
        let node = self.node.as_mut().unwrap();
        if node.is_on != on {
            node.is_on = on;
            self.log.push(what);
        }
        Ok(Outcome::Done(Learnt { powered_on: Some(on), ..Learnt::default() }))
    }

    fn is_at(&self, what: &'static str) -> bool {
        self.node.as_ref().is_some_and(|node| node.busy.is_some_and(|(with, _)| with == what))
    }

    /// Begins what is not begun, and says whether it still goes on.
    fn is_busy(&mut self, what: &'static str) -> bool {
        let node = self.node.as_mut().unwrap();
        let left = match node.busy {
            Some((with, left)) if with == what => left,
            _ => SLOWNESS,
        };
        node.busy = left.checked_sub(1).map(|left| (what, left));
        node.busy.is_some()
    }
}

fn seen_host(world: &World) -> BareMetalHost {
    world.host.clone().unwrap()
}

#[allow(clippy::unnecessary_wraps, reason = "it is an answer like the others")]
fn moving() -> Result<Outcome, Error> {
    Ok(Outcome::Moving { poll: Duration::from_secs(10) })
}
