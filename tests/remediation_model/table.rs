//! All that can be observed, as far as it can make a difference, and what must hold of what is decided.

use ironward::{
    api::metal3remediation::Metal3RemediationStatus,
    controllers::remediation::{
        health::{Health, health},
        observed::{
            Backup, Hold, Host, Machine, NoHost, Node, Observed, Power, Remediation, Storm,
            Verdict, Workload,
        },
        plan::{Action, Plan, Then},
    },
    domain::remediation::{Phase, Strategy, StrategyType},
};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use std::time::Duration;
use strum::IntoEnumIterator;

const LIMIT: u32 = 2;
const TIMEOUT: SignedDuration = SignedDuration::from_secs(300);

pub fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).unwrap()
}

/// The phases, with the attempt that is under way.
pub const PHASES: [(Option<Phase>, Option<i32>); 7] = [
    (None, None),
    (Some(Phase::Running), Some(1)),
    (Some(Phase::Running), Some(2)),
    (Some(Phase::Waiting), Some(1)),
    (Some(Phase::Waiting), Some(2)),
    (Some(Phase::DeletingMachine), Some(2)),
    (Some(Phase::Failed), None),
];

/// When its deletion was asked for, and how many seconds ago the phase began: just now, after the patience with a cluster, after the timeout,
/// and after everything.
const AGES: [(Option<i64>, i64); 6] =
    [(None, 1), (None, 130), (None, 301), (None, 700), (Some(-1), 130), (Some(LONG_AGO), 700)];

/// Longer than what is taken may take to be given back, also where nobody can read how long that is.
pub const LONG_AGO: i64 = -650;

fn remediations() -> Vec<Remediation> {
    let mut all = Vec::new();
    for (phase, retry_count) in PHASES {
        for (deleted, age) in AGES {
            for backup in [None, Some(Backup::default())] {
                for request in [None, Some("asked for".to_owned())] {
                    let remediation = Remediation {
                        deleted: deleted.map(at),
                        backup: backup.clone(),
                        request,
                        ..remediation((phase, retry_count), age)
                    };
                    // Without a finalizer nothing was begun.
                    if phase.is_none() {
                        all.push(Remediation { is_guarded: false, ..remediation.clone() });
                    }
                    all.push(remediation);
                }
            }
        }
    }
    let refused =
        Remediation { strategy: Err("spec.strategy: retryLimit is 0".into()), ..all[0].clone() };
    all.push(refused);
    let paused = all.iter().filter(|it| it.backup.is_none() && it.created == at(-130)).cloned();
    let paused: Vec<_> = paused.map(|it| Remediation { is_paused: true, ..it }).collect();
    all.extend(paused);
    all
}

/// One that is guarded, in this phase for so many seconds.
pub fn remediation((phase, retry_count): (Option<Phase>, Option<i32>), age: i64) -> Remediation {
    Remediation {
        name: "workers-x7k".into(),
        uid: "r-0".into(),
        created: at(-age),
        deleted: None,
        is_guarded: true,
        is_paused: false,
        strategy: Ok(strategy()),
        status: Metal3RemediationStatus {
            phase,
            retry_count,
            last_remediated: phase.map(|_| Time(at(-age))),
            conditions: None,
        },
        backup: None,
        request: None,
    }
}

pub fn strategy() -> Strategy {
    let seconds = i32::try_from(TIMEOUT.as_secs()).unwrap();
    Strategy::new(StrategyType::Reboot, i32::try_from(LIMIT).ok(), Some(seconds)).unwrap()
}

fn machines() -> Vec<Option<Machine>> {
    let machine = machine();
    vec![
        None,
        Some(machine.clone()),
        Some(Machine { is_being_deleted: true, ..machine.clone() }),
        Some(Machine { verdict: Some(verdict(true)), ..machine.clone() }),
        Some(Machine { verdict: None, ..machine.clone() }),
        Some(Machine { node: None, ..machine.clone() }),
        Some(Machine { is_owner_asked: true, is_remediation_asked: true, ..machine }),
    ]
}

pub fn machine() -> Machine {
    Machine {
        cluster: "lab".into(),
        node: Some("worker-0".into()),
        verdict: Some(verdict(false)),
        ..Machine::default()
    }
}

pub fn verdict(is_healthy: bool) -> Verdict {
    Verdict { is_healthy, reason: "UnhealthyNode".into(), message: "Ready Unknown".into() }
}

fn hosts() -> Vec<Result<Host, NoHost>> {
    let host = host();
    let mut all: Vec<_> = NoHost::iter().map(Err).collect();
    for is_on in [true, false] {
        for is_held in [true, false] {
            let host = Host { is_on, is_held, ..host.clone() };
            let marked = Host { unhealthy: Some("noisy".into()), ..host.clone() };
            all.extend([
                Ok(Host { is_ours: false, ..host.clone() }),
                Ok(Host { is_being_deleted: true, ..host.clone() }),
                Ok(Host { is_online: false, ..host.clone() }),
                Ok(Host { is_online: false, ..marked.clone() }),
                Ok(Host { power: Power::NoBmc, ..host.clone() }),
                Ok(Host { power: Power::NeverOff, ..host.clone() }),
                Ok(Host { hold: Some(Hold::Paused), ..host.clone() }),
                Ok(Host { hold: Some(Hold::Detached), ..host.clone() }),
                Ok(Host { hold: Some(Hold::Reboot("reboot.metal3.io/x".into())), ..host.clone() }),
                Ok(Host {
                    hold: Some(Hold::NotProvisioned("provisioning".into())),
                    ..host.clone()
                }),
                Ok(Host { error: Some("no answer from the BMC".into()), ..host.clone() }),
                Ok(marked),
                Ok(host),
            ]);
        }
    }
    all
}

pub fn host() -> Host {
    Host {
        name: "host-0".into(),
        uid: "h-0".into(),
        is_ours: true,
        is_online: true,
        is_on: true,
        ..Host::default()
    }
}

pub fn node() -> Node {
    Node { uid: "n-0".into(), since: Some(at(-9_000)), ..Node::default() }
}

fn workloads() -> Vec<Workload> {
    let node = node();
    let ready = Node { is_ready: true, heartbeat: Some(at(-1)), ..node.clone() };
    let nodes = [
        None,
        Some(node.clone()),
        Some(Node { is_tainted: true, ..node.clone() }),
        Some(Node { is_tainted: true, pods_left: 1, volumes_left: 1, ..node }),
        Some(ready.clone()),
        Some(Node { since: Some(at(-5)), is_tainted: true, ..ready }),
    ];
    let mut all = vec![Workload::Unreachable { why: "timed out".into() }];
    for node in nodes {
        for knows_out_of_service in [true, false] {
            all.push(Workload::Reachable { knows_out_of_service, node: node.clone() });
        }
    }
    all
}

fn storms() -> [Storm; 3] {
    let free = Storm { limit: 2, active: 1, on_this_host: None };
    [
        Storm { active: 2, ..free.clone() },
        Storm { on_this_host: Some("another".into()), ..free.clone() },
        free,
    ]
}

/// Shows each row of the table.
pub fn each(mut look: impl FnMut(&Observed)) {
    let (machines, hosts, workloads) = (machines(), hosts(), workloads());
    for remediation in remediations() {
        let is_new = remediation.phase().is_none();
        for machine in &machines {
            for host in &hosts {
                for workload in &workloads {
                    for storm in storms() {
                        // How much goes on matters to those who have not begun.
                        if !is_new && storm.active + 1 != storm.limit {
                            continue;
                        }
                        look(&Observed {
                            now: at(0),
                            remediation: remediation.clone(),
                            machine: machine.clone(),
                            host: host.clone(),
                            workload: workload.clone(),
                            storm,
                        });
                    }
                }
            }
        }
    }
}

/// What must hold of each.
pub fn check(seen: &Observed, plan: &Plan) {
    let remediation = &seen.remediation;
    let context = || format!("{seen:#?}\n{plan:#?}");
    let action = match &plan.then {
        Then::Do(action) => Some(action),
        Then::Again | Then::After(_) | Then::Await => None,
    };
    let machine = seen.machine.as_ref().filter(|it| !it.is_being_deleted);

    if remediation.is_paused {
        assert!(plan.status.is_none() && plan.then == Then::Await, "{}", context());
    }
    // Power off: only the host of a Machine that is there and certainly not healthy, that nobody else decides about, and only while there
    // are attempts, or after the last.
    if let Some(Action::SwitchOff | Action::GiveUpHost) = action {
        let machine = machine.unwrap_or_else(|| panic!("no machine: {}", context()));
        let host = seen.host.as_ref().unwrap_or_else(|_| panic!("no host: {}", context()));
        assert_eq!(health(seen, machine), Health::Unhealthy, "{}", context());
        // Somebody says so, or it can be seen: whoever cannot be asked about may be well.
        let is_said = machine.verdict.as_ref().is_some_and(|verdict| !verdict.is_healthy);
        let is_seen = machine.node.is_none() || matches!(seen.workload, Workload::Reachable { .. });
        assert!(is_said || is_seen || remediation.request.is_some(), "{}", context());
        assert!(host.is_ours && !host.is_being_deleted && host.hold.is_none(), "{}", context());
        assert!(remediation.is_guarded || remediation.phase().is_some(), "{}", context());
        assert!(remediation.deleted.is_none(), "{}", context());
    }
    // A host whose power nobody can switch is not waited for.
    if let (None, Ok(_), Some(_), Ok(host)) =
        (remediation.phase(), &remediation.strategy, machine, &seen.host)
        && remediation.deleted.is_none()
        && !remediation.is_paused
        && host.is_ours
        && !host.is_being_deleted
        && host.power != Power::Controlled
    {
        let status = plan.status.as_ref().unwrap_or_else(|| panic!("{}", context()));
        assert_eq!(status.phase, Some(Phase::Failed), "{}", context());
        let reasons = status.conditions.iter().flatten().map(|it| it.reason.as_str());
        assert_eq!(reasons.collect::<Vec<_>>(), ["NoPowerControl"], "{}", context());
    }
    match action {
        Some(Action::SwitchOff) => {
            let host = seen.host.as_ref().unwrap();
            assert_eq!(remediation.phase(), Some(Phase::Running), "{}", context());
            assert!(host.is_online && host.power == Power::Controlled, "{}", context());
            assert!(remediation.attempt() >= 1 && remediation.attempt() <= LIMIT);
        }
        Some(Action::GiveUpHost) => assert_eq!(remediation.attempt(), LIMIT, "{}", context()),
        Some(Action::AskOwner) => {
            assert_eq!(remediation.phase(), Some(Phase::DeletingMachine), "{}", context());
            assert!(machine.is_some(), "{}", context());
        }
        // The Node of a host that is on is nobody's to fence.
        Some(Action::Taint | Action::DeleteNode(_)) => {
            let host = seen.host.as_ref().unwrap();
            assert!(host.is_held && !host.is_on, "{}", context());
            assert_eq!(remediation.phase(), Some(Phase::Running), "{}", context());
        }
        Some(Action::Release) => assert!(remediation.deleted.is_some(), "{}", context()),
        Some(_) | None => {}
    }
    // Nothing is begun beyond the limits, or without a finalizer.
    if let Some(status) = &plan.status {
        let count = status.retry_count.unwrap_or_default();
        assert!(count <= i32::try_from(LIMIT).unwrap(), "{}", context());
        let is_begun = remediation.phase().is_none() && status.phase == Some(Phase::Running);
        if is_begun {
            let storm = &seen.storm;
            assert!(storm.active < storm.limit && storm.on_this_host.is_none(), "{}", context());
            assert!(remediation.is_guarded && count == 1, "{}", context());
        }
        // The end is the end.
        if matches!(remediation.phase(), Some(Phase::Failed | Phase::DeletingMachine)) {
            assert_eq!(status.phase, remediation.phase(), "{}", context());
        }
    }
    // What does nothing until something changes does so at the end, or where others decide.
    if plan.then == Then::Await && !remediation.is_paused && remediation.deleted.is_none() {
        let is_over = matches!(remediation.phase(), Some(Phase::Failed | Phase::DeletingMachine));
        let is_delayed = remediation.phase().is_none();
        assert!(is_over || is_delayed, "{}", context());
    }
    // No wait is longer than two timeouts, and none is over before it begins: that would be a poll.
    if let Then::After(pause) = plan.then {
        assert!(pause > Duration::ZERO, "{}", context());
        assert!(pause <= TIMEOUT.unsigned_abs() * 2, "{}", context());
    }
    // A finalizer is let go when the time is over, whatever the others do.
    if remediation.deleted == Some(at(LONG_AGO)) && remediation.is_guarded && !remediation.is_paused
    {
        assert!(action.is_some(), "{}", context());
    }
    // The last things are done only once: nothing is written that is not a change.
    assert!(
        plan.status.as_ref() != Some(&remediation.status),
        "nothing new is written: {}",
        context()
    );
}
