//! What hosts cost an operator, its Ironic and its API server: Ironward, and Metal3's baremetal-operator on the same ground.
//!
//! All of them have the same API server, an Ironic each that knows nothing yet, and the same machines. What is asked of Ironic is
//! counted on the way to it, and what is asked of the API server in its audit log; neither is an operator's own account.

mod copies;
mod counter;
mod part;

pub use counter::Asked;
pub use part::part;

use super::AT_ONCE;
use crate::{
    control_plane::{self, ControlPlane, Options as PlaneOptions},
    eventually::eventually,
    fleet::{self, Member},
    ironic::{self, Ironic, Settings},
    ironward::{self, Ironward, Options},
    load,
    node::apart::{self, Apart},
    operators,
    process_group::Process,
    progress::{Progress, say},
    release,
    requests::{Requests, requests_of},
    watched::Watched,
};
use anyhow::{Context, Result, bail, ensure};
use copies::{HOST, Objects};
use counter::{Counter, since};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    thread,
    time::{Duration, Instant},
};

/// Where [`fleet`] puts hosts.
const NAMESPACE: &str = "default";
/// For one step.
const PATIENCE: Duration = Duration::from_mins(90);
/// Until what an operator was woken for last is over.
const CALM: Duration = Duration::from_secs(10);
/// Ironic gives no more nodes than this in one answer.
const PAGE: usize = 1000;

/// What is measured.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Hosts that are created at once, and deleted at once.
    pub hosts: u16,
    /// Hosts that are looked at while nothing happens to them.
    pub at_rest: u16,
    /// For how long, in whole minutes: baremetal-operator comes to all hosts at about the same time once in a minute, and a part of
    /// one has all of that or nothing of it. Its look at firmware every five minutes is in what takes that long, and else is left out,
    /// in its favour.
    pub seconds: u64,
    /// How often each operator has its turn.
    pub rounds: usize,
    /// Which of cargo's profiles Ironward is built with.
    pub profile: String,
}

impl Default for Plan {
    fn default() -> Self {
        Self { hosts: 200, at_rest: 1000, seconds: 120, rounds: 1, profile: "release".to_owned() }
    }
}

/// What one operator took in one round.
#[derive(Debug, Clone)]
pub struct Measured {
    /// Who: one of [`OPERATORS`].
    pub operator: &'static str,
    /// Which round, from 0.
    pub round: usize,
    /// From the creation of all hosts until all are available.
    pub available: Step,
    /// From their deletion until all are gone, and their nodes.
    pub gone: Step,
    /// While nothing happens.
    pub rest: Rest,
}

/// What one step took.
#[derive(Debug, Clone)]
pub struct Step {
    /// By the clock.
    pub took: Duration,
    /// Requests to Ironic.
    pub ironic_requests: usize,
    /// The same by what they ask for.
    pub asked: Asked,
    /// Requests to the API server, but for watches.
    pub api_requests: usize,
    /// Those of them that are meant to change something.
    pub api_writes: usize,
    /// Processor time of the operator.
    pub cpu: Duration,
    /// Processor time of Ironic, API and conductor.
    pub ironic_cpu: Duration,
    /// The most memory that the operator has held so far, in MiB.
    pub peak_memory: f64,
}

/// What it took to do nothing.
#[derive(Debug, Clone)]
pub struct Rest {
    /// Hosts that were there.
    pub hosts: usize,
    /// Hosts of whose nodes Ironic has told the operator meanwhile.
    pub looked_at: usize,
    /// What it took; `took` is for how long it was looked at.
    pub step: Step,
    /// What the operator holds of memory at the end, in MiB.
    pub memory: f64,
}

impl Rest {
    /// As many in an hour as there were of this.
    #[must_use]
    pub fn per_hour(&self, figure: f64) -> f64 {
        figure / self.step.took.as_secs_f64() * 3600.0
    }

    /// Requests to Ironic in an hour.
    #[must_use]
    pub fn ironic_requests_per_hour(&self) -> f64 {
        self.per_hour(load::number(self.step.ironic_requests))
    }

    /// Requests to the API server in an hour.
    #[must_use]
    pub fn api_requests_per_hour(&self) -> f64 {
        self.per_hour(load::number(self.step.api_requests))
    }

    /// Seconds of the operator's processor time in an hour.
    #[must_use]
    pub fn cpu_per_hour(&self) -> f64 {
        self.per_hour(self.step.cpu.as_secs_f64())
    }

    /// Seconds of Ironic's processor time in an hour.
    #[must_use]
    pub fn ironic_cpu_per_hour(&self) -> f64 {
        self.per_hour(self.step.ironic_cpu.as_secs_f64())
    }
}

/// Who is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Contender {
    Ironward,
    /// With as many hosts at a time as Ironward, and like it without a limit on requests to the API server. Its manifests have it work on
    /// as many at a time as there are cores, and allow it 20 requests a second.
    BaremetalOperator,
}

const CONTENDERS: [Contender; 2] = [Contender::Ironward, Contender::BaremetalOperator];

/// The names of those that are measured, in their order.
pub const OPERATORS: [&str; 2] = [CONTENDERS[0].name(), CONTENDERS[1].name()];

impl Contender {
    const fn name(self) -> &'static str {
        match self {
            Self::Ironward => "Ironward",
            Self::BaremetalOperator => "baremetal-operator",
        }
    }

    /// The namespace and name of the Lease of whoever reconciles.
    fn lease(self) -> (&'static str, &'static str) {
        match self {
            Self::Ironward => (NAMESPACE, "ironward"),
            Self::BaremetalOperator => ("baremetal-operator-system", "baremetal-operator"),
        }
    }

    /// How long after every host has been looked at for the first time it is at rest: the length of its own round at least.
    fn settling(self) -> Duration {
        match self {
            Self::Ironward => Duration::from_secs(30),
            Self::BaremetalOperator => Duration::from_mins(1),
        }
    }

    /// How often firmware has been asked for, by whoever does that for all hosts when it starts, beside all else. baremetal-operator
    /// does, and writes a FirmwareSchema each time; later it does so every five minutes.
    fn first_looks(self, asked: &Asked) -> Option<usize> {
        match self {
            Self::Ironward => None,
            Self::BaremetalOperator => {
                Some(asked.get("GET /v1/nodes/{node}/bios").copied().unwrap_or_default())
            }
        }
    }
}

/// Builds and downloads all there is to but Ironward, for whoever does not want to wait for that later.
pub fn provide() -> Result<()> {
    control_plane::provide()?;
    operators::provide_hosts()?;
    ironic::provide()
}

/// Measures all of [`OPERATORS`], one after the other in each round, in a network of their own. Needs root.
pub fn measure(plan: &Plan) -> Result<Vec<Measured>> {
    ensure!(!apart::is_skipped(), "baremetal-operator listens on every address");
    ensure!(plan.hosts > 0 && plan.at_rest > 0 && plan.seconds > 0, "there is nothing to measure");
    ensure!(plan.seconds.is_multiple_of(60), "{} s are no whole minutes", plan.seconds);
    provide()?;
    ironward::build(&plan.profile)?;
    // Its kinds are printed by this one.
    ironward::build("dev")?;
    Apart::provide()?.within(|| measure_within(plan))?
}

fn measure_within(plan: &Plan) -> Result<Vec<Measured>> {
    let plane = ControlPlane::start_with(PlaneOptions { audit: true, ..PlaneOptions::default() })?;
    operators::install_host_kinds(&plane)?;
    // Ironward's webhooks want the others too, which are no part of this.
    release::install_kinds(&plane, &["m3c", "m3m", "m3mt", "m3r", "m3rt"])?;
    release::install_kinds(&plane, &release::OWN_KINDS)?;
    let ground = Ground {
        plan,
        objects: Objects::of(&plane, NAMESPACE)?,
        watched: Watched::start(plane.admin_kubeconfig(), &[HOST])?,
        plane: &plane,
    };
    let mut measured = Vec::new();
    for round in 0..plan.rounds {
        for contender in CONTENDERS {
            let said = || format!("{}, round {}", contender.name(), round + 1);
            let (available, gone) = ground.there_and_back(contender).with_context(said)?;
            let rest = ground.at_rest(contender).with_context(said)?;
            let operator = contender.name();
            measured.push(Measured { operator, round, available, gone, rest });
        }
    }
    Ok(measured)
}

/// What all of them have in common.
struct Ground<'a> {
    plan: &'a Plan,
    plane: &'a ControlPlane,
    objects: Objects,
    watched: Watched,
}

impl Ground<'_> {
    fn there_and_back(&self, contender: Contender) -> Result<(Step, Step)> {
        let rack = Rack::start(self.plan.hosts)?;
        let run = Run::start(self, contender, &rack)?;
        let all = usize::from(self.plan.hosts);
        let available = run.step(&format!("{all} hosts are available"), || {
            fleet::create(self.plane, &rack.members(), &spec())?;
            run.until(|| Ok(self.with_state("available")), all)
        })?;
        let gone = run.step(&format!("{all} hosts are gone"), || {
            self.objects.delete_hosts()?;
            run.until(|| Ok(all - self.hosts().min(all)), all)?;
            run.until(|| Ok(all - rack.nodes()?.len().min(all)), all)
        })?;
        run.stop()?;
        self.objects.clear()?;
        Ok((available, gone))
    }

    /// One host is registered by the operator itself, and the others are made like it while it does not run. Whether it believes in
    /// them is seen: they stay as they are, and so do their nodes.
    fn at_rest(&self, contender: Contender) -> Result<Rest> {
        let rack = Rack::start(self.plan.at_rest)?;
        let members = rack.members();
        let (first, others) = members.split_first().context("no hosts")?;
        let all = members.len();
        let run = Run::start(self, contender, &rack)?;
        fleet::create(self.plane, std::slice::from_ref(first), &spec())?;
        run.until(|| Ok(self.with_state("available")), 1)?;
        thread::sleep(CALM);
        run.stop()?;
        let progress = Progress::start(&format!("making {all} hosts of one"));
        self.objects.copy(&rack.ironic, first, others)?;
        self.until_seen(all)?;
        progress.done();
        let (nodes, past) = (rack.nodes()?, self.past());
        ensure!(nodes.len() == all, "{} nodes were made of one, and not {all}", nodes.len());

        rack.counter.forget();
        let before = rack.counter.asked();
        let run = Run::start(self, contender, &rack)?;
        let progress = Progress::start(&format!("{}: {all} hosts are looked at", contender.name()));
        let first_looks = || contender.first_looks(&since(rack.counter.asked(), &before));
        run.until(|| Ok(rack.counter.told_of().min(first_looks().unwrap_or(all))), all)?;
        thread::sleep(contender.settling());
        progress.done();
        rack.counter.forget();
        let step = run.step(&format!("{all} hosts are at rest"), || {
            thread::sleep(Duration::from_secs(self.plan.seconds));
            Ok(())
        })?;
        let looked_at = rack.counter.told_of();
        let memory = load::Process::of(run.process.id()).memory()?;
        run.stop()?;
        self.ensure_nothing_happened(past)?;
        let now = rack.nodes()?;
        let changed = changed(&nodes, &now);
        ensure!(changed.is_empty(), "nodes have changed: {:#?}", &changed[..changed.len().min(3)]);
        self.objects.clear()?;
        Ok(Rest { hosts: all, looked_at, step, memory })
    }

    fn hosts(&self) -> usize {
        self.watched.now(|seen| seen.all(HOST.2, NAMESPACE).count())
    }

    fn with_state(&self, state: &str) -> usize {
        let is_so = |host: &&Value| {
            host["status"]["provisioning"]["state"] == state
                && host["status"]["errorType"].is_null()
        };
        self.watched.now(|seen| seen.all(HOST.2, NAMESPACE).filter(is_so).count())
    }

    fn until_seen(&self, all: usize) -> Result<()> {
        eventually(Duration::from_mins(1), "all hosts are heard of", || {
            let found = self.with_state("available");
            if found == all { Ok(()) } else { Err(found) }
        })
    }

    /// How much has ever been stored of hosts.
    fn past(&self) -> usize {
        self.watched.now(|seen| seen.past(HOST.2, NAMESPACE).count())
    }

    /// No host has been anything but available and well since then.
    fn ensure_nothing_happened(&self, since: usize) -> Result<()> {
        self.watched.now(|seen| {
            let changes = seen.past(HOST.2, NAMESPACE).skip(since);
            let status = |host: &Value| host["status"].clone();
            let other = changes.map(status).find(|status| {
                status["provisioning"]["state"] != "available"
                    || status["operationalStatus"] != "OK"
                    || status["errorType"].is_string()
            });
            other.map_or(Ok(()), |other| bail!("a host was not left in peace: {other:#}"))
        })
    }
}

/// Nodes by their id, as far as they would differ if somebody had done something to them.
type Nodes = BTreeMap<String, Vec<Value>>;

/// An Ironic with machines, and the way to it.
struct Rack {
    ironic: Ironic,
    counter: Counter,
}

impl Rack {
    fn start(machines: u16) -> Result<Self> {
        // It looks at no machine by itself, so that what it uses of the processor is what it is asked to.
        let settings = Settings { machines, power_sync: None, ..Settings::default() };
        let ironic = Ironic::start(&settings)?;
        let counter = Counter::open(ironic.url())?;
        Ok(Self { ironic, counter })
    }

    fn members(&self) -> Vec<Member> {
        let member = |machine: &ironic::Machine| Member {
            name: machine.name.clone(),
            boot_mac: machine.boot_mac.clone(),
            bmc_address: machine.bmc_address(),
            username: machine.credentials.username.clone(),
            password: machine.credentials.password.clone(),
        };
        self.ironic.machines().iter().map(member).collect()
    }

    /// All nodes, and not by the way that is counted.
    fn nodes(&self) -> Result<Nodes> {
        let mut all = BTreeMap::new();
        let mut marker = String::new();
        loop {
            let path = format!("/v1/nodes?detail=true&limit={PAGE}{marker}");
            let page = self.ironic.api().get(&path)?;
            let nodes = page["nodes"].as_array().context("no list of nodes")?;
            for node in nodes {
                let uuid = node["uuid"].as_str().context("a node without an id")?;
                marker = format!("&marker={uuid}");
                let seen = ["name", "provision_state", "power_state", "updated_at", "last_error"];
                all.insert(uuid.to_owned(), seen.map(|field| node[field].clone()).into());
            }
            if nodes.len() < PAGE {
                return Ok(all);
            }
        }
    }

    fn cpu(&self) -> Result<Duration> {
        let processes = self.ironic.processes()?;
        processes.into_iter().map(|id| load::Process::of(id).cpu()).sum()
    }
}

/// What is now and was not, and what was there instead.
fn changed<'a>(before: &'a Nodes, after: &'a Nodes) -> Vec<[Option<&'a Vec<Value>>; 2]> {
    let before_and_now = after.iter().map(|(uuid, node)| [before.get(uuid), Some(node)]);
    before_and_now.filter(|[before, now]| before != now).collect()
}

/// What is the same for all hosts. Without ramdisks: what a machine takes to boot one is the machine's.
fn spec() -> Value {
    json!({"online": false, "inspectionMode": "disabled", "automatedCleaningMode": "disabled"})
}

/// An operator that runs.
struct Run<'a> {
    ground: &'a Ground<'a>,
    rack: &'a Rack,
    contender: Contender,
    process: Process,
    /// Who it is to the API server.
    user: String,
}

impl<'a> Run<'a> {
    /// Starts one, and waits until it reconciles.
    fn start(ground: &'a Ground<'a>, contender: Contender, rack: &'a Rack) -> Result<Self> {
        let (plan, plane) = (ground.plan, ground.plane);
        let (url, ramdisk) = (rack.counter.url(), rack.ironic.ramdisk_url());
        // Neither counts hosts with virtual media, but it is not to be what is measured.
        let limit = plan.hosts.max(plan.at_rest);
        let (process, user) = match contender {
            Contender::Ironward => {
                let flags = vec![
                    "--controllers=host".to_owned(),
                    "--provisioner=ironic".to_owned(),
                    format!("--ironic-url={url}"),
                    format!("--deploy-iso-url={ramdisk}"),
                    format!("--provisioning-limit={limit}"),
                ];
                let profile = Some(plan.profile.clone());
                let options = Options { profile, flags, ..Options::default() };
                let ironward = Ironward::start_with(plane, &options)?;
                ironward.wait_until_ready()?;
                ironward.wait_until_in_force(plane)?;
                (ironward.process, ironward::OWN_NAME.to_owned())
            }
            Contender::BaremetalOperator => {
                let operator = operators::baremetal_operator_with(plane, |command| {
                    command.env("IRONIC_ENDPOINT", format!("{url}/v1/"));
                    command.env("DEPLOY_ISO_URL", ramdisk);
                    command.env("PROVISIONING_LIMIT", limit.to_string());
                    command.env("BMO_CONCURRENCY", AT_ONCE.to_string());
                    command.args(["-kube-api-qps=1000", "-kube-api-burst=2000"]);
                })?;
                (operator.process, operator.user)
            }
        };
        let (namespace, lease) = contender.lease();
        let kubectl = plane.kubectl().in_namespace(namespace);
        eventually(Duration::from_mins(2), "it holds its Lease", || {
            let lease = kubectl.get("lease", lease).map_err(|error| format!("{error:#}"))?;
            let holder = lease["spec"]["holderIdentity"].as_str().unwrap_or_default();
            if holder.is_empty() { Err("nobody does".to_owned()) } else { Ok(()) }
        })
        .with_context(|| process.log_tail())?;
        Ok(Self { ground, rack, contender, process, user })
    }

    fn step(&self, what: &str, work: impl FnOnce() -> Result<()>) -> Result<Step> {
        let progress = Progress::start(&format!("{}: {what}", self.contender.name()));
        let process = load::Process::of(self.process.id());
        let api_before = self.api_requests()?;
        let (begun, before) = (Instant::now(), self.rack.counter.asked());
        let (cpu, ironic_cpu) = (process.cpu()?, self.rack.cpu()?);
        work()?;
        let took = begun.elapsed();
        let asked = since(self.rack.counter.asked(), &before);
        let cpu = process.cpu()?.saturating_sub(cpu);
        let ironic_cpu = self.rack.cpu()?.saturating_sub(ironic_cpu);
        let Requests { all, writes } = self.api_requests()?.since(api_before);
        progress.done();
        Ok(Step {
            took,
            ironic_requests: asked.values().sum(),
            asked,
            api_requests: all,
            api_writes: writes,
            cpu,
            ironic_cpu,
            peak_memory: process.peak_memory()?,
        })
    }

    fn api_requests(&self) -> Result<Requests> {
        requests_of(&self.ground.plane.audit_log(), &[&self.user])
    }

    fn until(&self, count: impl Fn() -> Result<usize>, all: usize) -> Result<()> {
        let name = self.contender.name();
        let (end, mut told) = (Instant::now() + PATIENCE, Instant::now());
        loop {
            let so_far = count()?;
            if so_far >= all {
                return Ok(());
            }
            let ended = self.process.exit_status();
            if ended.is_some() || Instant::now() > end {
                let logs = [self.process.log_tail(), self.rack.ironic.log_tail()].join("\n");
                bail!("{name} got to {so_far} of {all}, and ended: {ended:?}\n{logs}");
            }
            if told.elapsed() > Duration::from_secs(30) {
                told = Instant::now();
                say(&format!("{name}: {so_far} of {all}"));
            }
            thread::sleep(Duration::from_millis(100));
        }
    }

    /// Ends it, so that it lets go of its Lease, and takes its webhooks away, for nobody answers them.
    fn stop(self) -> Result<()> {
        release::stopped(&self.process)?;
        let kubectl = self.ground.plane.kubectl();
        for kind in ["validatingwebhookconfigurations", "mutatingwebhookconfigurations"] {
            kubectl.expect(&["delete", kind, "--all"])?;
        }
        Ok(())
    }
}
