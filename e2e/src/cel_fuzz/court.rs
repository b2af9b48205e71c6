//! Both judges side by side.

use super::{
    compare::{Verdict, compare},
    judge::{Judge, Reply},
    thin::thin,
};
use anyhow::{Result, anyhow};
use serde_json::Value as Json;
use std::{collections::BTreeMap, thread};

/// How often Kubernetes is asked again before a difference is believed. Go starts a walk of a map of two at its
/// second entry in one of eight cases.
const DOUBTS: usize = 64;

/// Kubernetes' own CEL, and this engine.
#[derive(Debug)]
pub struct Court<'a> {
    /// Kubernetes.
    pub theirs: Judge<'a>,
    /// This engine.
    pub ours: Judge<'a>,
    /// What questions may name.
    pub bindings: BTreeMap<String, Json>,
}

impl Court<'_> {
    /// Asks both and compares.
    pub fn compare_all(&mut self, questions: &[Json]) -> Result<Vec<Verdict>> {
        let (theirs, ours) = thread::scope(|scope| {
            let theirs = scope.spawn(|| self.theirs.ask_all(questions));
            let ours = self.ours.ask_all(questions);
            let theirs = theirs.join().map_err(|_| anyhow!("a judge's thread panicked"));
            (theirs, ours)
        });
        let (theirs, ours) = (theirs??, ours?);
        let replies = theirs.iter().zip(&ours);
        Ok(questions.iter().zip(replies).map(|(q, (a, b))| compare(q, a, b)).collect())
    }

    /// Whether Kubernetes gives this answer each time: what depends on the order of a Go map is no truth to be equal to.
    pub fn is_steady(&mut self, question: &Json, answer: &Json) -> Result<bool> {
        let again = vec![question.clone(); DOUBTS];
        let replies = self.theirs.ask_all(&again)?;
        let same = |reply: &Reply| matches!(reply, Reply::Answer(same) if same == answer);
        Ok(replies.iter().all(same) && self.is_steady_with_less(question)?)
    }

    /// The same of smaller objects: Go hardly ever walks a large map in the one order that gives another answer, such as
    /// that its keys are sorted.
    fn is_steady_with_less(&mut self, question: &Json) -> Result<bool> {
        let expression = question["expr"].as_str().unwrap_or_default();
        let named = question["bindings"].as_str().and_then(|name| self.bindings.get(name));
        let mut less = question.clone();
        less["bindings"] = thin(named.unwrap_or(&question["bindings"]), expression);
        let replies = self.theirs.ask_all(&vec![less; DOUBTS])?;
        let mut answers = replies.iter().map(|reply| match reply {
            Reply::Answer(answer) => Some(answer),
            Reply::Crashed(_) | Reply::Hung => None,
        });
        let first = answers.next();
        Ok(answers.all(|answer| Some(answer) == first))
    }
}
