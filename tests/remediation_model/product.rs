//! Every fact with all values that can make a difference, beside all values of all others. Those are far too many rows, of which a
//! million is looked at, evenly spread: what the smaller table leaves out because nobody thought of it is met here.

use super::table::{self, LONG_AGO, PHASES, at, machine, node, remediation, strategy, verdict};
use ironward::controllers::remediation::observed::{
    Backup, Hold, Host, Machine, NoHost, Node, Observed, Power, Remediation, Storm, Workload,
};
use jiff::Timestamp;
use strum::IntoEnumIterator;

/// A prime number that none of the numbers of values has for a factor: with steps of it each row is met once before any is met again.
const STEP: u128 = 47_563_217_901_233_445_721;

/// The number of a row, from which the value of one fact after the other is taken.
struct Row {
    left: u128,
    /// How many rows there are with the facts that were taken so far.
    rows: u128,
}

impl Row {
    fn pick<T: Clone>(&mut self, values: &[T]) -> T {
        let count = u128::try_from(values.len()).unwrap();
        let index = usize::try_from(self.left % count).unwrap();
        self.left /= count;
        self.rows *= count;
        values[index].clone()
    }

    fn is_so(&mut self) -> bool {
        self.pick(&[false, true])
    }

    /// What stops all the rest is so in a few rows only.
    fn is_seldom_so(&mut self) -> bool {
        self.pick(&[false, false, false, false, false, false, false, true])
    }
}

/// Shows so many rows.
pub fn each(count: u128, mut look: impl FnMut(&Observed)) {
    let mut first = Row { left: 0, rows: 1 };
    let _ = observed(&mut first);
    for number in 0..count {
        look(&observed(&mut Row { left: number * STEP % first.rows, rows: 1 }));
    }
}

fn observed(row: &mut Row) -> Observed {
    Observed {
        now: at(0),
        remediation: of_remediation(row),
        machine: of_machine(row),
        host: of_host(row),
        workload: of_workload(row),
        storm: Storm {
            limit: 2,
            active: row.pick(&[0, 1, 2, 3]),
            on_this_host: row.is_seldom_so().then(|| "another".to_owned()),
        },
    }
}

fn of_remediation(row: &mut Row) -> Remediation {
    let phase = row.pick(&PHASES);
    let age = row.pick(&[1, 59, 130, 301, 361, 700]);
    Remediation {
        deleted: row.pick(&[None, None, None, Some(at(-1)), Some(at(-11)), Some(at(LONG_AGO))]),
        is_guarded: !row.is_seldom_so(),
        is_paused: row.is_seldom_so(),
        strategy: if row.is_seldom_so() {
            Err("spec.strategy: retryLimit is 0".to_owned())
        } else {
            Ok(strategy())
        },
        backup: row.is_so().then(Backup::default),
        request: row.is_so().then(|| "asked for".to_owned()),
        ..remediation(phase, age)
    }
}

fn of_machine(row: &mut Row) -> Option<Machine> {
    let machine = Machine {
        is_being_deleted: row.is_seldom_so(),
        node: row.is_so().then(|| "worker-0".to_owned()),
        verdict: row.pick(&[None, Some(verdict(false)), Some(verdict(true))]),
        is_owner_asked: row.is_so(),
        is_remediation_asked: row.is_so(),
        ..machine()
    };
    (!row.is_seldom_so()).then_some(machine)
}

fn of_host(row: &mut Row) -> Result<Host, NoHost> {
    let reboot = Hold::Reboot("reboot.metal3.io/x".to_owned());
    let writing = Hold::NotProvisioned("provisioning".to_owned());
    let holds = [None, Some(reboot), Some(Hold::Paused), Some(Hold::Detached), Some(writing)];
    let host = Host {
        is_ours: !row.is_seldom_so(),
        is_being_deleted: row.is_seldom_so(),
        power: row.pick(&Power::iter().collect::<Vec<_>>()),
        is_online: row.is_so(),
        is_on: row.is_so(),
        is_held: row.is_so(),
        hold: row.pick(&holds),
        unhealthy: row.is_so().then(|| "noisy".to_owned()),
        error: row.is_so().then(|| "no answer from the BMC".to_owned()),
        ..table::host()
    };
    let none = row.pick(&NoHost::iter().collect::<Vec<_>>());
    if row.is_seldom_so() { Err(none) } else { Ok(host) }
}

fn of_workload(row: &mut Row) -> Workload {
    let times: [Option<Timestamp>; 4] = [None, Some(at(-1)), Some(at(-59)), Some(at(-9_000))];
    let node = Node {
        is_ready: row.is_so(),
        since: row.pick(&times),
        heartbeat: row.pick(&times),
        is_tainted: row.is_so(),
        pods_left: row.pick(&[0, 1]),
        volumes_left: row.pick(&[0, 1]),
        ..node()
    };
    let node = row.is_so().then_some(node);
    let knows_out_of_service = row.is_so();
    if row.pick(&[false, false, true]) {
        Workload::Unreachable { why: "timed out".into() }
    } else {
        Workload::Reachable { knows_out_of_service, node }
    }
}
