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

    /// Between which two of them the median is of all that could have been measured, with a probability of 95 % at least; and the least and
    /// the most of up to eight, which are too few to say that.
    #[must_use]
    pub fn spread(&self) -> Option<(f64, f64)> {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let left_out = left_out(sorted.len());
        let most = sorted.len().checked_sub(left_out + 1)?;
        Some((*sorted.get(left_out)?, *sorted.get(most)?))
    }
}

/// How many on either side are beyond the median's interval: of so many throws of a coin, fewer heads than that come once in forty times.
fn left_out(count: usize) -> usize {
    let mut probability = 0.5_f64.powf(crate::load::number(count));
    let mut fewer = 0.0;
    for heads in 0..count / 2 {
        fewer += probability;
        if fewer > 0.025 {
            return heads.saturating_sub(1);
        }
        let (heads, count) = (crate::load::number(heads), crate::load::number(count));
        probability *= (count - heads) / (heads + 1.0);
    }
    0
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
    /// Whether ratios say something, which those of differences do not.
    pub has_ratios: bool,
}

impl Table {
    /// One without rows.
    #[must_use]
    pub fn new(caption: &str, contenders: &[&str]) -> Self {
        let contenders = contenders.iter().map(|it| (*it).to_owned()).collect();
        Self { caption: caption.to_owned(), contenders, rows: Vec::new(), has_ratios: true }
    }

    /// One of differences, without rows.
    #[must_use]
    pub fn of_differences(caption: &str, contenders: &[&str]) -> Self {
        Self { has_ratios: false, ..Self::new(caption, contenders) }
    }

    /// One row more.
    pub fn row(&mut self, what: &str, unit: &str, better: Better, cells: Vec<Vec<f64>>) {
        let cells = cells.into_iter().map(Samples).collect();
        self.rows.push(Row { what: what.to_owned(), unit: unit.to_owned(), better, cells });
    }

    /// How many times a contender's figure is Ironward's: each time that both had their turn, for then both had the same machine; or once
    /// for all where they have not had as many.
    #[must_use]
    pub fn ratios(&self, row: &Row, contender: usize) -> Option<Samples> {
        (self.has_ratios && self.contenders.get(contender)? != OWN).then_some(())?;
        let own = self.contenders.iter().position(|it| it == OWN)?;
        let (own, others) = (row.cells.get(own)?, row.cells.get(contender)?);
        if own.0.is_empty() || own.0.iter().any(|it| *it <= 0.0) {
            return None;
        }
        if own.0.len() == others.0.len() {
            return Some(Samples(others.0.iter().zip(&own.0).map(|(it, own)| it / own).collect()));
        }
        Some(Samples(vec![others.median()? / own.median()?]))
    }
}

/// How a contender's figures stand to Ironward's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Ironward is ahead.
    Behind,
    /// The ratios are on both sides of 1.
    Level,
    /// Ironward is behind.
    Ahead,
}

impl Better {
    /// How somebody stands with these ratios to Ironward's figures.
    #[must_use]
    pub fn standing(self, ratios: &Samples) -> Option<Standing> {
        let (least, most) = ratios.spread()?;
        Some(match self {
            Self::Less if least > 1.0 => Standing::Behind,
            Self::Less if most < 1.0 => Standing::Ahead,
            Self::More if most < 1.0 => Standing::Behind,
            Self::More if least > 1.0 => Standing::Ahead,
            Self::Less | Self::More => Standing::Level,
        })
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
    /// How long a run took, in seconds.
    pub took: f64,
    /// In how many runs it was measured.
    pub runs: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_typical_figure_is_the_one_in_the_middle() {
        assert_eq!(Samples(vec![3.0, 1.0, 2.0]).median(), Some(2.0));
        assert_eq!(Samples(vec![3.0, 1.0]).median(), Some(2.0));
        assert_eq!(Samples::default().median(), None);
    }

    #[test]
    fn what_seldom_happens_is_no_part_of_the_spread() {
        let of = |count: u32| Samples((1..=count).rev().map(f64::from).collect()).spread();
        assert_eq!(of(0), None);
        assert_eq!(of(1), Some((1.0, 1.0)));
        assert_eq!(of(3), Some((1.0, 3.0)));
        // As in the tables of the sign test: the intervals of 95 %.
        assert_eq!(of(8), Some((1.0, 8.0)));
        assert_eq!(of(9), Some((2.0, 8.0)));
        assert_eq!(of(12), Some((3.0, 10.0)));
        assert_eq!(of(25), Some((8.0, 18.0)));
    }

    #[test]
    fn others_are_compared_with_ironward() {
        let mut table = Table::new("work", &["Kyverno", OWN]);
        table.row("time", "ms", Better::Less, vec![vec![10.0], vec![4.0]]);
        table.row("by turns", "ms", Better::Less, vec![vec![10.0, 90.0], vec![4.0, 30.0]]);
        table.row("more often", "ms", Better::Less, vec![vec![9.0, 3.0], vec![4.0]]);
        let ratios = |row: usize, who| table.ratios(&table.rows[row], who);
        assert_eq!(ratios(0, 0), Some(Samples(vec![2.5])));
        assert_eq!(ratios(0, 1), None);
        assert_eq!(ratios(1, 0), Some(Samples(vec![2.5, 3.0])));
        assert_eq!(ratios(2, 0), Some(Samples(vec![1.5])));
    }

    #[test]
    fn who_is_now_ahead_and_now_behind_is_neither() {
        let of = |better: Better, ratios: &[f64]| better.standing(&Samples(ratios.to_vec()));
        assert_eq!(of(Better::Less, &[1.1, 1.3]), Some(Standing::Behind));
        assert_eq!(of(Better::Less, &[0.9, 0.7]), Some(Standing::Ahead));
        assert_eq!(of(Better::Less, &[0.9, 1.3]), Some(Standing::Level));
        assert_eq!(of(Better::More, &[0.9, 0.7]), Some(Standing::Behind));
        assert_eq!(of(Better::More, &[1.2, 1.1]), Some(Standing::Ahead));
        assert_eq!(of(Better::More, &[]), None);
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
