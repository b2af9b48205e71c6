//! Every command in the documentation does what the page says. `IRONWARD_UPDATE_DOCS=1` writes into the pages
//! what the commands print now; what changed is then for you to read.

use crate::stage::shared;
use ironward_e2e::{
    documentation::{agrees, examples, with_output},
    ironward,
    tour::Stage,
};
use std::{
    fs,
    path::{Path, PathBuf},
};

const CHECKOUT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

#[test]
fn every_example_prints_what_its_page_says() {
    let admission = shared();
    let mut wrong = Vec::new();
    let mut tried = 0;
    for page in pages() {
        let namespace = admission.namespace();
        let stage = Stage {
            kubeconfig: admission
                .plane
                .admin_kubeconfig_in(namespace.namespace().unwrap())
                .unwrap(),
            kubectl_folder: namespace.folder().into(),
            ironward_folder: ironward::binary().unwrap().parent().unwrap().into(),
        };
        let text = fs::read_to_string(&page).unwrap();
        let mut all_printed = Vec::new();
        for example in examples(&text) {
            tried += 1;
            let answer = stage.run(&example.command).unwrap();
            let printed = answer.out + &answer.err;
            if let Err(error) = agrees(&example.output, &printed) {
                wrong.push(format!("{}:{}: {error:#}", page.display(), example.line));
            }
            all_printed.push(printed);
        }
        if std::env::var_os("IRONWARD_UPDATE_DOCS").is_some() {
            fs::write(&page, with_output(&text, &all_printed)).unwrap();
        }
    }
    assert!(tried > 0, "the documentation shows nothing");
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n\n"));
}

fn pages() -> Vec<PathBuf> {
    let mut pages = vec![Path::new(CHECKOUT).join("README.md")];
    let guide = fs::read_dir(Path::new(CHECKOUT).join("docs/src")).unwrap();
    pages.extend(guide.flatten().map(|entry| entry.path()).filter(|path| path.is_file()));
    pages.sort();
    pages
}
