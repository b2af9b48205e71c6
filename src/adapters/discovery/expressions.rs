//! The expressions of discoveries: compiled once for each version of one, evaluated for every report.

use serde_json::{Value, json};

use crate::{
    api::BareMetalHostDiscovery,
    controllers::discovery::observed::{Verdict, Version},
    ironic::{inventory::Inventory, node::Node},
    policy::discovery::{LabelExpression, Machine, Selector},
};

/// The expressions of a discovery.
pub(super) struct Expressions {
    pub of: Version,
    selector: Option<Selector>,
    labels: Vec<(String, Label)>,
    /// Why they cannot be evaluated.
    pub problem: Option<String>,
}

enum Label {
    Fixed(String),
    Made(LabelExpression),
}

impl Expressions {
    /// Admission refuses what does not compile; who was not asked is told here.
    pub fn compile(discovery: &BareMetalHostDiscovery, of: Version) -> Self {
        let spec = &discovery.spec;
        let mut problems = Vec::new();
        let mut told =
            |field: String, problem: String| problems.push(format!("{field}: {problem}"));
        let selector = spec.node_selector.as_deref().map(Selector::compile);
        let selector = selector.and_then(|compiled| {
            compiled.map_err(|problem| told("spec.nodeSelector".to_owned(), problem)).ok()
        });
        let mut labels = Vec::new();
        for label in spec.labels.iter().flatten() {
            let compiled = match (&label.value, &label.expression) {
                (_, Some(expression)) => LabelExpression::compile(expression).map(Label::Made),
                (value, None) => Ok(Label::Fixed(value.clone().unwrap_or_default())),
            };
            match compiled {
                Ok(compiled) => labels.push((label.name.clone(), compiled)),
                Err(problem) => told(format!("spec.labels[{}].expression", label.name), problem),
            }
        }
        let problem = (!problems.is_empty()).then(|| problems.join("; "));
        Self { of, selector, labels, problem }
    }

    /// What they say of a machine.
    pub fn judge(&self, facts: &Facts<'_>) -> Verdict {
        let Facts { hardware, inventory, node } = facts;
        let machine = Machine { hardware, inventory, node };
        let value = |label: &Label| match label {
            Label::Fixed(value) => Ok(value.clone()),
            Label::Made(expression) => expression.value(machine),
        };
        Verdict {
            is_selected: self.selector.as_ref().map_or(Ok(true), |it| it.selects(machine)),
            labels: self.labels.iter().map(|(name, label)| (name.clone(), value(label))).collect(),
        }
    }
}

/// What expressions may look at.
pub(super) struct Facts<'a> {
    hardware: Value,
    inventory: &'a Value,
    node: Value,
}

impl<'a> Facts<'a> {
    pub fn of(node: &Node, inventory: &'a Inventory) -> Self {
        Self {
            hardware: serde_json::to_value(inventory.details()).unwrap_or_default(),
            inventory: inventory.reported(),
            node: json!({
                "uuid": node.uuid, "name": node.name, "driver": node.driver,
                "properties": node.properties, "extra": node.extra,
            }),
        }
    }
}
