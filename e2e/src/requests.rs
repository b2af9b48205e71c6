//! Who asked the API server for how much, by its own account.

use anyhow::{Context, Result};
use serde::Deserialize;
use std::{
    fs::File,
    io::{BufRead, BufReader},
    path::Path,
};

/// Requests of somebody, but for those that only stay open to hear of changes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Requests {
    /// All of them.
    pub all: usize,
    /// Those that are meant to change something.
    pub writes: usize,
}

impl Requests {
    /// Those that were made after the others.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self { all: self.all - before.all, writes: self.writes - before.writes }
    }
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow)]
    verb: &'a str,
    #[serde(borrow)]
    user: User<'a>,
}

#[derive(Deserialize)]
struct User<'a> {
    #[serde(borrow)]
    username: &'a str,
}

/// Counts those of users in an audit log.
pub fn requests_of(audit_log: &Path, users: &[&str]) -> Result<Requests> {
    let log = File::open(audit_log).context("there is no audit log")?;
    let mut requests = Requests::default();
    for line in BufReader::new(log).lines() {
        let line = line?;
        // The last line may be half written.
        let Ok(event) = serde_json::from_str::<Event<'_>>(&line) else { continue };
        if !users.contains(&event.user.username) || event.verb == "watch" {
            continue;
        }
        requests.all += 1;
        if !["get", "list"].contains(&event.verb) {
            requests.writes += 1;
        }
    }
    Ok(requests)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn reads_and_writes_of_one_user_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("audit.log");
        let line = |user: &str, verb: &str| {
            format!(r#"{{"verb":"{verb}","user":{{"username":"{user}"}}}}"#)
        };
        let lines = [
            line("a", "get"),
            line("a", "patch"),
            line("b", "patch"),
            line("a", "watch"),
            line("a", "create"),
            r#"{"verb":"#.to_owned(),
        ];
        fs::write(&log, lines.join("\n")).unwrap();
        let found = requests_of(&log, &["a"]).unwrap();
        assert_eq!(found, Requests { all: 3, writes: 2 });
        assert_eq!(found.since(Requests { all: 1, writes: 0 }), Requests { all: 2, writes: 2 });
    }
}
