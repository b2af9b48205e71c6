//! The golden vectors, and what `cel-fuzz` once found: what the API server's own CEL answered, compared in type,
//! value, error text and cost.
//!
//! The format is in `cel/README.md`, beside the vectors.

#![allow(
    clippy::unwrap_used,
    reason = "a vector or fixture that cannot be read must fail the test"
)]

// Shared with `cel-fuzz`, which asks the same of random expressions.
#[path = "cel/answer.rs"]
mod answer;

use answer::{Fixtures, answer};
use serde::Deserialize as _;
use serde_json::{Value as Json, json};
use std::{collections::BTreeMap, fmt::Write as _, fs, path::Path};

#[derive(Default)]
struct Score {
    total: usize,
    passed: usize,
    wrong: BTreeMap<&'static str, usize>,
}

#[test]
fn every_vector_is_answered_as_the_api_server_answers() {
    // Answers are read and compared without a limit on depth, so with a large stack.
    let thread = std::thread::Builder::new().stack_size(64 << 20).spawn(run).unwrap();
    assert_eq!(thread.join().unwrap(), 0, "vectors differ from the API server's answers");
}

fn read(line: &str) -> Json {
    let mut deserializer = serde_json::Deserializer::from_str(line);
    deserializer.disable_recursion_limit();
    Json::deserialize(&mut deserializer).unwrap()
}

fn run() -> usize {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cel");
    let only = option_env!("CEL_VECTORS");
    let mut files: Vec<_> = ["vectors", "fuzz-findings"]
        .into_iter()
        .flat_map(|folder| fs::read_dir(root.join(folder)).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "jsonl"))
        .filter(|path| only.is_none_or(|only| path.to_string_lossy().contains(only)))
        .collect();
    files.sort();
    let fixtures = Fixtures::read(&root.join("bindings")).unwrap();
    let mut report = String::new();
    let mut differences = 0;
    for file in files {
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        let mut score = Score::default();
        let mut shown = 0;
        for line in fs::read_to_string(&file).unwrap().lines() {
            let vector = read(line);
            score.total += 1;
            let found = answer(&vector, &fixtures);
            let wrong = compare(&vector, &found);
            if wrong.is_empty() {
                score.passed += 1;
                continue;
            }
            let id = vector["id"].as_str().unwrap();
            for what in &wrong {
                *score.wrong.entry(what).or_default() += 1;
            }
            differences += 1;
            shown += 1;
            if shown <= 20 {
                let _ = writeln!(
                    report,
                    "  {name} {id} {wrong:?}: {}\n    wanted {}\n    found  {}",
                    vector["expr"].as_str().unwrap(),
                    vector["answer"],
                    found
                );
            }
        }
        let _ =
            writeln!(report, "{name}: {}/{} wrong {:?}", score.passed, score.total, score.wrong);
    }
    println!("{report}");
    differences
}

fn compare(vector: &Json, found: &Json) -> Vec<&'static str> {
    let wanted = &vector["answer"];
    if wanted.get("panic").is_some() {
        // Kubernetes crashes here: whatever is refused or answered without a crash is better.
        return Vec::new();
    }
    let mut wrong = Vec::new();
    for key in ["compileError", "staticType", "value", "error", "outOfBudget"] {
        if key == "value" && vector["unordered"] == json!(true) {
            continue;
        }
        if wanted.get(key) != found.get(key) {
            wrong.push(key);
        }
    }
    // Where Go's order of maps decides, the oracle gives the least and the most.
    let cost = found.get("cost").and_then(Json::as_u64);
    let fits = match wanted.get("costRange").and_then(Json::as_array) {
        Some(range) => {
            let bound = |at: usize| range[at].as_u64();
            cost >= bound(0) && cost <= bound(1)
        }
        None => wanted.get("cost") == found.get("cost"),
    };
    if !fits {
        wrong.push("cost");
    }
    if let Some(variables) = wanted.get("variables")
        && Some(variables) != found.get("variables")
    {
        wrong.push("variables");
    }
    wrong
}
