//! `ironward doctor`: what is wrong with an installation, and what to do about it.

mod cluster;
mod serving;
mod target;

use std::io::{self, Write};

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use kube::Client;
use serde_json::json;

use self::target::Target;
use super::fleet::Namespace;
use crate::{
    adapters::clock,
    doctor::{Facts, Finding, Outcome, examine},
};

/// What to look at, and how to say it.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "It looks at the API server and its kinds, the replicas, what they may do, the serving certificate and whether the API server believes it, the webhook \
    registrations, whether a mistaken host is refused (a dry run), which replica reconciles, Metal3's own operators, and Ironic. It changes nothing.\n\n\
    How Ironward is run is read from its Deployment in the namespace. Without one, the flags of `ironward run` come after `--`, such as\n  \
    ironward doctor -- --controllers=host --provisioner=ironic --ironic-url=http://ironic:6385\nand permissions are then those of who asks.\n\n\
    It exits with 0 if nothing has failed, and with 1 otherwise; warnings, and what could not be found out from here, are no failures."
)]
pub struct Args {
    #[command(flatten)]
    namespace: Namespace,

    /// How to print it.
    #[arg(long, short, value_name = "FORMAT", default_value = "text")]
    output: Format,

    /// The flags of `ironward run`, if no Deployment has them.
    #[arg(last = true, value_name = "FLAGS")]
    flags: Vec<String>,
}

/// How it is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people.
    Text,
    /// For programs: one object.
    Json,
}

/// Looks, and says what it found. That something has failed is a failure.
pub async fn run(arguments: &Args, mut out: impl Write) -> Result<()> {
    let client = super::fleet::client().await?;
    let namespace = arguments.namespace.or_default(&client).to_owned();
    let target = if arguments.flags.is_empty() {
        Target::of_deployment(&client, &namespace).await?
    } else {
        Target::of_flags(&client, &arguments.flags)?
    };
    let found = examine(&facts(&client, &target).await);
    let printed = match arguments.output {
        Format::Text => text(&found, &mut out),
        Format::Json => {
            let version = env!("CARGO_PKG_VERSION");
            let all = json!({"version": version, "findings": found});
            serde_json::to_writer_pretty(&mut out, &all)
                .map_err(Into::into)
                .and_then(|()| writeln!(out))
        }
    };
    printed.context("could not print it")?;
    let failed = found.iter().filter(|it| it.outcome == Outcome::Failed).count();
    match failed {
        0 => Ok(()),
        _ => bail!("{failed} of {} findings are failures", found.len()),
    }
}

async fn facts(client: &Client, target: &Target) -> Facts {
    let settings = &target.settings;
    let (permissions, operators) =
        tokio::join!(cluster::permissions(client, target), cluster::operators(client, settings),);
    let (certificate, registrations, trial) = tokio::join!(
        serving::certificate(client, target),
        serving::registrations(client, &settings.admission.registration_name),
        serving::trial(client),
    );
    let lease = format!("{}/{}", target.namespace, crate::run::LEASE);
    Facts {
        now: clock::now(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        server: cluster::server(client).await,
        deployment: target.deployment.clone(),
        definitions: cluster::definitions(client).await,
        keeps_metal3_kinds: target.keeps_metal3_kinds(),
        certificate,
        registration_name: settings.admission.registration_name.clone(),
        registrations,
        address: settings.admission.address().as_ref().map(serving::address),
        trial,
        permissions,
        leader: cluster::leader(client, &target.namespace).await,
        lease,
        operators,
        ironic: cluster::ironic(target).await,
    }
}

fn text(found: &[Finding], out: &mut impl Write) -> io::Result<()> {
    let width = found.iter().map(|it| it.check.len()).max().unwrap_or_default();
    for Finding { check, outcome, what, next_step } in found {
        let what = super::fleet::table::printable(what);
        writeln!(out, "{:7}  {check:width$}  {what}", outcome.to_string())?;
        if let Some(next) = next_step {
            writeln!(out, "{:7}  {:width$}  next step: {next}", "", "")?;
        }
    }
    Ok(())
}
