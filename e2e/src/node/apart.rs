//! A part of this machine that nothing outside of it sees: processes, mounts and network of its own.
//!
//! All of it ends with one process, the first of its process namespace: the kernel then kills whatever else was started there,
//! containers among them, and nothing stays mounted. No address in it can be reached from outside, nor any outside from it.

use crate::{
    eventually::eventually,
    kubectl,
    node::packages::{self, Packages},
    process_group::{Process, ProcessGroup},
};
use anyhow::{Context, Result, bail};
use rustix::{
    process::{Pid, Signal, kill_process},
    thread::{LinkNameSpaceType, move_into_link_name_space},
};
use std::{
    ffi::OsStr,
    fs::{self, File},
    os::fd::AsFd,
    panic,
    path::Path,
    process::Command,
    thread,
    time::Duration,
};

/// The address of the node, one of those kept for documentation: nobody has it.
pub const ADDRESS: &str = "192.0.2.10";

/// What its programs write where no setting says otherwise goes with the mounts.
const FIRST_PROCESS: &str = "\
set -e
mount -t tmpfs node /run
mount -t tmpfs node /var/log
for folder in /var/lib /opt; do
    mkdir -p /run/over$folder/new /run/over$folder/work
    mount -t overlay -o lowerdir=$folder,upperdir=/run/over$folder/new,workdir=/run/over$folder/work node $folder
done
exec sleep infinity";

/// Whether this machine cannot have such parts; says why, for a test that is then skipped.
#[must_use]
pub fn is_skipped() -> bool {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: namespaces, containers and networks are made by root alone");
        return true;
    }
    if !Path::new("/usr/bin/apt-get").exists() {
        eprintln!("skipped: the programs for it are packages of Debian or of a relative of it");
        return true;
    }
    false
}

/// Runs a test in the network of such a part: for programs that listen on every address there is.
pub fn with_own_network(test: impl FnOnce() + Send) -> Result<()> {
    if is_skipped() {
        return Ok(());
    }
    Apart::provide()?.within(test)
}

/// Such a part. It ends with this value.
#[derive(Debug)]
pub struct Apart {
    packages: Packages,
    /// The number that its first process has outside.
    first: String,
    process: Process,
    group: ProcessGroup,
}

impl Apart {
    /// Makes one, with the programs that it takes.
    pub fn provide() -> Result<Self> {
        Self::new(packages::provide()?)
    }

    /// Makes one, with a network that has one interface beside loopback.
    pub fn new(packages: Packages) -> Result<Self> {
        let group = ProcessGroup::new("node")?;
        let mut command = Command::new("unshare");
        command
            .args(["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"])
            .args(["sh", "-c", FIRST_PROCESS]);
        let process = group.spawn("apart", command)?;
        let first = first_child(&process)?;
        let apart = Self { packages, first, process, group };
        for arguments in [
            "link set lo up",
            // A pair of which only one end is used: a kernel may have no interfaces that lead nowhere.
            "link add node0 type veth peer name node1",
            "link set node0 up",
            "link set node1 up",
            "address add 192.0.2.10/24 dev node0",
            // What is sent to nobody here has to be sent somewhere to be redirected.
            "route add default via 192.0.2.1 dev node0",
        ] {
            let mut command = apart.command("ip");
            let answer = kubectl::run(command.args(arguments.split(' ')), "")?;
            if !answer.success {
                bail!("ip {arguments} failed: {}", answer.err.trim());
            }
        }
        Ok(apart)
    }

    /// A command that runs in it.
    #[must_use]
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--target", &self.first, "--net", "--mount", "--pid"]).arg(program);
        self.packages.lend_to(&mut command);
        command
    }

    /// Starts a process in it.
    pub fn spawn(&self, name: &str, command: Command) -> Result<Process> {
        self.group.spawn(name, command)
    }

    /// Ends all that runs in it.
    pub fn end(&self) -> Result<()> {
        let first = self.first.parse().ok().and_then(Pid::from_raw).context("not a process")?;
        kill_process(first, Signal::KILL).context("could not end what runs apart")?;
        self.process.wait_for_exit(Duration::from_secs(30)).map(drop)
    }

    /// Where its processes keep their files; outside sees the same.
    #[must_use]
    pub fn dir(&self) -> &Path {
        self.group.dir()
    }

    /// Runs `work`, and every process that it starts, in its network.
    pub fn within<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T> {
        let network = File::open(format!("/proc/{}/ns/net", self.first))?;
        thread::scope(|scope| {
            // A thread of its own, for the network of a thread cannot be changed back by whoever forgot the old one.
            let thread = scope.spawn(|| {
                let kind = Some(LinkNameSpaceType::Network);
                move_into_link_name_space(network.as_fd(), kind)
                    .context("could not enter a network")?;
                Ok(work())
            });
            thread.join().unwrap_or_else(|reason| panic::resume_unwind(reason))
        })
    }
}

/// The process that `unshare` started, once it has mounted what is to be mounted.
fn first_child(process: &Process) -> Result<String> {
    let id = process.id();
    eventually(Duration::from_secs(30), "the first process is there", || {
        if let Some(status) = process.exit_status() {
            bail!("unshare ended: {status}\n{}", process.log_tail());
        }
        let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children"))?;
        let child = children.trim().to_owned();
        let name = fs::read_to_string(format!("/proc/{child}/comm")).unwrap_or_default();
        if name.trim() == "sleep" { Ok(child) } else { bail!("{name}") }
    })
}
