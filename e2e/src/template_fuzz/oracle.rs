//! The oracle, built once for each state of its sources.

use crate::{cache, process_group::ProcessGroup, progress::Progress};
use anyhow::{Context, Result, ensure};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/go/template-oracle");

/// Where the program is, built now if need be.
pub fn path() -> Result<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(FOLDER)
        .with_context(|| FOLDER.to_owned())?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "go" || e == "mod"))
        .collect();
    files.sort();
    let texts = files.iter().map(fs::read_to_string).collect::<Result<Vec<_>, _>>()?;
    let ingredients: Vec<&str> = texts.iter().map(String::as_str).collect();
    let name = "template-oracle";
    let dir = cache::provide(name, &ingredients, |dir| build(&dir.join(name)))?;
    Ok(dir.join(name))
}

fn build(to: &Path) -> Result<()> {
    let progress = Progress::start("building the template oracle");
    let group = ProcessGroup::new("build")?;
    let mut command = Command::new("go");
    command.args(["build", "-mod=readonly", "-trimpath", "-o"]).arg(to).arg(".");
    command.current_dir(FOLDER).env("CGO_ENABLED", "0").env("GOWORK", "off");
    let process = group.spawn("build", command)?;
    let status = process.wait_for_exit(Duration::from_mins(10))?;
    ensure!(status.success(), "could not build the template oracle\n{}", process.log_tail());
    progress.done();
    Ok(())
}
