//! When alerts fire, and when not: the cases beside the rules.

use crate::rendered::{file, name, rules};
use ironward_e2e::promql::{Alert, Noted, Question, ask};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{collections::BTreeMap, fs};

const CASES: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../charts/ironward/alerts/ironward.test.yaml");

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Cases {
    tests: Vec<Case>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    interval: String,
    input_series: Vec<Noted>,
    alert_rule_test: Vec<Look>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Look {
    eval_time: String,
    alertname: String,
    exp_alerts: Vec<Expected>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    exp_labels: BTreeMap<String, String>,
    says: String,
}

fn cases() -> Vec<Case> {
    let cases: Cases = serde_saphyr::from_str(&fs::read_to_string(CASES).unwrap()).unwrap();
    cases.tests
}

fn seconds(duration: &str) -> u64 {
    let minutes = duration.strip_suffix('m').unwrap_or_else(|| panic!("{duration} has no minutes"));
    minutes.parse::<u64>().unwrap() * 60
}

/// What does not go as the cases say.
fn wrong<'a>(rules: &[Value], cases: impl IntoIterator<Item = &'a Case>) -> Vec<String> {
    let mut wrong = Vec::new();
    for case in cases {
        let looks = case.alert_rule_test.iter().map(|look| seconds(&look.eval_time));
        let question = Question {
            interval: seconds(&case.interval),
            series: case.input_series.clone(),
            rules: file(rules),
            looks: looks.collect(),
            ..Question::default()
        };
        let answer = ask(&question).unwrap();
        for look in &case.alert_rule_test {
            let at = seconds(&look.eval_time);
            let seen = answer.looks.iter().find(|it| it.at == at).unwrap();
            let its = seen.alerts.iter().filter(|it| it.labels["alertname"] == look.alertname);
            let its: Vec<_> = its.cloned().collect();
            if !is_as_expected(&its, &look.exp_alerts) {
                let (case, at) = (&case.name, &look.eval_time);
                wrong.push(format!("{}: {case}, at {at}: {its:#?}", look.alertname));
            }
        }
    }
    wrong
}

fn is_as_expected(seen: &[Alert], expected: &[Expected]) -> bool {
    let firing: Vec<_> = seen.iter().filter(|it| it.state == "firing").collect();
    let is = |alert: &Alert, it: &Expected| {
        let mut labels = alert.labels.clone();
        labels.remove("alertname");
        let text = &alert.annotations["description"];
        // What Go's templates write for what is not there.
        let is_filled = !text.contains("<no value>") && !text.contains("%!");
        labels == it.exp_labels && text.contains(&it.says) && is_filled
    };
    firing.len() == expected.len()
        && expected.iter().all(|it| firing.iter().any(|alert| is(alert, it)))
}

#[test]
fn alerts_fire_when_they_should_and_only_then() {
    let wrong = wrong(&rules(&[]), &cases());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_alert_has_a_case_that_fires_and_one_that_does_not() {
    let cases = cases();
    let looks = || cases.iter().flat_map(|case| &case.alert_rule_test);
    let rules = rules(&[]);
    for rule in &rules {
        let of_it = || looks().filter(|look| look.alertname == name(rule));
        assert!(of_it().any(|look| !look.exp_alerts.is_empty()), "{} never fires", name(rule));
        assert!(of_it().any(|look| look.exp_alerts.is_empty()), "{} always fires", name(rule));
    }
    for look in looks() {
        let is_known = rules.iter().any(|rule| name(rule) == look.alertname);
        assert!(is_known, "there is no alert {}", look.alertname);
    }
}

/// A rule without its threshold.
fn unbounded(rule: &Value) -> Value {
    let expression = rule["expr"].as_str().unwrap();
    let comparison = [" > ", " < ", " == "].iter().filter_map(|it| expression.rfind(it)).max();
    let (kept, threshold) = expression.split_at(comparison.unwrap());
    // That of `absent` is inside.
    let parentheses = if threshold.ends_with(')') { ")" } else { "" };
    let mut rule = rule.clone();
    rule["expr"] = json!(format!("{kept}{parentheses}"));
    rule
}

/// A rule that does not wait.
fn hasty(rule: &Value) -> Value {
    let mut rule = rule.clone();
    rule.as_object_mut().unwrap().remove("for");
    rule
}

/// One that asks for labels which nothing has.
fn blind(rule: &Value) -> Value {
    let mut rule = rule.clone();
    let expression = rule["expr"].as_str().unwrap();
    rule["expr"] = json!(expression.replace("namespace=", "nowhere="));
    rule
}

#[test]
fn the_cases_notice_what_is_wrong_with_any_rule() {
    let (rules, all) = (rules(&[]), cases());
    for (number, rule) in rules.iter().enumerate() {
        let mut mistakes = vec![("without its threshold", unbounded(rule)), ("blind", blind(rule))];
        if rule["for"].is_string() {
            mistakes.push(("hasty", hasty(rule)));
        }
        for (what, mistaken) in mistakes {
            let mut rules = rules.clone();
            rules[number] = mistaken;
            let is_of_it = |look: &Look| look.alertname == name(rule);
            let cases = all.iter().filter(|case| case.alert_rule_test.iter().any(is_of_it));
            let noticed = wrong(&rules, cases);
            let is_of_it = |it: &String| it.starts_with(&format!("{}:", name(rule)));
            assert!(
                noticed.iter().any(is_of_it),
                "{} {what} is not noticed: {}",
                name(rule),
                rules[number]["expr"]
            );
        }
    }
}
