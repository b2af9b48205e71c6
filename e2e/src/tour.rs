//! The tour: what the sandbox shows, step by step, each step seen to hold.
//!
//! A step is what a person would type, and what must come of it. The tour is data, so that the sandbox, its
//! test and the README all tell the same story; a feature adds its step here.

use crate::{
    ironward,
    kubectl::{self, Answer, Kubectl},
};
use anyhow::{Context, Result, bail};
use std::{ffi::OsString, path::PathBuf, process::Command};

/// One thing that is shown.
#[derive(Debug)]
pub struct Step {
    /// What it shows, as a sentence.
    pub title: &'static str,
    /// What to type, from the root of the checkout.
    pub command: &'static str,
    /// Whether it must work or be refused.
    pub outcome: Outcome,
    /// Words that must be in what it prints.
    pub says: &'static [&'static str],
}

/// How a command of the tour must end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// With exit code 0.
    Works,
    /// With another one.
    IsRefused,
}

/// How long a command may take in a lab: a machine is installed meanwhile.
const LONGEST: &str = "15m";

/// All steps, in the order in which they build on each other.
pub const STEPS: &[Step] = &[
    Step {
        title: "Metal3's kinds are here, under the names you know",
        command: "kubectl apply -f e2e/tour/hosts.yaml && kubectl get bmh",
        outcome: Outcome::Works,
        says: &["worker-0", "worker-1"],
    },
    Step {
        title: "Every field explains itself",
        command: "kubectl explain bmh.spec.automatedCleaningMode",
        outcome: Outcome::Works,
        says: &["metadata", "disabled"],
    },
    Step {
        title: "A mistake is refused where it is made, and says what to write instead",
        command: "kubectl apply -f e2e/tour/mistakes.yaml",
        outcome: Outcome::IsRefused,
        says: &["bootMACAddress", "automatedCleaningMode", "retryLimit", "RAID"],
    },
    Step {
        title: "What you left out is filled in before it is stored",
        command: "kubectl get bmh worker-0 -o jsonpath='{.spec.automatedCleaningMode}{\"\\n\"}'",
        outcome: Outcome::Works,
        says: &["metadata"],
    },
    Step {
        title: "What no schema can tell is judged by policies, all at once and each with its rule",
        command: "kubectl apply -f docs/examples/admission/mistaken-host.yaml",
        outcome: Outcome::IsRefused,
        says: &["[host-bmc-address]", "[host-reboot-annotation]"],
    },
    Step {
        title: "The same before anybody applies it, and without a cluster",
        command: "ironward policy eval -f docs/examples/admission/mistaken-host.yaml",
        outcome: Outcome::IsRefused,
        says: &["host-bmc-address", "host-reboot-annotation"],
    },
    Step {
        title: "Nothing you wrote is lost, not even a field that a newer Metal3 brings",
        command: "kubectl get bmh worker-1 -o jsonpath='{.spec.fieldOfANewerMetal3}{\"\\n\"}'",
        outcome: Outcome::Works,
        says: &["kept as it was written"],
    },
    Step {
        title: "The kinds come with the program: what is installed is what it carries",
        command: "ironward crds | kubectl diff --server-side -f - && echo no difference",
        outcome: Outcome::Works,
        says: &["no difference"],
    },
];

/// Where the commands of the tour run.
#[derive(Debug)]
pub struct Stage {
    /// The administrator's kubeconfig.
    pub kubeconfig: PathBuf,
    /// The folder with `kubectl` in it.
    pub kubectl_folder: PathBuf,
    /// The folder with `ironward` in it.
    pub ironward_folder: PathBuf,
    /// What `$LAB` is, where there is one.
    pub lab: Option<PathBuf>,
}

impl Stage {
    /// For whoever types with this kubeconfig.
    pub fn new(kubeconfig: PathBuf, kubectl: &Kubectl) -> Result<Self> {
        let program = ironward::binary()?;
        Ok(Self {
            kubeconfig,
            kubectl_folder: kubectl.folder().into(),
            ironward_folder: program.parent().context("ironward is in no folder")?.into(),
            lab: None,
        })
    }

    /// Does one step and returns what it printed; fails if it did not go as it should.
    pub fn perform(&self, step: &Step) -> Result<String> {
        let answer = self.run(step.command)?;
        check(step, &answer)?;
        Ok(answer.out + &answer.err)
    }

    /// Types a command, whatever comes of it.
    pub fn run(&self, typed: &str) -> Result<Answer> {
        // In a lab things are waited for, in vain if something is broken.
        let mut command = self.shell(if self.lab.is_some() { "timeout" } else { "sh" });
        if self.lab.is_some() {
            command.args([LONGEST, "sh"]);
        }
        command.args(["-c", typed]);
        kubectl::run(&mut command, "")
    }

    /// A shell in which it can be typed.
    #[must_use]
    pub fn shell(&self, shell: &str) -> Command {
        let mut command = Command::new(shell);
        command
            .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
            .env("PATH", self.path())
            .env("KUBECONFIG", &self.kubeconfig);
        if let Some(lab) = &self.lab {
            command.env("LAB", lab);
        }
        command
    }

    /// The very programs of this run come first.
    fn path(&self) -> OsString {
        let mut path = OsString::new();
        for folder in [&self.kubectl_folder, &self.ironward_folder] {
            path.push(folder);
            path.push(":");
        }
        path.push(std::env::var_os("PATH").unwrap_or_default());
        path
    }
}

fn check(step: &Step, answer: &Answer) -> Result<()> {
    let printed = format!("{}{}", answer.out, answer.err);
    let outcome = if answer.success { Outcome::Works } else { Outcome::IsRefused };
    if outcome != step.outcome {
        bail!("expected that it {:?}, and it {outcome:?}:\n{printed}", step.outcome);
    }
    match step.says.iter().find(|words| !printed.contains(**words)) {
        None => Ok(()),
        Some(words) => bail!("expected it to say `{words}`, and it said:\n{printed}"),
    }
}

/// How `text` looks inside a step: moved in, no blank line at its end.
#[must_use]
pub fn indented(text: &str) -> String {
    text.trim_end().lines().map(|line| format!("   {line}").trim_end().to_owned() + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(outcome: Outcome) -> Step {
        Step { title: "", command: "", outcome, says: &["created"] }
    }

    fn answer(success: bool, out: &str) -> Answer {
        Answer { success, out: out.into(), err: String::new() }
    }

    #[test]
    fn a_step_that_did_not_end_as_it_should_fails_the_tour() {
        assert!(check(&step(Outcome::Works), &answer(true, "host created")).is_ok());
        assert!(check(&step(Outcome::Works), &answer(false, "host created")).is_err());
        assert!(check(&step(Outcome::IsRefused), &answer(true, "host created")).is_err());
        assert!(check(&step(Outcome::Works), &answer(true, "host unchanged")).is_err());
    }
}
