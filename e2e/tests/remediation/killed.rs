//! `kill -9` of Ironward at every step of a remediation, once before it is stored and once before it knows that it is. Nobody else is on this stage: what
//! Cluster API says of the machines is played.

use crate::{
    company::{PATIENCE, starting},
    scene::name,
    stage::{CONTROLLERS, provide},
};
use anyhow::{Result, ensure};
use axum::http::Method;
use ironward_e2e::{
    cluster, cluster_api,
    control_plane::ControlPlane,
    eventually::eventually,
    gate::Gate,
    haunt::{Victim, haunt},
    ironward::{Ironward, Options},
    kubectl::Kubectl,
    kubelets::Kubelets,
    machines::{Cluster, INFRASTRUCTURE, Keeper},
    watched::{Kind, Seen, Watched},
};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::{fmt::Display, fs, sync::Mutex, thread};

const NAMESPACE: &str = "lab";
const KINDS: [Kind; 5] = [
    ("metal3.io", "v1alpha1", "BareMetalHost"),
    (INFRASTRUCTURE, "v1beta2", "Metal3Remediation"),
    ("ironward.dev", "v1alpha1", "HostHistory"),
    ("cluster.x-k8s.io", "v1beta2", "Machine"),
    ("", "v1", "Node"),
];

/// All that is written about a remediation, from its beginning to its end.
const STEPS: [&str; 15] = [
    "guard",
    "enter Running",
    "remember an attempt",
    "hold the host",
    "taint the Node",
    "enter Waiting",
    "let the host go",
    "untaint the Node",
    "remember Recovered",
    "release",
    "give the host up",
    "remember Replaced",
    "enter Deleting machine",
    "ask the owner",
    "remember a mark",
];

/// What is written, in words that are the same each time it is.
fn step(method: &Method, path: &str, body: &[u8]) -> Option<String> {
    if method != Method::PATCH && method != Method::POST {
        return None;
    }
    let body: Value = serde_json::from_slice(body).ok()?;
    let is_of = |kind: &str| path.contains(&format!("/{kind}"));
    let annotations = body["metadata"]["annotations"].as_object();
    let held = annotations.into_iter().flatten().find(|(key, _)| key.contains("remediation-"));
    let words = if is_of("metal3remediations") {
        match (body["status"]["phase"].as_str(), body["metadata"]["finalizers"].as_array()) {
            (Some(phase), _) => return Some(format!("enter {phase}")),
            (None, Some(all)) if all.is_empty() => "release",
            (None, Some(_)) => "guard",
            (None, None) => return None,
        }
    } else if is_of("hosthistories") {
        let last = &body["lastRemediation"];
        return Some(match (last.is_object(), last["outcome"].as_str()) {
            (true, Some(outcome)) => format!("remember {outcome}"),
            (true, None) => "remember an attempt".to_owned(),
            (false, _) => "remember a mark".to_owned(),
        });
    } else if is_of("baremetalhosts") {
        match (held, body["spec"]["online"].as_bool()) {
            (Some(_), Some(false)) => "give the host up",
            (Some((_, Value::Null)), _) => "let the host go",
            (Some(_), _) => "hold the host",
            (None, _) => return None,
        }
    } else if is_of("machines/") {
        "ask the owner"
    } else if is_of("nodes/") {
        let taints = body["spec"]["taints"].as_array()?;
        let is_out = taints.iter().any(|it| it["key"] == "node.kubernetes.io/out-of-service");
        if is_out { "taint the Node" } else { "untaint the Node" }
    } else {
        return None;
    };
    Some(words.to_owned())
}

struct Stage {
    plane: ControlPlane,
    kubectl: Kubectl,
    watched: Watched,
    kubelets: Kubelets,
    ironward: Mutex<Option<Ironward>>,
    options: Options,
}

impl Victim for Stage {
    fn kill(&self) -> Result<()> {
        let ironward = self.ironward.lock().unwrap().take().unwrap();
        ironward.process.signal(Signal::KILL)?;
        ironward.process.wait_for_exit(PATIENCE).map(drop)
    }

    /// It does not wait until the one that was killed is no longer awaited.
    fn start_again(&self) -> Result<()> {
        let delete = ["delete", "lease", "ironward", "--ignore-not-found"];
        self.plane.kubectl().in_namespace("default").expect(&delete)?;
        let ironward = Ironward::start_with(&self.plane, &self.options)?;
        ironward.wait_until_ready()?;
        *self.ironward.lock().unwrap() = Some(ironward);
        Ok(())
    }
}

impl Stage {
    /// With a way through the gate for all that Ironward writes, in whichever cluster.
    fn start() -> (Self, Gate) {
        let plane = ControlPlane::start().unwrap();
        cluster::install_kinds(&plane).unwrap();
        eventually(PATIENCE, "the kinds are stored", || cluster_api::install_kinds(&plane))
            .unwrap();
        let gate = Gate::open(&plane.own_kubeconfig().unwrap()).unwrap();
        let through = gate.kubeconfig(plane.dir()).unwrap();
        let kubectl = plane.kubectl();
        kubectl.expect(&["create", "namespace", NAMESPACE]).unwrap();
        let kubectl = kubectl.in_namespace(NAMESPACE);
        let cluster = Cluster::create(&plane, &kubectl, NAMESPACE, Keeper::NotYet).unwrap();
        let kubeconfig = json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": format!("{NAMESPACE}-kubeconfig")},
            "stringData": {"value": fs::read_to_string(&through).unwrap()},
        });
        cluster.apply(&[kubeconfig]).unwrap();
        let controllers = CONTROLLERS.split(',').next().unwrap();
        let flags = vec![
            format!("{controllers},remediation"),
            "--provisioner=demo".to_owned(),
            "--demo-seconds=1".to_owned(),
            "--remediation-limit=2".to_owned(),
        ];
        let stage = Self {
            watched: Watched::start(plane.admin_kubeconfig(), &KINDS).unwrap(),
            kubelets: Kubelets::start(plane.admin_kubeconfig()).unwrap(),
            ironward: Mutex::default(),
            options: Options { flags, kubeconfig: Some(through), ..Options::default() },
            kubectl,
            plane,
        };
        stage.start_again().unwrap();
        (stage, gate)
    }

    /// As a person does who is told that nobody answers at the moment.
    fn insist(&self, arguments: &[&str], input: &str) {
        eventually(PATIENCE, &format!("{arguments:?}"), || {
            self.kubectl.expect_with_input(arguments, input).map_err(|error| error.to_string())
        })
        .unwrap();
    }

    fn until<T, S: Display>(&self, what: &str, look: impl FnMut(&Seen) -> Result<T, S>) -> T {
        self.watched.until(PATIENCE, what, look).unwrap_or_else(|error| {
            let ironward = self.ironward.lock().unwrap();
            let words = ironward.as_ref().map(|it| it.process.log_tail()).unwrap_or_default();
            panic!("{error:#}\n{words}")
        })
    }

    fn until_is(&self, kind: &str, name: &str, what: &str, is_so: impl Fn(&Value) -> bool) {
        self.until(&format!("{name}: {what}"), |seen| {
            let found = seen.get(kind, NAMESPACE, name).map_err(|error| error.to_string())?;
            if is_so(found) { Ok(()) } else { Err(format!("{found:#}")) }
        });
    }

    /// A machine with a host that runs its image as a Node, all of one name.
    fn create(&self, name: &str, number: u8) {
        let labels = json!({"cluster.x-k8s.io/cluster-name": NAMESPACE});
        let image = json!({
            "url": "http://192.0.2.200/node-v1.36.1.qcow2", "checksumType": "sha256",
            "checksum": "http://192.0.2.200/SHA256SUMS", "diskFormat": "qcow2",
        });
        let objects = [
            json!({
                "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name},
                "stringData": {"username": "root", "password": "calvin"},
            }),
            json!({
                "apiVersion": format!("{INFRASTRUCTURE}/v1beta2"), "kind": "Metal3Machine",
                "metadata": {
                    "name": name, "labels": labels,
                    "annotations": {"metal3.io/BareMetalHost": format!("{NAMESPACE}/{name}")},
                },
                "spec": {"image": image},
            }),
            json!({
                "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
                "metadata": {"name": name, "labels": labels},
                "spec": {
                    "clusterName": NAMESPACE, "bootstrap": {"dataSecretName": "join"},
                    "infrastructureRef": {
                        "apiGroup": INFRASTRUCTURE, "kind": "Metal3Machine", "name": name,
                    },
                },
            }),
            json!({
                "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
                "metadata": {"name": name},
                "spec": {
                    "online": true, "inspectionMode": "disabled", "image": image,
                    "userData": {"name": "join", "namespace": NAMESPACE},
                    "bootMACAddress": format!("52:54:00:00:01:{number:02x}"),
                    "bmc": {
                        "address": format!("redfish://192.0.2.{number}/redfish/v1/Systems/1"),
                        "credentialsName": name,
                    },
                    "consumerRef": {
                        "apiVersion": format!("{INFRASTRUCTURE}/v1beta2"), "kind": "Metal3Machine",
                        "name": name, "namespace": NAMESPACE,
                    },
                },
            }),
        ];
        let list = json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string();
        self.insist(&["apply", "--server-side", "--filename", "-"], &list);
        self.until(&format!("{name} is a Node"), |seen| {
            seen.get("Node", "", name).map(drop).map_err(|error| error.to_string())
        });
        self.say(name, false);
    }

    /// What MachineHealthCheck would say.
    fn say(&self, name: &str, is_healthy: bool) {
        let condition = json!({
            "type": "HealthCheckSucceeded", "status": if is_healthy { "True" } else { "False" },
            "reason": if is_healthy { "HealthCheckSucceeded" } else { "UnhealthyNode" },
            "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
        });
        let status = json!({"status": {"nodeRef": {"name": name}, "conditions": [condition]}});
        let status = status.to_string();
        let patch = ["--subresource=status", "--type=merge", "--patch", &status];
        self.insist(&[&["patch", "machine", name][..], &patch].concat(), "");
    }

    /// What MachineHealthCheck would ask for.
    fn remediate(&self, name: &str, retry_limit: u32) {
        let machine = self.kubectl.get("machine", name).unwrap();
        let remediation = json!({
            "apiVersion": format!("{INFRASTRUCTURE}/v1beta2"), "kind": "Metal3Remediation",
            "metadata": {"name": name, "ownerReferences": [{
                "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "name": name,
                "uid": machine["metadata"]["uid"],
            }]},
            "spec": {"strategy": {
                "type": "Reboot", "retryLimit": retry_limit, "timeoutSeconds": 100,
            }},
        });
        self.insist(&["apply", "--server-side", "--filename", "-"], &remediation.to_string());
    }

    fn times_off(&self, host: &str) -> usize {
        self.watched.now(|seen| {
            let past = seen.past("BareMetalHost", NAMESPACE).filter(|it| name(it) == host);
            let power: Vec<_> = past.map(|it| it["status"]["poweredOn"] == true).collect();
            power.windows(2).filter(|pair| pair[0] && !pair[1]).count()
        })
    }

    fn counts(&self, host: &str) -> Value {
        self.watched.now(|seen| seen.get("HostHistory", NAMESPACE, host).unwrap()["counts"].clone())
    }
}

fn returns(stage: &Stage) {
    let name = "returns";
    stage.create(name, 1);
    stage.kubelets.fail(name);
    stage.remediate(name, 2);
    stage.until_is("BareMetalHost", name, "off", |it| it["status"]["poweredOn"] == false);
    stage.kubelets.heal(name);
    stage.until_is("Metal3Remediation", name, "waiting", |it| it["status"]["phase"] == "Waiting");
    stage.until("it is ready, and may be used", |seen| {
        let node = seen.get("Node", "", name).map_err(|error| error.to_string())?;
        let conditions = node["status"]["conditions"].as_array().into_iter().flatten();
        let mut ready = conditions.filter(|it| it["type"] == "Ready" && it["status"] == "True");
        let host = seen.get("BareMetalHost", NAMESPACE, name).unwrap();
        let is_so = ready.next().is_some() && host["status"]["poweredOn"] == true;
        if is_so && node["spec"]["taints"].as_array().is_none_or(Vec::is_empty) {
            Ok(())
        } else {
            Err(format!("{node:#}"))
        }
    });
    // In this order, as MachineHealthCheck does.
    stage.insist(&["delete", "m3r", name, "--wait=false", "--ignore-not-found"], "");
    stage.say(name, true);
    stage.until("it is let go", |seen| {
        let found = seen.get("Metal3Remediation", NAMESPACE, name);
        found.map_or(Ok(()), |found| Err(format!("{found:#}")))
    });
    let counts = stage.counts(name);
    assert_eq!(counts, json!({"remediations": 1, "attempts": 1, "recovered": 1}));
    assert_eq!(stage.times_off(name), 1);
}

fn does_not_return(stage: &Stage) {
    let name = "lost";
    stage.create(name, 2);
    stage.kubelets.fail(name);
    stage.remediate(name, 1);
    stage.until_is("Metal3Remediation", name, "given up", |it| {
        it["status"]["phase"] == "Deleting machine" && it["status"]["retryCount"] == 1
    });
    stage.until_is("Machine", name, "its owner is asked", |it| {
        let now = it["status"]["conditions"].as_array().into_iter().flatten();
        let before = it["status"]["deprecated"]["v1beta1"]["conditions"].as_array();
        let is_asked = |it: &Value| {
            it["type"] == "OwnerRemediated"
                && it["status"] == "False"
                && it["reason"] == "WaitingForRemediation"
        };
        now.into_iter().any(is_asked) && before.into_iter().flatten().any(is_asked)
    });
    stage.until_is("BareMetalHost", name, "off for good", |it| {
        it["status"]["poweredOn"] == false && it["spec"]["online"] == false
    });
    stage.until_is("HostHistory", name, "its mark is remembered", |it| {
        let records = it["records"].as_array().into_iter().flatten();
        records.filter(|it| it["event"] == "Cordoned").count() == 1
    });
    let counts = stage.counts(name);
    assert_eq!(counts, json!({"remediations": 1, "attempts": 1, "replaced": 1}));
    // Once off and on, and off for good.
    assert_eq!(stage.times_off(name), 2);
}

pub fn a_remediation_outlives_its_controller_at_every_step() {
    provide();
    let (stage, gate) = starting(Stage::start);
    let killed = haunt(&gate, &stage, step, || {
        thread::scope(|scope| {
            let lives = [returns as fn(&Stage), does_not_return];
            let stage = &stage;
            let lives = lives.map(|life| scope.spawn(move || life(stage)));
            for life in lives {
                ensure!(life.join().is_ok(), "a life ended otherwise");
            }
            Ok(())
        })
    })
    .unwrap();
    for step in STEPS {
        for moment in ["Before", "After"] {
            assert!(killed.contains(&format!("{moment} {step}")), "{moment} {step}: {killed:#?}");
        }
    }
}
