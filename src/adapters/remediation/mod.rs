//! Remediates machines: carries out what [`controllers::remediation`](crate::controllers::remediation) decides. Done by one replica.
//!
//! A remediation is looked at when it, its Machine, its host or its Node changes, when a place becomes free, and when a deadline is over;
//! nothing is asked again and again.

mod act;
mod followed;
mod history;
mod machines;
mod marks;
mod metrics;
mod observe;
mod places;
mod reconcile;
mod workload;

use std::{sync::Arc, time::Duration};

use futures::StreamExt;
use kube::{
    Api, Client,
    api::PartialObjectMeta,
    runtime::{
        Controller, WatchStreamExt,
        controller::{self, Action},
        reflector::{ObjectRef, Store, store::Writer},
        watcher,
    },
};
use tokio::sync::mpsc;
use tokio_stream::wrappers::UnboundedReceiverStream;

pub use self::metrics::Metrics;
use self::{followed::Followed, places::Places, reconcile::Reconciler, workload::Workloads};
use crate::{
    adapters::{events::Events, other_operator::METAL3_REMEDIATION},
    api::{Metal3Remediation, cluster_api::Machine},
    controllers::remediation::storm::Limit,
};

/// How many objects are read at one time.
const PAGE: u32 = 500;
/// How many remediations are worked on at one time. A pass waits for a cluster that does not answer now and then.
const AT_ONCE: u16 = 64;
/// How soon a pass is tried again that could not be made.
const AFTER_ERROR: Duration = Duration::from_secs(5);
/// Who writes.
const FIELD_MANAGER: &str = "ironward-remediation";

/// What machines are remediated with.
#[derive(Clone)]
pub struct Keeper {
    /// The cluster.
    pub client: Client,
    /// What this replica is called in events.
    pub replica: String,
    /// How many hosts of a Cluster may be remediated at one time, if people have said.
    pub limit: Option<Limit>,
    /// What is counted.
    pub metrics: Metrics,
}

impl Keeper {
    /// Remediates for as long as it runs, and nobody else does.
    pub async fn keep(self) {
        let client = self.client.clone();
        let work = || {
            let keeper = self.clone();
            async move {
                let remember = marks::remember(keeper.client.clone());
                tokio::select! {
                    () = keeper.work() => {}
                    () = remember => {}
                }
            }
        };
        METAL3_REMEDIATION.work_without(&client, work).await;
    }

    async fn work(self) {
        let (wake, woken) = mpsc::unbounded_channel();
        let places = Arc::new(Places::new(wake));
        let writer = Writer::<Metal3Remediation>::default();
        let reader = writer.as_reader();
        let workloads = Workloads::new(self.client.clone(), Arc::clone(&places));
        let workloads = Arc::new(workloads);
        let stream = follow(&self.client, writer, reader.clone(), &places, &workloads);
        let reconciler = Arc::new(Reconciler {
            events: Events::new(self.client.clone(), &self.replica),
            remediations: reader.clone(),
            places: Arc::clone(&places),
            workloads,
            clusters: machines::Clusters::default(),
            limit: self.limit,
            metrics: self.metrics,
            client: self.client.clone(),
        });
        let hosts: Api<Followed> = Api::all_with(self.client.clone(), &followed::resource());
        let machines: Api<PartialObjectMeta<Machine>> = Api::all(self.client);
        let config = watcher::Config::default().page_size(PAGE);
        let of_host = move |host: Followed| places.of_host(&host.metadata);
        let known = reader.clone();
        Controller::for_stream(stream, reader)
            .with_config(controller::Config::default().concurrency(AT_ONCE))
            .watches_with(hosts, followed::resource(), config.clone(), of_host)
            // A remediation has the name of its Machine.
            .watches(machines, config, move |machine: PartialObjectMeta<Machine>| {
                let reference = named(&machine.metadata);
                known.get(&reference).map(|_| reference)
            })
            .reconcile_on(UnboundedReceiverStream::new(woken))
            .run(reconcile, error_policy, reconciler)
            .for_each(async |result| {
                if let Err(error) = result {
                    tracing::debug!(%error, "a pass was not made");
                }
            })
            .await;
    }
}

/// The remediations of the cluster. Whoever waits is woken when one of them is gone, and what was kept for it is let go.
fn follow(
    client: &Client,
    writer: Writer<Metal3Remediation>,
    reader: Store<Metal3Remediation>,
    places: &Arc<Places>,
    workloads: &Arc<Workloads>,
) -> impl futures::Stream<Item = Result<Metal3Remediation, watcher::Error>> + Send + use<> {
    let (places, workloads) = (Arc::clone(places), Arc::clone(workloads));
    let config = watcher::Config::default().page_size(PAGE);
    watcher(Api::<Metal3Remediation>::all(client.clone()), config)
        .default_backoff()
        .modify(|remediation| remediation.metadata.managed_fields = None)
        .reflect(writer)
        .inspect(move |event| match event {
            Ok(watcher::Event::Delete(gone)) => {
                places.forget(&gone.metadata, &reader);
                workloads.keep_only(&reader);
            }
            Ok(watcher::Event::InitDone) => workloads.keep_only(&reader),
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "the remediations cannot be followed"),
        })
        .applied_objects()
}

/// The remediation of this name.
fn named(metadata: &kube::api::ObjectMeta) -> ObjectRef<Metal3Remediation> {
    let name = metadata.name.as_deref().unwrap_or_default();
    ObjectRef::new(name).within(metadata.namespace.as_deref().unwrap_or_default())
}

async fn reconcile(
    remediation: Arc<Metal3Remediation>,
    reconciler: Arc<Reconciler>,
) -> Result<Action, Error> {
    let name = named(&remediation.metadata);
    reconciler.counted_pass(&remediation.metadata).await.map_err(|error| {
        tracing::warn!(remediation = %name, error = format!("{error:#}"), "a pass was not made");
        Error
    })
}

/// It was logged, with its causes, where it was found.
#[derive(Debug, thiserror::Error)]
#[error("a pass was not made")]
struct Error;

#[allow(clippy::needless_pass_by_value, reason = "the signature is kube's")]
fn error_policy(_: Arc<Metal3Remediation>, _: &Error, _: Arc<Reconciler>) -> Action {
    Action::requeue(AFTER_ERROR)
}
