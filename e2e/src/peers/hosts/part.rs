//! What was measured of hosts, for the page.

use super::{Measured, OPERATORS, Plan, Step};
use crate::{
    load::number,
    peers::figures::{Better, Part, Table},
};
use std::time::Duration;

/// Finds a step in what was measured.
type Of = fn(&Measured) -> &Step;

/// The tables of all operators.
#[must_use]
pub fn part(plan: &Plan, measured: &[Measured], took: Duration) -> Part {
    let cells = |figure: &dyn Fn(&Measured) -> f64| {
        let of = |operator: &str| {
            measured.iter().filter(|it| it.operator == operator).map(figure).collect()
        };
        OPERATORS.map(of).to_vec()
    };
    let hosts = number(plan.hosts.into());
    let mut there =
        Table::new(&format!("{} hosts to available, and gone again", plan.hosts), &OPERATORS);
    let steps: [(&str, Of); 2] = [("available", |it| &it.available), ("gone", |it| &it.gone)];
    for (name, step) in steps {
        let mut row = |what: &str, unit: &str, figure: &dyn Fn(&Step) -> f64| {
            there.row(&format!("{name}{what}"), unit, Better::Less, cells(&|it| figure(step(it))));
        };
        row("", "s", &|it| it.took.as_secs_f64());
        row(": requests to Ironic", "per host", &|it| number(it.ironic_requests) / hosts);
        row(": requests to the API server", "per host", &|it| number(it.api_requests) / hosts);
        row(": writes to the API server", "per host", &|it| number(it.api_writes) / hosts);
        row(": CPU of the operator", "s", &|it| it.cpu.as_secs_f64());
        row(": CPU of Ironic", "s", &|it| it.ironic_cpu.as_secs_f64());
    }
    there.row(
        "memory at most",
        "MiB",
        Better::Less,
        cells(&|it| it.available.peak_memory.max(it.gone.peak_memory)),
    );

    let mut rest = Table::new(&format!("{} hosts at rest, in an hour", plan.at_rest), &OPERATORS);
    let mut row = |what: &str, unit: &str, figure: &dyn Fn(&Measured) -> f64| {
        rest.row(what, unit, Better::Less, cells(figure));
    };
    row("requests to Ironic", "", &|it| it.rest.ironic_requests_per_hour());
    row("requests to the API server", "", &|it| it.rest.api_requests_per_hour());
    row("CPU of the operator", "s", &|it| it.rest.cpu_per_hour());
    row("CPU of Ironic", "s", &|it| it.rest.ironic_cpu_per_hour());
    row("memory", "MiB", &|it| it.rest.memory);

    Part {
        title: "Hosts on a real Ironic".to_owned(),
        about: format!(
            "A real Ironic on SQLite with a Redfish BMC for each host. {} hosts are created at once and deleted at once; then {} that are available are looked at for {} seconds \
             while nothing happens to them.",
            plan.hosts, plan.at_rest, plan.seconds
        ),
        tables: vec![there, rest],
        remarks: vec![
            "baremetal-operator works on as many hosts at a time as Ironward (32), and may make 1,000 requests to the API server a second; by itself it takes as many as there are cores, and 20.".to_owned(),
            "Requests to Ironic are counted on the way to it, those to the API server in its audit log; watches do not count.".to_owned(),
            "Ironward reads a host and its Secret anew whenever it does something about it, so that what is done is decided by what is there now, and so that a fleet takes little memory: it \
             makes more requests to the API server while hosts come and go, fewer of them writes. baremetal-operator reads from a cache of all hosts and their Secrets.".to_owned(),
            "How this grows is not measured here. Ironward asks for all nodes by pages of a thousand, twice a minute at rest.".to_owned(),
            "Of the hosts at rest one was registered by the operator itself, and the others are copies of it and of its node; that the operator believes in them is checked: each is looked at, none changes.".to_owned(),
        ],
        took: took.as_secs_f64(),
        ..Part::default()
    }
}
