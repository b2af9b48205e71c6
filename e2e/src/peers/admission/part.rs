//! What was measured of admission, for the page.

use super::{All, Alone, Contender, Measured, Plan, Round, askers::AT_ONCE};
use crate::peers::figures::{Better, Growth, Part, Samples, Table};

/// The tables of all of them.
pub(super) fn part(plan: &Plan, contenders: &[Contender], all: &All) -> Part {
    let names: Vec<_> = contenders.iter().map(|it| it.name()).collect();
    let typical = plan.typical();
    let (smallest, largest) = (plan.sizes[0], plan.sizes[plan.sizes.len() - 1]);
    // One figure a start, and one a round.
    let once = |size: usize, figure: fn(&Measured) -> Option<f64>| {
        let of = |it: &Contender| all.get(&(size, *it)).and_then(figure).into_iter().collect();
        contenders.iter().map(of).collect::<Vec<Vec<f64>>>()
    };
    let in_rounds = |size: usize, contender: Contender, figure: Figure| {
        let rounds = all.get(&(size, contender)).map(|it| it.rounds.as_slice());
        rounds.unwrap_or_default().iter().filter_map(figure).collect::<Vec<f64>>()
    };
    let cells = |figure: Figure| {
        contenders.iter().map(|it| in_rounds(typical, *it, figure)).collect::<Vec<_>>()
    };
    let ready = |it: &Contender| {
        let sizes = plan.sizes.iter();
        sizes.filter_map(|size| all.get(&(*size, *it))?.ready).collect::<Vec<_>>()
    };

    let mut through =
        Table::new(&format!("Through the API server, {typical} hosts stored"), &names);
    through.row("a create, p50", "ms", Better::Less, cells(|it| Some(it.p50)));
    through.row("a create, p99", "ms", Better::Less, cells(|it| Some(it.p99)));
    through.row(
        "creates at saturation",
        "per second",
        Better::More,
        cells(|it| Some(it.throughput)),
    );
    through.row("CPU for 1,000 creates", "ms", Better::Less, cells(|it| it.cpu));
    through.row(
        "CPU of the API server for 1,000 creates",
        "ms",
        Better::Less,
        cells(|it| Some(it.server_cpu)),
    );
    let ready = contenders.iter().map(ready).collect();
    through.row("start until the first refusal, at all sizes", "s", Better::Less, ready);
    for size in [smallest, largest] {
        let memory = once(size, |it| it.memory);
        through.row(&format!("memory, {size} hosts"), "MiB", Better::Less, memory);
    }

    let mut alone = Table::new("The webhook alone, asked directly, 16 questions at a time", &names);
    let mut row = |what: &str, unit: &str, better, figure: Figure| {
        alone.row(what, unit, better, cells(figure));
    };
    row("answers", "per second", Better::More, |it| Some(it.alone?.throughput));
    row("an answer, p99", "ms", Better::Less, |it| Some(it.alone?.p99));
    row("CPU per answer", "µs", Better::Less, |it| Some(it.alone?.cpu));
    row("memory after that", "MiB", Better::Less, |it| Some(it.alone?.memory));

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
    let memory = |size: usize, it: Contender| {
        all.get(&(size, it)).and_then(|it| it.memory).into_iter().collect()
    };
    let growths = if plan.sizes.len() > 1 {
        vec![
            growth("a create, p50", "ms", &|size, it| in_rounds(size, it, |it| Some(it.p50))),
            growth("CPU per answer", "µs", &|size, it| {
                in_rounds(size, it, |it| it.alone.map(|it: Alone| it.cpu))
            }),
            growth("memory", "MiB", &memory),
        ]
    } else {
        Vec::new()
    };
    Part {
        title: "Admission".to_owned(),
        about: format!(
            "The same eight CEL rules (`e2e/peers/rules.yaml`) on BareMetalHosts that are created through the same API server. All who judge are there at one time, each for the hosts \
             with its label. In each of {} rounds {} hosts are created for each of them, one after the other and by turns, for the times of one; then as many as possible for {} seconds, \
             {AT_ONCE} at a time.",
            plan.rounds, plan.creates, plan.seconds
        ),
        tables: vec![through, alone],
        growths,
        remarks: remarks(&|contender, figure| {
            Samples(in_rounds(typical, contender, figure)).median()
        }),
        took: 0.0,
    }
}

/// Finds a figure in a round.
type Figure = fn(&Round) -> Option<f64>;

fn remarks(typical: &dyn Fn(Contender, Figure) -> Option<f64>) -> Vec<String> {
    let mut remarks = vec![
        "`nothing` is the API server without anybody who judges; what the others take is on top of that. `in-tree` is judged inside the API server, \
         whose CPU it takes.".to_owned(),
        "baremetal-operator's rules are its own and cannot be changed: it does other work than the rest.".to_owned(),
        "Memory is what the process holds (RSS), pages of its program file among it.".to_owned(),
    ];
    let added =
        |figure| Some(typical(Contender::Ironward, figure)? - typical(Contender::InTree, figure)?);
    if let (Some(p50), Some(p99)) = (added(|it| Some(it.p50)), added(|it| Some(it.p99))) {
        remarks.push(format!(
            "To what in-tree policy takes Ironward adds {p50:.2} ms at p50 and {p99:.2} ms at p99."
        ));
    }
    remarks
}
