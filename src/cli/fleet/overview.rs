//! `ironward fleet`: hosts by state, and those that need somebody.

use std::{
    io::{self, IsTerminal, Write},
    time::Duration,
};

use anyhow::{Context, Result};
use clap::ValueEnum;
use futures::TryStreamExt;
use kube::{
    Api, Client,
    runtime::{
        reflector::{self, store::Writer},
        watcher::{self, Event},
    },
};
use tokio::time::{Instant, sleep_until};

use super::{Namespace, client, table::table};
use crate::{
    api::BareMetalHost,
    fleet::{HostTrouble, Overview, overview},
};

/// Often enough for an eye, and not more work than that for the API server's largest fleets.
const PAUSE: Duration = Duration::from_secs(1);

/// Which hosts, and how to say it.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "It counts the hosts by what is being done with them, and lists those that need somebody: what fails, what is there twice, \
    what is out of use, what was discovered and waits for an approval, and what was paused, in this order, each with the reason and the next step."
)]
pub struct Args {
    #[command(flatten)]
    namespace: Namespace,

    /// The hosts of all namespaces.
    #[arg(long, short = 'A', conflicts_with = "namespace")]
    all_namespaces: bool,

    /// Stay, and say it again whenever it changes.
    #[arg(long, short)]
    watch: bool,

    /// How to print it.
    #[arg(long, short, value_name = "FORMAT", default_value = "table")]
    output: Format,
}

/// How it is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people.
    Table,
    /// For programs: one object, and with --watch one a line.
    Json,
}

/// Prints it, once or until it is ended.
pub async fn run(arguments: &Args, mut out: impl Write) -> Result<()> {
    let client = client().await?;
    let writer = Writer::<BareMetalHost>::default();
    let known = writer.as_reader();
    let events = reflector::reflector(
        writer,
        watcher::watcher(api(client, arguments), watcher::Config::default()),
    );
    let mut events = Box::pin(events);
    let (mut is_known, mut is_stale) = (false, false);
    let mut next = Instant::now();
    loop {
        tokio::select! {
            event = events.try_next() => match event {
                Ok(Some(event)) => {
                    is_known |= matches!(event, Event::InitDone);
                    is_stale |= is_known;
                }
                Ok(None) => return Ok(()),
                // Once they are known, what is lost comes back by itself.
                Err(error) if is_known => eprintln!("ironward: {error}; trying again"),
                Err(error) => return Err(error).context("could not list the BareMetalHosts"),
            },
            () = sleep_until(next), if is_stale => {
                let hosts = known.state();
                let seen = overview(hosts.iter().map(AsRef::as_ref));
                let written = print(&seen, arguments, &mut out);
                match written {
                    Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
                    other => other.context("could not print it")?,
                }
                if !arguments.watch {
                    return Ok(());
                }
                is_stale = false;
                next = Instant::now() + PAUSE;
            }
        }
    }
}

fn api(client: Client, arguments: &Args) -> Api<BareMetalHost> {
    if arguments.all_namespaces {
        return Api::all(client);
    }
    let namespace = arguments.namespace.or_default(&client).to_owned();
    Api::namespaced(client, &namespace)
}

fn print(seen: &Overview, arguments: &Args, out: &mut impl Write) -> io::Result<()> {
    match (arguments.output, arguments.watch) {
        (Format::Json, true) => serde_json::to_writer(&mut *out, seen)?,
        (Format::Json, false) => serde_json::to_writer_pretty(&mut *out, seen)?,
        (Format::Table, _) => {
            if arguments.watch && io::stdout().is_terminal() {
                // From the top of an empty screen.
                write!(out, "\x1b[H\x1b[2J")?;
            }
            people(seen, arguments.all_namespaces, out)?;
        }
    }
    if arguments.output == Format::Json || arguments.watch {
        writeln!(out)?;
    }
    out.flush()
}

fn people(seen: &Overview, with_namespace: bool, out: &mut impl Write) -> io::Result<()> {
    if seen.hosts == 0 {
        return writeln!(out, "There are no BareMetalHosts.");
    }
    let counts: Vec<_> =
        seen.states.iter().map(|it| format!("{} {}", it.hosts, it.state)).collect();
    let hosts = if seen.hosts == 1 { "host" } else { "hosts" };
    writeln!(out, "{} {hosts}: {}", seen.hosts, counts.join(", "))?;
    if seen.troubles.is_empty() {
        return writeln!(out, "None of them needs anybody.");
    }
    writeln!(out)?;
    let header = ["TROUBLE", "HOST", "STATE", "REASON", "NEXT STEP"].map(str::to_owned);
    let rows: Vec<_> = [header]
        .into_iter()
        .chain(seen.troubles.iter().map(|it| row(it, with_namespace)))
        .collect();
    table(&rows, out)
}

fn row(it: &HostTrouble, with_namespace: bool) -> [String; 5] {
    let name =
        if with_namespace { format!("{}/{}", it.namespace, it.name) } else { it.name.clone() };
    let trouble = &it.trouble;
    [
        trouble.kind.to_string(),
        name,
        it.state.clone(),
        trouble.reason.clone(),
        trouble.next_step.clone(),
    ]
}
