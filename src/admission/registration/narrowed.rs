//! What keeps requests away that no policy of a webhook cares about.

use super::{Address, Registration};
use crate::{
    admission::webhook::{JUDGED_WHEN_CREATED, Phase},
    policy::{LabelRequirement, LabelSelector, MatchCondition, Rule, Tier},
};

/// The label by which the API server names every namespace.
const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";

/// Beyond this, the condition costs the API server more than the call would.
const LONGEST_CONDITION: usize = 4096;

/// What a webhook is narrowed to.
pub(super) struct Narrowed {
    pub namespaces: LabelSelector,
    pub objects: LabelSelector,
    pub conditions: Vec<MatchCondition>,
}

pub(super) fn narrowed(
    phase: Phase,
    resource: &str,
    rules: &[Rule<'_>],
    registration: &Registration,
) -> Narrowed {
    let mut namespaces =
        common(rules.iter().map(|rule| rule.constraints.namespace_selector.as_ref()));
    if let Address::Service { namespace, .. } = &registration.address {
        // What runs us must not depend on us.
        namespaces.match_expressions.push(LabelRequirement {
            key: NAMESPACE_NAME.to_owned(),
            operator: "NotIn".to_owned(),
            values: vec![namespace.clone()],
        });
    }
    let objects = common(rules.iter().map(|rule| rule.constraints.object_selector.as_ref()));
    let mut conditions = conditions(rules);
    if let (Phase::Validate, Some(name)) = (phase, &registration.own_name) {
        let by_others = format!("request.userInfo.username != {}", cel_text(name));
        conditions.push(MatchCondition {
            name: "not-by-ironward".to_owned(),
            expression: if resource == JUDGED_WHEN_CREATED {
                format!("{by_others} || request.operation == 'CREATE'")
            } else {
                by_others
            },
        });
    }
    Narrowed { namespaces, objects, conditions }
}

/// The selector that all have, or one that selects all.
fn common<'a>(mut selectors: impl Iterator<Item = Option<&'a LabelSelector>>) -> LabelSelector {
    let first = selectors.next().flatten().cloned().unwrap_or_default();
    if selectors.all(|selector| *selector.unwrap_or(&LabelSelector::default()) == first) {
        first
    } else {
        LabelSelector::default()
    }
}

/// Those of the policy, if there is one; one that asks for any of them if there are several; none if a
/// policy has none, or one that cannot be asked there.
fn conditions(rules: &[Rule<'_>]) -> Vec<MatchCondition> {
    let mut distinct: Vec<&[MatchCondition]> = Vec::new();
    for rule in rules {
        if rule.conditions.is_empty() || !fits(rule) {
            return Vec::new();
        }
        if !distinct.contains(&rule.conditions) {
            distinct.push(rule.conditions);
        }
    }
    if let [conditions] = distinct.as_slice() {
        return conditions.to_vec();
    }
    let all_of = |conditions: &&[MatchCondition]| {
        let expressions: Vec<_> =
            conditions.iter().map(|it| format!("({}\n)", it.expression.trim())).collect();
        format!("({})", expressions.join(" && "))
    };
    let any_of = distinct.iter().map(all_of).collect::<Vec<_>>().join(" || ");
    if any_of.len() > LONGEST_CONDITION {
        return Vec::new();
    }
    vec![MatchCondition { name: "for-a-policy".to_owned(), expression: any_of }]
}

/// A webhook's conditions know neither params nor the functions of the extended tier, nor a namespace; and
/// one that cannot be evaluated refuses the request where a policy that only warns would not.
fn fits(rule: &Rule<'_>) -> bool {
    let says = |word: &str| rule.conditions.iter().any(|it| it.expression.contains(word));
    rule.tier == Tier::Portable
        && !says("params")
        && !says("namespaceObject")
        && (rule.denies || !rule.fails)
}

fn cel_text(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}
