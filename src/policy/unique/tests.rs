use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use crate::policy::{Directory, File, PolicySet, extensions};

const HOSTS: Versioned<'static> =
    Versioned { group: "metal3.io", version: "v1alpha1", name: "baremetalhosts" };

fn set(rest: &str) -> PolicySet {
    let content = format!(
        "apiVersion: policies.ironward.dev/v1\nkind: UniquePolicy\nmetadata: {{name: unique-serial}}\n\
         spec:\n  matchConstraints:\n    resourceRules:\n    - apiGroups: [metal3.io]\n      \
         apiVersions: [v1alpha1]\n      resources: [baremetalhosts]\n{rest}"
    );
    let user = [File { name: "a.yaml", content: &content }];
    PolicySet::compile(&Directory { embedded: &[], user: &user }, &extensions()).unwrap()
}

fn host(name: &str, created: &str, serial: &Value) -> Value {
    json!({"kind": "BareMetalHost", "spec": {"serial": serial}, "metadata": {
        "name": name, "namespace": "metal3", "creationTimestamp": created, "labels": {"rack": "1"}}})
}

fn claimed(set: &PolicySet, serial: &Value) -> Result<Vec<String>, String> {
    let keys = set.unique()[0].claimed(HOSTS, &host("a", "", serial))?;
    Ok(keys.into_iter().collect())
}

#[rstest]
#[case::text(json!("b"), &["b"])]
#[case::several(json!(["b", "a", "b"]), &["a", "b"])]
#[case::empty(json!(""), &[])]
#[case::nothing(json!([]), &[])]
#[case::null(Value::Null, &[])]
#[case::empty_items(json!(["", null, "a"]), &["a"])]
fn a_key_is_text_or_texts(#[case] serial: Value, #[case] expected: &[&str]) {
    let set = set("  key: object.spec.serial\n");
    assert_eq!(claimed(&set, &serial).unwrap(), expected);
}

#[rstest]
#[case::number(json!(1), "must give a string or a list of strings, and gave ")]
#[case::list_of_numbers(json!([1]), "must give a string or a list of strings, and gave ")]
#[case::too_long(json!("a".repeat(1025)), "gave a key of 1025 bytes, at most 1024 are supported")]
fn what_is_no_key_is_an_error(#[case] serial: Value, #[case] expected: &str) {
    let error = claimed(&set("  key: object.spec.serial\n"), &serial).unwrap_err();
    assert!(error.contains(expected), "{error}");
}

#[rstest]
#[case::subject("", true)]
#[case::not_met(
    "  matchConditions: [{name: a, expression: \"object.spec.serial == 'b'\"}]\n",
    false
)]
#[case::error_is_ignored(
    "  failurePolicy: Ignore\n  matchConditions: [{name: a, expression: object.spec.no == 1}]\n",
    false
)]
fn conditions_decide(#[case] rest: &str, #[case] expected: bool) {
    let set = set(&format!("  key: object.spec.serial\n{rest}"));
    assert_eq!(set.unique()[0].matches(HOSTS, &host("a", "", &json!("a"))), Ok(expected));
}

#[test]
fn an_error_in_a_condition_fails() {
    let set = set(
        "  key: object.spec.serial\n  matchConditions: [{name: a, expression: object.spec.no == 1}]\n",
    );
    assert!(set.unique()[0].matches(HOSTS, &host("a", "", &json!("a"))).is_err());
}

#[test]
fn other_resources_are_not_subject_to_it() {
    let set = set("  key: object.spec.serial\n");
    let other = Versioned { name: "hardwaredata", ..HOSTS };
    assert_eq!(set.unique()[0].claimed(other, &host("a", "", &json!("a"))), Ok(BTreeSet::new()));
}

#[rstest]
#[case::default(
    "",
    "s1 is already used by BareMetalHost metal3/b: only one object may have it; change it here or there"
)]
#[case::plain(
    "  message: 'spec.serial: is taken'\n",
    "spec.serial: is taken: s1 is already used by BareMetalHost metal3/b"
)]
#[case::expression(
    "  variables: [{name: a, expression: object.metadata.name}]\n  messageExpression: \"variables.a + ': ' + key + ' of ' + holder.kind + ' ' + holder.namespace + '/' + holder.name\"\n",
    "a: s1 of BareMetalHost metal3/b"
)]
#[case::broken_expression(
    "  message: taken\n  messageExpression: \"holder.nobody\"\n",
    "taken: s1 is already used by BareMetalHost metal3/b"
)]
fn the_message_names_key_and_holder(#[case] rest: &str, #[case] expected: &str) {
    let set = set(&format!("  key: object.spec.serial\n{rest}"));
    let holder = holder(HOSTS, &host("b", "", &Value::Null));
    let held = Held { holder: &holder, kind: "BareMetalHost" };
    let object = host("a", "", &json!("s1"));
    assert_eq!(set.unique()[0].message(&object, "s1", held), expected);
}

#[test]
fn the_younger_is_the_duplicate() {
    let set = set("  key: object.spec.serial\n  reported: object.spec.?seen.orValue([])\n");
    let mut occupied = Occupied::default();
    let mut put = |name: &str, created: &str, serial: &str, seen: &[&str]| {
        let mut object = host(name, created, &json!(serial));
        object["spec"]["seen"] = json!(seen);
        assert_eq!(occupied.set(&set, HOSTS, &object), []);
    };
    put("c", "2026-01-03T00:00:00Z", "s1", &["s1", "s3"]);
    put("a", "2026-01-02T00:00:00Z", "s1", &[]);
    put("b", "2026-01-01T00:00:00Z", "s2", &["s1", "s3"]);
    let found = |occupied: &Occupied| -> Vec<(String, String, String)> {
        occupied
            .duplicates()
            .map(|(_, key, younger, older)| {
                let name = |it: &Occupant| it.age.holder.name.clone();
                (key.to_owned(), name(younger), name(older))
            })
            .collect()
    };
    let row = |key: &str, younger: &str, older: &str| {
        (key.to_owned(), younger.to_owned(), older.to_owned())
    };
    // Two that report s3 do not conflict.
    assert_eq!(found(&occupied), [row("s1", "a", "b"), row("s1", "c", "b")]);
    let me = holder(HOSTS, &host("a", "", &Value::Null));
    let others: Vec<_> = occupied.others(&set.unique()[0], "s1", &me).collect();
    assert_eq!(others.len(), 2);
    occupied.remove(&holder(HOSTS, &host("b", "", &Value::Null)));
    assert_eq!(found(&occupied), [row("s1", "c", "a")]);
}

#[test]
fn what_reads_more_than_the_object_is_placed() {
    let content = "apiVersion: policies.ironward.dev/v1\nkind: UniquePolicy\nmetadata: {name: a}\nspec:\n  \
        matchConstraints: {resourceRules: [{apiGroups: [a], apiVersions: [v1], resources: [b]}]}\n  \
        key: object.spec.a + request.name\n";
    let problems = PolicySet::check(File { name: "a.yaml", content }, &extensions()).unwrap_err();
    let shown: Vec<_> = problems.iter().map(|it| (it.place.line, it.place.column)).collect();
    assert_eq!(shown, [(6, 24)], "{problems:?}");
}
