//! The control plane that all other tests stand on.

use ironward_e2e::{cluster, control_plane::ControlPlane, process_group::Process};
use std::process::Command;

#[test]
fn rbac_is_on() {
    let plane = cluster::shared().unwrap();
    let nobody = plane.kubectl().with_kubeconfig(&plane.kubeconfig_for("nobody", &[]).unwrap());
    let answer = nobody.run(&["get", "secrets", "--namespace", "default"]).unwrap();
    assert!(!answer.success && answer.err.contains("User \"nobody\" cannot list"), "{answer:?}");
}

#[test]
fn deleting_an_owner_deletes_what_it_owns() {
    let kubectl = cluster::namespace().unwrap();
    let owner = "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: owner }";
    kubectl.expect_with_input(&["create", "--filename", "-"], owner).unwrap();
    let uid = kubectl.get("configmap", "owner").unwrap()["metadata"]["uid"].clone();
    let dependent = format!(
        "{{ apiVersion: v1, kind: ConfigMap, metadata: {{ name: owned, ownerReferences: \
         [{{ apiVersion: v1, kind: ConfigMap, name: owner, uid: {uid} }}] }} }}"
    );
    kubectl.expect_with_input(&["create", "--filename", "-"], &dependent).unwrap();
    kubectl.expect(&["delete", "configmap", "owner"]).unwrap();
    kubectl.expect(&["wait", "--for=delete", "configmap/owned", "--timeout=60s"]).unwrap();
}

#[test]
fn several_control_planes_run_side_by_side_and_leave_nothing() {
    let first = cluster::shared().unwrap();
    let second = ControlPlane::start().unwrap();
    second.kubectl().expect(&["create", "namespace", "only-in-the-second"]).unwrap();
    assert!(!first.kubectl().succeeds(&["get", "namespace", "only-in-the-second"]));

    let (dir, ids) = (second.dir().to_owned(), process_ids(&second));
    assert!(ids.len() == 3 && ids.iter().all(|id| runs(*id)) && dir.exists());
    drop(second);
    assert!(!dir.exists() && !ids.iter().any(|id| runs(*id)));
    assert!(first.kubectl().succeeds(&["get", "namespaces"]));
}

/// The sandbox is run where neither `go` nor anything built is found.
#[test]
fn without_go_the_error_says_what_to_do() {
    let cache = tempfile::tempdir().unwrap();
    let answer = Command::new(env!("CARGO_BIN_EXE_sandbox"))
        .arg("--exit")
        .env("IRONWARD_CACHE", cache.path())
        .env("PATH", path_without_go())
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&answer.stderr);
    assert!(!answer.status.success());
    assert!(error.contains("etcd is built from its sources, and `go` was not found"), "{error}");
    assert!(error.contains("KUBEBUILDER_ASSETS"), "{error}");
}

/// The module proxy is switched off, as on a machine without a network.
#[test]
fn without_the_module_proxy_the_error_says_what_must_be_reachable() {
    let (cache, modules) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let answer = Command::new(env!("CARGO_BIN_EXE_sandbox"))
        .arg("--exit")
        .env("IRONWARD_CACHE", cache.path())
        .env("GOMODCACHE", modules.path())
        .env("GOPROXY", "off")
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&answer.stderr);
    assert!(!answer.status.success());
    assert!(error.contains("could not build etcd"), "{error}");
    assert!(error.contains("the Go module proxy must be reachable"), "{error}");
}

fn path_without_go() -> std::ffi::OsString {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).filter(|folder| !folder.join("go").exists());
    std::env::join_paths(folders).unwrap()
}

fn process_ids(plane: &ControlPlane) -> Vec<u32> {
    plane.processes().iter().map(Process::id).collect()
}

fn runs(id: u32) -> bool {
    std::path::Path::new(&format!("/proc/{id}")).exists()
}
