//! Figures as pictures: bars side by side, and lines over the size of a fleet.

use super::{
    figures::{Growth, OWN, Row, Samples, Table},
    report::rounded,
};

const WIDTH: f64 = 760.0;
const NAMES: f64 = 190.0;
const BAR: f64 = 16.0;
const OWN_COLOUR: &str = "#1f6feb";
/// Of the others, told apart also by those who see few colours.
const COLOURS: [&str; 6] = ["#d55e00", "#009e73", "#cc79a7", "#e69f00", "#6e7781", "#56b4e9"];

/// One group of bars for each row, from nothing to the largest of the group, with the spread as a line.
pub fn bars(table: &Table) -> String {
    let mut body = String::new();
    let mut y = 14.0;
    for row in &table.rows {
        y = group(table, row, y, &mut body);
    }
    framed(WIDTH, y, &body)
}

fn group(table: &Table, row: &Row, mut y: f64, body: &mut String) -> f64 {
    let most = row.cells.iter().filter_map(Samples::spread).map(|it| it.1).fold(0.0, f64::max);
    let unit = if row.unit.is_empty() { String::new() } else { format!(", {}", row.unit) };
    body.push_str(&text(8.0, y + 4.0, "start", "bold", &format!("{}{unit}", row.what)));
    y += 12.0;
    for (number, (name, samples)) in table.contenders.iter().zip(&row.cells).enumerate() {
        let (Some(median), Some((least, largest))) = (samples.median(), samples.spread()) else {
            continue;
        };
        let at =
            |figure: f64| NAMES + figure / most.max(f64::MIN_POSITIVE) * (WIDTH - NAMES - 90.0);
        let middle = y + BAR / 2.0;
        body.push_str(&text(NAMES - 8.0, middle + 4.0, "end", "normal", name));
        let width = (at(median) - NAMES).max(1.0);
        body.push_str(&rectangle(y, width, colour(name, number)));
        if largest > least {
            body.push_str(&line(at(least), middle - 2.0, at(largest), middle - 2.0, "#24292f"));
        }
        body.push_str(&text(at(largest) + 6.0, middle + 2.0, "start", "normal", &rounded(median)));
        y += BAR;
    }
    y + 16.0
}

/// A line for each contender; both scales are logarithmic, so that a line's slope is its exponent.
pub fn lines(growth: &Growth) -> String {
    let (height, left, right, top, bottom) = (300.0, 70.0, WIDTH - 240.0, 34.0, 260.0);
    let series: Vec<_> =
        growth.series.iter().map(|(name, samples)| (name, growth.points(samples))).collect();
    let all: Vec<_> = series.iter().flat_map(|it| &it.1).filter(|it| it.1 > 0.0).collect();
    let bounds = |of: fn(&(f64, f64)) -> f64| {
        let logs = all.iter().map(|it| of(it).log10());
        let (low, high) =
            logs.fold((f64::MAX, f64::MIN), |(low, high), it| (low.min(it), high.max(it)));
        (low.floor(), if high.ceil() > low.floor() { high.ceil() } else { low.floor() + 1.0 })
    };
    let (x, y) = (bounds(|it| it.0), bounds(|it| it.1));
    let at_x = |size: f64| left + (size.log10() - x.0) / (x.1 - x.0) * (right - left);
    let at_y = |figure: f64| bottom - (figure.log10() - y.0) / (y.1 - y.0) * (bottom - top);
    let title = format!("{}, {}", growth.what, growth.unit);
    let mut body = text(8.0, 18.0, "start", "bold", &title);
    if all.is_empty() {
        return framed(WIDTH, height, &body);
    }
    for power in decades(y) {
        let place = at_y(10_f64.powi(power));
        body.push_str(&line(left, place, right, place, "#d0d7de"));
        let label = rounded(10_f64.powi(power));
        body.push_str(&text(left - 6.0, place + 4.0, "end", "normal", &label));
    }
    for size in &growth.sizes {
        let place = at_x(crate::load::number(*size));
        body.push_str(&text(place, bottom + 18.0, "middle", "normal", &size.to_string()));
    }
    for (number, (name, points)) in series.iter().enumerate() {
        let colour = colour(name, number);
        let places: Vec<_> = points
            .iter()
            .filter(|it| it.1 > 0.0)
            .map(|(size, figure)| format!("{:.1},{:.1}", at_x(*size), at_y(*figure)))
            .collect();
        body.push_str(&polyline(&places, colour));
        let row = 40.0 + crate::load::number(number) * 18.0;
        body.push_str(&line(right + 14.0, row - 4.0, right + 34.0, row - 4.0, colour));
        body.push_str(&text(right + 40.0, row, "start", "normal", name));
    }
    framed(WIDTH, height, &body)
}

fn decades((low, high): (f64, f64)) -> impl Iterator<Item = i32> {
    // A scale of more than forty powers of ten would be a mistake.
    (-20..=20).filter(move |power| (low..=high).contains(&f64::from(*power)))
}

fn colour(name: &str, number: usize) -> &'static str {
    if name.starts_with(OWN) { OWN_COLOUR } else { COLOURS[number % COLOURS.len()] }
}

fn text(x: f64, y: f64, anchor: &str, weight: &str, words: &str) -> String {
    let words = words.replace('&', "&amp;").replace('<', "&lt;");
    format!(
        "<text x='{x:.1}' y='{y:.1}' text-anchor='{anchor}' font-weight='{weight}'>{words}</text>\n"
    )
}

fn rectangle(y: f64, width: f64, colour: &str) -> String {
    let height = BAR - 4.0;
    format!("<rect x='{NAMES}' y='{y:.1}' width='{width:.1}' height='{height}' fill='{colour}'/>\n")
}

fn polyline(points: &[String], colour: &str) -> String {
    let points = points.join(" ");
    format!("<polyline points='{points}' fill='none' stroke='{colour}' stroke-width='2.5'/>\n")
}

fn line(x1: f64, y1: f64, x2: f64, y2: f64, colour: &str) -> String {
    format!(
        "<line x1='{x1:.1}' y1='{y1:.1}' x2='{x2:.1}' y2='{y2:.1}' stroke='{colour}' stroke-width='1.5'/>\n"
    )
}

fn framed(width: f64, height: f64, body: &str) -> String {
    format!(
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' font-family='sans-serif' font-size='12' fill='#24292f'>\n\
         <rect width='{width}' height='{height}' fill='#ffffff'/>\n{body}</svg>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::figures::Better;

    #[test]
    fn a_bar_is_as_long_as_its_figure() {
        let mut table = Table::new("work", &[OWN, "a < b & c"]);
        table.row("time", "ms", Better::Less, vec![vec![10.0], vec![20.0, 40.0]]);
        let picture = bars(&table);
        let widths: Vec<f64> = picture
            .split("<rect x=")
            .skip(1)
            .map(|it| {
                it.split("width='").nth(1).unwrap().split('\'').next().unwrap().parse().unwrap()
            })
            .collect();
        assert!((widths[1] / widths[0] - 3.0).abs() < 0.01, "{widths:?}");
        assert!(picture.contains("a &lt; b &amp; c"), "{picture}");
    }

    #[test]
    fn what_does_not_grow_is_a_level_line() {
        let mut growth = Growth::new("CPU", "µs", &[100, 1000]);
        let series = [7.0, 7.0].map(|it| Samples(vec![it]));
        growth.series.push((OWN.to_owned(), series.to_vec()));
        let picture = lines(&growth);
        let points = picture.split("points='").nth(1).unwrap().split('\'').next().unwrap();
        let heights: Vec<_> = points.split(' ').map(|it| it.split(',').nth(1).unwrap()).collect();
        assert_eq!(heights[0], heights[1]);
        assert!(lines(&Growth::new("CPU", "µs", &[])).ends_with("</svg>\n"));
    }
}
