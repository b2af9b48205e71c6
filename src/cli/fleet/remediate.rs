//! `ironward remediate`: one machine, now.

use std::io::Write;

use anyhow::{Context, Result, bail};
use kube::{
    Api, Client, ResourceExt,
    api::{ListParams, Patch, PatchParams, PostParams},
};
use serde_json::json;

use super::{Namespace, client};
use crate::{
    api::{
        Metal3Remediation,
        cluster_api::{CLUSTER_NAME, Machine, MachineHealthCheck},
    },
    controllers::remediation::read::{
        self, REASON, REMEDIATE_MACHINE, has_our_template, metal3_machine,
    },
};

/// Which machine, why, and how.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "It creates a Metal3Remediation with the machine's name: the host is switched off and on, and if the machine does not \
    become healthy after that, as often as --retry-limit says, its owner replaces it. Your word that the machine is not well counts \
    for the first time, whatever its Node says. `kubectl get m3r` shows how far it is, `ironward history` what came of it."
)]
pub struct Args {
    /// The Machine.
    #[arg(value_name = "MACHINE")]
    machine: String,

    #[command(flatten)]
    namespace: Namespace,

    /// Why, for the history of its host.
    #[arg(long, value_name = "TEXT", default_value = "asked for by a person")]
    reason: String,

    /// How often to try before the machine is given up.
    #[arg(long, value_name = "TIMES", default_value_t = 1, value_parser = clap::value_parser!(i32).range(1..))]
    retry_limit: i32,

    /// How long to wait each time, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = clap::value_parser!(i32).range(100..))]
    timeout_seconds: i32,
}

/// Asks for it.
pub async fn run(arguments: &Args, mut out: impl Write) -> Result<()> {
    let client = client().await?;
    let namespace = arguments.namespace.or_default(&client);
    let name = &arguments.machine;
    let machines: Api<Machine> = Api::namespaced(client.clone(), namespace);
    let machine = machines.get_opt(name).await.context("could not read the Machine")?;
    let Some(machine) = machine else {
        bail!(
            "there is no Machine {name} in namespace {namespace}; `kubectl get machines` lists all"
        );
    };
    if machine.metadata.deletion_timestamp.is_some() {
        bail!("Machine {namespace}/{name} is being deleted");
    }
    if metal3_machine(&machine).is_none() {
        bail!("Machine {namespace}/{name} does not run on a Metal3Machine");
    }
    create(&client, namespace, arguments, &machine).await?;
    if is_checked(&client, namespace, &machine).await? {
        // Otherwise its health check, which finds it well, would delete what was created. It goes once the host was off and on.
        let mark = json!({"metadata": {"annotations": {REMEDIATE_MACHINE: ""}}});
        let parameters = PatchParams {
            field_manager: Some("ironward-cli".to_owned()),
            ..PatchParams::default()
        };
        let marked = machines.patch(name, &parameters, &Patch::Merge(&mark)).await;
        marked.context("could not mark the Machine")?;
    }
    writeln!(
        out,
        "{name} is remediated; follow it with `kubectl get m3r {name} --namespace {namespace} --watch -o wide`."
    )?;
    Ok(())
}

async fn create(
    client: &Client,
    namespace: &str,
    arguments: &Args,
    machine: &Machine,
) -> Result<()> {
    let name = &arguments.machine;
    let wanted: Metal3Remediation = serde_json::from_value(json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "Metal3Remediation",
        "metadata": {
            "name": name,
            "labels": {CLUSTER_NAME: machine.spec.cluster_name},
            "annotations": {REASON: arguments.reason},
            "ownerReferences": [{
                "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "name": name,
                "uid": machine.metadata.uid,
            }],
        },
        "spec": {"strategy": {
            "type": "Reboot", "retryLimit": arguments.retry_limit,
            "timeoutSeconds": arguments.timeout_seconds,
        }},
    }))
    .context("could not write down the remediation")?;
    let remediations: Api<Metal3Remediation> = Api::namespaced(client.clone(), namespace);
    match remediations.create(&PostParams::default(), &wanted).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.is_already_exists() => bail!(
            "Machine {namespace}/{name} is being remediated already; see `kubectl get m3r {name} --namespace {namespace} -o wide`, and delete it to begin anew"
        ),
        Err(error) => Err(error).context("could not create the Metal3Remediation"),
    }
}

/// Whether a MachineHealthCheck looks at the machine and leaves remediation to Metal3Remediations.
async fn is_checked(client: &Client, namespace: &str, machine: &Machine) -> Result<bool> {
    let checks: Api<MachineHealthCheck> = Api::namespaced(client.clone(), namespace);
    let checks = checks.list(&ListParams::default()).await;
    let checks = checks.context("could not list the MachineHealthChecks")?.items;
    let cluster = &machine.spec.cluster_name;
    let is_for = |check: &&MachineHealthCheck| read::is_checked(check, cluster, machine.labels());
    Ok(checks.iter().filter(is_for).any(has_our_template))
}
