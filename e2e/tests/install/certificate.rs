//! Both ways to a certificate: made by ourselves, and issued by cert-manager.

use crate::stage::{
    CREATE, SELF_SIGNED, beside_metal3, host, in_company, until, wait_until_in_force,
};
use ironward_e2e::{
    cert_manager::CertManager,
    release::{NAME, Release, Replica, decoded, mount},
};
use std::{
    fs,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

/// How many certificates a bundle has.
fn certificates(text: &str) -> usize {
    String::from_utf8(decoded(text).unwrap()).unwrap().matches("BEGIN CERTIFICATE").count()
}

#[test]
fn certificates_of_our_own_are_renewed_and_no_request_is_lost() {
    let _company = in_company();
    let plane = beside_metal3();
    let release = Release::install(&plane, &[SELF_SIGNED]).unwrap();
    let short = Replica {
        arguments: vec!["--self-signed-lifetime-seconds=45".to_owned()],
        ..Replica::default()
    };
    let replica = release.start(&short).unwrap();
    wait_until_in_force(&release, &replica);
    let kubectl = release.kubectl();

    let (done, dry_run) =
        (AtomicBool::new(false), ["create", "--dry-run=server", "--filename", "-"]);
    let lost = thread::scope(|scope| {
        let asking = scope.spawn(|| {
            let mut lost = Vec::new();
            let mut asked = 0_usize;
            while !done.load(Ordering::Relaxed) {
                let answer = plane.kubectl().run_with_input(&dry_run, &host("any", 3)).unwrap();
                asked += 1;
                if !answer.success {
                    lost.push(answer.err);
                }
            }
            eprintln!("asked {asked} times while certificates were renewed");
            lost
        });
        let renewed = || {
            let log = fs::read_to_string(replica.process.log()).unwrap();
            log.matches("serving with a new certificate").count()
        };
        until("the certificate was renewed three times", renewed, |times| *times >= 3);
        done.store(true, Ordering::Relaxed);
        asking.join().unwrap()
    });
    assert!(lost.is_empty(), "{lost:?}");
    let registered = kubectl.get("validatingwebhookconfiguration", NAME).unwrap();
    let bundle = registered["webhooks"][0]["clientConfig"]["caBundle"].as_str().unwrap();
    assert!((1..=3).contains(&certificates(bundle)), "old authorities are let go of");
    let (_, metrics) = replica.probe("metrics").unwrap();
    assert!(
        metrics.contains("ironward_admission_certificate_expiry_timestamp_seconds 1"),
        "{metrics}"
    );

    // Emptied by somebody: what is served stays trusted, and a new one is made.
    let empty = "{\"data\": null}";
    kubectl.expect(&["patch", "secret", "ironward-self-signed", "--patch", empty]).unwrap();
    until(
        "the Secret is filled again",
        || kubectl.get("secret", "ironward-self-signed").unwrap()["data"]["tls.crt"].clone(),
        serde_json::Value::is_string,
    );
    let answer = plane.kubectl().run_with_input(&CREATE, &host("after", 4)).unwrap();
    assert!(answer.success, "{}", answer.err);
    assert_eq!(
        fs::read_to_string(replica.process.log()).unwrap().matches("PRIVATE KEY").count(),
        0
    );
}

#[test]
fn a_certificate_of_cert_manager_is_the_one_that_is_served() {
    let _company = in_company();
    let plane = beside_metal3();
    let _cert_manager = CertManager::start(&plane).unwrap();
    let release = Release::install(&plane, &[]).unwrap();
    let kubectl = release.kubectl();
    until(
        "the certificate is issued",
        || kubectl.run(&["get", "secret", "ironward-tls"]).unwrap().success,
        |it| *it,
    );
    // It is issued for the Service, by which nothing here can be reached: another for the address of this machine.
    let dns = "{\"spec\": {\"ipAddresses\": [\"127.0.0.1\"]}}";
    kubectl.expect(&["patch", "certificate", NAME, "--type", "merge", "--patch", dns]).unwrap();
    let tls = plane.dir().join("mounted-tls");
    let is_for_this_machine = || {
        mount(&kubectl, "secret", "ironward-tls", &tls).ok()?;
        let pem = fs::read(tls.join("tls.crt")).ok()?;
        Some(ironward::certificates::certificate(&pem).ok()?.names)
    };
    until("it is issued for this machine", is_for_this_machine, |names| {
        names.as_ref().is_some_and(|names| names.iter().any(|name| name == "127.0.0.1"))
    });
    let replica = Replica { tls: Some(tls.clone()), ..Replica::default() };
    let replica = release.start(&replica).unwrap();
    wait_until_in_force(&release, &replica);

    let registered = kubectl.get("validatingwebhookconfiguration", NAME).unwrap();
    let bundle = registered["webhooks"][0]["clientConfig"]["caBundle"].as_str().unwrap();
    let secret = kubectl.get("secret", "ironward-tls").unwrap();
    assert_eq!(Some(bundle), secret["data"]["ca.crt"].as_str(), "cert-manager fills in its CA");
    let verified = release.verify().unwrap();
    assert!(verified.success, "{}{}", verified.out, verified.err);

    // Renewed: cert-manager makes another when its Secret is gone.
    let before = fs::read(tls.join("tls.crt")).unwrap();
    kubectl.expect(&["delete", "secret", "ironward-tls"]).unwrap();
    let renewed = || {
        mount(&kubectl, "secret", "ironward-tls", &tls).ok()?;
        fs::read(tls.join("tls.crt")).ok()
    };
    until("it is issued anew", renewed, |now| now.as_ref().is_some_and(|now| *now != before));
    until(
        "the new one is served",
        || fs::read_to_string(replica.process.log()).unwrap(),
        |log| log.matches("serving with a new certificate").count() >= 1,
    );
    replica.wait_until_in_force(&plane).unwrap();
}
