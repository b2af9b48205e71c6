//! `cargo bench-peers`: Ironward beside everything that could be picked instead, on one machine, in turns; and the page of the guide about it.

use anyhow::{Context, Result, ensure};
use clap::{Parser, ValueEnum};
use ironward_e2e::{
    control_plane,
    node::apart::{self, Apart},
    peers::{
        admission::{self, Contender},
        engines,
        figures::Part,
        hosts, machines, report, runs,
    },
    progress::say,
};
use std::{
    collections::BTreeMap,
    fs,
    path::PathBuf,
    time::{Duration, Instant},
};

/// Measures Ironward beside its peers, and writes the page about it.
#[derive(Debug, Parser)]
struct Arguments {
    /// What is measured. The figures of other parts are those of the last time, if there was one.
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "engines,admission,machines,hosts"
    )]
    parts: Vec<Which>,
    /// Who judges hosts.
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "nothing,accepting,in-tree,ironward,shipped,kyverno,gatekeeper,baremetal-operator"
    )]
    contenders: Vec<Contender>,
    /// How many hosts are stored, one size after the other.
    #[arg(long, value_delimiter = ',', default_value = "100,1000,10000")]
    sizes: Vec<usize>,
    /// How often admission is measured at the size in the middle; at the others it is once.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// How often each has its turn with machines, which takes minutes.
    #[arg(long, default_value_t = 1)]
    long_rounds: usize,
    /// How many hosts are created for each of them, one after the other, in a round.
    #[arg(long, default_value_t = 1000)]
    creates: usize,
    /// How long as many as possible are created, in seconds.
    #[arg(long, default_value_t = 2)]
    seconds: u64,
    /// How many hosts machines are found on.
    #[arg(long, default_value_t = 1000)]
    hosts: u16,
    /// How many machines are created at once.
    #[arg(long, default_value_t = 500)]
    machines: u16,
    /// Whether it is only seen that all of it still works, with few hosts and those peers that are built in a minute.
    #[arg(long)]
    short: bool,
    /// Whether everybody is only built, so that a run after it measures at once.
    #[arg(long)]
    build: bool,
    /// How many hosts are made available by Ironic, and given back.
    #[arg(long, default_value_t = 200)]
    ironic_hosts: u16,
    /// How many hosts are looked at while nothing happens.
    #[arg(long, default_value_t = 1000)]
    at_rest: u16,
    /// For how long, in seconds.
    #[arg(long, default_value_t = 60)]
    rest: u64,
    /// Whether the figures come to those of earlier runs, and it is said where they disagree; else they take their place.
    #[arg(long)]
    add: bool,
    /// Which of cargo's profiles Ironward is built with.
    #[arg(long, default_value = "release")]
    profile: String,
    /// Where the page is written, and its pictures below it.
    #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/src"))]
    guide: PathBuf,
}

impl Arguments {
    fn admission(&self) -> admission::Plan {
        if self.short {
            return admission::Plan::short(&self.profile);
        }
        admission::Plan {
            contenders: self.contenders.clone(),
            sizes: self.sizes.clone(),
            rounds: self.rounds,
            creates: self.creates,
            seconds: self.seconds,
            profile: self.profile.clone(),
        }
    }

    fn ironic(&self) -> Result<hosts::Plan> {
        let (hosts, at_rest, sizes, few) = if self.short {
            (2, 5, vec![5, 10], 2)
        } else {
            let sizes = self.sizes.iter().map(|it| u16::try_from(*it));
            (self.ironic_hosts, self.at_rest, sizes.collect::<Result<_, _>>()?, 10)
        };
        let (seconds, rounds, profile) = (self.rest, self.long_rounds, self.profile.clone());
        Ok(hosts::Plan { hosts, at_rest, sizes, few, seconds, rounds, profile })
    }

    fn machines(&self) -> machines::Plan {
        if self.short {
            return machines::Plan::short(&self.profile);
        }
        machines::Plan {
            hosts: self.hosts,
            machines: self.machines,
            sizes: self.sizes.clone(),
            few: 50,
            rounds: self.long_rounds,
            qps: 1000,
            patience: Duration::from_mins(30),
            profile: self.profile.clone(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Which {
    Admission,
    Machines,
    Hosts,
    Engines,
}

impl Which {
    /// In the order of the page.
    const ALL: [(Self, &str); 4] = [
        (Self::Admission, "admission"),
        (Self::Machines, "machines"),
        (Self::Hosts, "hosts"),
        (Self::Engines, "engines"),
    ];
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    ensure!(!apart::is_skipped(), "some of the peers listen on every address there is");
    // Nothing can be built where they run.
    control_plane::provide()?;
    admission::build(&arguments.profile)?;
    let is_asked = |which| arguments.parts.contains(&which);
    let missing = if is_asked(Which::Admission) {
        admission::provide(&arguments.contenders)
    } else {
        BTreeMap::new()
    };
    if is_asked(Which::Machines) {
        machines::provide()?;
    }
    if is_asked(Which::Hosts) {
        hosts::provide()?;
    }
    if is_asked(Which::Engines) {
        engines::provide()?;
    }
    let apart = Apart::provide()?;
    if arguments.build {
        return Ok(());
    }
    for (which, name) in Which::ALL.into_iter().filter(|it| is_asked(it.0)) {
        let part = apart.within(|| measure(&arguments, which, &missing))??;
        say(&format!("{name}: measured in {:.0} s", part.took));
        let mut runs = if arguments.add { kept(name)? } else { Vec::new() };
        runs.push(part);
        if let Some(agreement) = runs::agreement(&runs) {
            say(&format!("{name}: {agreement}"));
        }
        keep(name, &runs)?;
    }
    let parts = Which::ALL.map(|(_, name)| anyhow::Ok((name, runs::together(&kept(name)?))));
    let parts = parts.into_iter().collect::<Result<Vec<_>>>()?;
    let parts: Vec<_> = parts.into_iter().filter_map(|(name, it)| Some((name, it?))).collect();
    print!("{}", report::write(&arguments.guide, &machine()?, &parts)?);
    Ok(())
}

fn measure(
    arguments: &Arguments,
    which: Which,
    missing: &BTreeMap<Contender, String>,
) -> Result<Part> {
    match which {
        Which::Admission => admission::measure(&arguments.admission(), missing),
        Which::Machines => machines::measure(&arguments.machines()),
        Which::Hosts => {
            let (plan, begun) = (arguments.ironic()?, Instant::now());
            Ok(hosts::part(&plan, &hosts::measure(&plan)?, begun.elapsed()))
        }
        Which::Engines => engines::measure(arguments.rounds + 1),
    }
}

fn file(name: &str) -> Result<PathBuf> {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../target/bench-peers"));
    fs::create_dir_all(&folder)?;
    Ok(folder.join(format!("{name}.json")))
}

/// Keeps the figures of each run, for a page that is written again without measuring all.
fn keep(name: &str, runs: &[Part]) -> Result<()> {
    Ok(fs::write(file(name)?, serde_json::to_string_pretty(runs)?)?)
}

fn kept(name: &str) -> Result<Vec<Part>> {
    match fs::read(file(name)?) {
        Ok(text) => serde_json::from_slice(&text)
            .with_context(|| format!("the figures of {name} cannot be read")),
        Err(_) => Ok(Vec::new()),
    }
}

fn machine() -> Result<String> {
    let text = fs::read_to_string("/proc/cpuinfo")?;
    let model = text.lines().find_map(|it| it.strip_prefix("model name")?.split_once(": "));
    let model = model.map_or("an unnamed processor", |it| it.1);
    let cores = std::thread::available_parallelism()?;
    Ok(format!(
        "These figures are of {cores} cores of a machine with {model}, which all processes share, the load among them."
    ))
}
