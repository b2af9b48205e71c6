//! The report as a page of the guide: tables as ratios with their spread, and a picture of each.

use super::{
    figures::{Growth, OWN, Part, Row, Samples, Standing, Table, exponent},
    picture,
};
use crate::progress::say;
use anyhow::{Context, Result};
use std::{fmt::Write, fs, path::Path};

/// A growth below this is none: what a machine does beside moves figures by as much.
const NO_GROWTH: f64 = 0.1;

/// Writes the page and its pictures below the folder of the guide, and gives its text.
pub fn write(guide: &Path, machine: &str, parts: &[(&str, Part)]) -> Result<String> {
    let images = guide.join("images");
    fs::create_dir_all(&images)?;
    let mut page = introduction(machine, parts);
    for (name, part) in parts {
        page.push_str(&markdown(name, part, &images)?);
    }
    let path = guide.join("benchmarks.md");
    fs::write(&path, &page).with_context(|| format!("could not write {}", path.display()))?;
    say(&format!("written to {}", path.display()));
    Ok(page)
}

fn introduction(machine: &str, parts: &[(&str, Part)]) -> String {
    let minutes = parts.iter().map(|(_, part)| part.took).sum::<f64>() / 60.0;
    format!(
        "# Benchmarks

Ironward beside everything that could be picked instead: real programs, built from public packages, on one API server of one machine, taking turns.
This page is written by the program that measures:

```sh
cargo bench-peers
```

{machine} A run took {minutes:.0} minutes, once the programs were built.

How to read the tables: a cell has the median of all turns, and how many times Ironward's figure that is, which is the median of the ratios of each turn: both had the same
machine then. In parentheses is between what the median is with a probability of 95 % at least, or the least and the most of fewer than nine turns. A ratio in **bold** is one
where Ironward is behind; after a ~ nobody is ahead, for the ratios are on both sides of 1. Figures of other machines differ; ratios differ less.
"
    )
}

fn markdown(name: &str, part: &Part, images: &Path) -> Result<String> {
    let runs = if part.runs == 1 { "One run.".to_owned() } else { format!("{} runs.", part.runs) };
    let mut text = format!("\n## {}\n\n{} {runs}\n", part.title, part.about.trim());
    for (number, table) in part.tables.iter().enumerate() {
        write!(text, "\n### {}\n\n{}", table.caption, tabular(table))?;
        if table.has_ratios {
            let file = format!("benchmarks-{name}-{number}.svg");
            fs::write(images.join(&file), picture::bars(table))?;
            writeln!(text, "\n![{}, as bars](images/{file})", table.caption)?;
        }
    }
    if !part.growths.is_empty() {
        text.push_str("\n### Growth\n\n");
        text.push_str("The exponent is that of the size of the fleet: 0 does not grow with it, 1 grows in step.\n\n");
        text.push_str(&growths(&part.growths));
        for (number, growth) in part.growths.iter().enumerate() {
            let file = format!("benchmarks-{name}-growth-{number}.svg");
            fs::write(images.join(&file), picture::lines(growth))?;
            writeln!(text, "\n![{}, by the size of the fleet](images/{file})", growth.what)?;
        }
    }
    if !part.remarks.is_empty() {
        text.push('\n');
        part.remarks.iter().try_for_each(|it| writeln!(text, "- {it}"))?;
    }
    Ok(text)
}

fn tabular(table: &Table) -> String {
    let rows = table.rows.iter().map(|row| {
        let cells = row.cells.iter().enumerate().map(|(number, it)| cell(table, row, number, it));
        let unit = if row.unit.is_empty() { String::new() } else { format!(", {}", row.unit) };
        line(std::iter::once(format!("{}{unit}", row.what)).chain(cells))
    });
    let header = std::iter::once(String::new()).chain(table.contenders.iter().cloned());
    [line(header), ruler(table.contenders.len() + 1)].into_iter().chain(rows).collect()
}

fn line(cells: impl Iterator<Item = String>) -> String {
    format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
}

fn ruler(columns: usize) -> String {
    format!("{}|\n", "|---".repeat(columns))
}

fn cell(table: &Table, row: &Row, number: usize, samples: &Samples) -> String {
    let Some(figure) = with_spread(samples) else { return "–".to_owned() };
    let Some(ratios) = table.ratios(row, number) else { return figure };
    let (Some(ratio), Some(standing)) = (with_spread(&ratios), row.better.standing(&ratios)) else {
        return figure;
    };
    // Whoever does nothing is not ahead: it is what all others are measured from.
    let is_peer = table.contenders.get(number).is_some_and(|it| !it.starts_with("nothing"));
    match standing {
        Standing::Ahead if is_peer => format!("{figure}, **{ratio} ×**"),
        Standing::Level => format!("{figure}, ~ {ratio} ×"),
        Standing::Ahead | Standing::Behind => format!("{figure}, {ratio} ×"),
    }
}

/// The median, and between what it is where there are several.
pub(super) fn with_spread(samples: &Samples) -> Option<String> {
    let (median, (least, most)) = (samples.median()?, samples.spread()?);
    Some(match samples.0.len() {
        1 => rounded(median),
        _ => format!("{} ({} to {})", rounded(median), rounded(least), rounded(most)),
    })
}

fn growths(growths: &[Growth]) -> String {
    let mut text = String::new();
    let mut header: &[usize] = &[];
    for growth in growths {
        if header != growth.sizes {
            header = &growth.sizes;
            let sizes = header.iter().map(ToString::to_string);
            let names = [String::new(), "who".to_owned()].into_iter().chain(sizes);
            text.push_str(&line(names.chain(["exponent".to_owned()])));
            text.push_str(&ruler(header.len() + 3));
        }
        for (contender, samples) in &growth.series {
            let names = [format!("{}, {}", growth.what, growth.unit), contender.clone()];
            let figures =
                samples.iter().map(|it| it.median().map_or_else(|| "–".to_owned(), rounded));
            let power = exponent(&growth.points(samples));
            let power = power.map_or_else(|| "–".to_owned(), |it| power_of(contender, it));
            text.push_str(&line(names.into_iter().chain(figures).chain([power])));
        }
    }
    text
}

fn power_of(contender: &str, power: f64) -> String {
    if contender == OWN && power > NO_GROWTH {
        format!("**{power:.2}**")
    } else {
        format!("{power:.2}")
    }
}

/// With three digits that say something.
pub(super) fn rounded(figure: f64) -> String {
    match figure.abs() {
        it if it >= 100.0 => format!("{figure:.0}"),
        it if it >= 10.0 => format!("{figure:.1}"),
        it if it >= 0.1 || it == 0.0 => format!("{figure:.2}"),
        _ => format!("{figure:.4}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::figures::Better;

    fn part() -> Part {
        let mut table = Table::new("Hosts are created", &["nothing", OWN, "Kyverno"]);
        table.row("p99", "ms", Better::Less, vec![vec![1.0], vec![2.0, 4.0, 3.0], vec![9.0]]);
        table.row("p50", "ms", Better::Less, vec![vec![], vec![2.0, 4.0], vec![1.0, 5.0]]);
        table.row("throughput", "1/s", Better::More, vec![vec![], vec![100.0], vec![200.0]]);
        let mut growth = Growth::new("CPU", "µs", &[100, 1000]);
        let series = [4.0, 40.0].map(|it| Samples(vec![it]));
        growth.series.push((OWN.to_owned(), series.to_vec()));
        Part {
            title: "Admission".to_owned(),
            about: "As it is.".to_owned(),
            tables: vec![table],
            growths: vec![growth],
            remarks: vec!["Gatekeeper could not be built: no compiler".to_owned()],
            took: 90.0,
            runs: 2,
        }
    }

    #[test]
    fn the_page_has_medians_spread_ratios_and_what_is_missing() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "Two cores.", &[("admission", part())]).unwrap();
        let page = fs::read_to_string(folder.path().join("benchmarks.md")).unwrap();
        for expected in [
            "A run took 2 minutes",
            "As it is. 2 runs.",
            "| p99, ms | 1.00, 0.33 × | 3.00 (2.00 to 4.00) | 9.00, 3.00 × |",
            // Now it is ahead, now behind.
            "| p50, ms | – | 3.00 (2.00 to 4.00) | 3.00 (1.00 to 5.00), ~ 0.88 (0.50 to 1.25) × |",
            // It is behind.
            "| throughput, 1/s | – | 100 | 200, **2.00 ×** |",
            "| CPU, µs | Ironward | 4.00 | 40.0 | **1.00** |",
            "- Gatekeeper could not be built: no compiler",
            "images/benchmarks-admission-0.svg",
            "images/benchmarks-admission-growth-0.svg",
        ] {
            assert!(page.contains(expected), "{expected}\n{page}");
        }
        assert!(folder.path().join("images/benchmarks-admission-0.svg").is_file());
    }

    #[test]
    fn figures_have_three_digits() {
        let rounded = [1234.5, 12.345, 1.2345, 0.012_345, 0.0].map(rounded);
        assert_eq!(rounded, ["1234", "12.3", "1.23", "0.0123", "0.00"]);
    }
}
