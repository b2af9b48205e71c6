//! Admission: the same rules on the same hosts through the same API server, judged by each in turn.
//!
//! Only one of them runs at a time, and all have their turn in every round, so that whatever else the machine does meets all alike.
//! Hosts are created without being stored (`dryRun`): what is measured is the way to the store, and it stays the same.

use super::{
    engine::{Engine, Probe, Rules, bad_host},
    figures::{Better, Growth, OWN, Part, Samples, Table},
    gatekeeper, kyverno,
};
use crate::{
    control_plane::ControlPlane,
    ironward::{self, Ironward, Options},
    load::{self, Latencies, Process, StandStill, number, reviews},
    operators, process_group,
    progress::{Progress, say},
    release::{OWN_KINDS, install_kinds},
};
use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use futures::{StreamExt, TryStreamExt, stream};
use reqwest::{Certificate, Client, Identity};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};
use tokio::runtime::Runtime;

/// Who judges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Contender {
    /// Nobody: what all others are on top of.
    Nothing,
    /// The API server itself, by a ValidatingAdmissionPolicy.
    InTree,
    /// Ironward with these rules and no others.
    Ironward,
    /// Ironward as it is installed: its own policies, defaults and uniqueness, and these rules besides.
    Shipped,
    /// Kyverno.
    Kyverno,
    /// Gatekeeper.
    Gatekeeper,
    /// baremetal-operator's webhook, whose rules are its own.
    BaremetalOperator,
}

impl Contender {
    /// What the report calls it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::InTree => "in-tree",
            Self::Ironward => OWN,
            Self::Shipped => "Ironward, with all that it ships",
            Self::Kyverno => "Kyverno",
            Self::Gatekeeper => "Gatekeeper",
            Self::BaremetalOperator => "baremetal-operator",
        }
    }

    fn provide(self) -> Result<()> {
        match self {
            Self::Kyverno => kyverno::provide(),
            Self::Gatekeeper => gatekeeper::provide(),
            // Metal3's kinds are there for all, and so is who brings them.
            Self::BaremetalOperator
            | Self::Nothing
            | Self::InTree
            | Self::Ironward
            | Self::Shipped => Ok(()),
        }
    }

    fn install(self, plane: &ControlPlane) -> Result<()> {
        match self {
            Self::Kyverno => kyverno::install(plane),
            Self::Gatekeeper => gatekeeper::install(plane),
            // The kinds of Metal3 are there for all.
            Self::BaremetalOperator
            | Self::Nothing
            | Self::InTree
            | Self::Ironward
            | Self::Shipped => Ok(()),
        }
    }
}

/// How much is measured.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Who takes part.
    pub contenders: Vec<Contender>,
    /// How many hosts are stored, one size after the other.
    pub sizes: Vec<usize>,
    /// How often each has its turn, at each size.
    pub rounds: usize,
    /// How many hosts are created one after the other.
    pub creates: usize,
    /// How long as many as possible are created, in seconds.
    pub seconds: u64,
    /// Which of cargo's profiles Ironward is built with.
    pub profile: String,
}

impl Plan {
    /// Just enough to see that all of it still works, with those who are built in a minute.
    #[must_use]
    pub fn short(profile: &str) -> Self {
        let contenders = vec![
            Contender::Nothing,
            Contender::InTree,
            Contender::Ironward,
            Contender::Shipped,
            Contender::BaremetalOperator,
        ];
        let (sizes, profile) = (vec![10, 20], profile.to_owned());
        Self { contenders, sizes, rounds: 1, creates: 50, seconds: 1, profile }
    }
}

/// What one of them took in one turn.
#[derive(Debug, Clone, Copy, Default)]
struct Turn {
    ready: Option<f64>,
    memory: Option<f64>,
    p50: f64,
    p99: f64,
    throughput: f64,
    cpu: Option<f64>,
    server_cpu: f64,
    alone: Option<Alone>,
}

/// What a webhook takes when it is asked directly, and nobody else has anything to do.
#[derive(Debug, Clone, Copy)]
struct Alone {
    throughput: f64,
    cpu: f64,
    p99: f64,
    memory: f64,
}

type Turns = BTreeMap<(usize, Contender), Vec<Turn>>;

const AT_ONCE: usize = 16;
const CONNECTIONS: usize = 4;
const STORED: &str = "stored";
const ASKED: &str = "metal3";
const WARM_UP: usize = 200;
const HOST: &str = include_str!("../../../tests/cel/baremetalhost.json");

/// Builds and downloads ahead what takes long, and says of whom that was not possible and why.
#[must_use]
pub fn provide(contenders: &[Contender]) -> BTreeMap<Contender, String> {
    let tried = contenders.iter().map(|it| (*it, it.provide()));
    tried.filter_map(|(it, result)| Some((it, format!("{:#}", result.err()?)))).collect()
}

/// Measures all that can be measured.
pub fn measure(plan: &Plan, missing: &BTreeMap<Contender, String>) -> Result<Part> {
    let begun = Instant::now();
    let plane = ControlPlane::start()?;
    operators::install_kinds(&plane)?;
    install_kinds(&plane, &OWN_KINDS)?;
    let mut stage = Stage::new(plan, plane)?;
    // Whoever comes first is not to pay for what the API server does but once.
    stage.askers.one_by_one(WARM_UP)?;
    stage.askers.at_once(Duration::from_secs(plan.seconds))?;
    let mut remarks: Vec<_> = missing
        .iter()
        .map(|(it, why)| format!("{} could not be built, and is missing: {why}", it.name()))
        .collect();
    let mut contenders = Vec::new();
    for contender in plan.contenders.iter().filter(|it| !missing.contains_key(it)) {
        match contender.install(&stage.plane) {
            Ok(()) => contenders.push(*contender),
            Err(error) => {
                remarks.push(format!("{} could not be installed: {error:#}", contender.name()));
            }
        }
    }
    let mut turns = Turns::new();
    for size in &plan.sizes {
        stage.fill(*size)?;
        for round in 0..plan.rounds {
            for contender in &contenders {
                let what = format!("{}, {size} hosts, round {}", contender.name(), round + 1);
                let progress = Progress::start(&what);
                match stage.turn(*contender) {
                    Ok(turn) => {
                        say(&format!("{what}: {turn:?}"));
                        turns.entry((*size, *contender)).or_default().push(turn);
                    }
                    Err(error) => {
                        say(&format!("{what}: {error:#}"));
                        remarks.push(format!("{what}: not measured: {error:#}"));
                        stage.clear()?;
                    }
                }
                progress.done();
            }
        }
    }
    let mut part = part(plan, &contenders, &turns);
    part.remarks.extend(remarks);
    part.took = begun.elapsed().as_secs_f64();
    Ok(part)
}

struct Stage<'a> {
    plan: &'a Plan,
    plane: ControlPlane,
    rules: Rules,
    probe: Probe,
    askers: Askers,
    stored: usize,
    /// Where Ironward finds these rules and no others, and where it finds them besides its own.
    policies: [PathBuf; 2],
    kubeconfig: PathBuf,
}

impl<'a> Stage<'a> {
    fn new(plan: &'a Plan, plane: ControlPlane) -> Result<Self> {
        for namespace in [STORED, ASKED] {
            plane.kubectl().expect(&["create", "namespace", namespace])?;
        }
        let askers = Askers::new(&plane)?;
        let policies = ["only", "besides"].map(|it| plane.dir().join(it));
        for folder in &policies {
            fs::create_dir(folder)?;
            fs::write(folder.join("rules.yaml"), Rules::TEXT)?;
        }
        switch_off_shipped(&policies[0])?;
        let (probe, kubeconfig) = (Probe::new(&plane)?, plane.own_kubeconfig()?);
        let rules = Rules::read()?;
        Ok(Self { plan, plane, rules, probe, askers, stored: 0, policies, kubeconfig })
    }

    /// Has so many hosts stored. Nobody judges them, and nobody is to do anything about them.
    fn fill(&mut self, size: usize) -> Result<()> {
        let progress = Progress::start(&format!("storing {size} hosts"));
        let hosts: Vec<_> =
            (self.stored..size).map(|number| stored_host(number).to_string()).collect();
        self.askers.store(hosts)?;
        self.stored = self.stored.max(size);
        progress.done();
        Ok(())
    }

    fn turn(&self, contender: Contender) -> Result<Turn> {
        let judge = self.start(contender)?;
        let turn = self.measure(&judge);
        self.end(contender, judge)?;
        turn
    }

    fn measure(&self, judge: &Judge) -> Result<Turn> {
        let process = judge.process().map(|it| Process::of(it.id()));
        if let Some(process) = process {
            settle(process)?;
        }
        let memory = process.map(Process::memory).transpose()?;
        self.askers.one_by_one(WARM_UP)?;
        let latencies = self.askers.one_by_one(self.plan.creates)?;
        let server = self.plane.processes().get(1).context("there is no API server")?;
        let server = Process::of(server.id());
        let before = (process.map(Process::cpu).transpose()?, server.cpu()?);
        let begun = Instant::now();
        let created = self.askers.at_once(Duration::from_secs(self.plan.seconds))?;
        let took = begun.elapsed();
        let per_thousand = |before: Duration, after: Duration| {
            after.saturating_sub(before).as_secs_f64() * 1e3 / number(created) * 1e3
        };
        let server_cpu = per_thousand(before.1, server.cpu()?);
        let cpu = match (process, before.0) {
            (Some(process), Some(before)) => Some(per_thousand(before, process.cpu()?)),
            _ => None,
        };
        let alone = match (judge.url(), process) {
            (Some(url), Some(process)) => Some(self.alone(&url, process)?),
            _ => None,
        };
        Ok(Turn {
            ready: judge.ready_after().map(|it| it.as_secs_f64()),
            memory,
            p50: latencies.quantile(500).as_secs_f64() * 1e3,
            p99: latencies.quantile(990).as_secs_f64() * 1e3,
            throughput: number(created) / took.as_secs_f64(),
            cpu,
            server_cpu,
            alone,
        })
    }

    fn start(&self, contender: Contender) -> Result<Judge> {
        Ok(match contender {
            Contender::Nothing => Judge::Nobody,
            Contender::InTree => {
                let begun = Instant::now();
                let apply = ["apply", "--server-side", "--filename", "-"];
                self.plane.kubectl().expect_with_input(&apply, Rules::TEXT)?;
                self.until_refused(None)?;
                Judge::InTree(begun.elapsed())
            }
            Contender::Ironward => self.start_ironward(&self.policies[0])?,
            Contender::Shipped => self.start_ironward(&self.policies[1])?,
            Contender::Kyverno => Judge::Engine(kyverno::start(&self.plane, &self.rules)?),
            Contender::Gatekeeper => Judge::Engine(gatekeeper::start(&self.plane, &self.rules)?),
            Contender::BaremetalOperator => {
                let begun = Instant::now();
                let operator = operators::baremetal_operator(&self.plane)?;
                self.judging(operator.process, operators::host_webhook(), begun)?
            }
        })
    }

    fn start_ironward(&self, policies: &Path) -> Result<Judge> {
        let options = Options {
            policy_dir: Some(policies.to_owned()),
            profile: Some(self.plan.profile.clone()),
            kubeconfig: Some(self.kubeconfig.clone()),
            ..Options::default()
        };
        let begun = Instant::now();
        let ironward = Ironward::start_with(&self.plane, &options)?;
        let url = format!("{}/validate", ironward.webhook);
        self.judging(ironward.process, url, begun)
    }

    /// Whoever has just been started, once it judges.
    fn judging(
        &self,
        process: process_group::Process,
        url: String,
        begun: Instant,
    ) -> Result<Judge> {
        let refused = self.until_refused(Some(&process));
        let engine = Engine { process, url, ready_after: begun.elapsed() };
        if let Err(error) = refused {
            let words = engine.process.log_tail();
            engine.end()?;
            return Err(error.context(words));
        }
        Ok(Judge::Engine(engine))
    }

    /// Waits until a bad host is refused by whoever judges, and not because nobody was reached.
    fn until_refused(&self, process: Option<&process_group::Process>) -> Result<()> {
        let end = Instant::now() + Duration::from_mins(2);
        loop {
            let refusal = self.probe.refusal(bad_host())?;
            if refusal.is_some_and(|it| !it.contains("calling webhook")) {
                return Ok(());
            }
            if let Some(status) = process.and_then(process_group::Process::exit_status) {
                bail!("it ended: {status}");
            }
            if Instant::now() > end {
                bail!("bad hosts are not refused");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn end(&self, contender: Contender, judge: Judge) -> Result<()> {
        match (contender, judge) {
            (Contender::Kyverno, Judge::Engine(engine)) => kyverno::remove(&self.plane, engine),
            (Contender::Gatekeeper, Judge::Engine(engine)) => {
                gatekeeper::remove(&self.plane, engine)
            }
            (_, Judge::Engine(engine)) => {
                engine.end()?;
                self.clear()
            }
            (_, Judge::InTree(_) | Judge::Nobody) => self.clear(),
        }
    }

    /// Leaves nobody who judges.
    fn clear(&self) -> Result<()> {
        let kubectl = self.plane.kubectl();
        for kind in [
            "validatingwebhookconfigurations",
            "mutatingwebhookconfigurations",
            "validatingadmissionpolicies",
            "validatingadmissionpolicybindings",
        ] {
            kubectl.expect(&["delete", kind, "--all"])?;
        }
        self.probe.wait_until_accepted()
    }

    /// Asks a webhook directly, while the API server stands still, which in a cluster has cores of its own.
    fn alone(&self, url: &str, process: Process) -> Result<Alone> {
        let review = reviews()?.into_iter().find(|it| it.name == "validate a create");
        let body = review.context("there is no such review")?.body;
        let clients = load::clients(&self.plane, CONNECTIONS)?;
        let ask = |number: usize| {
            let (client, body) = (clients[number % CONNECTIONS].clone(), body.clone());
            async move { load::ask(&client, url, body).await }
        };
        let span = Duration::from_secs(self.plan.seconds);
        self.askers.runtime.block_on(saturate(&ask, Duration::from_millis(500)))?;
        let stillness = StandStill::of(&self.plane)?;
        let (begun, before) = (Instant::now(), process.cpu()?);
        let (answered, latencies) = self.askers.runtime.block_on(saturate(&ask, span))?;
        let (took, cpu) = (begun.elapsed(), process.cpu()?.saturating_sub(before));
        drop(stillness);
        Ok(Alone {
            throughput: number(answered) / took.as_secs_f64(),
            cpu: cpu.as_secs_f64() * 1e6 / number(answered),
            p99: latencies.quantile(990).as_secs_f64() * 1e3,
            memory: process.memory()?,
        })
    }
}

/// Asks as fast as answers come.
async fn saturate<F>(ask: &impl Fn(usize) -> F, span: Duration) -> Result<(usize, Latencies)>
where
    F: Future<Output = Result<()>>,
{
    let end = Instant::now() + span;
    let mut latencies = Latencies::default();
    let questions =
        stream::iter(0..).take_while(|_| async { Instant::now() < end }).map(|number| async move {
            let begun = Instant::now();
            ask(number).await.map(|()| begun.elapsed())
        });
    let mut answers = std::pin::pin!(questions.buffer_unordered(AT_ONCE));
    while let Some(took) = answers.try_next().await? {
        latencies.add(took);
    }
    Ok((latencies.count(), latencies))
}

/// Whoever judges now.
enum Judge {
    Nobody,
    InTree(Duration),
    Engine(Engine),
}

impl Judge {
    fn process(&self) -> Option<&process_group::Process> {
        match self {
            Self::Engine(engine) => Some(&engine.process),
            Self::Nobody | Self::InTree(_) => None,
        }
    }

    fn url(&self) -> Option<String> {
        match self {
            Self::Engine(engine) => Some(engine.url.clone()),
            Self::Nobody | Self::InTree(_) => None,
        }
    }

    fn ready_after(&self) -> Option<Duration> {
        match self {
            Self::Engine(engine) => Some(engine.ready_after),
            Self::InTree(after) => Some(*after),
            Self::Nobody => None,
        }
    }
}

/// Waits until a process has done what it does when it starts: nearly nothing for two seconds in a row, a minute at most.
fn settle(process: Process) -> Result<()> {
    let end = Instant::now() + Duration::from_mins(1);
    let mut calm = 0;
    while calm < 2 && Instant::now() < end {
        let before = process.cpu()?;
        std::thread::sleep(Duration::from_secs(1));
        let spent = process.cpu()?.saturating_sub(before);
        calm = if spent < Duration::from_millis(50) { calm + 1 } else { 0 };
    }
    Ok(())
}

/// Who creates hosts.
struct Askers {
    runtime: Runtime,
    clients: Vec<Client>,
    server: String,
}

impl Askers {
    fn new(plane: &ControlPlane) -> Result<Self> {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let config: Value = serde_json::from_slice(&fs::read(plane.admin_kubeconfig())?)?;
        let text = |pointer: &str| {
            config
                .pointer(pointer)
                .and_then(Value::as_str)
                .context("the kubeconfig lacks something")
        };
        let mut identity = fs::read(text("/users/0/user/client-certificate")?)?;
        identity.extend(fs::read(text("/users/0/user/client-key")?)?);
        let authority = Certificate::from_pem(&fs::read(plane.authority())?)?;
        let client = || {
            Client::builder()
                .no_proxy()
                .tls_certs_only([authority.clone()])
                .identity(Identity::from_pem(&identity)?)
                .timeout(Duration::from_secs(30))
                .build()
        };
        let clients = (0..CONNECTIONS).map(|_| client()).collect::<Result<_, _>>()?;
        // One thread: the cores are for those who are measured. It is of the network that this one is in.
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        Ok(Self { runtime, clients, server: text("/clusters/0/cluster/server")?.to_owned() })
    }

    async fn create(
        &self,
        number: usize,
        namespace: &str,
        query: &str,
        host: String,
    ) -> Result<()> {
        let path = "apis/metal3.io/v1alpha1/namespaces";
        let url = format!("{}/{path}/{namespace}/baremetalhosts{query}", self.server);
        let client = &self.clients[number % CONNECTIONS];
        let request = client.post(url).header("Content-Type", "application/json").body(host);
        let answer = request.send().await.context("the API server was not reached")?;
        let status = answer.status();
        let text = answer.bytes().await.context("an answer broke off")?;
        if status.is_success() {
            Ok(())
        } else {
            bail!("{status}: {}", String::from_utf8_lossy(&text))
        }
    }

    fn store(&self, hosts: Vec<String>) -> Result<()> {
        let creates = stream::iter(hosts.into_iter().enumerate())
            .map(|(number, host)| self.create(number, STORED, "", host));
        self.runtime.block_on(creates.buffer_unordered(AT_ONCE).try_collect())
    }

    async fn ask(&self, number: usize) -> Result<()> {
        self.create(number, ASKED, "?dryRun=All", asked_host(number)?).await
    }

    fn one_by_one(&self, count: usize) -> Result<Latencies> {
        self.runtime.block_on(async {
            let mut latencies = Latencies::default();
            for number in 0..count {
                let begun = Instant::now();
                self.ask(number).await?;
                latencies.add(begun.elapsed());
            }
            Ok(latencies)
        })
    }

    fn at_once(&self, span: Duration) -> Result<usize> {
        let ask = |number| self.ask(number);
        Ok(self.runtime.block_on(saturate(&ask, span))?.0)
    }
}

/// A host as somebody would write it, that breaks no rule of anybody.
fn asked_host(number: usize) -> Result<String> {
    let mut host: Value = serde_json::from_str(HOST)?;
    host["metadata"] = json!({"name": format!("asked-{number}"), "labels": {"rack": "r7"}});
    if let Some(host) = host.as_object_mut() {
        host.remove("status");
    }
    // What Metal3 does not have any more, and what only controllers write.
    if let Some(spec) = host["spec"].as_object_mut() {
        spec.retain(|field, _| !["firmware", "consumerRef"].contains(&field.as_str()));
    }
    Ok(host.to_string())
}

/// One that nobody is to do anything about.
fn stored_host(number: usize) -> Value {
    let [.., a, b, c] = number.to_be_bytes();
    json!({
        "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
        "metadata": {
            "name": format!("stored-{number}"), "annotations": {"baremetalhost.metal3.io/paused": ""},
        },
        "spec": {
            "online": true, "bootMACAddress": format!("02:00:00:{a:02x}:{b:02x}:{c:02x}"),
            "bmc": {
                "address": format!("redfish://10.{a}.{b}.{c}/redfish/v1/Systems/1"),
                "credentialsName": format!("bmc-{number}"),
            },
        },
    })
}

/// Puts policies of the same names in the place of the shipped ones that are about nothing there is.
fn switch_off_shipped(folder: &Path) -> Result<()> {
    fs::write(folder.join("unique.yaml"), ironward::NOTHING_IS_UNIQUE)?;
    for entry in fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../policies"))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.ends_with(".test.yaml") {
            continue;
        }
        let documents: Vec<Value> = serde_saphyr::from_multiple(&fs::read_to_string(&path)?)?;
        for (number, mut document) in documents.into_iter().enumerate() {
            if document["kind"] == "UniquePolicy" {
                continue;
            }
            if let Some(constraints) = document.pointer_mut("/spec/matchConstraints") {
                *constraints = json!({"resourceRules": [{
                    "apiGroups": ["nothing.ironward.dev"], "apiVersions": ["v1"],
                    "operations": ["CREATE"], "resources": ["nothings"],
                }]});
                fs::write(folder.join(format!("{name}-{number}.json")), document.to_string())?;
            }
        }
    }
    Ok(())
}

fn part(plan: &Plan, contenders: &[Contender], turns: &Turns) -> Part {
    let names: Vec<_> = contenders.iter().map(|it| it.name()).collect();
    let of = |size: usize, contender: Contender, figure: &dyn Fn(&Turn) -> Option<f64>| {
        let turns = turns.get(&(size, contender)).map(Vec::as_slice).unwrap_or_default();
        turns.iter().filter_map(figure).collect::<Vec<f64>>()
    };
    let cells = |size: usize, figure: &dyn Fn(&Turn) -> Option<f64>| {
        contenders.iter().map(|it| of(size, *it, figure)).collect::<Vec<_>>()
    };
    let (typical, largest) = (plan.sizes[plan.sizes.len() / 2], plan.sizes[plan.sizes.len() - 1]);
    let smallest = plan.sizes[0];
    let mut through =
        Table::new(&format!("Through the API server, {typical} hosts stored"), &names);
    through.row("a create, p50", "ms", Better::Less, cells(typical, &|it| Some(it.p50)));
    through.row("a create, p99", "ms", Better::Less, cells(typical, &|it| Some(it.p99)));
    through.row(
        "creates at saturation",
        "per second",
        Better::More,
        cells(typical, &|it| Some(it.throughput)),
    );
    through.row("CPU for 1,000 creates", "ms", Better::Less, cells(typical, &|it| it.cpu));
    through.row(
        "CPU of the API server for 1,000 creates",
        "ms",
        Better::Less,
        cells(typical, &|it| Some(it.server_cpu)),
    );
    through.row("start until the first refusal", "s", Better::Less, cells(typical, &|it| it.ready));
    let memory: &dyn Fn(&Turn) -> Option<f64> = &|it| it.memory;
    through.row(&format!("memory, {smallest} hosts"), "MiB", Better::Less, cells(smallest, memory));
    through.row(&format!("memory, {largest} hosts"), "MiB", Better::Less, cells(largest, memory));
    let mut alone = Table::new("The webhook alone, asked directly, 16 questions at a time", &names);
    let of_alone = |figure: fn(&Alone) -> f64| move |it: &Turn| it.alone.as_ref().map(figure);
    alone.row("answers", "per second", Better::More, cells(typical, &of_alone(|it| it.throughput)));
    alone.row("an answer, p99", "ms", Better::Less, cells(typical, &of_alone(|it| it.p99)));
    alone.row("CPU per answer", "µs", Better::Less, cells(typical, &of_alone(|it| it.cpu)));
    alone.row("memory after that", "MiB", Better::Less, cells(typical, &of_alone(|it| it.memory)));

    let growth = |what: &str, unit: &str, figure: &dyn Fn(&Turn) -> Option<f64>| {
        let mut growth = Growth::new(what, unit, &plan.sizes);
        for contender in contenders {
            let samples: Vec<_> =
                plan.sizes.iter().map(|size| Samples(of(*size, *contender, figure))).collect();
            if samples.iter().any(|it| !it.0.is_empty()) {
                growth.series.push((contender.name().to_owned(), samples));
            }
        }
        growth
    };
    let growths = if plan.sizes.len() > 1 {
        vec![
            growth("a create, p50", "ms", &|it| Some(it.p50)),
            growth("CPU per answer", "µs", &of_alone(|it| it.cpu)),
            growth("memory", "MiB", memory),
        ]
    } else {
        Vec::new()
    };
    let p99 = |contender| Samples(of(typical, contender, &|it| Some(it.p99))).median();
    let mut remarks = vec![
        "`nothing` is the API server without anybody who judges; what the others take is on top of that. `in-tree` is judged inside the API server, \
         whose CPU it takes.".to_owned(),
        "baremetal-operator's rules are its own and cannot be changed: it does other work than the rest.".to_owned(),
        "Times through the API server are for the most part its own: where ranges overlap, nobody is ahead.".to_owned(),
        "Memory is what the process holds (RSS), pages of its program file among it.".to_owned(),
    ];
    if let (Some(own), Some(in_tree)) = (p99(Contender::Ironward), p99(Contender::InTree)) {
        remarks.push(format!(
            "At p99 Ironward adds {:.2} ms to what in-tree policy takes.",
            own - in_tree
        ));
    }
    Part {
        title: "Admission".to_owned(),
        about: format!(
            "The same eight CEL rules (`e2e/peers/rules.yaml`) on BareMetalHosts that are created through the same API server; {} creates one after the other for the \
             times of one, then as many as possible for {} seconds, {AT_ONCE} at a time; {} rounds, in each of which everybody has a turn.",
            plan.creates, plan.seconds, plan.rounds
        ),
        tables: vec![through, alone],
        growths,
        remarks,
        took: 0.0,
    }
}

/// Has Ironward built ahead, and downloads the kinds that all of them work with.
pub fn build(profile: &str) -> Result<()> {
    operators::provide()?;
    ironward::build(profile)?;
    // Its definitions are printed by the one for tests.
    ironward::build("dev")
}
