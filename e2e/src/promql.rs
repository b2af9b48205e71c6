//! What Prometheus makes of expressions and of alerting rules: its own packages, asked through `e2e/go/promql-oracle`.

use crate::{kubectl, oracle};
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Deserializer, Serialize};
use std::{collections::BTreeMap, process::Command};

/// What is asked. The README beside the program says more of each.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Question {
    /// Seconds between two values of a series, and between two looks at the rules.
    pub interval: u64,
    /// Series as the tests of promtool note them.
    pub series: Vec<Noted>,
    /// What targets said.
    pub scrapes: Vec<Scrape>,
    /// Groups of rules, as a file has them.
    pub rules: String,
    /// The seconds at which the alerts are wanted.
    pub looks: Vec<u64>,
    /// Expressions to evaluate.
    pub expressions: Vec<String>,
    /// When they are.
    pub at: u64,
}

/// A series and its values.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Noted {
    /// Name and labels.
    pub series: String,
    /// From second 0 on.
    pub values: String,
}

/// What a target said at one time.
#[derive(Debug, Clone, Serialize)]
pub struct Scrape {
    /// In seconds.
    pub at: f64,
    /// Of the target.
    pub labels: BTreeMap<String, String>,
    /// `/metrics`.
    pub text: String,
}

/// What is answered.
#[derive(Debug, Deserialize)]
pub struct Answer {
    #[serde(default)]
    error: String,
    /// The rules that were asked about.
    #[serde(deserialize_with = "or_none")]
    pub rules: Vec<Rule>,
    /// What was seen at the times that were asked for.
    #[serde(deserialize_with = "or_none")]
    pub looks: Vec<Look>,
    /// The expressions that were asked about.
    #[serde(deserialize_with = "or_none")]
    pub expressions: Vec<Evaluated>,
}

/// A rule.
#[derive(Debug, Deserialize)]
pub struct Rule {
    /// What its alerts are called.
    pub alert: String,
    /// What its expression selects.
    #[serde(deserialize_with = "or_none")]
    pub reads: Vec<Selector>,
}

/// A selector of an expression.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Selector {
    /// The name.
    pub metric: String,
    /// What its labels are to be.
    #[serde(deserialize_with = "or_none")]
    pub matchers: Vec<Matcher>,
}

/// What a label is to be.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Matcher {
    /// Its name.
    pub label: String,
    /// `=`, `!=`, `=~` or `!~`.
    pub operator: String,
    /// The value, or the pattern.
    pub value: String,
}

/// The alerts at one time.
#[derive(Debug, Deserialize)]
pub struct Look {
    /// In seconds.
    pub at: u64,
    /// All that are pending or firing.
    #[serde(deserialize_with = "or_none")]
    pub alerts: Vec<Alert>,
}

/// An alert.
#[derive(Debug, Clone, Deserialize)]
pub struct Alert {
    /// `pending` or `firing`.
    pub state: String,
    /// With its name among them.
    pub labels: BTreeMap<String, String>,
    /// Filled in.
    pub annotations: BTreeMap<String, String>,
}

/// What came of an expression.
#[derive(Debug, Deserialize)]
pub struct Evaluated {
    /// The expression.
    pub expression: String,
    /// Why nothing did.
    #[serde(default)]
    pub error: String,
    /// What it selects.
    #[serde(deserialize_with = "or_none")]
    pub reads: Vec<Selector>,
    /// What it is, if there is anything.
    #[serde(deserialize_with = "or_none")]
    pub series: Vec<Valued>,
}

/// A value with its labels.
#[derive(Debug, Deserialize)]
pub struct Valued {
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// As Go writes it.
    pub value: String,
}

impl Evaluated {
    /// Whether a panel would show anything: `NaN` is nothing.
    #[must_use]
    pub fn has_data(&self) -> bool {
        self.series.iter().any(|it| it.value != "NaN")
    }
}

/// Asks, and fails with Prometheus' words where it refuses what it was given.
pub fn ask(question: &Question) -> Result<Answer> {
    let mut command = Command::new(oracle::provide("promql-oracle")?);
    let answer = kubectl::run(&mut command, &serde_json::to_string(question)?)?;
    let given: Answer = serde_json::from_str(&answer.out)
        .with_context(|| format!("the oracle did not answer: {}", answer.err))?;
    if !given.error.is_empty() {
        bail!("Prometheus refuses it: {}", given.error);
    }
    Ok(given)
}

/// Go writes a list that has nothing in it as null.
fn or_none<'de, D: Deserializer<'de>, T: Deserialize<'de>>(list: D) -> Result<Vec<T>, D::Error> {
    Ok(Option::deserialize(list)?.unwrap_or_default())
}
