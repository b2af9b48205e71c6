//! Label selectors, compiled.

use serde_json::Value;

use super::{document::LabelSelector, json::Json};

/// A label selector whose requirements must all hold. Without any it selects everything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Selector(Vec<Requirement>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Requirement {
    In(String, Vec<String>),
    NotIn(String, Vec<String>),
    Exists(String),
    DoesNotExist(String),
}

impl Selector {
    pub(crate) fn new(selector: &LabelSelector) -> Self {
        let labels = selector
            .match_labels
            .iter()
            .map(|(key, value)| Requirement::In(key.clone(), vec![value.clone()]));
        let expressions = selector.match_expressions.iter().filter_map(|expression| {
            let (key, values) = (expression.key.clone(), expression.values.clone());
            Some(match expression.operator.as_str() {
                "In" => Requirement::In(key, values),
                "NotIn" => Requirement::NotIn(key, values),
                "Exists" => Requirement::Exists(key),
                "DoesNotExist" => Requirement::DoesNotExist(key),
                // Refused when the file is read.
                _ => return None,
            })
        });
        Self(labels.chain(expressions).collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether an object's labels are selected.
    pub(crate) fn matches<'a>(&self, object: impl Into<Json<'a>>) -> bool {
        let object = object.into();
        let labels = object.at(&["metadata", "labels"]).and_then(Json::fields);
        // Labels that are not all strings are no labels.
        let labels = labels.filter(|labels| labels.iter().all(|(_, it)| it.as_str().is_some()));
        let label = |key: &str| labels.and_then(|labels| labels.get(key)).and_then(Json::as_str);
        let listed = |values: &[String], value: &str| values.iter().any(|it| it == value);
        self.0.iter().all(|requirement| match requirement {
            Requirement::In(key, values) => label(key).is_some_and(|value| listed(values, value)),
            Requirement::NotIn(key, values) => {
                label(key).is_none_or(|value| !listed(values, value))
            }
            Requirement::Exists(key) => label(key).is_some(),
            Requirement::DoesNotExist(key) => label(key).is_none(),
        })
    }
}

/// Those objects whose labels are selected.
#[must_use]
pub fn selected(selector: &LabelSelector, objects: Vec<Value>) -> Vec<Value> {
    let selector = Selector::new(selector);
    objects.into_iter().filter(|object| selector.matches(object)).collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::empty(json!({}), true)]
    #[case::label(json!({"matchLabels": {"a": "1"}}), true)]
    #[case::other_value(json!({"matchLabels": {"a": "2"}}), false)]
    #[case::absent(json!({"matchLabels": {"c": "1"}}), false)]
    #[case::is_in(json!({"matchExpressions": [{"key": "a", "operator": "In", "values": ["1", "2"]}]}), true)]
    #[case::not_in(json!({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["1"]}]}), false)]
    #[case::not_in_absent(json!({"matchExpressions": [{"key": "c", "operator": "NotIn", "values": ["1"]}]}), true)]
    #[case::exists(json!({"matchExpressions": [{"key": "a", "operator": "Exists"}]}), true)]
    #[case::does_not_exist(json!({"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}), false)]
    #[case::all_must_hold(json!({"matchLabels": {"a": "1"},
        "matchExpressions": [{"key": "b", "operator": "DoesNotExist"}]}), false)]
    fn operators(#[case] selector: Value, #[case] want: bool) {
        let selector = Selector::new(&serde_json::from_value(selector).unwrap());
        let object = json!({"metadata": {"labels": {"a": "1", "b": ""}}});
        assert_eq!(selector.matches(&object), want);
    }
}
