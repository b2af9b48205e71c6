//! Both judges side by side.

use super::{
    compare::{Verdict, compare},
    judge::{Judge, Reply},
};
use anyhow::{Result, anyhow};
use serde_json::Value as Json;
use std::thread;

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
        Ok(replies.iter().all(|reply| matches!(reply, Reply::Answer(same) if same == answer)))
    }
}
