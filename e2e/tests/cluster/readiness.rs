//! Ironward says whether it has all it needs, and what is missing if not.

use ironward_e2e::{cluster, control_plane::ControlPlane, ironward::Ironward};
use rustix::process::Signal;
use std::time::Duration;

#[test]
fn ironward_is_ready_when_its_kinds_are_there_and_says_what_is_missing_when_not() {
    let plane = ControlPlane::start().unwrap();
    let ironward = Ironward::start(&plane).unwrap();
    let patience = Duration::from_mins(1);
    let not_ready = |words: &str| {
        let answers = || {
            ironward
                .probe("readyz")
                .is_ok_and(|(status, text)| status == 503 && text.contains(words))
        };
        ironward.process.wait_until(patience, answers).unwrap();
    };

    not_ready("kind BareMetalHost is not installed (baremetalhosts.metal3.io)");
    assert_eq!(
        ironward.probe("livez").unwrap().0,
        200,
        "a missing kind is no reason for a restart"
    );

    cluster::install_kinds(&plane).unwrap();
    ironward.wait_until_ready().unwrap();

    plane.kubectl().expect(&["delete", "crd", "hosthistories.ironward.dev"]).unwrap();
    not_ready("kind HostHistory is not installed");

    ironward.process.signal(Signal::TERM).unwrap();
    let status = ironward.process.wait_for_exit(patience).unwrap();
    assert!(status.success(), "{status}\n{}", ironward.process.log_tail());
}
