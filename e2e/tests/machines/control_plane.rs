//! Control planes that the kubeadm provider keeps.

use crate::{scene::Scene, stage::on_stage};
use ironward_e2e::machines::{Keeper, Template};
use serde_json::json;
use std::collections::BTreeSet;

#[test]
fn a_control_plane_of_three_is_upgraded_on_the_same_hosts_and_its_workers_join_with_kubeadm() {
    on_stage(|stage| {
        let scene = Scene::new(stage, "kubeadm", Keeper::Kubeadm);
        scene.hosts("any", 6);
        let template = |name: &str, node_reuse: bool| {
            let node_reuse = Some(node_reuse);
            scene.template(&Template { name: name.to_owned(), node_reuse, ..Template::default() });
        };
        template("v1", true);
        template("v2", true);
        scene.apply(&[scene.cluster.kubeadm_control_plane(3, "v1")]);

        template("workers", false);
        let kind = "KubeadmConfigTemplate";
        let group = "bootstrap.cluster.x-k8s.io";
        let mut workers = scene.cluster.machine_deployment("workers", 1, "workers");
        workers["spec"]["template"]["spec"]["bootstrap"] =
            json!({"configRef": {"apiGroup": group, "kind": kind, "name": "workers"}});
        scene.apply(&[
            json!({
                "apiVersion": format!("{group}/v1beta2"), "kind": kind,
                "metadata": {"name": "workers"},
                "spec": {"template": {"spec": {"joinConfiguration": {"nodeRegistration": {
                    "kubeletExtraArgs": [{"name": "node-labels", "value": "metal3.io/uuid={{ ds.meta_data.uuid }}"}],
                }}}}},
            }),
            workers,
        ]);
        let hosts = scene.until_control_plane_rolled();
        assert_eq!(hosts.len(), 3);
        assert_eq!(scene.until_rolled("workers").len(), 1);

        scene.roll_to("kubeadmcontrolplane", &scene.cluster.name, "v2");
        assert_eq!(scene.until_control_plane_rolled(), hosts);
        assert_eq!(scene.pools_that_kept_hosts(), BTreeSet::from(["cp-kubeadm".to_owned()]));
    });
}
