//! A cluster with hosts, two pools of machines and any number of replicas that all believe they reconcile. What is stored outlives them; what
//! they have heard and thought does not. The decisions are those of the product.

use ironward::{
    api::{
        BareMetalHost, Metal3Cluster, Metal3Machine,
        baremetalhost::{OperationHistory, OperationMetric},
        cluster_api::{
            CLONED_FROM_GROUP_KIND, CLONED_FROM_NAME, CLUSTER_NAME, Cluster, DEPLOYMENT_NAME,
            Machine,
        },
        metal3machine::MachineImage,
    },
    controllers::{
        host_choice::{
            Candidate, Choice, HostId, Hosts, MachineId, Patience, Standing, Wish,
            selector::Selector,
        },
        machine::{
            self,
            node::Found,
            observed::{Host, Observed, Reuse, Settings},
            plan::{HOST, Plan, Step},
            pool::pool_of,
        },
        reservation::{self, Owner},
    },
    domain::{
        automated_cleaning::AutomatedCleaningMode,
        host_status::OperationalStatus,
        node_reuse::{self, Pool},
    },
};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, OwnerReference, Time};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

pub const NAMESPACE: &str = "lab";
const CLUSTER: &str = "c";
const TEMPLATE: &str = "t";

/// A MachineDeployment, as far as it matters.
#[derive(Debug, Clone)]
pub struct Deployment {
    pub replicas: usize,
    /// Counts its rollouts.
    pub version: u32,
    pub node_reuse: bool,
    pub mode: Option<AutomatedCleaningMode>,
    pub is_gone: bool,
    /// The failure domain of its machines.
    pub failure_domain: Option<String>,
}

/// What somebody does wrong, to see that it is found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mistake {
    /// Hosts are claimed whatever version they have.
    ClaimOfAnyVersion,
    /// Whoever finds no host of its own pool takes one of another.
    PoolsAreMixedUp,
    /// Nobody looks after reservations.
    ReservationsAreForgotten,
}

/// A replica: what it has heard, and what it is about to do.
#[derive(Debug, Clone, Default)]
pub struct Replica {
    pub hosts: Hosts,
    pub thoughts: BTreeMap<String, (Plan, Option<String>)>,
}

/// What is stored, and the replicas.
#[derive(Debug, Clone)]
pub struct World {
    pub hosts: BTreeMap<String, BareMetalHost>,
    pub machines: BTreeMap<String, Metal3Machine>,
    pub owners: BTreeMap<String, Machine>,
    pub deployments: BTreeMap<String, Deployment>,
    /// Hosts that do not get any further.
    pub stuck: BTreeSet<String>,
    pub replicas: Vec<Replica>,
    pub now: Timestamp,
    pub mistake: Option<Mistake>,
    version: u64,
    created: u32,
    /// What was done to hosts, in words that tests read.
    pub log: Vec<String>,
    pub broken: Option<String>,
}

fn time(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).unwrap()
}

pub fn available(name: &str) -> BareMetalHost {
    let mut host = BareMetalHost::default();
    host.metadata.name = Some(name.into());
    host.metadata.namespace = Some(NAMESPACE.into());
    host.metadata.uid = Some(format!("u-{name}"));
    let status = host.status.get_or_insert_default();
    status.provisioning.state = "available".into();
    status.operational_status = OperationalStatus::Ok;
    host
}

pub fn merged<K: serde::Serialize + serde::de::DeserializeOwned>(object: &K, patch: &Value) -> K {
    let mut json = serde_json::to_value(object).unwrap();
    json_patch::merge(&mut json, patch);
    serde_json::from_value(json).unwrap()
}

impl World {
    pub fn new(hosts: usize, replicas: usize) -> Self {
        let mut world = Self {
            hosts: BTreeMap::new(),
            machines: BTreeMap::new(),
            owners: BTreeMap::new(),
            deployments: BTreeMap::new(),
            stuck: BTreeSet::new(),
            replicas: vec![Replica::default(); replicas],
            now: time(0),
            mistake: None,
            version: 0,
            created: 0,
            log: Vec::new(),
            broken: None,
        };
        for number in 0..hosts {
            world.store(available(&format!("h{number}")));
        }
        world.hear();
        world
    }

    pub fn deploy(&mut self, name: &str, replicas: usize, node_reuse: bool) -> &mut Deployment {
        let deployment = Deployment {
            replicas,
            version: 0,
            node_reuse,
            mode: None,
            is_gone: false,
            failure_domain: None,
        };
        self.deployments.insert(name.into(), deployment);
        self.deployments.get_mut(name).unwrap()
    }

    fn store(&mut self, mut host: BareMetalHost) {
        self.version += 1;
        host.metadata.resource_version = Some(self.version.to_string());
        self.hosts.insert(host.metadata.name.clone().unwrap(), host);
    }

    pub fn edit(&mut self, name: &str, change: impl FnOnce(&mut BareMetalHost)) {
        let mut host = self.hosts[name].clone();
        change(&mut host);
        self.store(host);
    }

    /// All replicas hear of all hosts as they are now.
    pub fn hear(&mut self) {
        for replica in 0..self.replicas.len() {
            self.hear_of_all(replica);
        }
    }

    pub fn hear_of_all(&mut self, replica: usize) {
        let hosts: Vec<_> = self.hosts.values().map(Candidate::of).collect();
        for host in hosts {
            self.replicas[replica].hosts.note(host);
        }
    }

    pub fn hear_of(&mut self, replica: usize, host: &str) {
        let candidate = Candidate::of(&self.hosts[host]);
        self.replicas[replica].hosts.note(candidate);
    }

    /// A replica is killed, and begins anew with what is stored.
    pub fn restart(&mut self, replica: usize) {
        self.replicas[replica] = Replica::default();
        self.hear_of_all(replica);
    }

    pub fn pool(name: &str) -> Pool {
        Pool::MachineDeployment(name.to_owned())
    }

    /// What Cluster API does next about a MachineDeployment: it deletes before it creates (maxSurge: 0), one at a time.
    pub fn orchestrate(&mut self, name: &str) {
        let deployment = self.deployments[name].clone();
        for owner in self.owners.values_mut() {
            if pool_of(owner) == Some(Self::pool(name)) {
                let is_current = owner.metadata.annotations.as_ref().unwrap()["version"]
                    == deployment.version.to_string();
                owner.status.get_or_insert_default().conditions = Some(vec![Condition {
                    type_: "UpToDate".into(),
                    status: if is_current { "True" } else { "False" }.into(),
                    reason: "R".into(),
                    message: String::new(),
                    observed_generation: None,
                    last_transition_time: Time(time(0)),
                }]);
            }
        }
        let of_pool: Vec<_> = self
            .owners
            .values()
            .filter(|it| pool_of(it) == Some(Self::pool(name)))
            .cloned()
            .collect();
        let alive: Vec<_> =
            of_pool.iter().filter(|it| it.metadata.deletion_timestamp.is_none()).collect();
        let outdated = alive.iter().find(|it| it.is_outdated());
        let wanted = if deployment.is_gone { 0 } else { deployment.replicas };
        let leaving = if alive.len() > wanted {
            outdated.or(alive.first())
        } else if of_pool.len() < wanted {
            self.create(name, &deployment);
            None
        } else if alive.len() == of_pool.len() {
            outdated
        } else {
            None
        };
        if let Some(leaving) = leaving {
            let name = leaving.metadata.name.clone().unwrap();
            self.delete(&name);
        }
    }

    fn create(&mut self, pool: &str, deployment: &Deployment) {
        self.created += 1;
        let name = format!("m{}", self.created);
        let mut owner = Machine::default();
        owner.metadata.name = Some(name.clone());
        owner.metadata.namespace = Some(NAMESPACE.into());
        owner.metadata.annotations =
            Some([("version".to_owned(), deployment.version.to_string())].into());
        owner.metadata.labels = Some([(DEPLOYMENT_NAME.to_owned(), pool.to_owned())].into());
        owner.metadata.owner_references =
            Some(vec![reference("cluster.x-k8s.io/v1beta2", "MachineSet", "ms")]);
        owner.spec.bootstrap.data_secret_name = Some("bootstrap".into());
        owner.spec.infrastructure_ref.name.clone_from(&name);
        owner.spec.failure_domain.clone_from(&deployment.failure_domain);
        let mut machine = Metal3Machine::default();
        machine.metadata.name = Some(name.clone());
        machine.metadata.namespace = Some(NAMESPACE.into());
        machine.metadata.creation_timestamp = Some(Time(time(self.created.into())));
        machine.metadata.labels = Some([(CLUSTER_NAME.to_owned(), CLUSTER.to_owned())].into());
        machine.metadata.annotations = Some(
            [
                (CLONED_FROM_NAME.to_owned(), TEMPLATE.to_owned()),
                (
                    CLONED_FROM_GROUP_KIND.to_owned(),
                    "Metal3MachineTemplate.infrastructure.cluster.x-k8s.io".to_owned(),
                ),
            ]
            .into(),
        );
        machine.metadata.owner_references =
            Some(vec![reference("cluster.x-k8s.io/v1beta2", "Machine", &name)]);
        machine.spec.image =
            Some(MachineImage { url: "http://images/a".into(), ..MachineImage::default() });
        machine.spec.automated_cleaning_mode = deployment.mode;
        self.owners.insert(name.clone(), owner);
        self.machines.insert(name, machine);
    }

    pub fn delete(&mut self, name: &str) {
        let now = Some(Time(self.now));
        self.owners.get_mut(name).unwrap().metadata.deletion_timestamp.clone_from(&now);
        self.machines.get_mut(name).unwrap().metadata.deletion_timestamp = now;
        self.collect(name);
    }

    /// What has no finalizer any more is gone.
    fn collect(&mut self, name: &str) {
        let metadata = &self.machines[name].metadata;
        if metadata.deletion_timestamp.is_some()
            && metadata.finalizers.iter().flatten().next().is_none()
        {
            self.machines.remove(name);
            self.owners.remove(name);
        }
    }

    /// The host controller does the next thing.
    pub fn work(&mut self, name: &str) {
        if self.stuck.contains(name) {
            return;
        }
        let now = self.now;
        let host = &self.hosts[name];
        let has_image = host.spec.image.is_some();
        let next = match (host.status.as_ref().unwrap().provisioning.state.as_str(), has_image) {
            ("available", true) => "provisioning",
            ("provisioning", true) => "provisioned",
            ("provisioning" | "provisioned", false) => "deprovisioning",
            ("deprovisioning", _) => "available",
            _ => return,
        };
        if next == "deprovisioning" {
            let mode = self.hosts[name].spec.automated_cleaning_mode.unwrap_or_default();
            self.log.push(format!("{name} deprovisioned {mode}"));
        }
        self.edit(name, |host| {
            let status = host.status.as_mut().unwrap();
            status.provisioning.state = next.into();
            if next == "available" {
                let end = Some(Time(now));
                let deprovision = Some(OperationMetric { start: None, end });
                status.operation_history =
                    Some(OperationHistory { deprovision, ..OperationHistory::default() });
            }
        });
    }

    fn wish(&self, machine: &Metal3Machine) -> Wish {
        let name = machine.metadata.name.clone().unwrap();
        Wish {
            machine: MachineId { namespace: NAMESPACE.into(), name: name.clone() },
            selector: Selector::read(machine.spec.host_selector.as_ref()).unwrap(),
            failure_domain: machine.spec.failure_domain.clone(),
            pool: self.owners.get(&name).and_then(pool_of),
            cluster: CLUSTER.into(),
            since: machine.metadata.creation_timestamp.as_ref().unwrap().0,
        }
    }

    /// What a replica sees of a machine. It hears of the machine and its host at once, of all other hosts when it is told.
    fn observe(&mut self, replica: usize, name: &str) -> Observed {
        let machine = self.machines[name].clone();
        let owner = self.owners.get(name).cloned();
        let pool = owner.as_ref().and_then(pool_of);
        let deployment = pool.as_ref().map(|pool| match pool {
            Pool::MachineDeployment(name) | Pool::ControlPlane(name) => {
                self.deployments[name].clone()
            }
        });
        let recorded = machine.metadata.annotations.iter().flatten().find(|(key, _)| *key == HOST);
        let recorded = recorded.map(|(_, value)| value.rsplit('/').next().unwrap().to_owned());
        let wish = self.wish(&machine);
        let hosts = &self.replicas[replica].hosts;
        let choice = hosts.choose(&wish, self.now, Patience::default());
        let known = match (&recorded, &choice) {
            (Some(name), _) => Some(name.clone()),
            (None, Choice::Has(host)) => Some(host.name.clone()),
            (None, _) => None,
        };
        let host = match known {
            None => Host::None(Some(Ok(choice))),
            Some(name) => match self.hosts.get(&name) {
                None => Host::Gone(name),
                Some(host) if consumer(host) == Some(wish.machine.name) => {
                    Host::Has(Box::new(host.clone()))
                }
                Some(_) => Host::Lost(name),
            },
        };
        let mut cluster = Cluster::default();
        cluster.metadata.name = Some(CLUSTER.into());
        cluster.status.get_or_insert_default().initialization.infrastructure_provisioned =
            Some(true);
        Observed {
            machine,
            now: self.now,
            owner,
            cluster: Some(cluster),
            infrastructure: Some(Metal3Cluster::default()),
            host,
            is_reused: false,
            refusal: None,
            template_mode: deployment.as_ref().and_then(|it| it.mode),
            reuse: pool.zip(deployment).map(|(pool, deployment)| Reuse {
                pool,
                is_wanted: deployment.node_reuse,
                goes_on: !deployment.is_gone,
            }),
            node: Found::Nothing,
            settings: Settings::default(),
        }
    }

    /// A replica looks at a machine, and makes up its mind.
    pub fn think(&mut self, replica: usize, name: &str) {
        let seen = self.observe(replica, name);
        let version = match &seen.host {
            Host::Has(host) => host.metadata.resource_version.clone(),
            Host::None(_) | Host::Gone(_) | Host::Lost(_) => None,
        };
        let mut plan = machine::decide(&seen);
        if self.mistake == Some(Mistake::PoolsAreMixedUp)
            && matches!(plan.step, Step::Queue(_))
            && let Host::None(Some(Ok(_))) = seen.host
            && let Some(other) = self
                .hosts
                .values()
                .map(Candidate::of)
                .find(|it| it.standing() == Standing::Reserved && it.standing == Standing::Free)
        {
            let hosts = &self.replicas[replica].hosts;
            let mut wish = self.wish(&seen.machine);
            wish.pool = other.reservation.as_ref().and_then(|it| it.pool.parse().ok());
            let choice = hosts.choose(&wish, self.now, Patience::default());
            plan = machine::decide(&Observed { host: Host::None(Some(Ok(choice))), ..seen });
        }
        self.replicas[replica].thoughts.insert(name.into(), (plan, version));
    }

    /// A replica does what it made up its mind to do. Whether it is to look again at once.
    pub fn act(&mut self, replica: usize, name: &str) -> bool {
        let Some((plan, version)) = self.replicas[replica].thoughts.remove(name) else {
            return false;
        };
        let Some(machine) = self.machines.get(name).cloned() else { return false };
        let id = MachineId { namespace: NAMESPACE.into(), name: name.into() };
        if let Step::Queue(_) = plan.step {
            let wish = self.wish(&machine);
            self.replicas[replica].hosts.wait(wish);
        } else {
            self.replicas[replica].hosts.leave(&id);
        }
        match &plan.step {
            Step::Guard(patch) | Step::Record(patch) | Step::Identify(patch) => {
                self.machines.insert(name.into(), merged(&machine, patch));
            }
            Step::Release(patch) => {
                self.machines.insert(name.into(), merged(&machine, patch));
                self.collect(name);
                return false;
            }
            Step::Claim(chosen, patch) => {
                // As the API server has it: a patch without a version is one to any.
                let stored = self.hosts[&chosen.host.name].metadata.resource_version.clone();
                let wanted = patch["metadata"]["resourceVersion"].as_str().map(str::to_owned);
                let version = wanted.or(stored);
                self.log.extend(plan.events.iter().map(|it| format!("{} {}", it.reason, it.note)));
                self.write(replica, &chosen.host.name, version.as_ref(), patch, name);
            }
            Step::Provision(patch)
            | Step::Follow(patch)
            | Step::PauseHost(patch)
            | Step::ResumeHost(patch)
            | Step::Deprovision(patch)
            | Step::GiveBack(patch) => {
                let host = self.hosts.values().find(|it| consumer(it).as_deref() == Some(name));
                if let Some(host) = host.and_then(|it| it.metadata.name.clone()) {
                    self.write(replica, &host, version.as_ref(), patch, name);
                }
            }
            Step::NameNode { .. } => {}
            Step::Queue(_) | Step::After(_) | Step::Await => {
                if let Some(status) = plan.status {
                    self.machines.get_mut(name).unwrap().status = Some(*status);
                }
                return false;
            }
        }
        true
    }

    fn write(
        &mut self,
        replica: usize,
        name: &str,
        version: Option<&String>,
        patch: &Value,
        machine: &str,
    ) {
        let before = self.hosts[name].clone();
        let is_claim = patch["spec"]["consumerRef"]["kind"] == json!("Metal3Machine");
        let any = self.mistake == Some(Mistake::ClaimOfAnyVersion) && is_claim;
        if before.metadata.resource_version.as_ref() == version || any {
            let after = merged(&before, patch);
            self.judge(&before, &after, machine);
            self.store(after);
        }
        self.hear_of(replica, name);
    }

    /// What must never happen to a host.
    fn judge(&mut self, before: &BareMetalHost, after: &BareMetalHost, machine: &str) {
        let name = before.metadata.name.clone().unwrap();
        let (was, is) = (consumer(before), consumer(after));
        if let Some(is) = &is
            && was.as_ref() != Some(is)
        {
            self.log.push(format!("{name} taken by {is}"));
            if let Some(was) = &was {
                self.broken = Some(format!("{name} of {was} was taken by {is}"));
            }
            let pool = self.owners.get(is).and_then(pool_of);
            if let Some(label) = label(before)
                && !pool.is_some_and(|it| it.matches(&label))
            {
                self.broken = Some(format!("{name}, which is kept for {label}, was taken by {is}"));
            }
        }
        if was.is_some() && is.is_none() {
            let state = &before.status.as_ref().unwrap().provisioning.state;
            if state != "available" || before.spec.image.is_some() {
                self.broken = Some(format!("{name} was given back by {machine} while {state}"));
            }
            self.log.push(format!("{name} given back by {machine}"));
        }
        let is_leaving = self.machines[machine].metadata.deletion_timestamp.is_some();
        if before.spec.image.is_some() && after.spec.image.is_none() && !is_leaving {
            self.broken = Some(format!("{name} of {machine} was deprovisioned"));
        }
    }

    /// Somebody looks at a host that is reserved.
    pub fn look_at(&mut self, name: &str) {
        if self.mistake == Some(Mistake::ReservationsAreForgotten) {
            return;
        }
        let host = self.hosts[name].clone();
        let label = label(&host);
        let pool = label.as_ref().and_then(|it| it.parse::<Pool>().ok());
        let deployment = pool.as_ref().and_then(|pool| match pool {
            Pool::MachineDeployment(name) | Pool::ControlPlane(name) => self.deployments.get(name),
        });
        let owner = match deployment.filter(|it| !it.is_gone) {
            None => Owner::Gone,
            Some(deployment) => {
                let settled = self.owners.iter().filter(|(name, it)| {
                    pool_of(it) == pool
                        && it.metadata.deletion_timestamp.is_none()
                        && !it.is_outdated()
                        && self.hosts.values().any(|host| consumer(host).as_ref() == Some(name))
                });
                Owner::There { replicas: deployment.replicas, settled: settled.count() }
            }
        };
        let before = self
            .hosts
            .values()
            .filter(|it| self::label(it) == label && it.metadata.name < host.metadata.name);
        let before = before.count();
        let seen = reservation::Observed { host: host.clone(), owner, before, now: self.now };
        match reservation::decide(&seen) {
            reservation::Plan::Leave | reservation::Plan::Keep(_) => {}
            reservation::Plan::Stamp(patch) => self.store(merged(&host, &patch)),
            reservation::Plan::Release(why, patch) => {
                self.log.push(format!("{name} not kept: {}", why.word()));
                self.store(merged(&host, &patch));
            }
        }
    }

    /// One replica keeps looking at a machine until there is nothing to do.
    pub fn pass(&mut self, replica: usize, name: &str) {
        for _ in 0..30 {
            if !self.machines.contains_key(name) {
                return;
            }
            self.think(replica, name);
            if !self.act(replica, name) {
                return;
            }
        }
        panic!("a pass does not end: {:#?}", self.machines[name]);
    }

    /// Everything is looked at by everybody, and time passes.
    pub fn round(&mut self) {
        for replica in 0..self.replicas.len() {
            self.hear();
            for machine in self.machines.keys().cloned().collect::<Vec<_>>() {
                self.pass(replica, &machine);
            }
        }
        for deployment in self.deployments.keys().cloned().collect::<Vec<_>>() {
            self.orchestrate(&deployment);
        }
        for host in self.hosts.keys().cloned().collect::<Vec<_>>() {
            self.work(&host);
            self.look_at(&host);
        }
        self.now = self.now.checked_add(Duration::from_secs(30)).unwrap();
    }

    pub fn rounds(&mut self, count: usize) {
        for _ in 0..count {
            self.round();
            assert_eq!(self.broken, None, "{:#?}", self.log);
        }
    }

    /// The hosts of a pool's machines.
    pub fn hosts_of(&self, pool: &str) -> BTreeSet<String> {
        let hosts = self.hosts.iter().filter(|(_, host)| {
            let owner = consumer(host).and_then(|it| self.owners.get(&it).cloned());
            owner.and_then(|it| pool_of(&it)) == Some(Self::pool(pool))
        });
        hosts.map(|(name, _)| name.clone()).collect()
    }

    /// Whether a pool has what it should, and nothing else.
    pub fn is_settled(&self, pool: &str) -> bool {
        let deployment = &self.deployments[pool];
        let owners: Vec<_> =
            self.owners.values().filter(|it| pool_of(it) == Some(Self::pool(pool))).collect();
        let is_current = |it: &&Machine| {
            it.metadata.annotations.as_ref().unwrap()["version"] == deployment.version.to_string()
        };
        let wanted = if deployment.is_gone { 0 } else { deployment.replicas };
        owners.len() == wanted
            && owners.iter().all(is_current)
            && self.hosts_of(pool).len() == wanted
    }

    pub fn reserved(&self) -> BTreeMap<String, String> {
        let labels =
            self.hosts.iter().filter_map(|(name, host)| Some((name.clone(), label(host)?)));
        labels.collect()
    }
}

pub fn consumer(host: &BareMetalHost) -> Option<String> {
    let consumer = host.spec.consumer_ref.as_ref()?;
    (consumer.kind.as_deref() == Some("Metal3Machine")).then(|| consumer.name.clone()).flatten()
}

pub fn label(host: &BareMetalHost) -> Option<String> {
    host.metadata.labels.as_ref()?.get(node_reuse::LABEL).cloned()
}

pub fn id(name: &str) -> HostId {
    HostId { namespace: NAMESPACE.into(), name: name.into() }
}

fn reference(api_version: &str, kind: &str, name: &str) -> OwnerReference {
    OwnerReference {
        api_version: api_version.into(),
        kind: kind.into(),
        name: name.into(),
        ..OwnerReference::default()
    }
}
