//! What hosts cost an operator, its Ironic and its API server: Ironward, and Metal3's baremetal-operator on the same ground.
//!
//! All of them have the same API server, an Ironic each that knows nothing yet, and the same machines. What is asked of Ironic is
//! counted on the way to it, and what is asked of the API server in its audit log; neither is an operator's own account.

mod at_rest;
mod copies;
mod counter;
mod part;

pub use at_rest::Rest;
pub use counter::Asked;
pub use part::part;

use super::{AT_ONCE, GARBAGE};
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
/// Ironic gives no more nodes than this in one answer.
const PAGE: usize = 1000;

/// What is measured.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Hosts that are created at once, and deleted at once.
    pub hosts: u16,
    /// Hosts that are looked at while nothing happens to them.
    pub at_rest: u16,
    /// Sizes of fleets in which that is looked at, too, and that some hosts more are brought into. For baremetal-operator only those up to
    /// [`Self::at_rest`].
    pub sizes: Vec<u16>,
    /// How many hosts more those are.
    pub few: u16,
    /// For how long, in whole minutes: baremetal-operator comes to all hosts at about the same time once in a minute, and a part of
    /// one has all of that or nothing of it. Its look at firmware every five minutes is in what takes that long, and else is left out,
    /// in its favour.
    pub seconds: u64,
    /// How often each operator has its turn.
    pub rounds: usize,
    /// Which of cargo's profiles Ironward is built with.
    pub profile: String,
}

/// All that was measured.
#[derive(Debug, Clone)]
pub struct Measured {
    /// Of hosts that come and go.
    pub turns: Vec<Turn>,
    /// Of hosts to which nothing happens.
    pub rests: Vec<Rest>,
}

/// What one operator took in one round for hosts that come and go.
#[derive(Debug, Clone)]
pub struct Turn {
    /// Who: one of [`OPERATORS`].
    pub operator: &'static str,
    /// Which round, from 0.
    pub round: usize,
    /// From the creation of all hosts until all are available.
    pub available: Step,
    /// From their deletion until all are gone, and their nodes.
    pub gone: Step,
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
}

/// Builds and downloads all there is to but Ironward, for whoever does not want to wait for that later.
pub fn provide() -> Result<()> {
    control_plane::provide()?;
    operators::provide_hosts()?;
    ironic::provide()
}

/// Measures all of [`OPERATORS`], in networks of their own: hosts that come and go one after the other in each round, and those at rest
/// at the same time. Needs root.
pub fn measure(plan: &Plan) -> Result<Measured> {
    ensure!(!apart::is_skipped(), "baremetal-operator listens on every address");
    ensure!(plan.hosts > 0 && plan.at_rest > 0 && plan.seconds > 0, "there is nothing to measure");
    ensure!(plan.seconds.is_multiple_of(60), "{} s are no whole minutes", plan.seconds);
    provide()?;
    ironward::build(&plan.profile)?;
    // Its kinds are printed by this one.
    ironward::build("dev")?;
    let turns = Apart::provide()?.within(|| turns(plan))??;
    Ok(Measured { turns, rests: at_rest::measure(plan)? })
}

fn turns(plan: &Plan) -> Result<Vec<Turn>> {
    let ground = Ground::new(&plan.profile)?;
    let mut turns = Vec::new();
    for round in 0..plan.rounds {
        for contender in CONTENDERS {
            let said = || format!("{}, round {}", contender.name(), round + 1);
            let (available, gone) =
                ground.there_and_back(contender, plan.hosts).with_context(said)?;
            turns.push(Turn { operator: contender.name(), round, available, gone });
        }
    }
    Ok(turns)
}

/// What an operator is put on.
struct Ground {
    plane: ControlPlane,
    objects: Objects,
    watched: Watched,
    /// Which of cargo's profiles Ironward is built with.
    profile: String,
}

impl Ground {
    fn new(profile: &str) -> Result<Self> {
        let options = PlaneOptions { audit: true, garbage: Some(GARBAGE) };
        let plane = ControlPlane::start_with(options)?;
        operators::install_host_kinds(&plane)?;
        // Ironward's webhooks want the others too, which are no part of this.
        release::install_kinds(&plane, &["m3c", "m3m", "m3mt", "m3r", "m3rt"])?;
        release::install_kinds(&plane, &release::OWN_KINDS)?;
        let objects = Objects::of(&plane, NAMESPACE)?;
        let watched = Watched::start(plane.admin_kubeconfig(), &[HOST])?;
        Ok(Self { plane, objects, watched, profile: profile.to_owned() })
    }

    fn there_and_back(&self, contender: Contender, hosts: u16) -> Result<(Step, Step)> {
        let rack = Rack::start(hosts)?;
        let run = Run::start(self, contender, &rack)?;
        let all = usize::from(hosts);
        let available = run.step(&format!("{all} hosts are available"), || {
            fleet::create(&self.plane, &rack.members(), &spec())?;
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

    /// What somebody has asked of the API server so far.
    fn requests_of(&self, user: &str) -> Result<Requests> {
        requests_of(&self.plane.audit_log(), &[user])
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

/// What is the same for all hosts. Without ramdisks: what a machine takes to boot one is the machine's.
fn spec() -> Value {
    json!({"online": false, "inspectionMode": "disabled", "automatedCleaningMode": "disabled"})
}

/// An operator that runs.
struct Run<'a> {
    ground: &'a Ground,
    rack: &'a Rack,
    contender: Contender,
    process: Process,
    /// Who it is to the API server.
    user: String,
}

impl<'a> Run<'a> {
    /// Starts one, and waits until it reconciles.
    fn start(ground: &'a Ground, contender: Contender, rack: &'a Rack) -> Result<Self> {
        let plane = &ground.plane;
        let (url, ramdisk) = (rack.counter.url(), rack.ironic.ramdisk_url());
        // Neither counts hosts with virtual media, but it is not to be what is measured.
        let limit = rack.ironic.machines().len();
        let (process, user) = match contender {
            Contender::Ironward => {
                let flags = vec![
                    "--controllers=host".to_owned(),
                    "--provisioner=ironic".to_owned(),
                    format!("--ironic-url={url}"),
                    format!("--deploy-iso-url={ramdisk}"),
                    format!("--provisioning-limit={limit}"),
                ];
                let profile = Some(ground.profile.clone());
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
        self.ground.requests_of(&self.user)
    }

    fn until(&self, count: impl Fn() -> Result<usize>, all: usize) -> Result<()> {
        self.until_every(Duration::from_millis(100), count, all)
    }

    fn until_every(
        &self,
        pause: Duration,
        count: impl Fn() -> Result<usize>,
        all: usize,
    ) -> Result<()> {
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
            thread::sleep(pause);
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
