//! What changes is told, without being asked for.

use crate::stage::{PATIENCE, Stage, history, host, shared, status};
use reqwest::blocking::Response;
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader},
    time::{Duration, Instant},
};

/// Somebody who looks when they are told that something has changed, and at no other time.
struct Listener<'a> {
    stage: &'a Stage,
    told: BufReader<Response>,
    /// How often something had changed when they looked last.
    changes: u64,
    /// How long they waited at most.
    longest: Duration,
}

impl<'a> Listener<'a> {
    fn start(stage: &'a Stage) -> Self {
        let url = format!("{}/api/live", stage.url);
        let live = stage.client.get(url).bearer_auth(&stage.token).timeout(PATIENCE);
        let told = BufReader::new(live.send().unwrap());
        let mut listener = Self { stage, told, changes: 0, longest: Duration::ZERO };
        listener.changes = listener.count();
        listener
    }

    fn count(&mut self) -> u64 {
        loop {
            let mut line = String::new();
            assert!(self.told.read_line(&mut line).unwrap() > 0, "nothing more is told");
            if let Some(count) = line.strip_prefix("data: ") {
                return count.trim().parse().unwrap();
            }
        }
    }

    /// What is shown once it is as it should be. A sign of life in which nothing has changed is not looked at.
    fn see(&mut self, path: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let start = Instant::now();
        loop {
            let count = self.count();
            if count == self.changes {
                continue;
            }
            self.changes = count;
            let shown = self.stage.read(path);
            if is_so(&shown) {
                self.longest = self.longest.max(start.elapsed());
                return shown;
            }
        }
    }
}

#[test]
fn a_change_is_told_and_then_shown() {
    let (stage, corner) = shared();
    let mut listener = Listener::start(stage);
    corner.create(&host("live-host", 1));
    let rows = "/api/hosts?q=live-host";
    listener.see(rows, |it| it["total"] == 1);
    for state in ["registering", "inspecting", "available", "provisioning", "provisioned"] {
        corner.set_status("live-host", &status(state));
        listener.see(rows, |it| it["rows"][0]["state"] == state);
    }
    let itself = format!("/api/hosts/{}/live-host", corner.namespace);
    let tells = |words: &'static str| move |it: &Value| it["timeline"].to_string().contains(words);

    // Who is refused something is there, by policy, and with the host.
    corner.be_refused("live-host", 1, "redfsh://10.0.0.1");
    let story = listener.see(&itself, tells("redfsh"));
    let tones: Vec<_> =
        story["timeline"].as_array().unwrap().iter().map(|it| &it["tone"]).collect();
    assert!(tones.contains(&&json!("denied")), "{story}");
    let denied = stage.read("/api/denials");
    let policies: Vec<_> =
        denied["byPolicy"].as_array().unwrap().iter().map(|it| &it["policy"]).collect();
    assert!(policies.contains(&&json!("host-bmc-address")), "{denied}");

    // A remediation changes nothing of the host itself.
    let record =
        json!([{"event": "Remediation", "started": "2026-01-01T00:00:00Z", "action": "Reboot"}]);
    corner.create(&history("live-host", &record));
    listener.see(&itself, tells("goes on"));
    let patch = json!([
        {"op": "add", "path": "/records/0/outcome", "value": "Recovered"},
        {"op": "add", "path": "/records/0/finished", "value": "2026-01-01T00:05:00Z"},
    ]);
    let patch = ["patch", "hosthistory", "live-host", "--type=json", "--patch", &patch.to_string()];
    corner.kubectl.expect(&patch).unwrap();
    listener.see(&itself, tells("the node came back"));

    corner.set_status("live-host", &status("available"));
    corner.kubectl.expect(&["delete", "bmh", "live-host"]).unwrap();
    listener.see(rows, |it| it["total"] == 0);
    eprintln!("the longest that a change took to be told and shown: {:?}", listener.longest);
}
