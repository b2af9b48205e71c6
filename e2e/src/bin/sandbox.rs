//! `cargo sandbox`: a real control plane on this machine, Ironward running against it, and a tour.

use anyhow::{Context, Result};
use clap::Parser;
use ironward_e2e::{
    cluster,
    control_plane::ControlPlane,
    ironward::Ironward,
    lab::{self, Lab},
    node::apart::{self, Apart},
    progress::say,
    tour::{STEPS, Stage, indented},
};
use std::process::ExitCode;
use tokio::{
    runtime::Runtime,
    signal::unix::{Signal, SignalKind, signal},
};

/// Starts a real Kubernetes control plane on 127.0.0.1, installs Ironward's kinds, runs Ironward against it,
/// and shows what it does. All of it is gone when this ends.
///
/// The first start builds etcd and Kubernetes from their sources, which takes minutes; later ones take seconds.
#[derive(Debug, Parser)]
#[command(name = "cargo sandbox")]
struct Arguments {
    /// End after the tour: with 0 if all of it went as it should, with 1 if not.
    #[arg(long)]
    exit: bool,
    /// A lab instead: Cluster API, a real Ironic with a rack of machines, all of Ironward, and a shell to try them in.
    ///
    /// It has a network of its own, for which you have to be root. The guide has a walk through it: docs/src/first-hour.md.
    #[arg(long, conflicts_with = "exit")]
    lab: bool,
    /// The shell of the lab.
    #[arg(long, env = "SHELL", default_value = "sh")]
    shell: String,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(code) => code,
        Err(error) => {
            say(&format!("sandbox: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Ends with the shell.
fn lab(shell: &str) -> Result<ExitCode> {
    if apart::is_skipped() {
        return Ok(ExitCode::FAILURE);
    }
    lab::provide()?;
    Apart::provide()?.within(|| {
        let lab = Lab::start()?;
        println!("\nA rack of machines, and Ironward. `kubectl` and `ironward` are at hand; docs/src/first-hour.md is a walk.");
        println!("Leave the shell to end it.\n");
        let ended = lab.stage()?.shell(shell).status().with_context(|| format!("no {shell}"))?;
        Ok(if ended.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    })?
}

fn run(arguments: &Arguments) -> Result<ExitCode> {
    if arguments.lab {
        return lab(&arguments.shell);
    }
    let plane = ControlPlane::start()?;
    cluster::install_kinds(&plane)?;
    let ironward = Ironward::start(&plane)?;
    ironward.wait_until_ready()?;
    ironward.wait_until_in_force(&plane)?;

    println!("\nIronward runs in front of a real API server. To use it from another terminal:\n");
    println!("   export KUBECONFIG={}\n", plane.admin_kubeconfig().display());
    let stage = Stage::new(plane.admin_kubeconfig().into(), &plane.kubectl())?;
    let failed = tour(&stage);
    // Listening before it is said: whoever reads that Ctrl-C ends it may press it at once.
    let ctrl_c = CtrlC::listen()?;
    match (failed, arguments.exit) {
        (0, true) => println!("The tour went as it should."),
        (0, false) => println!("That was the tour. Ctrl-C ends the sandbox and removes all of it."),
        (failed, _) => println!("{failed} of {} steps did not go as they should.", STEPS.len()),
    }
    if !arguments.exit {
        ctrl_c.wait();
    }
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Walks through all steps, also when one fails, and returns how many did.
fn tour(stage: &Stage) -> usize {
    let mut failed = 0;
    for (number, step) in STEPS.iter().enumerate() {
        println!("{}. {}\n", number + 1, step.title);
        println!("   $ {}", step.command);
        match stage.perform(step) {
            Ok(printed) => println!("{}", indented(&printed)),
            Err(error) => {
                failed += 1;
                println!("{}", indented(&format!("FAILED: {error:#}")));
            }
        }
    }
    failed
}

/// Until it listens, Ctrl-C ends the process at once, and the janitor cleans up behind it.
struct CtrlC {
    runtime: Runtime,
    signal: Signal,
}

impl CtrlC {
    fn listen() -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let signal = {
            let _guard = runtime.enter();
            signal(SignalKind::interrupt()).context("could not listen for Ctrl-C")?
        };
        Ok(Self { runtime, signal })
    }

    fn wait(mut self) {
        self.runtime.block_on(self.signal.recv());
    }
}
