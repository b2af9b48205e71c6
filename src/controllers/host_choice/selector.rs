//! `Selector`: which labels a host is to have, as `spec.hostSelector` says it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use crate::{
    api::metal3machine::{HostSelector, HostSelectorRequirement},
    domain::text::Excerpt,
};

/// The labels of a host.
pub type Labels = BTreeMap<String, String>;

/// Which labels a host is to have. Everything in it has to hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selector {
    exact: BTreeMap<String, String>,
    requirements: Vec<(String, Requirement)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Requirement {
    In(BTreeSet<String>),
    NotIn(BTreeSet<String>),
    Exists,
    Absent,
    Greater(i64),
    Less(i64),
}

/// What is wrong with a selector, all of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct SelectorError(Vec<String>);

impl fmt::Display for SelectorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "spec.hostSelector cannot be used: {}", self.0.join("; "))
    }
}

impl Selector {
    /// Reads a selector; without one, every host will do.
    pub fn read(selector: Option<&HostSelector>) -> Result<Self, SelectorError> {
        let Some(selector) = selector else { return Ok(Self::default()) };
        let mut problems = Vec::new();
        let mut requirements = Vec::new();
        for requirement in selector.match_expressions.iter().flatten() {
            match read(requirement) {
                Ok(read) => requirements.push((requirement.key.clone(), read)),
                Err(problem) => problems.push(problem),
            }
        }
        let exact = selector.match_labels.clone().unwrap_or_default();
        if problems.is_empty() {
            Ok(Self { exact, requirements })
        } else {
            Err(SelectorError(problems))
        }
    }

    /// Whether a host with these labels will do.
    #[must_use]
    pub fn matches(&self, labels: &Labels) -> bool {
        self.exact.iter().all(|(key, value)| labels.get(key) == Some(value))
            && self.requirements.iter().all(|(key, requirement)| {
                let value = labels.get(key);
                match requirement {
                    Requirement::In(values) => value.is_some_and(|it| values.contains(it)),
                    Requirement::NotIn(values) => value.is_none_or(|it| !values.contains(it)),
                    Requirement::Exists => value.is_some(),
                    Requirement::Absent => value.is_none(),
                    Requirement::Greater(limit) => integer(value).is_some_and(|it| it > *limit),
                    Requirement::Less(limit) => integer(value).is_some_and(|it| it < *limit),
                }
            })
    }

    /// The labels that must have just one value.
    pub(super) fn exact(&self) -> impl Iterator<Item = (&str, &str)> {
        self.exact.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }
}

fn integer(value: Option<&String>) -> Option<i64> {
    value?.parse().ok()
}

fn read(requirement: &HostSelectorRequirement) -> Result<Requirement, String> {
    let HostSelectorRequirement { key, operator, values } = requirement;
    let values: BTreeSet<_> = values.iter().flatten().cloned().collect();
    let single = || match (values.len(), values.first()) {
        (1, Some(value)) => Ok(value.clone()),
        (count, _) => Err(format!("{operator} of {key} takes one value and has {count}")),
    };
    let limit = || {
        let value = single()?;
        let excerpt = Excerpt::from(value.as_str());
        value.parse().map_err(|_| format!("{operator} of {key} takes an integer, not {excerpt}"))
    };
    let some = || {
        let values = Some(values.clone()).filter(|values| !values.is_empty());
        values.ok_or_else(|| format!("{operator} of {key} has no values"))
    };
    let none = |requirement| {
        let requirement = Some(requirement).filter(|_| values.is_empty());
        requirement.ok_or_else(|| format!("{operator} of {key} takes no values"))
    };
    match operator.to_ascii_lowercase().as_str() {
        "in" => some().map(Requirement::In),
        "notin" => some().map(Requirement::NotIn),
        "=" | "==" => single().map(|it| Requirement::In([it].into())),
        "!=" => single().map(|it| Requirement::NotIn([it].into())),
        "exists" => none(Requirement::Exists),
        "!" => none(Requirement::Absent),
        "gt" => limit().map(Requirement::Greater),
        "lt" => limit().map(Requirement::Less),
        _ => Err(format!("{} is not an operator", Excerpt::from(operator.as_str()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn requirement(operator: &str, values: &[&str]) -> HostSelector {
        let values = values.iter().map(|it| (*it).to_owned()).collect();
        HostSelector {
            match_labels: None,
            match_expressions: Some(vec![HostSelectorRequirement {
                key: "size".into(),
                operator: operator.into(),
                values: Some(values),
            }]),
        }
    }

    #[rstest]
    #[case::one_of("in", &["s", "m"], "m", true)]
    #[case::none_of_them("In", &["s", "m"], "l", false)]
    #[case::another("NotIn", &["s"], "l", true)]
    #[case::equal("=", &["l"], "l", true)]
    #[case::equal_twice("==", &["s"], "l", false)]
    #[case::unequal("!=", &["s"], "l", true)]
    #[case::there("exists", &[], "l", true)]
    #[case::not_there("!", &[], "l", false)]
    #[case::greater("gt", &["2"], "10", true)]
    #[case::not_greater_than_itself("Gt", &["2"], "2", false)]
    #[case::less("lt", &["10"], "2", true)]
    #[case::no_number_is_not_less("lt", &["10"], "l", false)]
    fn an_operator_means_what_it_means_in_kubernetes(
        #[case] operator: &str,
        #[case] values: &[&str],
        #[case] label: &str,
        #[case] expected: bool,
    ) {
        let selector = Selector::read(Some(&requirement(operator, values))).unwrap();
        assert_eq!(selector.matches(&[("size".to_owned(), label.to_owned())].into()), expected);
    }

    #[rstest]
    #[case("in", &["s"], false)]
    #[case("notin", &["s"], true)]
    #[case("!=", &["s"], true)]
    #[case("!", &[], true)]
    #[case("gt", &["1"], false)]
    fn a_label_that_is_not_there_is_unequal_to_all(
        #[case] operator: &str,
        #[case] values: &[&str],
        #[case] expected: bool,
    ) {
        let selector = Selector::read(Some(&requirement(operator, values))).unwrap();
        assert_eq!(selector.matches(&Labels::new()), expected);
    }

    #[rstest]
    #[case("in", &[], "in of size has no values")]
    #[case("=", &["a", "b"], "= of size takes one value and has 2")]
    #[case("exists", &["a"], "exists of size takes no values")]
    #[case("gt", &["x"], "gt of size takes an integer, not `x`")]
    #[case("like", &["x"], "`like` is not an operator")]
    fn what_is_wrong_is_said(
        #[case] operator: &str,
        #[case] values: &[&str],
        #[case] expected: &str,
    ) {
        let error = Selector::read(Some(&requirement(operator, values))).unwrap_err();
        assert_eq!(error.to_string(), format!("spec.hostSelector cannot be used: {expected}"));
    }
}
