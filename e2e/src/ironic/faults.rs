//! Things that go wrong because a test says so: in Ironic's driver, in the BMC, in the ramdisk.
//!
//! They are in a file that the Python side (`e2e/ironic/faults.py`) reads at every turn, so that a
//! fault holds from the moment it is injected to the moment it is cleared.

use anyhow::{Context, Result};
use serde::Serialize;
use std::{
    collections::BTreeMap,
    fs,
    path::PathBuf,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// Something that goes wrong: for everybody and always, unless it says otherwise.
#[derive(Debug, Clone, Serialize)]
pub struct Fault {
    #[serde(flatten)]
    cause: Cause,
    of: Option<String>,
    after: u32,
    times: Option<u32>,
    delay: f64,
}

#[derive(Debug, Clone, Serialize)]
#[serde(tag = "at", rename_all = "snake_case")]
enum Cause {
    Driver { call: DriverCall, error: Option<String> },
    Bmc { method: Option<String>, path: String, status: Option<u16>, hang_up: bool },
    Ramdisk { what: Step, error: Option<String> },
}

/// A call that Ironic makes to the `fake-hardware` driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum DriverCall {
    /// Part of `manage`, of every look at the power, and of the power sync.
    #[serde(rename = "power.get_power_state")]
    GetPowerState,
    /// Turning on or off.
    #[serde(rename = "power.set_power_state")]
    SetPowerState,
    /// Turning off and on again.
    #[serde(rename = "power.reboot")]
    Reboot,
    /// The check before a deployment, while the client waits for the answer.
    #[serde(rename = "deploy.validate")]
    ValidateDeploy,
    /// The first part of a deployment, and of cleaning.
    #[serde(rename = "deploy.prepare")]
    PrepareDeploy,
    /// The deployment itself.
    #[serde(rename = "deploy.deploy")]
    Deploy,
    /// The end of an instance.
    #[serde(rename = "deploy.tear_down")]
    TearDown,
    /// The inspection (`inspect_interface` must be `fake`).
    #[serde(rename = "inspect.inspect_hardware")]
    Inspect,
    /// The one automated clean step there is.
    #[serde(rename = "vendor.log_passthrough")]
    CleanStep,
}

/// A step that a ramdisk takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Coming up at all.
    Boot,
    /// The report of the machine's hardware.
    Inspection,
    /// The automated clean step.
    EraseDevicesMetadata,
    /// The deployment.
    WriteImage,
}

impl Fault {
    /// The driver's call raises an error.
    #[must_use]
    pub fn driver_fails(call: DriverCall, error: &str) -> Self {
        Self::new(Cause::Driver { call, error: Some(error.into()) })
    }

    /// The driver's call takes longer.
    #[must_use]
    pub fn driver_is_slow(call: DriverCall, delay: Duration) -> Self {
        Self::new(Cause::Driver { call, error: None }).taking(delay)
    }

    /// The BMC answers requests whose path contains `path` with an error. Ironic repeats a GET some
    /// ten times in a minute and a half before it gives up; a POST it does not repeat.
    #[must_use]
    pub fn bmc_answers(method: &str, path: &str, status: u16) -> Self {
        let (method, path) = (Some(method.into()), path.into());
        Self::new(Cause::Bmc { method, path, status: Some(status), hang_up: false })
    }

    /// The BMC cuts every connection without an answer.
    #[must_use]
    pub fn bmc_hangs_up() -> Self {
        let path = String::new();
        Self::new(Cause::Bmc { method: None, path, status: None, hang_up: true })
    }

    /// The BMC takes its time over every answer.
    #[must_use]
    pub fn bmc_is_slow(delay: Duration) -> Self {
        let path = String::new();
        Self::new(Cause::Bmc { method: None, path, status: None, hang_up: false }).taking(delay)
    }

    /// The ramdisk cannot do something. One whose boot fails is never heard of.
    #[must_use]
    pub fn ramdisk_fails(what: Step, error: &str) -> Self {
        Self::new(Cause::Ramdisk { what, error: Some(error.into()) })
    }

    /// The ramdisk takes longer over a step.
    #[must_use]
    pub fn ramdisk_is_slow(what: Step, delay: Duration) -> Self {
        Self::new(Cause::Ramdisk { what, error: None }).taking(delay)
    }

    /// Only this one: a node's name or UUID for the driver, a machine's id for BMC and ramdisk.
    #[must_use]
    pub fn of(mut self, whose: &str) -> Self {
        self.of = Some(whose.into());
        self
    }

    /// Only so many times.
    #[must_use]
    pub fn times(mut self, times: u32) -> Self {
        self.times = Some(times);
        self
    }

    /// Only after it would have happened so many times.
    #[must_use]
    pub fn after(mut self, after: u32) -> Self {
        self.after = after;
        self
    }

    fn new(cause: Cause) -> Self {
        Self { cause, of: None, after: 0, times: None, delay: 0.0 }
    }

    fn taking(mut self, delay: Duration) -> Self {
        self.delay = delay.as_secs_f64();
        self
    }
}

/// The faults of one instance.
#[derive(Debug)]
pub(super) struct Faults {
    file: PathBuf,
    injected: Mutex<Numbered>,
}

#[derive(Debug, Default)]
struct Numbered {
    last: u64,
    faults: BTreeMap<u64, Fault>,
}

impl Faults {
    pub fn new(file: PathBuf) -> Result<Self> {
        let faults = Self { file, injected: Mutex::default() };
        faults.write(&faults.injected())?;
        Ok(faults)
    }

    pub fn inject(&self, fault: Fault) -> Result<Injected<'_>> {
        let mut injected = self.injected();
        injected.last += 1;
        let id = injected.last;
        injected.faults.insert(id, fault);
        self.write(&injected)?;
        Ok(Injected { faults: self, id })
    }

    fn remove(&self, id: u64) -> Result<()> {
        let mut injected = self.injected();
        match injected.faults.remove(&id) {
            Some(_) => self.write(&injected),
            None => Ok(()),
        }
    }

    /// Replaces the file in one piece: a reader must never see half of it.
    fn write(&self, injected: &Numbered) -> Result<()> {
        #[derive(Serialize)]
        struct WithId<'a> {
            id: u64,
            #[serde(flatten)]
            fault: &'a Fault,
        }
        let list: Vec<_> =
            injected.faults.iter().map(|(&id, fault)| WithId { id, fault }).collect();
        let new = self.file.with_extension("new");
        fs::write(&new, serde_json::to_vec(&list).context("could not describe the faults")?)
            .and_then(|()| fs::rename(&new, &self.file))
            .with_context(|| format!("could not write {}", self.file.display()))
    }

    fn injected(&self) -> MutexGuard<'_, Numbered> {
        self.injected.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A fault that holds as long as this value lives.
#[derive(Debug)]
#[must_use = "a fault is over when this is dropped"]
pub struct Injected<'a> {
    faults: &'a Faults,
    id: u64,
}

impl Injected<'_> {
    /// The fault is over.
    pub fn clear(self) -> Result<()> {
        self.faults.remove(self.id)
    }
}

impl Drop for Injected<'_> {
    fn drop(&mut self) {
        // Fails only when the instance's directory is gone, and its processes with it.
        let _ = self.faults.remove(self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn the_file_holds_what_is_injected_and_nothing_that_was_cleared() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("faults.json");
        let written = || serde_json::from_slice::<Value>(&fs::read(&file).unwrap()).unwrap();
        let faults = Faults::new(file.clone()).unwrap();
        assert_eq!(written(), json!([]));

        let slow = faults
            .inject(Fault::bmc_is_slow(Duration::from_millis(1500)).of("machine-1").after(2))
            .unwrap();
        let failing = faults
            .inject(Fault::driver_fails(DriverCall::Deploy, "no space left").times(1))
            .unwrap();
        assert_eq!(
            written(),
            json!([
                {"id": 1, "at": "bmc", "of": "machine-1", "after": 2, "times": null, "delay": 1.5,
                 "method": null, "path": "", "status": null, "hang_up": false},
                {"id": 2, "at": "driver", "of": null, "after": 0, "times": 1, "delay": 0.0,
                 "call": "deploy.deploy", "error": "no space left"},
            ])
        );

        drop(slow);
        assert_eq!(written()[0]["id"], 2);
        failing.clear().unwrap();
        assert_eq!(written(), json!([]));
    }
}
