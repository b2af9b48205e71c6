//! What is rendered, and that the guide tells of it.

use crate::rendered::{dashboard, name, objects, rules};
use ironward_e2e::helm::{CHART, Helm};
use std::{collections::BTreeSet, fs};

const GUIDE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/src/monitoring.md");

#[test]
fn nothing_is_there_unless_it_is_asked_for() {
    assert!(objects("PrometheusRule", &[]).is_empty());
    let maps = objects("ConfigMap", &[]);
    assert!(maps.iter().all(|it| it["metadata"]["name"] != "ironward-dashboard"), "{maps:?}");
}

#[test]
fn every_alert_says_what_is_so_and_where_to_read_on() {
    let guide = fs::read_to_string(GUIDE).unwrap();
    let base = "prometheusRule.guideURL=https://docs.example/";
    let mut known = BTreeSet::new();
    for rule in rules(&[base]) {
        let (alert, annotations) = (name(&rule).to_owned(), &rule["annotations"]);
        let severity = rule["labels"]["severity"].as_str().unwrap();
        assert!(["critical", "warning", "info"].contains(&severity), "{alert}: {severity}");
        for part in ["summary", "description"] {
            assert!(annotations[part].as_str().unwrap().ends_with('.'), "{alert} has no {part}");
        }
        let anchor = alert.to_lowercase();
        let pointer = format!("https://docs.example/monitoring.html#{anchor}");
        assert_eq!(annotations["runbook_url"], pointer);
        let row = format!("| <a id=\"{anchor}\"></a>{alert} | {severity} |");
        assert!(guide.contains(&row), "the guide has no row {row}");
        known.insert(alert);
    }
    let rows = guide.matches("<a id=\"").count();
    assert_eq!(rows, known.len(), "the guide tells of alerts that there are not");
}

#[test]
fn the_namespace_is_that_of_the_release() {
    let home = tempfile::tempdir().unwrap();
    let helm = Helm::without_cluster(home.path()).unwrap();
    let set = ["--namespace", "elsewhere", "--set", "prometheusRule.enabled=true"];
    let only = ["--show-only", "templates/prometheusrule.yaml"];
    let text = helm.expect(&[&["template", "ironward", CHART][..], &set, &only].concat()).unwrap();
    assert!(
        text.contains("namespace=\"elsewhere\"") && !text.contains("ironward-system"),
        "{text}"
    );
}

#[test]
fn alerts_can_be_left_out_if_there_are_such() {
    let named = |values: &[&str]| -> BTreeSet<String> {
        rules(values).iter().map(|rule| name(rule).to_owned()).collect()
    };
    let left = &named(&[]) - &named(&["prometheusRule.without={IronwardDiscoveryDenied}"]);
    assert_eq!(left, BTreeSet::from(["IronwardDiscoveryDenied".to_owned()]));

    let home = tempfile::tempdir().unwrap();
    let helm = Helm::without_cluster(home.path()).unwrap();
    let values = "prometheusRule.enabled=true,prometheusRule.without={IronwardAsleep}";
    let answer = helm.run(&["template", "ironward", CHART, "--set", values]).unwrap();
    assert!(answer.err.contains("IronwardAsleep, and there is no such alert"), "{}", answer.err);
}

#[test]
fn panels_are_well_formed() {
    let dashboard = dashboard();
    let variables = dashboard.templating["list"].as_array().unwrap();
    let names: Vec<_> = variables.iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["datasource", "namespace"]);
    let (mut numbers, mut places) = (BTreeSet::new(), BTreeSet::new());
    for panel in &dashboard.panels {
        assert!(numbers.insert(panel["id"].as_u64().unwrap()), "{} has no own id", panel["title"]);
        let place = &panel["gridPos"];
        let [x, y, w, h] = ["x", "y", "w", "h"].map(|side| place[side].as_u64().unwrap());
        assert!(x + w <= 24, "{} is too wide", panel["title"]);
        for cell in (x..x + w).flat_map(|x| (y..y + h).map(move |y| (x, y))) {
            assert!(places.insert(cell), "{} is on another panel", panel["title"]);
        }
        if panel["type"] != "row" {
            assert_eq!(panel["datasource"]["uid"], "${datasource}", "{}", panel["title"]);
            assert!(panel["fieldConfig"]["defaults"]["unit"].is_string(), "{}", panel["title"]);
        }
    }
}
