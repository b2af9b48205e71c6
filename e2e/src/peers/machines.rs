//! Machines: many at once, each with a host and provisioned, by Ironward and by Metal3's CAPM3 with baremetal-operator.
//!
//! Machines are given as Cluster API would have made them. What is under hosts is a simulation of each side's own; or, where a fleet
//! would take an hour to come up, hosts are there because somebody says so, and only who finds hosts for machines is measured.

use super::{
    AT_ONCE,
    figures::{Better, Growth, OWN, Part, Samples, Table},
};
use crate::{
    cluster_api,
    control_plane::{ControlPlane, Options as PlaneOptions},
    ironward::{self, Ironward, Options},
    load::{Process, number},
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
    thread,
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
    /// From nothing to available, where that is not played.
    available: Option<Step>,
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
            let work = Work { hosts: plan.hosts, machines: plan.machines, under: Hosts::Simulated };
            measured.push(Run::new(plan, provider, work)?.measure()?);
        }
    }
    let mut part = Part {
        title: "Machines".to_owned(),
        about: format!(
            "{} hosts and {} machines that are created at once, until each machine has a host and is provisioned. Each side has its own simulation of what is \
             under hosts: Ironward's `demo`, baremetal-operator's `-demo-mode`. Metal3's operators may make {} requests a second instead of 20, and reconcile {AT_ONCE} hosts at a time, as Ironward does. \
             Their figures are those of both processes together.",
            plan.hosts, plan.machines, plan.qps
        ),
        tables: vec![table(plan, &measured)],
        remarks: vec![
            "Requests are those that the API server's audit log has of each, without watches."
                .to_owned(),
        ],
        ..Part::default()
    };
    part.growths = grow(plan)?;
    if !part.growths.is_empty() {
        part.remarks.push(
            "Ironward's memory grows with the fleet by its index of hosts, from which one is found for a machine without asking for all of them."
                .to_owned(),
        );
        part.remarks.push(format!(
            "For growth, {} machines at once in fleets of each size, whose hosts are there because somebody says so, for baremetal-operator would take an hour to bring the largest up.",
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
    let growth = |what, unit| Growth::new(what, unit, &plan.sizes);
    let mut growths = [
        growth("CPU for a machine to have a host", "ms"),
        growth("time until all have hosts", "s"),
        growth("memory", "MiB"),
    ];
    for provider in Provider::ALL {
        let mut series: [Vec<Samples>; 3] = Default::default();
        for size in &plan.sizes {
            let hosts = u16::try_from(*size)?;
            let work = Work { hosts, machines: plan.few.min(hosts), under: Hosts::Played };
            let machines = number(work.machines.into());
            let run = Run::new(plan, provider, work)?;
            let (step, memory) = (run.associate()?, run.sum(Process::peak_memory)?);
            let figures =
                [step.cpu.as_secs_f64() * 1e3 / machines, step.took.as_secs_f64(), memory];
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

/// What is done.
#[derive(Clone, Copy)]
struct Work {
    hosts: u16,
    machines: u16,
    under: Hosts,
}

/// One provider with its hosts and machines, on a control plane of its own.
struct Run<'a> {
    plan: &'a Plan,
    provider: Provider,
    work: Work,
    /// Who it is, in the one cluster and in the other, whose Nodes it changes.
    users: Vec<String>,
    processes: Vec<process_group::Process>,
    hosts: PlayedHosts,
    available: Option<Step>,
    plane: ControlPlane,
}

impl<'a> Run<'a> {
    /// With everything in place but the machines' infrastructure.
    fn new(plan: &'a Plan, provider: Provider, work: Work) -> Result<Self> {
        let plane =
            ControlPlane::start_with(PlaneOptions { audit: true, ..PlaneOptions::default() })?;
        cluster_api::install_kinds(&plane)?;
        operators::install_own_kinds(&plane)?;
        install_kinds(&plane, &OWN_KINDS)?;
        let namespace = "fleet";
        let kubectl = plane.kubectl();
        kubectl.expect(&["create", "namespace", namespace])?;
        let kubectl = kubectl.in_namespace(namespace);
        let (processes, mut users): (Vec<_>, Vec<_>) =
            start(plan, &plane, provider, work.under)?.into_iter().unzip();
        users.push(user_of(namespace));
        let cluster = Cluster::create(&plane, &kubectl, namespace, Keeper::Nobody)?;
        cluster.play_ready()?;
        let hosts = PlayedHosts::start(&plane, namespace, work.under)?;
        let mut run =
            Self { plan, provider, work, users, processes, hosts, available: None, plane };
        let count = usize::from(work.hosts);
        let available = run.step(&format!("{count} hosts are available"), || {
            run.hosts.create(count)?;
            run.until("are available", || run.hosts.available(), count)
        })?;
        run.available = (work.under == Hosts::Simulated).then_some(available);
        run.hosts.create_machines(work.machines.into())?;
        Ok(run)
    }

    fn measure(self) -> Result<Measured> {
        let all = usize::from(self.work.machines);
        // With a simulation, images are written when they are: a Node comes up where one was.
        self.hosts.write_images();
        let associated = self.associate()?;
        let provisioned = self.step("every machine is provisioned", || {
            self.until("are provisioned", || self.hosts.provisioned(), all)
        })?;
        let memory = self.sum(Process::peak_memory)?;
        let (provider, available) = (self.provider, self.available);
        Ok(Measured { provider, available, associated, provisioned, memory })
    }

    fn associate(&self) -> Result<Step> {
        let all = usize::from(self.work.machines);
        self.step("every machine has a host", || {
            self.hosts.create_metal3_machines(all)?;
            self.until("have a host", || self.hosts.in_use(), all)
        })
    }

    /// Of all processes of a provider.
    fn sum<T: std::iter::Sum>(&self, figure: impl Fn(Process) -> Result<T>) -> Result<T> {
        self.processes.iter().map(|it| figure(Process::of(it.id()))).sum()
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
            let profile = Some(plan.profile.clone());
            let options = Options { profile, flags, ..Options::default() };
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
type Of = fn(&Measured) -> Option<&Step>;

fn table(plan: &Plan, measured: &[Measured]) -> Table {
    let mut table = Table::new(
        &format!("{} machines on {} hosts", plan.machines, plan.hosts),
        &Provider::ALL.map(Provider::name),
    );
    let cells = |figure: &dyn Fn(&Measured) -> Option<f64>| {
        Provider::ALL
            .map(|provider| {
                measured.iter().filter(|it| it.provider == provider).filter_map(figure).collect()
            })
            .to_vec()
    };
    let steps: [(&str, f64, Of); 3] = [
        ("hosts available", number(plan.hosts.into()), |it| it.available.as_ref()),
        ("every machine has a host", number(plan.machines.into()), |it| Some(&it.associated)),
        ("then provisioned", number(plan.machines.into()), |it| Some(&it.provisioned)),
    ];
    for (name, count, step) in steps {
        let of = |figure: &dyn Fn(&Step) -> f64| cells(&|it| step(it).map(figure));
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
    table.row("memory at most", "MiB", Better::Less, cells(&|it| Some(it.memory)));
    table
}
