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
    control_plane::ControlPlane,
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
    /// How many hosts are created for each, one after the other, in a round.
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
#[derive(Debug, Clone, Copy)]
struct Round {
    p50: f64,
    p99: f64,
    throughput: f64,
    cpu: Option<f64>,
    server_cpu: f64,
    alone: Option<Alone>,
}

/// What a webhook takes when it is asked directly, and nobody else has anything to do.
#[derive(Debug, Clone, Copy)]
struct Alone {
    throughput: f64,
    cpu: f64,
    p99: f64,
    memory: f64,
}

/// Of each, at each size.
type All = BTreeMap<(usize, Contender), Measured>;

const WARM_UP: usize = 50;

/// Builds and downloads ahead what takes long, and says of whom that was not possible and why.
#[must_use]
pub fn provide(contenders: &[Contender]) -> BTreeMap<Contender, String> {
    let tried = contenders.iter().map(|it| (*it, it.provide()));
    tried.filter_map(|(it, result)| Some((it, format!("{:#}", result.err()?)))).collect()
}

/// Measures all that can be measured.
pub fn measure(plan: &Plan, missing: &BTreeMap<Contender, String>) -> Result<Part> {
    let begun = Instant::now();
    let plane = ControlPlane::start()?;
    operators::install_kinds(&plane)?;
    install_kinds(&plane, &OWN_KINDS)?;
    for namespace in [STORED, ASKED] {
        plane.kubectl().expect(&["create", "namespace", namespace])?;
    }
    let mut remarks: Vec<_> = missing
        .iter()
        .map(|(it, why)| format!("{} could not be built, and is missing: {why}", it.name()))
        .collect();
    let mut contenders = Vec::new();
    for contender in plan.contenders.iter().filter(|it| !missing.contains_key(it)) {
        match contender.install(&plane) {
            Ok(()) => contenders.push(*contender),
            Err(error) => {
                remarks.push(format!("{} could not be installed: {error:#}", contender.name()));
            }
        }
    }
    let askers = Askers::new(&plane, &contenders)?;
    let mut stage = Stage { plan, askers, bench: Bench::new(plane, &plan.profile)?, stored: 0 };
    let mut all = All::new();
    for size in &plan.sizes {
        stage.fill(*size)?;
        let measured = stage.among(*size, &contenders, &mut remarks)?;
        all.extend(measured.into_iter().map(|(contender, it)| ((*size, contender), it)));
    }
    let mut part = part::part(plan, &contenders, &all);
    part.remarks.extend(remarks);
    part.took = begun.elapsed().as_secs_f64();
    Ok(part)
}

struct Stage<'a> {
    plan: &'a Plan,
    bench: Bench,
    askers: Askers,
    stored: usize,
}

impl Stage<'_> {
    /// Has so many hosts stored. Nobody judges them, and nobody is to do anything about them.
    fn fill(&mut self, size: usize) -> Result<()> {
        let progress = Progress::start(&format!("storing {size} hosts"));
        self.askers.store(self.stored..size)?;
        self.stored = self.stored.max(size);
        progress.done();
        Ok(())
    }

    /// Measures all of them among so many hosts; who cannot be started is left out, and said to be.
    fn among(
        &self,
        size: usize,
        contenders: &[Contender],
        remarks: &mut Vec<String>,
    ) -> Result<BTreeMap<Contender, Measured>> {
        let mut judges = Vec::new();
        for contender in contenders {
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
        let mut measured = BTreeMap::new();
        for judge in &judges {
            let process = judge.engine().map(|it| it.0);
            process.map_or(Ok(()), settle)?;
            let memory = process.map(Process::memory).transpose()?;
            let it = Measured { ready: judge.ready(), memory, rounds: Vec::new() };
            measured.insert(judge.contender, it);
        }
        let rounds = if size == self.plan.typical() { self.plan.rounds } else { 1 };
        for round in 0..rounds {
            let what = format!("{size} hosts, round {}", round + 1);
            let progress = Progress::start(&what);
            for (contender, it) in self.round(&judges)? {
                say(&format!("{}, {what}: {it:?}", contender.name()));
                measured.entry(contender).or_default().rounds.push(it);
            }
            progress.done();
        }
        self.bench.end(judges)?;
        Ok(measured)
    }

    fn round(&self, judges: &[Judge]) -> Result<Vec<(Contender, Round)>> {
        let contenders: Vec<_> = judges.iter().map(|it| it.contender).collect();
        self.askers.in_alternation(&contenders, WARM_UP)?;
        let latencies = self.askers.in_alternation(&contenders, self.plan.creates)?;
        let of = |judge: &Judge| {
            let latencies = latencies.get(&judge.contender).cloned().unwrap_or_default();
            Ok((judge.contender, self.judged(judge, &latencies)?))
        };
        judges.iter().map(of).collect()
    }

    /// One of them at its limit, and what it takes for that.
    fn judged(&self, judge: &Judge, latencies: &Latencies) -> Result<Round> {
        let engine = judge.engine();
        let process = engine.map(|it| it.0);
        let server = self.bench.plane.processes().get(1).context("there is no API server")?;
        let server = Process::of(server.id());
        let before = (process.map(Process::cpu).transpose()?, server.cpu()?);
        let begun = Instant::now();
        let span = Duration::from_secs(self.plan.seconds);
        let created = self.askers.at_once(judge.contender, span)?;
        let took = begun.elapsed();
        let per_thousand = |before: Duration, after: Duration| {
            after.saturating_sub(before).as_secs_f64() * 1e3 / number(created) * 1e3
        };
        let server_cpu = per_thousand(before.1, server.cpu()?);
        let cpu = match (process, before.0) {
            (Some(process), Some(before)) => Some(per_thousand(before, process.cpu()?)),
            _ => None,
        };
        let alone = engine.map(|(process, url)| self.alone(judge, url, process)).transpose()?;
        Ok(Round {
            p50: latencies.quantile(500).as_secs_f64() * 1e3,
            p99: latencies.quantile(990).as_secs_f64() * 1e3,
            throughput: number(created) / took.as_secs_f64(),
            cpu,
            server_cpu,
            alone,
        })
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

/// Waits until a process has done what it does when it starts: nearly nothing for two seconds in a row, a minute at most.
fn settle(process: Process) -> Result<()> {
    let end = Instant::now() + Duration::from_mins(1);
    let mut calm = 0;
    while calm < 2 && Instant::now() < end {
        let before = process.cpu()?;
        std::thread::sleep(Duration::from_secs(1));
        let spent = process.cpu()?.saturating_sub(before);
        calm = if spent < Duration::from_millis(50) { calm + 1 } else { 0 };
    }
    Ok(())
}

/// Has Ironward built ahead, and downloads the kinds that all of them work with.
pub fn build(profile: &str) -> Result<()> {
    operators::provide()?;
    ironward::build(profile)?;
    // Its definitions are printed by the one for tests.
    ironward::build("dev")
}
