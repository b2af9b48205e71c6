//! Hosts as rows of a list: counted, filtered, and given out a slice at a time.

use std::collections::BTreeMap;

use kube::ResourceExt;
use serde::Serialize;
use serde_with_macros::skip_serializing_none;

use crate::{
    api::BareMetalHost,
    domain::host_discovery::annotations::{DISCOVERED_BY, awaits_approval},
    fleet::{self, Count, Trouble},
};

/// A page of a list has no use for more.
const MOST: usize = 500;

/// A host's namespace and name.
pub type Key = (String, String);

/// What a list shows of a host.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its `status.provisioning.state`, or `new`.
    pub state: String,
    /// Whether it was on when last seen.
    pub is_on: bool,
    /// Who uses it.
    pub consumer: Option<String>,
    /// The address of its BMC.
    pub bmc: Option<String>,
    /// The address it boots from.
    pub mac: Option<String>,
    /// What is wrong with it.
    pub trouble: Option<Trouble>,
    /// Whether it was discovered and nobody has approved it.
    pub is_waiting: bool,
    /// What discovered it.
    pub discovered_by: Option<String>,
}

impl Row {
    /// What there is to show of a host.
    #[must_use]
    pub fn of(host: &BareMetalHost) -> Self {
        Self {
            namespace: host.namespace().unwrap_or_default(),
            name: host.name_any(),
            state: fleet::state(host),
            is_on: host.status.as_ref().is_some_and(|it| it.powered_on),
            consumer: host.spec.consumer_ref.as_ref().and_then(|it| it.name.clone()),
            bmc: host.spec.bmc.as_ref().map(|it| it.address.clone()),
            mac: host.spec.boot_mac_address.clone(),
            trouble: Trouble::of(host),
            is_waiting: awaits_approval(host.metadata.annotations.as_ref()),
            discovered_by: host.annotations().get(DISCOVERED_BY).cloned(),
        }
    }

    /// Where it stands in a list of all.
    #[must_use]
    pub fn key(&self) -> Key {
        (self.namespace.clone(), self.name.clone())
    }

    fn says(&self, words: &str) -> bool {
        let texts = [&self.namespace, &self.name, &self.state].into_iter();
        let more = [&self.consumer, &self.bmc, &self.mac].into_iter().flatten();
        let reason = self.trouble.iter().map(|it| &it.reason);
        texts.chain(more).chain(reason).any(|text| text.to_lowercase().contains(words))
    }
}

/// Which hosts are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// In this state.
    pub state: Option<String>,
    /// With a trouble of this kind.
    pub trouble: Option<String>,
    /// Those that wait for an approval.
    pub is_waiting: bool,
    /// With all of these words somewhere.
    pub words: String,
    /// How many to leave out before the first.
    pub offset: usize,
    /// How many to give.
    pub limit: usize,
}

/// A part of a list.
#[derive(Debug, Serialize)]
pub struct Slice<'a> {
    /// How many there are in all.
    pub total: usize,
    /// Those that were asked for.
    pub rows: Vec<&'a Row>,
}

/// All hosts in numbers.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// How many there are.
    pub hosts: usize,
    /// By state, in the order of a host's life.
    pub states: Vec<Count>,
    /// By what is wrong with them, worst first.
    pub troubles: Vec<Count>,
    /// How many wait for an approval.
    pub waiting: usize,
}

/// All hosts.
#[derive(Debug, Default)]
pub struct Rows(pub BTreeMap<Key, Row>);

impl Rows {
    /// All of them in numbers.
    #[must_use]
    pub fn summary(&self) -> Summary {
        let mut troubles = BTreeMap::new();
        for trouble in self.0.values().filter_map(|row| row.trouble.as_ref()) {
            *troubles.entry(trouble.kind).or_insert(0) += 1;
        }
        let count = |(kind, hosts): (fleet::Kind, usize)| Count { state: kind.to_string(), hosts };
        Summary {
            hosts: self.0.len(),
            states: fleet::counts(self.0.values().map(|row| row.state.clone())),
            troubles: troubles.into_iter().map(count).collect(),
            waiting: self.0.values().filter(|row| row.is_waiting).count(),
        }
    }

    /// Those that are wanted: what needs somebody first, worst first, and then by name.
    #[must_use]
    pub fn slice(&self, filter: &Filter) -> Slice<'_> {
        let words = filter.words.to_lowercase();
        let words: Vec<_> = words.split_whitespace().collect();
        let is_wanted = |row: &&Row| {
            filter.state.as_ref().is_none_or(|state| *state == row.state)
                && filter.trouble.as_ref().is_none_or(|wanted| {
                    row.trouble.as_ref().is_some_and(|it| it.kind.to_string() == *wanted)
                })
                && (!filter.is_waiting || row.is_waiting)
                && words.iter().all(|word| row.says(word))
        };
        let mut rows: Vec<_> = self.0.values().filter(is_wanted).collect();
        // Stable, so that those alike stay in the order of their names.
        rows.sort_by_key(|row| {
            let trouble = row.trouble.as_ref();
            (trouble.is_none(), trouble.map(|it| (it.kind, std::cmp::Reverse(it.errors))))
        });
        let total = rows.len();
        let rows = rows.into_iter().skip(filter.offset).take(filter.limit.min(MOST)).collect();
        Slice { total, rows }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn rows() -> Rows {
        let host = |name: &str, state: &str, annotations: serde_json::Value, error: &str| {
            let status = json!({
                "operationalStatus": if error.is_empty() { "OK" } else { "error" },
                "errorMessage": error, "poweredOn": true, "errorCount": error.len(),
                "provisioning": {"state": state, "ID": ""},
            });
            let object = json!({
                "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
                "metadata": {"name": name, "namespace": "lab", "annotations": annotations},
                "spec": {"online": true, "bootMACAddress": format!("00:00:00:00:00:0{}", name.len())},
                "status": status,
            });
            let row = Row::of(&serde_json::from_value(object).unwrap());
            (row.key(), row)
        };
        Rows(
            [
                host("a", "available", json!({}), ""),
                host("bb", "unmanaged", json!({"ironward.dev/approval": "pending"}), ""),
                host("ccc", "provisioning", json!({}), "no"),
                host("dddd", "available", json!({}), "no answer"),
            ]
            .into(),
        )
    }

    fn names(filter: &Filter) -> (usize, Vec<String>) {
        let rows = rows();
        let slice = rows.slice(filter);
        (slice.total, slice.rows.iter().map(|row| row.name.clone()).collect())
    }

    #[test]
    fn what_needs_somebody_comes_first() {
        let all = Filter { limit: 9, ..Filter::default() };
        assert_eq!(names(&all), (4, ["dddd", "ccc", "bb", "a"].map(str::to_owned).to_vec()));
        let second = Filter { limit: 1, offset: 1, ..Filter::default() };
        assert_eq!(names(&second), (4, vec!["ccc".to_owned()]));
    }

    #[test]
    fn only_what_is_asked_for_is_shown() {
        let one = |filter: Filter| names(&Filter { limit: 9, ..filter }).1.join(" ");
        let state = Some("available".to_owned());
        assert_eq!(one(Filter { state, ..Filter::default() }), "dddd a");
        let trouble = Some("Unapproved".to_owned());
        assert_eq!(one(Filter { trouble, ..Filter::default() }), "bb");
        assert_eq!(one(Filter { is_waiting: true, ..Filter::default() }), "bb");
        assert_eq!(one(Filter { words: "LAB answer".to_owned(), ..Filter::default() }), "dddd");
        assert_eq!(one(Filter { words: "00:03".to_owned(), ..Filter::default() }), "ccc");
    }

    #[test]
    fn all_are_counted() {
        let Summary { hosts, states, troubles, waiting } = rows().summary();
        let text = |counts: Vec<Count>| {
            counts
                .iter()
                .map(|it| format!("{} {}", it.hosts, it.state))
                .collect::<Vec<_>>()
                .join(", ")
        };
        assert_eq!((hosts, waiting), (4, 1));
        assert_eq!(text(states), "1 unmanaged, 2 available, 1 provisioning");
        assert_eq!(text(troubles), "2 Failing, 1 Unapproved");
    }
}
