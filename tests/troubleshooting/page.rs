//! The page: sections with a title, and in them entries. An entry is a heading with a name in backquotes, a `text` block with the words as they
//! are printed, and then what they mean and, after `Next:`, what to do.

use std::{collections::BTreeMap, fs};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/src/troubleshooting.md");

/// What the page has of a name.
#[derive(Debug, Default)]
pub struct Entry {
    /// A reason, a policy or a kind.
    pub name: String,
    /// The conditions that can have it, if it is a reason of some.
    pub conditions: Vec<String>,
    /// Whether its events are warnings.
    pub is_warning: bool,
    /// What is printed.
    pub words: Vec<String>,
    /// Whether it is said what to do.
    pub has_next: bool,
}

/// The sections with such a beginning of their title, and what is in them.
pub fn sections(begins: &str) -> BTreeMap<String, Vec<Entry>> {
    let page = fs::read_to_string(PAGE).unwrap();
    let mut sections: BTreeMap<String, Vec<Entry>> = BTreeMap::new();
    let (mut title, mut is_words) = (String::new(), false);
    for line in page.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            heading.clone_into(&mut title);
            continue;
        }
        let entries = sections.entry(title.clone()).or_default();
        if let Some(heading) = line.strip_prefix("### ") {
            let name = heading.trim_matches('`').to_owned();
            entries.push(Entry { name, ..Entry::default() });
            continue;
        }
        let Some(entry) = entries.last_mut() else { continue };
        if line.starts_with("```") {
            is_words = line == "```text";
        } else if is_words {
            entry.words.push(line.to_owned());
        } else if let Some(types) = line.strip_prefix("Condition ") {
            entry.conditions = types.split('`').skip(1).step_by(2).map(str::to_owned).collect();
        } else if line == "Warning." {
            entry.is_warning = true;
        }
        entry.has_next |= !is_words && line.contains("Next: ");
    }
    sections.retain(|title, entries| title.starts_with(begins) && !entries.is_empty());
    sections
}

/// What is in the section with this title.
pub fn section(title: &str) -> Vec<Entry> {
    sections(title).remove(title).unwrap_or_else(|| panic!("the page has no section {title}"))
}
