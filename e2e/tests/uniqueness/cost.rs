//! What uniqueness costs a create: one write of a small Lease for each key, and none for anything else.

use crate::stage::{alone, client, guard, hosts, unguarded, until};
use futures::{StreamExt, stream};
use ironward_e2e::{
    control_plane::ControlPlane,
    ironward::{NOTHING_IS_UNIQUE, Options},
};
use kube::{
    Api, Client,
    api::{DynamicObject, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};
use std::{fs, time::Instant};

const HOSTS: usize = 200;

#[test]
fn a_key_costs_one_write_and_what_keeps_it_none() {
    let _alone = alone();
    let plane = unguarded();
    let policies = plane.dir().join("policies");
    fs::create_dir(&policies).unwrap();
    let off = policies.join("off.yaml");
    fs::write(&off, NOTHING_IS_UNIQUE).unwrap();
    let options = Options { policy_dir: Some(policies), ..Options::default() };
    let _ironward = guard(&plane, &options);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let client = runtime.block_on(client(&plane));

    let create = |round: usize, mac: bool, bmc: bool| {
        let (before, started) = (creates(&plane), Instant::now());
        runtime.block_on(each(&client, round, async |api, number| {
            let name = format!("host-{round}-{number}");
            let mut spec = json!({"online": true});
            if mac {
                let (high, low) = (number / 256, number % 256);
                spec["bootMACAddress"] =
                    format!("52:54:00:{round:02x}:{high:02x}:{low:02x}").into();
            }
            if bmc {
                let address = format!("redfish://192.0.2.{round}/redfish/v1/Systems/{number}");
                spec["bmc"] = json!({"address": address, "credentialsName": "none"});
            }
            let host = DynamicObject::new(&name, &hosts()).data(json!({"spec": spec}));
            api.create(&PostParams::default(), &host).await.unwrap();
        }));
        (creates(&plane) - before, started.elapsed())
    };
    let (writes, without) = create(1, true, true);
    assert_eq!(writes, 0, "claims without a policy");

    fs::remove_file(&off).unwrap();
    let twice = |address: &str| {
        let host = crate::stage::host(&format!("name: probe-{address}"), "52:54:00:01:00:00", "");
        let tried = ["create", "--dry-run=server", "--filename", "-"];
        plane.kubectl().run_with_input(&tried, &host).unwrap().err
    };
    until("uniqueness is in force", || twice("a"), |text| text.contains("[unique-boot-mac]"));
    // Those that are there get theirs from the sweep; only what admission writes is counted.
    until("all are claimed", || creates(&plane), |writes| *writes >= 2 * HOSTS);

    let (writes, with_one) = create(2, true, false);
    assert_eq!(writes, HOSTS, "one key each");
    let (writes, with_two) = create(3, true, true);
    assert_eq!(writes, 2 * HOSTS, "two keys each");
    let before = creates(&plane);
    let started = Instant::now();
    runtime.block_on(each(&client, 3, async |api, number| {
        let labels = Patch::Merge(json!({"metadata": {"labels": {"rack": "7"}}}));
        let name = format!("host-3-{number}");
        api.patch(&name, &PatchParams::default(), &labels).await.unwrap();
    }));
    assert_eq!(creates(&plane) - before, 0, "an update keeps its keys");
    let ratio = |it: std::time::Duration| it.as_secs_f64() / without.as_secs_f64();
    println!(
        "{HOSTS} creates: {without:?} without uniqueness; {:.2} times that with one key, {:.2} times with two; \
         {HOSTS} updates with both: {:?}",
        ratio(with_one),
        ratio(with_two),
        started.elapsed()
    );
}

/// The same to all hosts of a round, a few at a time.
async fn each(client: &Client, round: usize, act: impl AsyncFn(Api<DynamicObject>, usize)) {
    assert!(round < 256, "an address has room for 256 rounds");
    let api = || Api::<DynamicObject>::namespaced_with(client.clone(), "default", &hosts());
    stream::iter(0..HOSTS).for_each_concurrent(8, |number| act(api(), number)).await;
}

/// How many Leases the API server has created in etcd.
fn creates(plane: &ControlPlane) -> usize {
    let metrics = plane.kubectl().expect(&["get", "--raw", "/metrics"]).unwrap();
    let is_one = |line: &&str| {
        line.starts_with("etcd_requests_total{")
            && line.contains("operation=\"create\"")
            && line.contains("resource=\"leases\"")
    };
    let count = |line: &str| line.rsplit(' ').next().and_then(|it| it.parse::<Value>().ok());
    let counts = metrics.lines().filter(is_one).filter_map(count);
    counts.filter_map(|it| it.as_u64()).map(|it| usize::try_from(it).unwrap()).sum()
}
