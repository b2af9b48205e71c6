//! `cargo hosts-load`: what a fleet costs, from nothing to available and then at rest.
//!
//! With the demo in the place of machines it is what Ironward and the API server cost; with Ironic it is a real Ironic on SQLite, and a BMC for each host.

use anyhow::{Context, Result, ensure};
use clap::{Parser, ValueEnum};
use ironward_e2e::{
    cluster,
    control_plane::ControlPlane,
    fleet::{self, Member},
    ironic::{Ironic, Settings},
    ironward::{Ironward, Options},
    load::{Process, number},
    progress::{Progress, say},
};
use serde_json::json;
use std::{
    thread,
    time::{Duration, Instant},
};

/// Measures the controller of hosts.
#[derive(Debug, Parser)]
struct Arguments {
    /// Who does things to machines.
    #[arg(long, value_enum, default_value_t = Provisioner::Demo)]
    provisioner: Provisioner,
    /// How many hosts the cluster has.
    #[arg(long, default_value_t = 1000)]
    hosts: u16,
    /// How long the fleet is looked at when it is at rest, in seconds.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Whether hosts are inspected, and cleaned before they are available. With Ironic each of the two boots a ramdisk.
    #[arg(long)]
    ramdisks: bool,
    /// How long to wait until all hosts are available, in minutes.
    #[arg(long, default_value_t = 60)]
    patience: u64,
    /// Which of cargo's profiles Ironward is built with.
    #[arg(long, default_value = "release")]
    profile: String,
    /// What cargo tells every benchmark.
    #[arg(long, hide = true)]
    bench: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Provisioner {
    Demo,
    Ironic,
}

const LOOK: Duration = Duration::from_secs(5);

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let ironic = match arguments.provisioner {
        Provisioner::Demo => None,
        Provisioner::Ironic => Some(Ironic::start(&Settings {
            machines: arguments.hosts,
            power_sync: None,
            ..Settings::default()
        })?),
    };
    let members: Vec<_> = match &ironic {
        None => (0..arguments.hosts.into()).map(Member::imaginary).collect(),
        Some(ironic) => (0..arguments.hosts).map(|_| member(ironic)).collect::<Result<_>>()?,
    };
    let plane = ControlPlane::start()?;
    cluster::install_kinds(&plane)?;
    let ironward = start(&arguments, &plane, ironic.as_ref())?;
    let process = Process::of(ironward.process.id());

    let (begun, cpu) = (Instant::now(), process.cpu()?);
    let progress = Progress::start(&format!("creating {} hosts", arguments.hosts));
    let spec = if arguments.ramdisks {
        json!({"online": false})
    } else {
        json!({"online": false, "inspectionMode": "disabled", "automatedCleaningMode": "disabled"})
    };
    fleet::create(&plane, &members, &spec)?;
    progress.done();
    let created = begun.elapsed();
    let progress = Progress::start("making them available");
    wait_until_available(&arguments, &plane)?;
    progress.done();
    let available = begun.elapsed();
    let busy = Counted::of(&ironward)?;
    let hosts = number(arguments.hosts.into());
    say(&format!(
        "{} hosts created in {:.0} s and available after {:.0} s: {:.1} passes per host, {:.0} passes/s, {:.1} requests to Ironic per host ({:.2} per host and minute), \
         {:.1} s of CPU, {:.1} MiB of memory at most",
        arguments.hosts,
        created.as_secs_f64(),
        available.as_secs_f64(),
        busy.passes / hosts,
        busy.passes / available.as_secs_f64(),
        busy.requests / hosts,
        busy.requests / hosts / available.as_secs_f64() * 60.0,
        process.cpu()?.saturating_sub(cpu).as_secs_f64(),
        process.peak_memory()?,
    ));
    at_rest(&arguments, &ironward, process)
}

fn member(ironic: &Ironic) -> Result<Member> {
    let machine = ironic.take_machine()?;
    Ok(Member {
        name: machine.name.clone(),
        boot_mac: machine.boot_mac.clone(),
        bmc_address: machine.bmc_address(),
        username: machine.credentials.username.clone(),
        password: machine.credentials.password.clone(),
    })
}

fn start(arguments: &Arguments, plane: &ControlPlane, ironic: Option<&Ironic>) -> Result<Ironward> {
    let mut flags = vec!["--controllers=host".to_owned()];
    match ironic {
        None => flags.extend(["--provisioner=demo", "--demo-seconds=1"].map(str::to_owned)),
        Some(ironic) => flags.extend([
            "--provisioner=ironic".to_owned(),
            format!("--ironic-url={}", ironic.url()),
            format!("--deploy-iso-url={}", ironic.ramdisk_url()),
        ]),
    }
    let profile = Some(arguments.profile.clone());
    let ironward = Ironward::start_with(plane, &Options { profile, flags, ..Options::default() })?;
    ironward.wait_until_ready()?;
    ironward.wait_until_in_force(plane)?;
    Ok(ironward)
}

fn wait_until_available(arguments: &Arguments, plane: &ControlPlane) -> Result<()> {
    let end = Instant::now() + Duration::from_secs(arguments.patience * 60);
    let mut told = Instant::now();
    loop {
        let states = fleet::states(plane)?;
        if states.get("available") == Some(&usize::from(arguments.hosts)) {
            return Ok(());
        }
        ensure!(
            Instant::now() < end,
            "the hosts are not available after all that time: {states:?}"
        );
        if told.elapsed() > Duration::from_secs(30) {
            told = Instant::now();
            say(&format!("{states:?}"));
        }
        thread::sleep(LOOK);
    }
}

fn at_rest(arguments: &Arguments, ironward: &Ironward, process: Process) -> Result<()> {
    // What they were woken for last is over then.
    thread::sleep(Duration::from_secs(30));
    let (before, cpu) = (Counted::of(ironward)?, process.cpu()?);
    let span = Duration::from_secs(arguments.seconds);
    thread::sleep(span);
    let after = Counted::of(ironward)?;
    let cpu = process.cpu()?.saturating_sub(cpu);
    let minutes = span.as_secs_f64() / 60.0;
    let ticks = after.ticks - before.ticks;
    say(&format!(
        "at rest for {} s: {:.2} passes/s, {:.3} requests to Ironic per host and minute, {:.1} per tick ({ticks} ticks), {:.1} % of a core, {:.1} MiB of memory, {:.1} at most",
        arguments.seconds,
        (after.passes - before.passes) / span.as_secs_f64(),
        (after.requests - before.requests) / number(arguments.hosts.into()) / minutes,
        (after.requests - before.requests) / ticks.max(1.0),
        cpu.as_secs_f64() / span.as_secs_f64() * 100.0,
        process.memory()?,
        process.peak_memory()?,
    ));
    Ok(())
}

struct Counted {
    passes: f64,
    requests: f64,
    ticks: f64,
}

impl Counted {
    fn of(ironward: &Ironward) -> Result<Self> {
        let counted = |metric: &str| {
            fleet::counted(ironward, metric).with_context(|| format!("{metric} was not counted"))
        };
        Ok(Self {
            passes: counted("ironward_host_pass_duration_seconds_count")?,
            requests: counted("ironward_ironic_requests_total")?,
            ticks: counted("ironward_ironic_snapshot_duration_seconds_count")?,
        })
    }
}
