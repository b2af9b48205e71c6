//! Machines: many at once, each with a host and provisioned, by Ironward and by Metal3's CAPM3 with baremetal-operator.
//!
//! Machines are given as Cluster API would have made them. What is under hosts is a simulation of each side's own; or, where a fleet
//! would take an hour to come up, hosts are there because somebody says so, and only who finds hosts for machines is measured.

use super::{
    AT_ONCE, GARBAGE,
    figures::{Better, Growth, OWN, Part, Samples, Table},
};
use crate::{
    cluster_api,
    control_plane::{ControlPlane, Options as PlaneOptions},
    ironward::{self, Ironward, NOTHING_IS_UNIQUE, Options},
    load::{self, Process, number},
    machines::{Cluster, Keeper, user_of},
    operators,
    played_hosts::{Hosts, PlayedHosts},
    process_group,
    progress::{Progress, say},
    release::{OWN_KINDS, install_kinds},
    requests::{Requests, requests_of},
};
use anyhow::{Result, bail, ensure};
use std::{
    fs, thread,
    time::{Duration, Instant},
};

/// How much is measured.
#[derive(Debug, Clone)]
pub struct Plan {
    /// How many hosts the fleet has.
    pub hosts: u16,
    /// How many machines are created at once.
    pub machines: u16,
    /// The sizes of fleets in which the same few machines are created.
    pub sizes: Vec<usize>,
    /// How many those few are.
    pub few: u16,
    /// How often each has its turn.
    pub rounds: usize,
    /// How many requests a second Metal3's operators may make, which by themselves allow themselves 20. Ironward has no such limit.
    pub qps: u16,
    /// How long to wait for each step.
    pub patience: Duration,
    /// Which of cargo's profiles Ironward is built with.
    pub profile: String,
}

impl Plan {
    /// Just enough to see that all of it still works.
    #[must_use]
    pub fn short(profile: &str) -> Self {
        Self {
            hosts: 6,
            machines: 3,
            sizes: vec![4, 8],
            few: 2,
            rounds: 1,
            qps: 1000,
            patience: Duration::from_mins(5),
            profile: profile.to_owned(),
        }
    }
}

/// Who finds hosts for machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Provider {
    Ironward,
    Metal3,
}

impl Provider {
    const ALL: [Self; 2] = [Self::Ironward, Self::Metal3];

    fn name(self) -> &'static str {
        match self {
            Self::Ironward => OWN,
            Self::Metal3 => "CAPM3 and baremetal-operator",
        }
    }
}

/// What one of them took for one step.
struct Step {
    took: Duration,
    cpu: Duration,
    requests: Requests,
}

/// What one of them took for all.
struct Measured {
    provider: Provider,
    /// Of hosts, from nothing.
    available: Step,
    associated: Step,
    provisioned: Step,
    memory: f64,
}

/// Builds and downloads all there is to, ahead.
pub fn provide() -> Result<()> {
    cluster_api::provide()?;
    operators::provide()
}

/// Measures both.
pub fn measure(plan: &Plan) -> Result<Part> {
    ensure!(plan.machines <= plan.hosts, "there are fewer hosts than machines");
    let begun = Instant::now();
    let mut measured = Vec::new();
    for _ in 0..plan.rounds {
        for provider in Provider::ALL {
            measured.push(Run::new(plan, provider, Hosts::Simulated)?.measure()?);
        }
    }
    let mut part = Part {
        title: "Machines".to_owned(),
        about: format!(
            "{} hosts and {} machines that are created at once, until each machine has a host and is provisioned. Each side has its own simulation of what is \
             under hosts: Ironward's `demo`, baremetal-operator's `-demo-mode`. Metal3's operators may make {} requests a second instead of 20, and reconcile {AT_ONCE} hosts at a time, as Ironward does. \
             Their figures are those of both processes together. The API server spends little on clearing up its memory (`GOGC={GARBAGE}`), as where it uses gigabytes.",
            plan.hosts, plan.machines, plan.qps
        ),
        tables: vec![table(plan, &measured)],
        remarks: vec![
            "Requests are those that the API server's audit log has of each, without watches."
                .to_owned(),
        ],
        runs: 1,
        ..Part::default()
    };
    part.growths = grow(plan)?;
    if !part.growths.is_empty() {
        part.remarks.push(
            "Ironward's memory grows with the fleet by its index of hosts, from which one is found for a machine without asking for all of them."
                .to_owned(),
        );
        part.remarks.push(format!(
            "For growth, {} machines more at once in a fleet that has grown to each size, whose hosts are there because somebody says so, for baremetal-operator would take an hour to bring the largest up.",
            plan.few
        ));
    }
    part.took = begun.elapsed().as_secs_f64();
    Ok(part)
}

/// The same few machines in fleets of several sizes.
fn grow(plan: &Plan) -> Result<Vec<Growth>> {
    if plan.sizes.is_empty() {
        return Ok(Vec::new());
    }
    let have_room = |(number, size): (usize, &usize)| usize::from(plan.few) * (number + 1) <= *size;
    ensure!(plan.sizes.iter().enumerate().all(have_room), "fewer hosts than machines in a fleet");
    let growth = |what, unit| Growth::new(what, unit, &plan.sizes);
    let mut growths = [
        growth("CPU for a machine to have a host", "ms"),
        growth("writes for that", "each"),
        growth("requests for that", "each"),
        growth("time until all have hosts", "s"),
        growth("memory", "MiB"),
    ];
    for provider in Provider::ALL {
        let mut series: [Vec<Samples>; 5] = Default::default();
        let mut run = Run::new(plan, provider, Hosts::Played)?;
        for size in &plan.sizes {
            run.fill(*size)?;
            // What it was told of the hosts is no part of what machines take.
            load::settle(&run.processes())?;
            let step = run.associate(plan.few.into())?;
            let machines = number(plan.few.into());
            let figures = [
                step.cpu.as_secs_f64() * 1e3 / machines,
                number(step.requests.writes) / machines,
                number(step.requests.all) / machines,
                step.took.as_secs_f64(),
                run.sum(Process::peak_memory)?,
            ];
            series.iter_mut().zip(figures).for_each(|(series, it)| series.push(Samples(vec![it])));
        }
        for (growth, series) in growths.iter_mut().zip(series) {
            // Hosts that are played have no operator.
            let name = if provider == Provider::Metal3 { "CAPM3" } else { provider.name() };
            growth.series.push((name.to_owned(), series));
        }
    }
    Ok(growths.into())
}

/// One provider with its hosts and machines, on a control plane of its own.
struct Run<'a> {
    plan: &'a Plan,
    provider: Provider,
    /// Who it is, in the one cluster and in the other, whose Nodes it changes.
    users: Vec<String>,
    processes: Vec<process_group::Process>,
    hosts: PlayedHosts,
    /// How many hosts there are, and how many machines.
    filled: usize,
    machines: usize,
    plane: ControlPlane,
}

impl<'a> Run<'a> {
    /// With everything in place but hosts and machines.
    fn new(plan: &'a Plan, provider: Provider, under: Hosts) -> Result<Self> {
        let options = PlaneOptions { audit: true, garbage: Some(GARBAGE) };
        let plane = ControlPlane::start_with(options)?;
        cluster_api::install_kinds(&plane)?;
        operators::install_own_kinds(&plane)?;
        install_kinds(&plane, &OWN_KINDS)?;
        let namespace = "fleet";
        let kubectl = plane.kubectl();
        kubectl.expect(&["create", "namespace", namespace])?;
        let kubectl = kubectl.in_namespace(namespace);
        let (processes, mut users): (Vec<_>, Vec<_>) =
            start(plan, &plane, provider, under)?.into_iter().unzip();
        users.push(user_of(namespace));
        let cluster = Cluster::create(&plane, &kubectl, namespace, Keeper::Nobody)?;
        cluster.play_ready()?;
        let hosts = PlayedHosts::start(&plane, namespace, under)?;
        Ok(Self { plan, provider, users, processes, hosts, filled: 0, machines: 0, plane })
    }

    fn measure(mut self) -> Result<Measured> {
        let available = self.fill(self.plan.hosts.into())?;
        // With a simulation, images are written when they are: a Node comes up where one was.
        self.hosts.write_images();
        let associated = self.associate(self.plan.machines.into())?;
        let provisioned = self.step("every machine is provisioned", || {
            self.until("are provisioned", || self.hosts.provisioned(), self.machines)
        })?;
        let memory = self.sum(Process::peak_memory)?;
        Ok(Measured { provider: self.provider, available, associated, provisioned, memory })
    }

    /// Has so many hosts there, and available.
    fn fill(&mut self, size: usize) -> Result<Step> {
        let step = self.step(&format!("{size} hosts are available"), || {
            self.hosts.create(self.filled..size)?;
            self.until("are available", || self.hosts.available(), size)
        })?;
        self.filled = size;
        Ok(step)
    }

    /// Has so many machines more.
    fn associate(&mut self, more: usize) -> Result<Step> {
        let numbers = self.machines..self.machines + more;
        self.machines = numbers.end;
        self.hosts.create_machines(numbers.clone())?;
        self.step("every machine has a host", || {
            self.hosts.create_metal3_machines(numbers)?;
            self.until("have a host", || self.hosts.in_use(), self.machines)
        })
    }

    fn processes(&self) -> Vec<Process> {
        self.processes.iter().map(|it| Process::of(it.id())).collect()
    }

    /// Of all processes of a provider.
    fn sum<T: std::iter::Sum>(&self, figure: impl Fn(Process) -> Result<T>) -> Result<T> {
        self.processes().into_iter().map(figure).sum()
    }

    fn step(&self, what: &str, work: impl FnOnce() -> Result<()>) -> Result<Step> {
        let progress = Progress::start(&format!("{}: {what}", self.provider.name()));
        let log = self.plane.audit_log();
        let users: Vec<_> = self.users.iter().map(String::as_str).collect();
        let (before, cpu) = (requests_of(&log, &users)?, self.sum(Process::cpu)?);
        let begun = Instant::now();
        work()?;
        let took = begun.elapsed();
        let cpu = self.sum(Process::cpu)?.saturating_sub(cpu);
        progress.done();
        Ok(Step { took, cpu, requests: requests_of(&log, &users)?.since(before) })
    }

    fn until(&self, what: &str, count: impl Fn() -> usize, all: usize) -> Result<()> {
        let end = Instant::now() + self.plan.patience;
        let mut told = Instant::now();
        let name = self.provider.name();
        while count() < all {
            for process in &self.processes {
                if let Some(status) = process.exit_status() {
                    bail!("{name} ended: {status}\n{}", process.log_tail());
                }
            }
            let words =
                || self.processes.iter().map(process_group::Process::log_tail).collect::<String>();
            ensure!(
                Instant::now() < end,
                "only {} of {all} {what} after all that time\n{}",
                count(),
                words()
            );
            if told.elapsed() > Duration::from_secs(30) {
                told = Instant::now();
                say(&format!("{name}: {} of {all} {what}", count()));
            }
            thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }
}

fn start(
    plan: &Plan,
    plane: &ControlPlane,
    provider: Provider,
    under: Hosts,
) -> Result<Vec<(process_group::Process, String)>> {
    let (qps, burst) = (plan.qps, u32::from(plan.qps) * 2);
    match provider {
        Provider::Ironward => {
            let mut flags = vec!["--controllers=cluster,machine,machine-template".to_owned()];
            if under == Hosts::Simulated {
                flags = [
                    "--controllers=host,cluster,machine,machine-template",
                    "--provisioner=demo",
                    "--demo-seconds=0",
                ]
                .map(str::to_owned)
                .to_vec();
            }
            // Who judges hosts that are played, and keeps claims for them, is no part of this.
            let policy_dir = match under {
                Hosts::Played => {
                    let folder = plane.dir().join("policies");
                    fs::create_dir(&folder)?;
                    fs::write(folder.join("unique.yaml"), NOTHING_IS_UNIQUE)?;
                    Some(folder)
                }
                Hosts::Simulated => None,
            };
            let profile = Some(plan.profile.clone());
            let options = Options { policy_dir, profile, flags, ..Options::default() };
            let ironward = Ironward::start_with(plane, &options)?;
            ironward.wait_until_ready()?;
            ironward.wait_until_in_force(plane)?;
            Ok(vec![(ironward.process, ironward::OWN_NAME.to_owned())])
        }
        Provider::Metal3 => {
            let capm3 = operators::cluster_api_provider_with(plane, |command| {
                command.arg(format!("--kube-api-qps={qps}"));
                command.arg(format!("--kube-api-burst={burst}"));
                command.arg(format!("--clustercache-client-qps={qps}"));
                command.arg(format!("--clustercache-client-burst={burst}"));
            })?;
            let mut operators = vec![(capm3.process, capm3.user)];
            if under == Hosts::Simulated {
                let hosts = operators::baremetal_operator_with(plane, |command| {
                    command.arg("-demo-mode").arg(format!("-kube-api-qps={qps}"));
                    command
                        .arg(format!("-kube-api-burst={burst}"))
                        .arg(format!("-controller-concurrency={AT_ONCE}"));
                })?;
                operators.push((hosts.process, hosts.user));
            }
            Ok(operators)
        }
    }
}

/// Finds a step in what was measured.
type Of = fn(&Measured) -> &Step;

fn table(plan: &Plan, measured: &[Measured]) -> Table {
    let mut table = Table::new(
        &format!("{} machines on {} hosts", plan.machines, plan.hosts),
        &Provider::ALL.map(Provider::name),
    );
    let cells = |figure: &dyn Fn(&Measured) -> f64| {
        Provider::ALL
            .map(|provider| {
                measured.iter().filter(|it| it.provider == provider).map(figure).collect()
            })
            .to_vec()
    };
    let steps: [(&str, f64, Of); 3] = [
        ("hosts available", number(plan.hosts.into()), |it| &it.available),
        ("every machine has a host", number(plan.machines.into()), |it| &it.associated),
        ("then provisioned", number(plan.machines.into()), |it| &it.provisioned),
    ];
    for (name, count, step) in steps {
        let of = |figure: &dyn Fn(&Step) -> f64| cells(&|it| figure(step(it)));
        table.row(name, "s", Better::Less, of(&|it| it.took.as_secs_f64()));
        let each = "each";
        table.row(
            &format!("{name}: writes"),
            each,
            Better::Less,
            of(&|it| number(it.requests.writes) / count),
        );
        table.row(
            &format!("{name}: requests"),
            each,
            Better::Less,
            of(&|it| number(it.requests.all) / count),
        );
        table.row(&format!("{name}: CPU"), "s", Better::Less, of(&|it| it.cpu.as_secs_f64()));
    }
    table.row("memory at most", "MiB", Better::Less, cells(&|it| it.memory));
    table
}
