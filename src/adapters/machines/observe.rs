//! Reads what a decision depends on, and only what it does depend on: a machine at rest costs two reads now and then.

use anyhow::{Context, Result};
use kube::{Api, ResourceExt, runtime::reflector::ObjectRef};

use super::reconcile::{Left, Reconciler};
use crate::{
    adapters::clock,
    api::{
        BareMetalHost, Metal3Cluster, Metal3Machine, Metal3MachineTemplate,
        cluster_api::{self, CLUSTER_NAME, Cluster, GROUP, Machine},
    },
    controllers::{
        host::observed::state,
        host_choice::{Choice, MachineId, Wish, selector::Selector, selector::SelectorError},
        machine::{
            node::{Description, Found, provider_id},
            observed::{Host, Observed, Reuse},
            plan::HOST,
            pool::pool_of,
        },
        machine_template::template_of,
    },
    domain::provisioning_state::ProvisioningState as State,
};

impl Reconciler {
    /// All that a decision about this machine depends on.
    pub(super) async fn observe(&self, machine: Metal3Machine, left: Left) -> Result<Observed> {
        let namespace = machine.namespace().unwrap_or_default();
        let owner = cluster_api::owner(&machine.metadata, GROUP, Some("Machine"));
        let owner = owner.and_then(|it| stored(&self.owners, &namespace, &it.name));
        let cluster = self.cluster(&machine, owner.as_ref());
        let infrastructure = cluster.as_ref().and_then(|it| self.infrastructure(it));
        let mut seen = Observed {
            host: Host::None(None),
            now: clock::now(),
            template_mode: None,
            reuse: None,
            node: Found::Unasked,
            settings: self.settings,
            is_reused: left.is_reused,
            refusal: left.refusal,
            owner,
            cluster,
            infrastructure,
            machine,
        };
        seen.host = self.host(&seen, left.host).await?;
        match &seen.host {
            Host::Has(_) if seen.is_being_deleted() => {
                let template = self.template(&seen.machine).await?;
                let spec = template.as_ref().map(|it| &it.spec);
                seen.template_mode = spec.and_then(|it| it.template.spec.automated_cleaning_mode);
                let own = spec.is_some_and(|it| it.node_reuse == Some(true));
                seen.reuse = self.reuse(&seen, own).await?;
            }
            Host::Has(host) => seen.node = self.node(&seen, host),
            Host::None(_) | Host::Gone(_) | Host::Lost(_) => {}
        }
        Ok(seen)
    }

    fn cluster(&self, machine: &Metal3Machine, owner: Option<&Machine>) -> Option<Cluster> {
        let labelled = machine.labels().get(CLUSTER_NAME).cloned();
        let name = labelled.or_else(|| owner.map(|it| it.spec.cluster_name.clone()))?;
        stored(&self.clusters, &machine.namespace().unwrap_or_default(), &name)
    }

    fn infrastructure(&self, cluster: &Cluster) -> Option<Metal3Cluster> {
        let reference = cluster.spec.infrastructure_ref.as_ref()?;
        let namespace = cluster.namespace().unwrap_or_default();
        stored(&self.infrastructures, &namespace, &reference.name)
    }

    /// Its host: the one that it was written down to have, or else the one that says so.
    async fn host(&self, seen: &Observed, left: Option<BareMetalHost>) -> Result<Host> {
        let machine = &seen.machine;
        let id = id(machine);
        let written = machine.annotations().get(HOST);
        let name = if let Some(name) = written.and_then(|it| it.rsplit('/').next()) {
            name.to_owned()
        } else {
            let choice = wish(seen)
                .map(|wish| self.fleet.ask(|hosts| hosts.choose(&wish, seen.now, self.patience)));
            match choice {
                Ok(Choice::Has(host)) => host.name,
                choice => return Ok(Host::None(Some(choice))),
            }
        };
        let host = if let Some(host) = left.filter(|it| it.name_any() == name) {
            Some(host)
        } else {
            let api: Api<BareMetalHost> = Api::namespaced(self.client.clone(), &id.namespace);
            let found = api.get_opt(&name).await;
            found.with_context(|| format!("could not read host {name}"))?
        };
        Ok(match host {
            None => Host::Gone(name),
            Some(host) if is_consumer(&host, &id) => Host::Has(Box::new(host)),
            Some(_) => Host::Lost(name),
        })
    }

    /// Has it wait in line. False if there is a host to be had by now, which nobody would tell it of.
    pub(super) fn queue(&self, seen: &Observed) -> bool {
        let Ok(wish) = wish(seen) else { return true };
        let (is_waiting, woken) =
            self.fleet.ask(|hosts| match hosts.choose(&wish, clock::now(), self.patience) {
                Choice::Await { .. } | Choice::Nothing(_) => (true, hosts.wait(wish)),
                Choice::Has(_) | Choice::Take(_) => (false, None),
            });
        self.fleet.wake_all(woken);
        is_waiting
    }

    async fn template(&self, machine: &Metal3Machine) -> Result<Option<Metal3MachineTemplate>> {
        let Some(name) = template_of(machine) else { return Ok(None) };
        self.template_named(&machine.namespace().unwrap_or_default(), name).await
    }

    async fn template_named(
        &self,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Metal3MachineTemplate>> {
        // Not from a store: a rollout that begins with an edit of the template is to find it edited.
        let api: Api<Metal3MachineTemplate> = Api::namespaced(self.client.clone(), namespace);
        let found = api.get_opt(name).await;
        found.with_context(|| format!("could not read Metal3MachineTemplate {name}"))
    }

    /// Its pool. For workers the template that they were made from says whether hosts are reused, for a control plane that which it has now.
    async fn reuse(&self, seen: &Observed, own: bool) -> Result<Option<Reuse>> {
        let Some(pool) = seen.owner.as_ref().and_then(pool_of) else { return Ok(None) };
        let namespace = seen.machine.namespace().unwrap_or_default();
        let owner = self.pool_owner(&namespace, &pool, seen.cluster.as_ref()).await?;
        let is_wanted = match owner.as_ref().and_then(|it| it.template.as_deref()) {
            Some(template) => {
                let template = self.template_named(&namespace, template).await?;
                template.is_some_and(|it| it.spec.node_reuse == Some(true))
            }
            None => own,
        };
        let goes_on = owner.is_some_and(|it| !it.is_leaving);
        Ok(Some(Reuse { pool, is_wanted, goes_on }))
    }

    /// Its Node, until Cluster API has found it.
    fn node(&self, seen: &Observed, host: &BareMetalHost) -> Found {
        let machine = id(&seen.machine);
        let is_provisioned = host.status.as_ref().and_then(state) == Some(State::Provisioned);
        let is_found = seen.owner.as_ref().is_some_and(|it| it.node().is_some());
        let (Some(cluster), true, false) = (&seen.cluster, is_provisioned, is_found) else {
            self.workloads.forget(&machine);
            return Found::Unasked;
        };
        let host_name = host.name_any();
        let provider_id = provider_id(&machine.namespace, &host_name, &machine.name);
        let hardware = host.status.as_ref().and_then(|it| it.hardware.as_ref());
        let names: Vec<_> = hardware
            .and_then(|it| it.hostname.as_deref())
            .into_iter()
            .chain([host_name.as_str()])
            .collect();
        let uid = host.uid().unwrap_or_default();
        let of = Description { provider_id: &provider_id, host_uid: &uid, names: &names };
        self.workloads.look(&machine, &cluster.name_any(), &of)
    }
}

/// What a machine wants of a host.
fn wish(seen: &Observed) -> Result<Wish, SelectorError> {
    let machine = &seen.machine;
    Ok(Wish {
        machine: id(machine),
        selector: Selector::read(machine.spec.host_selector.as_ref())?,
        failure_domain: machine.spec.failure_domain.clone(),
        pool: seen.owner.as_ref().and_then(pool_of),
        cluster: seen.cluster.as_ref().map(ResourceExt::name_any).unwrap_or_default(),
        since: machine.creation_timestamp().map_or(seen.now, |it| it.0),
    })
}

pub(super) fn stored<K>(
    store: &kube::runtime::reflector::Store<K>,
    namespace: &str,
    name: &str,
) -> Option<K>
where
    K: kube::Resource<DynamicType = ()> + Clone + 'static,
{
    store.get(&ObjectRef::new(name).within(namespace)).map(|it| (*it).clone())
}

pub(super) fn id(machine: &Metal3Machine) -> MachineId {
    MachineId { namespace: machine.namespace().unwrap_or_default(), name: machine.name_any() }
}

/// Whether a host says that it is this machine's. By name: the uid is another where it was moved to.
fn is_consumer(host: &BareMetalHost, machine: &MachineId) -> bool {
    host.spec.consumer_ref.as_ref().is_some_and(|it| {
        let group = it.api_version.as_deref().and_then(|it| it.split_once('/'));
        it.kind.as_deref() == Some("Metal3Machine")
            && it.name.as_ref() == Some(&machine.name)
            && it.namespace.as_ref().is_none_or(|its| *its == machine.namespace)
            && group.is_some_and(|(group, _)| group == "infrastructure.cluster.x-k8s.io")
    })
}
