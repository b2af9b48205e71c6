//! The rack: one process that plays the BMCs and ramdisks of all machines, and serves them images.

use super::{
    environment::Environment,
    http::{Http, Method},
    machine::Machine,
    service::{Start, wait_for_start},
    settings::Settings,
};
use crate::process_group::{Process, ProcessGroup};
use anyhow::{Context, Result};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

const PATIENCE: Duration = Duration::from_mins(2);
const DISK: &str = "disk.raw";
const RAMDISK: &str = "ramdisk.iso";

#[derive(Debug)]
pub(super) struct Rack {
    pub url: String,
    pub machines: Vec<Machine>,
    pub disk_sha256: String,
    taken: AtomicUsize,
    dir: PathBuf,
    http: Http,
    process: Process,
}

/// Where ramdisks find Ironic.
#[derive(Debug, Clone, Copy)]
pub(super) struct IronicAddress<'a> {
    pub url: &'a str,
    pub ca: Option<&'a Path>,
}

impl Rack {
    /// Starts it, without waiting.
    pub fn launch(
        group: &ProcessGroup,
        environment: &Environment,
        settings: &Settings,
        port: u16,
        ironic: IronicAddress,
    ) -> Result<Self> {
        let (dir, url) = (group.dir(), format!("http://127.0.0.1:{port}"));
        let http = Http::new(&url, None)?;
        let machines: Vec<_> =
            (1..=settings.machines).map(|number| Machine::new(port, number, &url, &http)).collect();
        let descriptions: Vec<Value> = machines.iter().map(Machine::description).collect();
        fs::write(machines_file(dir), serde_json::to_vec(&descriptions)?)
            .context("could not write what the machines are")?;
        let disk_sha256 = write_images(&images(dir)).context("could not make the images")?;

        let mut command = rack_command(environment, dir, port);
        command.arg("--power-delay").arg(settings.power_delay.as_secs_f64().to_string());
        if settings.ramdisk {
            command.arg("--ironic").arg(ironic.url);
        }
        if let Some(ca) = ironic.ca {
            command.arg("--ironic-ca").arg(ca);
        }
        let process = group.spawn("rack", command)?;
        let (taken, dir) = (AtomicUsize::new(0), dir.to_owned());
        Ok(Self { url, machines, disk_sha256, taken, dir, http, process })
    }

    /// Waits until it answers, and not the rack of another instance on the same port.
    pub fn wait_until_ready(&self) -> Result<Start> {
        let ours = state(&self.dir);
        wait_for_start(&self.process, PATIENCE, || {
            let answer = self.http.call(Method::GET, "/machines", None);
            answer.is_ok_and(|answer| answer.body["state"] == *ours.to_string_lossy())
        })
    }

    pub fn take_machine(&self) -> Result<&Machine> {
        let number = self.taken.fetch_add(1, Ordering::Relaxed);
        self.machines.get(number).with_context(|| {
            format!("all {} machines are taken: ask for more in the settings", self.machines.len())
        })
    }

    pub fn images(&self) -> PathBuf {
        images(&self.dir)
    }

    pub fn disk_url(&self) -> String {
        format!("{}/images/{DISK}", self.url)
    }

    pub fn ramdisk_url(&self) -> String {
        format!("{}/images/{RAMDISK}", self.url)
    }

    pub fn log_tail(&self) -> String {
        self.process.log_tail()
    }
}

fn rack_command(environment: &Environment, dir: &Path, port: u16) -> Command {
    let mut command = environment.command("machines.py", dir);
    command.arg("--port").arg(port.to_string());
    command.arg("--machines").arg(machines_file(dir));
    command.arg("--faults").arg(super::faults_file(dir));
    command.arg("--images").arg(images(dir));
    command.arg("--state").arg(state(dir));
    command
}

/// Nobody looks inside them: what counts is that there is something to fetch.
fn write_images(folder: &Path) -> Result<String> {
    let disk = vec![b'D'; 1 << 20];
    fs::create_dir(folder)?;
    fs::write(folder.join(DISK), &disk)?;
    fs::write(folder.join(RAMDISK), [b'R'; 1 << 10])?;
    Ok(Sha256::digest(&disk).iter().fold(String::new(), |hex, byte| format!("{hex}{byte:02x}")))
}

fn machines_file(dir: &Path) -> PathBuf {
    dir.join("machines.json")
}

fn images(dir: &Path) -> PathBuf {
    dir.join("images")
}

/// Where the BMCs keep what is inserted into them.
fn state(dir: &Path) -> PathBuf {
    dir.join("rack")
}
