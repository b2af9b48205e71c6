//! What Cluster API asks of everybody who has machines.

use crate::{
    scene::{Scene, consumer},
    stage::on_stage,
};
use ironward_e2e::machines::{Keeper, Template};
use serde_json::{Value, json};

#[test]
fn a_paused_cluster_is_left_alone_with_its_hosts_and_goes_on() {
    on_stage(|stage| {
        let scene = Scene::with_control_plane(stage, "paused");
        let host = scene.hosts("workers", 1).remove(0);
        let pool = Some("workers".to_owned());
        scene.template(&Template { name: "v1".to_owned(), pool, ..Template::default() });
        scene.apply(&[scene.cluster.machine_deployment("workers", 1, "v1")]);
        scene.until_rolled("workers");

        let pause = |is_paused: bool| {
            let name = scene.cluster.name.as_str();
            scene.patch("cluster", name, &json!({"spec": {"paused": is_paused}}));
        };
        pause(true);
        scene.until("the host is paused with its machine", |seen| {
            let host =
                seen.get("BareMetalHost", &scene.namespace, &host).map_err(|it| it.to_string())?;
            let machine = consumer(host).unwrap_or_default();
            let machine = seen
                .get("Metal3Machine", &scene.namespace, machine)
                .map_err(|it| it.to_string())?;
            let annotation = &host["metadata"]["annotations"]["baremetalhost.metal3.io/paused"];
            let is_so = *annotation == "metal3.io/capm3" && condition(machine, "Paused") == "True";
            if is_so { Ok(()) } else { Err(format!("{annotation} {:#}", machine["status"])) }
        });
        // Nobody takes the host from it meanwhile.
        scene.kubectl.expect(&["delete", "machinedeployment", "workers", "--wait=false"]).unwrap();
        pause(false);
        scene.until("the host is free", |seen| {
            let host =
                seen.get("BareMetalHost", &scene.namespace, &host).map_err(|it| it.to_string())?;
            let annotations = &host["metadata"]["annotations"];
            let is_so = consumer(host).is_none()
                && annotations["baremetalhost.metal3.io/paused"].is_null()
                && host["status"]["provisioning"]["state"] == "available";
            if is_so { Ok(()) } else { Err(format!("{host:#}")) }
        });
        let provisioned = |state: &str| {
            stage.watched.now(|seen| {
                seen.past("BareMetalHost", &scene.namespace)
                    .filter(|it| it["metadata"]["name"] == host.as_str())
                    .any(|it| {
                        it["status"]["provisioning"]["state"] == state
                            && it["metadata"]["annotations"]["baremetalhost.metal3.io/paused"]
                                == "metal3.io/capm3"
                    })
            })
        };
        assert!(provisioned("provisioned") && !provisioned("deprovisioning"));
    });
}

#[test]
fn a_machine_is_deleted_while_the_infrastructure_of_its_cluster_is_not_ready() {
    on_stage(|stage| {
        let scene = Scene::new(stage, "unready", Keeper::NotYet);
        let name = "early";
        scene.apply(&scene.cluster.control_plane_machine(name, None));
        scene.until("it waits", |seen| {
            let machine =
                seen.get("Metal3Machine", &scene.namespace, name).map_err(|it| it.to_string())?;
            let waits = condition(machine, "AssociateBareMetalHost") == "False";
            if waits { Ok(()) } else { Err(format!("{machine:#}")) }
        });
        scene.kubectl.expect(&["delete", "machine", name, "--wait=false"]).unwrap();
        scene.until("both are gone", |seen| {
            let left = ["Machine", "Metal3Machine"]
                .iter()
                .find_map(|kind| seen.get(kind, &scene.namespace, name).ok());
            left.map_or(Ok(()), |left| Err(format!("{left:#}")))
        });
    });
}

fn condition<'a>(object: &'a Value, kind: &str) -> &'a str {
    let conditions = object["status"]["conditions"].as_array();
    let found = conditions.into_iter().flatten().find(|it| it["type"] == kind);
    found.and_then(|it| it["status"].as_str()).unwrap_or_default()
}
