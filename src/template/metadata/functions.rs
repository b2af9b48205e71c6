//! The functions that metadata templates have beside Go's own.

use super::{
    super::{
        Signature, Type, Value,
        go::{quote::quoted, text::lossy},
    },
    node::{Node, Object},
    text,
};
use std::collections::BTreeMap;

const fn function(
    name: &'static str,
    parameters: &'static [Type],
    returns: Type,
    doc: &'static str,
) -> Signature {
    Signature { name, parameters, variadic: None, returns, doc }
}

const NONE: &[Type] = &[];
const TEXT: &[Type] = &[Type::Text];
const TWO_TEXTS: &[Type] = &[Type::Text, Type::Text];
const THREE_TEXTS: &[Type] = &[Type::Text, Type::Text, Type::Text];

/// All of them.
pub const FUNCTIONS: [Signature; 28] = [
    function("getIndex", NONE, Type::Int, "the index of the node, from 0 on"),
    function("getIndexWithOffset", &[Type::Int], Type::Int, "the index plus a number"),
    function("machineName", NONE, Type::Text, "the name of the Machine"),
    function("machineLabel", TEXT, Type::Text, "a label of the Machine"),
    function("machineAnnotation", TEXT, Type::Text, "an annotation of the Machine"),
    function("metal3MachineName", NONE, Type::Text, "the name of the Metal3Machine"),
    function("metal3MachineUID", NONE, Type::Text, "the UID of the Metal3Machine"),
    function("metal3MachineLabel", TEXT, Type::Text, "a label of the Metal3Machine"),
    function("metal3MachineAnnotation", TEXT, Type::Text, "an annotation of the Metal3Machine"),
    function("hostName", NONE, Type::Text, "the name of the BareMetalHost"),
    function("hostLabel", TEXT, Type::Text, "a label of the BareMetalHost"),
    function("hostAnnotation", TEXT, Type::Text, "an annotation of the BareMetalHost"),
    function("hostMAC", TEXT, Type::Text, "the MAC address of a network interface of the host"),
    function("bootMAC", NONE, Type::Text, "the MAC address that the host boots from"),
    function("namespace", NONE, Type::Text, "the namespace of the Metal3Machine"),
    function("clusterName", NONE, Type::Text, "the name of the Cluster"),
    function("lower", TEXT, Type::Text, "the text in lower case"),
    function("upper", TEXT, Type::Text, "the text in upper case"),
    function("trim", TEXT, Type::Text, "the text without space around it"),
    function("trimPrefix", TWO_TEXTS, Type::Text, "the second text without the first before it"),
    function("trimSuffix", TWO_TEXTS, Type::Text, "the second text without the first behind it"),
    function("replace", THREE_TEXTS, Type::Text, "the third text with the second for each first"),
    function(
        "trunc",
        &[Type::Int, Type::Text],
        Type::Text,
        "so many bytes of the text; of its end if negative",
    ),
    Signature {
        name: "default",
        parameters: &[Type::Any],
        variadic: Some(Type::Any),
        returns: Type::Any,
        doc: "the second argument, or the first if that is empty",
    },
    Signature {
        name: "quote",
        parameters: NONE,
        variadic: Some(Type::Any),
        returns: Type::Text,
        doc: "the text in double quotes, escaped",
    },
    function("contains", TWO_TEXTS, Type::Bool, "whether the second text has the first in it"),
    function("hasPrefix", TWO_TEXTS, Type::Bool, "whether the second text begins with the first"),
    function("hasSuffix", TWO_TEXTS, Type::Bool, "whether the second text ends with the first"),
];

/// Whether nodes of the same Metal3Metadata get different values from a function.
pub(super) fn tells_nodes_apart(name: &str) -> bool {
    let of_node = ["getIndex", "machine", "metal3Machine", "host", "bootMAC"];
    of_node.iter().any(|start| name.starts_with(start))
}

/// Whether a function is about the BareMetalHost.
pub(super) fn speaks_of_the_host(name: &str) -> bool {
    name.starts_with("host") || name == "bootMAC"
}

/// Whether a function is about the Machine.
pub(super) fn speaks_of_the_machine(name: &str) -> bool {
    name.starts_with("machine")
}

pub(super) fn call(node: &Node, name: &str, arguments: &[Value]) -> Result<Value, String> {
    if let Some(result) = text::call(name, arguments) {
        return Ok(result);
    }
    // An empty name on a node would be worse than none.
    let of = &node.metal3_machine.name;
    if speaks_of_the_host(name) && node.host.object.name.is_empty() {
        return Err(format!("Metal3Machine {of} has no host yet"));
    }
    if speaks_of_the_machine(name) && node.machine.name.is_empty() {
        return Err(format!("Metal3Machine {of} belongs to no Machine"));
    }
    let (machine, metal3, host) = (&node.machine, &node.metal3_machine, &node.host.object);
    Ok(match (name, arguments) {
        ("getIndex", []) => Value::Int(node.index.into()),
        ("getIndexWithOffset", [Value::Int(offset)]) => {
            Value::Int(i64::from(node.index).wrapping_add(*offset))
        }
        ("machineName", []) => machine.name.as_str().into(),
        ("machineLabel", [Value::Text(key)]) => entry(&machine.labels, key),
        ("machineAnnotation", [Value::Text(key)]) => entry(&machine.annotations, key),
        ("metal3MachineName", []) => metal3.name.as_str().into(),
        ("metal3MachineUID", []) => node.metal3_machine_uid.as_str().into(),
        ("metal3MachineLabel", [Value::Text(key)]) => entry(&metal3.labels, key),
        ("metal3MachineAnnotation", [Value::Text(key)]) => entry(&metal3.annotations, key),
        ("hostName", []) => host.name.as_str().into(),
        ("hostLabel", [Value::Text(key)]) => entry(&host.labels, key),
        ("hostAnnotation", [Value::Text(key)]) => entry(&host.annotations, key),
        ("hostMAC", [Value::Text(nic)]) => return mac(node, nic),
        ("bootMAC", []) => {
            let mac = node.host.boot_mac.ok_or_else(|| no_boot_mac(host))?;
            mac.to_string().into()
        }
        ("namespace", []) => node.namespace.as_str().into(),
        ("clusterName", []) => node.cluster_name.as_str().into(),
        _ => return Err(format!("there is no function {name} of {} arguments", arguments.len())),
    })
}

/// What is missing is empty, as `default` and `if` want it.
fn entry(entries: &BTreeMap<String, String>, key: &[u8]) -> Value {
    let found = std::str::from_utf8(key).ok().and_then(|key| entries.get(key));
    found.map(String::as_str).unwrap_or_default().into()
}

fn mac(node: &Node, nic: &[u8]) -> Result<Value, String> {
    let mac = std::str::from_utf8(nic).ok().and_then(|nic| node.host.nics.get(nic));
    if let Some(mac) = mac {
        return Ok(mac.to_string().into());
    }
    let (host, nic) = (&node.host.object.name, lossy(&quoted(nic)));
    let known: Vec<&str> = node.host.nics.keys().map(String::as_str).collect();
    Err(if known.is_empty() {
        format!("host {host} has no interface {nic}: it has not been inspected")
    } else {
        format!("host {host} has no interface {nic}: it has {}", known.join(", "))
    })
}

fn no_boot_mac(host: &Object) -> String {
    format!("host {} has no boot MAC address: set spec.bootMACAddress", host.name)
}
