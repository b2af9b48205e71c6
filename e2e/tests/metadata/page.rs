//! The commands of the guide's page.

use crate::stage::{Replica, plane};
use ironward_e2e::{
    alone::alone,
    documentation::{examples, wrong},
    tour::Stage,
};
use std::{fs, path::Path};

#[test]
fn the_page_prints_what_it_says() {
    let _alone = alone();
    let plane = plane();
    let replica = Replica::start("page", &plane.own_kubeconfig().unwrap());
    let page = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/src/metadata.md"));
    plane.kubectl().expect(&["create", "namespace", "metal3"]).unwrap();
    let stage = Stage::new(plane.admin_kubeconfig_in("metal3").unwrap(), &plane.kubectl()).unwrap();
    assert!(examples(&fs::read_to_string(page).unwrap()).len() > 3);
    let wrong = wrong(page, &stage).unwrap();
    assert!(wrong.is_empty(), "\n{}\n{}", wrong.join("\n\n"), replica.log_tail());
    replica.kill();
}
