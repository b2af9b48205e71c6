//! Who creates hosts, and how long that takes.

use super::Contender;
use crate::{
    cel_fuzz::random::Random, control_plane::ControlPlane, load::Latencies, peers::engine::submit,
};
use anyhow::{Context, Result, bail};
use futures::{StreamExt, TryStreamExt, stream};
use reqwest::{Certificate, Client, Identity};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fs,
    time::{Duration, Instant},
};
use tokio::runtime::Runtime;

/// How many are created at a time, where as many as possible are.
pub(super) const AT_ONCE: usize = 16;
/// How many connections they come by.
pub(super) const CONNECTIONS: usize = 4;
/// Where hosts are stored.
pub(super) const STORED: &str = "stored";
/// Where hosts are created that are not.
pub(super) const ASKED: &str = "metal3";

const HOST: &str = include_str!("../../../../tests/cel/baremetalhost.json");

/// Those who create hosts.
pub(super) struct Askers {
    /// With one thread: the cores are for those who are measured. It is of the network that this one is in.
    pub runtime: Runtime,
    clients: Vec<Client>,
    server: String,
    /// The host that each is to judge. None is stored, and so one name does for all.
    hosts: BTreeMap<Contender, String>,
}

impl Askers {
    pub(super) fn new(plane: &ControlPlane, contenders: &[Contender]) -> Result<Self> {
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
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let host = |it: &Contender| Ok((*it, asked_host(*it)?));
        let hosts = contenders.iter().map(host).collect::<Result<_>>()?;
        Ok(Self { runtime, clients, server: text("/clusters/0/cluster/server")?.to_owned(), hosts })
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

    /// Has these hosts stored.
    pub(super) fn store(&self, numbers: impl Iterator<Item = usize>) -> Result<()> {
        let creates = stream::iter(numbers)
            .map(|number| self.create(number, STORED, "", stored_host(number).to_string()));
        self.runtime.block_on(creates.buffer_unordered(AT_ONCE).try_collect())
    }

    async fn ask(&self, number: usize, contender: Contender) -> Result<()> {
        let host = self.hosts.get(&contender).context("nobody was to be asked that")?.clone();
        let asked = self.create(number, ASKED, "?dryRun=All", host).await;
        asked.with_context(|| format!("a host for {}", contender.name()))
    }

    /// Creates so many hosts for each, one after the other and in alternation; in another order each time, lest what the API server does
    /// after every so many requests, such as clearing up its memory, meets always the same.
    pub(super) fn in_alternation(
        &self,
        contenders: &[Contender],
        count: usize,
    ) -> Result<BTreeMap<Contender, Latencies>> {
        let mut latencies: BTreeMap<Contender, Latencies> = BTreeMap::new();
        let (mut order, mut random) = (contenders.to_vec(), Random::new(0, 0));
        self.runtime.block_on(async {
            for number in 0..count {
                random.shuffle(&mut order);
                for contender in &order {
                    let begun = Instant::now();
                    self.ask(number, *contender).await?;
                    latencies.entry(*contender).or_default().add(begun.elapsed());
                }
            }
            Ok(latencies)
        })
    }

    /// Creates as many as possible for one, and says how many that were.
    pub(super) fn at_once(&self, contender: Contender, span: Duration) -> Result<usize> {
        let ask = |number| self.ask(number, contender);
        Ok(self.runtime.block_on(saturate(&ask, span))?.count())
    }
}

/// Asks as fast as answers come.
pub(super) async fn saturate<F>(ask: &impl Fn(usize) -> F, span: Duration) -> Result<Latencies>
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
    Ok(latencies)
}

/// A host as somebody would write it, that breaks no rule of anybody.
fn asked_host(judge: Contender) -> Result<String> {
    let mut host: Value = serde_json::from_str(HOST)?;
    host["metadata"] = json!({"name": "asked", "labels": {"rack": "r7"}});
    submit(&mut host, judge.label());
    if let Some(host) = host.as_object_mut() {
        host.remove("status");
    }
    // What Metal3 does not have any more, and what only controllers write.
    if let Some(spec) = host["spec"].as_object_mut() {
        spec.retain(|field, _| !["firmware", "consumerRef"].contains(&field.as_str()));
    }
    Ok(host.to_string())
}

/// One that nobody is to do anything about. Whoever knows of stored hosts is to know of all of them.
fn stored_host(number: usize) -> Value {
    let [.., a, b, c] = number.to_be_bytes();
    let mut host = json!({
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
    });
    submit(&mut host, Contender::Shipped.label());
    host
}
