//! A pass: read, decide, do one thing, and so on until there is nothing to do for a while.

use std::{sync::Arc, time::Duration};

use anyhow::{Context, Result};
use kube::{
    Api, Client,
    runtime::{controller::Action, reflector::Store},
};

use super::{Metrics, again, apply::Claim, fleet::Fleet, metrics::How, tell, workload::Workloads};
use crate::{
    adapters::{events::Events, listed::until_listed},
    api::{
        BareMetalHost, Metal3Cluster, Metal3Machine,
        cluster_api::{Cluster, Machine},
    },
    controllers::{
        host_choice::{MachineId, Patience},
        machine::{
            decide,
            observed::{Host, Observed, Settings},
            plan::Step,
        },
    },
};

/// More steps than any pass has. One that has them is left for a moment, lest it take all the time there is.
const STEPS: usize = 30;
const PAUSE: Duration = Duration::from_secs(5);

pub(super) struct Reconciler {
    pub client: Client,
    pub events: Events,
    pub fleet: Arc<Fleet>,
    pub owners: Store<Machine>,
    pub clusters: Store<Cluster>,
    pub infrastructures: Store<Metal3Cluster>,
    pub workloads: Arc<Workloads>,
    pub patience: Patience,
    pub settings: Settings,
    pub metrics: Metrics,
}

/// What a step of this pass has left: read already, or known from no other place.
#[derive(Default)]
pub(super) struct Left {
    pub host: Option<BareMetalHost>,
    pub is_reused: bool,
    pub refusal: Option<String>,
}

impl Reconciler {
    pub async fn counted_pass(&self, namespace: &str, name: &str) -> Result<Action> {
        let action = self.metrics.passes.counted(Box::pin(self.pass(namespace, name))).await;
        self.metrics.waiting(self.fleet.ask(|hosts| hosts.waiting()));
        action
    }

    async fn pass(&self, namespace: &str, name: &str) -> Result<Action> {
        self.wait_until_read().await?;
        let id = MachineId { namespace: namespace.to_owned(), name: name.to_owned() };
        let api: Api<Metal3Machine> = Api::namespaced(self.client.clone(), namespace);
        let found = api.get_opt(name).await.context("could not read the Metal3Machine")?;
        let Some(mut machine) = found else {
            self.fleet.with(|hosts| hosts.leave(&id));
            self.workloads.forget(&id);
            return Ok(Action::await_change());
        };
        let mut left = Left::default();
        for _ in 0..STEPS {
            let seen = Box::pin(self.observe(machine, std::mem::take(&mut left))).await?;
            let plan = decide(&seen);
            tracing::debug!(machine = name, step = ?plan.step, writes = plan.status.is_some(), "decided");
            let is_in_line = matches!(plan.step, Step::Queue(_)) && self.queue(&seen);
            let Observed { machine: stored, host, is_reused, .. } = seen;
            machine = stored;
            left.is_reused = is_reused;
            let is_queueing = matches!(plan.step, Step::Queue(_));
            if is_queueing && !is_in_line {
                continue;
            }
            // Who claims a host leaves the line when it has it.
            if !is_queueing && !matches!(plan.step, Step::Claim(..)) {
                self.fleet.with(|hosts| hosts.leave(&id));
            }
            match &plan.step {
                Step::Guard(patch) | Step::Record(patch) | Step::Identify(patch) => {
                    machine = self.patch_machine(&machine, patch).await?;
                    left.host = host.held();
                }
                Step::Claim(chosen, patch) => match self.claim(&id, chosen, patch).await? {
                    Claim::Stored(host) => {
                        let how = if chosen.is_reused { How::Reused } else { How::Chosen };
                        self.metrics.claim(how);
                        left.host = Some(*host);
                        left.is_reused = chosen.is_reused;
                    }
                    Claim::Outrun => {
                        self.metrics.claim(How::Outrun);
                        continue;
                    }
                    Claim::Refused(why) => {
                        left.refusal = Some(why);
                        continue;
                    }
                },
                Step::Provision(patch)
                | Step::Follow(patch)
                | Step::PauseHost(patch)
                | Step::ResumeHost(patch)
                | Step::Deprovision(patch)
                | Step::GiveBack(patch) => {
                    let Some(host) = host.held() else { return Ok(again()) };
                    left.host = Some(self.patch_host(&host, patch).await?);
                }
                Step::NameNode { node, provider_id } => {
                    self.workloads.name(&machine, node, provider_id).await?;
                    left.host = host.held();
                }
                Step::Release(patch) => {
                    self.patch_machine(&machine, patch).await?;
                    self.workloads.forget(&id);
                    return Ok(Action::await_change());
                }
                Step::Queue(pause) | Step::After(pause) => {
                    if let Some(status) = &plan.status {
                        machine = self.write_status(&machine, status).await?;
                    }
                    if !pause.is_zero() {
                        self.tell(&machine, &plan.events).await;
                        return Ok(Action::requeue(*pause));
                    }
                    left.host = host.held();
                }
                Step::Await => {
                    if let Some(status) = &plan.status {
                        machine = self.write_status(&machine, status).await?;
                    }
                    self.tell(&machine, &plan.events).await;
                    return Ok(Action::await_change());
                }
            }
            self.tell(&machine, &plan.events).await;
        }
        Ok(Action::requeue(PAUSE))
    }

    async fn wait_until_read(&self) -> Result<()> {
        self.fleet.wait_until_read().await;
        until_listed(&self.owners).await.context("the Machines are not followed")?;
        until_listed(&self.clusters).await.context("the Clusters are not followed")?;
        let infrastructures = until_listed(&self.infrastructures).await;
        infrastructures.context("the Metal3Clusters are not followed")
    }

    async fn tell(
        &self,
        machine: &Metal3Machine,
        events: &[crate::controllers::machine::events::Event],
    ) {
        for event in events {
            tell(&self.events, machine, event.reason, &event.note).await;
        }
    }
}

impl Host {
    fn held(self) -> Option<BareMetalHost> {
        match self {
            Self::Has(host) => Some(*host),
            Self::None(_) | Self::Gone(_) | Self::Lost(_) => None,
        }
    }
}
