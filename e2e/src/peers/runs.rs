//! Several runs of the same measurement: all their figures together, and where two runs disagree.

use super::{
    figures::{Part, Samples, Table},
    report::with_spread,
};

/// How far ratios of fewer than nine turns may be beyond each other's least and most, which say little of so few: what a machine does
/// beside moves them by as much.
const TOLERANCE: f64 = 0.15;
/// As many say where their median is.
const ENOUGH: usize = 9;

/// All figures of all runs, and whether the last agrees with those before. What else is said about them, and of whom there are any, is
/// as in the last run.
#[must_use]
pub fn together(runs: &[Part]) -> Option<Part> {
    let (last, before) = runs.split_last()?;
    let mut all = last.clone();
    for (number, table) in all.tables.iter_mut().enumerate() {
        let earlier: Vec<_> = before.iter().filter_map(|it| alike(it, number, table)).collect();
        for (number, row) in table.rows.iter_mut().enumerate() {
            for (contender, cell) in row.cells.iter_mut().enumerate() {
                let figures = |it: &&Table| it.rows.get(number)?.cells.get(contender).cloned();
                prepend(cell, earlier.iter().filter_map(figures));
            }
        }
    }
    for (number, growth) in all.growths.iter_mut().enumerate() {
        for (name, samples) in &mut growth.series {
            for (size, cell) in samples.iter_mut().enumerate() {
                let figures = |it: &Part| {
                    let same = it.growths.get(number)?;
                    let is_same = same.what == growth.what && same.sizes == growth.sizes;
                    let series = same.series.iter().find(|it| is_same && it.0 == *name)?;
                    series.1.get(size).cloned()
                };
                prepend(cell, before.iter().filter_map(figures));
            }
        }
    }
    all.took = Samples(runs.iter().map(|it| it.took).collect()).median()?;
    all.runs = runs.iter().map(|it| it.runs).sum();
    all.remarks.extend(agreement(runs));
    Some(all)
}

/// Whether the last run agrees with those before it, if there are any: how many ratios do, and which do not.
#[must_use]
pub fn agreement(runs: &[Part]) -> Option<String> {
    let (last, before) = runs.split_last()?;
    let pairs = pairs(&together(before)?, last);
    let apart: Vec<_> = pairs.iter().filter(|it| it.are_apart()).collect();
    let said = format!(
        "Of {} ratios of the last run {} agree with those of the runs before: their spreads touch, or are within {:.0} % of each other where they are of fewer than nine turns.",
        pairs.len(),
        pairs.len() - apart.len(),
        TOLERANCE * 100.0
    );
    if apart.is_empty() {
        return Some(said);
    }
    let apart: Vec<_> = apart.into_iter().map(Pair::said).collect();
    Some(format!("{said} Apart are: {}.", apart.join("; ")))
}

/// The ratios of one thing in earlier runs and in a later one.
struct Pair {
    what: String,
    old: Samples,
    new: Samples,
}

impl Pair {
    fn are_apart(&self) -> bool {
        let (Some(old), Some(new)) = (self.old.spread(), self.new.spread()) else { return false };
        let are_few = self.old.0.len().min(self.new.0.len()) < ENOUGH;
        let slack = if are_few { 1.0 + TOLERANCE } else { 1.0 };
        old.1 * slack < new.0 || new.1 * slack < old.0
    }

    fn said(&self) -> String {
        let [old, new] = [&self.old, &self.new].map(|it| with_spread(it).unwrap_or_default());
        format!("{}, {old} × before and {new} × now", self.what)
    }
}

fn pairs(before: &Part, now: &Part) -> Vec<Pair> {
    let mut all = Vec::new();
    for (number, table) in now.tables.iter().enumerate() {
        let Some(earlier) = alike(before, number, table) else { continue };
        for (row, old_row) in table.rows.iter().zip(&earlier.rows) {
            for (contender, name) in table.contenders.iter().enumerate() {
                let ratios = (earlier.ratios(old_row, contender), table.ratios(row, contender));
                if let (Some(old), Some(new)) = ratios {
                    all.push(Pair { what: format!("{} of {name}", row.what), old, new });
                }
            }
        }
    }
    all
}

/// The table of another run in the same place, if it is about the same.
fn alike<'a>(of: &'a Part, number: usize, table: &Table) -> Option<&'a Table> {
    let rows = |it: &Table| it.rows.iter().map(|row| row.what.clone()).collect::<Vec<_>>();
    let found = of.tables.get(number)?;
    let is_same = found.caption == table.caption
        && found.contenders == table.contenders
        && rows(found) == rows(table);
    is_same.then_some(found)
}

fn prepend(cell: &mut Samples, earlier: impl Iterator<Item = Samples>) {
    let earlier = earlier.flat_map(|it| it.0).collect::<Vec<_>>();
    cell.0.splice(0..0, earlier);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::figures::{Better, Growth, OWN};

    /// In which Ironward and another took so long.
    fn run(own: &[f64], other: &[f64]) -> Part {
        let mut table = Table::new("work", &[OWN, "Kyverno"]);
        table.row("time", "ms", Better::Less, vec![own.to_vec(), other.to_vec()]);
        let mut growth = Growth::new("CPU", "µs", &[100]);
        growth.series.push((OWN.to_owned(), vec![Samples(own.to_vec())]));
        let (tables, growths) = (vec![table], vec![growth]);
        Part { tables, growths, took: own[0], runs: 1, ..Part::default() }
    }

    #[test]
    fn runs_are_told_together() {
        let all = together(&[run(&[1.0], &[2.0]), run(&[3.0, 4.0], &[6.0, 9.0])]).unwrap();
        let cells = &all.tables[0].rows[0].cells;
        assert_eq!(cells[0], Samples(vec![1.0, 3.0, 4.0]));
        assert_eq!(cells[1], Samples(vec![2.0, 6.0, 9.0]));
        assert_eq!(all.growths[0].series[0].1[0], Samples(vec![1.0, 3.0, 4.0]));
        assert_eq!((all.took, all.runs), (2.0, 2));
        assert!(together(&[]).is_none());
    }

    #[test]
    fn what_is_measured_otherwise_is_not_mixed() {
        let mut other = run(&[1.0], &[2.0]);
        other.tables[0].caption = "other work".to_owned();
        other.growths[0].sizes = vec![1000];
        let all = together(&[other, run(&[3.0], &[6.0])]).unwrap();
        assert_eq!(all.tables[0].rows[0].cells[0], Samples(vec![3.0]));
        assert_eq!(all.growths[0].series[0].1[0], Samples(vec![3.0]));
    }

    #[test]
    fn runs_agree_where_their_spreads_touch() {
        let often = |own: f64, other: f64| run(&[own; ENOUGH], &[other; ENOUGH]);
        let are_apart = |old: &Part, new: &Part| pairs(old, new)[0].are_apart();
        assert!(!are_apart(&often(1.0, 2.0), &often(2.0, 4.0)));
        assert!(are_apart(&often(1.0, 2.0), &often(1.0, 2.1)));
        // Of few turns little is known.
        let few = |other: f64| run(&[1.0, 1.0], &[other, other + 1.0]);
        assert!(!are_apart(&few(2.0), &few(3.4)));
        assert!(!are_apart(&few(3.4), &few(2.0)));
        assert!(are_apart(&few(2.0), &few(3.5)));
        assert!(are_apart(&few(3.5), &few(2.0)));
    }

    #[test]
    fn it_is_said_which_ratios_are_apart() {
        let once = |other| run(&[1.0], &[other]);
        assert_eq!(agreement(&[once(2.0)]), None);
        let said = agreement(&[once(2.0), once(2.2)]).unwrap();
        assert!(said.starts_with("Of 1 ratios of the last run 1 agree"), "{said}");
        let all = together(&[once(2.0), once(2.0), once(3.0)]).unwrap();
        let [said] = all.remarks.as_slice() else { panic!("{:?}", all.remarks) };
        assert!(said.starts_with("Of 1 ratios of the last run 0 agree"), "{said}");
        let apart = "Apart are: time of Kyverno, 2.00 (2.00 to 2.00) × before and 3.00 × now.";
        assert!(said.ends_with(apart), "{said}");
    }
}
