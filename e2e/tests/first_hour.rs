//! The guide's first hour, as somebody walks through it who has nothing else: every command, in order, prints what the page says.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so and ends")]

use ironward_e2e::{
    documentation::{examples, wrong},
    lab::{self, Lab},
    node::apart::{self, Apart},
};
use std::{fs, path::Path};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/src/first-hour.md");

#[test]
fn the_first_hour_goes_as_the_guide_says() {
    if apart::is_skipped() {
        return;
    }
    lab::provide().unwrap();
    Apart::provide()
        .unwrap()
        .within(|| {
            let lab = Lab::start().unwrap();
            let page = Path::new(PAGE);
            assert!(examples(&fs::read_to_string(page).unwrap()).len() > 20);
            let wrong = wrong(page, &lab.stage().unwrap()).unwrap();
            assert!(wrong.is_empty(), "\n{}\n{}", wrong.join("\n\n"), lab.last_words());
        })
        .unwrap();
}
