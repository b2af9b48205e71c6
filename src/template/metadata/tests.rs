use super::*;
use rstest::rstest;

fn texts(entries: &[(&str, &str)]) -> BTreeMap<String, String> {
    entries.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn node() -> Node {
    let object = |name: &str| Object { name: name.to_owned(), ..Object::default() };
    Node {
        index: 3,
        namespace: "metal3".to_owned(),
        cluster_name: "prod".to_owned(),
        machine: Object { labels: texts(&[("pool", "np1")]), ..object("worker-x2x9q") },
        metal3_machine: object("worker-abcde"),
        metal3_machine_uid: "0e9f3c6a".to_owned(),
        host: Host {
            object: object("rack7-u12"),
            nics: [("eth0", "52:54:00:12:34:56"), ("eth1", "52:54:00:12:34:57")]
                .map(|(name, mac)| (name.to_owned(), mac.parse().unwrap()))
                .into(),
            boot_mac: Some("52:54:00:12:34:56".parse().unwrap()),
        },
    }
}

fn rendered(source: &str) -> Result<String, String> {
    let values = render(&texts(&[("local-hostname", source)]), &node());
    values["local-hostname"].clone().map_err(|error| error.to_string())
}

#[rstest]
#[case::of_the_proposal("worker-np1-{{ getIndex }}", "worker-np1-3")]
#[case::offset("{{ getIndexWithOffset 10 }}", "13")]
#[case::padded("{{ printf \"%03d\" getIndex }}", "003")]
#[case::names(
    "{{ machineName }} {{ metal3MachineName }} {{ hostName }}",
    "worker-x2x9q worker-abcde rack7-u12"
)]
#[case::places("{{ clusterName }}/{{ namespace }}/{{ metal3MachineUID }}", "prod/metal3/0e9f3c6a")]
#[case::labels("{{ machineLabel \"pool\" }}{{ hostLabel \"pool\" }}", "np1")]
#[case::missing_label("{{ hostLabel \"rack\" | default \"none\" }}", "none")]
#[case::addresses(
    "{{ bootMAC }} {{ hostMAC \"eth1\" | replace \":\" \"\" }}",
    "52:54:00:12:34:56 525400123457"
)]
fn values_are_rendered(#[case] source: &str, #[case] want: &str) {
    assert_eq!(rendered(source).as_deref(), Ok(want));
    assert_eq!(problems("local-hostname", source), []);
}

#[rstest]
#[case::unknown_interface(
    "{{ hostMAC \"eth9\" }}",
    "template: local-hostname:1:3: executing \"local-hostname\" at <hostMAC \"eth9\">: error calling hostMAC: \
     host rack7-u12 has no interface \"eth9\": it has eth0, eth1"
)]
#[case::field(
    "{{ .name }}",
    "template: local-hostname:1:3: executing \"local-hostname\" at <.name>: nil data; no entry for key \"name\""
)]
#[case::misspelt("{{ getindex }}", "template: local-hostname:1: function \"getindex\" not defined")]
fn errors_name_the_key(#[case] source: &str, #[case] want: &str) {
    assert_eq!(rendered(source), Err(want.to_owned()));
}

#[test]
fn a_host_that_was_not_inspected_says_so() {
    let mut node = node();
    node.host = Host { object: node.host.object, ..Host::default() };
    let values = render(&texts(&[("a", "{{ hostMAC \"eth0\" }}"), ("b", "{{ bootMAC }}")]), &node);
    let text = |key: &str| values[key].clone().unwrap_err().to_string();
    assert!(
        text("a").ends_with("host rack7-u12 has no interface \"eth0\": it has not been inspected")
    );
    assert!(text("b").ends_with("host rack7-u12 has no boot MAC address: set spec.bootMACAddress"));
}

#[rstest]
#[case("{{ hostName }}", "Metal3Machine worker-abcde has no host yet")]
#[case("{{ hostLabel \"rack\" }}", "Metal3Machine worker-abcde has no host yet")]
#[case("{{ bootMAC }}", "Metal3Machine worker-abcde has no host yet")]
#[case("{{ machineName }}", "Metal3Machine worker-abcde belongs to no Machine")]
fn what_is_not_there_is_not_empty(#[case] source: &str, #[case] want: &str) {
    let node = Node { host: Host::default(), machine: Object::default(), ..node() };
    let templates = Templates::parse(&texts(&[("a", source), ("b", "{{ metal3MachineName }}")]));
    let values = templates.render(&node);
    assert!(values["a"].clone().unwrap_err().to_string().ends_with(want), "{values:?}");
    assert_eq!(values["b"].as_deref(), Ok("worker-abcde"));
    assert_eq!(templates.speak_of_the_host(), want.ends_with("yet"));
    assert_eq!(templates.speak_of_the_machine(), !want.ends_with("yet"));
}

#[test]
fn one_bad_key_spoils_no_other() {
    let values = render(&texts(&[("good", "{{ getIndex }}"), ("bad", "{{ getIndex")]), &node());
    assert_eq!(values["good"], Ok("3".to_owned()));
    assert!(matches!(values["bad"], Err(Error::Parse(_))));
}

#[rstest]
#[case::constant("rack-7", false)]
#[case::of_the_cluster("{{ clusterName | upper }}-{{ namespace }}", false)]
#[case::index("a-{{ getIndex }}", true)]
#[case::offset("{{ printf \"%d\" (getIndexWithOffset 1) }}", true)]
#[case::label("{{ with hostLabel \"rack\" }}{{ . }}{{ end }}", true)]
#[case::in_a_definition("{{ define \"a\" }}{{ getIndex }}{{ end }}{{ template \"a\" }}", true)]
#[case::in_a_block("{{ block \"a\" 1 }}{{ bootMAC }}{{ end }}", true)]
#[case::in_a_branch("{{ if true }}{{ else if false }}{{ metal3MachineUID }}{{ end }}", true)]
#[case::in_a_chain("{{ (hostName).x }}", true)]
#[case::in_text("getIndex {{ \"getIndex\" }}", false)]
fn what_tells_nodes_apart_is_known(#[case] source: &str, #[case] varies: bool) {
    assert_eq!(varies_by_node(&parse("key", source).unwrap()), varies);
}

#[test]
fn each_declared_function_does_something() {
    for function in FUNCTIONS {
        let arguments: Vec<Value> = function
            .parameters
            .iter()
            .map(|of| if *of == super::super::Type::Int { Value::Int(1) } else { "eth0".into() })
            .collect();
        let value = super::super::Call::call(&node(), function.name, &arguments);
        let value = value.unwrap_or_else(|error| panic!("{}: {error}", function.name));
        assert!(function.returns.takes(&value), "{function} gives {value:?}");
    }
}

#[test]
fn a_misspelt_function_is_suggested() {
    let found =
        problems("name", "{{ getindex }} {{ getIndexWithOfset 1 }} {{ machinLabel \"a\" }}");
    let meant: Vec<_> = found.iter().filter_map(|problem| problem.suggestion.as_deref()).collect();
    assert_eq!(meant, ["getIndex", "getIndexWithOffset", "machineLabel"]);
}

#[rstest]
#[case("{{ getIndexWithOffset \"1\" }}", "expected integer; found \"1\"")]
#[case("{{ hostMAC 1 }}", "expected string; found 1")]
#[case("{{ upper getIndex }}", "wrong type for value; expected string; got int")]
#[case("{{ getIndex | upper }}", "wrong type for value; expected string; got int")]
#[case(
    "{{ printf \"%s\" getIndex }}",
    "the format does not fit its arguments: it would print \"%!s(int=1)\""
)]
#[case(
    "{{ eq getIndex \"0\" }}",
    "error calling eq: incompatible types for comparison: int and string"
)]
fn arguments_are_checked_before_rendering(#[case] source: &str, #[case] want: &str) {
    let found = problems("name", source);
    assert_eq!(found.iter().map(|problem| problem.message.as_str()).collect::<Vec<_>>(), [want]);
}
