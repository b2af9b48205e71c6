//! Every command in the documentation does what the page says.

use ironward_e2e::{
    cluster,
    documentation::{agrees, examples},
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
    let plane = cluster::shared().unwrap();
    let mut wrong = Vec::new();
    let mut tried = 0;
    for page in pages() {
        let namespace = cluster::namespace().unwrap();
        let stage = Stage {
            kubeconfig: plane.admin_kubeconfig_in(namespace.namespace().unwrap()).unwrap(),
            kubectl_folder: namespace.folder().into(),
            ironward_folder: ironward::binary().unwrap().parent().unwrap().into(),
        };
        for example in examples(&fs::read_to_string(&page).unwrap()) {
            tried += 1;
            let printed = stage.run(&example.command).unwrap();
            if let Err(error) = agrees(&example.output, &(printed.out + &printed.err)) {
                wrong.push(format!("{}:{}: {error:#}", page.display(), example.line));
            }
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
