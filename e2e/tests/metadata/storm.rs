//! Many machines at one time, while two replicas fight for one Lease and a third leads beside them by another, all are killed at random
//! writes, and the status is deleted under them.

use crate::stage::{PATIENCE, Pool, Replica, is_metadata, machine, name, plane};
use ironward_e2e::{
    alone::alone,
    at_once::at_once,
    eventually::{eventually, until},
    gate::{Gate, Moment},
};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    hash::{BuildHasher, RandomState},
    path::PathBuf,
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::Duration,
};

const MACHINES: usize = 500;
/// How often a replica is killed.
const KILLS: usize = 8;
/// Within so many of its writes.
const WRITES: u64 = 120;

/// A replica behind a gate, which sees each of its writes.
struct Watched {
    gate: Gate,
    kubeconfig: PathBuf,
    replica: Replica,
}

impl Watched {
    fn start(name: &str, lease: &str) -> Self {
        let plane = plane();
        let gate = Gate::open(&plane.own_kubeconfig().unwrap()).unwrap();
        let kubeconfig = gate.kubeconfig(plane.dir()).unwrap();
        let replica = Replica::start_with_lease(name, lease, &kubeconfig);
        Self { gate, kubeconfig, replica }
    }

    /// Kills it before or after one of its next writes, and starts another, which finds its Lease free for whoever is first.
    fn kill_at(&mut self, random: u64) {
        let at = random / 2 % WRITES;
        let moment = if random.is_multiple_of(2) { Moment::Before } else { Moment::After };
        let written = AtomicU64::new(0);
        let held = self.gate.hold_all(move |now, method, path, _| {
            let is_write = method != "GET" && !path.contains("/leases");
            let count = if is_write && now == Moment::Before {
                written.fetch_add(1, Ordering::Relaxed)
            } else {
                written.load(Ordering::Relaxed)
            };
            is_write && now == moment && count >= at
        });
        // It may have nothing to write any more: the other was faster.
        let _ = held.wait(Duration::from_secs(20));
        self.replica.kill();
        self.gate.let_pass();
        self.replica.free_lease();
        self.replica.start_again(&self.kubeconfig);
    }
}

#[test]
fn five_hundred_machines_at_once_get_five_hundred_indexes() {
    let _alone = alone();
    let pool = Pool::new("storm", &json!({"local-hostname": "worker-{{ getIndex }}"}));
    let mut replicas = [("one", "shared"), ("other", "shared"), ("third", "own")]
        .map(|(name, lease)| Watched::start(name, lease));
    let random = RandomState::new();
    thread::scope(|scope| {
        let creating = scope.spawn(|| {
            let names: Vec<_> = (0..MACHINES).map(|it| format!("m{it}")).collect();
            let portions: Vec<_> = names.chunks(50).collect();
            at_once(&portions, |portion| {
                pool.create(&portion.iter().map(|it| machine(it)).collect::<Vec<_>>());
                Ok(())
            })
            .unwrap();
        });
        for kill in 0..KILLS {
            // In turn, who leads by the one Lease and by the other.
            let is_its_turn = |it: &Watched| (it.replica.name == "third") == (kill % 2 == 1);
            let look = || replicas.iter().position(|it| is_its_turn(it) && it.replica.leads());
            let leader = until(PATIENCE, "somebody leads", look, Option::is_some).unwrap();
            replicas[leader.unwrap()].kill_at(random.hash_one(kill));
            if kill % 2 == 1 {
                pool.wipe();
            }
        }
        creating.join().unwrap();
    });
    let settled =
        eventually(PATIENCE, "every machine has metadata of its own", || all_is_well(&pool));
    let settled = settled.unwrap_or_else(|error| {
        let logs = replicas.iter().map(|it| it.replica.log_tail());
        panic!("{error:#}\n{}", logs.collect::<Vec<_>>().join("\n"))
    });
    // The status is deleted again and again while all Secrets are written anew.
    pool.template("rack", &json!("r-{{ getIndexWithOffset 1000 }}"));
    for _ in 0..3 {
        pool.wipe();
        let is_back = |it: &BTreeMap<_, _>| *it == settled;
        until(PATIENCE, "the status is as before", || pool.indexes(), is_back).unwrap();
    }
    let racks = || {
        let contents = pool.contents();
        contents.values().filter_map(|it| it.get("rack").cloned()).collect::<BTreeSet<_>>().len()
    };
    until(PATIENCE, "the edit is in all", racks, |it| *it == MACHINES).unwrap();
    all_is_well(&pool).unwrap();
    // And all of it goes with the machines.
    pool.run(&["delete", "metal3machines", "--all", "--wait=false"]);
    let left = || pool.run(&["get", "secrets", "--output=name"]).lines().count();
    until(PATIENCE, "no Secret is left", left, |it| *it == 0).unwrap();
    until(PATIENCE, "no index is left", || pool.indexes().len(), |it| *it == 0).unwrap();
    for watched in &replicas {
        watched.replica.kill();
    }
}

/// The indexes, if each machine has one, none is left out or there twice, and each has its Secret.
fn all_is_well(pool: &Pool) -> Result<BTreeMap<String, String>, String> {
    let given = pool.given();
    if given.len() != MACHINES {
        return Err(format!("{} machines have a Secret", given.len()));
    }
    let indexes = pool.indexes();
    let expected: BTreeMap<_, _> =
        indexes.iter().map(|(index, it)| (it.clone(), format!("{it}-metadata-{index}"))).collect();
    let numbers: BTreeSet<usize> = indexes.keys().map(|it| it.parse().unwrap()).collect();
    if !numbers.iter().copied().eq(0..MACHINES) || given != expected {
        return Err(format!("{indexes:?} and {given:?}"));
    }
    let machines = pool.list("metal3machines");
    let uids: BTreeMap<_, _> =
        machines.iter().map(|it| (name(it), it["metadata"]["uid"].clone())).collect();
    let secrets: Vec<Value> = pool.list("secrets").into_iter().filter(is_metadata).collect();
    for secret in &secrets {
        let owners = secret["metadata"]["ownerReferences"].as_array().unwrap();
        let owner = owners.iter().find(|it| it["kind"] == "Metal3Machine").unwrap();
        let of = owner["name"].as_str().unwrap();
        if given[of] != name(secret) || uids[of] != owner["uid"] {
            return Err(format!("{} is left over", name(secret)));
        }
    }
    if secrets.len() == MACHINES { Ok(indexes) } else { Err(format!("{} Secrets", secrets.len())) }
}
