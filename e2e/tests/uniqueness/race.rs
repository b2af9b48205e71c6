//! Many clients, few addresses, three replicas, and one of them killed every second.

use crate::stage::{PATIENCE, alone, claims, client, hosts, unguarded, until};
use ironward_e2e::{
    balancer::Balancer,
    control_plane::ControlPlane,
    ironward::{Ironward, Options},
    progress::Progress,
};
use kube::{
    Api, Client,
    api::{DynamicObject, ListParams, PostParams},
};
use rustix::process::Signal;
use serde_json::json;
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

const REPLICAS: usize = 3;
const CLIENTS: usize = 64;
const MACS: usize = 500;
const HOSTS_PER_MAC: usize = 10;

#[test]
fn every_address_goes_to_one_host_while_replicas_die() {
    let _alone = alone();
    let plane = unguarded();
    for number in 0..4 {
        plane.kubectl().expect(&["create", "namespace", &format!("rack-{number}")]).unwrap();
    }
    let balancer = Balancer::start().unwrap();
    // As it is shipped: one that takes seconds for an answer would be killed before every one of them.
    let profile = Some("fast".to_owned());
    let options = Options { url: Some(balancer.url()), profile, ..Options::default() };
    let replicas: Vec<_> =
        (0..REPLICAS).map(|_| Ironward::start_with(&plane, &options).unwrap()).collect();
    for replica in &replicas {
        replica.wait_until_ready().unwrap();
    }
    balancer.set(addresses(&replicas));
    replicas[0].wait_until_in_force(&plane).unwrap();

    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let progress = Progress::start("5,000 creates of 500 addresses, a replica killed every second");
    let (is_over, kills) = (Arc::new(AtomicBool::new(false)), AtomicUsize::new(0));
    let tally = std::thread::scope(|scope| {
        let over = Arc::clone(&is_over);
        let (killed, plane_ref) = (&kills, &plane);
        let killing = scope.spawn(move || {
            let mut replicas = VecDeque::from(replicas);
            while !over.load(Ordering::Relaxed) {
                let started = Instant::now();
                // The oldest, in the middle of what it does; like a Service, the balancer learns of it
                // afterwards, and of the new one when that is ready.
                let victim = replicas.pop_front().unwrap();
                victim.process.signal(Signal::KILL).unwrap();
                victim.process.wait_for_exit(PATIENCE).unwrap();
                killed.fetch_add(1, Ordering::Relaxed);
                balancer.set(addresses(replicas.make_contiguous()));
                let replica = Ironward::start_with(plane_ref, &options).unwrap();
                replica.wait_until_ready().unwrap();
                replicas.push_back(replica);
                balancer.set(addresses(replicas.make_contiguous()));
                std::thread::sleep(Duration::from_secs(1).saturating_sub(started.elapsed()));
            }
            replicas
        });
        let tally = runtime.block_on(race(&plane));
        is_over.store(true, Ordering::Relaxed);
        let replicas = killing.join().unwrap();
        (tally, replicas)
    });
    let (tally, _replicas) = tally;
    progress.done();
    println!(
        "{} created, {} refused, {} tried again after a failure, {} replicas killed",
        tally.created,
        tally.refused,
        tally.retried,
        kills.load(Ordering::Relaxed)
    );

    let hosts = runtime.block_on(stored(&plane));
    assert_eq!(hosts.len(), MACS, "hosts");
    let distinct: BTreeSet<_> = hosts.values().collect();
    assert_eq!(distinct.len(), MACS, "addresses");
    assert_eq!((tally.created, tally.refused), (MACS, MACS * (HOSTS_PER_MAC - 1)));
    assert!(tally.retried > 0, "no replica was killed while it mattered");
    assert_eq!(tally.nameless, Vec::<String>::new(), "every refusal names the holder");
    let held: BTreeSet<_> =
        hosts.keys().map(|name| format!("baremetalhosts.metal3.io {name}")).collect();
    until(
        "one claim for each host",
        || {
            let claims = claims(&plane.kubectl(), "unique-boot-mac");
            claims.into_iter().map(|(_, holder)| holder).collect::<BTreeSet<_>>()
        },
        |holders| *holders == held,
    );
}

fn addresses(replicas: &[Ironward]) -> Vec<SocketAddr> {
    let address = |it: &Ironward| it.webhook.trim_start_matches("https://").parse().unwrap();
    replicas.iter().map(address).collect()
}

#[derive(Default)]
struct Tally {
    created: usize,
    refused: usize,
    retried: usize,
    nameless: Vec<String>,
}

/// The hosts by namespace and name, with their addresses in one spelling.
async fn stored(plane: &ControlPlane) -> BTreeMap<String, String> {
    let api = Api::<DynamicObject>::all_with(client(plane).await, &hosts());
    let listed = api.list(&ListParams::default()).await.unwrap();
    let entry = |host: DynamicObject| {
        let mac = host.data["spec"]["bootMACAddress"].as_str().unwrap().to_lowercase();
        let metadata = host.metadata;
        (format!("{}/{}", metadata.namespace.unwrap(), metadata.name.unwrap()), mac)
    };
    listed.items.into_iter().map(entry).collect()
}

async fn race(plane: &ControlPlane) -> Tally {
    let next = Arc::new(AtomicUsize::new(0));
    let mut clients = tokio::task::JoinSet::new();
    for _ in 0..CLIENTS {
        let (client, next) = (client(plane).await, Arc::clone(&next));
        clients.spawn(async move {
            let mut tally = Tally::default();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= MACS * HOSTS_PER_MAC {
                    return tally;
                }
                create(&client, number, &mut tally).await;
            }
        });
    }
    let mut all = Tally::default();
    while let Some(tally) = clients.join_next().await {
        let Tally { created, refused, retried, nameless } = tally.unwrap();
        all.created += created;
        all.refused += refused;
        all.retried += retried;
        all.nameless.extend(nameless);
    }
    all
}

/// Until the API server has said yes or no: a replica that died has said neither.
async fn create(client: &Client, number: usize, tally: &mut Tally) {
    // Those of one address follow each other, so that they meet.
    let (mac, copy) = (number / HOSTS_PER_MAC, number % HOSTS_PER_MAC);
    let (name, namespace) = (format!("host-{mac}-{copy}"), format!("rack-{}", copy % 4));
    let resource = hosts();
    let api = Api::<DynamicObject>::namespaced_with(client.clone(), &namespace, &resource);
    let host = DynamicObject::new(&name, &resource)
        .data(json!({"spec": {"online": true, "bootMACAddress": spelt(mac, copy)}}));
    let started = Instant::now();
    loop {
        match api.create(&PostParams::default(), &host).await {
            Ok(_) => return tally.created += 1,
            Err(kube::Error::Api(status)) if status.reason == "AlreadyExists" => {
                // The answer to an earlier try was lost.
                return tally.created += 1;
            }
            Err(kube::Error::Api(status)) if status.code == 422 => {
                tally.refused += 1;
                if !status.message.contains(&format!("/host-{mac}-")) {
                    tally.nameless.push(status.message.clone());
                }
                return;
            }
            Err(error) if started.elapsed() > Duration::from_mins(5) => {
                panic!("{name} is neither taken nor refused: {error}")
            }
            Err(_) => {
                tally.retried += 1;
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// The address, in as many spellings as there are letters in it.
fn spelt(mac: usize, copy: usize) -> String {
    let plain = format!("ab:cd:ef:0a:{:02x}:{:02x}", mac / 256, mac % 256);
    let spelt = plain.char_indices().map(|(index, letter)| match (index + copy) % 3 {
        0 => letter.to_ascii_uppercase(),
        _ => letter,
    });
    spelt.collect()
}
