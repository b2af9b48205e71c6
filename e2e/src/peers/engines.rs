//! The engines underneath: CEL against cel-go as Kubernetes embeds it, templates against Go's text/template.
//!
//! Both sides do the same work in the same process time, measured by themselves, in turns.

use super::figures::{Better, OWN, Part, Table};
use crate::{kubectl, load::number, oracle, progress::Progress, template_fuzz::node};
use anyhow::{Context, Result, ensure};
use ironward::{
    policy::cel::{Bindings, Environment, Program, Type, Value as Outcome, compile},
    template::{Value as Nothing, metadata::parse},
};
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use std::{
    fs,
    hint::black_box,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

const WORKSPACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
const ITERATIONS: usize = 5000;
/// What an expression may speak of and still be evaluated by itself.
const OTHERS: [&str; 6] =
    ["variables.", "request.", "oldObject", "authorizer", "params", "namespaceObject"];

/// Builds ahead.
pub fn provide() -> Result<()> {
    oracle::provide("cel-oracle")?;
    oracle::provide("template-oracle").map(drop)
}

/// Measures both, so many times.
pub fn measure(rounds: usize) -> Result<Part> {
    let begun = Instant::now();
    let mut remarks = Vec::new();
    let tables = vec![cel(rounds, &mut remarks)?, templates(rounds)?];
    Ok(Part {
        title: "Engines".to_owned(),
        about: "CPU time on one core, without a server around it.".to_owned(),
        tables,
        remarks,
        took: begun.elapsed().as_secs_f64(),
        runs: 1,
        ..Part::default()
    })
}

/// An expression of a shipped policy.
struct Rule {
    name: String,
    text: String,
    program: Program,
}

fn cel(rounds: usize, remarks: &mut Vec<String>) -> Result<Table> {
    let progress = Progress::start("evaluating the shipped policies' expressions");
    let workspace = Path::new(WORKSPACE);
    let host: Value =
        serde_json::from_slice(&fs::read(workspace.join("tests/cel/baremetalhost.json"))?)?;
    let (rules, all) = shipped(&host)?;
    ensure!(!rules.is_empty(), "no policy has an expression that can be evaluated by itself");
    remarks.push(format!(
        "Of {all} expressions of the portable policies about BareMetalHosts, {} speak of the object alone and hold for it; those are what both evaluate. Both count what an expression \
         costs and stop it at its budget.",
        rules.len()
    ));
    let folder = tempfile::tempdir()?;
    fs::copy(
        workspace.join("tests/cel/baremetalhost.json"),
        folder.path().join("baremetalhost.json"),
    )?;
    let named: Vec<_> = rules
        .iter()
        .map(|it| json!({"name": format!("rule-{}", it.name), "expr": it.text}))
        .collect();
    fs::write(folder.path().join("bench.json"), Value::from(named).to_string())?;
    let (mut own, mut theirs, mut own_read, mut their_read) = (vec![], vec![], vec![], vec![]);
    let text = host.to_string();
    for _ in 0..rounds {
        let bindings = Bindings::new().object(&host);
        own.push(microseconds(ITERATIONS, || {
            for rule in &rules {
                drop(black_box(rule.program.evaluate(&bindings)));
            }
        }));
        own_read.push(microseconds(ITERATIONS / 10, || {
            let object: Value = serde_json::from_str(black_box(&text)).unwrap_or_default();
            let bindings = Bindings::new().object(&object);
            for rule in &rules {
                drop(black_box(rule.program.evaluate(&bindings)));
            }
        }));
        let mut command = Command::new(oracle::provide("cel-oracle")?);
        command.arg("bench").arg("-dir").arg(folder.path());
        command.args(["-repeats", "3", "-iterations", &ITERATIONS.to_string()]);
        let report = answer(&mut command)?;
        let figure =
            |of: &Value| of["cpuNs"].as_f64().map(|it| it / 1e3).context("cel-go has no figure");
        let evaluated = figure(&report["rules"]["apiserver"])?;
        theirs.push(evaluated);
        their_read.push(evaluated + figure(&report["decodeObject"])?);
    }
    let mut table = Table::new(
        &format!("{} expressions of the shipped policies on a BareMetalHost", rules.len()),
        &[OWN, "cel-go in Kubernetes"],
    );
    table.row("all of them", "µs", Better::Less, vec![own, theirs]);
    table.row(
        "the object read from JSON, and all of them",
        "µs",
        Better::Less,
        vec![own_read, their_read],
    );
    progress.done();
    Ok(table)
}

/// The expressions that speak of the object alone and hold for it, and how many there are in all.
fn shipped(host: &Value) -> Result<(Vec<Rule>, usize)> {
    let (mut rules, mut all) = (Vec::new(), 0);
    let mut files: Vec<_> = fs::read_dir(Path::new(WORKSPACE).join("policies"))?
        .map(|it| it.map(|it| it.path()))
        .collect::<Result<_, _>>()?;
    files.sort();
    for path in files.iter().filter(|it| !it.to_string_lossy().ends_with(".test.yaml")) {
        let documents: Vec<Value> = serde_saphyr::from_multiple(&fs::read_to_string(path)?)?;
        for document in documents {
            let is_ours = document["apiVersion"] == "admissionregistration.k8s.io/v1"
                && document["kind"] == "ValidatingAdmissionPolicy"
                && document["spec"]["matchConstraints"].to_string().contains("\"baremetalhosts\"");
            if !is_ours {
                continue;
            }
            let lists =
                ["matchConditions", "validations"].map(|it| document["spec"][it].as_array());
            for (number, it) in lists.into_iter().flatten().flatten().enumerate() {
                all += 1;
                let text = it["expression"].as_str().unwrap_or_default().to_owned();
                if OTHERS.iter().any(|other| text.contains(other)) {
                    continue;
                }
                let Ok(program) = compile(&text, &Environment::new(), &[Type::Bool]) else {
                    continue;
                };
                let name = format!(
                    "{}-{number}",
                    document["metadata"]["name"].as_str().unwrap_or_default()
                );
                let rule = Rule { name, text, program };
                if holds(&rule, host) {
                    rules.push(rule);
                }
            }
        }
    }
    Ok((rules, all))
}

fn holds(rule: &Rule, host: &Value) -> bool {
    let result = rule.program.evaluate(&Bindings::new().object(host));
    matches!(result.result, Ok(Outcome::Bool(true)))
}

fn templates(rounds: usize) -> Result<Table> {
    let progress = Progress::start("rendering a template");
    let folder = Path::new(WORKSPACE).join("tests/template");
    let source = fs::read_to_string(folder.join("bench.tmpl"))?;
    let node = node::read(&folder.join("node.json"))?;
    let template = parse("user-data", &source).context("the template cannot be parsed")?;
    let mut cells: [Vec<Vec<f64>>; 2] = [vec![vec![], vec![]], vec![vec![], vec![]]];
    for _ in 0..rounds {
        cells[0][0].push(microseconds(ITERATIONS, || {
            drop(black_box(parse("user-data", black_box(&source))));
        }));
        cells[1][0].push(microseconds(ITERATIONS, || {
            drop(black_box(template.render(&Nothing::Nil, &node)));
        }));
        let mut command = Command::new(oracle::provide("template-oracle")?);
        let report = answer(command.arg("bench").arg("-folder").arg(&folder))?;
        for (cell, name) in cells.iter_mut().zip(["parse", "render"]) {
            cell[1].push(report[name].as_f64().context("text/template has no figure")? / 1e3);
        }
    }
    let mut table = Table::new("A user-data template of a node", &[OWN, "text/template"]);
    let [parsed, rendered] = cells;
    table.row("parse", "µs", Better::Less, parsed);
    table.row("render", "µs", Better::Less, rendered);
    progress.done();
    Ok(table)
}

fn answer(command: &mut Command) -> Result<Value> {
    let answer = kubectl::run(command, "")?;
    ensure!(answer.success, "{command:?} failed: {}", answer.err);
    serde_json::from_str(&answer.out).with_context(|| format!("{command:?} printed no JSON"))
}

/// What one call takes of a processor: the median of several measurements of many.
fn microseconds(iterations: usize, mut call: impl FnMut()) -> f64 {
    call();
    let mut times: Vec<f64> = (0..5)
        .map(|_| {
            let before = processor_time();
            (0..iterations).for_each(|_| call());
            processor_time().saturating_sub(before).as_secs_f64() * 1e6 / number(iterations)
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn processor_time() -> Duration {
    clock_gettime(ClockId::ThreadCPUTime).try_into().unwrap_or_default()
}
