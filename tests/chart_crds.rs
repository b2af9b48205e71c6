//! The chart installs the kinds as this build knows them.

use ironward::{api, cli};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const RENEW: &str = "renew them with: cargo run -- crds --dir charts/ironward/kinds";

#[test]
fn the_definitions_in_the_chart_are_current() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("charts/ironward/kinds");
    let in_chart: BTreeMap<_, _> = fs::read_dir(&dir)
        .unwrap_or_else(|error| panic!("{}: {error}; {RENEW}", dir.display()))
        .map(|entry| entry.unwrap().path())
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, fs::read_to_string(&path).unwrap())
        })
        .collect();
    let generated: BTreeMap<_, _> = api::crds().iter().map(cli::crds::file).collect();

    let names = |files: &BTreeMap<String, String>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&in_chart), names(&generated), "{RENEW}");
    for (name, text) in generated {
        assert!(in_chart[&name] == text, "charts/ironward/kinds/{name} is out of date; {RENEW}");
    }
}
