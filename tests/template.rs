//! The golden vectors: what Go's text/template answered, compared in output and in the text of errors.
//!
//! The format is in `template/README.md`, beside the vectors.

#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a vector or fixture that cannot be read must fail the test"
)]

use ironward::{
    domain::mac::Mac,
    template::{
        Functions, Limits, MissingKey, Template, Value,
        metadata::{self, FUNCTIONS, Host, Node, Object},
    },
};
use serde_json::Value as Json;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// Vectors that differ on purpose, by their template, with the reason: the limits, and addresses of memory.
const EXCEPTIONS: &[(&str, &str)] =
    &[("{{template \"t\"}}", "Go goes 100,000 templates deep, this engine `Limits::depth`")];

#[test]
fn every_vector_is_answered_as_go_answers() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/template");
    let node = node(&read(&folder.join("node.json")));
    let functions = Functions::new(&FUNCTIONS);
    let mut data: BTreeMap<String, Value> = BTreeMap::new();
    let (mut total, mut wrong) = (0, Vec::new());
    for file in vector_files(&folder) {
        for line in fs::read_to_string(&file).unwrap().lines() {
            let vector: Json = serde_json::from_str(line).unwrap();
            let found = answer(&vector, &functions, &node, |name| {
                let read = || Value::from(&read(&folder.join("data").join(format!("{name}.json"))));
                data.entry(name.to_owned()).or_insert_with(read).clone()
            });
            let want = ["output", "error"].iter().find_map(|key| vector[key].as_str()).unwrap();
            total += 1;
            let template = vector["template"].as_str().unwrap();
            if found != want && !EXCEPTIONS.iter().any(|(known, _)| *known == template) {
                wrong.push(format!("{template}\n  Go:       {want}\n  Ironward: {found}"));
            }
        }
    }
    assert!(total > 600, "only {total} vectors were found");
    assert!(wrong.is_empty(), "{} of {total} differ\n{}", wrong.len(), wrong.join("\n"));
}

fn vector_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder.join("vectors")).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// The output, or the text of the error.
fn answer(
    vector: &Json,
    functions: &Functions,
    node: &Node,
    mut data: impl FnMut(&str) -> Value,
) -> String {
    let name = vector["name"].as_str().unwrap_or("t");
    let source = vector["template"].as_str().unwrap();
    let dot = vector["data"].as_str().map_or_else(|| Value::from(&vector["value"]), &mut data);
    let missing_key = match vector["missingkey"].as_str() {
        Some("error") => MissingKey::Error,
        _ => MissingKey::NoValue,
    };
    match Template::parse(name, source, functions, &Limits::default()) {
        Ok(template) => match template.missing_key(missing_key).render(&dot, node) {
            Ok(output) => output,
            Err(error) => error.to_string(),
        },
        Err(error) => error.to_string(),
    }
}

fn read(file: &Path) -> Json {
    serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
}

fn node(json: &Json) -> Node {
    let text = |json: &Json| json.as_str().unwrap_or_default().to_owned();
    let texts = |json: &Json| {
        let entries = json.as_object().into_iter().flatten();
        entries.map(|(key, value)| (key.clone(), text(value))).collect::<BTreeMap<_, _>>()
    };
    let mac = |text: &str| text.parse::<Mac>().unwrap();
    let object = |json: &Json| Object {
        name: text(&json["name"]),
        labels: texts(&json["labels"]),
        annotations: texts(&json["annotations"]),
    };
    Node {
        index: u32::try_from(json["index"].as_u64().unwrap()).unwrap(),
        namespace: text(&json["namespace"]),
        cluster_name: text(&json["clusterName"]),
        machine: object(&json["machine"]),
        metal3_machine: object(&json["metal3Machine"]),
        metal3_machine_uid: text(&json["metal3MachineUID"]),
        host: Host {
            object: object(&json["host"]),
            nics: texts(&json["host"]["nics"]).into_iter().map(|(k, v)| (k, mac(&v))).collect(),
            boot_mac: json["host"]["bootMAC"].as_str().map(mac),
        },
    }
}

/// The guide, whose examples are about the node of the vectors.
const GUIDE: &str = include_str!("../docs/src/metadata-templates.md");

fn blocks(kind: &str) -> Vec<&'static str> {
    let fence = format!("```{kind}\n");
    GUIDE.split(&fence).skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

#[test]
fn the_example_of_the_guide_is_rendered_as_it_says() {
    let yaml = blocks("yaml");
    let [object, rendered] = yaml.as_slice() else { panic!("{} blocks of YAML", yaml.len()) };
    let object: Json = serde_saphyr::from_str(object).unwrap();
    let want: BTreeMap<String, String> = serde_saphyr::from_str(rendered).unwrap();
    let templates: BTreeMap<String, String> =
        serde_json::from_value(object["spec"]["metaData"].clone()).unwrap();
    let node = node(&read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/template/node.json")));
    let found = metadata::render(&templates, &node);
    let found: BTreeMap<String, String> =
        found.into_iter().map(|(key, value)| (key, value.unwrap())).collect();
    assert_eq!(found, want);
    for (key, template) in templates {
        assert_eq!(metadata::problems(&key, &template), []);
    }
}

#[test]
fn the_problems_of_the_guide_are_those_that_are_found() {
    let texts = blocks("text");
    let [_, template, problems] = texts.as_slice() else { panic!("{} blocks", texts.len()) };
    let found = metadata::problems("key", template.trim_end());
    let found: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert_eq!(found, problems.lines().collect::<Vec<_>>());
}

#[test]
fn the_guide_lists_each_function() {
    for function in FUNCTIONS {
        let line = format!("| `{function}` | {} |\n", function.doc);
        assert!(GUIDE.contains(&line), "missing: {line}");
    }
}
