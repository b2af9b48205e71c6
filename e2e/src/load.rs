//! Load on the webhook: what is asked, by whom, and what it costs the one who answers.

use crate::{control_plane::ControlPlane, process_group};
use anyhow::{Context, Result, bail};
use ironward::policy::trial::Attempt;
use reqwest::{Certificate, Client, StatusCode, header::CONTENT_TYPE};
use rustix::{
    process::Signal,
    thread::{CpuSet, sched_setaffinity},
};
use serde_json::{Value, json};
use std::{
    fs, thread,
    time::{Duration, Instant},
};

const HOST: &str = include_str!("../../tests/cel/baremetalhost.json");

/// The kernel's unit of processor time towards programs, on every machine, in milliseconds.
const TICK: u64 = 10;

const NOWHERE: &str = "/nowhere";

/// A question that the API server would ask.
#[derive(Debug, Clone)]
pub struct Review {
    /// What it is about.
    pub name: &'static str,
    /// Where it is sent.
    pub path: &'static str,
    /// The AdmissionReview.
    pub body: Vec<u8>,
}

/// Those of a host's life: created, changed, refused; and one that nobody answers.
pub fn reviews() -> Result<Vec<Review>> {
    let of = |name, path, is_update: bool, change: &dyn Fn(&mut Value)| {
        let host: Value = serde_json::from_str(HOST).context("the host is no JSON")?;
        let old_object = is_update.then(|| host.clone());
        let mut object = host;
        change(&mut object);
        let attempt = Attempt { object: Some(object), old_object, ..Attempt::default() };
        let mut request = attempt.review()?;
        // The API server always says which ones; not everybody who is asked can do without.
        let options = if is_update { "UpdateOptions" } else { "CreateOptions" };
        request["options"] = json!({"apiVersion": "meta.k8s.io/v1", "kind": options});
        let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request});
        anyhow::Ok(Review { name, path, body: serde_json::to_vec(&review)? })
    };
    Ok(vec![
        // What the client, the machine and HTTP/2 over TLS cost by themselves, to compare with. Without a body: nobody would read it, and a stream
        // that is reset for that, thousands of times, is taken for an attack.
        Review { name: "nothing: no such path", path: NOWHERE, body: Vec::new() },
        of("mutate a create", "/mutate", false, &|host| {
            if let Some(spec) = host["spec"].as_object_mut() {
                spec.remove("automatedCleaningMode");
            }
        })?,
        of("validate a create", "/validate", false, &|_| {})?,
        of("validate an update", "/validate", true, &|host| {
            host["spec"]["description"] = json!("moved to rack 7");
        })?,
        of("refuse a create", "/validate", false, &|host| {
            host["spec"]["bmc"]["address"] = json!("telnet://x");
        })?,
    ])
}

/// Clients with a connection each.
pub fn clients(plane: &ControlPlane, connections: usize) -> Result<Vec<Client>> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let (_, authority) = plane.serving_certificate("load")?;
    let authority = Certificate::from_pem(&fs::read(authority)?)?;
    (0..connections)
        .map(|_| {
            Client::builder()
                .no_proxy()
                .tls_certs_only([authority.clone()])
                .timeout(Duration::from_secs(30))
                .build()
                .context("could not make a client")
        })
        .collect()
}

/// Asks, and reads the answer.
pub async fn ask(client: &Client, url: &str, body: Vec<u8>) -> Result<()> {
    // As the API server says it; not everybody who is asked takes anything else.
    let question = client.post(url).header(CONTENT_TYPE, "application/json").body(body);
    let answer = question.send().await.context("no answer")?;
    let status = answer.status();
    let text = answer.bytes().await.context("an answer broke off")?;
    let is_nothing = url.ends_with(NOWHERE) && status == StatusCode::NOT_FOUND;
    let is_answered = status.is_success() && !text.is_empty();
    if !is_answered && !is_nothing {
        bail!("{status}: {}", String::from_utf8_lossy(&text));
    }
    Ok(())
}

/// Holds this thread to some cores, and all threads and processes that it will start.
pub fn hold_to(cores: impl IntoIterator<Item = usize>) -> Result<()> {
    let mut set = CpuSet::new();
    cores.into_iter().for_each(|core| set.set(core));
    sched_setaffinity(None, &set).context("could not hold a thread to a core")
}

/// While there is one, the control plane stands still: in a cluster it has cores of its own, here it would take them from who is measured.
#[derive(Debug)]
pub struct StandStill<'a>(&'a [process_group::Process]);

impl<'a> StandStill<'a> {
    /// From now on.
    pub fn of(plane: &'a ControlPlane) -> Result<Self> {
        let still = Self(plane.processes());
        still.0.iter().try_for_each(|process| process.signal(Signal::STOP))?;
        Ok(still)
    }
}

impl Drop for StandStill<'_> {
    fn drop(&mut self) {
        for process in self.0 {
            if let Err(error) = process.signal(Signal::CONT) {
                eprintln!("{error:#}");
            }
        }
    }
}

/// A process of this machine, by what the kernel counts of it.
#[derive(Debug, Clone, Copy)]
pub struct Process {
    id: u32,
}

impl Process {
    /// The one with this number.
    #[must_use]
    pub fn of(id: u32) -> Self {
        Self { id }
    }

    /// The time that it has used a processor.
    pub fn cpu(self) -> Result<Duration> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.id))?;
        // Behind the name, which may hold anything.
        let fields: Vec<&str> =
            stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let ticks = |index: usize| fields.get(index).and_then(|it| it.parse::<u64>().ok());
        let ticks = ticks(11).zip(ticks(12)).context("the kernel counts otherwise")?;
        Ok(Duration::from_millis((ticks.0 + ticks.1) * TICK))
    }

    /// What it holds of memory, in MiB.
    pub fn memory(self) -> Result<f64> {
        self.status("VmRSS:")
    }

    /// The most that it held of memory, in MiB.
    pub fn peak_memory(self) -> Result<f64> {
        self.status("VmHWM:")
    }

    fn status(self, key: &str) -> Result<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.id))?;
        let line =
            status.lines().find_map(|line| line.strip_prefix(key)).context("no such figure")?;
        let kibibytes: f64 = line.trim().trim_end_matches(" kB").trim().parse()?;
        Ok(kibibytes / 1024.0)
    }
}

/// Waits until processes have done what they do when they start: nearly nothing for two seconds in a row, a minute at most.
pub fn settle(processes: &[Process]) -> Result<()> {
    let end = Instant::now() + Duration::from_mins(1);
    let spent = || processes.iter().map(|it| it.cpu()).collect::<Result<Vec<_>>>();
    let mut calm = 0;
    while calm < 2 && Instant::now() < end {
        let before = spent()?;
        thread::sleep(Duration::from_secs(1));
        let is_calm = |(before, after): (&Duration, &Duration)| {
            after.saturating_sub(*before) < Duration::from_millis(50)
        };
        calm = if before.iter().zip(&spent()?).all(is_calm) { calm + 1 } else { 0 };
    }
    Ok(())
}

/// For how long this machine, if it is a virtual one, has wanted to run so far and was not, on all its cores together.
pub fn stolen() -> Result<Duration> {
    let stat = fs::read_to_string("/proc/stat")?;
    let all = stat.lines().next().and_then(|line| line.strip_prefix("cpu "));
    let ticks =
        all.and_then(|it| it.split_whitespace().nth(7)).context("the kernel counts otherwise")?;
    Ok(Duration::from_millis(ticks.parse::<u64>()? * TICK))
}

/// A count as a number that can be divided; none here is near what a double cannot hold.
#[must_use]
pub fn number(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::MAX, f64::from)
}

/// How long answers took.
#[derive(Debug, Clone, Default)]
pub struct Latencies(Vec<Duration>);

impl Latencies {
    /// One more.
    pub fn add(&mut self, latency: Duration) {
        self.0.push(latency);
    }

    /// Those of another, too.
    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// How many took longer than this.
    #[must_use]
    pub fn over(&self, limit: Duration) -> usize {
        self.0.iter().filter(|it| **it > limit).count()
    }

    /// How many.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// What so many per mille of them did not exceed.
    #[must_use]
    pub fn quantile(&self, per_mille: usize) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        // Per mille, so that nothing is rounded on the way.
        let rank = (sorted.len() * per_mille).div_ceil(1000);
        sorted.get(rank.saturating_sub(1)).copied().unwrap_or_default()
    }
}
