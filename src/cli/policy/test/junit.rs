//! The results for CI: JUnit's XML, as far as CI systems agree on it.

use super::Tested;
use std::fmt::Write as _;

pub(super) fn document(tested: &[Tested]) -> String {
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    for file in tested {
        let failed = file.cases.iter().filter(|(_, _, ran)| !ran.failures.is_empty()).count();
        let _ = writeln!(
            xml,
            "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{failed}\">",
            escaped(&file.file),
            file.cases.len()
        );
        for (name, line, ran) in &file.cases {
            let (name, class) = (escaped(name), escaped(&file.file));
            let _ =
                write!(xml, "    <testcase name=\"{name}\" classname=\"{class}\" line=\"{line}\"");
            match ran.failures.first() {
                None => xml.push_str("/>\n"),
                Some(first) => {
                    let first = escaped(first.lines().next().unwrap_or_default());
                    let all = escaped(&ran.failures.join("\n"));
                    let _ =
                        writeln!(xml, "><failure message=\"{first}\">{all}</failure></testcase>");
                }
            }
        }
        xml.push_str("  </testsuite>\n");
    }
    xml.push_str("</testsuites>\n");
    xml
}

/// Fit to stand in XML: what XML cannot hold at all is left out.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(character),
            control if control.is_control() => {}
            other => out.push(other),
        }
    }
    out
}
