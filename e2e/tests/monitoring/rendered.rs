//! What Helm makes of the chart for Prometheus and Grafana.

use ironward_e2e::helm::{CHART, Helm};
use serde::Deserialize;
use serde_json::{Value, json};

pub const NAMESPACE: &str = "ironward-system";

/// The objects of one kind, with these values set.
pub fn objects(kind: &str, values: &[&str]) -> Vec<Value> {
    let home = tempfile::tempdir().unwrap();
    let helm = Helm::without_cluster(home.path()).unwrap();
    let mut arguments = vec!["template", "ironward", CHART, "--namespace", NAMESPACE];
    arguments.extend(values.iter().flat_map(|value| ["--set", *value]));
    let text = helm.expect(&arguments).unwrap();
    let all: Vec<Value> = serde_saphyr::from_multiple(&text).unwrap();
    all.into_iter().filter(|object| object["kind"] == kind).collect()
}

/// The rules as the Prometheus operator would read them.
pub fn rules(values: &[&str]) -> Vec<Value> {
    let values = [&["prometheusRule.enabled=true"], values].concat();
    let [object] = objects("PrometheusRule", &values).try_into().unwrap();
    let groups = object["spec"]["groups"].as_array().unwrap().clone();
    groups.iter().flat_map(|group| group["rules"].as_array().unwrap().clone()).collect()
}

/// As a file of Prometheus'.
pub fn file(rules: &[Value]) -> String {
    json!({"groups": [{"name": "all", "rules": rules}]}).to_string()
}

pub fn name(rule: &Value) -> &str {
    rule["alert"].as_str().unwrap()
}

/// A query of the dashboard, and where it is.
#[derive(Debug)]
pub struct Query {
    pub row: String,
    pub panel: String,
    pub expression: String,
}

#[derive(Debug, Deserialize)]
pub struct Dashboard {
    pub templating: Value,
    pub panels: Vec<Value>,
}

/// The dashboard as Grafana's sidecar would find it.
pub fn dashboard() -> Dashboard {
    let maps = objects("ConfigMap", &["grafanaDashboard.enabled=true"]);
    let is_found = |it: &&Value| it["metadata"]["labels"]["grafana_dashboard"] == "1";
    let map = maps.iter().find(is_found).unwrap();
    serde_json::from_str(map["data"]["ironward.json"].as_str().unwrap()).unwrap()
}

impl Dashboard {
    /// All queries, with the variables filled in.
    pub fn queries(&self) -> Vec<Query> {
        let (mut queries, mut row) = (Vec::new(), String::new());
        for panel in &self.panels {
            let title = panel["title"].as_str().unwrap().to_owned();
            if panel["type"] == "row" {
                row = title;
                continue;
            }
            for target in panel["targets"].as_array().unwrap() {
                let expression = target["expr"].as_str().unwrap();
                let expression = expression
                    .replace("$namespace", NAMESPACE)
                    // Longer than the test: it is not about how often Prometheus scrapes.
                    .replace("$__rate_interval", "10m");
                queries.push(Query { row: row.clone(), panel: title.clone(), expression });
            }
        }
        queries
    }
}
