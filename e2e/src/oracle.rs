//! Programs of ours that ask others' Go packages, each a folder of `e2e/go`, built once for each state of its sources.

use crate::{cache, process_group::ProcessGroup, progress::Progress};
use anyhow::{Context, Result, ensure};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

const FOLDERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/go");

/// Where the program of a folder is, built now if need be.
pub fn provide(name: &str) -> Result<PathBuf> {
    let folder = Path::new(FOLDERS).join(name);
    let is_source = |path: &PathBuf| {
        path.extension().is_some_and(|end| end == "go" || end == "mod" || end == "sum")
    };
    let mut files: Vec<PathBuf> = fs::read_dir(&folder)
        .with_context(|| folder.display().to_string())?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(is_source)
        .collect();
    files.sort();
    let texts = files.iter().map(fs::read_to_string).collect::<Result<Vec<_>, _>>()?;
    let ingredients: Vec<&str> = texts.iter().map(String::as_str).collect();
    let dir = cache::provide(name, &ingredients, |dir| build(name, &folder, &dir.join(name)))?;
    Ok(dir.join(name))
}

fn build(name: &str, folder: &Path, to: &Path) -> Result<()> {
    let progress = Progress::start(&format!("building {name}"));
    let group = ProcessGroup::new("build")?;
    let mut command = Command::new("go");
    command.args(["build", "-mod=readonly", "-trimpath", "-o"]).arg(to).arg(".");
    command.current_dir(folder).env("CGO_ENABLED", "0").env("GOWORK", "off");
    let process = group.spawn("build", command)?;
    let status = process.wait_for_exit(Duration::from_mins(30))?;
    ensure!(status.success(), "could not build {name}\n{}", process.log_tail());
    progress.done();
    Ok(())
}
