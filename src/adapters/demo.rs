//! `Demo`: a provisioner without machines, to try things. What takes long takes as long as the clock says; what fails is said by the name of
//! the host.
//!
//! It remembers nothing but power: how far an operation is follows from when its state was entered, which is stored in the host. So it goes on where it
//! was when Ironward is started again.
//!
//! A host whose name ends in one of these fails in that operation, for ever: `-fails-registration`, `-fails-inspection`, `-fails-preparation`,
//! `-fails-provisioning`, `-fails-deprovisioning`, `-fails-power`.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use futures::{
    FutureExt, StreamExt,
    future::{self, BoxFuture},
    stream::{self, BoxStream},
};
use jiff::Timestamp;

use super::clock;
use crate::{
    api::hardware::{Cpu, HardwareDetails, Nic, Storage, StorageType, SystemVendor},
    controllers::host::{
        machine::{Identity, Machine},
        provisioner::{Error, Health, Learnt, Operation, Outcome, Provisioner},
    },
    domain::kubernetes_name::hash,
};

/// How often something under way is looked at, if it takes long enough.
const POLL: Duration = Duration::from_secs(2);

/// See the module.
pub struct Demo {
    /// How long anything takes that is not done at once.
    pace: Duration,
    /// What was switched, by the uid of the host.
    power: Mutex<BTreeMap<String, bool>>,
}

impl Demo {
    /// One in which everything takes that long.
    #[must_use]
    pub fn new(pace: Duration) -> Self {
        Self { pace, power: Mutex::default() }
    }

    fn perform_now(&self, machine: &Machine, operation: &Operation, now: Timestamp) -> Outcome {
        let name = machine.identity.name.as_str();
        let fails = |what: &str| name.ends_with(&format!("-fails-{what}"));
        let failed = |message: &str| Outcome::Failed {
            message: format!("{message}, because the host is called {name}"),
        };
        let learnt = Learnt::default();
        match operation {
            Operation::Register { .. } if fails("registration") => {
                failed("the BMC refused the credentials")
            }
            Operation::Inspect { .. } if fails("inspection") => {
                failed("the ramdisk did not call back")
            }
            Operation::Prepare { .. } if fails("preparation") => {
                failed("the RAID controller does not answer")
            }
            Operation::Provision(_) if fails("provisioning") => {
                failed("the image has another checksum")
            }
            Operation::Deprovision { .. } if fails("deprovisioning") => {
                failed("the disks cannot be cleaned")
            }
            Operation::PowerOn { .. } | Operation::PowerOff { .. } | Operation::Reboot { .. }
                if fails("power") =>
            {
                failed("the BMC does not switch")
            }
            Operation::Register { .. } => {
                let id = Some(node_id(&machine.identity));
                self.by_the_clock(machine, now, Learnt { provisioning_id: id, ..learnt })
            }
            // Nothing reports here by itself.
            Operation::Import if machine.provisioning_id.is_none() => {
                Outcome::Moving { poll: POLL }
            }
            Operation::Import => Outcome::Done(Learnt {
                hardware: Some(Box::new(hardware(machine))),
                provisioning_id: Some(node_id(&machine.identity)),
                ..learnt
            }),
            Operation::Inspect { .. } => {
                let hardware = Some(Box::new(hardware(machine)));
                self.by_the_clock(machine, now, Learnt { hardware, ..learnt })
            }
            Operation::Provision(_) => {
                let outcome =
                    self.by_the_clock(machine, now, Learnt { powered_on: Some(true), ..learnt });
                if matches!(outcome, Outcome::Done(_)) {
                    self.switch(machine, true);
                }
                outcome
            }
            Operation::Deprovision { .. } => self.by_the_clock(machine, now, learnt),
            Operation::Observe => Outcome::Done(Learnt {
                powered_on: Some(self.is_on(machine)),
                health: Some(Health::Ok),
                ..learnt
            }),
            Operation::PowerOn { .. } => self.switched(machine, true),
            Operation::PowerOff { .. } => self.switched(machine, false),
            Operation::Prepare { .. } | Operation::Adopt { .. } | Operation::Reboot { .. } => {
                Outcome::Done(learnt)
            }
            Operation::Delete | Operation::Detach { .. } => {
                self.power().remove(&machine.identity.uid);
                Outcome::Done(learnt)
            }
        }
    }

    /// Done when as much time has passed since the state was entered as anything takes.
    fn by_the_clock(&self, machine: &Machine, now: Timestamp, learnt: Learnt) -> Outcome {
        let spent = machine.since.map(|since| now.duration_since(since).unsigned_abs());
        let is_known = learnt.provisioning_id.is_some() && machine.provisioning_id.is_some();
        match spent.and_then(|spent| self.pace.checked_sub(spent)) {
            Some(left) if !left.is_zero() && !is_known => {
                Outcome::Moving { poll: left.clamp(Duration::from_millis(100), POLL) }
            }
            _ => Outcome::Done(learnt),
        }
    }

    fn is_on(&self, machine: &Machine) -> bool {
        self.power().get(&machine.identity.uid).copied().unwrap_or(machine.powered_on)
    }

    fn switched(&self, machine: &Machine, on: bool) -> Outcome {
        self.switch(machine, on);
        Outcome::Done(Learnt { powered_on: Some(on), ..Learnt::default() })
    }

    fn switch(&self, machine: &Machine, on: bool) {
        self.power().insert(machine.identity.uid.clone(), on);
    }

    fn power(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, bool>> {
        self.power.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Provisioner for Demo {
    fn perform<'a>(
        &'a self,
        machine: &'a Machine,
        operation: &'a Operation,
    ) -> BoxFuture<'a, Result<Outcome, Error>> {
        future::ready(Ok(self.perform_now(machine, operation, clock::now()))).boxed()
    }

    /// Nothing happens by itself.
    fn changes(&self) -> BoxStream<'static, Identity> {
        stream::pending().boxed()
    }
}

/// The same each time, and another for each host.
fn node_id(identity: &Identity) -> String {
    let digits = hash(&identity.uid, 32);
    let part = |from: usize, to: usize| digits.get(from..to).unwrap_or_default();
    format!("{}-{}-{}-{}-{}", part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32))
}

/// A server like many.
fn hardware(machine: &Machine) -> HardwareDetails {
    let name = &machine.identity.name;
    let mac = machine.boot_mac.map(|mac| mac.to_string());
    HardwareDetails {
        system_vendor: Some(SystemVendor {
            manufacturer: Some("Ironward".to_owned()),
            product_name: Some("Demo".to_owned()),
            serial_number: Some(hash(name, 8).to_uppercase()),
        }),
        firmware: None,
        ram_mebibytes: Some(131_072),
        nics: mac.map(|mac| {
            vec![Nic {
                name: Some("eth0".to_owned()),
                mac: Some(mac),
                pxe: Some(true),
                speed_gbps: Some(25),
                ..Nic::default()
            }]
        }),
        storage: Some(vec![Storage {
            name: Some("/dev/sda".to_owned()),
            rotational: Some(false),
            r#type: Some(StorageType::Nvme),
            size_bytes: Some(960_197_124_096),
            ..Storage::default()
        }]),
        cpu: Some(Cpu {
            arch: Some("x86_64".to_owned()),
            model: Some("Demo processor".to_owned()),
            count: Some(64),
            ..Cpu::default()
        }),
        hostname: Some(name.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{api::BareMetalHost, controllers::host::secrets::BmcSecret};
    use rstest::rstest;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn machine(name: &str, state: &str, since: i64) -> Machine {
        let mut host = BareMetalHost::default();
        host.metadata.name = Some(name.to_owned());
        host.metadata.uid = Some(format!("uid of {name}"));
        host.status.get_or_insert_default().provisioning.state = state.to_owned();
        Machine { since: Some(at(since)), ..Machine::of(&host, &BmcSecret::Unnamed, None) }
    }

    const DEPROVISION: Operation = Operation::Deprovision { retry: false };
    const INSPECT: Operation = Operation::Inspect { refresh: false, retry: false, restart: false };

    #[rstest]
    #[case::begun(0, true)]
    #[case::almost(9, true)]
    #[case::over(10, false)]
    #[case::long_over(1_000, false)]
    fn what_takes_long_takes_as_long_as_the_clock_says(#[case] now: i64, #[case] moves: bool) {
        let demo = Demo::new(Duration::from_secs(10));
        let outcome = demo.perform_now(&machine("a", "deprovisioning", 0), &DEPROVISION, at(now));
        assert_eq!(matches!(outcome, Outcome::Moving { .. }), moves, "{outcome:?}");
    }

    #[rstest]
    #[case("a-fails-registration", Operation::Register { credentials_changed: false, retry: false })]
    #[case("a-fails-inspection", INSPECT)]
    #[case("a-fails-preparation", Operation::Prepare { changed: false, retry: false })]
    #[case("a-fails-deprovisioning", DEPROVISION)]
    #[case("a-fails-power", Operation::PowerOn { force: false })]
    fn a_host_fails_where_its_name_says(#[case] name: &str, #[case] operation: Operation) {
        let demo = Demo::new(Duration::ZERO);
        let failing = demo.perform_now(&machine(name, "registering", 0), &operation, at(0));
        assert!(matches!(failing, Outcome::Failed { .. }), "{failing:?}");
        let other = demo.perform_now(&machine("a", "registering", 0), &operation, at(0));
        assert!(matches!(other, Outcome::Done(_)), "{other:?}");
    }

    #[test]
    fn power_is_as_it_was_left() {
        let demo = Demo::new(Duration::ZERO);
        let machine = machine("a", "available", 0);
        let is_on = || match demo.perform_now(&machine, &Operation::Observe, at(0)) {
            Outcome::Done(learnt) => learnt.powered_on,
            Outcome::Moving { .. } | Outcome::Failed { .. } => None,
        };
        assert_eq!(is_on(), Some(false));
        demo.perform_now(&machine, &Operation::PowerOn { force: false }, at(0));
        assert_eq!(is_on(), Some(true));
    }
}
