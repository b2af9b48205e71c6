//! The reference in the guide is made of the program itself: `IRONWARD_UPDATE_DOCS=1 cargo test --test reference` writes it anew.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so and ends")]

#[path = "reference/marks.rs"]
mod marks;

use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
};

use clap::{Arg, Command, CommandFactory};
use ironward::{adapters, api, cli::Cli, controllers::said};
use marks::MARKS;
use prometheus_client::registry::Registry;

const HEAD: &str = "# Reference

<!-- Generated: IRONWARD_UPDATE_DOCS=1 cargo test --test reference -->

All flags, metrics, annotations, labels, events and kinds, written down by the program itself.

";

fn guide() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/src/reference.md")
}

#[test]
fn the_guide_has_what_the_program_has() {
    let text = [HEAD.to_owned(), flags(), metrics(), marks(), events(), kinds()].concat();
    let made = format!("{}\n", text.trim_end());
    if std::env::var_os("IRONWARD_UPDATE_DOCS").is_some() {
        return fs::write(guide(), made).unwrap();
    }
    let kept = fs::read_to_string(guide()).unwrap();
    assert!(kept == made, "IRONWARD_UPDATE_DOCS=1 cargo test --test reference writes it anew");
}

/// What policies read and write is there too.
#[test]
fn no_annotation_of_a_policy_is_left_out() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("policies");
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.to_string_lossy().ends_with(".test.yaml") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        for behind in text.split("ironward.dev/").skip(1) {
            let end = behind.find(|it: char| !it.is_ascii_alphanumeric() && it != '-');
            let name = format!("ironward.dev/{}", &behind[..end.unwrap_or(behind.len())]);
            // The group of policies, and of the kinds.
            let is_group = name.starts_with("ironward.dev/v1");
            assert!(is_group || MARKS.iter().any(|it| it.name == name), "{name}: {path:?}");
        }
    }
}

fn flags() -> String {
    let mut text = "## Commands and flags\n\n".to_owned();
    let mut command = Cli::command();
    command.build();
    commands(&command, "", &mut text);
    text
}

fn commands(command: &Command, before: &str, text: &mut String) {
    let name = format!("{before}{}", command.get_name());
    if command.get_name() == "help" {
        return;
    }
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    writeln!(text, "### `{name}`\n\n{about}\n").unwrap();
    let arguments: Vec<&Arg> = command
        .get_arguments()
        .filter(|it| !["help", "version"].contains(&it.get_id().as_str()))
        .collect();
    if !arguments.is_empty() {
        text.push_str("| flag | default | environment | what it is |\n|---|---|---|---|\n");
        for argument in arguments {
            writeln!(text, "{}", row(argument)).unwrap();
        }
        text.push('\n');
    }
    for below in command.get_subcommands() {
        commands(below, &format!("{name} "), text);
    }
}

fn row(argument: &Arg) -> String {
    let value = argument.get_value_names().filter(|_| argument.get_action().takes_values());
    let value = value
        .map(|names| names.iter().map(clap::builder::Str::as_str).collect::<Vec<_>>().join(" "));
    let short = argument.get_short().map(|it| format!("-{it}, ")).unwrap_or_default();
    let flag = match (argument.get_long(), value) {
        (Some(long), Some(value)) => format!("{short}--{long} {value}"),
        (Some(long), None) => format!("{short}--{long}"),
        (None, Some(value)) => value,
        (None, None) => argument.get_id().to_string(),
    };
    let defaults = argument.get_default_values().iter().map(|it| it.to_string_lossy());
    let default = defaults.filter(|_| argument.get_action().takes_values());
    let default = default.map(|it| format!("`{it}`")).collect::<Vec<_>>().join(", ");
    let variable = argument.get_env().map(|it| format!("`{}`", it.to_string_lossy()));
    let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
    let help = help.replace('|', "\\|").replace('\n', " ");
    format!("| `{flag}` | {default} | {} | {help} |", variable.unwrap_or_default())
}

/// A family that nothing was counted of is not encoded, so names and words are those that the registry shows of itself.
fn metrics() -> String {
    let mut registry = Registry::default();
    drop(adapters::webhook::metrics::Metrics::new(&mut registry));
    drop(adapters::hosts::Metrics::new(&mut registry));
    drop(adapters::ironic::Metrics::new(&mut registry));
    drop(adapters::machines::Metrics::new(&mut registry));
    drop(adapters::metadata::Metrics::new(&mut registry));
    drop(adapters::remediation::Metrics::new(&mut registry));
    drop(adapters::discovery::Metrics::new(&mut registry));
    drop(adapters::autoscale::Metrics::new(&mut registry));
    let mut text = "## Metrics\n\nOn `/metrics` of the probe port. Counters end in `_total` there, histograms in `_bucket`, `_sum` and `_count`.\n\n\
        | metric | what it says |\n|---|---|\n"
        .to_owned();
    let shown = format!("{registry:?}");
    for part in shown.split("prefix: Some(Prefix(\"").skip(1) {
        let (prefix, rest) = part.split_once('"').unwrap();
        for descriptor in rest.split("Descriptor { name: \"").skip(1) {
            let (name, rest) = descriptor.split_once('"').unwrap();
            let (_, rest) = rest.split_once("help: \"").unwrap();
            let (help, _) = rest.split_once('"').unwrap();
            writeln!(text, "| `{prefix}_{name}` | {help} |").unwrap();
        }
    }
    // What is looked up when it is asked for is not in what the registry shows.
    for [name, help] in [adapters::hosts::COUNT, adapters::probes::READY] {
        writeln!(text, "| `{name}` | {help}. |").unwrap();
    }
    text.push('\n');
    text
}

fn marks() -> String {
    let mut text = "## Annotations and labels\n\nOf those that are Metal3's or Cluster API's, what Ironward reads or writes.\n\n\
        | name | on | | what it is for |\n|---|---|---|---|\n"
        .to_owned();
    for mark in MARKS {
        let marks::Mark { name, on, sort, what } = mark;
        writeln!(text, "| `{name}` | {on} | {sort} | {what} |").unwrap();
    }
    text.push('\n');
    text
}

fn events() -> String {
    let mut text = "## Events\n\n[Troubleshooting by message](troubleshooting.md) explains each.\n\n| reason | of | type |\n|---|---|---|\n".to_owned();
    for event in said::events() {
        let sort = if event.is_warning { "Warning" } else { "Normal" };
        writeln!(text, "| `{}` | {} | {sort} |", event.reason, event.voice.kinds()).unwrap();
    }
    text.push('\n');
    text
}

fn kinds() -> String {
    let mut text =
        "## Kinds\n\n[The kinds](kinds.md) tells of them, `kubectl explain` of each field.\n\n| kind | short | group and version |\n|---|---|---|\n".to_owned();
    for definition in api::definitions() {
        let (names, group) = (&definition.spec.names, &definition.spec.group);
        let short = names.short_names.iter().flatten().map(|it| format!("`{it}`"));
        let versions = definition.spec.versions.iter().map(|it| format!("`{group}/{}`", it.name));
        let (short, versions) = (short.collect::<Vec<_>>(), versions.collect::<Vec<_>>());
        writeln!(text, "| {} | {} | {} |", names.kind, short.join(", "), versions.join(", "))
            .unwrap();
    }
    text
}
