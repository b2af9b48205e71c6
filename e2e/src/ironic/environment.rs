//! The Python environment that Ironic runs in: installed once, from a lock, into the cache.

use super::{python::Python, settings::Credentials};
use crate::{
    cache,
    process_group::{Process, ProcessGroup},
    progress::Progress,
};
use anyhow::{Context, Result, bail};
use std::{
    env, fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::Duration,
};

const LOCK: &str = include_str!("../../ironic/requirements.txt");
const DATABASE: &str = "ironic.sqlite";

/// A folder with Python, Ironic and the BMC emulator.
#[derive(Debug, Clone)]
pub(super) struct Environment {
    dir: PathBuf,
}

/// A file of the Python side.
pub(super) fn source(name: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/ironic")).join(name)
}

impl Environment {
    /// Installs it, unless that was done before.
    pub fn provide() -> Result<Self> {
        let python = Python::find()?;
        let mut ingredients = vec![LOCK];
        ingredients.extend(python.build.iter().map(String::as_str));
        let install = |dir: &Path| {
            Self { dir: dir.into() }.install(&python).context("could not install Ironic")
        };
        Ok(Self { dir: cache::provide("ironic", &ingredients, install)? })
    }

    /// A program of the Python side that keeps its files in `dir`.
    ///
    /// It inherits nothing but the way to its libraries: settings for proxies and certificate
    /// authorities, meant for the world outside, would come between it and its peers on the
    /// loopback address.
    pub fn command(&self, script: &str, dir: &Path) -> Command {
        // Here is also the `genisoimage` that Ironic makes config drives with.
        let mut path = self.bin("").into_os_string();
        if let Some(inherited) = env::var_os("PATH") {
            path.push(":");
            path.push(inherited);
        }
        let mut command = Command::new(self.bin("python"));
        command.arg(source(script)).current_dir(dir).env_clear().env("PATH", path);
        command.envs(env::var_os("LD_LIBRARY_PATH").map(|value| ("LD_LIBRARY_PATH", value)));
        command.env("HOME", dir).env("TMPDIR", dir).env("LANG", "C.UTF-8");
        command.env("PYTHONDONTWRITEBYTECODE", "1").env("PYTHONUNBUFFERED", "1");
        command
    }

    /// Gives an instance a database with Ironic's tables and nothing in them. Making one anew
    /// would take as long as starting Ironic.
    pub fn copy_empty_database(&self, dir: &Path) -> Result<()> {
        fs::copy(self.dir.join(DATABASE), dir.join(DATABASE))
            .map(drop)
            .context("could not copy the empty database")
    }

    /// The password file of Ironic's API.
    pub fn htpasswd(&self, credentials: &Credentials, dir: &Path) -> Result<Vec<u8>> {
        let Credentials { username, password } = credentials;
        let output = self
            .command("htpasswd.py", dir)
            .args([username, password])
            .output()
            .context("could not start Python to make a password file")?;
        if !output.status.success() {
            let words = String::from_utf8_lossy(&output.stderr);
            bail!("could not make a password file, {}:\n{words}", output.status);
        }
        Ok(output.stdout)
    }

    fn install(&self, python: &Python) -> Result<()> {
        let progress = Progress::start("installing Ironic (once)");
        // What an installation leaves behind that is killed, running or as files, goes with it.
        let group = ProcessGroup::new("ironic-install")?;
        let run = |name: &str, program: &Path, arguments: &dyn Fn(&mut Command)| {
            let mut command = Command::new(program);
            // -I: what the user has elsewhere must not be taken for installed here.
            arguments(command.arg("-I").env("TMPDIR", group.dir()));
            let process = group.spawn(name, command)?;
            wait_for(&process, &progress)
        };

        run("venv", &python.program, &|command| {
            command.args(["-m", "venv"]).arg(&self.dir);
        })?;
        run("pip", &self.bin("python"), &|command| {
            command.args(["-m", "pip", "install", "--no-deps", "--no-input"]);
            command.args(["--disable-pip-version-check", "--progress-bar=off", "-r"]);
            command.arg(source("requirements.txt"));
        })
        .context(
            "pip could not install e2e/ironic/requirements.txt; it needs to reach a Python \
             package index, directly or in the way that `pip config list` shows",
        )?;
        symlink("pycdlib-genisoimage", self.bin("genisoimage"))
            .context("could not link genisoimage")?;

        let config = group.dir().join("install.conf");
        fs::write(&config, format!("[DEFAULT]\nstate_path = {}\n", self.dir.display()))
            .with_context(|| format!("could not write {}", config.display()))?;
        run("ironic-dbsync", &self.bin("python"), &|command| {
            command.arg(self.bin("ironic-dbsync"));
            command.arg("--config-file").arg(source("ironic.conf"));
            command.arg("--config-file").arg(&config).arg("create_schema");
        })?;
        progress.done();
        Ok(())
    }

    fn bin(&self, program: &str) -> PathBuf {
        self.dir.join("bin").join(program)
    }
}

/// Waits until a process has succeeded.
fn wait_for(process: &Process, progress: &Progress) -> Result<()> {
    loop {
        match process.exit_status() {
            Some(status) if status.success() => return Ok(()),
            Some(status) => bail!("{status}, with these last words:\n{}", process.log_tail()),
            None => {}
        }
        progress.note(&how_far(&fs::read_to_string(process.log()).unwrap_or_default()));
        thread::sleep(Duration::from_millis(200));
    }
}

/// What an installation is at, from what its present part has printed so far.
fn how_far(log: &str) -> String {
    let packages = LOCK.lines().filter(|line| line.contains("==")).count();
    let fetched: Vec<_> = log.lines().filter_map(|line| line.strip_prefix("Collecting ")).collect();
    match fetched.last().and_then(|rest| rest.split_whitespace().next()) {
        _ if log.contains("\nInstalling ") => format!("unpacking {packages} packages"),
        Some(package) => format!("fetching {package}, {} of {packages}", fetched.len()),
        None => "preparing".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_counts_packages() {
        let log = "Collecting alembic==1.20.1 (from -r requirements.txt (line 4))\n  Downloading\n\
                   Collecting amqp==5.4.2 (from -r requirements.txt (line 5))\n";
        assert_eq!(how_far(log), "fetching amqp==5.4.2, 2 of 114");
        assert_eq!(how_far(&format!("{log}Installing collected")), "unpacking 114 packages");
        assert_eq!(how_far("Running upgrade"), "preparing");
    }
}
