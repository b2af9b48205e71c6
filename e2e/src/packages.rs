//! Programs that are built by nobody here, from the packages of Debian and its relatives.
//!
//! They are unpacked into the cache and not installed: a test leaves the machine as it was.

use crate::{cache, kubectl, progress::Progress};
use anyhow::{Result, bail};
use std::{
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The packages, unpacked.
#[derive(Debug, Clone)]
pub struct Packages {
    /// Where.
    pub dir: PathBuf,
    names: &'static [&'static str],
}

impl Packages {
    /// Downloads what this machine does not have already.
    pub fn provide(what: &str, names: &'static [&'static str]) -> Result<Self> {
        let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
        let mut ingredients = vec![release.as_str(), env::consts::ARCH];
        ingredients.extend(names);
        let dir = cache::provide(what, &ingredients, |dir| download(dir, names))?;
        Ok(Self { dir, names })
    }

    /// Where a program is.
    pub fn program(&self, name: &str) -> Result<PathBuf> {
        self.find(&["usr/bin", "usr/sbin", "bin", "sbin"], name)
    }

    /// The folder of the programs that give pods their addresses.
    pub fn network_plugins(&self) -> Result<PathBuf> {
        let plugin = self.find(&["usr/lib/cni", "opt/cni/bin"], "ptp")?;
        Ok(plugin.parent().unwrap_or(Path::new("/")).to_owned())
    }

    /// Ours before the machine's own.
    fn find(&self, folders: &[&str], name: &str) -> Result<PathBuf> {
        let roots = [self.dir.as_path(), Path::new("/")];
        let places = roots.iter().flat_map(|root| folders.iter().map(|it| root.join(it)));
        match places.map(|folder| folder.join(name)).find(|path| path.is_file()) {
            Some(path) => Ok(path),
            None => bail!("none of the packages {} has {name}", self.names.join(", ")),
        }
    }

    /// Has a command find these programs and what they are linked to.
    pub fn lend_to(&self, command: &mut Command) {
        let mut folders: Vec<PathBuf> =
            ["usr/bin", "usr/sbin", "bin", "sbin"].map(|it| self.dir.join(it)).into();
        folders.extend(env::split_paths(&env::var_os("PATH").unwrap_or_default()));
        // Where a service would have it, for `ip` and `nft` are not in everybody's path.
        folders.extend(["/usr/sbin", "/sbin"].map(PathBuf::from));
        if let Ok(path) = env::join_paths(folders) {
            command.env("PATH", path);
        }
        let libraries = self.dir.join("usr/lib").join(format!("{}-linux-gnu", env::consts::ARCH));
        command.env("LD_LIBRARY_PATH", libraries);
    }
}

fn download(dir: &Path, names: &[&str]) -> Result<()> {
    let progress = Progress::start("downloading packages");
    let archives = dir.join("archives");
    fs::create_dir_all(archives.join("partial"))?;
    let mut answer = fetch(&archives, names)?;
    if !answer.success {
        // A machine that was never told what there is.
        kubectl::run(Command::new("apt-get").arg("update"), "")?;
        answer = fetch(&archives, names)?;
    }
    if !answer.success {
        bail!("could not download {}: {}", names.join(", "), answer.err.trim());
    }
    for entry in fs::read_dir(&archives)? {
        let path = entry?.path();
        if path.extension().is_some_and(|end| end == "deb") {
            let unpacked =
                kubectl::run(Command::new("dpkg-deb").arg("--extract").args([&path, dir]), "")?;
            if !unpacked.success {
                bail!("could not unpack {}: {}", path.display(), unpacked.err.trim());
            }
        }
    }
    fs::remove_dir_all(&archives)?;
    progress.done();
    Ok(())
}

/// apt knows what else they need, and leaves out what is installed.
fn fetch(archives: &Path, names: &[&str]) -> Result<kubectl::Answer> {
    let mut folder = OsString::from("Dir::Cache::archives=");
    folder.push(archives);
    let mut command = Command::new("apt-get");
    command
        .args(["install", "--download-only", "--yes", "--no-install-recommends", "--option"])
        .arg(folder)
        // As root it would hand the download to a user who may not write here.
        .args(["--option", "APT::Sandbox::User=root"])
        .args(names);
    kubectl::run(&mut command, "")
}
