//! Random templates, asked of Go and of this engine: `cargo run -p ironward-e2e --bin template-fuzz`.

use anyhow::Result;
use clap::Parser;
use ironward_e2e::template_fuzz::run::{self, Settings};
use std::{
    path::PathBuf,
    process::ExitCode,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// Asks Go's text/template and this engine the same random templates, and keeps what they answer differently.
#[derive(Parser)]
struct Arguments {
    /// Where the random numbers start; the same seed asks the same templates. Default: the time.
    #[arg(long)]
    seed: Option<u64>,
    /// Leave out so many templates of the seed's stream.
    #[arg(long, default_value_t = 0)]
    skip: u64,
    /// Stop after so many seconds. Default, without a count: 60.
    #[arg(long)]
    seconds: Option<u64>,
    /// Stop after so many templates.
    #[arg(long)]
    count: Option<u64>,
    /// The folder of data, vectors and the node.
    #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/template"))]
    data: PathBuf,
    /// Only print the questions.
    #[arg(long)]
    print: bool,
}

fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let seconds = arguments.seconds.or(arguments.count.is_none().then_some(60));
    let settings = Settings {
        seed: arguments.seed.unwrap_or(now),
        skip: arguments.skip,
        time: seconds.map(Duration::from_secs),
        count: arguments.count,
        data: arguments.data,
    };
    if arguments.print {
        run::print(&settings)?;
        return Ok(ExitCode::SUCCESS);
    }
    println!("seed {}", settings.seed);
    let score = run::run(&settings)?;
    Ok(if score.different == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
