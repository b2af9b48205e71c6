//! Many hosts at once: put on a cluster, and counted by their states.

use crate::{at_once::at_once, control_plane::ControlPlane, ironward::Ironward};
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Objects that one kubectl is given.
const PORTION: usize = 250;

/// What tells one host from another.
#[derive(Debug, Clone)]
pub struct Member {
    /// Its name, also that of its Secret.
    pub name: String,
    /// `spec.bootMACAddress`.
    pub boot_mac: String,
    /// `spec.bmc.address`.
    pub bmc_address: String,
    /// Of its BMC.
    pub username: String,
    /// Of its BMC.
    pub password: String,
}

impl Member {
    /// One that is nowhere.
    #[must_use]
    pub fn imaginary(number: usize) -> Self {
        let [.., a, b, c] = number.to_be_bytes();
        Self {
            name: format!("host-{number}"),
            boot_mac: format!("02:00:00:{a:02x}:{b:02x}:{c:02x}"),
            bmc_address: format!("redfish://10.{a}.{b}.{c}/redfish/v1/Systems/1"),
            username: "root".to_owned(),
            password: "calvin".to_owned(),
        }
    }

    fn objects(&self, spec: &Value) -> [Value; 2] {
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": self.name},
            "stringData": {"username": self.username, "password": self.password},
        });
        let mut host = json!({
            "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
            "metadata": {"name": self.name},
            "spec": spec,
        });
        host["spec"]["bootMACAddress"] = json!(self.boot_mac);
        host["spec"]["bmc"] = json!({"address": self.bmc_address, "credentialsName": self.name});
        [secret, host]
    }
}

/// Creates hosts and their Secrets. What is the same for all is in `spec`.
pub fn create(plane: &ControlPlane, members: &[Member], spec: &Value) -> Result<()> {
    let portions: Vec<_> = members.chunks(PORTION).collect();
    at_once(&portions, |portion| {
        let items: Vec<_> = portion.iter().flat_map(|member| member.objects(spec)).collect();
        let list = json!({"apiVersion": "v1", "kind": "List", "items": items});
        let kubectl = plane.kubectl().in_namespace("default");
        kubectl.expect_with_input(&["create", "--filename", "-"], &list.to_string()).map(drop)
    })
}

/// How many hosts there are in each state; those with an error apart.
pub fn states(plane: &ControlPlane) -> Result<BTreeMap<String, usize>> {
    let columns =
        "--output=custom-columns=STATE:.status.provisioning.state,ERROR:.status.errorType";
    let kubectl = plane.kubectl().in_namespace("default");
    let lines = kubectl.expect(&["get", "baremetalhosts", "--no-headers", columns])?;
    let mut states = BTreeMap::new();
    for line in lines.lines() {
        let words: Vec<_> = line.split_whitespace().collect();
        let state = match words.as_slice() {
            [state, "<none>"] => (*state).to_owned(),
            _ => words.join(" "),
        };
        *states.entry(state).or_default() += 1;
    }
    Ok(states)
}

/// What Ironward has counted: the sum of all metrics of a name.
pub fn counted(ironward: &Ironward, metric: &str) -> Result<f64> {
    let (_, text) = ironward.probe("metrics")?;
    let of_metric =
        |line: &&str| line.strip_prefix(metric).is_some_and(|rest| rest.starts_with(['{', ' ']));
    let value = |line: &str| {
        let number = line.rsplit(' ').next().and_then(|it| it.parse::<f64>().ok());
        number.with_context(|| format!("no number: {line}"))
    };
    text.lines().filter(of_metric).try_fold(0.0, |sum, line| Ok(sum + value(line)?))
}
