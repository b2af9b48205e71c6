//! `Draft`: a plan while it is made. Its status begins as what is stored; what differs in the end is what is written.

use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::{
    conditions::{Question, Why},
    events::{Event, Reason},
    observed::Observed,
    plan::{Plan, Step},
};
use crate::{
    api::metal3machine::Metal3MachineStatus,
    controllers::{
        conditions::{self, Answer},
        events::Reason as _,
    },
};

/// How often the words of a condition may change while its reason stays: the numbers of a shortage change with every host.
const REWORDING: Duration = Duration::from_secs(30);

/// For how long a new machine says nothing of what it waits for.
const MOMENT: Duration = Duration::from_secs(10);

pub(super) struct Draft<'a> {
    pub seen: &'a Observed,
    pub status: Metal3MachineStatus,
    events: Vec<Event>,
}

impl<'a> Draft<'a> {
    pub fn new(seen: &'a Observed) -> Self {
        let status = seen.machine.status.clone().unwrap_or_default();
        Self { seen, status, events: Vec::new() }
    }

    pub fn tell(&mut self, reason: Reason, note: impl Into<String>) {
        let note = note.into();
        debug_assert!(reason.says(&note), "{reason}: not listed: {note}");
        self.events.push(Event { reason, note });
    }

    pub fn answer(&mut self, question: Question, answer: &Answer<Why>) {
        let now = conditions::in_seconds(self.seen.now);
        let generation = self.seen.machine.metadata.generation;
        let question = question.to_string();
        conditions::set(&mut self.status.conditions, &question, answer, generation, now);
    }

    pub fn unask(&mut self, question: Question) {
        conditions::unset(&mut self.status.conditions, &question.to_string());
    }

    /// Something stands in the way of a host: for this reason, in these words.
    pub fn no_host(&mut self, reason: Why, message: impl Into<String>) {
        let answer = Answer::no(reason, message);
        self.answer(Question::AssociateBareMetalHost, &answer);
        self.answer(Question::Ready, &Answer { reason: Why::NotReady, ..answer });
    }

    /// Something is not there yet that others bring. What usually comes in a moment is not worth a write.
    pub fn wait_for_others(mut self, reason: Why, message: &str) -> Plan {
        let metadata = &self.seen.machine.metadata;
        let created = metadata.creation_timestamp.as_ref().map_or(self.seen.now, |it| it.0);
        let age = Duration::try_from(self.seen.now.duration_since(created)).unwrap_or_default();
        match MOMENT.checked_sub(age).filter(|left| !left.is_zero()) {
            Some(left) if self.seen.machine.status.is_none() => self.act(Step::After(left)),
            Some(_) | None => {
                self.no_host(reason, message);
                self.wait(Step::Await)
            }
        }
    }

    pub fn not_ready(&mut self, message: impl Into<String>) {
        self.answer(Question::Ready, &Answer::no(Why::NotReady, message));
    }

    /// A step that does something: what there is to say is said when it is done.
    pub fn act(self, step: Step) -> Plan {
        Plan { step, status: None, events: self.events }
    }

    /// A step that waits, and what is to be seen meanwhile.
    pub fn wait(mut self, step: Step) -> Plan {
        let stored = self.seen.machine.status.clone().unwrap_or_default();
        let differs = self.status != stored;
        if differs && let Some(pause) = self.until_reworded(&stored) {
            return Plan { step: no_later(step, pause), status: None, events: self.events };
        }
        if differs {
            self.status.last_updated = Some(Time(conditions::in_seconds(self.seen.now)));
        }
        Plan { step, status: differs.then(|| Box::new(self.status)), events: self.events }
    }

    /// How long words that say nothing new have to wait.
    fn until_reworded(&self, stored: &Metal3MachineStatus) -> Option<Duration> {
        let last = stored.last_updated.as_ref()?.0;
        let passed = Duration::try_from(self.seen.now.duration_since(last)).ok()?;
        let left = REWORDING.checked_sub(passed).filter(|left| !left.is_zero())?;
        (wordless(&self.status) == wordless(stored)).then_some(left)
    }
}

/// The same wait, but not longer.
fn no_later(step: Step, pause: Duration) -> Step {
    match step {
        Step::Queue(own) => Step::Queue(own.min(pause)),
        Step::After(own) => Step::After(own.min(pause)),
        Step::Await => Step::After(pause),
        Step::Guard(_)
        | Step::Claim(..)
        | Step::Record(_)
        | Step::Provision(_)
        | Step::Follow(_)
        | Step::Identify(_)
        | Step::NameNode { .. }
        | Step::PauseHost(_)
        | Step::ResumeHost(_)
        | Step::Deprovision(_)
        | Step::GiveBack(_)
        | Step::Release(_) => step,
    }
}

fn wordless(status: &Metal3MachineStatus) -> Metal3MachineStatus {
    let mut status = status.clone();
    for condition in status.conditions.iter_mut().flatten() {
        condition.message.clear();
    }
    status
}
