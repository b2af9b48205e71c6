//! What was measured of hosts, for the page.

use super::{Measured, OPERATORS, Plan, Rest, Step, Turn};
use crate::{
    load::number,
    peers::{
        GARBAGE,
        figures::{Better, Growth, Part, Samples, Table},
    },
};
use std::time::Duration;

/// Finds a step in what was measured.
type Of = fn(&Turn) -> &Step;

/// The tables of all operators.
#[must_use]
pub fn part(plan: &Plan, measured: &Measured, took: Duration) -> Part {
    Part {
        title: "Hosts on a real Ironic".to_owned(),
        about: format!(
            "A real Ironic on SQLite with a Redfish BMC for each host; the API server spends little on clearing up its memory (`GOGC={GARBAGE}`), as where it uses gigabytes. {} hosts are created at once and deleted at once, by each operator in turn. Then fleets whose hosts are all available are \
             looked at for {} seconds while nothing happens to them, all fleets at the same time, each with an API server and an Ironic of its own; and then {} hosts more come to \
             each, to one after the other.",
            plan.hosts, plan.seconds, plan.few
        ),
        tables: vec![come_and_go(plan, &measured.turns), at_rest(plan, &measured.rests)],
        growths: growths(plan, &measured.rests),
        remarks: remarks(plan, &measured.rests),
        took: took.as_secs_f64(),
        runs: 1,
    }
}

fn come_and_go(plan: &Plan, turns: &[Turn]) -> Table {
    let cells = |figure: &dyn Fn(&Turn) -> f64| {
        let of = |operator: &str| {
            turns.iter().filter(|it| it.operator == operator).map(figure).collect()
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
    there
}

fn at_rest(plan: &Plan, rests: &[Rest]) -> Table {
    let mut rest = Table::new(&format!("{} hosts at rest, in an hour", plan.at_rest), &OPERATORS);
    let mut row = |what: &str, unit: &str, figure: fn(&Rest) -> f64| {
        let of = |operator| of(rests, operator, plan.at_rest.into(), figure);
        rest.row(what, unit, Better::Less, OPERATORS.map(of).to_vec());
    };
    row("requests to Ironic", "", Rest::ironic_requests_per_hour);
    row("requests to the API server", "", Rest::api_requests_per_hour);
    row("CPU of the operator", "s", Rest::cpu_per_hour);
    row("CPU of Ironic", "s", Rest::ironic_cpu_per_hour);
    row("memory", "MiB", |it| it.memory);
    rest
}

fn of(rests: &[Rest], operator: &str, hosts: usize, figure: fn(&Rest) -> f64) -> Vec<f64> {
    let fleets = rests.iter().filter(|it| it.operator == operator && it.hosts == hosts);
    fleets.map(figure).collect()
}

fn growths(plan: &Plan, rests: &[Rest]) -> Vec<Growth> {
    let sizes: Vec<usize> = plan.sizes.iter().map(|it| (*it).into()).collect();
    let growth = |what: &str, unit: &str, divisor: f64, figure: fn(&Rest) -> f64| {
        let mut growth = Growth::new(what, unit, &sizes);
        for operator in OPERATORS {
            let at = |size: &usize| {
                let figures = of(rests, operator, *size, figure).into_iter();
                Samples(figures.map(|it| it / divisor).collect())
            };
            growth.series.push((operator.to_owned(), sizes.iter().map(at).collect()));
        }
        growth
    };
    let few = number(plan.few.into());
    vec![
        growth("a host more: requests to Ironic", "each", few, |it| {
            number(it.added.ironic_requests)
        }),
        growth("a host more: requests to the API server", "each", few, |it| {
            number(it.added.api_requests)
        }),
        growth("a host more: CPU of the operator", "ms", few / 1e3, |it| {
            it.added.cpu.as_secs_f64()
        }),
        growth("all of them available", "s", 1.0, |it| it.added.took.as_secs_f64()),
        growth("at rest: requests to Ironic", "in an hour", 1.0, Rest::ironic_requests_per_hour),
        growth("at rest: CPU of the operator", "s in an hour", 1.0, Rest::cpu_per_hour),
        growth("at rest: memory", "MiB", 1.0, |it| it.memory),
    ]
}

fn remarks(plan: &Plan, rests: &[Rest]) -> Vec<String> {
    let mut remarks = vec![
        "baremetal-operator works on as many hosts at a time as Ironward (32), and may make 1,000 requests to the API server a second; by itself it takes as many as there are cores, and 20.".to_owned(),
        "Requests to Ironic are counted on the way to it, those to the API server in its audit log; watches do not count.".to_owned(),
        "Ironward reads a host and its Secret anew in each pass over it, so that what is done is decided by what is there now, and so that a fleet takes little memory. \
         baremetal-operator reads from a cache of all hosts and their Secrets.".to_owned(),
        "Ironward looks at each host every ten minutes though nothing has happened, which a minute of rest does not show: what it took to start and to look at all of them is in the hour six times. \
         baremetal-operator looks at firmware every five minutes, which is left out, in its favour.".to_owned(),
        "Ironward asks Ironic for all nodes at once, by pages of a thousand: twice a minute, and every two seconds while few hosts of many are worked on for those that it has written last. That it asks for all of them grows with the fleet; no pass over a host does.".to_owned(),
        "Of the hosts at rest one was registered by the operator itself, and the others are copies of it and of its node; that the operator believes in them is checked: each is looked at, none changes.".to_owned(),
    ];
    let largest = plan.sizes.iter().copied().max().unwrap_or_default();
    let found = of(rests, OPERATORS[1], plan.at_rest.into(), Rest::ironic_requests_per_hour);
    if let (true, Some(requests)) = (largest > plan.at_rest, found.first()) {
        let times = f64::from(largest) / f64::from(plan.at_rest);
        remarks.push(format!(
            "baremetal-operator is not measured with {largest} hosts: at {} it asks Ironic {:.0} times a second, and would have to ask {:.0} times, more than this Ironic answers.",
            plan.at_rest,
            requests / 3600.0,
            requests / 3600.0 * times
        ));
    }
    remarks
}
