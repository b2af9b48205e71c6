//! Machines of a control plane.

use crate::{
    company::{
        Remediations, check_those, machine_of, on_stage, pool, reboot, times_off, until_host,
    },
    scene::Scene,
};
use ironward_e2e::machines::Keeper;
use serde_json::json;

/// How it ends is not seen here: before the provider deletes the machine it asks the members of etcd, and machines that are played have none.
pub fn one_of_a_control_plane_that_does_not_return_is_handed_to_its_provider() {
    on_stage(|stage| {
        let scene = Scene::new(stage, "quorum", Keeper::Kubeadm);
        scene.hosts("workers", 4);
        scene.template(&pool("v1"));
        scene.apply(&[scene.cluster.kubeadm_control_plane(3, "v1"), reboot(1)]);
        let hosts = scene.until_control_plane_rolled();
        let host = hosts.first().unwrap();
        let machine = machine_of(&scene, host);
        let remediations = Remediations::of(&scene);
        stage.kubelets.fail(host);
        check_those(&scene, &json!({"cluster.x-k8s.io/control-plane-name": scene.cluster.name}));
        let given_up = remediations.until_phase(&machine, "Deleting machine");
        assert_eq!(given_up["status"]["retryCount"], 1, "{given_up:#}");
        until_host(&scene, host, "it is off, and out of use", |host| {
            host["spec"]["online"] == false
                && host["metadata"]["annotations"]["capm3.metal3.io/unhealthy"].is_string()
        });
        scene.until("the provider has taken it on", |seen| {
            let owner = seen
                .get("KubeadmControlPlane", &scene.namespace, &scene.cluster.name)
                .map_err(|error| error.to_string())?;
            let conditions = owner["status"]["conditions"].as_array().into_iter().flatten();
            let mut remediating = conditions.filter(|it| it["type"] == "Remediating");
            let is_taken_on = remediating.any(|it| {
                it["status"] == "True"
                    && it["message"].as_str().is_some_and(|text| text.contains(&machine))
            });
            if is_taken_on { Ok(()) } else { Err(owner["status"].to_string()) }
        });
        // Off and on once, and off for good.
        assert_eq!(times_off(&scene, host), 2);
    });
}
