//! Three replicas under load: they come and go, and nobody who asks the API server notices.

use crate::stage::{
    OWN_POLICY, PATIENCE, SELF_SIGNED, StopOnDrop, alone, beside_metal3, until, wait_until_in_force,
};
use ironward_e2e::{
    balancer::Balancer,
    control_plane::ControlPlane,
    eventually::eventually,
    ironward::Ironward,
    load::{Latencies, number},
    release::{NAMESPACE, Release, Replica, mount, stopped},
};
use kube::{
    Api, Client, Config,
    api::{DynamicObject, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
    core::{ApiResource, GroupVersionKind},
};
use rustix::process::Signal;
use serde_json::json;
use std::{
    fs,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// Between two requests: 200 a second.
const PACE: Duration = Duration::from_millis(5);
/// How many requests wait for an answer at one time: a machine that cannot keep the pace shall be slow, not fall over.
const AT_ONCE: usize = 8;
/// How often one is killed beside the one that leads: those that the API server is connected to are among them.
const KILLS: usize = 5;
/// What a kubelet gives a replica that is to stop, until all nodes know of it: `drainSeconds`.
const DRAIN: Duration = Duration::from_secs(2);

/// What became of the requests.
#[derive(Default)]
struct Tally {
    asked: AtomicUsize,
    latencies: Mutex<Latencies>,
    /// When they were sent, and what was said.
    failed: Mutex<Vec<(Instant, String)>>,
}

impl Tally {
    fn failures(&self) -> Vec<(Instant, String)> {
        self.failed.lock().unwrap().clone()
    }
}

async fn client(plane: &ControlPlane) -> Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let kubeconfig = Kubeconfig::read_from(plane.admin_kubeconfig()).unwrap();
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig, &options).await.unwrap();
    Client::try_from(config).unwrap()
}

/// Asks at a steady pace, or as fast as the machine can.
fn ask(plane: &ControlPlane, tally: &Arc<Tally>, done: &AtomicBool) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let kind =
            ApiResource::from_gvk(&GroupVersionKind::gvk("metal3.io", "v1alpha1", "BareMetalHost"));
        let hosts = Api::<DynamicObject>::namespaced_with(client(plane).await, "default", &kind);
        let mut tick = tokio::time::interval(PACE);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Burst);
        let mut requests = tokio::task::JoinSet::new();
        while !done.load(Ordering::Relaxed) {
            tick.tick().await;
            let number = tally.asked.fetch_add(1, Ordering::Relaxed);
            let (hosts, tally) = (hosts.clone(), Arc::clone(tally));
            requests.spawn(async move {
                let mac = format!(
                    "02:00:00:{:02x}:{:02x}:{:02x}",
                    number >> 16 & 255,
                    number >> 8 & 255,
                    number & 255
                );
                let host = json!({
                    "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
                    "metadata": {"name": format!("host-{number}")},
                    "spec": {"online": true, "bootMACAddress": mac},
                });
                let host: DynamicObject = serde_json::from_value(host).unwrap();
                let parameters = PostParams { dry_run: true, ..PostParams::default() };
                let start = Instant::now();
                match hosts.create(&parameters, &host).await {
                    Ok(_) => tally.latencies.lock().unwrap().add(start.elapsed()),
                    Err(error) => tally.failed.lock().unwrap().push((start, error.to_string())),
                }
            });
            while requests.len() >= AT_ONCE && requests.join_next().await.is_some() {}
            while requests.try_join_next().is_some() {}
        }
        while requests.join_next().await.is_some() {}
    });
}

fn behind(balancer: &Balancer, replicas: &[Ironward]) {
    let address = |it: &Ironward| it.webhook.trim_start_matches("https://").parse().unwrap();
    balancer.set(replicas.iter().map(address).collect());
}

fn holder(release: &Release<'_>) -> String {
    let lease = release.kubectl().get("lease", "ironward").unwrap();
    lease["spec"]["holderIdentity"].as_str().unwrap_or_default().to_owned()
}

/// How long the Lease takes to another holder.
fn hand_over(release: &Release<'_>, from: &str) -> Duration {
    let start = Instant::now();
    let look = || {
        let now = holder(release);
        if !now.is_empty() && now != from { Ok(()) } else { Err(now) }
    };
    eventually(PATIENCE, "another replica reconciles", look).unwrap();
    start.elapsed()
}

fn is_holder(replica: &Ironward, holder: &str) -> bool {
    holder.ends_with(&format!("-{}", replica.process.id()))
}

#[test]
fn no_admission_fails_while_replicas_come_and_go() {
    let _alone = alone();
    let plane = beside_metal3();
    let policy = "policies.files.own\\.yaml=# none yet";
    let release = Release::install(&plane, &[SELF_SIGNED, "replicas=3", policy]).unwrap();
    let policies = plane.dir().join("mounted-policies");
    mount(&release.kubectl(), "configmap", "ironward-policies", &policies).unwrap();
    let balancer = Balancer::start().unwrap();
    let settings = Replica {
        url: Some(balancer.url()),
        policies: Some(policies.clone()),
        arguments: vec!["--self-signed-lifetime-seconds=90".to_owned()],
        optimised: true,
        ..Replica::default()
    };
    let start = || {
        let replica = release.start(&settings).unwrap();
        replica.wait_until_ready().unwrap();
        replica
    };
    let first = release.start(&settings).unwrap();
    let mut replicas = vec![first];
    behind(&balancer, &replicas);
    wait_until_in_force(&release, &replicas[0]);
    replicas.extend([start(), start()]);
    behind(&balancer, &replicas);
    let taken_up = || {
        let log = fs::read_to_string(replicas_log(&plane)).unwrap_or_default();
        log.matches("serving with a new certificate").count()
    };

    let (tally, done) = (Arc::new(Tally::default()), AtomicBool::new(false));
    let began = Instant::now();
    let (handed_over, orderly, killed) = thread::scope(|scope| {
        scope.spawn(|| ask(&plane, &tally, &done));
        let guarded = StopOnDrop(&done);

        for _ in 0..3 {
            replicas.push(start());
            let old = replicas.remove(0);
            behind(&balancer, &replicas);
            thread::sleep(DRAIN);
            let leads = holder(&release);
            stopped(&old.process).unwrap();
            if is_holder(&old, &leads) {
                eprintln!("lease after an orderly stop: {:?}", hand_over(&release, &leads));
            }
        }
        fs::write(policies.join("own.yaml"), OWN_POLICY).unwrap();
        for replica in &replicas {
            until(
                "the policy is in force",
                || replica.probe("metrics").unwrap().1,
                |metrics| metrics.contains("ironward_admission_policy_generation 2"),
            );
        }
        let before = taken_up();
        until("all replicas serve with a new certificate", taken_up, |now| *now >= before + 3);
        let orderly = tally.failures();

        let leads = holder(&release);
        let mut gone = replicas.iter().position(|it| is_holder(it, &leads)).unwrap_or_default();
        replicas[gone].process.signal(Signal::KILL).unwrap();
        eprintln!("lease after kill -9: {:?}", hand_over(&release, &leads));
        for _ in 0..KILLS {
            replicas[gone] = start();
            behind(&balancer, &replicas);
            gone = (gone + 1) % replicas.len();
            let before = tally.failures().len();
            replicas[gone].process.signal(Signal::KILL).unwrap();
            thread::sleep(PACE * 100);
            eprintln!("lost with a replica: {}", tally.failures().len() - before);
        }
        let handed_over = Instant::now();
        drop(guarded);
        (handed_over, orderly, tally.failures())
    });
    let latencies = tally.latencies.lock().unwrap();
    let (asked, took) = (tally.asked.load(Ordering::Relaxed), began.elapsed());
    eprintln!(
        "{asked} admissions in {took:?}, {:.0} a second: p50 {:?}, p99 {:?}; {} failed, {} of them around kill -9",
        number(asked) / took.as_secs_f64(),
        latencies.quantile(500),
        latencies.quantile(990),
        killed.len(),
        killed.len() - orderly.len(),
    );
    assert!(orderly.is_empty(), "{orderly:?}");
    // What a killed process was working on is lost with it, for the API server asks no webhook twice: it sends again only what
    // changes nothing, and a question is a POST. So is what is sent before the API server has heard that the connection ended.
    let after: Vec<_> = killed.iter().filter(|(sent, _)| *sent > handed_over).collect();
    assert!(after.is_empty(), "{after:?}");
    assert!(
        killed.len() <= (KILLS + 1) * AT_ONCE,
        "more was lost than can have been under way: {killed:?}"
    );
    let other: Vec<_> =
        killed.iter().filter(|(_, said)| !said.contains("failed calling webhook")).collect();
    assert!(other.is_empty(), "{other:?}");
    let claims = release.kubectl().expect(&["get", "leases", "--namespace", NAMESPACE]).unwrap();
    assert!(!claims.contains("unique-boot-mac"), "a dry run claims nothing: {claims}");
}

fn replicas_log(plane: &ControlPlane) -> std::path::PathBuf {
    plane.dir().join("ironward.log")
}
