//! Columns for a terminal.

use std::io::{self, Write};

/// Columns as wide as they must be; the last is not filled up.
pub(super) fn table<const N: usize>(rows: &[[String; N]], out: &mut impl Write) -> io::Result<()> {
    let rows: Vec<[String; N]> =
        rows.iter().map(|row| std::array::from_fn(|column| printable(&row[column]))).collect();
    let width = |column: usize| {
        rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default()
    };
    let widths: [usize; N] = std::array::from_fn(width);
    for row in &rows {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
        writeln!(out, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
    }
    Ok(())
}

/// On one line, and with nothing that a terminal would obey: BMCs and machines that announce themselves choose some of these words.
pub(in crate::cli) fn printable(text: &str) -> String {
    let visible = |it: char| if it.is_control() { ' ' } else { it };
    let words: String = text.chars().map(visible).collect();
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_machine_says_does_not_reach_the_terminal_as_a_command() {
        let mut out = Vec::new();
        table(&[["a\x1b[2Jb\nc".to_owned(), "d".to_owned()]], &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "a [2Jb c  d\n");
    }
}
