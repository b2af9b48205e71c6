//! The shortened form of `cargo bench-peers`, so that it cannot rot: the API server's own policies, baremetal-operator and CAPM3 beside Ironward.
//! No figure is judged, for on a busy machine none is worth it; but all have to be there.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so and ends")]

use ironward_e2e::{
    control_plane,
    node::apart::{self, Apart},
    peers::{
        admission::{self, Contender},
        engines,
        figures::{OWN, Part, exponent},
        machines, report,
    },
};
use std::{collections::BTreeMap, fs};

const PROFILE: &str = "dev";

fn assert_complete(part: &Part, unmeasured: &[(&str, &str)]) {
    assert!(!part.tables.is_empty() && part.took > 0.0, "{part:#?}");
    for table in &part.tables {
        for row in &table.rows {
            for (contender, samples) in table.contenders.iter().zip(&row.cells) {
                let is_expected = !unmeasured.iter().any(|(who, what)| {
                    contender == who && (row.what.contains(what) || table.caption.contains(what))
                });
                assert_eq!(
                    samples.median().is_some(),
                    is_expected,
                    "{contender}: {}: {part:#?}",
                    row.what
                );
            }
        }
    }
    for growth in &part.growths {
        let own = growth.series.iter().find(|(name, _)| name == OWN).unwrap();
        assert!(exponent(&growth.points(&own.1)).is_some(), "{}: {part:#?}", growth.what);
    }
    let is_missing = |it: &&String| it.contains("not measured") || it.contains("could not");
    assert_eq!(part.remarks.iter().find(is_missing), None);
}

#[test]
fn everybody_who_is_measured_has_figures_and_the_page_shows_them() {
    if apart::is_skipped() {
        return;
    }
    control_plane::provide().unwrap();
    admission::build(PROFILE).unwrap();
    machines::provide().unwrap();
    engines::provide().unwrap();
    let parts = Apart::provide().unwrap().within(|| {
        let plan = admission::Plan::short(PROFILE);
        let judged = admission::measure(&plan, &BTreeMap::new()).unwrap();
        let found = machines::measure(&machines::Plan::short(PROFILE)).unwrap();
        [("admission", judged), ("machines", found), ("engines", engines::measure(1).unwrap())]
    });
    let parts = parts.unwrap();
    // Whoever has no process has none to look at.
    let of_processes = ["CPU for 1,000 creates", "memory", "webhook alone"];
    let without =
        [Contender::Nothing, Contender::Accepting, Contender::InTree].map(Contender::name);
    let mut unmeasured: Vec<_> =
        of_processes.iter().flat_map(|what| without.map(|it| (it, *what))).collect();
    unmeasured.extend(without[..2].iter().map(|it| (*it, "first refusal")));
    assert_complete(&parts[0].1, &unmeasured);
    assert_complete(&parts[1].1, &[]);
    assert_complete(&parts[2].1, &[]);

    let guide = tempfile::tempdir().unwrap();
    report::write(guide.path(), "A machine.", &parts).unwrap();
    let page = fs::read_to_string(guide.path().join("benchmarks.md")).unwrap();
    for words in
        ["## Admission", "## Machines", "## Engines", "baremetal-operator", "cel-go", "exponent"]
    {
        assert!(page.contains(words), "{words}\n{page}");
    }
}

/// As its users see it who could not build somebody.
#[test]
fn who_could_not_be_built_is_named_with_the_reason() {
    if apart::is_skipped() {
        return;
    }
    control_plane::provide().unwrap();
    admission::build(PROFILE).unwrap();
    let part = Apart::provide().unwrap().within(|| {
        let contenders = vec![Contender::Nothing, Contender::Kyverno];
        let plan =
            admission::Plan { contenders, sizes: vec![1], ..admission::Plan::short(PROFILE) };
        let missing = BTreeMap::from([(Contender::Kyverno, "no compiler".to_owned())]);
        admission::measure(&plan, &missing).unwrap()
    });
    let part = part.unwrap();
    assert_eq!(part.tables[0].contenders, ["nothing"]);
    let said = "Kyverno could not be built, and is missing: no compiler";
    assert!(part.remarks.iter().any(|it| it == said), "{:#?}", part.remarks);
}
