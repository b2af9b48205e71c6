//! The processes of one run and its directory, which end together, however the run ends.
//!
//! A janitor, a shell of three lines, waits for the end of a pipe that only this process holds. The kernel
//! closes it when this process returns, panics, gets Ctrl-C or `kill -9`; the janitor then kills the whole
//! group and removes the directory. There is no second way of ending, so there is none that was not tried.
//! What runs here keeps nothing worth an orderly stop.

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process_group};
use std::{
    fs::{self, File},
    io::{Read, Seek, SeekFrom},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

const JANITOR: &str = r#"
cat >/dev/null
kill -s KILL -- "-$1" 2>/dev/null
tries=0
while kill -s 0 -- "-$1" 2>/dev/null && [ "$tries" -lt 100 ]; do tries=$((tries + 1)); sleep 0.05; done
rm -rf -- "$2"
"#;

const LOG_TAIL: u64 = 4096;

/// Processes that end with this value, and a directory for their files that goes with them.
#[derive(Debug)]
pub struct ProcessGroup {
    dir: PathBuf,
    id: Pid,
    /// First in the group, so that the group is there before its members; ends by itself with the pipe.
    leader: Child,
    janitor: Child,
    /// To be waited for at the end: a child that nobody waits for stays in the process table.
    members: Mutex<Vec<SharedChild>>,
}

type SharedChild = Arc<Mutex<Child>>;

impl ProcessGroup {
    /// An empty group, with an empty directory whose name starts with `ironward-<name>`.
    pub fn new(name: &str) -> Result<Self> {
        let leader = piped(Command::new("cat"), "cat")?;
        let id = pid_of(&leader)?;
        // The name is ours alone before the directory is there: the janitor must already stand by
        // when the first file is made.
        let dir = std::env::temp_dir().join(format!("ironward-{name}-{}", id.as_raw_nonzero()));
        let mut janitor = Command::new("sh");
        janitor.args(["-c", JANITOR, "janitor", &id.as_raw_nonzero().to_string()]).arg(&dir);
        let janitor = piped(janitor, "sh")?;
        let group = Self { dir, id, leader, janitor, members: Mutex::default() };
        // Left by a run whose machine lost power: its number has come round again.
        if group.dir.exists() {
            fs::remove_dir_all(&group.dir)
                .with_context(|| format!("could not clear {}", group.dir.display()))?;
        }
        fs::create_dir(&group.dir)
            .with_context(|| format!("could not make {}", group.dir.display()))?;
        Ok(group)
    }

    /// Where the processes keep their files and logs.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Starts a process in the group; what it prints goes to `<dir>/<name>.log`.
    pub fn spawn(&self, name: &str, mut command: Command) -> Result<Process> {
        let log = self.dir.join(format!("{name}.log"));
        let out = File::options()
            .create(true)
            .append(true)
            .open(&log)
            .with_context(|| format!("could not write {}", log.display()))?;
        let err = out.try_clone().with_context(|| format!("could not write {}", log.display()))?;
        let child = command
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(err)
            .process_group(self.id.as_raw_nonzero().get())
            .spawn()
            .with_context(|| {
                format!("could not start {name} ({})", command.get_program().to_string_lossy())
            })?;
        let child = SharedChild::new(child.into());
        unpoisoned(&self.members).push(child.clone());
        Ok(Process { name: name.into(), log, child })
    }

    /// Whether any process of the group still runs.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        test_kill_process_group(self.id).is_ok()
    }
}

impl Drop for ProcessGroup {
    /// Lets go of the pipe and waits until the janitor has done its work.
    fn drop(&mut self) {
        // Nothing useful can be done about an error here, and the janitor kills once more.
        let _ = kill_process_group(self.id, Signal::KILL);
        let _ = self.leader.wait();
        for member in unpoisoned(&self.members).iter() {
            let _ = unpoisoned(member).wait();
        }
        drop(self.janitor.stdin.take());
        let _ = self.janitor.wait();
    }
}

/// One process of a group. It does not end with this value but with its group.
#[derive(Debug)]
pub struct Process {
    name: String,
    log: PathBuf,
    child: SharedChild,
}

impl Process {
    /// The number the kernel gave it.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child().id()
    }

    /// How it ended, if it has.
    #[must_use]
    pub fn exit_status(&self) -> Option<ExitStatus> {
        self.child().try_wait().ok().flatten()
    }

    /// Sends a signal, for tests of what a program does when it is told to stop, or shot.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        let child = self.child();
        kill_process(pid_of(&child)?, signal)
            .with_context(|| format!("could not signal {}", self.name))
    }

    /// Waits until it has ended.
    pub fn wait_for_exit(&self, patience: Duration) -> Result<ExitStatus> {
        let start = Instant::now();
        loop {
            match self.exit_status() {
                Some(status) => return Ok(status),
                None if start.elapsed() > patience => {
                    bail!("{} still runs after {patience:?}\n{}", self.name, self.log_tail())
                }
                None => std::thread::sleep(Duration::from_millis(20)),
            }
        }
    }

    /// Waits until `ready` says so; fails with the end of the log if the process ends before, or
    /// when patience does.
    pub fn wait_until(&self, patience: Duration, mut ready: impl FnMut() -> bool) -> Result<()> {
        let start = Instant::now();
        while !ready() {
            if let Some(status) = self.exit_status() {
                bail!("{} ended before it was ready: {status}\n{}", self.name, self.log_tail());
            }
            if start.elapsed() > patience {
                bail!("{} was not ready after {patience:?}\n{}", self.name, self.log_tail());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// Whether it ended because another process was faster to take its port: then the way out is to
    /// start over with other ports.
    #[must_use]
    pub fn lost_its_port(&self) -> bool {
        self.exit_status().is_some()
            && self.log_tail().to_lowercase().contains("address already in use")
    }

    /// Where it writes what it prints.
    #[must_use]
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// The last lines it printed.
    #[must_use]
    pub fn log_tail(&self) -> String {
        let mut tail = Vec::new();
        if let Ok(mut log) = File::open(&self.log) {
            let length = log.metadata().map_or(0, |meta| meta.len());
            // A log that cannot be read is an empty one: this text only goes into other errors.
            let _ = log.seek(SeekFrom::Start(length.saturating_sub(LOG_TAIL)));
            let _ = log.read_to_end(&mut tail);
        }
        String::from_utf8_lossy(&tail).into_owned()
    }

    fn child(&self) -> MutexGuard<'_, Child> {
        unpoisoned(&self.child)
    }
}

/// A panic elsewhere changes nothing about which processes there are.
fn unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn piped(mut command: Command, name: &str) -> Result<Child> {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .with_context(|| format!("could not start {name}, which every POSIX system has"))
}

fn pid_of(child: &Child) -> Result<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw).context("a process without a number")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sleeper(group: &ProcessGroup) -> Process {
        let mut command = Command::new("sleep");
        command.arg("600");
        group.spawn("sleeper", command).unwrap()
    }

    fn runs(pid: u32) -> bool {
        fs::read_to_string(format!("/proc/{pid}/stat"))
            .is_ok_and(|stat| !stat.rsplit(')').next().is_some_and(|rest| rest.starts_with(" Z")))
    }

    #[test]
    fn processes_and_files_are_gone_when_the_group_is_dropped() {
        let group = ProcessGroup::new("test-drop").unwrap();
        let (dir, sleeper) = (group.dir().to_owned(), sleeper(&group));
        assert!(runs(sleeper.id()) && dir.join("sleeper.log").exists() && group.is_alive());
        drop(group);
        assert!(!runs(sleeper.id()) && !dir.exists());
    }

    #[test]
    fn a_process_that_ends_early_is_reported_with_its_last_words() {
        let group = ProcessGroup::new("test-early").unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", "echo the disk is full; exit 3"]);
        let process = group.spawn("etcd", command).unwrap();
        let error = process.wait_until(Duration::from_secs(10), || false).unwrap_err().to_string();
        assert!(error.contains("etcd ended before it was ready: exit status: 3"), "{error}");
        assert!(error.contains("the disk is full"), "{error}");
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let group = ProcessGroup::new("test-missing").unwrap();
        let error = group.spawn("etcd", Command::new("/nonexistent/etcd")).unwrap_err();
        assert_eq!(error.to_string(), "could not start etcd (/nonexistent/etcd)");
    }

    #[test]
    fn a_lost_port_is_told_from_other_ends() {
        let group = ProcessGroup::new("test-port").unwrap();
        for (words, lost) in [("bind: address already in use", true), ("no such flag", false)] {
            let mut command = Command::new("sh");
            command.args(["-c", "echo \"$0\"; exit 1", words]);
            let process = group.spawn(&format!("lost-{lost}"), command).unwrap();
            process.wait_for_exit(Duration::from_secs(10)).unwrap();
            assert_eq!(process.lost_its_port(), lost);
        }
    }
}
