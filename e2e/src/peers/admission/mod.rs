//! Admission: the same rules on the same hosts through the same API server, judged by each in alternation.
//!
//! All of them are there at one time, each for the hosts with its label, and hosts for all of them are created by turns: whatever else
//! the machine does meets all alike. Hosts are created without being stored (`dryRun`): what is measured is the way to the store, and
//! it stays the same.

mod askers;
mod judges;
mod part;

use super::{
    engine::submit,
    figures::{OWN, Part},
    gatekeeper, kyverno,
};
use crate::{
    cel_fuzz::random::Random,
    control_plane::{ControlPlane, Options as PlaneOptions},
    ironward,
    load::{self, Latencies, Process, StandStill, number, reviews},
    operators,
    progress::{Progress, say},
    release::{OWN_KINDS, install_kinds},
};
use anyhow::{Context, Result};
use askers::{ASKED, Askers, CONNECTIONS, STORED, saturate};
use clap::ValueEnum;
use judges::{Bench, Judge};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    thread,
    time::{Duration, Instant},
};

/// Who judges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Contender {
    /// Nobody: what all others are on top of.
    Nothing,
    /// A webhook that accepts everything: what the call alone costs.
    Accepting,
    /// The API server itself, by a ValidatingAdmissionPolicy.
    InTree,
    /// Ironward with these rules and no others.
    Ironward,
    /// Ironward as it is installed: its own policies, defaults and uniqueness, and these rules besides.
    Shipped,
    /// Kyverno.
    Kyverno,
    /// Gatekeeper.
    Gatekeeper,
    /// baremetal-operator's webhook, whose rules are its own.
    BaremetalOperator,
}

impl Contender {
    /// What the report calls it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Accepting => "nothing, by a webhook",
            Self::InTree => "in-tree",
            Self::Ironward => OWN,
            Self::Shipped => "Ironward, with all that it ships",
            Self::Kyverno => "Kyverno",
            Self::Gatekeeper => "Gatekeeper",
            Self::BaremetalOperator => "baremetal-operator",
        }
    }

    /// What hosts have as a label that it is to judge.
    fn label(self) -> &'static str {
        match self {
            Self::Nothing => "nobody",
            Self::Accepting => "accepting",
            Self::InTree => "api-server",
            Self::Ironward => "ironward",
            Self::Shipped => "ironward-shipped",
            Self::Kyverno => "kyverno",
            Self::Gatekeeper => "gatekeeper",
            Self::BaremetalOperator => "baremetal-operator",
        }
    }

    /// Whether it is a webhook with the same rules, or with as many.
    fn is_webhook(self) -> bool {
        match self {
            Self::Accepting
            | Self::Ironward
            | Self::Kyverno
            | Self::Gatekeeper
            | Self::BaremetalOperator => true,
            Self::Nothing | Self::InTree | Self::Shipped => false,
        }
    }

    fn provide(self) -> Result<()> {
        match self {
            Self::Kyverno => kyverno::provide(),
            Self::Gatekeeper => gatekeeper::provide(),
            // Metal3's kinds are there for all, and so is who brings them.
            Self::BaremetalOperator
            | Self::Nothing
            | Self::Accepting
            | Self::InTree
            | Self::Ironward
            | Self::Shipped => Ok(()),
        }
    }

    fn install(self, plane: &ControlPlane) -> Result<()> {
        match self {
            Self::Kyverno => kyverno::install(plane),
            Self::Gatekeeper => gatekeeper::install(plane),
            // The kinds of Metal3 are there for all.
            Self::BaremetalOperator
            | Self::Nothing
            | Self::Accepting
            | Self::InTree
            | Self::Ironward
            | Self::Shipped => Ok(()),
        }
    }
}

/// How much is measured.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Who takes part.
    pub contenders: Vec<Contender>,
    /// How many hosts are stored, one size after the other.
    pub sizes: Vec<usize>,
    /// How often all of it is measured at the size in the middle; at the others it is once.
    pub rounds: usize,
    /// How many hosts are created for each, one after the other, in a round; fewer where the API server is as it comes.
    pub creates: usize,
    /// How long as many as possible are created for each in a round, in seconds.
    pub seconds: u64,
    /// Which of cargo's profiles Ironward is built with.
    pub profile: String,
}

impl Plan {
    /// The size of the fleet that most is told of.
    fn typical(&self) -> usize {
        self.sizes[self.sizes.len() / 2]
    }

    /// How many of the creates of a round are told of together.
    fn part(&self) -> usize {
        (self.creates / PARTS).max(1)
    }

    /// The same where the API server is as it comes.
    fn small_part(&self) -> usize {
        (self.creates / 10).max(1)
    }

    /// Just enough to see that all of it still works, with those who are built in a minute.
    #[must_use]
    pub fn short(profile: &str) -> Self {
        let contenders = vec![
            Contender::Nothing,
            Contender::Accepting,
            Contender::InTree,
            Contender::Ironward,
            Contender::Shipped,
            Contender::BaremetalOperator,
        ];
        let (sizes, profile) = (vec![10, 20], profile.to_owned());
        Self { contenders, sizes, rounds: 1, creates: 50, seconds: 1, profile }
    }
}

/// What was measured of one of them among so many hosts.
#[derive(Debug, Clone, Default)]
struct Measured {
    ready: Option<f64>,
    memory: Option<f64>,
    rounds: Vec<Round>,
}

/// What one of them took in one round.
#[derive(Debug, Clone, Default)]
struct Round {
    /// Of each part of it.
    times: Vec<Times>,
    /// At the size that most is told of.
    limit: Option<Limit>,
    alone: Option<Alone>,
}

/// What as many creates as possible take, of processors by the thousand.
#[derive(Debug, Clone)]
struct Limit {
    /// In a second, of each slice.
    throughput: Vec<f64>,
    cpu: Option<f64>,
    server_cpu: f64,
}

/// What a create takes, in milliseconds.
#[derive(Debug, Clone, Copy)]
struct Times {
    p50: f64,
    p99: f64,
}

impl Times {
    fn of(latencies: &Latencies) -> Self {
        let quantile = |per_mille| latencies.quantile(per_mille).as_secs_f64() * 1e3;
        Self { p50: quantile(500), p99: quantile(990) }
    }
}

/// What a webhook takes when it is asked directly, and nobody else has anything to do.
#[derive(Debug, Clone, Copy)]
struct Alone {
    throughput: f64,
    cpu: f64,
    p99: f64,
    memory: f64,
}

/// All that was measured.
#[derive(Debug, Default)]
struct All {
    /// Where the API server is in nobody's way, a figure for each part of a round.
    undisturbed: BTreeMap<Contender, Vec<Times>>,
    /// At each size.
    among: BTreeMap<(usize, Contender), Measured>,
    remarks: Vec<String>,
}

const WARM_UP: usize = 20;
/// Parts of a round of creates whose times are told apart: a machine that others share is now and then slow for a while, and the part in
/// the middle is not touched by that.
const PARTS: usize = 4;
/// For how long one of them is at its limit before it is another's turn, in milliseconds.
const SLICE: u64 = 500;
/// So much garbage that the API server clears up once in some thousand requests and not in some hundred.
const GARBAGE: u16 = 1600;

/// Builds and downloads ahead what takes long, and says of whom that was not possible and why.
#[must_use]
pub fn provide(contenders: &[Contender]) -> BTreeMap<Contender, String> {
    let tried = contenders.iter().map(|it| (*it, it.provide()));
    tried.filter_map(|(it, result)| Some((it, format!("{:#}", result.err()?)))).collect()
}

/// Measures all that can be measured.
pub fn measure(plan: &Plan, missing: &BTreeMap<Contender, String>) -> Result<Part> {
    let begun = Instant::now();
    let is_missing = |(it, why): (&Contender, &String)| {
        format!("{} could not be built, and is missing: {why}", it.name())
    };
    let mut all = All { remarks: missing.iter().map(is_missing).collect(), ..All::default() };
    let contenders: Vec<_> =
        plan.contenders.iter().copied().filter(|it| !missing.contains_key(it)).collect();
    undisturbed(plan, &contenders, &mut all)?;
    let mut stage = Stage::new(plan, ControlPlane::start()?, &contenders, &mut all.remarks)?;
    for size in &plan.sizes {
        stage.fill(*size)?;
        stage.among(*size, &mut all)?;
    }
    let mut part = part::part(plan, &contenders, all);
    part.took = begun.elapsed().as_secs_f64();
    Ok(part)
}

/// Times where the API server has cores of its own, as in a cluster, and seldom clears up its memory: else the slowest creates are those
/// that fall together with that, whoever judges them.
fn undisturbed(plan: &Plan, contenders: &[Contender], all: &mut All) -> Result<()> {
    let cores = thread::available_parallelism()?.get();
    load::hold_to(0..(cores / 2).max(1))?;
    let options = PlaneOptions { garbage: Some(GARBAGE), ..PlaneOptions::default() };
    let plane = ControlPlane::start_with(options)?;
    load::hold_to((cores / 2)..cores)?;
    let mut stage = Stage::new(plan, plane, contenders, &mut all.remarks)?;
    stage.fill(plan.typical())?;
    let judges = stage.start(plan.typical(), &mut all.remarks)?;
    let progress = Progress::start("creating hosts in alternation");
    for _ in 0..plan.rounds * PARTS {
        for (contender, latencies) in stage.in_alternation(&judges, plan.part())? {
            all.undisturbed.entry(contender).or_default().push(Times::of(&latencies));
        }
    }
    progress.done();
    stage.bench.end(judges)?;
    load::hold_to(0..cores)
}

struct Stage<'a> {
    plan: &'a Plan,
    bench: Bench,
    askers: Askers,
    contenders: Vec<Contender>,
    stored: usize,
}

impl<'a> Stage<'a> {
    /// With those who can be installed; the others are said to be missing.
    fn new(
        plan: &'a Plan,
        plane: ControlPlane,
        contenders: &[Contender],
        remarks: &mut Vec<String>,
    ) -> Result<Self> {
        operators::install_kinds(&plane)?;
        install_kinds(&plane, &OWN_KINDS)?;
        for namespace in [STORED, ASKED] {
            plane.kubectl().expect(&["create", "namespace", namespace])?;
        }
        let mut installed = Vec::new();
        for contender in contenders {
            match contender.install(&plane) {
                Ok(()) => installed.push(*contender),
                Err(error) => {
                    remarks.push(format!("{} could not be installed: {error:#}", contender.name()));
                }
            }
        }
        let askers = Askers::new(&plane, &installed)?;
        let bench = Bench::new(plane, &plan.profile)?;
        Ok(Self { plan, bench, askers, contenders: installed, stored: 0 })
    }

    /// Has so many hosts stored. Nobody judges them, and nobody is to do anything about them.
    fn fill(&mut self, size: usize) -> Result<()> {
        let progress = Progress::start(&format!("storing {size} hosts"));
        self.askers.store(self.stored..size)?;
        self.stored = self.stored.max(size);
        progress.done();
        Ok(())
    }

    /// Starts all of them; who cannot be started is left out, and said to be.
    fn start(&self, size: usize, remarks: &mut Vec<String>) -> Result<Vec<Judge>> {
        let mut judges = Vec::new();
        for contender in &self.contenders {
            let what = format!("{} is started among {size} hosts", contender.name());
            let progress = Progress::start(&what);
            match self.bench.start(*contender) {
                Ok(judge) => judges.push(judge),
                Err(error) => {
                    say(&format!("{what}: {error:#}"));
                    remarks.push(format!("{what}: not measured: {error:#}"));
                }
            }
            progress.done();
        }
        self.bench.ensure_apart(&judges)?;
        let processes: Vec<_> = judges.iter().filter_map(|it| Some(it.engine()?.0)).collect();
        load::settle(&processes)?;
        Ok(judges)
    }

    /// Measures all of them among so many hosts.
    fn among(&self, size: usize, all: &mut All) -> Result<()> {
        let judges = self.start(size, &mut all.remarks)?;
        for judge in &judges {
            let memory = judge.engine().map(|(process, _)| process.memory()).transpose()?;
            let it = Measured { ready: judge.ready(), memory, rounds: Vec::new() };
            all.among.insert((size, judge.contender), it);
        }
        let is_typical = size == self.plan.typical();
        let rounds = if is_typical { self.plan.rounds } else { 1 };
        for round in 0..rounds {
            let what = format!("{size} hosts, round {}", round + 1);
            let progress = Progress::start(&what);
            for (contender, it) in self.round(&judges, is_typical)? {
                say(&format!("{}, {what}: {it:?}", contender.name()));
                all.among.entry((size, contender)).or_default().rounds.push(it);
            }
            progress.done();
        }
        self.bench.end(judges)
    }

    fn in_alternation(
        &self,
        judges: &[Judge],
        count: usize,
    ) -> Result<BTreeMap<Contender, Latencies>> {
        let contenders: Vec<_> = judges.iter().map(|it| it.contender).collect();
        self.askers.in_alternation(&contenders, WARM_UP)?;
        self.askers.in_alternation(&contenders, count)
    }

    fn round(&self, judges: &[Judge], is_typical: bool) -> Result<Vec<(Contender, Round)>> {
        let (parts, count) =
            if is_typical { (PARTS, self.plan.small_part()) } else { (1, self.plan.part()) };
        let mut times: BTreeMap<Contender, Vec<Times>> = BTreeMap::new();
        for _ in 0..parts {
            for (contender, latencies) in self.in_alternation(judges, count)? {
                times.entry(contender).or_default().push(Times::of(&latencies));
            }
        }
        let limits = if is_typical { self.at_limit(judges)? } else { Vec::new() };
        let of = |(number, judge): (usize, &Judge)| {
            let alone = judge.engine().map(|(process, url)| self.alone(judge, url, process));
            let round = Round {
                times: times.get(&judge.contender).context("nobody was asked")?.clone(),
                limit: limits.get(number).cloned(),
                alone: alone.transpose()?,
            };
            Ok((judge.contender, round))
        };
        judges.iter().enumerate().map(of).collect()
    }

    /// Each at its limit, a slice at a time and by turns.
    fn at_limit(&self, judges: &[Judge]) -> Result<Vec<Limit>> {
        let server = self.bench.plane.processes().get(1).context("there is no API server")?;
        let server = Process::of(server.id());
        let mut spent = vec![Spent::default(); judges.len()];
        let mut order: Vec<_> = (0..judges.len()).collect();
        let mut random = Random::new(0, 0);
        for _ in 0..(self.plan.seconds * 1000).div_ceil(SLICE) {
            random.shuffle(&mut order);
            for which in &order {
                let (judge, spent) = (&judges[*which], &mut spent[*which]);
                let process = judge.engine().map(|it| it.0);
                let before = (process.map(Process::cpu).transpose()?, server.cpu()?);
                let begun = Instant::now();
                let created = self.askers.at_once(judge.contender, Duration::from_millis(SLICE))?;
                spent.created += created;
                spent.throughput.push(number(created) / begun.elapsed().as_secs_f64());
                spent.server_cpu += server.cpu()?.saturating_sub(before.1);
                if let (Some(process), Some(before)) = (process, before.0) {
                    *spent.cpu.get_or_insert_default() += process.cpu()?.saturating_sub(before);
                }
            }
        }
        Ok(spent.into_iter().map(Spent::limit).collect())
    }

    /// Asks a webhook directly, while the API server stands still, which in a cluster has cores of its own.
    fn alone(&self, judge: &Judge, url: &str, process: Process) -> Result<Alone> {
        let review = reviews()?.into_iter().find(|it| it.name == "validate a create");
        let review = review.context("there is no such review")?.body;
        let mut review: Value = serde_json::from_slice(&review)?;
        submit(&mut review["request"]["object"], judge.contender.label());
        let body = review.to_string().into_bytes();
        let clients = load::clients(&self.bench.plane, CONNECTIONS)?;
        let ask = |number: usize| {
            let (client, body) = (clients[number % CONNECTIONS].clone(), body.clone());
            async move { load::ask(&client, url, body).await }
        };
        let span = Duration::from_secs(self.plan.seconds);
        let runtime = &self.askers.runtime;
        runtime.block_on(saturate(&ask, Duration::from_millis(500)))?;
        let stillness = StandStill::of(&self.bench.plane)?;
        let (begun, before) = (Instant::now(), process.cpu()?);
        let latencies = runtime.block_on(saturate(&ask, span))?;
        let (took, cpu) = (begun.elapsed(), process.cpu()?.saturating_sub(before));
        drop(stillness);
        let answered = number(latencies.count());
        Ok(Alone {
            throughput: answered / took.as_secs_f64(),
            cpu: cpu.as_secs_f64() * 1e6 / answered,
            p99: latencies.quantile(990).as_secs_f64() * 1e3,
            memory: process.memory()?,
        })
    }
}

/// What was done at somebody's limit, and what it took.
#[derive(Debug, Clone, Default)]
struct Spent {
    created: usize,
    throughput: Vec<f64>,
    cpu: Option<Duration>,
    server_cpu: Duration,
}

impl Spent {
    fn limit(self) -> Limit {
        let per_thousand = |cpu: Duration| cpu.as_secs_f64() * 1e3 / number(self.created) * 1e3;
        Limit {
            throughput: self.throughput,
            cpu: self.cpu.map(per_thousand),
            server_cpu: per_thousand(self.server_cpu),
        }
    }
}

/// Has Ironward built ahead, and downloads the kinds that all of them work with.
pub fn build(profile: &str) -> Result<()> {
    operators::provide()?;
    ironward::build(profile)?;
    // Its definitions are printed by the one for tests.
    ironward::build("dev")
}
