//! The model's facts in the types of the code under test, and its plans in those of the model.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{LazyLock, Mutex},
};

use ironward::{
    api::{
        Metal3Metadata,
        metal3metadata::{Metal3MetadataSpec, Metal3MetadataStatus},
    },
    controllers::metadata::{
        decide, digest,
        observed::{Digest, Link, Machine, Observed, Secret},
        plan::{FINALIZER, Plan, Write},
    },
    domain::metadata::SecretName,
    template::metadata::Node,
};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

use super::model::{Indexes, MOST, Made, Secrets};

const NAMES: [&str; MOST] = ["a", "b", "c"];
const VERSION: &str = "infrastructure.cluster.x-k8s.io/v1beta2";

/// A machine as a replica knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Known {
    pub machine: usize,
    pub given: Option<u8>,
}

/// What a replica means to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Deed {
    Create(usize, u8),
    Settle(usize, u8),
    Unsettle(usize, u8),
    Delete(usize, u8),
    Give(usize, u8),
}

type Decided = (Option<Indexes>, Vec<Vec<Deed>>);
type Facts = (Indexes, Secrets, Vec<Known>);

/// What is decided: indexes to record, or rows of deeds. The same facts come again and again.
pub fn decided(indexes: &Indexes, secrets: &Secrets, known: &[Known]) -> Decided {
    static BEFORE: LazyLock<Mutex<HashMap<Facts, Decided>>> = LazyLock::new(Mutex::default);
    let facts = (*indexes, *secrets, known.to_vec());
    if let Some(decided) = BEFORE.lock().unwrap().get(&facts) {
        return decided.clone();
    }
    let decided = decide_by(indexes, secrets, known);
    BEFORE.lock().unwrap().insert(facts, decided.clone());
    decided
}

fn decide_by(indexes: &Indexes, secrets: &Secrets, known: &[Known]) -> Decided {
    let plan = decide(&observed(indexes, secrets, known));
    let recorded = plan.status.as_ref().map(|status| {
        let mut indexes = Indexes::default();
        for (index, name) in status.indexes.iter().flatten() {
            indexes[index.parse::<usize>().unwrap()] = Some(machine(name));
        }
        indexes
    });
    let recorded = recorded.filter(|it| it != indexes);
    (recorded, rows(&plan, secrets))
}

fn rows(plan: &Plan, secrets: &Secrets) -> Vec<Vec<Deed>> {
    let deed = |write: &Write| match write {
        Write::Create { name, .. } => {
            let (machine, index) = place(name);
            Deed::Create(machine, index)
        }
        Write::Change { secret, finalizers, .. } => {
            let (machine, index) = place(&secret.name.parse().unwrap());
            let keeps = finalizers.as_ref().unwrap().iter().any(|it| it == FINALIZER);
            assert_ne!(keeps, secrets[machine][usize::from(index)] == Made::Settled);
            if keeps { Deed::Settle(machine, index) } else { Deed::Unsettle(machine, index) }
        }
        Write::Delete { secret } => {
            let (machine, index) = place(&secret.name.parse().unwrap());
            Deed::Delete(machine, index)
        }
        Write::Give { secret, .. } => {
            let (machine, index) = place(secret);
            Deed::Give(machine, index)
        }
    };
    plan.rows.iter().map(|row| row.iter().map(deed).collect()).collect()
}

fn place(name: &SecretName) -> (usize, u8) {
    (machine(name.prefix()), u8::try_from(name.index()).unwrap())
}

fn machine(name: &str) -> usize {
    NAMES.iter().position(|it| *it == name).unwrap()
}

fn owner(kind: &str, name: &str) -> OwnerReference {
    OwnerReference {
        api_version: VERSION.to_owned(),
        kind: kind.to_owned(),
        name: name.to_owned(),
        uid: name.to_owned(),
        controller: (kind == "Metal3Machine").then_some(true),
        block_owner_deletion: None,
    }
}

/// What every Secret holds: there are no templates.
static CONTENT: LazyLock<Digest> = LazyLock::new(|| {
    let indexes = {
        let mut it = Indexes::default();
        it[0] = Some(0);
        it
    };
    let seen =
        observed_with(&indexes, &Secrets::default(), &[Known { machine: 0, given: None }], None);
    let plan = decide(&seen);
    let Some(Write::Create { content, .. }) = plan.rows.first().and_then(|row| row.first()) else {
        panic!("{plan:?}")
    };
    digest(content.reveal().as_bytes())
});

fn observed(indexes: &Indexes, secrets: &Secrets, known: &[Known]) -> Observed {
    observed_with(indexes, secrets, known, Some(*CONTENT))
}

fn observed_with(
    indexes: &Indexes,
    secrets: &Secrets,
    known: &[Known],
    content: Option<Digest>,
) -> Observed {
    let mut metadata = Metal3Metadata::new("pool", Metal3MetadataSpec::default());
    metadata.metadata.uid = Some("pool".to_owned());
    metadata.metadata.finalizers = Some(vec![FINALIZER.to_owned()]);
    let recorded = indexes
        .iter()
        .enumerate()
        .filter_map(|(index, machine)| Some((index.to_string(), NAMES[(*machine)?].to_owned())));
    metadata.status = Some(Metal3MetadataStatus {
        indexes: Some(recorded.collect()),
        ..Metal3MetadataStatus::default()
    });
    let machines = known.iter().map(|known| {
        let name = NAMES[known.machine].to_owned();
        Machine {
            uid: name.clone(),
            version: String::new(),
            created: None,
            is_being_deleted: false,
            is_paused: false,
            link: Some(Link::ConfigRef),
            refers_to: known.given.map(|index| format!("{name}-metadata-{index}")),
            node: Node::default(),
            name,
        }
    });
    let all = secrets.iter().enumerate().flat_map(|(machine, made)| {
        made.iter().enumerate().map(move |(index, made)| (NAMES[machine], index, *made))
    });
    let secrets = all.filter(|it| it.2 != Made::Not).map(|(name, index, made)| Secret {
        name: SecretName::new(name, u32::try_from(index).unwrap()).unwrap(),
        uid: String::new(),
        version: String::new(),
        owners: vec![owner("Metal3Machine", name), owner("Metal3Metadata", "pool")],
        finalizers: if made == Made::Settled { vec![FINALIZER.to_owned()] } else { vec![] },
        is_being_deleted: false,
        digest: content,
    });
    Observed {
        machines: machines.collect(),
        secrets: secrets.collect(),
        metadata,
        now: Timestamp::UNIX_EPOCH,
        taken: BTreeSet::new(),
        clusters: Vec::new(),
        has_written: false,
    }
}
