//! Which Metal3Metadata are looked at because of what has changed elsewhere: machines, their Secrets, and what templates show of hosts and
//! Machines.

use futures::{Stream, StreamExt, stream};
use k8s_openapi::api::core::v1::Secret;
use kube::{
    Api, Client, ResourceExt,
    api::PartialObjectMeta,
    runtime::{
        WatchStreamExt,
        reflector::{ObjectRef, Store, store::Writer},
        watcher::{self, Event},
    },
};

use super::{
    PAGE,
    changes::changes,
    followed::{
        Followed, FollowedHost, FollowedMachine, consumer, hosts, link, machines, resource,
        what_counts_of_a_host, what_counts_of_a_machine, what_counts_of_metadata,
    },
};
use crate::{
    api::cluster_api::Machine, domain::metadata::SECRET_TYPE, template::metadata::Templates,
};

type Reference = ObjectRef<Followed>;

/// Follows all of them: the machines as they are known, and whom to look at.
pub(super) fn up(
    client: &Client,
    all: Store<Followed>,
) -> (Store<FollowedMachine>, impl Stream<Item = Reference> + Send + use<>) {
    let (known, by_machines) = by_machines(client, all.clone());
    let by_hosts = by_hosts(client, all.clone(), known.clone());
    let by_owners = by_owners(client, all, known.clone());
    let woken =
        [by_machines.boxed(), by_secrets(client).boxed(), by_hosts.boxed(), by_owners.boxed()];
    (known, stream::select_all(woken))
}

fn by_machines(
    client: &Client,
    all: Store<Followed>,
) -> (Store<FollowedMachine>, impl Stream<Item = Reference> + Send + use<>) {
    let writer = Writer::new(machines());
    let known = writer.as_reader();
    let api: Api<FollowedMachine> = Api::all_with(client.clone(), &machines());
    let watched = watcher::watcher(api, config())
        .default_backoff()
        .modify(|it| it.metadata.managed_fields = None)
        .reflect(writer);
    let changed = changes("Metal3Machine", watched, what_counts_of_a_machine);
    let woken = changed.filter_map(async |it| it.ok()).flat_map(move |machine| {
        let namespace = machine.namespace().unwrap_or_default();
        // Who asks for none may have asked for one before, or be named in a status.
        let concerned = match link(&machine) {
            Some((_, name)) => vec![reference(&namespace, name)],
            None => in_namespace(&all, &namespace),
        };
        stream::iter(concerned)
    });
    (known, woken)
}

fn by_secrets(client: &Client) -> impl Stream<Item = Reference> + Send + use<> {
    let api: Api<PartialObjectMeta<Secret>> = Api::all(client.clone());
    let of_type = config().fields(&format!("type={SECRET_TYPE}"));
    watcher::watcher(api, of_type).default_backoff().flat_map(|event| {
        let secret = match event {
            Ok(Event::InitApply(it) | Event::Apply(it) | Event::Delete(it)) => Some(it),
            Ok(Event::Init | Event::InitDone) => None,
            Err(error) => {
                tracing::warn!(%error, "the Secrets with metadata cannot be followed");
                None
            }
        };
        stream::iter(secret.iter().flat_map(owners).collect::<Vec<_>>())
    })
}

fn owners(secret: &PartialObjectMeta<Secret>) -> Vec<Reference> {
    let namespace = secret.namespace().unwrap_or_default();
    let owners = secret.owner_references().iter().filter(|it| it.kind == resource().kind);
    owners.map(|it| reference(&namespace, &it.name)).collect()
}

fn by_hosts(
    client: &Client,
    all: Store<Followed>,
    known: Store<FollowedMachine>,
) -> impl Stream<Item = Reference> + Send + use<> {
    let api: Api<FollowedHost> = Api::all_with(client.clone(), &hosts());
    let watched = watcher::watcher(api, config()).default_backoff();
    let changed = changes("BareMetalHost", watched, what_counts_of_a_host);
    changed.filter_map(move |host| {
        let woken = host.ok().and_then(|host| {
            let (namespace, name) = consumer(&host)?;
            let machine = ObjectRef::new_with(name, machines()).within(namespace);
            concerned(&all, &*known.get(&machine)?, Templates::speak_of_the_host)
        });
        std::future::ready(woken)
    })
}

/// By the Machines of Cluster API. Where that is not installed there are none, and its kind cannot be followed.
fn by_owners(
    client: &Client,
    all: Store<Followed>,
    known: Store<FollowedMachine>,
) -> impl Stream<Item = Reference> + Send + use<> {
    let api: Api<PartialObjectMeta<Machine>> = Api::all(client.clone());
    let watched = watcher::watcher(api, config()).default_backoff();
    let changed = changes("Machine", watched, what_counts_of_metadata);
    changed.filter_map(async |it| it.ok()).flat_map(move |owner| {
        let is_its = |machine: &FollowedMachine| {
            machine.namespace() == owner.namespace()
                && machine.owner_references().iter().any(|it| Some(&it.uid) == owner.uid().as_ref())
        };
        let owned = known.state().into_iter().filter(|it| is_its(it));
        let of_templates = Templates::speak_of_the_machine;
        let woken = owned.filter_map(|it| concerned(&all, &it, of_templates));
        stream::iter(woken.collect::<Vec<_>>())
    })
}

/// The Metal3Metadata of a machine, if its templates can show what has changed.
fn concerned(
    all: &Store<Followed>,
    machine: &FollowedMachine,
    is_shown: impl Fn(&Templates) -> bool,
) -> Option<Reference> {
    let (_, name) = link(machine)?;
    let reference = reference(&machine.namespace()?, name);
    let metadata = all.get(&reference)?;
    is_shown(&Templates::parse(&metadata.spec.meta_data)).then_some(reference)
}

fn in_namespace(all: &Store<Followed>, namespace: &str) -> Vec<Reference> {
    let here = all.state().into_iter().filter(|it| it.namespace().as_deref() == Some(namespace));
    here.map(|it| reference(namespace, &it.name_any())).collect()
}

fn reference(namespace: &str, name: &str) -> Reference {
    ObjectRef::new_with(name, resource()).within(namespace)
}

fn config() -> watcher::Config {
    watcher::Config::default().page_size(PAGE)
}
