//! Which hosts a machine may take.

use kube::KubeSchema;
use kube::core::Rule;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;
use std::collections::BTreeMap;

/// Which hosts will do, by their labels. Everything that is given has to hold.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostSelector {
    /// Labels that the host must have, with these values.
    pub match_labels: Option<BTreeMap<String, String>>,
    /// Conditions on labels, at most one for each label.
    #[schemars(
        length(min = 1, max = 512),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["key"])
    )]
    pub match_expressions: Option<Vec<HostSelectorRequirement>>,
}

/// A condition on a label.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
pub struct HostSelectorRequirement {
    /// Name of the label.
    #[schemars(length(min = 1, max = 512))]
    pub key: String,
    /// How the label compares to values: in or notin (one of them, or none), =, == or != (the only
    /// one), exists or ! (the host has the label, or has it not; no values), gt or lt (greater or
    /// less than the only one, as integers). Upper and lower case are the same.
    #[schemars(length(max = 64))]
    #[x_kube(validation = known_operator())]
    pub operator: String,
    /// The values. None for exists and !.
    #[schemars(
        length(max = 512),
        inner(length(min = 1, max = 512)),
        extend("x-kubernetes-list-type" = "set")
    )]
    pub values: Option<Vec<String>>,
}

fn known_operator() -> Rule {
    Rule::new("self.lowerAscii() in ['in', 'notin', '=', '==', '!=', 'exists', '!', 'gt', 'lt']")
        .message(
            "operator must be one of in, notin, =, ==, !=, exists, ! (the host does not have the \
         label), gt, lt",
        )
}
