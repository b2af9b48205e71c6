//! Which pool a Machine belongs to: that of its control plane or of its MachineDeployment. One without shares hosts with nobody.

use crate::{
    api::cluster_api::{CONTROL_PLANE_GROUP, DEPLOYMENT_NAME, GROUP, Machine, owner},
    domain::node_reuse::Pool,
};

/// The pool of a Machine.
#[must_use]
pub fn pool_of(machine: &Machine) -> Option<Pool> {
    let metadata = &machine.metadata;
    if let Some(owner) = owner(metadata, CONTROL_PLANE_GROUP, None) {
        return Some(Pool::ControlPlane(owner.name.clone()));
    }
    owner(metadata, GROUP, Some("MachineSet"))?;
    let deployment = metadata.labels.as_ref()?.get(DEPLOYMENT_NAME)?;
    Some(Pool::MachineDeployment(deployment.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
    use rstest::rstest;

    #[rstest]
    #[case::control_plane(
        "controlplane.cluster.x-k8s.io/v1beta2",
        "KubeadmControlPlane",
        None,
        Some(Pool::ControlPlane("it".into()))
    )]
    #[case::deployment(
        "cluster.x-k8s.io/v1beta2",
        "MachineSet",
        Some("pool1"),
        Some(Pool::MachineDeployment("pool1".into()))
    )]
    #[case::machine_set_alone("cluster.x-k8s.io/v1beta2", "MachineSet", None, None)]
    #[case::machine_alone("cluster.x-k8s.io/v1beta2", "Cluster", Some("pool1"), None)]
    fn machines_not_owned_by_higher_level_objects_like_kcp_or_md_share_with_nobody(
        #[case] api_version: &str,
        #[case] kind: &str,
        #[case] deployment: Option<&str>,
        #[case] expected: Option<Pool>,
    ) {
        let mut machine = Machine::default();
        machine.metadata.owner_references = Some(vec![OwnerReference {
            api_version: api_version.into(),
            kind: kind.into(),
            name: "it".into(),
            ..OwnerReference::default()
        }]);
        machine.metadata.labels =
            deployment.map(|it| [(DEPLOYMENT_NAME.to_owned(), it.to_owned())].into());
        assert_eq!(pool_of(&machine), expected);
    }
}
