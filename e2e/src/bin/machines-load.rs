//! `cargo machines-load`: what many machines at once cost, for Ironward and for Metal3's own provider, on the same API server.
//!
//! Machines are given as Cluster API would have made them, and hosts that are available; whatever writes images to them is played.
//! So what is measured is whoever finds hosts for machines, and nobody else.

use anyhow::{Result, bail, ensure};
use clap::{Parser, ValueEnum};
use ironward_e2e::{
    cluster_api,
    control_plane::{self, ControlPlane, Options as PlaneOptions},
    ironward::{self, Ironward, Options},
    load::{Process, number},
    machines::{Cluster, Keeper, user_of},
    node::apart::{self, Apart},
    operators,
    played_hosts::PlayedHosts,
    process_group,
    progress::{Progress, say},
    release::{OWN_KINDS, install_kinds},
    requests::{Requests, requests_of},
};
use rustix::process::Signal;
use std::{
    thread,
    time::{Duration, Instant},
};

/// Measures the controller of machines.
#[derive(Debug, Parser)]
struct Arguments {
    /// Who is measured, one after the other.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "ironward,capm3")]
    providers: Vec<Provider>,
    /// How many hosts the cluster has.
    #[arg(long, default_value_t = 2000)]
    hosts: u16,
    /// How many machines are created at once.
    #[arg(long, default_value_t = 1000)]
    machines: u16,
    /// How many requests a second CAPM3 may make, which by itself allows itself 20. Ironward has no such limit.
    #[arg(long, default_value_t = 1000)]
    qps: u16,
    /// How long to wait for each step, in minutes.
    #[arg(long, default_value_t = 30)]
    patience: u64,
    /// Which of cargo's profiles Ironward is built with.
    #[arg(long, default_value = "release")]
    profile: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Provider {
    Ironward,
    Capm3,
}

/// What one of them took for one step.
struct Step {
    took: Duration,
    cpu: Duration,
    requests: Requests,
}

/// What one of them took for all.
struct Measured {
    name: &'static str,
    hosts: Step,
    provisioned: Step,
    deleted: Step,
    memory: f64,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    ensure!(arguments.machines <= arguments.hosts, "there are fewer hosts than machines");
    ensure!(!apart::is_skipped(), "Cluster API's provider listens on every address");
    control_plane::provide()?;
    cluster_api::provide()?;
    operators::provide()?;
    ironward::build(&arguments.profile)?;
    Apart::provide()?.within(|| measure(&arguments))?
}

fn measure(arguments: &Arguments) -> Result<()> {
    let plane = ControlPlane::start_with(PlaneOptions { audit: true })?;
    cluster_api::install_kinds(&plane)?;
    operators::install_own_kinds(&plane)?;
    install_kinds(&plane, &OWN_KINDS)?;
    let mut measured = Vec::new();
    for provider in &arguments.providers {
        measured.push(Run::new(arguments, &plane, *provider)?.measure()?);
    }
    print(arguments, &measured);
    Ok(())
}

/// One provider with its hosts and machines, in a namespace of its own.
struct Run<'a> {
    arguments: &'a Arguments,
    plane: &'a ControlPlane,
    name: &'static str,
    /// In the one cluster and in the other, whose Nodes it changes.
    users: [String; 2],
    process: process_group::Process,
    hosts: PlayedHosts,
}

impl<'a> Run<'a> {
    /// With everything in place but the machines.
    fn new(arguments: &'a Arguments, plane: &'a ControlPlane, provider: Provider) -> Result<Self> {
        let name = match provider {
            Provider::Ironward => "Ironward",
            Provider::Capm3 => "CAPM3",
        };
        let namespace = name.to_lowercase();
        let kubectl = plane.kubectl();
        kubectl.expect(&["create", "namespace", &namespace])?;
        let kubectl = kubectl.in_namespace(&namespace);
        // Its webhooks are those of the one who is measured.
        let (process, user) = start(arguments, plane, provider)?;
        let cluster = Cluster::create(plane, &kubectl, &namespace, Keeper::Nobody)?;
        cluster.play_ready()?;
        let progress = Progress::start(&format!("creating {} hosts for {name}", arguments.hosts));
        let hosts = PlayedHosts::start(plane, &namespace, arguments.hosts.into())?;
        hosts.create_machines(arguments.machines.into())?;
        progress.done();
        let users = [user, user_of(&namespace)];
        Ok(Self { arguments, plane, name, users, process, hosts })
    }

    fn measure(self) -> Result<Measured> {
        let all = usize::from(self.arguments.machines);
        let hosts = self.step("every machine has a host", || {
            self.hosts.create_metal3_machines(all)?;
            self.until("have a host", || self.hosts.in_use(), all)
        })?;
        self.hosts.write_images(true);
        let provisioned = self.step("every machine is provisioned", || {
            self.until("are provisioned", || self.hosts.provisioned(), all)
        })?;
        let deleted = self.step("every machine is gone", || {
            self.hosts.delete_metal3_machines()?;
            self.until("are gone", || all - self.hosts.machines(), all)
        })?;
        let memory = Process::of(self.process.id()).peak_memory()?;
        self.end()?;
        Ok(Measured { name: self.name, hosts, provisioned, deleted, memory })
    }

    fn step(&self, what: &str, work: impl FnOnce() -> Result<()>) -> Result<Step> {
        let progress = Progress::start(&format!("{}: {what}", self.name));
        let process = Process::of(self.process.id());
        let log = self.plane.audit_log();
        let (begun, cpu) = (Instant::now(), process.cpu()?);
        let users = self.users.each_ref().map(String::as_str);
        let before = requests_of(&log, &users)?;
        work()?;
        let took = begun.elapsed();
        let cpu = process.cpu()?.saturating_sub(cpu);
        progress.done();
        Ok(Step { took, cpu, requests: requests_of(&log, &users)?.since(before) })
    }

    fn until(&self, what: &str, count: impl Fn() -> usize, all: usize) -> Result<()> {
        let end = Instant::now() + Duration::from_secs(self.arguments.patience * 60);
        let mut told = Instant::now();
        while count() < all {
            if let Some(status) = self.process.exit_status() {
                bail!("{} ended: {status}\n{}", self.name, self.process.log_tail());
            }
            ensure!(
                Instant::now() < end,
                "only {} of {all} machines {what} after all that time\n{}",
                count(),
                self.process.log_tail()
            );
            if told.elapsed() > Duration::from_secs(30) {
                told = Instant::now();
                say(&format!("{}: {} of {all} {what}", self.name, count()));
            }
            thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// Leaves the cluster to the next one as it was.
    fn end(&self) -> Result<()> {
        self.process.signal(Signal::KILL)?;
        self.process.wait_for_exit(Duration::from_mins(1))?;
        let kubectl = self.plane.kubectl();
        for kind in ["validatingwebhookconfigurations", "mutatingwebhookconfigurations"] {
            kubectl.expect(&["delete", kind, "--all"])?;
        }
        self.hosts.end()
    }
}

fn start(
    arguments: &Arguments,
    plane: &ControlPlane,
    provider: Provider,
) -> Result<(process_group::Process, String)> {
    match provider {
        Provider::Ironward => {
            let flags = vec!["--controllers=cluster,machine,machine-template".to_owned()];
            let profile = Some(arguments.profile.clone());
            let options = Options { profile, flags, ..Options::default() };
            let ironward = Ironward::start_with(plane, &options)?;
            ironward.wait_until_ready()?;
            ironward.wait_until_in_force(plane)?;
            Ok((ironward.process, ironward::OWN_NAME.to_owned()))
        }
        Provider::Capm3 => {
            let (qps, burst) = (arguments.qps, u32::from(arguments.qps) * 2);
            let capm3 = operators::cluster_api_provider_with(plane, |command| {
                command.arg(format!("--kube-api-qps={qps}"));
                command.arg(format!("--kube-api-burst={burst}"));
                command.arg(format!("--clustercache-client-qps={qps}"));
                command.arg(format!("--clustercache-client-burst={burst}"));
            })?;
            Ok((capm3.process, capm3.user))
        }
    }
}

fn print(arguments: &Arguments, measured: &[Measured]) {
    say(&format!("{} hosts, {} machines created at once", arguments.hosts, arguments.machines));
    let machines = number(arguments.machines.into());
    let step = |name: &'static str, step: fn(&Measured) -> &Step| {
        type Figure = (&'static str, Box<dyn Fn(&Step) -> f64>);
        let figures: [Figure; 4] = [
            ("s", Box::new(|step| step.took.as_secs_f64())),
            ("writes per machine", Box::new(move |step| number(step.requests.writes) / machines)),
            ("requests per machine", Box::new(move |step| number(step.requests.all) / machines)),
            ("s of CPU", Box::new(|step| step.cpu.as_secs_f64())),
        ];
        for (unit, figure) in figures {
            row(&format!("{name}, {unit}"), measured.iter().map(|it| figure(step(it))));
        }
    };
    let names: Vec<_> = measured.iter().map(|it| format!("{:>12}", it.name)).collect();
    say(&format!("{:<44}{}", "", names.concat()));
    step("every machine has a host", |it| &it.hosts);
    step("then provisioned", |it| &it.provisioned);
    step("then deleted", |it| &it.deleted);
    row("memory at most, MiB", measured.iter().map(|it| it.memory));
}

/// A figure of each, and how often the first goes into the last.
fn row(name: &str, figures: impl Iterator<Item = f64>) {
    let figures: Vec<f64> = figures.collect();
    let columns: Vec<_> = figures.iter().map(|figure| format!("{figure:>12.2}")).collect();
    let ratio = match figures.as_slice() {
        [first, .., last] if *first > 0.0 => format!("{:>9.1}x", last / first),
        _ => String::new(),
    };
    say(&format!("{name:<44}{}{ratio}", columns.concat()));
}
