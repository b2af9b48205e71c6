//! What proposal 1 says of node reuse and proposal 2 of cleaning: each sentence is a test of that name.

use super::{
    MANY, upgrade,
    world::{self, World, consumer, label},
};
use ironward::{
    api::BareMetalHost, controllers::host_choice::candidate::FAILURE_DOMAIN,
    domain::automated_cleaning::AutomatedCleaningMode,
};
use rstest::rstest;
use std::collections::BTreeSet;

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|it| (*it).to_owned()).collect()
}

/// A pool that has its hosts, in a fleet with more of them.
fn settled(hosts: usize, replicas: usize, node_reuse: bool) -> World {
    let mut world = World::new(hosts, 1);
    world.deploy("pool1", replicas, node_reuse);
    world.rounds(20);
    assert!(world.is_settled("pool1"), "{:#?}", world.log);
    world
}

#[test]
fn if_host_is_found_in_available_state_pick_that_host_and_remove_the_whole_label() {
    let mut world = settled(8, 3, true);
    let before = world.hosts_of("pool1");
    upgrade(&mut world, "pool1");
    world.rounds(MANY);
    assert!(world.is_settled("pool1"));
    assert_eq!(world.hosts_of("pool1"), before);
    assert_eq!(world.reserved(), [].into(), "the whole label is removed");
}

#[test]
fn when_node_reuse_is_disabled_preserve_the_current_flow_of_host_selection() {
    let mut world = settled(8, 3, false);
    let before = world.hosts_of("pool1");
    upgrade(&mut world, "pool1");
    world.rounds(MANY);
    assert!(world.is_settled("pool1"));
    // The least recently used, which are those that never were.
    assert!(world.hosts_of("pool1").is_disjoint(&before), "{:#?}", world.log);
    assert!(!world.log.iter().any(|it| it.contains("not kept")), "none was ever reserved");
}

#[test]
fn if_host_is_found_in_any_other_state_than_available_requeue_until_that_host_becomes_available() {
    let mut world = settled(3, 1, true);
    let before = world.hosts_of("pool1");
    let host = before.first().unwrap().clone();
    upgrade(&mut world, "pool1");
    while world.hosts[&host].status.as_ref().unwrap().provisioning.state != "deprovisioning" {
        world.rounds(1);
    }
    // Cluster API makes the new machine before the old one is gone, as with maxSurge: 1.
    world.deployments.get_mut("pool1").unwrap().replicas = 2;
    world.stuck.insert(host.clone());
    world.rounds(10);
    let waiting = world.machines.values().find(|it| it.metadata.deletion_timestamp.is_none());
    let status = waiting.unwrap().status.clone().unwrap();
    let told = status.conditions.unwrap();
    let told = told.iter().find(|it| it.type_ == "AssociateBareMetalHost").unwrap();
    assert!(
        told.message.contains(&format!("reserved for its pool to become available: {host}")),
        "{}",
        told.message
    );
    assert_eq!(world.hosts_of("pool1"), before, "no other is taken");
    world.deployments.get_mut("pool1").unwrap().replicas = 1;
    world.stuck.clear();
    world.rounds(MANY);
    assert_eq!(world.hosts_of("pool1"), before);
}

#[test]
fn if_no_host_is_found_while_it_should_be_fall_back_to_the_current_flow() {
    let mut world = settled(3, 1, true);
    let host = world.hosts_of("pool1").first().unwrap().clone();
    upgrade(&mut world, "pool1");
    while label(&world.hosts[&host]).is_none() {
        world.rounds(1);
    }
    world.hosts.remove(&host);
    world.replicas[0].hosts.forget(&world::id(&host));
    world.rounds(MANY);
    assert!(world.is_settled("pool1"), "{:#?}", world.log);
}

/// A pool that reuses nodes and one that does not, in the middle of their upgrades at the same time; and the hosts that they had.
fn parallel() -> (World, BTreeSet<String>, BTreeSet<String>) {
    let mut world = settled(10, 3, true);
    world.deploy("pool2", 3, false);
    world.rounds(20);
    let (one, two) = (world.hosts_of("pool1"), world.hosts_of("pool2"));
    upgrade(&mut world, "pool1");
    upgrade(&mut world, "pool2");
    (world, one, two)
}

/// The pools for which hosts were labelled while both upgrades went on to their end.
fn labels_until_settled(world: &mut World) -> BTreeSet<String> {
    let mut labels = BTreeSet::new();
    for _ in 0..MANY {
        world.rounds(1);
        labels.extend(world.reserved().into_values());
    }
    assert!(world.is_settled("pool1") && world.is_settled("pool2"), "{:#?}", world.log);
    labels
}

mod what_if_there_are_two_parallel_kcp_md_experiencing_upgrade {
    use super::*;

    #[test]
    fn two_machine_deployments_with_node_reuse_set_to_true_and_false_respectively_start_upgrade_at_the_same_time()
     {
        let (mut world, ..) = parallel();
        labels_until_settled(&mut world);
        assert_eq!(world.reserved(), [].into());
    }

    #[test]
    fn during_provisioning_capm3_machine_controller_tries_to_find_hosts_with_md_pool1_label_for_md_pool1_and_md_pool2_label_for_md_pool2()
     {
        let (mut world, one, two) = parallel();
        world.deployments.get_mut("pool2").unwrap().node_reuse = true;
        assert_eq!(labels_until_settled(&mut world), set(&["md-pool1", "md-pool2"]));
        assert_eq!((world.hosts_of("pool1"), world.hosts_of("pool2")), (one, two));
    }

    #[test]
    fn based_on_the_logic_on_diagram_above_for_md_pool1_machine_controller_finds_hosts_with_the_md_pool1_label_and_picks_them_for_provisioning()
     {
        let (mut world, one, _) = parallel();
        labels_until_settled(&mut world);
        assert_eq!(world.hosts_of("pool1"), one);
    }

    #[test]
    fn for_md_pool2_controller_searches_for_hosts_with_md_pool2_label_and_fails_to_find_any_because_label_wasnt_set_during_deprovisioning_due_to_disabled_node_reuse()
     {
        let (mut world, ..) = parallel();
        assert_eq!(labels_until_settled(&mut world), set(&["md-pool1"]));
    }

    #[test]
    fn as_such_controller_falls_back_to_select_random_hosts() {
        let (mut world, one, two) = parallel();
        labels_until_settled(&mut world);
        let now = world.hosts_of("pool2");
        assert_ne!(now, two, "the least recently used of all");
        assert!(now.is_disjoint(&one), "but none that is kept for another");
    }
}

mod what_if_we_found_n_1_hosts_with_label_while_we_expect_n_hosts {
    use super::*;

    #[test]
    fn then_we_select_any_other_hosts_even_though_it_has_no_label_we_expect() {
        let mut world = settled(4, 2, true);
        let before = world.hosts_of("pool1");
        // All at once: both are deleted, and one of their hosts is lost.
        for machine in world.machines.keys().cloned().collect::<Vec<_>>() {
            world.delete(&machine);
        }
        let lost = before.first().unwrap().clone();
        world.rounds(1);
        world.hosts.remove(&lost);
        world.replicas[0].hosts.forget(&world::id(&lost));
        world.rounds(MANY);
        assert!(world.is_settled("pool1"), "{:#?}", world.log);
        let kept = before.last().unwrap();
        assert!(world.hosts_of("pool1").contains(kept), "{:#?}", world.log);
    }
}

mod what_if_user_changes_from_node_reuse_to_no_node_reuse_in_the_middle_of_upgrade {
    use super::*;

    /// All hosts of a pool are labelled, and the user disables nodeReuse.
    fn disabled_halfway(replicas: usize) -> (World, BTreeSet<String>) {
        let mut world = settled(8, replicas, true);
        let before = world.hosts_of("pool1");
        for machine in world.machines.keys().cloned().collect::<Vec<_>>() {
            world.delete(&machine);
        }
        while world.reserved().len() < replicas {
            world.rounds(1);
        }
        world.deployments.get_mut("pool1").unwrap().node_reuse = false;
        (world, before)
    }

    #[test]
    fn in_the_middle_of_the_upgrade_process_when_hosts_already_labelled_during_deprovisioning_are_provisioning_user_disables_node_reuse()
     {
        let mut world = settled(8, 3, true);
        let before = world.hosts_of("pool1");
        upgrade(&mut world, "pool1");
        while world.reserved().is_empty() {
            world.rounds(1);
        }
        let labelled: BTreeSet<_> = world.reserved().into_keys().collect();
        world.deployments.get_mut("pool1").unwrap().node_reuse = false;
        world.rounds(MANY);
        assert!(world.is_settled("pool1"), "{:#?}", world.log);
        let now = world.hosts_of("pool1");
        assert!(now.is_superset(&labelled), "{labelled:?} {now:?}");
        assert_ne!(now, before, "those that were not labelled yet are not reused");
    }

    #[test]
    fn based_on_the_diagram_above_capm3_machine_controller_always_picks_labelled_hosts_when_found_regardless_of_node_reuse_feature_is_disabled_enabled()
     {
        for is_enabled_again in [false, true] {
            let (mut world, before) = disabled_halfway(1);
            world.deployments.get_mut("pool1").unwrap().node_reuse = is_enabled_again;
            world.rounds(MANY);
            assert_eq!(world.hosts_of("pool1"), before);
        }
    }

    #[test]
    fn the_reason_is_we_want_to_ensure_that_the_controller_doesnt_miss_labelled_hosts() {
        let (mut world, before) = disabled_halfway(3);
        world.rounds(MANY);
        assert_eq!(world.hosts_of("pool1"), before);
        assert_eq!(world.reserved(), [].into());
    }

    #[test]
    fn in_short_labelled_hosts_always_take_the_precedence_over_unlabelled_hosts_during_selection() {
        let (mut world, before) = disabled_halfway(1);
        // There are seven others, which were never used and would be taken first.
        world.rounds(MANY);
        assert_eq!(world.hosts_of("pool1"), before);
    }
}

#[test]
fn reuse_the_nodes_during_the_remediation_operation() {
    let mut world = settled(6, 3, true);
    let before = world.hosts_of("pool1");
    // A MachineHealthCheck deletes one.
    let unhealthy = world.machines.keys().next().unwrap().clone();
    world.delete(&unhealthy);
    world.rounds(MANY);
    assert_eq!(world.hosts_of("pool1"), before);
}

#[test]
fn a_host_that_was_given_up_is_not_reused_and_not_kept() {
    let mut world = settled(6, 3, true);
    let given_up = world.hosts_of("pool1").first().unwrap().clone();
    let machine = consumer(&world.hosts[&given_up]).unwrap();
    world.edit(&given_up, |host| {
        let annotations = host.metadata.annotations.get_or_insert_default();
        annotations.insert("capm3.metal3.io/unhealthy".into(), String::new());
    });
    world.delete(&machine);
    world.rounds(MANY);
    assert!(world.is_settled("pool1"));
    assert!(!world.hosts_of("pool1").contains(&given_up));
    assert_eq!((label(&world.hosts[&given_up]), world.reserved()), (None, [].into()));
}

#[test]
fn one_stuck_host_does_not_block_its_pool_for_ever() {
    let mut world = settled(6, 1, true);
    let stuck = world.hosts_of("pool1").first().unwrap().clone();
    let machine = consumer(&world.hosts[&stuck]).unwrap();
    world.delete(&machine);
    while world.reserved().is_empty() {
        world.rounds(1);
    }
    world.stuck.insert(stuck.clone());
    // Cluster API makes the new machine before the old one is gone, as with maxSurge: 1.
    world.deployments.get_mut("pool1").unwrap().replicas = 2;
    world.rounds(50);
    assert_eq!(world.hosts_of("pool1"), set(&[&stuck]), "it is waited for: {:#?}", world.log);
    world.rounds(MANY - 50);
    let now = world.hosts_of("pool1");
    assert!(now.len() == 2 && now.contains(&stuck), "{now:?} {:#?}", world.log);
    let given_up = format!("ReuseGivenUp host {stuck} is reserved");
    assert!(world.log.iter().any(|it| it.starts_with(&given_up)), "{:#?}", world.log);
}

#[test]
fn stale_labels_are_released_when_the_owner_is_gone() {
    let mut world = settled(3, 2, true);
    let machine = world.machines.keys().next().unwrap().clone();
    world.delete(&machine);
    let is_kept = |world: &World| {
        let kept = |host: &BareMetalHost| host.spec.consumer_ref.as_ref()?.kind.clone();
        world.hosts.values().any(|host| kept(host).as_deref() == Some("Cluster"))
    };
    while !is_kept(&world) {
        world.rounds(1);
    }
    // Before the next machine takes it.
    world.deployments.get_mut("pool1").unwrap().is_gone = true;
    world.orchestrate("pool1");
    world.orchestrate("pool1");
    assert!(is_kept(&world));
    world.rounds(MANY);
    assert_eq!(world.reserved(), [].into());
    assert!(world.hosts.values().all(|it| it.spec.consumer_ref.is_none()), "{:#?}", world.hosts);
    assert!(world.log.iter().any(|it| it.ends_with("not kept: PoolGone")), "{:#?}", world.log);
}

#[test]
fn stale_labels_are_released_when_the_owner_is_scaled_down() {
    let mut world = settled(4, 3, true);
    world.deployments.get_mut("pool1").unwrap().replicas = 1;
    world.rounds(MANY);
    assert!(world.is_settled("pool1"));
    assert_eq!(world.reserved(), [].into());
    assert!(world.log.iter().any(|it| it.ends_with("not kept: NotNeeded")), "{:#?}", world.log);
}

#[test]
fn failure_domains_are_respected_by_reuse() {
    let mut world = World::new(4, 1);
    for (host, domain) in [("h0", "a"), ("h1", "b"), ("h2", "b"), ("h3", "a")] {
        world.edit(host, |it| {
            it.metadata.labels = Some([(FAILURE_DOMAIN.to_owned(), domain.to_owned())].into());
        });
    }
    world.deploy("pool1", 1, true).failure_domain = Some("a".into());
    world.rounds(20);
    assert_eq!(world.hosts_of("pool1"), set(&["h0"]));
    let deployment = world.deployments.get_mut("pool1").unwrap();
    deployment.failure_domain = Some("b".into());
    upgrade(&mut world, "pool1");
    world.rounds(MANY);
    assert_eq!(world.hosts_of("pool1"), set(&["h1"]));
    assert_eq!(world.reserved(), [].into(), "h0 is not kept for who may not take it");
}

#[test]
fn a_rollout_that_starts_with_the_edit_never_deprovisions_under_the_old_mode() {
    let mut world = settled(6, 3, true);
    // The edit has reached no machine and no host yet.
    world.deployments.get_mut("pool1").unwrap().mode = Some(AutomatedCleaningMode::Disabled);
    upgrade(&mut world, "pool1");
    world.rounds(MANY);
    assert!(world.is_settled("pool1"));
    let deprovisioned: Vec<_> =
        world.log.iter().filter(|it| it.contains("deprovisioned")).collect();
    assert_eq!(deprovisioned.len(), 3);
    assert!(deprovisioned.iter().all(|it| it.ends_with("disabled")), "{deprovisioned:?}");
}

#[test]
fn as_a_user_you_can_still_modify_automated_cleaning_mode_field_directly_on_a_bare_metal_host_to_disable_enable_automatic_cleaning_for_the_host_that_is_not_managed_by_the_capm3()
 {
    let mut world = settled(2, 1, false);
    world.edit("h1", |it| {
        it.spec.automated_cleaning_mode = Some(AutomatedCleaningMode::Disabled);
    });
    world.rounds(10);
    let mode = world.hosts["h1"].spec.automated_cleaning_mode;
    assert_eq!(mode, Some(AutomatedCleaningMode::Disabled));
}

#[rstest]
#[case::before_the_provisioning(false)]
#[case::before_the_deprovisioning(true)]
fn automated_cleaning_mode_can_be_updated_on_a_bare_metal_host_either_before_the_provisioning_or_deprovisioning_takes_place(
    #[case] is_provisioned: bool,
) {
    let mut world = World::new(1, 1);
    world.deploy("pool1", usize::from(is_provisioned), false);
    world.rounds(10);
    world.edit("h0", |it| {
        it.spec.automated_cleaning_mode = Some(AutomatedCleaningMode::Disabled);
    });
    world.deployments.get_mut("pool1").unwrap().replicas = 1;
    world.rounds(10);
    world.deployments.get_mut("pool1").unwrap().replicas = 0;
    world.rounds(10);
    assert!(world.log.iter().any(|it| it == "h0 deprovisioned disabled"), "{:#?}", world.log);
}
