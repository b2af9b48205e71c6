//! The page for people who paste a message that they saw has all that the program can say, and nothing else: what policies and kinds refuse, what the
//! engine says itself, and the reasons of conditions and events with the words beside them.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "troubleshooting/message_expression.rs"]
mod message_expression;
#[path = "troubleshooting/page.rs"]
mod page;

use std::collections::{BTreeMap, BTreeSet};

use ironward::{
    api,
    controllers::said,
    domain::{
        bmc::{AddressError, BmcAddress, HostError, SchemeError},
        words::{fit, fixed},
    },
    policy::{Spec, Spoken, shipped},
};
use page::{Entry, section, sections};
use serde_json::Value;
use strum::IntoEnumIterator;

type Said = BTreeMap<String, BTreeSet<String>>;

/// Without the names of placeholders, which are the page's own.
fn unnamed(words: &str) -> String {
    fixed(words).join("<>")
}

fn shown(entries: &[Entry]) -> Said {
    let mut said = Said::new();
    for entry in entries {
        let words = entry.words.iter().map(|words| unnamed(words)).collect();
        assert!(said.insert(entry.name.clone(), words).is_none(), "{} is there twice", entry.name);
    }
    said
}

#[test]
fn what_the_shipped_policies_say() {
    let policies = shipped::with(&[]).unwrap();
    let mut said = Said::new();
    for document in policies.policies() {
        let pairs: Vec<(&str, &str)> = match &document.spec {
            Spec::ValidatingPolicy(spec) => spec
                .validations
                .iter()
                .map(|it| (it.message.as_str(), it.message_expression.as_str()))
                .collect(),
            Spec::Unique(spec) => vec![(&spec.message, &spec.message_expression)],
            Spec::MutatingPolicy(_) | Spec::ValidatingBinding(_) | Spec::MutatingBinding(_) => {
                continue;
            }
        };
        let mut words = BTreeSet::new();
        for (message, expression) in pairs {
            if !message.is_empty() {
                words.insert(unnamed(message.trim()));
            }
            if !expression.is_empty() {
                words.extend(message_expression::words(expression));
            }
        }
        said.insert(document.metadata.name.clone(), words);
    }
    assert_eq!(shown(&section("Denials and warnings of the shipped policies")), said);
}

/// What `spec.bmc.address: <…>` can be. A new way to be wrong is a new arm, and a new sample.
#[test]
fn what_is_wrong_with_a_bmc_address() {
    let samples = [
        "",
        &format!("ipmi://{}", "a".repeat(5000)),
        "ipmi://admin@10.0.0.1",
        "redfish://10.0.0.1/a b",
        "redfish://10.0.0.1/%zz",
        "redfish://10.0.0.1/%ff",
        "ipmi://10.0.0.1:x",
        "ipmi://10.0.0.1:99999",
        "ipmi://10.0.0.1?privilegelevel=root",
        "ilo4://10.0.0.1",
        "https://10.0.0.1",
        "ipmi+https://10.0.0.1",
        "redfsh://10.0.0.1",
        "ipmi://",
        "redfish://2001:db8::7/a",
        "ipmi://[10.0.0.1]",
        "ipmi://[fe80::1%25eth0]",
        "ipmi://10.0.0.256",
        "ipmi://a_b",
    ];
    let mut said = BTreeSet::new();
    for sample in samples {
        let error = sample.parse::<BmcAddress>().unwrap_err();
        let words = bmc_words(&error);
        assert!(fit(words, &error.to_string()), "{sample}: {error}\n{words}");
        assert!(said.insert(unnamed(words)), "{sample}: {error}");
    }
    let entries = section("What is wrong with a BMC address");
    let shown: BTreeSet<String> =
        entries.iter().flat_map(|it| &it.words).map(|it| unnamed(it)).collect();
    assert_eq!(shown, said);
}

fn bmc_words(error: &AddressError) -> &'static str {
    match error {
        AddressError::Empty => {
            "the address is empty, write for example `redfish://10.0.0.7/redfish/v1/Systems/1`"
        }
        AddressError::TooLong { .. } => {
            "the address has <number> characters, at most <number> are read"
        }
        AddressError::Credentials => {
            "the address contains `@`, user and password belong in the Secret that `credentialsName` names, and in a path `@` is written `%40`"
        }
        AddressError::Character { .. } => {
            "<character> cannot stand in an address, in a path it is escaped as a space is, `%20`"
        }
        AddressError::Escape => {
            "a `%` in the address is not followed by two hexadecimal digits, write `%25` for `%` itself"
        }
        AddressError::NotUtf8 => {
            "the path of the address is not UTF-8 when its `%` escapes are undone"
        }
        AddressError::Scheme(SchemeError::Removed { .. }) => {
            "the <driver> driver was removed from Metal3, use <others>"
        }
        AddressError::Scheme(SchemeError::Web { .. }) => {
            "<given> is not a kind of BMC, write `redfish+<transport>` for Redfish over <transport>"
        }
        AddressError::Scheme(SchemeError::Transport { .. }) => {
            "<given> is not a kind of BMC, only Redfish is followed by a transport, `+http` or `+https`"
        }
        AddressError::Scheme(SchemeError::Unknown(_)) => {
            "<given> is not a kind of BMC, which is <kinds>"
        }
        AddressError::Host(HostError::Missing) => {
            "the address has no host, write an IP address or a DNS name after the scheme"
        }
        AddressError::Host(HostError::Unbracketed { .. }) => {
            "the IPv6 address `<address>` must stand in brackets, as in `[<address>]`"
        }
        AddressError::Host(HostError::NotIpv6 { .. }) => {
            "<given> is not an IPv6 address in brackets, such as `[2001:db8::7]`"
        }
        AddressError::Host(HostError::Zone { .. }) => {
            "<given> has a zone, which names an interface of one machine only, leave out `%` and all after it"
        }
        AddressError::Host(HostError::NotIpv4 { .. }) => {
            "<given> is not an IPv4 address, which is four numbers from 0 to 255 without leading zeros"
        }
        AddressError::Host(HostError::NotAName { .. }) => {
            "<given> is neither an IP address nor a DNS name, which is up to 253 letters, digits, `-` and `.`, with a letter or digit at both ends of each part of up to 63 between dots"
        }
        AddressError::PortNotANumber { .. } => {
            "no port follows <what stands before> and its `:`, a port is a number from 1 to 65535"
        }
        AddressError::PortOutOfRange { .. } => {
            "<given> is not a port, which is a number from 1 to 65535"
        }
        AddressError::PrivilegeLevel(_) => "<given> is not <a privilege level>, which is <levels>",
    }
}

#[test]
fn what_the_engine_says_itself() {
    let entries = section("What Ironward itself answers");
    let shown: BTreeSet<String> = entries.iter().flat_map(|it| it.words.clone()).collect();
    let said = Spoken::iter().flat_map(|it| it.words().iter().map(|words| (*words).to_owned()));
    assert_eq!(shown, said.collect());
}

#[test]
fn what_the_kinds_refuse() {
    let mut said = Said::new();
    for definition in api::definitions() {
        let kind = definition.spec.names.kind.clone();
        let mut messages = BTreeSet::new();
        rules(&serde_json::to_value(&definition).unwrap(), &mut messages);
        if !messages.is_empty() {
            said.insert(kind, messages);
        }
    }
    assert_eq!(shown(&section("What the kinds refuse")), said);
}

fn rules(schema: &Value, messages: &mut BTreeSet<String>) {
    match schema {
        Value::Object(fields) => {
            let here = fields.get("x-kubernetes-validations").and_then(|it| it.as_array());
            for rule in here.into_iter().flatten() {
                match (rule["message"].as_str(), rule["messageExpression"].as_str()) {
                    (_, Some(expression)) => {
                        messages.extend(message_expression::words(expression));
                    }
                    (Some(message), None) => {
                        messages.insert(unnamed(message));
                    }
                    (None, None) => panic!("a rule without words: {rule}"),
                }
            }
            fields.values().for_each(|it| rules(it, messages));
        }
        Value::Array(items) => items.iter().for_each(|it| rules(it, messages)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn why_conditions_are_what_they_are() {
    let mut said: BTreeMap<String, BTreeMap<String, [Vec<String>; 2]>> = BTreeMap::new();
    for condition in said::conditions() {
        let of = said.entry(format!("Conditions of {}", condition.subject)).or_default();
        let value = [owned(condition.types), owned(condition.words)];
        assert!(of.insert(condition.reason.to_owned(), value).is_none(), "{condition:?}");
    }
    let shown: BTreeMap<_, BTreeMap<_, _>> = sections("Conditions of ")
        .into_iter()
        .map(|(title, entries)| {
            let entries = entries.into_iter().map(|it| (it.name, [it.conditions, it.words]));
            (title, entries.collect())
        })
        .collect();
    assert_eq!(shown, said);
}

#[test]
fn what_events_tell() {
    let mut said: BTreeMap<String, BTreeMap<String, (bool, Vec<String>)>> = BTreeMap::new();
    for event in said::events() {
        let of = said.entry(format!("Events of {}", event.voice.kinds())).or_default();
        let value = (event.is_warning, owned(event.words));
        assert!(of.insert(event.reason.to_owned(), value).is_none(), "{event:?}");
    }
    let shown: BTreeMap<_, BTreeMap<_, _>> = sections("Events of ")
        .into_iter()
        .map(|(title, entries)| {
            let entries = entries.into_iter().map(|it| (it.name, (it.is_warning, it.words)));
            (title, entries.collect())
        })
        .collect();
    assert_eq!(shown, said);
}

#[test]
fn what_a_discovery_notes() {
    let said: BTreeMap<String, Vec<String>> = said::notes()
        .into_iter()
        .map(|(reason, words)| (reason.to_owned(), owned(words)))
        .collect();
    let entries = section("Notes of BareMetalHostDiscovery");
    let shown = entries.into_iter().map(|it| (it.name, it.words)).collect();
    assert_eq!(said, shown);
}

/// Whoever looks something up wants to know what to do.
#[test]
fn each_entry_says_what_to_do_next() {
    for (title, entries) in sections("") {
        for entry in entries {
            assert!(entry.has_next, "{title}, {}: there is no `Next:`", entry.name);
        }
    }
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}
