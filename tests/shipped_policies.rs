//! The policies that Ironward ships: all of the folder is in the binary, and all of it compiles.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;

use ironward::cli::policy::{files::PolicyDir, list, test};
use ironward::policy::{Kind, RATCHETING, Spec, finding, is_policy_file, shipped};

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
    let set = shipped::with(&[]).unwrap_or_else(|problems| panic!("{}", problems[0]));
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

/// The table of the guide is what `ironward policy list` says.
#[test]
fn the_guide_lists_them() {
    const BEGIN: &str = "cargo test --test shipped_policies -->\n\n";
    const END: &str = "<!-- End of what is generated. -->";
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/src/shipped-policies.md");
    let text = fs::read_to_string(page).unwrap();
    let begin = text.find(BEGIN).unwrap() + BEGIN.len();
    let end = text.find(END).unwrap();
    let mut table = Vec::new();
    let args =
        list::Args { name: None, policies: PolicyDir::default(), output: list::Output::Markdown };
    list::run(&args, &mut table).unwrap();
    let table = format!("{}\n", String::from_utf8(table).unwrap());
    if std::env::var_os("IRONWARD_UPDATE_DOCS").is_some() {
        return fs::write(page, format!("{}{table}{}", &text[..begin], &text[end..])).unwrap();
    }
    assert_eq!(&text[begin..end], table, "IRONWARD_UPDATE_DOCS=1 writes the table anew");
}

/// A shipped document says what it is for, ratchets if it judges, and never looks at `/status`.
#[test]
fn they_keep_the_rules_of_conduct() {
    let set = shipped::with(&[]).unwrap();
    for document in set.documents() {
        let name = &document.metadata.name;
        let annotations = &document.metadata.annotations;
        let (constraints, validations) = match &document.spec {
            Spec::ValidatingPolicy(spec) => (&spec.match_constraints, spec.validations.as_slice()),
            Spec::MutatingPolicy(spec) => (&spec.match_constraints, [].as_slice()),
            Spec::Unique(spec) => (&spec.match_constraints, [].as_slice()),
            Spec::ValidatingBinding(_) | Spec::MutatingBinding(_) => continue,
        };
        assert!(annotations.contains_key("kubernetes.io/description"), "{name}");
        let is_validating = document.kind() == Kind::ValidatingAdmissionPolicy;
        assert_eq!(annotations.contains_key(RATCHETING), is_validating, "{name}");
        assert_eq!(document.file, format!("{name}.yaml"));
        for rule in constraints.iter().flat_map(|constraints| &constraints.resource_rules) {
            assert!(rule.resources.iter().all(|it| !it.contains(['/', '*'])), "{name}");
        }
        for message in validations.iter().map(|it| &it.message).filter(|it| !it.is_empty()) {
            assert!(finding::split(message).0.is_some(), "{name}: {message}");
        }
    }
}

/// Half of the cost of an answer would be the hardware of a host, which no rule is about.
#[test]
fn no_shipped_policy_reads_what_is_large() {
    let policies = shipped::with(&[]).unwrap();
    assert!(!policies.reads().status("hardware"), "{:?}", policies.reads());
    assert!(!policies.reads().metadata("managedFields"), "{:?}", policies.reads());
    assert!(policies.reads().status("provisioning"));
}
