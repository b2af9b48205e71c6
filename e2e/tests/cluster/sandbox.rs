//! `cargo sandbox`, as a person runs it and as a person stops it.

use ironward_e2e::documentation::agrees;
use rustix::process::{Pid, Signal, kill_process};
use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

#[test]
fn the_tour_goes_as_it_should() {
    let answer = Command::new(env!("CARGO_BIN_EXE_sandbox")).arg("--exit").output().unwrap();
    let (out, err) =
        (String::from_utf8_lossy(&answer.stdout), String::from_utf8_lossy(&answer.stderr));
    assert!(answer.status.success(), "{out}\n{err}");
    agrees(&block_of_readme("text"), out.trim_start()).unwrap();
}

/// The README shows what the first command prints.
fn block_of_readme(kind: &str) -> String {
    let readme =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md")).unwrap();
    let (_, rest) = readme.split_once(&format!("```{kind}\n")).unwrap();
    rest.split_once("```").unwrap().0.to_owned()
}

#[test]
fn nothing_is_left_after_ctrl_c() {
    let (mut sandbox, dir, processes) = running_sandbox();
    kill_process(pid(&sandbox), Signal::INT).unwrap();
    assert!(sandbox.wait().unwrap().success());
    // An orderly end has cleaned up before it returns.
    assert!(!dir.exists() && !processes.iter().any(|process| process.exists()));
}

#[test]
fn nothing_is_left_after_a_crash() {
    let (mut sandbox, dir, processes) = running_sandbox();
    kill_process(pid(&sandbox), Signal::KILL).unwrap();
    sandbox.wait().unwrap();
    let start = Instant::now();
    while dir.exists() || processes.iter().any(|process| is_alive(process)) {
        assert!(
            start.elapsed() < Duration::from_secs(30),
            "{} or {processes:?} is left",
            dir.display()
        );
        std::thread::yield_now();
    }
}

/// A sandbox after its tour, with its folder and the processes that live off it.
fn running_sandbox() -> (Child, PathBuf, Vec<PathBuf>) {
    let mut sandbox =
        Command::new(env!("CARGO_BIN_EXE_sandbox")).stdout(Stdio::piped()).spawn().unwrap();
    let mut kubeconfig = None;
    for line in BufReader::new(sandbox.stdout.take().unwrap()).lines().map_while(Result::ok) {
        if let Some(path) = line.trim().strip_prefix("export KUBECONFIG=") {
            kubeconfig = Some(PathBuf::from(path));
        }
        if line.contains("Ctrl-C ends the sandbox") {
            break;
        }
    }
    let dir = kubeconfig.unwrap().parent().unwrap().to_owned();
    let processes = processes_naming(&dir);
    assert!(processes.len() >= 4, "{processes:?} should be etcd, two of Kubernetes' and ironward");
    (sandbox, dir, processes)
}

/// The processes whose arguments or environment name the folder, as `/proc` has them.
fn processes_naming(dir: &Path) -> Vec<PathBuf> {
    let names = |process: &Path| {
        ["cmdline", "environ"].iter().any(|file| {
            std::fs::read(process.join(file))
                .is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(dir.to_str().unwrap()))
        })
    };
    let entries = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    entries.filter(|process| names(process)).collect()
}

/// A zombie waits only for whoever inherited it.
fn is_alive(process: &Path) -> bool {
    std::fs::read_to_string(process.join("stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().unwrap_or_default().starts_with(" Z"))
}

fn pid(child: &Child) -> Pid {
    Pid::from_raw(child.id().try_into().unwrap()).unwrap()
}
