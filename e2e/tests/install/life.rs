//! Installed, upgraded, rolled back, uninstalled; with a replica that runs all the while.

use crate::stage::{SELF_SIGNED, beside_metal3, create, in_company, until, wait_until_in_force};
use ironward_e2e::release::{NAME, NAMESPACE, Release, Replica, mount, stopped};

const REGISTRATIONS: [&str; 2] = ["validatingwebhookconfiguration", "mutatingwebhookconfiguration"];

#[test]
fn a_release_is_installed_upgraded_rolled_back_and_leaves_nothing_in_the_way() {
    let _company = in_company();
    let plane = beside_metal3();
    let release = Release::install(&plane, &[SELF_SIGNED]).unwrap();
    let kubectl = release.kubectl();
    let notes = release.helm("get", &[]).unwrap_or_default();
    assert!(!notes.contains("<no value>"), "{notes}");

    let replica = release.start(&Replica::default()).unwrap();
    wait_until_in_force(&release, &replica);
    assert!(create(&release, "first", 1).success);
    let duplicate = create(&release, "second", 1);
    assert!(duplicate.err.contains("belongs to BareMetalHost default/first"), "{}", duplicate.err);
    let verified = release.verify().unwrap();
    assert!(verified.success, "{}{}", verified.out, verified.err);
    assert!(verified.out.contains("answered: refused"), "{}", verified.out);

    // An upgrade and a rollback leave the certificate and the registrations as they are.
    let secret = kubectl.get("secret", "ironward-self-signed").unwrap();
    let registered = kubectl.get(REGISTRATIONS[0], NAME).unwrap();
    let policy = "policies.files.own\\.yaml=# none yet";
    release.upgrade(&[SELF_SIGNED, "replicas=3", policy]).unwrap();
    let deployment = kubectl.get("deployment", NAME).unwrap();
    assert_eq!(deployment["spec"]["replicas"], 3);
    let policies = plane.dir().join("mounted-policies");
    mount(&kubectl, "configmap", "ironward-policies", &policies).unwrap();
    let second =
        release.start(&Replica { policies: Some(policies), ..Replica::default() }).unwrap();
    second.wait_until_ready().unwrap();
    stopped(&second.process).unwrap();
    release.helm("rollback", &[]).unwrap();
    let deployment = kubectl.get("deployment", NAME).unwrap();
    assert_eq!(deployment["spec"]["replicas"], 2);
    let secret_now = kubectl.get("secret", "ironward-self-signed").unwrap();
    assert_eq!(secret_now["data"], secret["data"]);
    let registered_now = kubectl.get(REGISTRATIONS[0], NAME).unwrap();
    assert_eq!(registered_now["metadata"]["uid"], registered["metadata"]["uid"]);
    // The second replica was reached elsewhere, and has said so.
    wait_until_in_force(&release, &replica);

    // Uninstalled while a replica still runs: what Kubernetes removes does not come back.
    release.helm("uninstall", &[]).unwrap();
    for registration in REGISTRATIONS {
        until(
            "no registration is left",
            || kubectl.run(&["get", registration, NAME, "--ignore-not-found"]).unwrap().out,
            String::is_empty,
        );
    }
    until(
        "the replica has tried in vain to register again",
        || replica.process.log_tail(),
        |log| log.contains("webhooks are not registered as they should be"),
    );
    for registration in REGISTRATIONS {
        assert!(!kubectl.succeeds(&["get", registration, NAME]));
    }
    stopped(&replica.process).unwrap();
    assert!(create(&release, "second", 1).success, "nobody is in the way any more");
    let left = kubectl.expect(&["get", "crd,bmh", "--all-namespaces", "--output", "name"]).unwrap();
    for kept in ["hosthistories.ironward.dev", "baremetalhost.metal3.io/first"] {
        assert!(left.contains(kept), "{kept} is gone: {left}");
    }
    let secrets = kubectl.expect(&["get", "secrets", "--namespace", NAMESPACE]).unwrap_or_default();
    assert!(!secrets.contains("ironward-self-signed"), "{secrets}");

    // And once more: kinds that an earlier release left are taken over by their labels.
    Release::install(&plane, &[SELF_SIGNED]).unwrap();
}
