//! Hosts to which nothing happens, and then some more that come to them: fleets of several sizes and of both operators, each on a
//! control plane, an Ironic and a network of its own. They rest at the same time, for that costs hardly anything but time; what
//! costs more is done by one after the other.

use super::{
    CONTENDERS, Contender, Ground, NAMESPACE, Nodes, Plan, Rack, Run, Step, copies::HOST,
    counter::since, spec,
};
use crate::{
    eventually::eventually, fleet, load, node::apart::Apart, progress::Progress, requests::Requests,
};
use anyhow::{Context, Result, anyhow, bail, ensure};
use serde_json::Value;
use std::{
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

/// Until what an operator was woken for last is over.
const CALM: Duration = Duration::from_secs(10);
/// How often Ironward looks at each host though nothing has happened, in an hour.
const LOOKS: f64 = 6.0;
/// How soon the audit log is read again, which takes a while.
const GLANCE: Duration = Duration::from_secs(2);

/// What a fleet took while nothing happened to it, and then some hosts more.
#[derive(Debug, Clone)]
pub struct Rest {
    /// Who: one of [`OPERATORS`](super::OPERATORS).
    pub operator: &'static str,
    /// Hosts that were there.
    pub hosts: usize,
    /// Hosts of whose nodes Ironic has told the operator meanwhile.
    pub looked_at: usize,
    /// What it took; `took` is for how long it was looked at.
    pub step: Step,
    /// Of an operator that looks at each host so seldom that none comes in that time.
    pub look: Option<Look>,
    /// What the operator holds of memory at the end, in MiB.
    pub memory: f64,
    /// From the creation of some hosts more until they are available.
    pub added: Step,
}

/// What it took to start and to look at each host once.
#[derive(Debug, Clone, Copy)]
pub struct Look {
    /// Requests to the API server that ask for something. Nothing is written about a host to which nothing happens.
    pub api_reads: usize,
    /// Processor time of the operator.
    pub cpu: Duration,
}

impl Rest {
    /// Requests to Ironic in an hour. None are for the looks, which are at what it has told of all nodes.
    #[must_use]
    pub fn ironic_requests_per_hour(&self) -> f64 {
        self.per_hour(load::number(self.step.ironic_requests))
    }

    /// Requests to the API server in an hour.
    #[must_use]
    pub fn api_requests_per_hour(&self) -> f64 {
        let looks = self.look.map_or(0.0, |it| load::number(it.api_reads) * LOOKS);
        self.per_hour(load::number(self.step.api_requests)) + looks
    }

    /// Seconds of the operator's processor time in an hour.
    #[must_use]
    pub fn cpu_per_hour(&self) -> f64 {
        let looks = self.look.map_or(0.0, |it| it.cpu.as_secs_f64() * LOOKS);
        self.per_hour(self.step.cpu.as_secs_f64()) + looks
    }

    /// Seconds of Ironic's processor time in an hour.
    #[must_use]
    pub fn ironic_cpu_per_hour(&self) -> f64 {
        self.per_hour(self.step.ironic_cpu.as_secs_f64())
    }

    fn per_hour(&self, figure: f64) -> f64 {
        figure / self.step.took.as_secs_f64() * 3600.0
    }
}

/// Measures all fleets.
pub(super) fn measure(plan: &Plan) -> Result<Vec<Rest>> {
    let fleets = fleets(plan);
    let meeting = Meeting { fleets: fleets.len(), ..Meeting::default() };
    let measured = thread::scope(|scope| {
        let of = |(turn, fleet): (usize, &Fleet)| {
            let (fleet, meeting) = (*fleet, &meeting);
            scope.spawn(move || {
                let mut absence = Absence { meeting, is_excused: false };
                let measured = Apart::provide()?.within(|| fleet.measure(plan, meeting, turn))?;
                absence.is_excused = measured.is_ok();
                measured.with_context(|| fleet.name())
            })
        };
        let threads: Vec<_> = fleets.iter().enumerate().map(of).collect();
        let ended = threads.into_iter().map(|it| it.join().map_err(|_| anyhow!("a panic"))?);
        ended.collect::<Vec<Result<Rest>>>()
    });
    // Whoever failed says more than those who then waited in vain.
    let in_vain = |it: &Result<Rest>| matches!(it, Err(error) if error.is::<InVain>());
    let (in_vain, others): (Vec<_>, Vec<_>) = measured.into_iter().partition(in_vain);
    others.into_iter().chain(in_vain).collect()
}

/// Those of whom most is asked first: what the others take then is not to be disturbed by them.
fn fleets(plan: &Plan) -> Vec<Fleet> {
    let mut sizes: Vec<_> = plan.sizes.iter().copied().chain([plan.at_rest]).collect();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    sizes.dedup();
    let of = |contender: Contender| sizes.iter().map(move |size| Fleet { contender, size: *size });
    let all = CONTENDERS.into_iter().rev().flat_map(of);
    all.filter(|it| it.contender == Contender::Ironward || it.size <= plan.at_rest).collect()
}

#[derive(Debug, Clone, Copy)]
struct Fleet {
    contender: Contender,
    size: u16,
}

impl Fleet {
    fn name(self) -> String {
        format!("{}, {} hosts", self.contender.name(), self.size)
    }

    /// One host is registered by the operator itself, and the others are made like it while it does not run. Whether it believes in
    /// them is seen: they stay as they are, and so do their nodes.
    fn measure(self, plan: &Plan, meeting: &Meeting, turn: usize) -> Result<Rest> {
        let Self { contender, size } = self;
        let (ground, rack) = (Ground::new(&plan.profile)?, Rack::start(size + plan.few)?);
        let (members, all) = (rack.members(), usize::from(size));
        let (members, few) = members.split_at(all);
        let (first, others) = members.split_first().context("no hosts")?;
        let run = Run::start(&ground, contender, &rack)?;
        let user = run.user.clone();
        fleet::create(&ground.plane, std::slice::from_ref(first), &spec())?;
        run.until(|| Ok(ground.with_state("available")), 1)?;
        thread::sleep(CALM);
        run.stop()?;
        let progress = Progress::start(&format!("{}: making them of one", self.name()));
        ground.objects.copy(&rack.ironic, first, others)?;
        ground.until_seen(all)?;
        let (nodes, past, claims) = (rack.nodes()?, ground.past(), ground.objects.claims()?);
        ensure!(nodes.len() == all, "{} nodes were made of one, and not {all}", nodes.len());
        progress.done();
        meeting.meet()?;

        let progress = Progress::start(&format!("{}: they are looked at", self.name()));
        rack.counter.forget();
        let before = (rack.counter.asked(), ground.requests_of(&user)?);
        let run = Run::start(&ground, contender, &rack)?;
        let reads = || {
            let Requests { all, writes } = run.api_requests()?.since(before.1);
            anyhow::Ok(all - writes)
        };
        match contender {
            // A host and its Secret.
            Contender::Ironward => {
                run.until(|| Ok(rack.counter.told_of()), all)?;
                run.until_every(GLANCE, || Ok(reads()? / 2), all)?;
            }
            // Beside all else it asks for the firmware of each, and writes a FirmwareSchema each time; later it does so every five minutes.
            Contender::BaremetalOperator => {
                let firmware = || {
                    let asked = since(rack.counter.asked(), &before.0);
                    asked.get("GET /v1/nodes/{node}/bios").copied().unwrap_or_default()
                };
                run.until(|| Ok(rack.counter.told_of().min(firmware())), all)?;
            }
        }
        thread::sleep(contender.settling());
        let process = load::Process::of(run.process.id());
        let look = Look { api_reads: reads()?, cpu: process.cpu()? };
        progress.done();
        meeting.meet()?;

        rack.counter.forget();
        let step = run.step(&format!("{all} hosts are at rest"), || {
            thread::sleep(Duration::from_secs(plan.seconds));
            Ok(())
        })?;
        let looked_at = rack.counter.told_of();
        let memory = process.memory()?;
        ground.ensure_nothing_happened(past)?;
        let now = rack.nodes()?;
        let changed = changed(&nodes, &now);
        ensure!(changed.is_empty(), "nodes have changed: {:#?}", &changed[..changed.len().min(3)]);
        ensure!(ground.objects.claims()? == claims, "the claims are not those that were copied");
        meeting.meet()?;

        meeting.wait_for_turn(turn)?;
        let added = run.step(&format!("{} hosts come to {all}", few.len()), || {
            fleet::create(&ground.plane, few, &spec())?;
            run.until(|| Ok(ground.with_state("available")), all + few.len())
        })?;
        run.stop()?;
        meeting.end_turn();
        let look = contender.looks_seldom().then_some(look);
        Ok(Rest { operator: contender.name(), hosts: all, looked_at, step, look, memory, added })
    }
}

impl Contender {
    /// How long after every host has been looked at for the first time it is at rest: the length of its own round at least.
    fn settling(self) -> Duration {
        match self {
            Self::Ironward => Duration::from_secs(30),
            Self::BaremetalOperator => Duration::from_mins(1),
        }
    }

    /// Whether it looks at each host less often than once in the time in which hosts are at rest.
    fn looks_seldom(self) -> bool {
        match self {
            Self::Ironward => true,
            Self::BaremetalOperator => false,
        }
    }
}

impl Ground {
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

/// What is now and was not, and what was there instead.
fn changed<'a>(before: &'a Nodes, after: &'a Nodes) -> Vec<[Option<&'a Vec<Value>>; 2]> {
    let before_and_now = after.iter().map(|(uuid, node)| [before.get(uuid), Some(node)]);
    before_and_now.filter(|[before, now]| before != now).collect()
}

/// Where fleets wait for each other.
#[derive(Default)]
struct Meeting {
    fleets: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// How often somebody has come.
    arrived: usize,
    /// How many had their turn.
    turns: usize,
    /// Somebody will not come any more.
    is_off: bool,
}

#[derive(Debug, thiserror::Error)]
#[error("another fleet could not be measured")]
struct InVain;

impl Meeting {
    /// Waits for all others.
    fn meet(&self) -> Result<()> {
        let mut state = self.lock();
        state.arrived += 1;
        let all = state.arrived.div_ceil(self.fleets) * self.fleets;
        self.changed.notify_all();
        self.wait(state, |it| it.arrived >= all)
    }

    /// Waits until so many have had theirs.
    fn wait_for_turn(&self, turn: usize) -> Result<()> {
        self.wait(self.lock(), |it| it.turns >= turn)
    }

    fn end_turn(&self) {
        self.lock().turns += 1;
        self.changed.notify_all();
    }

    fn wait(&self, state: MutexGuard<'_, State>, is_so: impl Fn(&State) -> bool) -> Result<()> {
        let state = self.changed.wait_while(state, |it| !is_so(it) && !it.is_off);
        let state = state.unwrap_or_else(PoisonError::into_inner);
        if is_so(&state) { Ok(()) } else { Err(InVain.into()) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Has nobody wait for a fleet that failed.
struct Absence<'a> {
    meeting: &'a Meeting,
    is_excused: bool,
}

impl Drop for Absence<'_> {
    fn drop(&mut self) {
        if !self.is_excused {
            self.meeting.lock().is_off = true;
            self.meeting.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fleets_wait_for_each_other_take_turns_and_wait_for_nobody_who_failed() {
        let meeting = Meeting { fleets: 2, ..Meeting::default() };
        let order = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for turn in [1, 0] {
                let (meeting, order) = (&meeting, &order);
                scope.spawn(move || {
                    meeting.meet().unwrap();
                    meeting.meet().unwrap();
                    meeting.wait_for_turn(turn).unwrap();
                    order.lock().unwrap().push(turn);
                    meeting.end_turn();
                });
            }
        });
        assert_eq!(*order.lock().unwrap(), [0, 1]);
        drop(Absence { meeting: &meeting, is_excused: true });
        meeting.wait_for_turn(2).unwrap();
        drop(Absence { meeting: &meeting, is_excused: false });
        assert!(meeting.meet().unwrap_err().is::<InVain>());
    }

    #[test]
    fn those_of_whom_most_is_asked_come_first_and_no_fleet_is_too_large() {
        let plan = Plan {
            hosts: 1,
            at_rest: 20,
            sizes: vec![10, 20, 100],
            few: 1,
            seconds: 60,
            rounds: 1,
            profile: String::new(),
        };
        let found: Vec<_> = fleets(&plan).into_iter().map(Fleet::name).collect();
        let expected = [
            "baremetal-operator, 20 hosts",
            "baremetal-operator, 10 hosts",
            "Ironward, 100 hosts",
            "Ironward, 20 hosts",
            "Ironward, 10 hosts",
        ];
        assert_eq!(found, expected);
    }
}
