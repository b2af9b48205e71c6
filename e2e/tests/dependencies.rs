//! What may be linked: licences, bans and sources, by cargo-deny and `deny.toml`. Advisories are not looked at: their
//! database cannot be had everywhere.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so and ends")]

use ironward_e2e::{
    cache,
    kubectl::{self, Answer},
    progress::Progress,
};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

const WORKSPACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
const VERSION: &str = "0.20.2";

/// cargo-deny, built once. Not optimised: it takes seconds as it is, and minutes to optimise.
fn cargo_deny() -> PathBuf {
    let install = |dir: &Path| {
        let progress = Progress::start("building cargo-deny");
        let mut command = cargo();
        command.args(["install", "cargo-deny", "--version", VERSION, "--locked", "--debug"]);
        let answer = kubectl::run(command.arg("--root").arg(dir), "")?;
        anyhow::ensure!(answer.success, "could not build cargo-deny: {}", answer.err);
        progress.done();
        Ok(())
    };
    cache::provide(&format!("cargo-deny-{VERSION}"), &[VERSION], install)
        .unwrap()
        .join("bin/cargo-deny")
}

fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

fn check(settings: &Path) -> Answer {
    let mut command = Command::new(cargo_deny());
    command
        .current_dir(WORKSPACE)
        .args(["--locked", "--workspace", "--config"])
        .arg(settings)
        .args(["check", "--hide-inclusion-graph", "licenses", "bans", "sources"]);
    kubectl::run(&mut command, "").unwrap()
}

#[test]
fn only_what_may_be_is_linked() {
    let settings = Path::new(WORKSPACE).join("deny.toml");
    let answer = check(&settings);
    assert!(answer.success, "{}", answer.err);
    let summary = format!("{}{}", answer.out, answer.err);
    assert!(summary.contains("bans ok, licenses ok, sources ok"), "{summary}");

    // And it does find what may not be: here, all that has this licence only.
    let strict = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(&settings).unwrap().replace("    \"MIT\",\n", "");
    fs::write(strict.path().join("deny.toml"), text).unwrap();
    let answer = check(&strict.path().join("deny.toml"));
    assert!(!answer.success && answer.err.contains("license"), "{}", answer.err);
}
