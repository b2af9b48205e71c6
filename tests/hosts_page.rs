//! The states of a host in the guide are those of the code. `IRONWARD_UPDATE_DOCS=1` draws them anew.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so and ends")]

use ironward::domain::provisioning_state::{ProvisioningState, TRANSITIONS};
use std::{collections::BTreeSet, fmt::Write, fs};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/src/hosts.md");
const BEGIN: &str = "<!-- begin: states -->\n";
const END: &str = "<!-- end: states -->";

#[test]
fn the_page_shows_the_table_of_the_code() {
    let page = fs::read_to_string(PAGE).unwrap();
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (shown, after) = rest.split_once(END).unwrap();
    let drawn = drawn();
    if std::env::var_os("IRONWARD_UPDATE_DOCS").is_some() {
        fs::write(PAGE, format!("{before}{BEGIN}{drawn}{END}{after}")).unwrap();
        return;
    }
    assert_eq!(shown, drawn, "IRONWARD_UPDATE_DOCS=1 cargo test --test hosts_page draws it anew");
}

/// The ways, as a table to read and as a diagram to look at.
fn drawn() -> String {
    let mut text = "\n| from | to | when |\n|---|---|---|\n".to_owned();
    for row in TRANSITIONS {
        let from: Vec<_> = row.from.iter().map(|state| word(*state)).collect();
        writeln!(text, "| {} | {} | {} |", from.join(", "), word(row.to), row.when).unwrap();
    }
    text.push_str("\n```mermaid\nstateDiagram-v2\n");
    let named = TRANSITIONS.iter().flat_map(|row| row.from.iter().copied().chain([row.to]));
    let named: BTreeSet<_> = named
        .filter(|it| *it != ProvisioningState::None)
        .map(|it| (id(it), it.to_string()))
        .collect();
    for (id, word) in named.iter().filter(|(id, word)| id != word) {
        writeln!(text, "    state \"{word}\" as {id}").unwrap();
    }
    // What leads to the end from everywhere would hide all else.
    let shown = TRANSITIONS.iter().filter(|row| row.from.len() < 6);
    for row in shown {
        for from in row.from.iter().filter(|it| **it != ProvisioningState::Ready) {
            writeln!(text, "    {} --> {}", id(*from), id(row.to)).unwrap();
        }
    }
    text.push_str("    deleting --> [*]\n```\n\nBeing deleted leads from every state to `powering off before delete` or `deleting`; the table says which.\n\n");
    text
}

fn word(state: ProvisioningState) -> String {
    if state == ProvisioningState::None { "(new)".to_owned() } else { format!("`{state}`") }
}

fn id(state: ProvisioningState) -> String {
    if state == ProvisioningState::None {
        "[*]".to_owned()
    } else {
        state.to_string().replace(' ', "_")
    }
}
