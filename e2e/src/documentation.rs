//! The commands in the documentation, and what it says they print.
//!
//! A fenced block marked `console` is a promise: the lines after `$ ` are typed, the lines below are what comes
//! out. Tests keep it. `…` on a line of its own stands for any lines; a word that differs on each run (an age,
//! a number of a run) may differ.

use crate::tour::Stage;
use anyhow::{Context, Result, bail};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// A command of a `console` block and what the page says it prints.
#[derive(Debug, PartialEq, Eq)]
pub struct Example {
    /// The line of the page.
    pub line: usize,
    /// What is typed.
    pub command: String,
    /// What comes out.
    pub output: String,
}

/// The examples of a page, in order.
#[must_use]
pub fn examples(page: &str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let mut block = None;
    for (number, line) in page.lines().enumerate() {
        let fence = line.trim_start().strip_prefix("```");
        match (block, fence) {
            (None, Some(kind)) => block = Some(kind.trim() == "console"),
            (Some(_), Some(_)) => block = None,
            (Some(true), None) => match (line.strip_prefix("$ "), examples.last_mut()) {
                (Some(command), _) => examples.push(Example {
                    line: number + 1,
                    command: command.to_owned(),
                    output: String::new(),
                }),
                (None, Some(example)) if example.output.is_empty() && goes_on(&example.command) => {
                    example.command.push('\n');
                    example.command.push_str(line);
                }
                (None, Some(example)) => {
                    example.output.push_str(line);
                    example.output.push('\n');
                }
                (None, None) => {}
            },
            (None | Some(false), None) => {}
        }
    }
    examples
}

fn goes_on(command: &str) -> bool {
    command.ends_with('\\')
}

/// Runs the examples of a page, and says what is not as the page has it. `IRONWARD_UPDATE_DOCS=1` writes into
/// the page what the commands print now; what changed is then for you to read.
pub fn wrong(page: &Path, stage: &Stage) -> Result<Vec<String>> {
    let text = fs::read_to_string(page).with_context(|| format!("no page {}", page.display()))?;
    let (mut wrong, mut all_printed) = (Vec::new(), Vec::new());
    for example in examples(&text) {
        let answer = stage.run(&example.command)?;
        let printed = answer.out + &answer.err;
        if let Err(error) = agrees(&example.output, &printed) {
            wrong.push(format!("{}:{}: {error:#}", page.display(), example.line));
        }
        all_printed.push(printed);
    }
    if std::env::var_os("IRONWARD_UPDATE_DOCS").is_some() {
        fs::write(page, with_output(&text, &all_printed))?;
    }
    Ok(wrong)
}

/// The pages of the guide, and the README.
pub fn pages() -> Result<Vec<PathBuf>> {
    let checkout = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let mut pages = vec![checkout.join("README.md")];
    for entry in fs::read_dir(checkout.join("docs/src"))? {
        pages.push(entry?.path());
    }
    pages.retain(|page| page.is_file());
    pages.sort();
    Ok(pages)
}

/// The page with the output of its examples replaced by what they printed, in order.
#[must_use]
fn with_output(page: &str, printed: &[String]) -> String {
    let examples = examples(page);
    let mut lines: Vec<String> = page.lines().map(ToOwned::to_owned).collect();
    // From the end, so that the numbers of the lines before stay right.
    for (example, printed) in examples.iter().zip(printed).rev() {
        let start = example.line - 1 + example.command.lines().count();
        let end = start + example.output.lines().count();
        lines.splice(start..end, printed.trim_end().lines().map(|line| line.trim_end().to_owned()));
    }
    lines.join("\n") + "\n"
}

/// Whether a command printed what a page says, up to what differs on each run.
pub fn agrees(said: &str, printed: &str) -> Result<()> {
    let (said, printed) = (in_order(said), in_order(printed));
    if lines_agree(&said, &printed) {
        return Ok(());
    }
    bail!("the page says\n{}\nand it printed\n{}", said.join("\n"), printed.join("\n"))
}

/// The lines, with neighbouring bullets sorted: the API server lists what is wrong in any order.
fn in_order(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.trim_end().lines().collect();
    for bullets in lines.chunk_by_mut(|one, other| one.starts_with("* ") && other.starts_with("* "))
    {
        bullets.sort_unstable();
    }
    lines
}

fn lines_agree(said: &[&str], printed: &[&str]) -> bool {
    match said {
        [] => printed.is_empty(),
        ["…", rest @ ..] => (0..=printed.len()).any(|skip| lines_agree(rest, &printed[skip..])),
        [line, rest @ ..] => match printed {
            [] => false,
            [first, others @ ..] => line_agrees(line, first) && lines_agree(rest, others),
        },
    }
}

fn line_agrees(said: &str, printed: &str) -> bool {
    let (said, printed) = (said.split_whitespace(), printed.split_whitespace());
    said.map(steady).eq(printed.map(steady))
}

/// A word without what differs from run to run.
fn steady(word: &str) -> String {
    let number = word.trim_end_matches(['s', 'm', 'h', 'd']);
    let is_age = number.len() < word.len() && number.chars().all(|c| c.is_ascii_digit());
    match word.find("ironward-control-plane-") {
        _ if is_age => "<age>".into(),
        Some(start) => {
            let rest = &word[start + "ironward-control-plane-".len()..];
            let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
            let prefix = word[..start].find('=').map_or("", |equals| &word[..=equals]);
            format!("{prefix}<run>{rest}")
        }
        None => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# Title\n\n```sh\nnot an example\n```\n\n```console\n$ kubectl get bmh\nNAME   AGE\nw-0    5s\n$ kubectl \\\n  version\n```\n";

    #[test]
    fn a_console_block_is_read_as_commands_and_their_output() {
        let found = examples(PAGE);
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].line, found[0].command.as_str()), (8, "kubectl get bmh"));
        assert_eq!(found[0].output, "NAME   AGE\nw-0    5s\n");
        assert_eq!(found[1].command, "kubectl \\\n  version");
    }

    #[test]
    fn a_page_can_be_brought_up_to_date() {
        let page = with_output(PAGE, &["NAME\nw-1\n".into(), "v1\n".into()]);
        let outputs: Vec<_> = examples(&page).into_iter().map(|example| example.output).collect();
        assert_eq!(outputs, ["NAME\nw-1\n", "v1\n"]);
        assert!(page.starts_with("# Title\n\n```sh\n") && page.ends_with("v1\n```\n"), "{page}");
    }

    #[test]
    fn what_differs_on_each_run_may_differ_and_nothing_else() {
        assert!(agrees("NAME  AGE\nw-0   5s\n", "NAME   AGE\nw-0    12s").is_ok());
        assert!(agrees("NAME\n…\nlast", "NAME\na\nb\nlast").is_ok());
        assert!(agrees("invalid:\n* a\n* b\nend", "invalid:\n* b\n* a\nend").is_ok());
        assert!(
            agrees(
                "export K=/tmp/ironward-control-plane-1/a",
                "export K=/x/ironward-control-plane-77/a"
            )
            .is_ok()
        );
        assert!(agrees("w-0   5s", "w-1    5s").is_err());
        assert!(agrees("NAME", "NAME\nmore").is_err());
        assert!(
            agrees(
                "export K=/tmp/ironward-control-plane-1/a",
                "export K=/x/ironward-control-plane-77/b"
            )
            .is_err()
        );
    }
}
