//! A pass: read, decide, write, and so on until there is nothing to do for a while.

use std::{collections::BTreeSet, time::Duration};

use anyhow::Result;
use kube::{
    Client,
    runtime::{controller::Action, reflector::Store},
};

use super::{followed::FollowedMachine, metrics::Metrics};
use crate::{
    adapters::listed::until_listed,
    controllers::metadata::{decide, plan::Then},
};

/// More steps than any pass has: one that has them is left for a moment.
const STEPS: usize = 20;
const PAUSE: Duration = Duration::from_secs(5);

pub(super) struct Reconciler {
    pub client: Client,
    pub machines: Store<FollowedMachine>,
    pub metrics: Metrics,
}

impl Reconciler {
    pub async fn counted_pass(&self, namespace: &str, name: &str) -> Result<Action> {
        self.metrics.passes.counted(Box::pin(self.pass(namespace, name))).await
    }

    async fn pass(&self, namespace: &str, name: &str) -> Result<Action> {
        // Without them, all machines would seem to be gone.
        until_listed(&self.machines).await?;
        let (mut taken, mut has_written) = (BTreeSet::default(), false);
        for _ in 0..STEPS {
            let Some(mut seen) = self.observe(namespace, name).await? else {
                return Ok(Action::await_change());
            };
            seen.taken = taken;
            seen.has_written = has_written;
            // It renders a template for each machine.
            let plan = tokio::task::block_in_place(|| decide(&seen));
            tracing::debug!(metadata = name, rows = plan.rows.len(), status = plan.status.is_some(), ?plan.then, "decided");
            if let Some(own) = &plan.metadata {
                self.write_own(&seen.metadata, own).await?;
            }
            if let Some(status) = &plan.status {
                self.write_status(&seen.metadata, status).await?;
            }
            if !plan.rows.is_empty() {
                has_written = true;
                seen.taken.extend(self.carry_out(namespace, plan.rows).await?);
            }
            taken = seen.taken;
            match plan.then {
                Then::Again => {}
                Then::After(pause) => return Ok(Action::requeue(pause)),
                Then::Await => return Ok(Action::await_change()),
            }
        }
        Ok(Action::requeue(PAUSE))
    }
}
