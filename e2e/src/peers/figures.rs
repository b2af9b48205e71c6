//! Figures of several who did the same: what is typical, how far it spreads, and how it grows.

use serde::{Deserialize, Serialize};

/// Who all others are compared with.
pub const OWN: &str = "Ironward";

/// Several measurements of one thing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Samples(pub Vec<f64>);

impl Samples {
    /// The one in the middle, if there is any.
    #[must_use]
    pub fn median(&self) -> Option<f64> {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let (low, high) = (sorted.len().checked_sub(1)? / 2, sorted.len() / 2);
        Some(f64::midpoint(*sorted.get(low)?, *sorted.get(high)?))
    }

    /// The least and the most.
    #[must_use]
    pub fn range(&self) -> Option<(f64, f64)> {
        let least = self.0.iter().copied().min_by(f64::total_cmp)?;
        let most = self.0.iter().copied().max_by(f64::total_cmp)?;
        Some((least, most))
    }
}

/// Which way a figure is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Better {
    /// A time, a size, a count of requests.
    Less,
    /// What is done in a time.
    More,
}

/// One thing that was measured of all.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Row {
    /// What.
    pub what: String,
    /// In which unit.
    pub unit: String,
    /// Which way it is better.
    pub better: Better,
    /// Of each contender, in their order; empty where there is nothing to measure.
    pub cells: Vec<Samples>,
}

/// What was measured of all.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Table {
    /// What the work was.
    pub caption: String,
    /// Who did it.
    pub contenders: Vec<String>,
    /// What was measured.
    pub rows: Vec<Row>,
}

impl Table {
    /// One without rows.
    #[must_use]
    pub fn new(caption: &str, contenders: &[&str]) -> Self {
        let contenders = contenders.iter().map(|it| (*it).to_owned()).collect();
        Self { caption: caption.to_owned(), contenders, rows: Vec::new() }
    }

    /// One row more.
    pub fn row(&mut self, what: &str, unit: &str, better: Better, cells: Vec<Vec<f64>>) {
        let cells = cells.into_iter().map(Samples).collect();
        self.rows.push(Row { what: what.to_owned(), unit: unit.to_owned(), better, cells });
    }

    /// How many times a contender's figure is Ironward's.
    #[must_use]
    pub fn ratio(&self, row: &Row, contender: usize) -> Option<f64> {
        let own = self.contenders.iter().position(|it| it == OWN)?;
        let own = row.cells.get(own)?.median().filter(|it| *it > 0.0)?;
        (self.contenders.get(contender)? != OWN).then_some(())?;
        Some(row.cells.get(contender)?.median()? / own)
    }
}

/// One thing that was measured at several sizes of a fleet.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Growth {
    /// What.
    pub what: String,
    /// In which unit.
    pub unit: String,
    /// How many objects there were.
    pub sizes: Vec<usize>,
    /// Of each contender: its name, and a figure for each size.
    pub series: Vec<(String, Vec<Samples>)>,
}

impl Growth {
    /// One without series.
    #[must_use]
    pub fn new(what: &str, unit: &str, sizes: &[usize]) -> Self {
        let (what, unit) = (what.to_owned(), unit.to_owned());
        Self { what, unit, sizes: sizes.to_vec(), series: Vec::new() }
    }

    /// The sizes and figures of a contender that were measured.
    #[must_use]
    pub fn points(&self, of: &[Samples]) -> Vec<(f64, f64)> {
        let measured = self.sizes.iter().zip(of);
        measured.filter_map(|(size, it)| Some((crate::load::number(*size), it.median()?))).collect()
    }
}

/// With which power of the size a figure grows: 0 if it does not, 1 if it doubles with the size. The slope of the line through
/// the logarithms that is nearest to all of them.
#[must_use]
pub fn exponent(points: &[(f64, f64)]) -> Option<f64> {
    let points: Vec<_> = points.iter().filter(|it| it.0 > 0.0 && it.1 > 0.0).collect();
    if points.len() < 2 {
        return None;
    }
    let logs: Vec<_> = points.iter().map(|(size, figure)| (size.ln(), figure.ln())).collect();
    let count = crate::load::number(logs.len());
    let mean = |of: fn(&(f64, f64)) -> f64| logs.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|it| it.0), mean(|it| it.1));
    let spread = logs.iter().map(|it| (it.0 - x).powi(2)).sum::<f64>();
    (spread > 0.0).then(|| logs.iter().map(|it| (it.0 - x) * (it.1 - y)).sum::<f64>() / spread)
}

/// One of the things that are measured, with all that was found.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Part {
    /// Its title.
    pub title: String,
    /// What was done, and how.
    pub about: String,
    /// Side by side.
    pub tables: Vec<Table>,
    /// With the size of the fleet.
    pub growths: Vec<Growth>,
    /// What is to be known of the figures; also who could not be measured, and why.
    pub remarks: Vec<String>,
    /// How long it took, in seconds.
    pub took: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_typical_figure_is_the_one_in_the_middle() {
        assert_eq!(Samples(vec![3.0, 1.0, 2.0]).median(), Some(2.0));
        assert_eq!(Samples(vec![3.0, 1.0]).median(), Some(2.0));
        assert_eq!(Samples::default().median(), None);
        assert_eq!(Samples(vec![3.0, 1.0, 2.0]).range(), Some((1.0, 3.0)));
    }

    #[test]
    fn others_are_compared_with_ironward() {
        let mut table = Table::new("work", &["Kyverno", OWN]);
        table.row("time", "ms", Better::Less, vec![vec![10.0], vec![4.0]]);
        assert_eq!(table.ratio(&table.rows[0], 0), Some(2.5));
        assert_eq!(table.ratio(&table.rows[0], 1), None);
    }

    #[test]
    fn growth_is_a_power_of_the_size() {
        let close = |found: Option<f64>, wanted: f64| (found.unwrap() - wanted).abs() < 1e-9;
        assert!(close(exponent(&[(100.0, 7.0), (1000.0, 7.0), (10_000.0, 7.0)]), 0.0));
        assert!(close(exponent(&[(100.0, 5.0), (1000.0, 50.0), (10_000.0, 500.0)]), 1.0));
        assert!(close(exponent(&[(10.0, 3.0), (100.0, 300.0)]), 2.0));
        assert_eq!(exponent(&[(100.0, 7.0)]), None);
        assert_eq!(exponent(&[(100.0, 7.0), (100.0, 9.0)]), None);
    }
}
