//! From its creation to its deletion, with `kill -9` of Ironward at every step: when it enters a state and at whatever else it writes, once before that is
//! stored and once before it knows that it is. Three hosts, so that there is no state through which none of them comes.

use crate::stage::{PATIENCE, Stage, host, image, in_company};
use axum::http::Method;
use ironward::domain::provisioning_state::ProvisioningState as State;
use ironward_e2e::{eventually::until, gate::Moment, haunt::haunt};
use serde_json::{Value, json};
use std::{fs, path::Path, thread};
use strum::IntoEnumIterator;

const NAME: &str = "worker-0";

/// What is written, in words that are the same each time it is.
fn step(method: &Method, path: &str, body: &[u8]) -> Option<String> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let kinds = ["baremetalhosts", "hardwaredata", "secrets"];
    let kind = kinds.into_iter().find(|kind| path.contains(&format!("/{kind}/")))?;
    if method != Method::PATCH {
        return None;
    }
    if let Some(state) = body["status"]["provisioning"]["state"].as_str() {
        return Some(format!("enters {state}"));
    }
    if let Some(word) = body["status"]["operationalStatus"].as_str() {
        return Some(format!("is {word}"));
    }
    let fields = |part: &str| -> Vec<String> {
        let fields = body[part].as_object().into_iter().flatten().map(|(key, _)| key.clone());
        fields.filter(|key| !["uid", "resourceVersion"].contains(&key.as_str())).collect()
    };
    let fields = [fields("metadata"), fields("spec")].concat();
    Some(if fields.is_empty() {
        "status".to_owned()
    } else {
        format!("{kind} {}", fields.join(" "))
    })
}

#[test]
fn a_host_outlives_its_controller_at_every_step() {
    let _company = in_company();
    let mut stage = Stage::new(&["--demo-seconds=1"]);
    let gate = stage.put_gate();
    let seen = stage.watch("custom-columns=NAME:.metadata.name,STATE:.status.provisioning.state");
    stage.start();
    let killed = haunt(&gate, &stage, step, || {
        thread::scope(|scope| {
            for life in [usual as fn(&Stage), discovered, external] {
                let stage = &stage;
                scope.spawn(move || life(stage));
            }
        });
        Ok(())
    })
    .unwrap();

    // `ready` is what older Metal3 wrote, and nothing leads to the beginning.
    let states = State::iter().filter(|it| !matches!(it, State::None | State::Ready));
    let steps = states.map(|state| format!("enters {state}")).chain([
        "is detached".to_owned(),
        "baremetalhosts finalizers".to_owned(),
        "baremetalhosts annotations".to_owned(),
        "baremetalhosts architecture".to_owned(),
        "hardwaredata".to_owned(),
        "secrets".to_owned(),
    ]);
    for step in steps {
        for moment in [Moment::Before, Moment::After] {
            let of = |it: &&String| it.starts_with(&format!("{moment:?} {step}"));
            assert!(killed.iter().any(|it| of(&it)), "{moment:?} {step}: {killed:#?}");
        }
    }
    // Nothing was begun twice because of it.
    let life = [
        "registering",
        "inspecting",
        "preparing",
        "available",
        "provisioning",
        "provisioned",
        "deprovisioning",
        "available",
        "provisioning",
        "provisioned",
        "deprovisioning",
        "powering off before delete",
        "deleting",
    ];
    let states = || states_of(seen.log(), NAME);
    until(PATIENCE, "it is seen to the end", states, |states| {
        states.ends_with(&["deleting".into()])
    })
    .unwrap();
    assert_eq!(states(), life);
    for (reason, times) in [
        ("Registered", 1),
        ("InspectionComplete", 1),
        ("ProvisioningStarted", 2),
        ("ProvisioningComplete", 2),
        ("DeprovisioningComplete", 2),
        ("ProvisioningError", 0),
    ] {
        // One that was killed between writing and telling tells it not at all; nobody tells it twice.
        assert!(stage.told(NAME, reason) <= times, "{reason}: {}", stage.told(NAME, reason));
    }
}

/// The states of a host as they followed each other.
fn states_of(log: &Path, name: &str) -> Vec<String> {
    let log = fs::read_to_string(log).unwrap();
    let lines = log.lines().filter_map(|line| line.strip_prefix(name)).map(str::trim);
    let mut states: Vec<_> =
        lines.filter(|it| !it.is_empty() && *it != "<none>").map(str::to_owned).collect();
    states.dedup();
    states
}

fn usual(stage: &Stage) {
    stage.create_host(NAME, 1);
    let available = stage.until_state(NAME, "available");
    assert_eq!(available["metadata"]["finalizers"], json!(["baremetalhost.metal3.io"]));
    let status = &available["status"];
    assert_eq!(status["hardware"]["cpu"]["count"], 64);
    let credentials = &status["goodCredentials"];
    assert_eq!(credentials["credentials"]["name"], format!("{NAME}-bmc"));
    let data = stage.kubectl.get("hardwaredata", NAME).unwrap();
    assert_eq!(data["spec"]["hardware"], status["hardware"]);
    let arch = |host: &Value| host["spec"]["architecture"] == "x86_64";
    stage.until(NAME, "its architecture is filled in", arch);

    stage.patch(NAME, &image("a"));
    let after = stage.until_state(NAME, "provisioned");
    assert_eq!(after["status"]["provisioning"]["image"], image("a")["spec"]["image"]);
    assert_eq!(after["status"]["poweredOn"], true);

    let operational =
        |word: &'static str| move |host: &Value| host["status"]["operationalStatus"] == word;
    stage.annotate(NAME, "baremetalhost.metal3.io/detached=");
    stage.until(NAME, "it is detached", operational("detached"));
    stage.annotate(NAME, "baremetalhost.metal3.io/detached-");
    stage.until(NAME, "it is taken back", operational("OK"));
    stage.annotate(NAME, "reboot.metal3.io=");
    stage.until(NAME, "it is rebooted", |host| {
        host["metadata"]["annotations"]["reboot.metal3.io"].is_null()
            && host["status"]["poweredOn"] == true
    });

    stage.patch(NAME, &json!({"spec": {"image": null}}));
    let free = stage.until_state(NAME, "available");
    assert!(free["status"]["provisioning"]["image"].is_null());

    stage.patch(NAME, &image("b"));
    stage.until_state(NAME, "provisioned");
    stage.delete(NAME);
    stage.until_gone(NAME);
}

/// What is known of it comes with it, and nobody has said how its BMC is reached.
fn discovered(stage: &Stage) {
    let status = json!({
        "errorMessage": "", "operationalStatus": "", "poweredOn": true,
        "provisioning": {"ID": "1be26c0b-03f2-4d2e-ae87-c02d7f33c781", "state": ""},
    });
    let mut found = host("found", 2);
    found["spec"].as_object_mut().unwrap().remove("bmc");
    found["metadata"]["annotations"] =
        json!({"baremetalhost.metal3.io/status": status.to_string()});
    stage.create(&found);
    let available = stage.until_state("found", "available");
    assert_eq!(available["status"]["hardware"]["cpu"]["count"], 64);
    assert_eq!(stage.told("found", "InspectionStarted"), 0);
    stage.delete("found");
    stage.until_gone("found");
}

fn external(stage: &Stage) {
    stage.create(&crate::stage::secret("external-bmc", "calvin"));
    let mut external = host("external", 3);
    external["spec"]["externallyProvisioned"] = json!(true);
    stage.create(&external);
    stage.until_state("external", "externally provisioned");
    stage.delete("external");
    stage.until_gone("external");
}
