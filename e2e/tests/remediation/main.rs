//! Remediation under the real Cluster API: its MachineHealthCheck finds machines that are not well, its MachineSets replace those that are given
//! up, and Ironward does what is between. What is played is the machines alone, as Nodes: see `kubelets`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on says so and ends")]

mod company;
mod control_plane;
mod faults;
mod ironic;
mod killed;
mod person;
#[path = "../machines/scene.rs"]
#[allow(dead_code, reason = "it is shared with tests that need more of it")]
mod scene;
#[path = "../machines/stage.rs"]
#[allow(dead_code, reason = "it is shared with tests that need more of it")]
mod stage;
mod storm;
mod together;

together::together! {
    ironic::a_node_that_returns_is_rebooted_and_one_that_does_not_is_replaced_on_another_host,
    storm::of_a_hundred_lost_nodes_a_fifth_is_remediated_at_one_time_and_none_twice,
    killed::a_remediation_outlives_its_controller_at_every_step,
    control_plane::one_of_a_control_plane_that_does_not_return_is_handed_to_its_provider,
    faults::a_cluster_that_cannot_be_reached_does_not_keep_a_host_off,
    faults::a_machine_that_is_deleted_meanwhile_takes_its_remediation_with_it,
    faults::a_host_that_others_decide_about_is_not_switched_off,
    faults::a_machine_whose_node_never_came_up_is_rebooted,
    person::a_person_has_a_healthy_machine_rebooted_with_one_command,
    person::the_page_prints_what_it_says,
}
