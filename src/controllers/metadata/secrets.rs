//! What is to be written to Secrets and machines, once the indexes are recorded.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::Resource;

use super::{
    conditions::Problem,
    indexes::{Assigned, is_given, is_shared, secret_of},
    observed::{Machine, Secret, is_kind, is_machine},
    plan::{FINALIZER, Version, Write},
    rendered::{Rendered, Renderer, digest},
    view::View,
};
use crate::{
    api::{Metal3Machine, Metal3Metadata, cluster_api::CLUSTER_NAME},
    controllers::host::hidden::Hidden,
    domain::metadata::SecretName,
};

/// What there is to do, what stands in the way of it, and which machine has which Secret.
#[derive(Default)]
pub(super) struct Work {
    pub rows: Vec<Vec<Write>>,
    pub problems: Vec<Problem>,
    pub secrets: BTreeMap<String, SecretName>,
}

pub(super) fn work(view: &View<'_>, assigned: &Assigned<'_>) -> Work {
    let mut work = Work::default();
    let renderer = Renderer::new(&view.seen.metadata.spec.meta_data);
    for (name, index) in &assigned.of {
        let Some(machine) = view.machines.get(name) else { continue };
        if machine.link.is_some() && !is_given(view, machine) {
            work.serve(view, &renderer, machine, *index);
        }
    }
    for machine in view.machines.values().filter(|it| it.link.is_some() && it.is_paused) {
        if machine.refers_to.is_none() && !assigned.of.contains_key(machine.name.as_str()) {
            work.problems.push(Problem::Paused { machine: machine.name.clone() });
        }
    }
    for (name, (index, other)) in &assigned.duplicates {
        work.problems.push(Problem::Duplicate {
            machine: (*name).to_owned(),
            index: *index,
            other: other.clone(),
        });
    }
    for secret in view.secrets() {
        work.release(view, assigned, secret);
    }
    work
}

impl Work {
    fn serve(&mut self, view: &View<'_>, renderer: &Renderer, machine: &Machine, index: u32) {
        let secret = secret_of(view, machine, index);
        if let Some(secret) = secret {
            self.secrets.insert(machine.name.clone(), secret.name.clone());
        }
        if machine.is_being_deleted {
            return;
        }
        let content = match renderer.render(&machine.node, index) {
            Rendered::Content(content) => Some(content),
            Rendered::WaitsForHost => {
                self.problems.push(Problem::WaitsForHost { machine: machine.name.clone() });
                None
            }
            Rendered::WaitsForMachine => {
                self.problems.push(Problem::WaitsForMachine { machine: machine.name.clone() });
                None
            }
            Rendered::Failed(failed) => {
                self.problems.extend(failed.into_iter().map(|(key, why)| Problem::Fails {
                    machine: machine.name.clone(),
                    key,
                    why,
                }));
                None
            }
        };
        if machine.is_paused {
            let held = secret.and_then(|it| it.digest);
            let wanted = content.map(|it| digest(it.as_bytes()));
            if wanted != held || machine.refers_to.is_none() {
                self.problems.push(Problem::Paused { machine: machine.name.clone() });
            }
            return;
        }
        match secret {
            None => self.create(view, machine, index, content),
            // Somebody has deleted it: it is let go, and made anew.
            Some(secret) if secret.is_being_deleted => {
                if secret.is_settled() {
                    self.rows.push(vec![let_go(secret, secret.owners.clone())]);
                } else {
                    self.problems.push(Problem::Lingers { secret: secret.name.to_string() });
                }
            }
            Some(secret) => self.settle(view, machine, secret, content),
        }
    }

    fn create(&mut self, view: &View<'_>, machine: &Machine, index: u32, content: Option<String>) {
        let name = match SecretName::new(&machine.name, index) {
            Ok(name) => name,
            Err(error) => {
                let (machine, why) = (machine.name.clone(), error.to_string());
                return self.problems.push(Problem::NoName { machine, why });
            }
        };
        let text = name.to_string();
        if view.named(&name).is_some() || view.seen.taken.contains(&text) {
            let machine = machine.name.clone();
            return self.problems.push(Problem::Taken { machine, secret: text });
        }
        let Some(content) = content else { return };
        let cluster = &machine.node.cluster_name;
        let labels = (!cluster.is_empty()).then(|| (CLUSTER_NAME.to_owned(), cluster.clone()));
        self.rows.push(vec![Write::Create {
            name,
            owners: owners(view, machine, &[]),
            labels: labels.into_iter().collect(),
            content: Hidden::new(content),
        }]);
    }

    /// Brings a Secret up to date, and gives it to its machine. What cannot be rendered leaves it as it is.
    fn settle(
        &mut self,
        view: &View<'_>,
        machine: &Machine,
        secret: &Secret,
        content: Option<String>,
    ) {
        let is_new = |it: &String| secret.digest != Some(digest(it.as_bytes()));
        // What was made for an index that is no longer known to be its own holds nothing yet that could be relied on.
        let is_rendered = content.is_some();
        let content = content.filter(is_new).map(Hidden::new);
        let wanted = owners(view, machine, &secret.owners);
        let owners = (wanted != secret.owners).then_some(wanted);
        // Only while nobody else has it.
        let may_settle = view.with_index(secret.name.index()).len() == 1 && is_rendered;
        let finalizers = (!secret.is_settled() && may_settle).then(|| {
            let others = secret.finalizers.iter().cloned();
            others.chain([FINALIZER.to_owned()]).collect::<Vec<_>>()
        });
        let is_settled = secret.is_settled() || finalizers.is_some();
        let mut row = Vec::new();
        if content.is_some() || owners.is_some() || finalizers.is_some() {
            row.push(Write::Change { secret: version(secret), owners, finalizers, content });
        }
        if let (None, Some(link), true) = (&machine.refers_to, machine.link, is_settled) {
            let Machine { name, uid, version, .. } = machine;
            let machine =
                Version { name: name.clone(), uid: uid.clone(), version: version.clone() };
            row.push(Write::Give { machine, link, secret: secret.name.clone() });
        }
        if !is_settled && is_rendered {
            let secret = secret.name.to_string();
            self.problems.push(Problem::Contested { machine: machine.name.clone(), secret });
        }
        if !row.is_empty() {
            self.rows.push(row);
        }
    }

    /// A Secret whose machine is gone, or has another.
    fn release(&mut self, view: &View<'_>, assigned: &Assigned<'_>, secret: &Secret) {
        let gone = |it: &&OwnerReference| is_machine(it) && !view.is_there(it);
        if is_kept(view, assigned, secret) {
            let has_other = secret.owners.iter().any(|it| is_machine(it) && view.is_there(it));
            let left: Vec<_> = secret.owners.iter().filter(|it| !gone(it)).cloned().collect();
            if has_other && left != secret.owners {
                let (owners, secret) = (Some(left), version(secret));
                let change = Write::Change { secret, owners, finalizers: None, content: None };
                self.rows.push(vec![change]);
            }
            return;
        }
        let others = secret.owners.iter().filter(|it| !is_machine(it)).cloned().collect();
        let mut row = Vec::new();
        if secret.is_settled() {
            row.push(let_go(secret, others));
        }
        if !secret.is_being_deleted {
            row.push(Write::Delete { secret: version(secret) });
        } else if !secret.is_settled() {
            self.problems.push(Problem::Lingers { secret: secret.name.to_string() });
        }
        if !row.is_empty() {
            self.rows.push(row);
        }
    }
}

/// Whether somebody has it: the machine whose index it holds, one that was given it, or one that people made an owner of it.
fn is_kept(view: &View<'_>, assigned: &Assigned<'_>, secret: &Secret) -> bool {
    let owners = secret.owners.iter().filter(|it| is_machine(it) && view.is_there(it));
    let named = owners.map(|it| it.name.as_str()).chain([secret.name.prefix()]);
    let mut machines = named.filter_map(|name| view.machines.get(name).copied());
    view.is_given_to_somebody(secret)
        || machines.any(|machine| {
            let index = assigned.of.get(machine.name.as_str()).copied();
            let kept = index.and_then(|index| secret_of(view, machine, index));
            let is_owner = secret.belongs_to(machine);
            // Until it is known which one it was given, it may be any that is settled.
            let has_another = machine.refers_to.is_some() && !is_given(view, machine);
            let may_have = machine.link.is_some() && secret.is_settled() && !has_another;
            kept.is_some_and(|it| it.name == secret.name && machine.link.is_some())
                || is_owner && (machine.is_paused || may_have)
                || is_shared(view, secret)
        })
}

fn let_go(secret: &Secret, owners: Vec<OwnerReference>) -> Write {
    let finalizers = secret.finalizers.iter().filter(|it| *it != FINALIZER).cloned().collect();
    let owners = (owners != secret.owners).then_some(owners);
    Write::Change { secret: version(secret), owners, finalizers: Some(finalizers), content: None }
}

fn version(secret: &Secret) -> Version {
    let Secret { name, uid, version, .. } = secret;
    Version { name: name.to_string(), uid: uid.clone(), version: version.clone() }
}

/// The machine and the Metal3Metadata, beside whatever others there are.
fn owners(view: &View<'_>, machine: &Machine, present: &[OwnerReference]) -> Vec<OwnerReference> {
    let metadata = &view.seen.metadata.metadata;
    let is_metadata = |it: &OwnerReference| {
        is_kind(it, "Metal3Metadata") && Some(&it.name) == metadata.name.as_ref()
    };
    // One that was made anew under the same name has another uid.
    let is_older = |it: &OwnerReference| is_machine(it) && it.name == machine.name;
    let is_other = |it: &&OwnerReference| !is_metadata(it) && !is_older(it);
    let others: Vec<_> = present.iter().filter(is_other).cloned().collect();
    let is_controlled = others.iter().any(|it| it.controller == Some(true));
    let mut owners = vec![
        OwnerReference {
            api_version: Metal3Machine::api_version(&()).into_owned(),
            kind: Metal3Machine::kind(&()).into_owned(),
            name: machine.name.clone(),
            uid: machine.uid.clone(),
            controller: (!is_controlled).then_some(true),
            block_owner_deletion: None,
        },
        OwnerReference {
            api_version: Metal3Metadata::api_version(&()).into_owned(),
            kind: Metal3Metadata::kind(&()).into_owned(),
            name: metadata.name.clone().unwrap_or_default(),
            uid: metadata.uid.clone().unwrap_or_default(),
            ..OwnerReference::default()
        },
    ];
    owners.extend(others);
    // The same in another order is no change.
    let is_same = owners.len() == present.len() && owners.iter().all(|it| present.contains(it));
    if is_same { present.to_vec() } else { owners }
}
