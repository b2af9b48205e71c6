//! Bad objects are refused by the schema with words that a person understands; near misses are not refused.
//!
//! The objects are the files of `e2e/objects`. What the API server must say of a bad one stands in it, after
//! `# expect: `.

use ironward_e2e::cluster;
use std::{fs, path::PathBuf};

#[test]
fn bad_objects_are_refused_with_words_that_help() {
    let wrong: Vec<String> = objects("refused")
        .into_iter()
        .filter_map(|(name, text)| {
            let expected: Vec<_> =
                text.lines().filter_map(|line| line.strip_prefix("# expect: ")).collect();
            assert!(!expected.is_empty(), "{name} does not say what to expect");
            let (accepted, answer) = dry_run(&text);
            let silent = expected.into_iter().find(|words| !answer.contains(words));
            match (accepted, silent) {
                (true, _) => Some(format!("{name}: was not refused")),
                (false, Some(words)) => Some(format!("{name}: does not say `{words}`:\n{answer}")),
                (false, None) => None,
            }
        })
        .collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn near_misses_are_not_refused() {
    let wrong: Vec<String> = objects("accepted")
        .into_iter()
        .filter_map(|(name, text)| {
            let (accepted, answer) = dry_run(&text);
            (!accepted).then(|| format!("{name}:\n{answer}"))
        })
        .collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

fn objects(folder: &str) -> Vec<(String, String)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("objects").join(folder);
    let files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(files.len() > 10, "the objects are gone");
    let name = |path: &PathBuf| path.file_stem().unwrap().to_string_lossy().into_owned();
    files.iter().map(|path| (name(path), fs::read_to_string(path).unwrap())).collect()
}

fn dry_run(object: &str) -> (bool, String) {
    let kubectl = cluster::shared().unwrap().kubectl();
    let create = ["create", "--dry-run=server", "--filename", "-"];
    let answer = kubectl.run_with_input(&create, object).unwrap();
    (answer.success, answer.err)
}
