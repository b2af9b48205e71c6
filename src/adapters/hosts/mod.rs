//! Keeps hosts as they should be: carries out what [`controllers::host`](crate::controllers::host) decides. Done by one replica.

mod apply;
mod followed;
mod ledger;
mod metal3_metrics;
mod metrics;
mod observe;
mod reconcile;

use std::{sync::Arc, time::Duration};

use futures::StreamExt;
use k8s_openapi::api::core::v1::Secret;
use kube::{
    Api, Client,
    runtime::{
        Controller, WatchStreamExt,
        controller::{self, Action},
        reflector::{ObjectRef, Store, store::Writer},
        watcher,
    },
};
use tokio::sync::mpsc;
use tokio_stream::wrappers::UnboundedReceiverStream;

pub use self::metrics::{COUNT, Metrics};
use self::{
    followed::{Followed, place, resource, whatever_wakes},
    ledger::Ledger,
    reconcile::Reconciler,
};
use crate::{
    adapters::{
        discovery::Forgotten, events::Events, other_operator::BAREMETAL_OPERATOR,
        uniqueness::Occupants,
    },
    controllers::host::{observed::Settings, provisioner::Provisioner},
};

/// How many hosts are read at one time.
const PAGE: u32 = 500;
/// How many are worked on at one time. An operation waits for a BMC now and then.
const AT_ONCE: u16 = 32;
/// How soon a pass is tried again that could not be made.
const AFTER_ERROR: Duration = Duration::from_secs(5);
/// Metal3's label on the Secrets of BMCs.
const SECRET_LABEL: (&str, &str) = ("environment.metal3.io", "baremetal");
/// Who writes.
const FIELD_MANAGER: &str = "ironward-host";

/// What hosts are kept with.
#[derive(Clone)]
pub struct Keeper {
    /// The cluster.
    pub client: Client,
    /// What this replica is called in events.
    pub replica: String,
    /// Who does things to machines.
    pub provisioner: Arc<dyn Provisioner>,
    /// Who has which addresses, if uniqueness is guarded here.
    pub occupants: Option<Arc<Occupants>>,
    /// The machines that are not to be discovered again.
    pub forgotten: Forgotten,
    /// How many hosts may be inspected, provisioned or deprovisioned at one time.
    pub provisioning_limit: usize,
    /// What people have set for all hosts.
    pub settings: Settings,
    /// What is counted.
    pub metrics: Metrics,
}

impl Keeper {
    /// Keeps hosts for as long as it runs, and nobody else does.
    pub async fn keep(self) {
        let client = self.client.clone();
        BAREMETAL_OPERATOR.work_without(&client, || self.clone().work()).await;
    }

    async fn work(self) {
        let hosts: Api<Followed> = Api::all_with(self.client.clone(), &resource());
        let secrets: Api<Secret> = Api::all(self.client.clone());
        let (label, value) = SECRET_LABEL;
        let of_bmcs = watcher::Config::default().labels(&format!("{label}={value}"));
        let (wake, woken) = mpsc::unbounded_channel();
        let ledger = Arc::new(Ledger::new(self.provisioning_limit, wake));

        let (reader, stream) = follow(hosts, Arc::clone(&ledger));
        let _told = self.metrics.fleet.is(reader.clone());
        let changes = self.provisioner.changes().map(|it| ledger::Name::from(&it));
        let woken = futures::stream::select(UnboundedReceiverStream::new(woken), changes);
        let woken = woken.map(|name| name.reference());
        let config = controller::Config::default().concurrency(AT_ONCE);
        let reconciler = Arc::new(self.reconciler(ledger));
        Controller::for_stream_with(stream, reader, resource())
            .with_config(config)
            .owns(secrets, of_bmcs)
            .reconcile_on(woken)
            .run(reconcile, error_policy, reconciler)
            .for_each(async |result| {
                if let Err(error) = result {
                    tracing::debug!(%error, "a pass was not made");
                }
            })
            .await;
    }

    fn reconciler(self, ledger: Arc<Ledger>) -> Reconciler {
        Reconciler {
            events: Events::new(self.client.clone(), &self.replica),
            client: self.client,
            provisioner: self.provisioner,
            occupants: self.occupants,
            forgotten: self.forgotten,
            ledger,
            settings: self.settings,
            metrics: self.metrics,
        }
    }
}

/// The hosts of the cluster, and what of them is worth a pass.
fn follow(
    hosts: Api<Followed>,
    ledger: Arc<Ledger>,
) -> (Store<Followed>, impl futures::Stream<Item = Result<Followed, watcher::Error>> + Send) {
    let writer = Writer::new(resource());
    let reader = writer.as_reader();
    let config = watcher::Config::default().page_size(PAGE);
    let stream = watcher(hosts, config)
        .default_backoff()
        .modify(forget_the_bulk)
        .reflect(writer)
        .inspect(move |event| match event {
            Ok(watcher::Event::Init) => ledger.begin_list(),
            Ok(watcher::Event::InitApply(host) | watcher::Event::Apply(host)) => {
                ledger.note(&host.metadata, place(host));
            }
            Ok(watcher::Event::Delete(host)) => ledger.forget(&host.metadata),
            Ok(watcher::Event::InitDone) => ledger.end_list(),
            Err(error) => tracing::warn!(%error, "the hosts cannot be followed"),
        })
        .applied_objects()
        .predicate_filter(whatever_wakes, kube::runtime::PredicateConfig::default());
    (reader, stream)
}

/// What nobody here looks at, and what others write much into.
fn forget_the_bulk(host: &mut Followed) {
    host.metadata.managed_fields = None;
    if let Some(annotations) = &mut host.metadata.annotations {
        annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
    }
}

async fn reconcile(host: Arc<Followed>, reconciler: Arc<Reconciler>) -> Result<Action, Error> {
    let reference = ObjectRef::from_obj_with(&*host, resource());
    let namespace = reference.namespace.clone().unwrap_or_default();
    reconciler.counted_pass(&namespace, &reference.name).await.map_err(|error| {
        tracing::warn!(host = %format!("{namespace}/{}", reference.name), error = format!("{error:#}"), "a pass was not made");
        Error
    })
}

/// It was logged, with its causes, where it was found.
#[derive(Debug, thiserror::Error)]
#[error("a pass was not made")]
struct Error;

#[allow(clippy::needless_pass_by_value, reason = "the signature is kube's")]
fn error_policy(_: Arc<Followed>, _: &Error, _: Arc<Reconciler>) -> Action {
    Action::requeue(AFTER_ERROR)
}
