//! What CEL can do here and not in Kubernetes: the functions of the extended tier. Each is the parser
//! that the controllers use, so that what a policy lets in can be reconciled.

mod bmc;
mod discovery;
mod go_template;
mod json;
mod mac;

use std::sync::Arc;

use super::cel::{Extension, Value};

/// The functions of the extended tier, to compile policies with.
#[must_use]
pub fn extensions() -> Vec<Arc<Extension>> {
    let all = [go_template::extensions(), discovery::extensions()];
    parsers().into_iter().chain(all.into_iter().flatten().map(Arc::new)).collect()
}

/// Those that read what is written in an object, or reported by a machine.
pub(super) fn parsers() -> Vec<Arc<Extension>> {
    let all = [mac::extensions(), bmc::extensions(), json::extensions()];
    all.into_iter().flatten().map(Arc::new).collect()
}

/// A text argument; the checker lets nothing else through.
fn text<'a>(args: &'a [Value<'_>]) -> &'a str {
    args.first().and_then(Value::as_str).unwrap_or_default()
}

/// Parsers stop early at what is too long, but are charged for all of it, as `matches` is.
fn cost_of_reading(args: &[Value<'_>]) -> u64 {
    const CHARACTERS_PER_UNIT: u64 = 10;
    1 + args.first().map_or(0, Value::size).div_ceil(CHARACTERS_PER_UNIT)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::policy::cel::{Bindings, Environment, compile, typed};

    fn environment() -> Environment {
        extensions().into_iter().fold(Environment::new(), Environment::with_extension)
    }

    #[rstest]
    #[case::canonical("mac.canonical('52-54-00-AB-CD-EF')", json!({"string": "52:54:00:ab:cd:ef"}))]
    #[case::is_mac("mac.isMAC('5254.00ab.cdef')", json!({"bool": true}))]
    #[case::is_no_mac("mac.isMAC('52:54')", json!({"bool": false}))]
    #[case::endpoint(
        "bmc.endpoint('Redfish-VirtualMedia://BMC/a/')",
        json!({"string": "redfish://bmc:443/a"})
    )]
    #[case::no_problems("bmc.problems('ipmi://192.0.2.1')", json!({"list": []}))]
    #[case::problems(
        "bmc.problems('ipmi://192.0.2.1:0')[0]",
        json!({"string": "`0` is not a port, which is a number from 1 to 65535"})
    )]
    #[case::json("json.parse('{\"a\": [1, null]}').a[0] == 1", json!({"bool": true}))]
    #[case::json_field("json.parse('{\"mode\": \"hard\"}').?mode.orValue('')", json!({"string": "hard"}))]
    #[case::is_json("json.isJSON('{}')", json!({"bool": true}))]
    #[case::is_no_json("json.isJSON('{')", json!({"bool": false}))]
    #[case::no_template_problems(
        "goTemplate.problems('worker-{{ getIndex }}')",
        json!({"list": []})
    )]
    #[case::template_problems(
        "goTemplate.problems('a-{{ getIndx }}{{ getIndexWithOffset }}')[0]",
        json!({"string": "1:6: function \"getIndx\" not defined; did you mean \"getIndex\"?"})
    )]
    #[case::all_template_problems(
        "goTemplate.problems('a-{{ getIndx }}{{ getIndexWithOffset }}').size()",
        json!({"int": "2"})
    )]
    #[case::no_selector_problems(
        "discovery.selectorProblems('hardware.ramMebibytes > 1024')",
        json!({"list": []})
    )]
    #[case::selector_problems(
        "discovery.selectorProblems('hardware.hostname')[0]",
        json!({"string": "must evaluate to bool but got dyn"})
    )]
    #[case::label_problems("discovery.labelProblems('[1]').size()", json!({"int": "1"}))]
    #[case::varies("goTemplate.variesByNode('worker-{{ getIndex }}')", json!({"bool": true}))]
    #[case::same("goTemplate.variesByNode('worker-{{ namespace }}')", json!({"bool": false}))]
    #[case::broken("goTemplate.variesByNode('worker-{{')", json!({"bool": false}))]
    fn functions_answer(#[case] source: &str, #[case] expected: serde_json::Value) {
        let program = compile(source, &environment(), &[]).unwrap();
        let bindings = Bindings::new();
        let result = program.evaluate(&bindings).result.unwrap();
        assert_eq!(typed::json(&result), expected);
    }

    #[rstest]
    #[case::mac("mac.canonical('52:54')", "`52:54` has 2 octets, a MAC has 6")]
    #[case::bmc("bmc.endpoint('redfsh://bmc')", "`redfsh` is not a kind of BMC")]
    #[case::json("json.parse('{')", "is not JSON: ")]
    fn what_cannot_be_read_is_an_error(#[case] source: &str, #[case] expected: &str) {
        let program = compile(source, &environment(), &[]).unwrap();
        let bindings = Bindings::new();
        let error = program.evaluate(&bindings).result.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn a_long_text_costs_more() {
        let long = "a".repeat(1000);
        let cost = |text: &str| {
            let source = format!("mac.isMAC('{text}')");
            let program = compile(&source, &environment(), &[]).unwrap();
            let bindings = Bindings::new();
            program.evaluate(&bindings).cost
        };
        assert_eq!(cost(&long) - cost(""), 100);
    }
}
