//! A management cluster with one Machine, its host and MachineHealthCheck, and the cluster of its Node. All of it survives when the controller is
//! killed, the controller's thoughts do not. The decisions are those of the product. Time goes in steps of ten seconds.

use ironward::{
    api::{
        hosthistory::{HostHistoryFields, RemediationOutcome},
        metal3remediation::Metal3RemediationStatus,
    },
    controllers::{
        history::remember,
        remediation::{
            REMEDIATING, decide,
            observed::{
                Backup, Hold, Host, Machine, NoHost, Node, Observed, Remediation, Storm, Verdict,
                Workload,
            },
            plan::{Action, Plan, Then},
        },
    },
    domain::remediation::{Phase, Strategy, StrategyType},
};
use jiff::{SignedDuration, Timestamp};

const STEP: SignedDuration = SignedDuration::from_secs(10);
/// More steps than any way to the end has: three attempts that are waited for in vain and stood in the way of, and a deletion.
const STEPS: usize = 600;
/// More actions than any pass has.
const ACTIONS: usize = 40;
/// How many steps it takes to switch a host, to boot it, and until a kubelet is missed.
const SWITCHING: u32 = 2;
const BOOTING: u32 = 5;
const MISSING: u32 = 4;

/// What goes wrong, or is done by others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Power cannot be switched, until the next time.
    DeadBmc,
    /// The Node cannot be asked about, by anybody, until the next time.
    Unreachable,
    /// Pods and volumes are never let go, until the next time.
    StuckPods,
    /// Somebody else keeps the host off, until the next time.
    Maintenance,
    MachineDeleted,
    MachineGone,
    RemediationDeleted,
    HostReleased,
    HostGone,
    SwitchedOff,
    Cordoned,
    NodeDeleted,
    /// The machine comes back by itself.
    Recovers,
}

impl Fault {
    pub const ALL: [Self; 13] = [
        Self::DeadBmc,
        Self::Unreachable,
        Self::StuckPods,
        Self::Maintenance,
        Self::MachineDeleted,
        Self::MachineGone,
        Self::RemediationDeleted,
        Self::HostReleased,
        Self::HostGone,
        Self::SwitchedOff,
        Self::Cordoned,
        Self::NodeDeleted,
        Self::Recovers,
    ];
}

struct Killed;

#[allow(clippy::struct_excessive_bools, reason = "a world is full of things that are so or not")]
pub struct World {
    pub now: Timestamp,
    limit: i32,
    created: Timestamp,
    deleted: Option<Timestamp>,
    exists: bool,
    is_guarded: bool,
    pub status: Metal3RemediationStatus,
    pub backup: Option<Backup>,
    pub request: Option<String>,
    pub machine: Option<Machine>,
    pub host: Host,
    pub no_host: Option<NoHost>,
    pub node: Option<Node>,
    pub knows_out_of_service: bool,
    pub storm: Storm,
    pub history: Option<HostHistoryFields>,
    /// After how many times being switched on the machine is well.
    pub comes_back_after: Option<usize>,
    /// Whether it is, whatever anybody knows of it.
    pub is_well: bool,
    pub offs: usize,
    pub ons: usize,
    pub log: Vec<String>,
    pub until_killed: Option<usize>,
    /// What happens in which step.
    pub faults: Vec<(usize, Fault)>,
    is_unreachable: bool,
    reachable_for: u32,
    is_bmc_dead: bool,
    are_pods_stuck: bool,
    switching: u32,
    on_for: u32,
    off_for: u32,
    tainted_for: u32,
    ready_for: u32,
}

impl World {
    /// A machine whose kubelet has been silent for long.
    pub fn new(limit: i32) -> Self {
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        let kept = Backup {
            labels: [("role".to_owned(), "worker".to_owned())].into(),
            annotations: [].into(),
        };
        let long_ago = now.checked_sub(SignedDuration::from_hours(1)).ok();
        let verdict =
            Verdict { is_healthy: false, reason: "UnhealthyNode".into(), message: String::new() };
        Self {
            now,
            limit,
            created: now,
            deleted: None,
            exists: true,
            is_guarded: false,
            status: Metal3RemediationStatus::default(),
            backup: None,
            request: None,
            machine: Some(Machine {
                cluster: "lab".into(),
                node: Some("worker-0".into()),
                verdict: Some(verdict),
                ..Machine::default()
            }),
            host: Host {
                name: "host-0".into(),
                uid: "h-0".into(),
                is_ours: true,
                is_online: true,
                is_on: true,
                ..Host::default()
            },
            no_host: None,
            node: Some(Node {
                uid: "n-0".into(),
                since: long_ago,
                heartbeat: long_ago,
                kept,
                ..Node::default()
            }),
            knows_out_of_service: true,
            storm: Storm { limit: 2, active: 0, on_this_host: None },
            history: None,
            comes_back_after: None,
            is_well: false,
            offs: 0,
            ons: 0,
            log: Vec::new(),
            until_killed: None,
            faults: Vec::new(),
            is_unreachable: false,
            reachable_for: 1,
            is_bmc_dead: false,
            are_pods_stuck: false,
            switching: 0,
            on_for: 0,
            off_for: 0,
            tainted_for: 0,
            ready_for: 0,
        }
    }

    pub fn phase(&self) -> Option<Phase> {
        self.status.phase
    }

    pub fn is_deleted(&self) -> bool {
        !self.exists
    }

    fn shown(&self) -> Option<&k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition> {
        self.status.conditions.iter().flatten().find(|it| it.type_ == REMEDIATING)
    }

    pub fn reason(&self) -> String {
        self.shown().map(|it| it.reason.clone()).unwrap_or_default()
    }

    pub fn message(&self) -> String {
        self.shown().map(|it| it.message.clone()).unwrap_or_default()
    }

    pub fn outcomes(&self) -> Vec<RemediationOutcome> {
        let records = self.history.as_ref().and_then(|history| history.records.as_ref());
        records.into_iter().flatten().filter_map(|record| record.outcome).collect()
    }

    pub fn counts(&self) -> [i32; 4] {
        let counts = self.history.as_ref().and_then(|it| it.counts).unwrap_or_default();
        [counts.remediations, counts.attempts, counts.recovered, counts.replaced]
            .map(Option::unwrap_or_default)
    }

    /// What they are after so many attempts.
    pub fn counts_of(attempts: usize, is_recovered: bool) -> [i32; 4] {
        let attempts = i32::try_from(attempts).unwrap();
        [1, attempts, i32::from(is_recovered), i32::from(!is_recovered)]
    }

    /// Lets time go until nothing happens any more.
    pub fn run(&mut self) {
        for step in 0..STEPS {
            let due: Vec<_> = self.faults.iter().filter(|it| it.0 == step).map(|it| it.1).collect();
            for fault in due {
                self.log.push(format!("{fault:?}"));
                self.happen(fault);
            }
            let is_idle = self.pass().unwrap_or_else(|Killed| {
                self.log.push("killed".to_owned());
                self.until_killed = None;
                false
            });
            let is_later = self.faults.iter().any(|it| it.0 > step);
            if !self.exists || (is_idle && !is_later && self.switching == 0 && !self.is_switching())
            {
                return;
            }
            self.now = self.now.checked_add(STEP).unwrap();
            self.evolve();
        }
        panic!("it comes to no end: {:#?}\n{:#?}", self.status, self.log);
    }

    fn happen(&mut self, fault: Fault) {
        match fault {
            Fault::DeadBmc => self.is_bmc_dead = !self.is_bmc_dead,
            Fault::Unreachable => {
                (self.is_unreachable, self.reachable_for) = (!self.is_unreachable, 0);
            }
            Fault::StuckPods => self.are_pods_stuck = !self.are_pods_stuck,
            Fault::Maintenance => {
                let key = || Hold::Reboot("reboot.metal3.io/maintenance".into());
                self.host.hold = if self.host.hold.is_some() { None } else { Some(key()) };
            }
            Fault::MachineDeleted => {
                if let Some(machine) = &mut self.machine {
                    machine.is_being_deleted = true;
                }
            }
            // Kubernetes deletes what it owned.
            Fault::MachineGone => {
                self.machine = None;
                self.delete();
            }
            Fault::RemediationDeleted => self.delete(),
            Fault::HostReleased => self.host.is_ours = false,
            Fault::HostGone => self.no_host = Some(NoHost::Missing),
            Fault::SwitchedOff => self.host.is_online = false,
            Fault::Cordoned => self.host.unhealthy = Some("noisy".into()),
            // What has no Node any more is not healthy, whatever its kubelet thinks.
            Fault::NodeDeleted => (self.node, self.is_well) = (None, false),
            Fault::Recovers if self.host.is_on => self.return_to_life(),
            Fault::Recovers => {}
        }
    }

    fn delete(&mut self) {
        self.deleted = self.deleted.or(Some(self.now));
        self.exists &= self.is_guarded;
    }

    fn wants_off(&self) -> bool {
        let is_kept_off = matches!(self.host.hold, Some(Hold::Reboot(_)));
        self.host.is_held || !self.host.is_online || is_kept_off
    }

    fn is_switching(&self) -> bool {
        !self.is_bmc_dead && self.no_host.is_none() && self.host.is_on == self.wants_off()
    }

    /// Everybody else does what they do.
    fn evolve(&mut self) {
        self.switching = if self.is_switching() { self.switching + 1 } else { 0 };
        if self.switching >= SWITCHING {
            self.switching = 0;
            self.host.is_on = !self.host.is_on;
            if self.host.is_on {
                self.ons += 1;
            } else {
                self.offs += 1;
                self.is_well = false;
            }
            self.log.push(format!("host on: {}", self.host.is_on));
        }
        if self.host.is_on {
            (self.on_for, self.off_for) = (self.on_for + 1, 0);
        } else {
            (self.on_for, self.off_for) = (0, self.off_for + 1);
        }
        let is_back = self.comes_back_after.is_some_and(|times| self.ons >= times);
        if self.on_for == BOOTING && is_back && self.ons > 0 {
            self.return_to_life();
        }
        if let Some(node) = &mut self.node {
            if self.is_well && self.host.is_on {
                node.heartbeat = Some(self.now);
            }
            if self.off_for == MISSING && node.is_ready {
                (node.is_ready, node.since) = (false, Some(self.now));
            }
            self.tainted_for = if node.is_tainted { self.tainted_for + 1 } else { 0 };
            let has_left = self.tainted_for >= 2 && !self.are_pods_stuck;
            node.pods_left = usize::from(node.is_tainted && !has_left);
        }
        self.check_health();
    }

    fn return_to_life(&mut self) {
        let Some(machine) = &mut self.machine else { return };
        machine.node.get_or_insert_with(|| "worker-0".into());
        self.is_well = true;
        let node = self.node.get_or_insert_with(|| Node { uid: "n-1".into(), ..Node::default() });
        if !node.is_ready {
            node.since = Some(self.now);
        }
        (node.is_ready, node.heartbeat) = (true, Some(self.now));
    }

    /// MachineHealthCheck: it deletes the remediation of a healthy machine, and writes its verdict afterwards.
    fn check_health(&mut self) {
        let is_ready = self.node.as_ref().is_some_and(|node| node.is_ready);
        self.ready_for = if is_ready { self.ready_for + 1 } else { 0 };
        let ready_for = self.ready_for;
        if self.is_unreachable {
            return;
        }
        self.reachable_for += 1;
        let Some(machine) = self.machine.as_mut().filter(|it| !it.is_being_deleted) else { return };
        let Some(verdict) = &mut machine.verdict else { return };
        verdict.is_healthy = ready_for > 2;
        if ready_for == 2 {
            self.delete();
        }
    }

    fn observe(&self) -> Observed {
        let strategy = Strategy::new(StrategyType::Reboot, Some(self.limit), Some(300)).unwrap();
        let is_named = self.machine.as_ref().is_some_and(|machine| machine.node.is_some());
        Observed {
            now: self.now,
            remediation: Remediation {
                name: "workers-x7k".into(),
                uid: "r-0".into(),
                created: self.created,
                deleted: self.deleted,
                is_guarded: self.is_guarded,
                is_paused: false,
                strategy: Ok(strategy),
                status: self.status.clone(),
                backup: self.backup.clone(),
                request: self.request.clone(),
            },
            machine: self.machine.clone(),
            host: self.no_host.map_or_else(|| Ok(self.host.clone()), Err),
            workload: if self.is_unreachable {
                Workload::Unreachable { why: "timed out".into() }
            } else {
                Workload::Reachable {
                    knows_out_of_service: self.knows_out_of_service,
                    node: self.node.clone().filter(|_| is_named),
                }
            },
            storm: self.storm.clone(),
        }
    }

    /// A pass. Whether nothing happens any more unless somebody does something.
    fn pass(&mut self) -> Result<bool, Killed> {
        for _ in 0..ACTIONS {
            if !self.exists {
                return Ok(true);
            }
            let seen = self.observe();
            let plan = decide(&seen);
            self.write(&plan)?;
            match plan.then {
                Then::Await => return Ok(true),
                Then::After(_) => return Ok(false),
                Then::Again => {}
                Then::Do(action) => {
                    self.effect()?;
                    self.act(action);
                }
            }
        }
        panic!("a pass comes to no end: {:#?}", self.log);
    }

    fn effect(&mut self) -> Result<(), Killed> {
        match &mut self.until_killed {
            Some(0) => Err(Killed),
            Some(effects) => {
                *effects -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn write(&mut self, plan: &Plan) -> Result<(), Killed> {
        if let Some(entry) = &plan.history
            && let Some(history) = remember(self.history.as_ref(), entry)
        {
            self.effect()?;
            self.history = Some(history);
        }
        if let Some(status) = &plan.status {
            self.effect()?;
            self.log.push(format!("{:?} {:?}", status.phase, status.retry_count));
            assert!(status.retry_count.unwrap_or_default() <= self.limit, "{:#?}", self.log);
            self.status = status.clone();
        }
        Ok(())
    }

    fn act(&mut self, action: Action) {
        let name = format!("{action:?}");
        self.log.push(name.split('(').next().unwrap_or_default().to_owned());
        if matches!(action, Action::SwitchOff | Action::GiveUpHost) {
            // Whoever could not be asked until now has had no time to say that it is well.
            let is_known = self.reachable_for > 0 && self.request.is_none();
            assert!(
                !(self.is_well && is_known),
                "a healthy machine is switched off: {:#?}",
                self.log
            );
            let machine = self.machine.as_ref();
            assert!(machine.is_some_and(|it| !it.is_being_deleted), "{:#?}", self.log);
            assert!(self.host.is_ours && self.no_host.is_none(), "{:#?}", self.log);
        }
        match action {
            Action::Guard => self.is_guarded = true,
            Action::Release => {
                self.is_guarded = false;
                self.delete();
            }
            Action::Delete => self.delete(),
            Action::SwitchOff => self.host.is_held = true,
            Action::SwitchOn => self.host.is_held = false,
            Action::GiveUpHost => {
                self.host.is_held = false;
                self.host.is_online = false;
                self.host.unhealthy.get_or_insert_with(|| "capm3/UnhealthyNode".into());
            }
            Action::Taint => self.node_mut().is_tainted = true,
            Action::Untaint => self.node_mut().is_tainted = false,
            Action::BackUp(backup) => self.backup = Some(backup),
            Action::DeleteNode(uid) => {
                assert_eq!(self.node_mut().uid, uid);
                self.node = None;
            }
            Action::Restore(backup) => {
                let kept = &mut self.node_mut().kept;
                for (key, value) in backup.labels {
                    kept.labels.entry(key).or_insert(value);
                }
                self.backup = None;
            }
            Action::AskOwner => self.machine.as_mut().unwrap().is_owner_asked = true,
            Action::AnswerRequest => self.machine.as_mut().unwrap().is_remediation_asked = false,
        }
    }

    fn node_mut(&mut self) -> &mut Node {
        assert!(!self.is_unreachable, "nobody can reach it: {:#?}", self.log);
        self.node.as_mut().unwrap()
    }

    /// What must hold in the end, whatever happened.
    pub fn check_end(&self) {
        let log = &self.log;
        let is_over = matches!(self.phase(), Some(Phase::Failed | Phase::DeletingMachine));
        assert!(!self.exists || is_over, "{:?}: {log:#?}", self.status);
        if self.no_host.is_none() {
            assert!(!self.host.is_held, "{log:#?}");
        }
        let asked = log.iter().filter(|it| *it == "SwitchOff").count();
        assert!(asked <= usize::try_from(self.limit).unwrap(), "{log:#?}");
        // An attempt that was begun has come to something.
        let records = self.history.as_ref().and_then(|it| it.records.clone()).unwrap_or_default();
        if self.no_host.is_none() {
            assert!(records.iter().all(|it| it.outcome.is_some()), "{records:#?} {log:#?}");
        }
        let is_lost = self.machine.as_ref().is_none_or(|it| it.is_being_deleted);
        let is_reachable = !self.is_unreachable && self.host.is_ours && self.no_host.is_none();
        let is_cut_off = log.iter().any(|it| it == "Unreachable");
        if !is_lost && is_reachable && !is_cut_off && self.host.is_on {
            let is_tainted = self.node.as_ref().is_some_and(|node| node.is_tainted);
            assert!(!is_tainted, "the taint is left: {log:#?}");
        }
    }
}
