//! What comes of which node.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use proptest::prelude::*;
use rstest::rstest;
use serde_json::Value;

use super::{
    decide,
    hosts::{Host, Hosts, Key},
    observed::{Discovery, Node, Observed, Report, Reported},
    plan::{Note, NoteReason, Plan},
    status::{self, Idle, Polled},
    testing::{discovery, node, reported},
};
use crate::{
    api::baremetalhostdiscovery::{Approval, SkipReason},
    domain::host_discovery::HardwareDetail,
};

const A: &str = "52:54:00:00:00:0a";
const B: &str = "52:54:00:00:00:0b";

/// A cluster, and an Ironic.
#[derive(Default)]
struct World {
    nodes: Vec<Node>,
    hosts: Hosts,
    forgotten: BTreeSet<crate::domain::mac::Mac>,
    discoveries: Vec<Discovery>,
}

impl World {
    fn with(nodes: Vec<Node>, discoveries: Vec<Discovery>) -> Self {
        Self { nodes, discoveries, ..Self::default() }
    }

    fn decide(&self) -> Plan {
        let Self { nodes, hosts, forgotten, discoveries } = self;
        decide(&Observed { nodes, hosts, forgotten, discoveries })
    }

    /// Decides, and creates as many of the hosts as it is let.
    fn go_on(&mut self, most: usize) -> Plan {
        let plan = self.decide();
        for new in plan.hosts.iter().take(most) {
            let annotations = new.host.metadata.annotations.clone().unwrap_or_default();
            let host = Host {
                macs: new.macs.clone(),
                node: Some(new.node.clone()),
                discovered_by: annotations.get("ironward.dev/discovered-by").cloned(),
            };
            assert!(self.hosts.get(&new.key).is_none(), "{} twice", new.key);
            self.hosts.set(new.key.clone(), host);
        }
        plan
    }

    fn set_host(&mut self, name: &str, macs: &[&str], node: Option<&str>) {
        let macs = macs.iter().map(|mac| mac.parse().unwrap()).collect();
        let host = Host { macs, node: node.map(str::to_owned), discovered_by: None };
        self.hosts.set(key(name), host);
    }
}

fn key(name: &str) -> Key {
    Key { namespace: "lab".into(), name: name.into() }
}

fn names(plan: &Plan) -> Vec<&str> {
    plan.hosts.iter().map(|host| host.key.name.as_str()).collect()
}

fn skipped(plan: &Plan, place: usize) -> Vec<(SkipReason, i32)> {
    plan.tallies[place].skipped.iter().map(|(reason, count)| (*reason, *count)).collect()
}

fn told(plan: &Plan) -> Vec<NoteReason> {
    let notes = plan.tallies.iter().flat_map(|tally| &tally.notes);
    notes.chain(plan.hosts.iter().flat_map(|host| &host.notes)).map(|note| note.reason).collect()
}

fn named_by(detail: HardwareDetail) -> Discovery {
    let mut discovery = discovery("a");
    discovery.object.spec.resource_name_template.hardware_details = detail;
    discovery
}

fn change(node: &mut Node, with: impl FnOnce(&mut Reported)) {
    let Report::Read(reported) = &mut node.report else { panic!("not read") };
    with(reported);
}

#[test]
fn a_machine_becomes_a_host_with_what_it_reported() {
    let mut of = discovery("a");
    of.object.spec.resource_name_template.prefix = Some("rack1-".into());
    let plan = World::with(vec![node("n1", A)], vec![of]).decide();
    let [new] = plan.hosts.as_slice() else { panic!("{plan:?}") };
    assert_eq!(new.key, key("rack1-52-54-00-00-00-0a"));
    let spec = &new.host.spec;
    assert_eq!((spec.boot_mac_address.as_deref(), spec.online, &spec.bmc), (Some(A), true, &None));
    let annotations = new.host.metadata.annotations.clone().unwrap();
    assert_eq!(annotations["ironward.dev/approval"], "pending");
    assert_eq!(annotations["ironward.dev/discovered-by"], "lab/a");
    let status: Value =
        serde_json::from_str(&annotations["baremetalhost.metal3.io/status"]).unwrap();
    assert_eq!(status["provisioning"]["ID"], "n1");
    assert_eq!(status["provisioning"]["state"], "unmanaged");
    assert_eq!(status["operationalStatus"], "discovered");
    assert_eq!(status["hardware"]["hostname"], "web");
    assert_eq!((plan.unread.len(), told(&plan)), (0, vec![]));
}

#[test]
fn nobody_need_approve_what_is_approved_by_itself() {
    let mut of = discovery("a");
    of.object.spec.approval = Some(Approval::Automatic);
    let plan = World::with(vec![node("n1", A)], vec![of]).decide();
    let annotations = plan.hosts[0].host.metadata.annotations.clone().unwrap();
    assert!(!annotations.contains_key("ironward.dev/approval"));
}

#[test]
fn a_report_is_read_once_and_only_of_what_could_become_a_host() {
    let unread = |uuid: &str, mac: &str| Node { report: Report::Unread, ..node(uuid, mac) };
    let mut world = World::with(
        vec![
            unread("new", A),
            unread("has-host", B),
            Node { is_free: false, ..unread("busy", "52:54:00:00:00:0c") },
            Node {
                named_for: Some(("other".into(), "x".into())),
                ..unread("named", "52:54:00:00:00:0d")
            },
            unread("forgotten", "52:54:00:00:00:0e"),
            Node { report: Report::Missing, ..unread("silent", "52:54:00:00:00:0f") },
        ],
        vec![discovery("a")],
    );
    world.set_host("b", &[B], None);
    world.forgotten.insert("52:54:00:00:00:0e".parse().unwrap());
    let plan = world.decide();
    assert_eq!(plan.unread, ["new"]);
    assert_eq!(plan.hosts, []);
    let once = [
        SkipReason::HasHost,
        SkipReason::NamedForHost,
        SkipReason::InUse,
        SkipReason::NoReport,
        SkipReason::Forgotten,
    ];
    assert_eq!(skipped(&plan, 0), once.map(|reason| (reason, 1)));
}

#[test]
fn what_is_not_wanted_is_remembered_until_the_discovery_changes() {
    let mut machine = node("n1", A);
    change(&mut machine, |it| it.verdicts[0].is_selected = Ok(false));
    let mut world = World::with(vec![machine], vec![discovery("a")]);
    let plan = world.decide();
    assert_eq!(skipped(&plan, 0), [(SkipReason::NotSelected, 1)]);

    let (_, version, outcome) = plan.judged[0].clone();
    world.nodes[0].judged = BTreeMap::from([(version, outcome)]);
    world.nodes[0].report = Report::Unread;
    let plan = world.decide();
    assert_eq!((plan.unread.len(), skipped(&plan, 0)), (0, vec![(SkipReason::NotSelected, 1)]));
    world.discoveries[0].object.metadata.generation = Some(2);
    assert_eq!(world.decide().unread, ["n1"]);
}

#[test]
fn only_those_that_enrolled_themselves_if_it_is_asked_for() {
    let mut machine = node("n1", A);
    change(&mut machine, |it| it.is_auto_discovered = false);
    let mut world = World::with(vec![machine], vec![discovery("a")]);
    assert_eq!(world.decide().hosts.len(), 1);
    world.discoveries[0].object.spec.only_auto_discovered = Some(true);
    let plan = world.decide();
    assert_eq!(
        (plan.hosts.len(), skipped(&plan, 0)),
        (0, vec![(SkipReason::NotAutoDiscovered, 1)])
    );
}

#[rstest]
#[case::by_another_card(&[B, A], None, vec![])]
#[case::by_its_node(&[], Some("n1"), vec![])]
#[case::whose_node_is_gone(&[A], Some("gone"), vec![])]
#[case::whose_node_is_another(&[A], Some("n2"), vec![NoteReason::AddressOfHost])]
fn a_machine_that_has_a_host_gets_no_other(
    #[case] macs: &[&str],
    #[case] id: Option<&str>,
    #[case] notes: Vec<NoteReason>,
) {
    let mut world =
        World::with(vec![node("n1", A), node("n2", "52:54:00:00:00:0c")], vec![discovery("a")]);
    world.set_host("by-hand", macs, id);
    world.set_host("second", &["52:54:00:00:00:0c"], None);
    let plan = world.decide();
    assert_eq!((names(&plan), told(&plan)), (vec![], notes));
}

/// The address of an existing host, on a card beside one's own: so that the victim's host is not taken for one's own.
#[test]
fn whoever_reports_the_addresses_of_two_hosts_is_refused() {
    let mut machine = node("n1", A);
    change(&mut machine, |it| {
        it.details.nics.get_or_insert_default().extend(reported(B).details.nics.unwrap());
    });
    let mut world = World::with(vec![machine], vec![discovery("a")]);
    world.set_host("one", &[A], None);
    world.set_host("other", &[B], None);
    let plan = world.decide();
    assert_eq!((names(&plan), told(&plan)), (vec![], vec![NoteReason::AddressOfHost]));
}

#[test]
fn two_nodes_with_one_address_make_one_host() {
    let mut second = node("n2", A);
    second.ports.clear();
    let mut world = World::with(vec![node("n1", A), second], vec![discovery("a")]);
    let plan = world.go_on(9);
    assert_eq!(
        (names(&plan), told(&plan)),
        (vec!["52-54-00-00-00-0a"], vec![NoteReason::AddressOfNode])
    );
    let plan = world.decide();
    assert_eq!((names(&plan), told(&plan)), (vec![], vec![NoteReason::AddressOfNode]));
    assert_eq!(skipped(&plan, 0), [(SkipReason::HasHost, 1), (SkipReason::Refused, 1)]);
}

#[rstest]
#[case::no_cards(|it: &mut Reported| it.details.nics = None, NoteReason::NoAddress)]
#[case::a_megabyte_of_hostname(
    |it: &mut Reported| it.details.hostname = Some("x".repeat(1 << 20)), NoteReason::TooLarge
)]
#[case::selector(
    |it: &mut Reported| it.verdicts[0].is_selected = Err("no such key: gpu".into()), NoteReason::SelectorFailed
)]
fn what_cannot_be_a_host_is_refused_and_told(
    #[case] lie: fn(&mut Reported),
    #[case] expected: NoteReason,
) {
    let mut machine = node("n1", A);
    machine.ports.clear();
    change(&mut machine, lie);
    let plan = World::with(vec![machine], vec![discovery("a")]).decide();
    assert_eq!((names(&plan), told(&plan)), (vec![], vec![expected]));
    assert!(plan.judged[0].2.is_lasting(), "{plan:?}");
}

#[rstest]
#[case::slashes("../../etc/passwd", Some("etc-passwd"))]
#[case::capitals("WEB-1.Example", Some("web-1.example"))]
#[case::nothing_usable("///", None)]
#[case::long(&"x".repeat(300), None)]
fn a_hostname_is_made_legal_or_refused(#[case] hostname: &str, #[case] expected: Option<&str>) {
    let mut machine = node("n1", A);
    change(&mut machine, |it| it.details.hostname = Some(hostname.to_owned()));
    let plan = World::with(vec![machine], vec![named_by(HardwareDetail::Hostname)]).decide();
    assert_eq!(names(&plan).first().copied(), expected);
    assert_eq!(told(&plan), if expected.is_some() { vec![] } else { vec![NoteReason::NoName] });
}

#[test]
fn two_machines_of_one_name_are_told_apart_and_so_again_after_a_restart() {
    let machines = || vec![node("n2", B), node("n1", A)];
    let of = || vec![named_by(HardwareDetail::Hostname)];
    let mut world = World::with(machines(), of());
    let plan = world.go_on(1);
    assert_eq!(names(&plan), ["web", "web-52-54-00-00-00-0b"]);
    assert_eq!(told(&plan), [NoteReason::NameClash]);
    // Killed after the first.
    let plan = world.go_on(9);
    assert_eq!(names(&plan), ["web-52-54-00-00-00-0b"]);
    assert_eq!(names(&world.decide()), [""; 0]);

    world.set_host("web-52-54-00-00-00-0c", &[], None);
    world.nodes.push(node("n3", "52:54:00:00:00:0c"));
    assert_eq!(told(&world.decide()), [NoteReason::NameTaken]);
}

#[test]
fn a_label_that_cannot_be_is_left_out_and_told() {
    let mut machine = node("n1", A);
    change(&mut machine, |it| {
        it.verdicts[0].labels = vec![
            ("size".into(), Ok("large".into())),
            ("path".into(), Ok("a/b".into())),
            ("gpu".into(), Err("no such key: gpu".into())),
        ];
    });
    let plan = World::with(vec![machine], vec![discovery("a")]).decide();
    let labels = plan.hosts[0].host.metadata.labels.clone().unwrap();
    assert_eq!(labels, BTreeMap::from([("size".to_owned(), "large".to_owned())]));
    assert_eq!(told(&plan), [NoteReason::LabelLeftOut; 2]);
}

#[test]
fn the_older_of_two_discoveries_makes_the_host_and_the_other_says_so() {
    let mut world = World::with(vec![node("n1", A)], vec![discovery("b"), discovery("a")]);
    let plan = world.go_on(9);
    assert_eq!((plan.hosts.len(), plan.hosts[0].discovery), (1, 1));
    assert_eq!(skipped(&plan, 0), [(SkipReason::TakenByAnother, 1)]);
    assert_eq!(told(&plan), [NoteReason::TakenByAnother]);
    // As long as the host is there, and without having read a report again.
    world.nodes[0].report = Report::Unread;
    let plan = world.decide();
    assert_eq!(skipped(&plan, 0), [(SkipReason::TakenByAnother, 1)]);
    assert_eq!(skipped(&plan, 1), [(SkipReason::HasHost, 1)]);
}

#[test]
fn the_older_one_keeps_its_own_until_it_is_due_unless_it_is_suspended_or_broken() {
    let mut world = World::with(vec![node("n1", A)], vec![discovery("a"), discovery("b")]);
    world.discoveries[0].is_due = false;
    assert_eq!(names(&world.decide()), [""; 0]);
    world.discoveries[0].object.spec.suspend = Some(true);
    assert_eq!(world.decide().hosts[0].discovery, 1);
    world.discoveries[0].object.spec.suspend = None;
    world.discoveries[0].problem = Some("does not compile".into());
    assert_eq!(world.decide().hosts[0].discovery, 1);
}

#[test]
fn what_one_cannot_name_another_may() {
    let mut machine = node("n1", A);
    change(&mut machine, |it| it.details.hostname = None);
    let discoveries = vec![named_by(HardwareDetail::Hostname), discovery("b")];
    let plan = World::with(vec![machine], discoveries).decide();
    assert_eq!((plan.hosts[0].discovery, told(&plan)), (1, vec![NoteReason::NoName]));
}

#[test]
fn a_status_counts_what_a_kill_has_kept_from_being_counted_and_repeats_nothing() {
    let note = |node: usize| Note {
        node: format!("n{node}"),
        host: None,
        reason: NoteReason::NoAddress,
        message: NoteReason::NoAddress.words()[0].into(),
    };
    let mut object = discovery("a").object;
    let mut poll = Polled { seen: 7, created: 2, present: 5, ..Polled::default() };
    poll.tally.notes = vec![note(1)];
    let first = status::polled(&object, &poll, Timestamp::from_second(10).unwrap());
    assert_eq!((first.seen, first.created), (Some(7), Some(5)));
    object.status = Some(first.clone());
    (poll.created, poll.present) = (1, 3);
    poll.tally.notes = (0..30).map(note).collect();
    let second = status::polled(&object, &poll, Timestamp::from_second(20).unwrap());
    assert_eq!(second.created, Some(6));
    let refusals = second.refusals.clone().unwrap();
    assert_eq!((refusals.len(), refusals[0].node.as_str()), (20, "n0"));
    assert!(refusals.iter().all(|it| it.time.0.as_second() == 20), "the new ones come first");

    object.status = Some(second);
    let idle = status::idle(&object, &Idle::Suspended, Timestamp::from_second(30).unwrap());
    let ready = &idle.conditions.unwrap()[0];
    assert_eq!((ready.status.as_str(), ready.reason.as_str()), ("False", "Suspended"));
}

proptest! {
    /// Whatever is reported, and wherever somebody is killed: no machine twice, no name twice, and in the end a host for all that were not refused.
    #[test]
    fn any_reports_and_any_kills_make_each_machine_one_host(
        machines in prop::collection::vec((0_u8..6, "[a-c/]{0,3}", 0_u8..4), 1..8),
        kills in prop::collection::vec(0_usize..3, 0..4),
        by_hostname: bool,
    ) {
        let mut nodes = Vec::new();
        for (number, (mac, hostname, other)) in machines.iter().enumerate() {
            let mut machine = node(&format!("n{number}"), &format!("52:54:00:00:00:{mac:02x}"));
            let other = format!("52:54:00:00:00:{other:02x}");
            // Ironic has every address once.
            machine.ports.retain(|mac| !nodes.iter().any(|it: &Node| it.ports.contains(mac)));
            change(&mut machine, |it| {
                it.details.hostname = Some(hostname.clone());
                it.details.nics.get_or_insert_default().extend(reported(&other).details.nics.unwrap());
            });
            nodes.push(machine);
        }
        let first = if by_hostname { named_by(HardwareDetail::Hostname) } else { discovery("a") };
        let mut world = World::with(nodes, vec![discovery("b"), first]);
        for most in kills {
            world.go_on(most);
        }
        world.go_on(99);
        let last = world.decide();
        prop_assert_eq!(names(&last), [""; 0]);
        let mut seen = BTreeSet::new();
        for key in world.hosts.keys() {
            let host = world.hosts.get(key).unwrap();
            for mac in &host.macs {
                prop_assert!(seen.insert(*mac), "{} twice", mac);
            }
        }
        prop_assert_eq!(last.tallies[0].skipped.values().sum::<i32>(), i32::try_from(world.nodes.len()).unwrap());
    }
}
