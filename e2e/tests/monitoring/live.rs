//! What is scraped from an Ironward at work: every query of the dashboard shows something of it, and all that alerts look at is there.

use crate::{
    rendered::{Dashboard, Query, dashboard, name, rules},
    scene::{PATIENCE, Scene},
};
use ironward_e2e::promql::{Question, Scrape, Selector, ask};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

/// Half of the shortest that anything in the scene lasts, so that it is seen twice.
const BETWEEN_SCRAPES: Duration = Duration::from_millis(500);

#[test]
fn the_dashboard_shows_something_and_alerts_look_at_what_there_is() {
    let scene = Scene::start();
    let scrapes = Mutex::new(Vec::new());
    let is_over = Mutex::new(false);
    let (dashboard, rules) = (dashboard(), rules(&[]));
    let failed = thread::scope(|scope| {
        scope.spawn(|| {
            while !*is_over.lock().unwrap_or_else(PoisonError::into_inner) {
                let scrape = scene.scrape();
                scrapes.lock().unwrap_or_else(PoisonError::into_inner).push(scrape);
                thread::sleep(BETWEEN_SCRAPES);
            }
        });
        let _over = Over(&is_over);
        scene.play();
        // What is counted by Ironic's clock comes when it comes.
        let begun = Instant::now();
        loop {
            let seen = scrapes.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let missing = [empty(&dashboard, &seen), unknown(&rules, &seen)].concat();
            if missing.is_empty() || begun.elapsed() > PATIENCE {
                break missing;
            }
            thread::sleep(Duration::from_secs(2));
        }
    });
    assert!(failed.is_empty(), "{}\n{}", failed.join("\n"), scene.last_words());

    let scrapes = scrapes.into_inner().unwrap();
    // The same is said of a typo, in a name, a label or a value.
    for (right, mistyped) in [
        ("ironward_ready", "ironward_redy"),
        ("outcome=\"Failed\"", "outcom=\"Failed\""),
        ("outcome=\"Failed\"", "outcome=\"failed\""),
        ("Unreachable", "Unreacheable"),
        ("operational_status=\"delayed\"", "operational_status=\"waiting\""),
    ] {
        let mut mistaken = rules.clone();
        let mut found = BTreeSet::new();
        for rule in &mut mistaken {
            let expression = rule["expr"].as_str().unwrap().to_owned();
            if expression.contains(right) {
                found.insert(name(rule).to_owned());
                rule["expr"] = json!(expression.replace(right, mistyped));
            }
        }
        let noticed = unknown(&mistaken, &scrapes);
        assert!(!found.is_empty());
        for alert in found {
            let is_of_it = |it: &String| it.starts_with(&alert);
            assert!(noticed.iter().any(is_of_it), "{alert} with {mistyped} is not noticed");
        }
    }
    for expression in
        ["sum(ironward_host_cout)", "sum by (state) (ironward_host_count{state=\"asleep\"})"]
    {
        let panel = json!({"title": "mistaken", "type": "stat", "targets": [{"expr": expression}]});
        let mistaken = Dashboard { templating: Value::Null, panels: vec![panel] };
        assert_eq!(empty(&mistaken, &scrapes).len(), 1, "{expression}");
    }
}

/// Ends the scraping, also when a test fails.
struct Over<'a>(&'a Mutex<bool>);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
    }
}

fn question(scrapes: &[Scrape], expressions: Vec<String>) -> Question {
    let last = scrapes.last().unwrap().at;
    let at = Duration::from_secs_f64(last).as_secs() + 1;
    Question { scrapes: scrapes.to_vec(), expressions, at, ..Question::default() }
}

/// The queries that show nothing.
fn empty(dashboard: &Dashboard, scrapes: &[Scrape]) -> Vec<String> {
    let queries = dashboard.queries();
    let expressions = queries.iter().map(|it| it.expression.clone()).collect();
    let answer = ask(&question(scrapes, expressions)).unwrap();
    let is_empty = |(query, evaluated): (&Query, _)| {
        let evaluated: &ironward_e2e::promql::Evaluated = evaluated;
        let Query { row, panel, expression } = query;
        (!evaluated.has_data()).then(|| format!("{row}, {panel}: {expression}: {evaluated:?}"))
    };
    queries.iter().zip(&answer.expressions).filter_map(is_empty).collect()
}

/// What rules look at and nobody tells, whichever value of a label it is.
fn unknown(rules: &[Value], scrapes: &[Scrape]) -> Vec<String> {
    let of_rules = rules.iter().map(|rule| rule["expr"].as_str().unwrap().to_owned()).collect();
    let read = ask(&Question { expressions: of_rules, ..Question::default() }).unwrap();
    let mut asked = Vec::new();
    for (rule, evaluated) in rules.iter().zip(&read.expressions) {
        assert!(!evaluated.reads.is_empty(), "{} looks at nothing: {evaluated:?}", name(rule));
        for selector in evaluated.reads.iter().flat_map(each_value) {
            asked.push((name(rule), selector));
        }
    }
    let expressions = asked.iter().map(|(_, selector)| selector.clone()).collect();
    let answer = ask(&question(scrapes, expressions)).unwrap();
    let is_unknown = |((alert, selector), evaluated): (&(&str, String), _)| {
        let evaluated: &ironward_e2e::promql::Evaluated = evaluated;
        (!evaluated.has_data()).then(|| format!("{alert} looks at {selector}: {}", evaluated.error))
    };
    asked.iter().zip(&answer.expressions).filter_map(is_unknown).collect()
}

/// The selector, once for each of the values that a label may have; also of what is over by now.
fn each_value(selector: &Selector) -> Vec<String> {
    let mut all = vec![Vec::new()];
    for matcher in &selector.matchers {
        let values: Vec<&str> = match matcher.operator.as_str() {
            "=~" => matcher.value.split('|').collect(),
            _ => vec![&matcher.value],
        };
        let with = |before: &Vec<String>| -> Vec<Vec<String>> {
            let one = |value: &&str| {
                let text = format!("{}=\"{value}\"", matcher.label);
                [before.clone(), vec![text]].concat()
            };
            values.iter().map(one).collect()
        };
        all = all.iter().flat_map(with).collect();
    }
    let expression =
        |it: &Vec<String>| format!("last_over_time({}{{{}}}[1h])", selector.metric, it.join(", "));
    all.iter().map(expression).collect()
}
