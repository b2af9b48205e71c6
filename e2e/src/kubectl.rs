//! `kubectl`, as a person at a terminal uses it.

use anyhow::{Context, Result, bail};
use std::{
    ffi::OsStr,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

/// The program and whom it speaks for.
#[derive(Debug, Clone)]
pub struct Kubectl {
    program: PathBuf,
    kubeconfig: PathBuf,
    namespace: Option<String>,
}

/// What a command printed, on both streams, and whether it succeeded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Whether it exited with 0.
    pub success: bool,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl Kubectl {
    /// `kubectl` with a kubeconfig.
    #[must_use]
    pub fn new(program: &Path, kubeconfig: &Path) -> Self {
        Self { program: program.into(), kubeconfig: kubeconfig.into(), namespace: None }
    }

    /// The same for another user.
    #[must_use]
    pub fn with_kubeconfig(&self, kubeconfig: &Path) -> Self {
        Self { kubeconfig: kubeconfig.into(), ..self.clone() }
    }

    /// The same in one namespace.
    #[must_use]
    pub fn in_namespace(&self, namespace: &str) -> Self {
        Self { namespace: Some(namespace.into()), ..self.clone() }
    }

    /// The namespace it works in, if that was said.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// The folder that the program is in, for a `PATH` that finds this very one.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.program.parent().unwrap_or(Path::new("."))
    }

    /// Runs it, whatever comes out.
    pub fn run(&self, arguments: &[&str]) -> Result<Answer> {
        self.run_with_input(arguments, "")
    }

    /// Runs it with text on its standard input, whatever comes out.
    pub fn run_with_input(&self, arguments: &[&str], input: &str) -> Result<Answer> {
        let mut command = Command::new(&self.program);
        command.env("KUBECONFIG", &self.kubeconfig).args(arguments);
        if let Some(namespace) = &self.namespace {
            command.args(["--namespace", namespace]);
        }
        run(&mut command, input)
    }

    /// Runs it and returns what it printed; fails with its own message when it does.
    pub fn expect(&self, arguments: &[&str]) -> Result<String> {
        self.expect_with_input(arguments, "")
    }

    /// The same with text on its standard input.
    pub fn expect_with_input(&self, arguments: &[&str], input: &str) -> Result<String> {
        let answer = self.run_with_input(arguments, input)?;
        if !answer.success {
            bail!("kubectl {} failed: {}", arguments.join(" "), answer.err.trim());
        }
        Ok(answer.out)
    }

    /// An object as the API server has it.
    pub fn get(&self, kind: &str, name: &str) -> Result<serde_json::Value> {
        let text = self.expect(&["get", kind, name, "--output", "json"])?;
        serde_json::from_str(&text).with_context(|| format!("{kind} {name} is no JSON"))
    }

    /// Whether it exits with 0.
    #[must_use]
    pub fn succeeds(&self, arguments: &[&str]) -> bool {
        self.run(arguments).is_ok_and(|answer| answer.success)
    }

    /// Whether it exits with 0 and prints just that.
    #[must_use]
    pub fn prints(&self, arguments: &[&str], words: &str) -> bool {
        self.run(arguments).is_ok_and(|answer| answer.success && answer.out.trim() == words)
    }
}

/// Runs a command with text on its standard input and collects what it prints.
pub fn run(command: &mut Command, input: &str) -> Result<Answer> {
    let name = command.get_program().to_owned();
    let could_not = || format!("could not run {}", OsStr::display(&name));
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(could_not)?;
    let mut stdin = child.stdin.take().with_context(could_not)?;
    let Output { status, stdout, stderr } = std::thread::scope(|scope| {
        // A command that does not read all of its input is not a failure of ours.
        scope.spawn(move || drop(stdin.write_all(input.as_bytes())));
        child.wait_with_output().with_context(could_not)
    })?;
    Ok(Answer {
        success: status.success(),
        out: String::from_utf8_lossy(&stdout).into_owned(),
        err: String::from_utf8_lossy(&stderr).into_owned(),
    })
}
