//! Tests of policies, as files: `name.test.yaml` beside `name.yaml`. A case is an object that somebody
//! sends, and what policies are to make of it.

mod compare;
mod expect;
mod read;

pub use expect::{Expectation, Pattern, Word};
pub use read::read;

use serde_json::Value;

use super::{
    json::Json,
    merge::Schemas,
    request::Request,
    set::PolicySet,
    trial::{Attempt, Surroundings, Tried, try_out},
};

/// How a test file's name ends.
const ENDINGS: [&str; 3] = [".test.yaml", ".test.yml", ".test.json"];

/// A test file.
#[derive(Debug, Clone)]
pub struct Suite {
    /// Which policies are tested.
    pub policies: Policies,
    /// What is tried on them.
    pub cases: Vec<Case>,
}

/// Which policies a file tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Policies {
    /// Those in the file whose name it has, before `.test`.
    #[default]
    Own,
    /// All that there are.
    All,
}

/// A case.
#[derive(Debug, Clone)]
pub struct Case {
    /// What it shows.
    pub name: String,
    /// Where it begins in its file.
    pub line: usize,
    /// What somebody sends.
    pub attempt: Attempt,
    /// What is known around it.
    pub surroundings: Surroundings,
    /// What is to come of it.
    pub expect: Expectation,
}

/// What came of a case.
#[derive(Debug, Clone)]
pub struct Ran {
    /// What is not as expected, a few lines each; empty if all is.
    pub failures: Vec<String>,
    /// The policies that denied, warned or changed something.
    pub acted: Vec<String>,
}

/// Whether a file of this name holds tests.
#[must_use]
pub fn is_suite_file(name: &str) -> bool {
    policy_file(name).is_some()
}

/// The name of the file whose policies a test file tests, without its ending.
#[must_use]
pub fn policy_file(name: &str) -> Option<&str> {
    ENDINGS.iter().find_map(|ending| name.strip_suffix(ending)).filter(|stem| !stem.is_empty())
}

impl Case {
    /// Tries the case on policies.
    #[must_use]
    pub fn run(&self, set: &PolicySet, schemas: &Schemas) -> Ran {
        let failed = |text: String| Ran { failures: vec![text], acted: Vec::new() };
        let review = match self.attempt.review() {
            Ok(review) => review,
            Err(error) => return failed(format!("no request can be made: {error}")),
        };
        let request = match Request::from_json(&review) {
            Ok(request) => request,
            Err(error) => return failed(format!("no request can be made: {error}")),
        };
        let outcome = try_out(set, schemas, &request, &self.surroundings);
        let object = request.object.map_or(Value::Null, Json::to_value);
        Ran { failures: compare::failures(&self.expect, &object, &outcome), acted: acted(&outcome) }
    }
}

fn acted(tried: &Tried) -> Vec<String> {
    let said = tried.denials().chain(tried.warnings()).map(|(policy, _)| policy.to_owned());
    let mut acted: Vec<String> = said.chain(tried.changed_by.iter().cloned()).collect();
    acted.sort();
    acted.dedup();
    acted
}

#[cfg(test)]
mod tests;
