//! The host controller's decisions against a world that keeps its word: from every state it comes to where it should, by the ways of
//! the table, and being killed between any two of its writes and calls changes nothing of that.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on says so and ends")]

#[path = "host_model/world.rs"]
mod world;

use ironward::{
    api::{BareMetalHost, image::Image},
    controllers::host::{annotations, decide, plan::FINALIZER, secrets::BmcSecret},
    domain::{
        host_status::{ErrorType, OperationalStatus},
        provisioning_state::ProvisioningState as State,
    },
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use proptest::{option, prelude::*, sample::select};
use strum::IntoEnumIterator;
use world::{Node, World, host, image};

/// A whole life. Returns the number of writes and calls it took.
fn live(world: &mut World) {
    world.settle();
    assert_eq!(world.state(), State::Available, "{:#?}", world.status());
    world.edit(|host| host.spec.image = Some(image("a")));
    world.settle();
    assert_eq!(world.state(), State::Provisioned);
    assert_eq!(world.count("written"), 1, "{:?}", world.log);
    world.edit(|host| host.spec.image = Some(image("b")));
    world.settle();
    assert_eq!(world.state(), State::Provisioned);
    world.edit(|host| {
        let annotations = host.metadata.annotations.get_or_insert_default();
        annotations.insert(annotations::REBOOT.into(), String::new());
    });
    world.settle();
    assert!(world.host.as_ref().unwrap().metadata.annotations.as_ref().unwrap().is_empty());
    world.edit(|host| host.spec.image = None);
    world.settle();
    assert_eq!(world.state(), State::Available);
    world.edit(|host| host.spec.image = Some(image("c")));
    world.settle();
    world.delete();
    world.settle();
    assert!(world.host.is_none(), "{:#?}", world.host);
    assert_eq!(world.node, None);
    // One node; each image written once, and cleaned away once; on at the start, off and on by the reboot, off at the end.
    let log = &world.log;
    assert_eq!(world.count("node created"), 1, "{log:?}");
    assert_eq!(world.count("written"), 3, "{log:?}");
    assert_eq!(world.count("cleaned"), 3, "{log:?}");
    assert_eq!(world.count("adopted"), 0, "{log:?}");
    assert_eq!(world.count("node deleted"), 1, "{log:?}");
    assert_eq!(world.count("switched off"), 2, "{log:?}");
    assert!(!world.node.as_ref().is_some_and(|node| node.is_on));
}

#[test]
fn a_host_lives_and_is_forgotten() {
    let mut world = World::with(host());
    live(&mut world);
    let told: Vec<_> = world.events.iter().map(|event| event.reason.to_string()).collect();
    for reason in
        ["Registered", "InspectionComplete", "ProvisioningComplete", "PowerOff", "DeletionStarted"]
    {
        assert!(told.iter().any(|it| it == reason), "{reason} is not told: {told:?}");
    }
}

#[test]
fn being_killed_between_any_two_effects_changes_nothing() {
    const MANY: usize = 10_000;
    for effects in 0..MANY {
        let mut world = World::with(host());
        world.until_killed = Some(effects);
        live(&mut world);
        if world.until_killed.is_some() {
            // It was over before that.
            assert!(effects > 100, "only {effects} effects");
            return;
        }
    }
    panic!("a life has more than {MANY} effects");
}

#[test]
fn a_provisioner_that_forgets_what_it_began_is_found_out() {
    let registered = (0..40).map(|effects| {
        let mut world = World::with(host());
        world.is_forgetful = true;
        world.until_killed = Some(effects);
        world.settle();
        world.count("node created")
    });
    assert_eq!(registered.max(), Some(2));
}

#[test]
fn the_network_of_the_ramdisk_is_needed_until_something_runs() {
    let mut world = World::with(host());
    world.ramdisk_network = Err("there is no Secret ramdisk-net".into());
    for _ in 0..5 {
        world.pass().unwrap();
    }
    let told = world.status().error_message;
    assert_eq!(
        told,
        "spec.preprovisioningNetworkDataName cannot be used: there is no Secret ramdisk-net"
    );
    assert_eq!(world.node, None);
    world.ramdisk_network = Ok(None);
    world.host.as_mut().unwrap().spec.image = Some(image("a"));
    world.settle();
    assert_eq!(world.state(), State::Provisioned);
    world.ramdisk_network = Err("there is no Secret ramdisk-net".into());
    world.settle();
    assert_eq!(world.status().error_message, "");
}

#[test]
fn a_wrong_secret_is_named_and_its_correction_is_enough() {
    let mut world = World::with(host());
    world.secret = BmcSecret::Missing;
    for _ in 0..5 {
        world.pass().unwrap();
    }
    let status = world.status();
    assert_eq!(status.error_type, Some(ErrorType::Registration));
    assert!(status.error_message.contains("worker-0-bmc"), "{}", status.error_message);
    assert_eq!(
        world.events.iter().filter(|it| it.reason.to_string() == "BMCCredentialError").count(),
        1
    );
    assert_eq!(world.node, None);
    world.secret = world::good_secret();
    world.settle();
    assert_eq!(world.state(), State::Available);
    assert_eq!(world.status().error_message, "");
}

#[test]
fn the_younger_of_two_is_never_registered() {
    let mut world = World::with(host());
    world.edit(|host| host.metadata.finalizers = Some(vec![FINALIZER.into()]));
    let mut seen = world.observe(&[]).unwrap();
    seen.duplicate_of = Some("lab/older".into());
    let plan = decide(&seen);
    assert_eq!((plan.status, plan.events), (None, vec![]));
    assert!(
        matches!(plan.then, ironward::controllers::host::plan::Then::After(_)),
        "{:?}",
        plan.then
    );
}

#[test]
fn a_paused_host_is_left_alone_whatever_happens() {
    for state in State::iter() {
        let mut paused = host();
        paused.metadata.annotations =
            Some([(annotations::PAUSED.to_owned(), String::new())].into());
        paused.status.get_or_insert_default().provisioning.state = state.to_string();
        let mut world = World::with(paused.clone());
        world.settle();
        assert_eq!(world.host, Some(paused), "{state}");
        assert_eq!(world.log, Vec::<String>::new());
    }
}

#[test]
fn a_detached_host_keeps_its_image_and_is_taken_over_again() {
    let mut world = World::with(host());
    world.edit(|host| host.spec.image = Some(image("a")));
    world.settle();
    world.edit(|host| {
        let annotations = host.metadata.annotations.get_or_insert_default();
        annotations.insert(annotations::DETACHED.into(), String::new());
    });
    world.settle();
    assert_eq!(world.status().operational_status, OperationalStatus::Detached);
    assert_eq!((world.node.clone(), world.count("cleaned")), (None, 0));
    world.edit(|host| host.metadata.annotations = None);
    world.settle();
    assert_eq!(world.status().operational_status, OperationalStatus::Ok);
    assert_eq!((world.count("written"), world.count("adopted")), (1, 1), "{:?}", world.log);

    world.edit(|host| {
        let delay = r#"{"deleteAction": "delay"}"#;
        host.metadata.annotations = Some([(annotations::DETACHED.into(), delay.into())].into());
    });
    world.settle();
    world.delete();
    world.settle();
    assert!(world.host.is_some(), "the deletion is to wait");
    world.edit(|host| {
        host.metadata.annotations = Some([(annotations::DETACHED.into(), String::new())].into());
    });
    world.settle();
    assert!(world.host.is_none());
    assert_eq!(world.count("cleaned"), 0);
}

#[test]
fn a_moved_host_goes_on_where_it_was() {
    let mut world = World::with(host());
    world.edit(|host| host.spec.image = Some(image("a")));
    world.settle();
    let status = serde_json::to_string(&world.status()).unwrap();
    // Another cluster, with an Ironic that knows nothing.
    let mut moved = world.host.clone().unwrap();
    moved.metadata.finalizers = None;
    moved.status = None;
    moved.metadata.annotations = Some([(annotations::STATUS.to_owned(), status)].into());
    let mut other = World::with(moved);
    other.settle();
    assert_eq!(other.state(), State::Provisioned);
    assert_eq!((other.count("written"), other.count("adopted")), (0, 1), "{:?}", other.log);
    assert_eq!(other.host.unwrap().metadata.annotations, Some([].into()));
}

#[test]
fn a_status_that_cannot_be_read_stops_all() {
    let mut moved = host();
    moved.metadata.annotations = Some([(annotations::STATUS.to_owned(), "{}".to_owned())].into());
    let mut world = World::with(moved.clone());
    world.settle();
    assert_eq!((world.host, world.node), (Some(moved), None));
    assert_eq!(world.events[0].reason.to_string(), "InvalidAnnotationValue");
}

#[test]
fn without_a_bmc_nothing_is_switched_and_a_reboot_is_refused_aloud() {
    let mut discovered = host();
    discovered.spec.bmc = None;
    discovered.status.get_or_insert_default().provisioning.id = "node-0".into();
    discovered.metadata.annotations =
        Some([(annotations::REBOOT.to_owned(), String::new())].into());
    let mut world = World::with(discovered);
    world.secret = BmcSecret::Unnamed;
    world.node = Some(Node { is_inspected: true, ..Node::default() });
    world.settle();
    assert_eq!(world.state(), State::Available);
    assert_eq!(world.log, Vec::<String>::new());
    assert!(world.events.iter().any(|it| it.reason.to_string() == "PowerManagementImpossible"));
    assert!(world.events.iter().any(|it| it.reason.to_string() == "ImportComplete"));
    assert_eq!(world.status().hardware.unwrap().hostname.as_deref(), Some("found"));
}

/// As discovery makes it.
fn discovered(approval: &str) -> World {
    let mut discovered = host();
    discovered.spec.bmc = None;
    discovered.spec.boot_mac_address = Some("52:54:00:00:00:01".into());
    let status = r#"{"operationalStatus": "discovered", "errorMessage": "", "poweredOn": true,
        "provisioning": {"state": "unmanaged", "ID": "node-0"},
        "hardware": {"hostname": "reported", "nics": [{"mac": "52:54:00:00:00:02"}]}}"#;
    discovered.status = None;
    let annotations = [(annotations::STATUS, status), (annotations::APPROVAL, approval)];
    let owned = annotations.map(|(key, value)| (key.to_owned(), value.to_owned()));
    discovered.metadata.annotations = Some(owned.into());
    let mut world = World::with(discovered);
    world.secret = BmcSecret::Unnamed;
    world.node = Some(Node { is_inspected: true, ..Node::default() });
    world
}

#[test]
fn nothing_is_done_to_a_discovered_host_until_somebody_approves_it() {
    let mut world = discovered("pending");
    world.edit(|host| host.spec.image = Some(image("a")));
    world.settle();
    assert_eq!(world.state(), State::Unmanaged);
    assert_eq!(world.status().hardware.unwrap().hostname.as_deref(), Some("reported"));
    assert_eq!(
        (world.log.as_slice(), world.node.as_ref().unwrap().is_manageable),
        ([].as_slice(), false)
    );
    // With a BMC it is registered, and no further.
    world.secret = world::good_secret();
    world.edit(|it| it.spec.bmc = host().spec.bmc);
    world.settle();
    assert_eq!(world.state(), State::Preparing);
    assert_eq!(world.status().operational_status, OperationalStatus::Discovered);
    assert_eq!(world.count("written") + world.count("prepared"), 0, "{:?}", world.log);

    annotate(&mut world, annotations::APPROVAL, annotations::APPROVED);
    world.settle();
    assert_eq!((world.state(), world.count("written")), (State::Provisioned, 1), "{:?}", world.log);
    assert_eq!(
        world.hardware_data.unwrap().hostname.as_deref(),
        Some("reported"),
        "nobody has looked again"
    );
}

#[test]
fn a_free_host_that_somebody_doubts_is_not_provisioned() {
    let mut world = World::with(host());
    world.settle();
    annotate(&mut world, annotations::APPROVAL, "pending");
    world.edit(|host| host.spec.image = Some(image("a")));
    world.keep_trying(3);
    assert_eq!(world.state(), State::Available);
    assert!(world.status().error_message.contains("is not approved"), "{:?}", world.status());
    world.edit(|host| {
        host.metadata.annotations.as_mut().unwrap().remove(annotations::APPROVAL);
    });
    world.settle();
    assert_eq!((world.state(), world.status().error_type), (State::Provisioned, None));
}

#[test]
fn a_host_that_somebody_registered_by_hand_is_recognised() {
    let mut world = discovered("approved");
    world.edit(|host| {
        host.metadata.annotations = None;
        host.spec.boot_mac_address = None;
    });
    world.settle();
    assert_eq!(world.state(), State::Unmanaged, "there is nothing to recognise it by");
    world.edit(|host| host.spec.boot_mac_address = Some("52:54:00:00:00:01".into()));
    world.settle();
    assert_eq!(world.state(), State::Available);
    assert_eq!(world.status().provisioning.id, "node-0");
}

#[test]
fn a_host_that_is_deleted_for_good_is_remembered_as_that() {
    for (value, kept) in [("true", 2), ("false", 0)] {
        for killed in 0..12 {
            let mut world = discovered("approved");
            world.settle();
            annotate(&mut world, "ironward.dev/forget", value);
            world.delete();
            world.until_killed = Some(killed);
            world.settle();
            assert!(world.host.is_none() && world.node.is_none());
            assert_eq!(world.forgotten.len(), kept, "{value}, killed after {killed}");
        }
    }
}

#[test]
fn without_a_bmc_a_reboot_is_refused_aloud_before_anything_is_known_of_the_host() {
    let mut unmanaged = host();
    unmanaged.spec.bmc = None;
    unmanaged.metadata.annotations =
        Some([(annotations::REBOOT.to_owned(), r#"{"mode": "hard"}"#.to_owned())].into());
    let mut world = World::with(unmanaged);
    world.secret = BmcSecret::Unnamed;
    world.settle();
    assert_eq!(world.state(), State::Unmanaged);
    assert!(world.events.iter().any(|it| it.reason.to_string() == "PowerManagementImpossible"));
    assert_eq!(world.host.unwrap().metadata.annotations, Some([].into()));
}

#[test]
fn the_architecture_that_was_found_is_filled_in_where_people_left_it_open() {
    for (said, kept) in [(None, "aarch64"), (Some("x86_64"), "x86_64")] {
        let mut world = World::with(host());
        world.edit(|host| host.spec.architecture = said.map(str::to_owned));
        world.settle();
        assert_eq!(world.host.unwrap().spec.architecture.as_deref(), Some(kept));
    }
}

fn annotate(world: &mut World, key: &str, value: &str) {
    world.edit(|host| {
        let annotations = host.metadata.annotations.get_or_insert_default();
        annotations.insert(key.to_owned(), value.to_owned());
    });
}

#[test]
fn a_reboot_is_as_hard_as_it_is_asked_for_and_a_free_host_only_by_force() {
    for (value, mode) in [("", "Soft"), (r#"{"mode": "hard"}"#, "Hard"), ("now!", "Soft")] {
        let mut world = World::with(host());
        world.settle();
        annotate(&mut world, annotations::REBOOT, value);
        world.settle();
        assert_eq!(world.count("switched off"), 0, "{value}: {:?}", world.log);
        world.edit(|host| host.spec.image = Some(image("a")));
        // Whoever is provisioned was booted just now.
        world.settle();
        annotate(&mut world, annotations::REBOOT, value);
        world.settle();
        assert_eq!(world.count(&format!("switched off {mode}")), 1, "{value}: {:?}", world.log);
        assert!(world.node.as_ref().unwrap().is_on);
    }
    let mut world = World::with(host());
    world.settle();
    annotate(&mut world, annotations::REBOOT, r#"{"mode": "hard", "force": true}"#);
    world.settle();
    assert_eq!(world.count("switched off Hard"), 1, "{:?}", world.log);
}

#[test]
fn a_host_stays_off_until_the_last_who_wants_it_lets_go() {
    let mut world = World::with(host());
    world.edit(|host| host.spec.image = Some(image("a")));
    world.settle();
    annotate(&mut world, "reboot.metal3.io/a", r#"{"mode": "hard"}"#);
    annotate(&mut world, "reboot.metal3.io/b", "");
    world.settle();
    assert_eq!(world.count("switched off Hard"), 1, "{:?}", world.log);
    for key in ["reboot.metal3.io/a", "reboot.metal3.io/b"] {
        assert!(!world.node.as_ref().unwrap().is_on, "{key} is there");
        world.edit(|host| {
            host.metadata.annotations.as_mut().unwrap().remove(key).unwrap();
        });
        world.settle();
    }
    assert!(world.node.as_ref().unwrap().is_on);
}

#[test]
fn a_shutdown_that_fails_is_followed_by_a_cut() {
    let mut world = World::with(host());
    world.edit(|host| host.spec.image = Some(image("a")));
    world.settle();
    annotate(&mut world, annotations::REBOOT, "");
    world.failing = vec!["PowerOff"];
    world.keep_trying(1);
    assert_eq!(world.status().error_type, Some(ErrorType::PowerManagement));
    world.failing.clear();
    world.keep_trying(3);
    assert_eq!(world.count("switched off Hard"), 1, "{:?}", world.log);
    assert_eq!(world.status().error_type, None);
}

#[test]
fn what_must_not_be_off_is_rebooted_in_one_go_and_deleted_as_it_is() {
    let mut world = World::with(host());
    world.edit(|host| {
        host.spec.disable_power_off = Some(true);
        host.spec.image = Some(image("a"));
    });
    world.settle();
    annotate(&mut world, annotations::REBOOT, "");
    world.settle();
    assert_eq!((world.count("rebooted"), world.count("switched off")), (1, 0), "{:?}", world.log);
    world.delete();
    world.settle();
    assert!(world.host.is_none());
    assert_eq!(world.count("switched off"), 0, "{:?}", world.log);
}

#[test]
fn details_that_people_give_are_taken_and_nobody_looks_for_himself() {
    let mut world = World::with(host());
    annotate(&mut world, annotations::HARDWARE_DETAILS, r#"{"hostname": "given"}"#);
    world.settle();
    assert_eq!(world.state(), State::Available);
    assert_eq!(world.status().hardware.unwrap().hostname.as_deref(), Some("given"));
    assert_eq!(world.hardware_data.unwrap().hostname.as_deref(), Some("given"));
    assert!(!world.node.unwrap().is_inspected);
    assert!(world.events.iter().any(|it| it.reason.to_string() == "UpdateHardwareDetails"));
    assert_eq!(world.host.unwrap().metadata.annotations, Some([].into()));
}

#[test]
fn an_image_that_cannot_be_written_is_given_up_until_another_is_wanted() {
    let mut world = World::with(host());
    world.settle();
    world.failing = vec!["Provision"];
    world.edit(|host| host.spec.image = Some(image("a")));
    world.keep_trying(200);
    assert_eq!(world.count("failed Provision"), 5, "{:?}", world.log);
    assert_eq!(world.state(), State::Available);
    let told = world.status().error_message;
    assert!(told.contains("could not be written 5 times"), "{told}");
    world.failing.clear();
    world.keep_trying(50);
    assert_eq!(world.count("written"), 0, "{:?}", world.log);
    world.edit(|host| host.spec.image = Some(image("b")));
    world.settle();
    assert_eq!((world.state(), world.count("written")), (State::Provisioned, 1));
    assert_eq!(world.status().error_message, "");
}

fn any_image() -> impl Strategy<Value = Option<Image>> {
    option::of(select(vec![image("a"), image("b")]))
}

fn any_annotations() -> impl Strategy<Value = Vec<(String, String)>> {
    let keys = [
        annotations::INSPECT,
        annotations::HARDWARE_DETAILS,
        annotations::REBOOT,
        annotations::DETACHED,
        annotations::STATUS,
        "reboot.metal3.io/key",
    ];
    let values = [
        "",
        "disabled",
        "{}",
        r#"{"mode":"hard","force":true}"#,
        r#"{"deleteAction":"delay","force":true}"#,
        "{",
    ];
    let one = (select(keys.to_vec()), select(values.to_vec()));
    proptest::collection::vec(one.prop_map(|(key, value)| (key.to_owned(), value.to_owned())), 0..4)
}

prop_compose! {
    fn any_host()(
        state in select(State::iter().collect::<Vec<_>>()),
        operational in select(OperationalStatus::iter().collect::<Vec<_>>()),
        error in option::of(select(ErrorType::iter().collect::<Vec<_>>())),
        error_count in 0_i64..6,
        (wanted, saved) in (any_image(), any_image()),
        (online, has_bmc, external, never_off) in (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>()),
        (has_id, is_guarded, is_known) in (any::<bool>(), any::<bool>(), any::<bool>()),
    ) -> BareMetalHost {
        let mut host = host();
        host.metadata.finalizers = is_guarded.then(|| vec![FINALIZER.to_owned()]);
        host.spec.online = online || never_off;
        host.spec.image = wanted;
        host.spec.externally_provisioned = Some(external);
        host.spec.disable_power_off = Some(never_off);
        let status = host.status.get_or_insert_default();
        status.provisioning.state = state.to_string();
        status.provisioning.image = saved;
        status.provisioning.id = if has_id { "node-0".into() } else { String::new() };
        status.operational_status = operational;
        status.error_type = error;
        status.error_count = error_count;
        status.last_updated = Some(Time("2026-11-16T00:00:00Z".parse().unwrap()));
        status.hardware = is_known.then(Default::default);
        // What has no BMC was never further than that.
        if !has_bmc && matches!(state, State::None | State::Unmanaged) {
            host.spec.bmc = None;
        }
        host
    }
}

fn any_node() -> impl Strategy<Value = Option<Node>> {
    let busy = select(vec!["verify", "inspect", "prepare", "deploy", "clean"]);
    let node =
        (any::<bool>(), any::<bool>(), any_image(), any::<bool>(), option::of((busy, 0_u32..3)));
    option::of(node.prop_map(|(is_manageable, is_inspected, runs, is_on, busy)| Node {
        is_manageable,
        is_inspected,
        runs: runs.map(|image| image.url),
        is_on,
        busy,
    }))
}

fn world(host: BareMetalHost, node: Option<Node>) -> World {
    let mut world = World::with(host);
    if world.host.as_ref().is_none_or(|host| host.spec.bmc.is_none()) {
        world.secret = BmcSecret::Unnamed;
    }
    world.node = node;
    world
}

proptest! {
    #[test]
    fn from_any_state_a_host_comes_to_where_it_should_be(host in any_host(), node in any_node(), killed in option::of(0_usize..40)) {
        let is_managed = host.spec.bmc.is_some();
        let mut world = world(host, node.or_else(|| Some(Node::default()).filter(|_| !is_managed)));
        // A node that runs something else than the status says was somebody else's doing, and is not looked into.
        let is_foreign = world.node.as_ref().is_some_and(|node| node.runs.is_some());
        world.until_killed = killed;
        world.settle();
        let (state, status) = (world.state(), world.status());
        let host = world.host.clone().unwrap();
        let spec = &host.spec;
        if state == State::Deleting || state == State::PoweringOffBeforeDelete {
            // Nobody comes back from there, whoever wrote it.
            return Ok(());
        }
        prop_assert!(status.error_type.is_none(), "{:?}", status);
        match state {
            State::Provisioned => {
                // What was written by whoever did not say what stays, if something is wanted at all.
                let written = status.provisioning.image.is_some();
                prop_assert!(!written || status.provisioning.image == spec.image);
                let url = spec.image.as_ref().map(|it| it.url.clone());
                prop_assert!(url.is_some());
                let runs = world.node.unwrap().runs;
                prop_assert!(!written || is_foreign || runs == url, "{:?} instead of {:?}", runs, url);
            }
            State::Available | State::Ready => prop_assert!(spec.image.is_none() || !spec.online, "{:?}", status),
            State::ExternallyProvisioned => prop_assert_eq!(spec.externally_provisioned, Some(true)),
            State::Unmanaged => prop_assert!(!is_managed),
            State::None
            | State::Importing
            | State::Registering
            | State::MatchProfile
            | State::Inspecting
            | State::Preparing
            | State::Provisioning
            | State::Deprovisioning
            | State::PoweringOffBeforeDelete
            | State::Deleting => prop_assert!(false, "it stops at {}", state),
        }
    }

    #[test]
    fn from_any_state_a_host_that_is_deleted_is_forgotten(host in any_host(), node in any_node(), killed in option::of(0_usize..40)) {
        let mut world = world(host, node);
        // One that was never guarded was never given to the provisioner.
        world.edit(|host| host.metadata.finalizers = Some(vec![FINALIZER.to_owned()]));
        world.until_killed = killed;
        world.delete();
        world.settle();
        prop_assert!(world.host.is_none(), "{:#?}", world.host);
        prop_assert!(world.node.is_none());
    }

    #[test]
    fn whatever_is_seen_something_is_decided(host in any_host(), pairs in any_annotations(), node in any_node(), is_deleted: bool, word in "[a-z ]{0,3}") {
        let mut host = host;
        host.metadata.annotations = Some(pairs.into_iter().collect());
        if word.len() == 3 {
            host.status.get_or_insert_default().provisioning.state = word;
        }
        let mut world = world(host, node);
        if is_deleted {
            world.delete();
        }
        if let Some(seen) = world.observe(&[]) {
            prop_assert_eq!(decide(&seen), decide(&seen));
        }
    }
}
