//! Something to see: a control plane, an Ironic, and an Ironward that keeps all it can, scraped all the time.

use crate::rendered::NAMESPACE;
use ironward_e2e::{
    cluster, cluster_api,
    control_plane::ControlPlane,
    eventually::eventually,
    ironic::{Driver, Ironic, Settings},
    ironward::{Ironward, Options},
    kubectl::Kubectl,
    promql::Scrape,
};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

pub const PATIENCE: Duration = Duration::from_mins(2);

const CONTROLLERS: &str =
    "host,cluster,machine,machine-template,remediation,discovery,autoscale,metadata";

pub struct Scene {
    pub kubectl: Kubectl,
    pub ironward: Ironward,
    plane: ControlPlane,
    // What Ironward reads ends after it.
    _ironic: Ironic,
}

impl Scene {
    pub fn start() -> Self {
        let discovery = Some(Driver::FakeHardware);
        let settings = Settings { machines: 1, discovery, power_sync: None, ..Settings::default() };
        let (ironic, plane) = thread::scope(|scope| {
            let ironic = scope.spawn(|| Ironic::start(&settings).unwrap());
            let plane = ControlPlane::start().unwrap();
            (ironic.join().unwrap_or_else(|_| panic!("Ironic did not start")), plane)
        });
        cluster::install_kinds(&plane).unwrap();
        eventually(PATIENCE, "the kinds are stored", || cluster_api::install_kinds(&plane))
            .unwrap();
        let flags = vec![
            format!("--controllers={CONTROLLERS}"),
            "--provisioner=demo".to_owned(),
            "--demo-seconds=1".to_owned(),
            // Others have to wait for their turn.
            "--provisioning-limit=1".to_owned(),
            format!("--ironic-url={}", ironic.url()),
        ];
        let ironward =
            Ironward::start_with(&plane, &Options { flags, ..Options::default() }).unwrap();
        ironward.wait_until_ready().unwrap();
        ironward.wait_until_in_force(&plane).unwrap();
        let kubectl = plane.kubectl().in_namespace("default");
        Self { kubectl, ironward, plane, _ironic: ironic }
    }

    /// What a Prometheus with the chart's ServiceMonitor would store.
    pub fn scrape(&self) -> Scrape {
        let labels = [
            ("namespace", NAMESPACE),
            ("pod", "ironward-0"),
            ("job", "ironward"),
            ("service", "ironward"),
            ("container", "ironward"),
            ("endpoint", "metrics"),
            ("instance", "10.0.0.1:8081"),
        ];
        let labels = labels.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let (_, text) = self.ironward.probe("metrics").unwrap();
        let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
        Scrape { at, labels: BTreeMap::from(labels), text }
    }

    /// What a fleet does in a day, in seconds: hosts come, one with a mistake, one that fails, and two are used and given back.
    pub fn play(&self) {
        self.create(&[
            json!({
                "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "bmc"},
                "stringData": {"username": "root", "password": "calvin"},
            }),
            json!({
                "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHostDiscovery",
                "metadata": {"name": "rack"},
                "spec": {"interval": "10s", "resourceNameTemplate": {"hardwareDetails": "boot-mac"}},
            }),
            json!({
                "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "Metal3Metadata",
                "metadata": {"name": "pool"}, "spec": {"metaData": {"local-hostname": "worker-{{ getIndex }}"}},
            }),
            machine("worker-a"),
        ]);
        self.create(&[host("a", 1), host("waits", 5), host("c-fails-registration", 3)]);
        let mut mistaken = host("d", 4);
        mistaken["spec"]["bmc"]["address"] = json!("nonsense://192.0.2.4");
        let create = ["create", "--filename", "-"];
        let answer = self.kubectl.run_with_input(&create, &mistaken.to_string()).unwrap();
        assert!(answer.err.contains("[host-bmc-address]"), "{}", answer.err);
        self.until("a", "available");
        // One after the other: Prometheus sees no increase in a histogram that begins with its first value.
        self.create(&[host("b", 2)]);
        for name in ["a", "b"] {
            self.until(name, "available");
            let image =
                json!({"url": "http://192.0.2.200/a.qcow2", "checksum": "http://192.0.2.200/SUMS"});
            self.patch(name, &json!({"spec": {"image": image}}));
            self.until(name, "provisioned");
            self.patch(name, &json!({"spec": {"image": null}}));
            self.until(name, "available");
        }
    }

    fn create(&self, objects: &[Value]) {
        let list = json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string();
        self.kubectl.expect_with_input(&["create", "--filename", "-"], &list).unwrap();
    }

    fn patch(&self, name: &str, patch: &Value) {
        let patch = patch.to_string();
        let to = ["patch", "bmh", name, "--type=merge", "--patch", &patch];
        self.kubectl.expect(&to).unwrap();
    }

    fn until(&self, name: &str, state: &str) {
        eventually(PATIENCE, &format!("{name} is {state}"), || {
            let host = self.kubectl.get("bmh", name).map_err(|error| error.to_string())?;
            let is_so = host["status"]["provisioning"]["state"] == state;
            if is_so { Ok(()) } else { Err(format!("{}", host["status"])) }
        })
        .unwrap();
    }

    pub fn last_words(&self) -> String {
        format!("{}\n{}", self.plane.dir().display(), self.ironward.process.log_tail())
    }
}

fn host(name: &str, number: u8) -> Value {
    json!({
        "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost", "metadata": {"name": name},
        "spec": {
            "online": true,
            "bootMACAddress": format!("52:54:00:00:00:{number:02x}"),
            "bmc": {
                "address": format!("redfish://192.0.2.{number}/redfish/v1/Systems/1"),
                "credentialsName": "bmc",
            },
        },
    })
}

/// One that asks for metadata, of no Cluster that anybody keeps.
fn machine(name: &str) -> Value {
    json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "Metal3Machine",
        "metadata": {"name": name, "labels": {"cluster.x-k8s.io/cluster-name": "prod"}},
        "spec": {
            "image": {"url": "http://192.0.2.200/image.qcow2", "checksum": "http://192.0.2.200/SUMS"},
            "metaData": {"configRef": {"name": "pool"}},
        },
    })
}
