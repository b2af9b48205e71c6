//! Ironic itself: a master process and the worker it forks.

use super::{
    api::Api,
    environment::{Environment, source},
    http::Method,
    settings::Credentials,
};
use crate::{
    eventually::eventually,
    kubectl,
    process_group::{Process, ProcessGroup},
};
use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};
use std::{
    fs,
    net::{Ipv4Addr, TcpStream},
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

const CONFIG: &str = "instance.conf";
const START_PATIENCE: Duration = Duration::from_mins(2);
const STOP_PATIENCE: Duration = Duration::from_mins(1);

#[derive(Debug)]
pub(super) struct Service {
    environment: Environment,
    /// The name of its conductor, which tells this instance from others.
    host: String,
    port: u16,
    api: Api,
    process: Mutex<Option<Process>>,
}

/// How a start ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Start {
    Ready,
    LostItsPort,
}

impl Service {
    pub fn new(environment: Environment, host: String, port: u16, api: Api) -> Self {
        Self { environment, host, port, api, process: Mutex::default() }
    }

    /// Writes what it starts from.
    pub fn prepare(
        &self,
        dir: &Path,
        config: &str,
        credentials: Option<&Credentials>,
    ) -> Result<()> {
        fs::write(dir.join(CONFIG), config).context("could not write Ironic's configuration")?;
        if let Some(credentials) = credentials {
            fs::write(dir.join("htpasswd"), self.environment.htpasswd(credentials, dir)?)
                .context("could not write Ironic's password file")?;
        }
        self.environment.copy_empty_database(dir)
    }

    /// Makes so many more nodes like the one that there is.
    pub fn multiply(&self, dir: &Path, count: usize) -> Result<()> {
        let mut command = self.environment.command("multiply.py", dir);
        command.arg("--database").arg(dir.join("ironic.sqlite"));
        command.arg("--count").arg(count.to_string());
        let answer = kubectl::run(&mut command, "")?;
        ensure!(answer.success, "could not make nodes in Ironic's database\n{}", answer.err);
        Ok(())
    }

    /// Makes a copy of the one node for each list, which says what stands in the place of what.
    pub fn copy_node(&self, dir: &Path, copies: &[Vec<(String, String)>]) -> Result<()> {
        let file = dir.join("copies.json");
        fs::write(&file, serde_json::to_vec(copies)?).context("could not write the copies")?;
        let mut command = self.environment.command("multiply.py", dir);
        command.arg("--database").arg(dir.join("ironic.sqlite")).arg("--copies").arg(file);
        let answer = kubectl::run(&mut command, "")?;
        ensure!(answer.success, "could not copy a node in Ironic's database\n{}", answer.err);
        Ok(())
    }

    /// The numbers of its processes.
    pub fn processes(&self) -> Result<Vec<u32>> {
        let process = self.process();
        let process =
            process.as_ref().filter(|process| runs(process)).context("Ironic does not run")?;
        let workers = children(process.id())?;
        let workers = workers.iter().filter_map(|it| u32::try_from(it.as_raw_pid()).ok());
        Ok(std::iter::once(process.id()).chain(workers).collect())
    }

    /// Starts it, without waiting.
    pub fn launch(&self, group: &ProcessGroup) -> Result<()> {
        let mut command = self.environment.command("run_ironic.py", group.dir());
        command.arg("--config-file").arg(source("ironic.conf"));
        command.arg("--config-file").arg(group.dir().join(CONFIG));
        command.env("IRONWARD_FAULTS", super::faults_file(group.dir()));
        *self.process() = Some(group.spawn("ironic", command)?);
        Ok(())
    }

    /// Waits until its conductor answers, and not that of another instance on the same port.
    pub fn wait_until_ready(&self) -> Result<Start> {
        let process = self.process();
        let process = process.as_ref().context("Ironic was not started")?;
        wait_for_start(process, START_PATIENCE, || {
            let answer = self.api.call(Method::GET, "/v1/conductors", None);
            let conductors = answer.map(|answer| answer.body["conductors"].clone());
            conductors.is_ok_and(|list| {
                let list = list.as_array().map_or(&[][..], Vec::as_slice);
                list.iter().any(|conductor| conductor["hostname"] == *self.host)
            })
        })
    }

    /// Tells it to end, and waits until it has.
    pub fn stop(&self) -> Result<()> {
        let process = self.process();
        if let Some(process) = process.as_ref().filter(|process| runs(process)) {
            process.signal(Signal::TERM)?;
            process.wait_for_exit(STOP_PATIENCE)?;
        }
        Ok(())
    }

    /// Kills both processes, so that neither has time for anything.
    pub fn crash(&self) -> Result<()> {
        let process = self.process();
        let process =
            process.as_ref().filter(|process| runs(process)).context("Ironic does not run")?;
        // A master that went on would start another worker.
        process.signal(Signal::STOP)?;
        for worker in children(process.id())? {
            kill_process(worker, Signal::KILL).context("could not kill Ironic's worker")?;
        }
        process.signal(Signal::KILL)?;
        process.wait_for_exit(STOP_PATIENCE)?;
        eventually(STOP_PATIENCE, "nothing listens where Ironic was", || {
            match TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)) {
                Ok(_) => Err("a connection"),
                Err(_) => Ok(()),
            }
        })
    }

    /// Stops both processes where they are.
    pub fn freeze(&self) -> Result<()> {
        self.signal_both(Signal::STOP)
    }

    /// Lets both go on.
    pub fn thaw(&self) -> Result<()> {
        self.signal_both(Signal::CONT)
    }

    fn signal_both(&self, signal: Signal) -> Result<()> {
        let process = self.process();
        let process =
            process.as_ref().filter(|process| runs(process)).context("Ironic does not run")?;
        process.signal(signal)?;
        for worker in children(process.id())? {
            kill_process(worker, signal).context("could not signal Ironic's worker")?;
        }
        Ok(())
    }

    pub fn log(&self) -> String {
        let process = self.process();
        let said = process.as_ref().and_then(|it| fs::read(it.log()).ok()).unwrap_or_default();
        String::from_utf8_lossy(&said).into_owned()
    }

    pub fn log_tail(&self) -> String {
        self.process().as_ref().map(Process::log_tail).unwrap_or_default()
    }

    fn process(&self) -> MutexGuard<'_, Option<Process>> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn runs(process: &Process) -> bool {
    process.exit_status().is_none()
}

/// Waits until a server is ready.
///
/// [`Process::lost_its_port`] is not enough: Ironic without a port does not end, it tries again.
pub(super) fn wait_for_start(
    process: &Process,
    patience: Duration,
    mut ready: impl FnMut() -> bool,
) -> Result<Start> {
    let lost = || process.log_tail().to_lowercase().contains("address already in use");
    let waited = process.wait_until(patience, || lost() || ready());
    if lost() { Ok(Start::LostItsPort) } else { waited.map(|()| Start::Ready) }
}

/// The processes that a process has started, whichever of its threads did it.
fn children(parent: u32) -> Result<Vec<Pid>> {
    let threads = format!("/proc/{parent}/task");
    let mut children = Vec::new();
    for thread in fs::read_dir(&threads).with_context(|| format!("could not read {threads}"))? {
        let list = thread?.path().join("children");
        let list = fs::read_to_string(&list)
            .with_context(|| format!("could not read {}", list.display()))?;
        let pids = list.split_whitespace().filter_map(|pid| pid.parse().ok());
        children.extend(pids.filter_map(Pid::from_raw));
    }
    Ok(children)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_server_that_tries_again_has_lost_its_port_all_the_same() {
        let group = ProcessGroup::new("test-ironic-port").unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", "echo 'OSError: [Errno 98] Address already in use'; sleep 600"]);
        let process = group.spawn("ironic", command).unwrap();
        let start = wait_for_start(&process, START_PATIENCE, || false);
        assert_eq!(start.unwrap(), Start::LostItsPort);
        assert!(runs(&process));
    }

    #[test]
    fn all_children_of_a_process_are_found() {
        let group = ProcessGroup::new("test-ironic-children").unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 600 & sleep 600 & wait"]);
        let parent = group.spawn("parent", command).unwrap();
        parent.wait_until(START_PATIENCE, || children(parent.id()).unwrap().len() == 2).unwrap();
    }
}
