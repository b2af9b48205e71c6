use proptest::prelude::*;
use rstest::rstest;
use serde_json::json;

use super::*;

fn crd() -> Value {
    json!({"spec": {"group": "example.com", "names": {"kind": "Thing"}, "versions": [{
        "name": "v1",
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {
            "type": "object",
            "properties": {
                "text": {"type": "string"},
                "count": {"type": "integer"},
                "on": {"type": "boolean"},
                "port": {"x-kubernetes-int-or-string": true,
                    "anyOf": [{"type": "integer"}, {"type": "string"}]},
                "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
                "map": {"type": "array", "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name", "protocol"],
                    "items": {"type": "object", "properties": {
                        "name": {"type": "string"},
                        "protocol": {"type": "string", "default": "TCP"},
                        "value": {"type": "integer"}}}},
                "atomicList": {"type": "array", "items": {"type": "string"}},
                "atomicMap": {"type": "object", "x-kubernetes-map-type": "atomic",
                    "additionalProperties": {"type": "string"}},
                "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                "any": {"x-kubernetes-preserve-unknown-fields": true},
                "nested": {"type": "object", "properties": {
                    "a": {"type": "string"}, "b": {"type": "string"}}}
            }
        }}}}
    }]}})
}

fn applied(object: &Value, configuration: &Value) -> Result<Value, String> {
    let schemas = Schemas::from_crds([&crd()]);
    let kind = schemas.kind("example.com", "v1", "Thing").unwrap();
    let whole =
        |spec: &Value| json!({"apiVersion": "example.com/v1", "kind": "Thing", "spec": spec});
    apply(&schemas, kind, &whole(object), &whole(configuration))
        .map(|merged| merged["spec"].clone())
}

#[rstest]
#[case::scalar(json!({"text": "a"}), json!({"text": "b"}), json!({"text": "b"}))]
#[case::new(json!({"text": "a"}), json!({"count": 1}), json!({"text": "a", "count": 1}))]
#[case::null_scalar(json!({"text": "a"}), json!({"text": null}), json!({"text": null}))]
#[case::null_map(json!({"nested": {"a": "x"}}), json!({"nested": null}), json!({"nested": {"a": "x"}}))]
#[case::nested(json!({"nested": {"a": "x"}}), json!({"nested": {"b": "y"}}),
    json!({"nested": {"a": "x", "b": "y"}}))]
#[case::labels(json!({"labels": {"a": "1", "b": "2"}}), json!({"labels": {"b": "3"}}),
    json!({"labels": {"a": "1", "b": "3"}}))]
#[case::empty_map(json!({"labels": {"a": "1"}}), json!({"labels": {}}), json!({"labels": {"a": "1"}}))]
#[case::set(json!({"set": ["a", "b"]}), json!({"set": ["c", "b"]}), json!({"set": ["a", "c", "b"]}))]
#[case::set_reordered(json!({"set": ["a", "b", "c"]}), json!({"set": ["c", "a"]}),
    json!({"set": ["b", "c", "a"]}))]
#[case::list_map(json!({"map": [{"name": "a", "value": 1}, {"name": "b", "value": 2}]}),
    json!({"map": [{"name": "b", "value": 3}]}),
    json!({"map": [{"name": "a", "value": 1}, {"name": "b", "value": 3}]}))]
#[case::key_default(json!({"map": [{"name": "a", "value": 1}]}),
    json!({"map": [{"name": "a", "protocol": "TCP", "value": 2}]}),
    json!({"map": [{"name": "a", "protocol": "TCP", "value": 2}]}))]
#[case::second_key(json!({"map": [{"name": "a", "value": 1}]}),
    json!({"map": [{"name": "a", "protocol": "UDP", "value": 2}]}),
    json!({"map": [{"name": "a", "value": 1}, {"name": "a", "protocol": "UDP", "value": 2}]}))]
#[case::duplicates_untouched(json!({"set": ["a", "a"], "text": "x"}), json!({"text": "y"}),
    json!({"set": ["a", "a"], "text": "y"}))]
#[case::duplicates_consolidated(json!({"map": [{"name": "a", "value": 1}, {"name": "a", "value": 2}]}),
    json!({"map": [{"name": "a", "value": 3}]}), json!({"map": [{"name": "a", "value": 3}]}))]
#[case::int_or_string(json!({"port": 80}), json!({"port": "http"}), json!({"port": "http"}))]
#[case::free(json!({"free": {"a": {"b": 1}}}), json!({"free": {"a": {"c": 2}}}),
    json!({"free": {"a": {"b": 1, "c": 2}}}))]
#[case::any_changes_form(json!({"any": "x"}), json!({"any": {"a": 1}}), json!({"any": {"a": 1}}))]
fn configurations_are_merged(
    #[case] object: Value,
    #[case] configuration: Value,
    #[case] want: Value,
) {
    assert_eq!(applied(&object, &configuration), Ok(want));
}

#[rstest]
#[case::atomic_list(json!({"atomicList": ["a"]}),
    "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .spec.atomicList")]
#[case::atomic_map(json!({"atomicMap": {"a": "b"}}),
    "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .spec.atomicMap")]
#[case::two_atomics(json!({"atomicMap": {"a": "b"}, "atomicList": []}),
    "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .spec.atomicList, .spec.atomicMap")]
#[case::unknown(json!({"nope": 1}),
    "failed to convert patch object to typed object: .spec.nope: field not declared in schema")]
#[case::type_mismatch(json!({"count": "x"}),
    "failed to convert patch object to typed object: .spec.count: expected numeric (int or float), got string")]
#[case::text_mismatch(json!({"text": 1}),
    "failed to convert patch object to typed object: .spec.text: expected string, got \
     &value.valueUnstructured{Value:1}")]
#[case::bool_mismatch(json!({"on": "yes"}),
    "failed to convert patch object to typed object: .spec.on: expected boolean, got &{yes}")]
#[case::no_keys(json!({"map": [{"value": 1}, {"value": 2}]}),
    "failed to convert patch object to typed object: .spec.map: duplicate entries for key [protocol=\"TCP\"]")]
#[case::set_twice(json!({"set": ["a", "a"]}),
    "failed to convert patch object to typed object: .spec.set: duplicate entries for key [=\"a\"]")]
fn what_cannot_be_merged_says_why(#[case] configuration: Value, #[case] want: &str) {
    assert_eq!(applied(&json!({}), &configuration), Err(want.to_owned()));
}

#[test]
fn owners_and_finalizers_are_merged_by_item() {
    let schemas = Schemas::from_crds([&crd()]);
    let kind = schemas.kind("example.com", "v1", "Thing").unwrap();
    let object = json!({"metadata": {"finalizers": ["a"], "labels": {"x": "1"}}});
    let configuration = json!({"metadata": {"finalizers": ["b"], "labels": {"y": "2"}}});
    let merged = apply(&schemas, kind, &object, &configuration).unwrap();
    assert_eq!(
        merged,
        json!({"metadata": {"finalizers": ["a", "b"], "labels": {"x": "1", "y": "2"}}})
    );
}

/// Made by the API server's own merge (`patch.ApplyStructuredMergeDiff` of k8s.io/apiserver 0.36.3) on
/// random objects and configurations; the first line is the schema.
const VECTORS: &str = include_str!("vectors.jsonl");

#[test]
fn random_merges_end_as_they_do_in_the_api_server() {
    let mut lines = VECTORS.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let schema = lines.next().unwrap();
    let crd = json!({"spec": {"group": "example.com", "names": {"kind": "Thing"},
        "versions": [{"name": "v1", "schema": {"openAPIV3Schema": schema}}]}});
    let schemas = Schemas::from_crds([&crd]);
    let kind = schemas.kind("example.com", "v1", "Thing").unwrap();
    for vector in lines {
        let whole =
            |spec: &Value| json!({"apiVersion": "example.com/v1", "kind": "Thing", "spec": spec});
        let got = apply(&schemas, kind, &whole(&vector["object"]), &whole(&vector["patch"]));
        let want = match vector["error"].as_str() {
            Some(error) => Err(error.to_owned()),
            None => Ok(vector["result"].clone()),
        };
        assert_eq!(got.map(|merged| merged["spec"].clone()), want, "{vector}");
    }
}

/// Specs that follow the schema, without what is atomic.
fn spec() -> impl Strategy<Value = Value> {
    let text = "[a-c]{1,2}";
    let set = prop::collection::btree_set(text, 0..4)
        .prop_map(|set| json!(set.into_iter().collect::<Vec<_>>()))
        .prop_shuffle_list();
    let map = prop::collection::btree_map(text, 0..9i64, 0..4).prop_map(|entries| {
        let items = entries.into_iter().map(|(name, value)| json!({"name": name, "value": value}));
        json!(items.collect::<Vec<_>>())
    });
    let labels = prop::collection::btree_map(text, text, 0..3).prop_map(|labels| json!(labels));
    (
        prop::option::of(text.prop_map(|text| json!(text))),
        prop::option::of(set),
        prop::option::of(map),
        prop::option::of(labels),
    )
        .prop_map(|(text, set, map, labels)| {
            let mut spec = Map::new();
            for (key, value) in [("text", text), ("set", set), ("map", map), ("labels", labels)] {
                if let Some(value) = value {
                    spec.insert(key.to_owned(), value);
                }
            }
            Value::Object(spec)
        })
}

trait ShuffledList: Strategy<Value = Value> + Sized {
    fn prop_shuffle_list(self) -> impl Strategy<Value = Value> {
        self.prop_flat_map(|list| {
            Just(list.as_array().cloned().unwrap_or_default()).prop_shuffle().prop_map(Value::Array)
        })
    }
}

impl<S: Strategy<Value = Value>> ShuffledList for S {}

proptest! {
    #[test]
    fn the_same_configuration_twice_changes_nothing(object in spec(), configuration in spec()) {
        let once = applied(&object, &configuration).unwrap();
        prop_assert_eq!(applied(&once, &configuration).unwrap(), once);
    }

    #[test]
    fn nothing_is_removed(object in spec(), configuration in spec()) {
        let merged = applied(&object, &configuration).unwrap();
        for list in ["set", "map"] {
            let kept = object[list].as_array().map_or(0, Vec::len);
            prop_assert!(merged[list].as_array().map_or(0, Vec::len) >= kept);
        }
    }

    #[test]
    fn an_empty_configuration_changes_nothing(object in spec()) {
        prop_assert_eq!(applied(&object, &json!({})).unwrap(), object);
    }
}
