//! Random CEL expressions, asked of Kubernetes and of this engine: `cargo run -p ironward-e2e --bin cel-fuzz`.

use anyhow::Result;
use clap::Parser;
use ironward_e2e::cel_fuzz::{
    run::{self, Settings, Syntaxes},
    worker,
};
use std::{
    path::PathBuf,
    process::ExitCode,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// Asks Kubernetes' own CEL and this engine the same random expressions, and keeps what they answer differently.
#[derive(Parser)]
struct Arguments {
    /// Where the random numbers start; the same seed asks the same expressions. Default: the time.
    #[arg(long)]
    seed: Option<u64>,
    /// Leave out so many expressions of the seed's stream.
    #[arg(long, default_value_t = 0)]
    skip: u64,
    /// Stop after so many seconds. Default, without a count: 60.
    #[arg(long)]
    seconds: Option<u64>,
    /// Stop after so many expressions.
    #[arg(long)]
    count: Option<u64>,
    /// The folder of vectors, bindings and the table of functions.
    #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/cel"))]
    data: PathBuf,
    /// Also tell of each difference in this file.
    #[arg(long)]
    report: Option<PathBuf>,
    /// Which words about a syntax error have to be the same.
    #[arg(long, value_enum, default_value_t = Syntaxes::First)]
    syntax: Syntaxes,
    /// Only print the questions.
    #[arg(long)]
    print: bool,
    /// Ask only what was found before, once more.
    #[arg(long)]
    replay: bool,
    /// Answer questions on standard input, with these bindings.
    #[arg(long, hide = true)]
    answer: Option<PathBuf>,
}

fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    if let Some(bindings) = arguments.answer {
        worker::serve(&bindings)?;
        return Ok(ExitCode::SUCCESS);
    }
    if arguments.replay {
        let open = run::replay(&arguments.data)?;
        return Ok(if open == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let seconds = arguments.seconds.or(arguments.count.is_none().then_some(60));
    let settings = Settings {
        seed: arguments.seed.unwrap_or(now),
        skip: arguments.skip,
        time: seconds.map(Duration::from_secs),
        count: arguments.count,
        data: arguments.data,
        syntax: arguments.syntax,
        report: arguments.report,
    };
    if arguments.print {
        run::print(&settings)?;
        return Ok(ExitCode::SUCCESS);
    }
    println!("seed {}", settings.seed);
    let score = run::run(&settings)?;
    Ok(if score.different == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
