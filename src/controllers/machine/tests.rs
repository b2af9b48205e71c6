//! One step after the other, from a machine that nobody owns to one that is gone.

use super::{
    node::{Found, Node},
    observed::{Host, Observed, Reuse, Settings},
    plan::{FINALIZER, HOST, Plan, Step},
    *,
};
use crate::{
    api::{
        BareMetalHost, Metal3Cluster, Metal3Machine,
        cluster_api::{BLOCK_MOVE, Cluster, Machine},
        metal3machine::{MachineImage, MachineMetaData},
        references::NamespacedName,
    },
    controllers::host_choice::{Choice, Chosen, HostId, shortage::Shortage},
    domain::{automated_cleaning::AutomatedCleaningMode as Mode, node_reuse::Pool},
};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use rstest::rstest;
use serde_json::{Value, json};

fn now() -> Timestamp {
    Timestamp::from_second(1_800_000_000).unwrap()
}

fn merged<K: serde::Serialize + serde::de::DeserializeOwned>(object: &K, patch: &Value) -> K {
    let mut json = serde_json::to_value(object).unwrap();
    json_patch::merge(&mut json, patch);
    serde_json::from_value(json).unwrap()
}

/// A machine for which all is there but a host.
fn seen() -> Observed {
    let mut machine = Metal3Machine::default();
    machine.metadata.name = Some("m-0".into());
    machine.metadata.namespace = Some("lab".into());
    machine.metadata.finalizers = Some(vec![FINALIZER.into()]);
    machine.metadata.labels = Some([("cluster.x-k8s.io/cluster-name".into(), "c".into())].into());
    machine.metadata.creation_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
    machine.spec.image =
        Some(MachineImage { url: "http://images/a".into(), ..MachineImage::default() });
    let mut owner = Machine::default();
    owner.spec.bootstrap.data_secret_name = Some("m-0-bootstrap".into());
    let mut cluster = Cluster::default();
    cluster.metadata.name = Some("c".into());
    cluster.status.get_or_insert_default().initialization.infrastructure_provisioned = Some(true);
    Observed {
        machine,
        now: now(),
        owner: Some(owner),
        cluster: Some(cluster),
        infrastructure: Some(Metal3Cluster::default()),
        host: Host::None(None),
        is_reused: false,
        refusal: None,
        template_mode: None,
        reuse: None,
        node: Found::Unasked,
        settings: Settings::default(),
    }
}

fn host(state: &str) -> BareMetalHost {
    let mut host = BareMetalHost::default();
    host.metadata.name = Some("worker-0".into());
    host.metadata.namespace = Some("lab".into());
    host.metadata.uid = Some("u-0".into());
    host.status.get_or_insert_default().provisioning.state = state.into();
    host
}

fn chosen(is_reused: bool) -> Choice {
    let id = HostId { namespace: "lab".into(), name: "worker-0".into() };
    let (uid, version) = ("u-0".into(), "7".into());
    Choice::Take(Chosen { host: id, uid, version, is_reused, given_up: vec![] })
}

/// One that has its host, in this state, and has told it all.
fn with_host(state: &str) -> Observed {
    let mut seen = seen();
    seen.host = Host::None(Some(Ok(chosen(false))));
    let Step::Claim(_, patch) = decide(&seen).step else { panic!() };
    seen.host = Host::Has(Box::new(merged(&host(state), &patch)));
    let annotations = seen.machine.metadata.annotations.get_or_insert_default();
    annotations.insert(HOST.into(), "lab/worker-0".into());
    seen
}

fn deleted(mut seen: Observed) -> Observed {
    seen.machine.metadata.deletion_timestamp = Some(Time(now()));
    seen
}

fn held(seen: &mut Observed) -> &mut BareMetalHost {
    match &mut seen.host {
        Host::Has(host) => host,
        Host::None(_) | Host::Gone(_) | Host::Lost(_) => panic!(),
    }
}

fn condition(plan: &Plan, question: &str) -> (String, String, String) {
    let status = plan.status.as_ref().unwrap_or_else(|| panic!("{:?}", plan.step));
    let all = status.conditions.as_ref().unwrap();
    let it = all.iter().find(|it| it.type_ == question).unwrap();
    (it.status.clone(), it.reason.clone(), it.message.clone())
}

#[rstest]
#[case::owner(|it: &mut Observed| it.owner = None, "WaitingForMetal3MachineOwnerRef")]
#[case::cluster(|it: &mut Observed| it.cluster = None, "WaitingForClusterInfrastructureReady")]
#[case::its_infrastructure(
    |it: &mut Observed| it.cluster.as_mut().unwrap().status = None,
    "WaitingForClusterInfrastructureReady"
)]
#[case::metal3_cluster(|it: &mut Observed| it.infrastructure = None, "WaitingforMetal3Cluster")]
#[case::bootstrap(
    |it: &mut Observed| it.owner.as_mut().unwrap().spec.bootstrap.data_secret_name = None,
    "WaitingForBootstrapData"
)]
fn what_others_bring_is_waited_for_and_named_as_metal3_does(
    #[case] change: fn(&mut Observed),
    #[case] reason: &str,
) {
    let mut seen = seen();
    change(&mut seen);
    let plan = decide(&seen);
    assert_eq!(plan.step, Step::Await);
    assert_eq!(condition(&plan, "AssociateBareMetalHost").1, reason);
    // One that was created a moment ago does not say so yet.
    seen.machine.metadata.creation_timestamp = Some(Time(now()));
    assert_eq!(decide(&seen).status, None);
    // And none of it keeps a machine from being deleted.
    assert!(matches!(decide(&deleted(seen)).step, Step::Release(_)));
}

#[rstest]
#[case(|it: &mut Observed| it.owner = None)]
#[case(|it: &mut Observed| it.cluster.as_mut().unwrap().status = None)]
#[case(|it: &mut Observed| it.infrastructure = None)]
fn a_machine_that_runs_is_not_less_ready_because_somebody_above_it_is(
    #[case] change: fn(&mut Observed),
) {
    let mut seen = with_host("provisioned");
    seen.machine.spec.provider_id = Some("metal3://lab/worker-0/m-0".into());
    change(&mut seen);
    assert_eq!(condition(&decide(&seen), "Ready").0, "True");
}

#[test]
fn a_machine_is_guarded_before_it_claims_and_its_failure_domain_is_that_of_its_owner() {
    let mut seen = seen();
    seen.machine.metadata.finalizers = None;
    seen.owner.as_mut().unwrap().spec.failure_domain = Some("b".into());
    seen.host = Host::None(Some(Ok(chosen(false))));
    let Step::Guard(patch) = decide(&seen).step else { panic!() };
    let expected = json!({"metadata": {"finalizers": [FINALIZER]}, "spec": {"failureDomain": "b"}});
    assert_eq!(patch, expected);
    seen.machine = merged(&seen.machine, &patch);
    assert!(matches!(decide(&seen).step, Step::Claim(..)));
}

#[test]
fn a_claim_is_of_the_version_that_was_chosen_and_no_other() {
    let mut seen = seen();
    seen.host = Host::None(Some(Ok(chosen(false))));
    let Step::Claim(_, patch) = decide(&seen).step else { panic!() };
    let metadata = &patch["metadata"];
    assert_eq!((&metadata["uid"], &metadata["resourceVersion"]), (&json!("u-0"), &json!("7")));
}

#[test]
fn a_claim_brings_image_and_data_in_one_write() {
    let mut seen = with_host("available");
    let host = held(&mut seen);
    assert_eq!(host.spec.image.as_ref().unwrap().url, "http://images/a");
    assert_eq!(host.spec.user_data.as_ref().unwrap().name.as_deref(), Some("m-0-bootstrap"));
    assert!(host.spec.online);
    let consumer = host.spec.consumer_ref.clone().unwrap();
    assert_eq!((consumer.kind.as_deref(), consumer.uid), (Some("Metal3Machine"), None));
    let plan = decide(&seen);
    let told = condition(&plan, "AssociateBareMetalHost");
    assert_eq!((told.0.as_str(), told.1.as_str()), ("True", "AssociateBareMetalHostSuccess"));
    // Looked at again, there is nothing to do.
    seen.machine.status = plan.status.map(|it| *it);
    assert_eq!(decide(&seen).status, None);
}

#[test]
fn why_no_host_fits_is_said_in_numbers_and_not_more_often_than_people_read() {
    let mut seen = seen();
    let shortage = |in_use| {
        let census = [(crate::controllers::host_choice::Standing::InUse, in_use)].into();
        Host::None(Some(Ok(Choice::Nothing(Shortage { census, ..Shortage::default() }))))
    };
    seen.host = shortage(2);
    let plan = decide(&seen);
    assert!(matches!(plan.step, Step::Queue(_)));
    let told = condition(&plan, "AssociateBareMetalHost");
    assert_eq!(told.1, "AssociateBareMetalHostFailed");
    assert_eq!(told.2, "no host fits: 2 hosts: 2 in use");
    seen.machine.status = plan.status.map(|it| *it);
    seen.host = shortage(3);
    let plan = decide(&seen);
    let soon = std::time::Duration::from_secs(30);
    assert_eq!((plan.status, plan.step), (None, Step::Queue(soon)));
    seen.now = now().checked_add(soon).unwrap();
    assert!(decide(&seen).status.is_some());
}

#[test]
fn a_claim_that_a_policy_refuses_is_told_to_people() {
    let mut seen = seen();
    seen.host = Host::None(Some(Ok(chosen(false))));
    seen.refusal = Some("host worker-0 cannot be taken: not on a Sunday".into());
    let plan = decide(&seen);
    assert!(matches!(plan.step, Step::After(_)));
    let told = condition(&plan, "AssociateBareMetalHost");
    assert_eq!(told.2, "host worker-0 cannot be taken: not on a Sunday");
}

#[test]
fn a_machine_with_metadata_to_be_rendered_takes_its_host_and_waits() {
    let mut seen = seen();
    let config_ref = Some(NamespacedName { name: "nodes".into(), namespace: None });
    seen.machine.spec.meta_data =
        Some(MachineMetaData { config_ref, ..MachineMetaData::default() });
    seen.host = Host::None(Some(Ok(chosen(false))));
    let Step::Claim(_, patch) = decide(&seen).step else { panic!() };
    assert_eq!(patch["spec"]["image"], Value::Null);
    seen.host = Host::Has(Box::new(merged(&host("available"), &patch)));
    let annotations = seen.machine.metadata.annotations.get_or_insert_default();
    annotations.insert(HOST.into(), "lab/worker-0".into());
    let plan = decide(&seen);
    let told = condition(&plan, "Metal3DataReady");
    assert_eq!((told.0.as_str(), told.1.as_str()), ("False", "WaitingForMetal3Data"));
    assert!(told.2.contains("Metal3Metadata nodes"), "{}", told.2);
    let secret = Some(NamespacedName { name: "nodes-0".into(), namespace: None });
    seen.machine.spec.meta_data.as_mut().unwrap().data_secret = secret;
    let Step::Provision(patch) = decide(&seen).step else { panic!() };
    assert_eq!(patch["spec"]["metaData"], json!({"name": "nodes-0", "namespace": "lab"}));
}

#[test]
fn when_the_image_runs_the_machine_is_provisioned_with_or_without_a_node() {
    let mut seen = with_host("provisioned");
    seen.node = Found::Unreachable("no route".into());
    let Step::Identify(patch) = decide(&seen).step else { panic!() };
    assert_eq!(patch, json!({"spec": {"providerID": "metal3://lab/worker-0/m-0"}}));
    seen.machine = merged(&seen.machine, &patch);
    let plan = decide(&seen);
    assert_eq!(condition(&plan, "Ready").0, "True");
    let status = plan.status.unwrap();
    assert_eq!(status.initialization.clone().and_then(|it| it.provisioned), Some(true));
    seen.machine.status = Some(*status);
    seen.node = Found::Unnamed("node-0".into());
    let expected =
        Step::NameNode { node: "node-0".into(), provider_id: "metal3://lab/worker-0/m-0".into() };
    assert_eq!(decide(&seen).step, expected);
}

#[test]
fn a_cloud_provider_names_the_node_and_the_machine_takes_over_what_it_wrote() {
    let mut seen = with_host("provisioned");
    seen.infrastructure.as_mut().unwrap().spec.cloud_provider_enabled = Some(true);
    seen.node = Found::Unnamed("node-0".into());
    let plan = decide(&seen);
    assert!(matches!(plan.step, Step::After(_)), "{:?}", plan.step);
    assert_eq!(condition(&plan, "Ready").0, "False");
    let provider_id = Some("cloud://7".into());
    seen.node = Found::Misnamed(Node { name: "node-0".into(), provider_id, ..Node::default() });
    let Step::Identify(patch) = decide(&seen).step else { panic!() };
    assert_eq!(patch["spec"]["providerID"], "cloud://7");
}

#[test]
fn a_host_that_is_gone_is_replaced_unless_something_ran_on_it() {
    let mut seen = seen();
    seen.host = Host::Gone("worker-0".into());
    let Step::Record(patch) = decide(&seen).step else { panic!() };
    assert_eq!(patch["metadata"]["annotations"][HOST], Value::Null);
    seen.machine.spec.provider_id = Some("metal3://lab/worker-0/m-0".into());
    let plan = decide(&seen);
    let told = condition(&plan, "AssociateBareMetalHost");
    assert_eq!(told.1, "MissingBMH");
    assert_eq!(
        told.2,
        "host worker-0 is not there any more: delete the Machine to have it replaced"
    );
}

#[test]
fn a_paused_cluster_pauses_its_hosts_with_their_status_and_lets_them_be_moved() {
    let mut seen = with_host("provisioned");
    assert_eq!(held(&mut seen).metadata.annotations.as_ref().unwrap()[BLOCK_MOVE], "");
    seen.cluster.as_mut().unwrap().spec.paused = Some(true);
    let Step::PauseHost(patch) = decide(&seen).step else { panic!() };
    *held(&mut seen) = merged(held(&mut seen), &patch);
    let annotations = held(&mut seen).metadata.annotations.clone().unwrap();
    assert_eq!(annotations["baremetalhost.metal3.io/paused"], "metal3.io/capm3");
    assert!(annotations["baremetalhost.metal3.io/status"].contains("provisioned"));
    assert!(!annotations.contains_key(BLOCK_MOVE));
    let plan = decide(&seen);
    assert_eq!((plan.step.clone(), condition(&plan, "Paused").0.as_str()), (Step::Await, "True"));
    // Also when it is to be deleted.
    assert_eq!(decide(&deleted(seen.clone())).step, Step::Await);

    seen.cluster.as_mut().unwrap().spec.paused = None;
    let Step::ResumeHost(patch) = decide(&seen).step else { panic!() };
    *held(&mut seen) = merged(held(&mut seen), &patch);
    let annotations = held(&mut seen).metadata.annotations.clone().unwrap();
    assert!(!annotations.contains_key("baremetalhost.metal3.io/paused"));
    assert!(annotations.contains_key(BLOCK_MOVE));
    assert!(!matches!(decide(&seen).step, Step::ResumeHost(_)));
}

#[test]
fn a_host_that_somebody_else_paused_stays_paused() {
    let mut seen = with_host("provisioned");
    let annotations = held(&mut seen).metadata.annotations.get_or_insert_default();
    annotations.insert("baremetalhost.metal3.io/paused".into(), "by me".into());
    assert!(!matches!(decide(&seen).step, Step::ResumeHost(_)));
}

#[test]
fn the_machine_controller_updates_the_mode_of_its_host_no_matter_what_the_current_value_is() {
    let mut seen = with_host("provisioned");
    held(&mut seen).spec.automated_cleaning_mode = Some(Mode::Metadata);
    seen.machine.spec.automated_cleaning_mode = Some(Mode::Disabled);
    let Step::Follow(patch) = decide(&seen).step else { panic!() };
    assert_eq!(patch, json!({"spec": {"automatedCleaningMode": "disabled"}}));
}

#[test]
fn a_machine_that_says_nothing_of_cleaning_leaves_its_host_alone() {
    let mut seen = with_host("provisioned");
    held(&mut seen).spec.automated_cleaning_mode = Some(Mode::Disabled);
    assert!(!matches!(decide(&seen).step, Step::Follow(_)));
    let Step::Deprovision(patch) = decide(&deleted(seen)).step else { panic!() };
    assert_eq!(patch["spec"]["automatedCleaningMode"], "disabled");
}

#[rstest]
#[case::cleaned(Mode::Metadata, false, None, false)]
#[case::cleaned_on_fast_track(Mode::Metadata, true, None, true)]
#[case::not_cleaned_on_fast_track(Mode::Disabled, true, None, false)]
#[case::never_to_be_switched_off(Mode::Metadata, false, Some(true), true)]
fn whether_a_host_that_is_deprovisioned_stays_on(
    #[case] mode: Mode,
    #[case] is_fast_track: bool,
    #[case] disable_power_off: Option<bool>,
    #[case] expected: bool,
) {
    let mut seen = deleted(with_host("provisioned"));
    seen.settings.is_fast_track = is_fast_track;
    seen.template_mode = Some(mode);
    held(&mut seen).spec.disable_power_off = disable_power_off;
    let Step::Deprovision(patch) = decide(&seen).step else { panic!() };
    assert_eq!(patch["spec"]["online"], expected);
    // And that is all that is to be written.
    *held(&mut seen) = merged(held(&mut seen), &patch);
    assert!(matches!(decide(&seen).step, Step::After(_)));
}

#[test]
fn the_reservation_comes_with_the_write_that_has_the_host_deprovisioned() {
    let mut seen = deleted(with_host("provisioned"));
    let pool = Pool::MachineDeployment("pool1".into());
    seen.reuse = Some(Reuse { pool, is_wanted: true, goes_on: true });
    let Step::Deprovision(patch) = decide(&seen).step else { panic!() };
    let labels = &patch["metadata"]["labels"];
    assert_eq!(labels["infrastructure.cluster.x-k8s.io/node-reuse"], "md-pool1");
    assert_eq!(patch["spec"]["image"], Value::Null);
    *held(&mut seen) = merged(held(&mut seen), &patch);
    held(&mut seen).status.as_mut().unwrap().provisioning.state = "available".into();
    // What was switched off meanwhile was decided before.
    seen.reuse.as_mut().unwrap().is_wanted = false;
    let Step::GiveBack(patch) = decide(&seen).step else { panic!() };
    assert_eq!(patch["spec"]["consumerRef"]["kind"], "Cluster");
    assert!(
        patch["metadata"]["labels"].get("infrastructure.cluster.x-k8s.io/node-reuse").is_none()
    );
}

#[test]
fn a_host_whose_pool_went_while_it_was_deprovisioned_is_given_back_without_its_label() {
    let mut seen = deleted(with_host("provisioned"));
    let pool = Pool::MachineDeployment("pool1".into());
    seen.reuse = Some(Reuse { pool, is_wanted: true, goes_on: true });
    let Step::Deprovision(patch) = decide(&seen).step else { panic!() };
    *held(&mut seen) = merged(held(&mut seen), &patch);
    held(&mut seen).status.as_mut().unwrap().provisioning.state = "available".into();
    seen.reuse.as_mut().unwrap().goes_on = false;
    let Step::GiveBack(patch) = decide(&seen).step else { panic!() };
    assert_eq!(patch["spec"]["consumerRef"], Value::Null);
    let labels = patch["metadata"]["labels"].as_object().unwrap();
    assert_eq!(labels.get("infrastructure.cluster.x-k8s.io/node-reuse"), Some(&Value::Null));
}

#[rstest]
#[case::the_cluster_is_being_deleted(|it: &mut Observed| {
    it.cluster.as_mut().unwrap().metadata.deletion_timestamp = Some(Time(now()));
})]
#[case::there_is_no_cluster(|it: &mut Observed| it.cluster = None)]
#[case::the_pool_goes(|it: &mut Observed| it.reuse.as_mut().unwrap().goes_on = false)]
#[case::it_is_disabled(|it: &mut Observed| it.reuse.as_mut().unwrap().is_wanted = false)]
#[case::there_is_no_kcp_or_md(|it: &mut Observed| it.reuse = None)]
fn a_host_is_kept_for_nobody_when(#[case] change: fn(&mut Observed)) {
    let mut seen = deleted(with_host("provisioned"));
    let pool = Pool::MachineDeployment("pool1".into());
    seen.reuse = Some(Reuse { pool, is_wanted: true, goes_on: true });
    change(&mut seen);
    let Step::Deprovision(patch) = decide(&seen).step else { panic!() };
    assert_eq!(patch.get("metadata"), None);
    *held(&mut seen) = merged(held(&mut seen), &patch);
    held(&mut seen).status.as_mut().unwrap().provisioning.state = "available".into();
    let Step::GiveBack(patch) = decide(&seen).step else { panic!() };
    assert_eq!(patch["spec"]["consumerRef"], Value::Null);
}
