//! A pass: read, decide, write, do one thing, and so on until there is nothing to do for a while.

use std::{sync::Arc, time::Duration};

use anyhow::{Context, Result};
use kube::{Api, Client, ResourceExt, runtime::controller::Action};
use tracing::Instrument;

use super::{ledger::Ledger, metrics::Metrics, observe::Read};
use crate::{
    adapters::{clock, discovery::Forgotten, events::Events, uniqueness::Occupants},
    api::BareMetalHost,
    controllers::host::{
        counted::counted,
        decide,
        machine::Machine,
        observed::{self, Observed, Settings},
        plan::{Plan, Then},
        provisioner::{self, Operation, Outcome, Provisioner},
        slots::Work,
    },
};

/// More steps than any pass has. One that has them is left for a moment, lest it take all the time there is.
const STEPS: usize = 50;
const PAUSE: Duration = Duration::from_secs(5);

pub(super) struct Reconciler {
    pub client: Client,
    pub events: Events,
    pub provisioner: Arc<dyn Provisioner>,
    pub occupants: Option<Arc<Occupants>>,
    pub forgotten: Forgotten,
    pub ledger: Arc<Ledger>,
    pub settings: Settings,
    pub metrics: Metrics,
}

impl Reconciler {
    pub async fn counted_pass(&self, namespace: &str, name: &str) -> Result<Action> {
        self.metrics.metal3.pass(namespace);
        let made = self.metrics.passes.counted(Box::pin(self.pass(namespace, name))).await;
        if made.is_err() {
            self.metrics.metal3.failed_pass();
        }
        made
    }

    async fn pass(&self, namespace: &str, name: &str) -> Result<Action> {
        let api: Api<BareMetalHost> = Api::namespaced(self.client.clone(), namespace);
        let Some(host) = api.get_opt(name).await.context("could not read the host")? else {
            return Ok(Action::await_change());
        };
        // Whatever is told of it, by whomever, is found again by this id.
        let span = tracing::info_span!("host", id = host.uid().unwrap_or_default());
        Box::pin(self.steps(name, host)).instrument(span).await
    }

    async fn steps(&self, name: &str, host: BareMetalHost) -> Result<Action> {
        self.note(&host);
        let mut read = Read::default();
        let mut seen = self.observe(host, &mut read).await?;
        for _ in 0..STEPS {
            let plan = decide(&seen);
            tracing::debug!(host = name, ?plan.then, writes = plan.status.is_some(), "decided");
            if !self.take_slot(&seen, &plan) {
                seen = self.observe(seen.host, &mut read).await?;
                continue;
            }
            let host = match self.write(seen.host.clone(), &plan).await {
                Ok(host) => host,
                Err(error) => {
                    // The slot that was taken for what is not stored is given back.
                    self.note(&seen.host);
                    return Err(error);
                }
            };
            self.metrics.metal3.add(&host, &counted(&seen, &plan));
            match plan.then {
                Then::Await => return Ok(Action::await_change()),
                Then::After(pause) => return Ok(Action::requeue(pause)),
                Then::Again => seen = self.observe(host, &mut read).await?,
                Then::Guard => {
                    let guarded = self.guard(&host).await?;
                    seen = self.observe(guarded, &mut read).await?;
                }
                Then::Release => {
                    self.release(&host).await?;
                    self.metrics.metal3.forget(&host);
                    return Ok(Action::await_change());
                }
                Then::Call(operation) => {
                    if operation.is_grave() && self.has_changed(&host).await? {
                        // Decide by what is wanted now.
                        return Ok(again());
                    }
                    // Who leaves may do so without it.
                    let network = seen.ramdisk_network.clone().unwrap_or_default();
                    let machine = Machine::of(&host, &seen.secret, network);
                    let answer = self.provisioner.perform(&machine, &operation).await;
                    log(name, &operation, &answer);
                    self.metrics.operation(&operation, &answer);
                    seen.done.push((operation, answer));
                    seen.now = clock::now();
                    seen.room = self.ledger.room(&machine.identity.uid, seen.now);
                    seen.host = host;
                }
            }
        }
        Ok(Action::requeue(PAUSE))
    }

    /// Whether somebody has changed it since it was read. An operation may have taken its time.
    async fn has_changed(&self, host: &BareMetalHost) -> Result<bool> {
        let now = self.hosts(host).get_opt(&host.name_any()).await;
        let now = now.context("could not read the host")?;
        Ok(now.and_then(|now| now.metadata.resource_version) != host.metadata.resource_version)
    }

    /// Takes the slot that a plan needs, before it is stored that it is taken. False if somebody else was faster.
    fn take_slot(&self, seen: &Observed, plan: &Plan) -> bool {
        let Some(status) = plan.status.as_ref().filter(|it| observed::holds_slot(it)) else {
            return true;
        };
        let work = observed::state(status).and_then(Work::of);
        let uid = seen.host.uid().unwrap_or_default();
        work.is_none_or(|work| self.ledger.take(&uid, work, seen.now))
    }
}

fn log(host: &str, operation: &Operation, answer: &Result<Outcome, provisioner::Error>) {
    match answer {
        Ok(outcome) => tracing::debug!(host, ?operation, ?outcome, "done"),
        Err(error) => tracing::info!(host, %error, "tried again later"),
    }
}

fn again() -> Action {
    Action::requeue(Duration::ZERO)
}
