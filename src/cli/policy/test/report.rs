//! The results for people.

use super::{Coverage, Tested};
use crate::cli::policy::files::counted;
use std::io::{self, Write};

pub(super) fn print(
    tested: &[Tested],
    coverage: &Coverage,
    out: &mut impl Write,
) -> io::Result<()> {
    for file in tested {
        for (name, line, ran) in file.cases.iter().filter(|(_, _, ran)| !ran.failures.is_empty()) {
            writeln!(out, "{}:{line}: {name}", file.file)?;
            for line in ran.failures.iter().flat_map(|failure| failure.lines()) {
                writeln!(out, "  {line}")?;
            }
            writeln!(out)?;
        }
    }
    let width = coverage.keys().map(String::len).max().unwrap_or_default();
    for (policy, covered) in coverage {
        let acted = match covered.acted {
            0 => "never denies, warns or changes anything".to_owned(),
            acted => format!("acts in {acted}"),
        };
        writeln!(out, "{policy:width$}  {}, {acted}", counted(covered.cases, "case"))?;
    }
    let cases: usize = tested.iter().map(|file| file.cases.len()).sum();
    let passed = tested
        .iter()
        .flat_map(|file| &file.cases)
        .filter(|(_, _, ran)| ran.failures.is_empty())
        .count();
    writeln!(
        out,
        "{passed} of {} in {} as expected",
        counted(cases, "case"),
        counted(tested.len(), "file")
    )
}
