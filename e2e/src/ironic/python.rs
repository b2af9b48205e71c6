//! The Python that is on this computer, and what it lacks.

use anyhow::{Context, Result, anyhow, bail};
use serde::Deserialize;
use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// The packages of the lock ask for it.
const OLDEST: (u32, u32) = (3, 11);
/// The distribution's own first: it is compiled by what a profile of it says, which those of version managers often are not, and Ironic takes
/// a tenth less of the processor with it. A system whose `python3` is too old may have a newer one beside it.
const PROGRAMS: [&str; 6] =
    ["/usr/bin/python3", "python3", "python3.11", "python3.12", "python3.13", "python3.14"];
const PROBE: &str = "
import importlib.util, json, platform, sys, sysconfig
print(json.dumps({
    'version': sys.version_info[:2],
    'build': [platform.python_version(), sysconfig.get_platform(), sys.base_prefix],
    'can_make_environments': all(map(importlib.util.find_spec, ['venv', 'ensurepip'])),
}))
";

/// A Python that environments can be made from.
#[derive(Debug)]
pub(super) struct Python {
    pub program: PathBuf,
    /// What tells it from other Pythons: an environment of one does not work with another.
    pub build: Vec<String>,
}

#[derive(Deserialize)]
struct Probed {
    version: (u32, u32),
    build: Vec<String>,
    can_make_environments: bool,
}

impl Python {
    pub fn find() -> Result<Self> {
        Self::find_among(&PROGRAMS)
    }

    /// The first that will do; if none will, the error is about the first that is there.
    fn find_among(programs: &[impl AsRef<Path>]) -> Result<Self> {
        let mut first_problem = None;
        for program in programs {
            match Self::probe(program.as_ref()) {
                Ok(Some(python)) => return Ok(python),
                Ok(None) => {}
                Err(problem) => first_problem = first_problem.or(Some(problem)),
            }
        }
        let (major, minor) = OLDEST;
        let none = || {
            anyhow!("Ironic needs Python {major}.{minor} or newer, and there is no python3 on PATH")
        };
        Err(first_problem.unwrap_or_else(none))
    }

    /// `None` when there is no such program.
    fn probe(program: &Path) -> Result<Option<Self>> {
        let name = program.display();
        let Ok(output) = Command::new(program).args(["-I", "-c", PROBE]).output() else {
            return Ok(None);
        };
        let Output { status, stdout, stderr } = output;
        if !status.success() {
            bail!("{name} does not work, {status}:\n{}", String::from_utf8_lossy(&stderr));
        }
        let Probed { version, build, can_make_environments } = serde_json::from_slice(&stdout)
            .with_context(|| format!("{name} does not work: it did not say its version"))?;
        if version < OLDEST {
            let ((is_major, is_minor), (major, minor)) = (version, OLDEST);
            bail!(
                "Ironic needs Python {major}.{minor} or newer, and {name} is {is_major}.{is_minor}"
            );
        }
        if !can_make_environments {
            bail!(
                "{name} lacks the modules venv and ensurepip, which Ironic is installed with \
                 (Debian and Ubuntu have them in the package python3-venv)"
            );
        }
        Ok(Some(Self { program: program.into(), build }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::PermissionsExt};

    /// A program that answers the probe with this script.
    fn python(dir: &Path, name: &str, answer: &str) -> PathBuf {
        let program = dir.join(name);
        fs::write(&program, format!("#!/bin/sh\n{answer}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        program
    }

    fn answer(version: &str, can_make_environments: bool) -> String {
        format!(
            "echo '{{\"version\": {version}, \"build\": [], \
             \"can_make_environments\": {can_make_environments}}}'"
        )
    }

    #[test]
    fn what_is_missing_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let problem = |programs: &[PathBuf]| Python::find_among(programs).unwrap_err().to_string();

        let none = problem(&[dir.path().join("python3")]);
        assert!(none.ends_with("there is no python3 on PATH"), "{none}");
        let old = problem(&[python(dir.path(), "old", &answer("[3, 9]", true))]);
        assert!(old.contains("needs Python 3.11 or newer"), "{old}");
        assert!(old.ends_with("old is 3.9"), "{old}");
        let bare = problem(&[python(dir.path(), "bare", &answer("[3, 12]", false))]);
        assert!(bare.contains("python3-venv"), "{bare}");
        let broken = problem(&[python(dir.path(), "broken", "echo no libc >&2; exit 127")]);
        assert!(broken.contains("no libc"), "{broken}");
    }

    #[test]
    fn a_newer_python_beside_an_old_one_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let programs = [
            python(dir.path(), "python3", &answer("[3, 9]", true)),
            dir.path().join("python3.11"),
            python(dir.path(), "python3.12", &answer("[3, 12]", true)),
        ];
        assert_eq!(Python::find_among(&programs).unwrap().program, programs[2]);
    }
}
