//! The certificate is swapped while Ironward serves.

use crate::stage::{PATIENCE, Stage};
use ironward_e2e::eventually::eventually;
use std::fs;

#[test]
fn a_new_certificate_is_taken_up_and_a_broken_one_is_not() {
    let stage = Stage::start();
    let certificate = &stage.ironward.certificate;
    let said = |words: &str| {
        eventually(PATIENCE, words, || {
            let log = stage.ironward.process.log_tail();
            if log.contains(words) { Ok(()) } else { Err(log) }
        })
        .unwrap();
    };

    let good = fs::read(&certificate.certificate).unwrap();
    fs::write(&certificate.certificate, "nonsense").unwrap();
    said("the new certificate is not used; the last one stays");
    stage.wait_until_in_force();

    fs::write(&certificate.certificate, good).unwrap();
    stage.plane.serving_certificate("ironward").unwrap();
    said("serving with a new certificate");
    stage.wait_until_in_force();
}
