//! Every command in the documentation does what the page says.

use crate::stage::shared;
use ironward_e2e::{
    documentation::{examples, pages, wrong},
    tour::Stage,
};
use std::{fs, path::PathBuf};

#[test]
fn every_example_prints_what_its_page_says() {
    let admission = shared();
    let (mut all_wrong, mut tried) = (Vec::new(), 0);
    // What is unique is not, here, and neither controllers nor Cluster API run: other tests run those pages.
    let elsewhere = ["uniqueness.md", "metadata.md", "remediation.md", "first-hour.md"];
    let is_run = |page: &&PathBuf| !elsewhere.iter().any(|it| page.ends_with(it));
    for page in pages().unwrap().iter().filter(is_run) {
        let namespace = admission.namespace();
        let kubeconfig =
            admission.plane.admin_kubeconfig_in(namespace.namespace().unwrap()).unwrap();
        let stage = Stage::new(kubeconfig, &namespace).unwrap();
        tried += examples(&fs::read_to_string(page).unwrap()).len();
        all_wrong.extend(wrong(page, &stage).unwrap());
    }
    assert!(tried > 0, "the documentation shows nothing");
    assert!(all_wrong.is_empty(), "\n{}", all_wrong.join("\n\n"));
}
