//! Machines that are replaced because their Node is not well.

use crate::{
    scene::{Scene, consumer, reserved_for},
    stage::on_stage,
};
use ironward_e2e::machines::Template;
use serde_json::json;
use std::collections::BTreeSet;

/// "As a cluster admin, I would like the re-use the nodes during the remediation operation so that I don't loose secondary storage
/// data attached to them."
#[test]
fn a_machine_that_is_replaced_because_its_node_is_not_ready_keeps_its_host() {
    on_stage(|stage| {
        let scene = Scene::with_control_plane(stage, "sick");
        scene.hosts("workers", 2);
        let (node_reuse, pool) = (Some(true), Some("workers".to_owned()));
        scene.template(&Template {
            name: "v1".to_owned(),
            node_reuse,
            pool,
            ..Template::default()
        });
        scene.apply(&[scene.cluster.machine_deployment("pool1", 1, "v1")]);
        let hosts = scene.until_rolled("pool1");
        let host = hosts.first().unwrap();
        let before = stage.watched.now(|seen| {
            let host = seen.get("BareMetalHost", &scene.namespace, host).unwrap();
            consumer(host).unwrap().to_owned()
        });

        stage.kubelets.fail(host);
        scene.apply(&[json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineHealthCheck",
            "metadata": {"name": "pool1"},
            "spec": {
                "clusterName": scene.cluster.name,
                "selector": {"matchLabels": {"deployment": "pool1"}},
                "checks": {"unhealthyNodeConditions": [
                    {"type": "Ready", "status": "False", "timeoutSeconds": 1},
                ]},
            },
        })]);
        scene.until("the host is kept", |seen| {
            let host = seen.get("BareMetalHost", &scene.namespace, host).unwrap();
            reserved_for(host).map(drop).ok_or_else(|| format!("{host:#}"))
        });
        stage.kubelets.heal(host);
        scene.until("another machine has it", |seen| {
            let host = seen.get("BareMetalHost", &scene.namespace, host).unwrap();
            let is_so = consumer(host).is_some_and(|it| it != before);
            if is_so { Ok(()) } else { Err(format!("{host:#}")) }
        });
        assert_eq!(scene.until_rolled("pool1"), hosts);
        assert_eq!(scene.pools_that_kept_hosts(), BTreeSet::from(["md-pool1".to_owned()]));
    });
}
