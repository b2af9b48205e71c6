//! Follows all that a machine depends on, and has it looked at when some of it changes.

use std::sync::Arc;

use futures::StreamExt;
use kube::{
    ResourceExt,
    runtime::{
        Controller,
        controller::{self, Action},
        reflector::{ObjectRef, Store},
    },
};
use tokio::sync::mpsc;
use tokio_stream::wrappers::UnboundedReceiverStream;

use super::{
    AFTER_ERROR, AT_ONCE, Error, Keeper,
    fleet::Fleet,
    following::{follow, hash},
    reconcile::Reconciler,
    reservations,
    workload::{UntilDropped, Workloads},
};
use crate::{
    api::{
        Metal3Cluster, Metal3Machine,
        cluster_api::{CLUSTER_NAME, Cluster, Machine},
    },
    controllers::host_choice::MachineId,
};

pub(super) async fn keep(keeper: Keeper) {
    let client = keeper.client.clone();
    let (wake, woken) = mpsc::unbounded_channel();
    let (set_aside, reserved) = mpsc::unbounded_channel();
    let fleet = Arc::new(Fleet::new(wake, set_aside));
    // Not their status, which is ours.
    let (own, own_changes) = follow::<Metal3Machine, _>(client.clone(), |it| {
        let metadata = &it.metadata;
        let owners: Vec<_> = it.owner_references().iter().map(|it| it.uid.clone()).collect();
        let is_leaving = metadata.deletion_timestamp.is_some();
        let marks = (&metadata.labels, &metadata.annotations, &metadata.finalizers);
        hash((&metadata.uid, metadata.generation, marks, owners, is_leaving))
    });
    let (owners, owner_changes) = follow::<Machine, _>(client.clone(), |it| {
        let spec = &it.spec;
        let conditions = (it.node(), it.is_outdated(), it.metadata.deletion_timestamp.is_some());
        let bootstrap = &spec.bootstrap.data_secret_name;
        hash((it.uid(), &spec.infrastructure_ref.name, bootstrap, &spec.failure_domain, conditions))
    });
    let (clusters, cluster_changes) = follow::<Cluster, _>(client.clone(), |it| {
        let is_leaving = it.metadata.deletion_timestamp.is_some();
        hash((it.uid(), it.is_paused(), it.is_infrastructure_provisioned(), is_leaving))
    });
    let (infrastructures, infrastructure_changes) =
        follow::<Metal3Cluster, _>(client.clone(), |it| {
            hash((it.uid(), it.spec.cloud_provider_enabled, it.labels().get(CLUSTER_NAME)))
        });

    let workloads = Arc::new(Workloads::new(client, Arc::clone(&fleet)));
    let _followed = UntilDropped(Arc::clone(&workloads));
    let reconciler = Arc::new(Reconciler {
        events: keeper.events(),
        client: keeper.client,
        fleet: Arc::clone(&fleet),
        owners,
        clusters,
        infrastructures,
        workloads,
        patience: keeper.patience,
        settings: keeper.settings,
        metrics: keeper.metrics,
    });
    let woken = UnboundedReceiverStream::new(woken);
    let woken = woken.map(|id: MachineId| ObjectRef::new(&id.name).within(&id.namespace));
    let (of_cluster, of_infrastructure) = (own.clone(), own.clone());
    let kept = Controller::for_stream(own_changes, own)
        .with_config(controller::Config::default().concurrency(AT_ONCE))
        .reconcile_on(woken)
        .watches_stream(owner_changes, |owner: Machine| {
            let infrastructure = &owner.spec.infrastructure_ref;
            let namespace = owner.namespace().unwrap_or_default();
            (infrastructure.kind == "Metal3Machine")
                .then(|| ObjectRef::new(&infrastructure.name).within(&namespace))
        })
        .watches_stream(cluster_changes, move |cluster: Cluster| {
            of(&of_cluster, cluster.metadata.namespace.as_deref(), &cluster.name_any())
        })
        .watches_stream(infrastructure_changes, move |cluster: Metal3Cluster| {
            let name = cluster.labels().get(CLUSTER_NAME).cloned().unwrap_or_default();
            of(&of_infrastructure, cluster.metadata.namespace.as_deref(), &name)
        })
        .run(reconcile, |_, _, _| Action::requeue(AFTER_ERROR), Arc::clone(&reconciler))
        .for_each(async |_| {});
    let followed = fleet.follow(reconciler.client.clone());
    futures::future::join3(kept, followed, reservations::keep(&reconciler, reserved)).await;
}

/// The machines of a cluster.
fn of(
    machines: &Store<Metal3Machine>,
    namespace: Option<&str>,
    cluster: &str,
) -> Vec<ObjectRef<Metal3Machine>> {
    let all = machines.state().into_iter();
    all.filter(|it| {
        it.metadata.namespace.as_deref() == namespace
            && it.labels().get(CLUSTER_NAME).is_some_and(|its| its == cluster)
    })
    .map(|it| ObjectRef::from_obj(&*it))
    .collect()
}

async fn reconcile(
    machine: Arc<Metal3Machine>,
    reconciler: Arc<Reconciler>,
) -> Result<Action, Error> {
    let (namespace, name) = (machine.namespace().unwrap_or_default(), machine.name_any());
    let made = reconciler.counted_pass(&namespace, &name).await;
    made.map_err(|error| Error::logged("Metal3Machine", &namespace, &name, &error))
}
