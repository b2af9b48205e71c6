//! What was measured of admission, for the page.

use super::{All, Alone, Contender, GARBAGE, PARTS, Plan, Round, Times, askers::AT_ONCE};
use crate::peers::figures::{Better, Growth, Part, Samples, Table};
use std::collections::BTreeMap;

/// The tables of all of them.
pub(super) fn part(plan: &Plan, contenders: &[Contender], all: All) -> Part {
    let names: Vec<_> = contenders.iter().map(|it| it.name()).collect();
    let typical = plan.typical();
    let (smallest, largest) = (plan.sizes[0], plan.sizes[plan.sizes.len() - 1]);
    let cells = |figure: Figure| {
        contenders.iter().map(|it| all.rounds(typical, *it, figure)).collect::<Vec<_>>()
    };
    let ready = |it: &Contender| {
        let sizes = plan.sizes.iter();
        sizes.filter_map(|size| all.among.get(&(*size, *it))?.ready).collect::<Vec<_>>()
    };

    let mut through =
        Table::new(&format!("Through the API server, {typical} hosts stored"), &names);
    let undisturbed = |figure: fn(&Times) -> f64| {
        let of = |it: &Contender| all.undisturbed.get(it).map(|it| it.iter().map(figure).collect());
        contenders.iter().map(|it| of(it).unwrap_or_default()).collect::<Vec<Vec<f64>>>()
    };
    through.row("a create, p50", "ms", Better::Less, undisturbed(|it| it.p50));
    through.row("a create, p99", "ms", Better::Less, undisturbed(|it| it.p99));
    through.row(
        "p99 beside an API server as it comes",
        "ms",
        Better::Less,
        cells(|it| it.times.iter().map(|it| it.p99).collect()),
    );
    through.row(
        "creates at saturation",
        "per second",
        Better::More,
        cells(|it| it.limit.iter().flat_map(|it| it.throughput.clone()).collect()),
    );
    through.row(
        "CPU for 1,000 creates",
        "ms",
        Better::Less,
        cells(|it| it.limit.iter().filter_map(|it| it.cpu).collect()),
    );
    through.row(
        "CPU of the API server for 1,000 creates",
        "ms",
        Better::Less,
        cells(|it| it.limit.iter().map(|it| it.server_cpu).collect()),
    );
    let ready = contenders.iter().map(ready).collect();
    through.row("start until the first refusal, at all sizes", "s", Better::Less, ready);
    for size in [smallest, largest] {
        let memory = contenders.iter().map(|it| all.memory(size, *it)).collect();
        through.row(&format!("memory, {size} hosts"), "MiB", Better::Less, memory);
    }

    let mut alone = Table::new("The webhook alone, asked directly, 16 questions at a time", &names);
    let mut row = |what: &str, unit: &str, better, figure: Figure| {
        alone.row(what, unit, better, cells(figure));
    };
    row("answers", "per second", Better::More, |it| of_alone(it, |it| it.throughput));
    row("an answer, p99", "ms", Better::Less, |it| of_alone(it, |it| it.p99));
    row("CPU per answer", "µs", Better::Less, |it| of_alone(it, |it| it.cpu));
    row("memory after that", "MiB", Better::Less, |it| of_alone(it, |it| it.memory));

    let growths = growths(plan, contenders, &all);
    let differences = differences(contenders, &all.undisturbed);
    let mut remarks = remarks();
    remarks.extend(all.remarks);
    Part {
        title: "Admission".to_owned(),
        about: format!(
            "The same eight CEL rules (`e2e/peers/rules.yaml`) on BareMetalHosts that are created through the same API server. All who judge are there at one time, each for the hosts \
             with its label, and in each of {} rounds {} hosts are created for each of them, one after the other and by turns, for the times of one, which are told by the {} \
             parts of that. Meanwhile the API server has one half of the \
             cores and the others have the other, and it clears up its memory seldom (`GOGC={GARBAGE}`): else the slowest creates are those that fall together with that, whoever judges \
             them. All else is measured beside an API server as it comes: as many creates as possible, {AT_ONCE} at a time, for {} seconds in each round, half a second at a time and by turns.",
            plan.rounds,
            plan.creates,
            plan.rounds * PARTS,
            plan.seconds
        ),
        tables: vec![through, alone, differences],
        growths,
        remarks,
        took: 0.0,
        runs: 1,
    }
}

/// Finds figures in a round.
type Figure = fn(&Round) -> Vec<f64>;

fn of_alone(round: &Round, figure: fn(&Alone) -> f64) -> Vec<f64> {
    round.alone.iter().map(figure).collect()
}

impl All {
    /// Of each round.
    fn rounds(&self, size: usize, contender: Contender, figure: Figure) -> Vec<f64> {
        let rounds = self.among.get(&(size, contender)).map(|it| it.rounds.as_slice());
        rounds.unwrap_or_default().iter().flat_map(figure).collect()
    }

    fn memory(&self, size: usize, contender: Contender) -> Vec<f64> {
        self.among.get(&(size, contender)).and_then(|it| it.memory).into_iter().collect()
    }
}

fn growths(plan: &Plan, contenders: &[Contender], all: &All) -> Vec<Growth> {
    if plan.sizes.len() < 2 {
        return Vec::new();
    }
    let growth = |what: &str, unit: &str, figure: &dyn Fn(usize, Contender) -> Vec<f64>| {
        let mut growth = Growth::new(what, unit, &plan.sizes);
        for contender in contenders {
            let of = |size: &usize| Samples(figure(*size, *contender));
            let samples: Vec<_> = plan.sizes.iter().map(of).collect();
            if samples.iter().any(|it| !it.0.is_empty()) {
                growth.series.push((contender.name().to_owned(), samples));
            }
        }
        growth
    };
    vec![
        growth("a create, p50", "ms", &|size, it| {
            all.rounds(size, it, |it| it.times.iter().map(|it| it.p50).collect())
        }),
        growth("CPU per answer", "µs", &|size, it| {
            all.rounds(size, it, |it| of_alone(it, |it| it.cpu))
        }),
        growth("memory", "MiB", &|size, it| all.memory(size, it)),
    ]
}

/// What others take on top of in-tree policy, part by part: in each of them all had the same machine.
fn differences(contenders: &[Contender], undisturbed: &BTreeMap<Contender, Vec<Times>>) -> Table {
    let webhooks: Vec<_> = contenders.iter().filter(|it| it.is_webhook()).collect();
    let names: Vec<_> = webhooks.iter().map(|it| it.name()).collect();
    let mut table = Table::of_differences("More than in-tree policy takes", &names);
    let of = |who: Contender, figure: fn(&Times) -> f64| {
        let both = undisturbed.get(&who).zip(undisturbed.get(&Contender::InTree));
        let pairs = both.into_iter().flat_map(|(who, in_tree)| who.iter().zip(in_tree));
        pairs.map(|(who, in_tree)| figure(who) - figure(in_tree)).collect::<Vec<_>>()
    };
    let mut row = |what: &str, figure: fn(&Times) -> f64| {
        let cells = webhooks.iter().map(|it| of(**it, figure)).collect();
        table.row(what, "ms", Better::Less, cells);
    };
    row("a create, p50", |it| it.p50);
    row("a create, p99", |it| it.p99);
    table
}

fn remarks() -> Vec<String> {
    [
        "`nothing` is the API server without anybody who judges; what the others take is on top of that. `in-tree` is judged inside the API server, \
         whose CPU it takes.",
        "`nothing, by a webhook` looks at nothing and accepts everything: that is what the call alone takes, most of which the API server spends.",
        "baremetal-operator's rules are its own and cannot be changed: it does other work than the rest.",
        "Memory is what the process holds (RSS), pages of its program file among it.",
    ]
    .map(str::to_owned)
    .to_vec()
}
