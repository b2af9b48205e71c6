//! What a person asks for: one machine rebooted now, and what happened to a host.

use crate::{
    company::{Remediations, check, deploy, machine_of, on_stage, pool, run, times_off},
    scene::Scene,
};
use ironward_e2e::{
    documentation,
    machines::{INFRASTRUCTURE, Keeper},
    tour,
};
use serde_json::json;
use std::path::Path;

pub fn a_person_has_a_healthy_machine_rebooted_with_one_command() {
    on_stage(|stage| {
        let scene = Scene::with_control_plane(stage, "asked");
        scene.hosts("workers", 2);
        deploy(&scene, &pool("v1"), 1, 1);
        let hosts = scene.until_rolled("workers");
        let host = hosts.first().unwrap();
        check(&scene);
        let machine = machine_of(&scene, host);
        let remediations = Remediations::of(&scene);

        // MachineHealthCheck finds the machine well, and leaves the person's wish alone nevertheless.
        run(&scene, &["remediate", &machine, "--reason", "the disk makes noises"]);
        remediations.until_gone(&machine);
        let history = remediations
            .until_history(host, "it is remembered", |history| history["counts"]["recovered"] == 1);
        assert_eq!(history["records"][0]["cause"]["message"], "the disk makes noises");
        assert_eq!(times_off(&scene, host), 1);
        assert_eq!(machine_of(&scene, host), machine);
        let of_host = format!("--field-selector=involvedObject.name={host}");
        let told = ["get", "events", &of_host, "--output=jsonpath={.items[*].reason}"];
        let told = scene.kubectl.expect(&told).unwrap();
        for reason in ["RemediationStarted", "HostPoweredOff", "NodeFenced", "RemediationSucceeded"]
        {
            assert!(told.contains(reason), "{reason}: {told}");
        }
        let stored = scene.kubectl.get("machine", &machine).unwrap();
        let asked = &stored["metadata"]["annotations"]["cluster.x-k8s.io/remediate-machine"];
        assert!(asked.is_null(), "{stored:#}");

        // The same for a machine of the control plane, which nobody owns and no MachineHealthCheck looks at.
        let control_plane = "control-plane-0";
        run(&scene, &["remediate", control_plane]);
        remediations.until_gone(control_plane);
        let its_host = "asked-control-plane-0";
        remediations
            .until_history(its_host, "it recovered", |history| history["counts"]["recovered"] == 1);
        assert_eq!(times_off(&scene, its_host), 1);

        run(&scene, &["cordon", host, "--reason", "the disk makes noises"]);
        remediations.until_history(host, "that it is out of use is remembered", |history| {
            let records = history["records"].as_array().unwrap();
            records.iter().any(|it| it["event"] == "Cordoned")
        });
        let table = scene.kubectl.expect(&["get", "bmh", host]).unwrap();
        assert!(table.contains("the disk makes noises"), "{table}");
        run(&scene, &["uncordon", host]);
        let history = remediations.until_history(host, "and that it is not", |history| {
            let records = history["records"].as_array().unwrap();
            records.iter().any(|it| it["event"] == "Uncordoned")
        });
        assert_eq!(history["counts"]["attempts"], 1, "{history:#}");
        let timeline = run(&scene, &["history", host]);
        for word in ["Reboot 1", "Recovered", "Cordoned", "Uncordoned", "the disk makes noises"] {
            assert!(timeline.contains(word), "{word}: {timeline}");
        }

        // A host that nobody uses is out of selection, and whoever finds none hears why.
        let spare = format!("asked-workers-{}", u8::from(host.ends_with('0')));
        run(&scene, &["cordon", &spare, "--reason", "the fan is loud"]);
        scene.patch("machinedeployment", "workers", &json!({"spec": {"replicas": 2}}));
        scene.until("a machine says why it has no host", |seen| {
            let mut told = seen.all("Metal3Machine", &scene.namespace).flat_map(|machine| {
                machine["status"]["conditions"].as_array().into_iter().flatten()
            });
            let why = format!("1 unhealthy ({spare}: the fan is loud)");
            let is_so = told.any(|it| it["message"].as_str().is_some_and(|it| it.contains(&why)));
            if is_so { Ok(()) } else { Err(why) }
        });
        run(&scene, &["uncordon", &spare]);
        assert!(scene.until_rolled("workers").contains(&spare));
    });
}

/// The page of the guide, with the Machine that it speaks of.
pub fn the_page_prints_what_it_says() {
    on_stage(|stage| {
        let scene = Scene::new(stage, "metal3", Keeper::Nobody);
        let labels = json!({"cluster.x-k8s.io/cluster-name": scene.cluster.name});
        scene.apply(&[json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
            "metadata": {"name": "workers-x7k", "labels": labels},
            "spec": {
                "clusterName": scene.cluster.name, "bootstrap": {"dataSecretName": "join"},
                "infrastructureRef": {
                    "apiGroup": INFRASTRUCTURE, "kind": "Metal3Machine", "name": "workers-x7k",
                },
            },
        })]);
        let page = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/src/remediation.md"));
        let kubeconfig = stage.plane.admin_kubeconfig_in(&scene.namespace).unwrap();
        let stage = tour::Stage::new(kubeconfig, &scene.kubectl).unwrap();
        let wrong = documentation::wrong(page, &stage).unwrap();
        assert!(wrong.is_empty(), "\n{}", wrong.join("\n\n"));
    });
}
