//! The policies that Ironward ships: all of the folder is in the binary, and all of it compiles.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;

use ironward::cli::policy::test;
use ironward::policy::{Directory, PolicySet, extensions, is_policy_file, shipped};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/policies");

#[test]
fn every_file_of_the_folder_is_embedded() {
    let mut on_disk: Vec<String> = fs::read_dir(FOLDER)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| is_policy_file(name))
        .collect();
    on_disk.sort();
    let embedded: Vec<&str> = shipped::files().iter().map(|file| file.name).collect();
    assert_eq!(embedded, on_disk);
}

#[test]
fn they_compile() {
    let directory = Directory { embedded: shipped::files(), user: &[] };
    let set = PolicySet::compile(&directory, &extensions())
        .unwrap_or_else(|problems| panic!("{}", problems[0]));
    assert!(set.rules().count() > 0);
}

/// Each is seen to act in its own `*.test.yaml`, and to leave near misses alone.
#[test]
fn they_pass_their_tests() {
    let args = test::Args { paths: vec![FOLDER.into()], junit: None, require_coverage: true };
    let mut out = Vec::new();
    let done = test::run(&args, &mut out);
    assert!(done.is_ok(), "{}{}", String::from_utf8_lossy(&out), done.unwrap_err());
}
