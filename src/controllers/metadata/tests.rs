use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{OwnerReference, Time};
use rstest::rstest;
use serde_json::json;

use super::{
    decide, digest,
    observed::{Link, Machine, Observed, Secret},
    plan::{FINALIZER, Plan, RESERVED, Then, Write},
};
use crate::{
    api::{
        Metal3Metadata,
        metal3metadata::{Metal3MetadataSpec, Metal3MetadataStatus},
    },
    template::metadata::{Node, Object},
};

const API: &str = "infrastructure.cluster.x-k8s.io/v1beta2";

fn owner(kind: &str, name: &str) -> OwnerReference {
    OwnerReference {
        api_version: API.to_owned(),
        kind: kind.to_owned(),
        name: name.to_owned(),
        uid: format!("{name}-uid"),
        controller: (kind == "Metal3Machine").then_some(true),
        block_owner_deletion: None,
    }
}

/// A pool with these machines, and a status.
fn pool(machines: &[Machine], indexes: &[(&str, &str)]) -> Observed {
    let source = ("name".to_owned(), "w-{{ getIndex }}".to_owned());
    let spec = Metal3MetadataSpec { meta_data: [source].into() };
    let mut metadata = Metal3Metadata::new("pool", spec);
    metadata.metadata.uid = Some("pool-uid".to_owned());
    metadata.metadata.namespace = Some("lab".to_owned());
    metadata.metadata.generation = Some(1);
    metadata.metadata.finalizers = Some(vec![FINALIZER.to_owned()]);
    let indexes = indexes.iter().map(|it| (it.0.to_owned(), it.1.to_owned())).collect();
    metadata.status =
        Some(Metal3MetadataStatus { indexes: Some(indexes), ..Metal3MetadataStatus::default() });
    Observed {
        metadata,
        now: Timestamp::from_second(1_000).unwrap(),
        machines: machines.to_vec(),
        secrets: Vec::new(),
        taken: BTreeSet::new(),
        clusters: Vec::new(),
        has_written: false,
    }
}

fn machine(name: &str) -> Machine {
    Machine {
        name: name.to_owned(),
        uid: format!("{name}-uid"),
        version: "5".to_owned(),
        created: None,
        is_being_deleted: false,
        is_paused: false,
        link: Some(Link::ConfigRef),
        refers_to: None,
        node: Node {
            metal3_machine: Object { name: name.to_owned(), ..Object::default() },
            ..Node::default()
        },
    }
}

fn given(name: &str, secret: &str) -> Machine {
    Machine { refers_to: Some(secret.to_owned()), ..machine(name) }
}

fn secret(name: &str) -> Secret {
    let name: crate::domain::metadata::SecretName = name.parse().unwrap();
    Secret {
        uid: format!("{name}-uid"),
        version: "7".to_owned(),
        owners: vec![owner("Metal3Machine", name.prefix()), owner("Metal3Metadata", "pool")],
        finalizers: Vec::new(),
        is_being_deleted: false,
        digest: Some(digest(format!("name: w-{}\n", name.index()).as_bytes())),
        name,
    }
}

fn settled(name: &str) -> Secret {
    Secret { finalizers: vec![FINALIZER.to_owned()], ..secret(name) }
}

fn recorded(plan: &Plan) -> BTreeMap<String, String> {
    plan.status.as_ref().and_then(|it| it.indexes.clone()).unwrap_or_default()
}

fn entries(indexes: &[(&str, &str)]) -> BTreeMap<String, String> {
    indexes.iter().map(|it| (it.0.to_owned(), it.1.to_owned())).collect()
}

/// What is to be done, in short.
fn deeds(plan: &Plan) -> Vec<Vec<String>> {
    let deed = |write: &Write| match write {
        Write::Create { name, .. } => format!("create {name}"),
        Write::Change { secret, owners, finalizers, content } => {
            let what = [
                content.as_ref().map(|_| "content"),
                owners.as_ref().map(|_| "owners"),
                finalizers.as_ref().map(|it| if it.is_empty() { "let go" } else { "settle" }),
            ];
            let what: Vec<_> = what.into_iter().flatten().collect();
            format!("{} {}", what.join("+"), secret.name)
        }
        Write::Delete { secret } => format!("delete {}", secret.name),
        Write::Give { machine, secret, .. } => format!("give {} {secret}", machine.name),
    };
    plan.rows.iter().map(|row| row.iter().map(deed).collect()).collect()
}

fn message(plan: &Plan) -> (String, String) {
    let condition = plan.status.as_ref().unwrap().conditions.as_ref().unwrap()[0].clone();
    (condition.reason, condition.message)
}

#[test]
fn an_index_is_recorded_then_a_secret_is_made_then_settled_and_given() {
    let mut seen = pool(&[machine("b"), machine("a")], &[]);
    let plan = decide(&seen);
    assert_eq!((recorded(&plan), plan.then), (entries(&[("0", "a"), ("1", "b")]), Then::Again));
    assert!(plan.rows.is_empty(), "{plan:?}");

    seen.metadata.status = plan.status.map(|it| *it);
    let plan = decide(&seen);
    assert_eq!(deeds(&plan), [["create a-metadata-0"], ["create b-metadata-1"]]);
    let Write::Create { owners, content, .. } = &plan.rows[0][0] else { panic!("{plan:?}") };
    assert_eq!(*owners, secret("a-metadata-0").owners);
    assert_eq!(content.reveal(), "name: w-0\n");

    seen.secrets = vec![secret("a-metadata-0"), secret("b-metadata-1")];
    let plan = decide(&seen);
    let row = |name: &str, it: &str| [format!("settle {it}"), format!("give {name} {it}")];
    assert_eq!(deeds(&plan), [row("a", "a-metadata-0"), row("b", "b-metadata-1")]);

    seen.secrets = vec![settled("a-metadata-0"), settled("b-metadata-1")];
    seen.machines = vec![given("a", "a-metadata-0"), given("b", "b-metadata-1")];
    let plan = decide(&seen);
    assert_eq!(deeds(&plan), [[""; 0]; 0]);
    let (reason, text) = message(&plan);
    assert_eq!(
        (reason.as_str(), text.as_str()),
        ("Rendered", "2 Secrets are as the templates say")
    );
    let status = plan.status.unwrap();
    assert_eq!(status.secrets.as_ref().unwrap()["a"].name, "a-metadata-0");
    assert_eq!(status.last_updated, Some(Time(seen.now)));

    // Nothing is written again.
    seen.metadata.status = Some(*status);
    seen.now = Timestamp::from_second(2_000).unwrap();
    let plan = decide(&seen);
    assert_eq!((plan.status, plan.rows.len(), plan.metadata), (None, 0, None));
}

#[test]
fn a_lost_status_is_rebuilt_from_secrets_and_from_what_was_given() {
    let machines =
        [given("a", "a-metadata-4"), machine("b"), given("c", "c-metadata-2"), machine("d")];
    let mut seen = pool(&machines, &[]);
    seen.secrets = vec![settled("a-metadata-4"), secret("b-metadata-1")];
    let expected = [("0", "d"), ("1", "b"), ("2", "c"), ("4", "a")];
    assert_eq!(recorded(&decide(&seen)), entries(&expected));
}

#[rstest]
#[case::by_version_that_is_settled(settled("b-metadata-0"), &[("0", "b"), ("1", "a")])]
#[case::what_is_recorded_stays(secret("b-metadata-0"), &[("0", "a"), ("1", "b")])]
fn a_secret_counts_more_than_the_status_once_it_is_settled(
    #[case] of_b: Secret,
    #[case] expected: &[(&str, &str)],
) {
    let mut seen = pool(&[machine("a"), machine("b")], &[("0", "a")]);
    seen.secrets = vec![of_b];
    assert_eq!(recorded(&decide(&seen)), entries(expected));
}

#[test]
fn nothing_is_settled_beside_another_with_the_same_index() {
    let mut seen = pool(&[machine("a"), machine("b")], &[("0", "a"), ("1", "b")]);
    seen.secrets = vec![secret("a-metadata-0"), secret("b-metadata-0")];
    assert_eq!(deeds(&decide(&seen)), [["create b-metadata-1"], ["delete b-metadata-0"]]);
}

#[test]
fn the_next_machine_has_the_index_of_one_that_is_gone_once_its_secret_is() {
    let mut seen = pool(&[machine("new")], &[("0", "old")]);
    seen.secrets = vec![settled("old-metadata-0")];
    let plan = decide(&seen);
    assert_eq!((recorded(&plan), deeds(&plan).len()), (entries(&[("0", "new")]), 0));
    seen.metadata.status = plan.status.map(|it| *it);
    let leaving = ["owners+let go old-metadata-0", "delete old-metadata-0"];
    assert_eq!(deeds(&decide(&seen)), [&["create new-metadata-0"][..], &leaving]);
    seen.secrets.push(secret("new-metadata-0"));
    assert_eq!(deeds(&decide(&seen)), [leaving], "it is not settled yet");
    seen.secrets.remove(0);
    assert_eq!(deeds(&decide(&seen)), [["settle new-metadata-0", "give new new-metadata-0"]]);
    // One that stays against our will has its index for as long.
    let lingering = Secret { is_being_deleted: true, ..secret("old-metadata-0") };
    seen = pool(&[machine("new")], &[]);
    seen.secrets = vec![lingering];
    assert_eq!(recorded(&decide(&seen)), entries(&[("1", "new")]));
}

#[test]
fn a_secret_that_another_machine_owns_too_is_kept() {
    let mut seen = pool(&[machine("new")], &[]);
    let mut shared = settled("old-metadata-0");
    shared.owners.push(owner("Metal3Machine", "new"));
    seen.secrets = vec![shared];
    seen.metadata.status.as_mut().unwrap().indexes = Some(entries(&[("0", "new")]));
    let rows = deeds(&decide(&seen));
    assert!(
        rows.iter().flatten().all(|it| !it.contains("let go") && !it.contains("delete")),
        "{rows:?}"
    );
    // Nor is its index given to anybody while it is there.
    seen.machines = vec![given("new", "new-metadata-1"), machine("next")];
    seen.secrets.push(settled("new-metadata-1"));
    seen.metadata.status.as_mut().unwrap().indexes = None;
    let plan = decide(&seen);
    assert_eq!(recorded(&plan), entries(&[("1", "new"), ("2", "next")]));
}

#[test]
fn what_a_machine_was_not_given_goes() {
    let mut seen = pool(&[machine("a")], &[("0", "a")]);
    seen.secrets = vec![settled("a-metadata-0"), settled("a-metadata-1")];
    assert_eq!(deeds(&decide(&seen)), [["give a a-metadata-0"]], "it may be the other");
    seen.machines = vec![given("a", "a-metadata-0")];
    let leaving = ["owners+let go a-metadata-1", "delete a-metadata-1"];
    assert_eq!(deeds(&decide(&seen)), [leaving]);
}

#[test]
fn what_people_wrote_into_the_status_is_honoured_and_kept() {
    let unasking = Machine { link: None, ..machine("older") };
    let mut seen =
        pool(&[unasking.clone(), machine("a")], &[("0", "older"), ("7", "gone"), ("x", "a")]);
    let plan = decide(&seen);
    let kept = plan.metadata.unwrap().reserved.unwrap().unwrap();
    assert_eq!(kept, r#"{"0":"older"}"#);
    seen.metadata.metadata.annotations = Some([(RESERVED.to_owned(), kept)].into());
    assert_eq!(recorded(&decide(&seen)), entries(&[("0", "older"), ("1", "a")]));
    seen.metadata.status = None;
    assert_eq!(recorded(&decide(&seen)), entries(&[("0", "older"), ("1", "a")]));
    // With the machine goes the entry.
    seen.machines = vec![machine("a")];
    let plan = decide(&seen);
    assert_eq!(plan.metadata.unwrap().reserved, Some(None));
}

#[rstest]
#[case::of_another_name(given("a", "mine"))]
#[case::of_somebody_else(given("a", "a-metadata-0"))]
fn a_secret_that_a_user_gave_is_left_alone(#[case] machine: Machine) {
    let mut seen = pool(&[machine], &[]);
    let owners = vec![owner("Metal3Metadata", "other")];
    seen.secrets = vec![Secret { owners, ..settled("a-metadata-0") }];
    let plan = decide(&seen);
    assert_eq!((recorded(&plan), deeds(&plan).len()), (BTreeMap::new(), 0));
}

#[test]
fn what_fails_is_told_by_key_and_machine_and_changes_nothing() {
    let machines = [given("a", "a-metadata-0"), given("b", "b-metadata-1")];
    let mut seen = pool(&machines, &[("0", "a"), ("1", "b")]);
    let source = "{{ if eq getIndex 1 }}{{ slice \"x\" 3 }}{{ end }}".to_owned();
    seen.metadata.spec.meta_data.insert("new".to_owned(), source);
    seen.secrets = vec![settled("a-metadata-0"), settled("b-metadata-1")];
    let plan = decide(&seen);
    assert_eq!(deeds(&plan), [["content a-metadata-0"]]);
    let Write::Change { content: Some(content), .. } = &plan.rows[0][0] else { panic!("{plan:?}") };
    seen.secrets[0].digest = Some(digest(content.reveal().as_bytes()));
    let plan = decide(&seen);
    let (reason, text) = message(&plan);
    assert_eq!(reason, "RenderingFailed", "{:?}", deeds(&plan));
    assert!(text.starts_with("new of Metal3Machine b: template: new:1:"), "{text}");
    assert!(text.ends_with("its Secret stays as it is"), "{text}");
}

#[test]
fn what_templates_speak_of_is_waited_for() {
    let mut seen = pool(&[machine("a")], &[("0", "a")]);
    let source = "{{ machineName }} on {{ hostName }}".to_owned();
    seen.metadata.spec.meta_data.insert("who".to_owned(), source);
    let plan = decide(&seen);
    assert_eq!((message(&plan).0.as_str(), plan.rows.len()), ("WaitingForHost", 0));
    seen.machines[0].node.host.object.name = "rack7-u12".to_owned();
    let plan = decide(&seen);
    assert_eq!((message(&plan).0.as_str(), plan.rows.len()), ("WaitingForMachine", 0));
    seen.machines[0].node.machine.name = "worker-x".to_owned();
    let plan = decide(&seen);
    let Write::Create { content, .. } = &plan.rows[0][0] else { panic!("{plan:?}") };
    assert_eq!(content.reveal(), "name: w-0\nwho: worker-x on rack7-u12\n");
}

#[test]
fn a_secret_that_somebody_deletes_is_let_go_and_made_anew() {
    let mut seen = pool(&[given("a", "a-metadata-0")], &[("0", "a")]);
    seen.secrets = vec![Secret { is_being_deleted: true, ..settled("a-metadata-0") }];
    assert_eq!(deeds(&decide(&seen)), [["let go a-metadata-0"]]);
    seen.secrets.clear();
    assert_eq!(deeds(&decide(&seen)), [["create a-metadata-0"]]);
}

#[test]
fn a_name_that_something_else_has_is_told() {
    let mut seen = pool(&[machine("a")], &[("0", "a")]);
    seen.taken.insert("a-metadata-0".to_owned());
    let (reason, _) = message(&decide(&seen));
    assert_eq!(reason, "SecretNameTaken");
}

#[test]
fn two_that_have_one_index_in_use_are_told_of_and_left_as_they_are() {
    let machines = [given("a", "a-metadata-0"), given("b", "b-metadata-0")];
    let mut seen = pool(&machines, &[("0", "b")]);
    seen.secrets = vec![settled("a-metadata-0"), settled("b-metadata-0")];
    let plan = decide(&seen);
    assert_eq!(deeds(&plan).len(), 0, "{:?}", deeds(&plan));
    let (reason, text) = message(&plan);
    assert_eq!(reason, "DuplicateIndex");
    assert!(text.starts_with("Metal3Machine a has index 0 in use, which is that of b"), "{text}");
}

#[test]
fn the_same_machine_made_anew_keeps_its_index() {
    let mut seen = pool(&[machine("a")], &[]);
    seen.secrets = vec![settled("a-metadata-3")];
    seen.secrets[0].owners[0].uid = "an earlier one".to_owned();
    assert_eq!(recorded(&decide(&seen)), entries(&[("3", "a")]));
    seen.metadata.status.as_mut().unwrap().indexes = Some(entries(&[("3", "a")]));
    assert_eq!(deeds(&decide(&seen)), [["owners a-metadata-3", "give a a-metadata-3"]]);
}

#[test]
fn it_is_guarded_owned_by_the_cluster_paused_and_let_go() {
    let mut seen = pool(&[machine("a")], &[]);
    seen.metadata.metadata.finalizers = None;
    seen.clusters = vec![OwnerReference { controller: None, ..owner("Metal3Cluster", "prod") }];
    let own = decide(&seen).metadata.unwrap();
    assert_eq!(own.finalizers, Some(vec![FINALIZER.to_owned()]));
    assert_eq!(own.owners.as_ref().unwrap()[0].controller, Some(true));

    seen.metadata.metadata.finalizers = own.finalizers;
    seen.metadata.metadata.owner_references = own.owners;
    seen.metadata.metadata.deletion_timestamp = Some(Time(seen.now));
    seen.machines = vec![machine("a"), given("b", "b-metadata-0")];
    seen.secrets = vec![settled("b-metadata-0")];
    assert_eq!(recorded(&decide(&seen)), entries(&[("0", "b")]), "nothing new is given");
    seen.metadata.status.as_mut().unwrap().indexes = Some(entries(&[("0", "b")]));
    let plan = decide(&seen);
    assert_eq!(message(&plan).0, "Deleting");
    seen.machines.pop();
    seen.secrets.clear();
    seen.metadata.status = None;
    assert_eq!(decide(&seen).metadata.unwrap().finalizers, Some(Vec::new()));

    seen.metadata.metadata.annotations =
        Some([("cluster.x-k8s.io/paused".to_owned(), String::new())].into());
    let plan = decide(&seen);
    assert_eq!((plan.metadata, plan.then), (None, Then::Await));
}

#[test]
fn a_paused_machine_keeps_what_it_has_and_gets_nothing() {
    let paused = |it: Machine| Machine { is_paused: true, ..it };
    let mut seen = pool(&[paused(machine("a")), paused(machine("b"))], &[("0", "a")]);
    seen.secrets = vec![secret("a-metadata-0")];
    let plan = decide(&seen);
    assert_eq!((recorded(&plan), deeds(&plan).len()), (entries(&[("0", "a")]), 0));
    let (reason, text) = message(&plan);
    assert_eq!(reason, "Paused");
    assert!(text.contains("Metal3Machine a or") && text.contains("Metal3Machine b or"), "{text}");
    // One that has all it needs stands in nobody's way, until the templates change.
    let mut seen = pool(&[paused(given("a", "a-metadata-0"))], &[("0", "a")]);
    seen.secrets = vec![settled("a-metadata-0")];
    assert_eq!(message(&decide(&seen)).0, "Rendered");
    seen.metadata.spec.meta_data.insert("new".to_owned(), "key".to_owned());
    let plan = decide(&seen);
    assert_eq!((message(&plan).0.as_str(), deeds(&plan).len()), ("Paused", 0));
}

#[test]
fn a_status_of_thousands_of_failures_stays_small() {
    let machines: Vec<_> = (0..3_000).map(|it| machine(&format!("m{it}"))).collect();
    let indexes: Vec<_> = (0..3_000).map(|it| (it.to_string(), format!("m{it}"))).collect();
    let indexes: Vec<_> = indexes.iter().map(|it| (it.0.as_str(), it.1.as_str())).collect();
    let mut seen = pool(&machines, &indexes);
    seen.metadata.spec.meta_data.insert("bad".to_owned(), "{{ slice \"x\" 3 }}".to_owned());
    let (_, text) = message(&decide(&seen));
    assert!(text.ends_with("; and 2990 more"), "{text}");
    assert!(text.len() < 4_000);
    assert_eq!(json!(text).as_str().map(str::len), Some(text.len()));
}
