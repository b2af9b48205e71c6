//! Control planes with Ironward in front of them, and hosts to put on them.

use ironward_e2e::{
    cluster,
    control_plane::ControlPlane,
    eventually,
    ironward::{Ironward, Options},
    kubectl::{Answer, Kubectl},
};
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
    core::{ApiResource, GroupVersionKind},
};
use serde_json::Value;
use std::{fmt::Debug, time::Duration};

pub use ironward_e2e::alone::alone;

pub const PATIENCE: Duration = Duration::from_mins(1);
pub const CREATE: [&str; 3] = ["create", "--filename", "-"];

/// A control plane with the kinds on it, and nobody who guards them.
pub fn unguarded() -> ControlPlane {
    let plane = ControlPlane::start().unwrap();
    cluster::install_kinds(&plane).unwrap();
    plane
}

/// Starts Ironward, and returns when the webhooks are in force.
pub fn guard(plane: &ControlPlane, options: &Options) -> Ironward {
    let ironward = Ironward::start_with(plane, options).unwrap();
    ironward.wait_until_ready().unwrap();
    ironward.wait_until_in_force(plane).unwrap();
    ironward
}

/// A host with what must be unique of it; an empty address is none.
pub fn host(name: &str, mac: &str, bmc: &str) -> String {
    let mac = if mac.is_empty() { String::new() } else { format!("  bootMACAddress: {mac}\n") };
    let bmc = if bmc.is_empty() {
        String::new()
    } else {
        format!("  bmc: {{address: '{bmc}', credentialsName: none}}\n")
    };
    format!(
        "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {{{name}}}\nspec:\n  online: true\n{mac}{bmc}"
    )
}

/// Creates it, and says what was answered.
pub fn create(kubectl: &Kubectl, name: &str, mac: &str, bmc: &str) -> Answer {
    kubectl.run_with_input(&CREATE, &host(&format!("name: {name}"), mac, bmc)).unwrap()
}

/// The claims of a policy, as a person sees them: `HOLDER` by `NAME` without its hash.
pub fn claims(kubectl: &Kubectl, policy: &str) -> Vec<(String, String)> {
    let selector = format!("ironward.dev/unique-policy={policy}");
    let listed = kubectl
        .in_namespace("default")
        .expect(&["get", "leases", "--selector", &selector, "--output", "json"])
        .unwrap();
    let listed: Value = serde_json::from_str(&listed).unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let items = listed["items"].as_array().unwrap().iter();
    let mut claims: Vec<_> = items
        .map(|lease| {
            let name = text(&lease["metadata"]["name"]);
            let readable = name.rsplit_once('.').map_or("", |(readable, _)| readable).to_owned();
            (readable, text(&lease["spec"]["holderIdentity"]))
        })
        .collect();
    claims.sort();
    claims
}

/// Looks until it is as it should be.
pub fn until<T: Debug>(what: &str, look: impl FnMut() -> T, is_so: impl Fn(&T) -> bool) -> T {
    eventually::until(PATIENCE, what, look, is_so).unwrap()
}

/// The kind of a host.
pub fn hosts() -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk("metal3.io", "v1alpha1", "BareMetalHost"))
}

/// A client to whom nothing is forbidden, with a connection of its own.
pub async fn client(plane: &ControlPlane) -> Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let kubeconfig = Kubeconfig::read_from(plane.admin_kubeconfig()).unwrap();
    let options = KubeConfigOptions::default();
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &options).await.unwrap();
    config.read_timeout = Some(Duration::from_secs(90));
    Client::try_from(config).unwrap()
}
