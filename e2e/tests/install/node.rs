//! The image as pods of a real node: what `helm install` installs runs, and answers by its Service.

use crate::stage::{self, CREATE, OWN_POLICY, SELF_SIGNED, StopOnDrop, alone, until};
use ironward_e2e::{
    cert_manager::CertManager,
    node::{Node, with_node},
    release::{self, NAME, NAMESPACE, Release, decoded},
};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore,
    pki_types::{CertificateDer, ServerName, pem::PemObject},
};
use serde_json::{Value, json};
use std::{
    io::Write,
    net::TcpStream,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

const TEMPLATE: &str = "\
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: Metal3MachineTemplate
metadata: {name: workers, namespace: default}
spec: {template: {spec: {image: {url: 'https://images.example.com/a.raw', checksum: 'https://images.example.com/a.sha256', checksumType: sha256, diskFormat: raw}}}}
";

#[test]
fn the_image_runs_as_pods_and_does_all_of_its_work() {
    let _alone = alone();
    with_node(|node| {
        release::install_metal3_kinds(&node.plane).unwrap();
        let kubectl = node.plane.kubectl();
        let _cert_manager = CertManager::start(&node.plane).unwrap();
        kubectl.expect(&["create", "namespace", NAMESPACE]).unwrap();
        let label = "pod-security.kubernetes.io/enforce=restricted";
        kubectl.expect(&["label", "namespace", NAMESPACE, label]).unwrap();
        let run = ["run", "any", "--image=any", "--dry-run=server", "--namespace", NAMESPACE];
        let refused = until(
            "pods that ask for more are refused",
            || kubectl.run(&run).unwrap().err,
            |said| !said.contains("serviceaccount"),
        );
        assert!(refused.contains("violates PodSecurity \"restricted:latest\""), "{refused}");
        with_cert_manager(node);
        by_itself(node);
    })
    .unwrap();
}

/// Its certificate is cert-manager's, and its life is whole: installed, used, upgraded, rolled back, uninstalled.
fn with_cert_manager(node: &Node<'_>) {
    let kubectl = node.plane.kubectl().in_namespace(NAMESPACE);
    kubectl.expect_with_input(&["apply", "--filename", "-"], &policies("# none yet")).unwrap();
    let own = "policies.existingConfigMap=own";
    let release = Release::install(&node.plane, &[own]).unwrap();
    rolled_out(node, &release);
    assert_eq!(served(&release), issued(&release, "ironward-tls"), "another certificate is served");
    answers(node, &release);

    let pods = pods(&release);
    assert_eq!(pods.len(), 2, "{pods:?}");
    kubectl.expect_with_input(&["apply", "--filename", "-"], &policies(OWN_POLICY)).unwrap();
    until(
        "the user's policy is in force",
        || dry_run(&release, "forbidden"),
        |said| said.contains("that name is taken by nobody"),
    );
    assert_eq!(self::pods(&release), pods, "a pod was started anew for a policy");

    // Every pod is another one afterwards, and nobody who asks notices.
    unnoticed(&release, || {
        release.upgrade(&[own, "replicas=3", "log.format=text"]).unwrap();
        rolled_out(node, &release);
        until("three pods are there", || self::pods(&release), |pods| pods.len() == 3);
    });
    answers(node, &release);
    unnoticed(&release, || {
        release.helm("rollback", &[]).unwrap();
        rolled_out(node, &release);
        until("two pods are there", || self::pods(&release), |pods| pods.len() == 2);
    });
    answers(node, &release);
    uninstalled(&release);
}

/// Without anybody's help.
fn by_itself(node: &Node<'_>) {
    let release = Release::install(&node.plane, &[SELF_SIGNED]).unwrap();
    rolled_out(node, &release);
    assert_eq!(served(&release), issued(&release, "ironward-self-signed"));
    answers(node, &release);
    uninstalled(&release);
}

/// Waits until all of the release's pods are ready, and those of before are gone.
fn rolled_out(node: &Node<'_>, release: &Release<'_>) {
    let kubectl = release.kubectl();
    let status = ["rollout", "status", "deployment/ironward", "--timeout", "120s"];
    let answer = kubectl.run(&status).unwrap();
    if !answer.success {
        let pods = kubectl.run(&["describe", "pods"]).unwrap().out;
        let logs = kubectl.run(&["logs", "deployment/ironward", "--tail", "30"]).unwrap();
        panic!("{}\n{pods}\n{}{}\n{}", answer.err, logs.out, logs.err, node.last_words());
    }
    node.name_service(NAMESPACE, NAME).unwrap();
    until(
        "the API server asks the pods",
        || dry_run(release, "probe"),
        |said| said.contains("[host-bmc-address]"),
    );
}

/// What the pods are there for.
fn answers(node: &Node<'_>, release: &Release<'_>) {
    let kubectl = node.plane.kubectl().in_namespace("default");
    let clear = ["delete", "bmh,m3mt", "--all"];
    kubectl.expect(&clear).unwrap();
    let first = stage::create(release, "first", 1);
    assert!(first.success, "{}", first.err);
    let duplicate = stage::create(release, "second", 1);
    assert!(duplicate.err.contains("belongs to BareMetalHost default/first"), "{}", duplicate.err);
    kubectl.expect_with_input(&CREATE, TEMPLATE).unwrap();
    let template = kubectl.get("m3mt", "workers").unwrap();
    assert_eq!(template["spec"]["template"]["spec"]["automatedCleaningMode"], "metadata");
    let tested = release.helm("test", &["--logs", "--timeout", "120s"]);
    let tested = tested.unwrap_or_else(|error| panic!("{error:#}\n{}", node.last_words()));
    assert!(tested.contains("answered: refused"), "{tested}");
    kubectl.expect(&clear).unwrap();
}

/// Asks all the while, and sees that every question is answered, and answered right.
fn unnoticed(release: &Release<'_>, change: impl FnOnce()) {
    let done = AtomicBool::new(false);
    let (asked, wrong) = thread::scope(|scope| {
        let asking = scope.spawn(|| {
            let (mut asked, mut wrong) = (0, Vec::new());
            while !done.load(Ordering::Relaxed) {
                let said = dry_run(release, "probe");
                asked += 1;
                if !said.contains("[host-bmc-address]") {
                    wrong.push(said);
                }
            }
            (asked, wrong)
        });
        let guard = StopOnDrop(&done);
        change();
        drop(guard);
        asking.join().unwrap()
    });
    eprintln!("asked {asked} times while pods were replaced");
    assert!(asked > 0 && wrong.is_empty(), "{} of {asked} went wrong: {wrong:?}", wrong.len());
}

/// Nothing is left of it but the kinds and the namespace.
fn uninstalled(release: &Release<'_>) {
    release.helm("uninstall", &[]).unwrap();
    let kubectl = release.kubectl();
    let everything = "pods,services,deployments,replicasets,networkpolicies,poddisruptionbudgets,roles,rolebindings";
    until(
        "nothing is left in the namespace",
        || kubectl.run(&["get", everything, "--output", "name"]).unwrap().out,
        String::is_empty,
    );
    let everything = "validatingwebhookconfigurations,mutatingwebhookconfigurations,clusterroles,clusterrolebindings";
    let left = || {
        let all = kubectl.expect(&["get", everything, "--output", "name"]).unwrap();
        all.lines().filter(|line| line.ends_with("/ironward")).map(str::to_owned).collect()
    };
    until("nothing is left in the cluster", left, Vec::<String>::is_empty);
    assert!(stage::create(release, "free", 2).success, "nobody is in the way any more");
}

fn policies(text: &str) -> String {
    let data = json!({"own.yaml": text});
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "own"}, "data": data})
        .to_string()
}

/// What is said of a host with an address that is none.
fn dry_run(release: &Release<'_>, name: &str) -> String {
    let host = json!({
        "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"online": true, "bmc": {"address": "nonsense://192.0.2.1", "credentialsName": "none"}},
    });
    let create = ["create", "--dry-run=server", "--filename", "-"];
    release.plane.kubectl().run_with_input(&create, &host.to_string()).unwrap().err
}

/// The release's pods, with how often each was started again.
fn pods(release: &Release<'_>) -> Vec<(String, Value)> {
    let selector = "app.kubernetes.io/name=ironward";
    let list = ["get", "pods", "--selector", selector, "--output", "json"];
    let list: Value = serde_json::from_str(&release.kubectl().expect(&list).unwrap()).unwrap();
    let pod = |pod: &Value| {
        let restarts = pod["status"]["containerStatuses"][0]["restartCount"].clone();
        (pod["metadata"]["name"].as_str().unwrap_or_default().to_owned(), restarts)
    };
    list["items"].as_array().unwrap().iter().map(pod).collect()
}

/// The certificate in a Secret.
fn issued(release: &Release<'_>, secret: &str) -> Vec<u8> {
    let secret = release.kubectl().get("secret", secret).unwrap();
    let pem = decoded(secret["data"]["tls.crt"].as_str().unwrap()).unwrap();
    CertificateDer::from_pem_slice(&pem).unwrap().to_vec()
}

/// The certificate that is shown to the API server, which trusts what the registration says.
fn served(release: &Release<'_>) -> Vec<u8> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let registered = release.kubectl().get("validatingwebhookconfiguration", NAME).unwrap();
    let config = &registered["webhooks"][0]["clientConfig"];
    let bundle = decoded(config["caBundle"].as_str().unwrap()).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(CertificateDer::pem_slice_iter(&bundle).map(Result::unwrap));
    let client = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    let service = release.kubectl().get("service", NAME).unwrap();
    let address = service["spec"]["clusterIP"].as_str().unwrap();
    let name = ServerName::try_from(format!("{NAME}.{NAMESPACE}.svc")).unwrap();
    let mut connection = ClientConnection::new(Arc::new(client), name).unwrap();
    let mut socket = TcpStream::connect((address, 443)).unwrap();
    while connection.is_handshaking() {
        connection.complete_io(&mut socket).unwrap();
    }
    let shown = connection.peer_certificates().unwrap()[0].to_vec();
    connection.send_close_notify();
    let _ = connection.write_tls(&mut socket).and_then(|_| socket.flush());
    shown
}
