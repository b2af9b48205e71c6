//! This engine behind the oracle's protocol.

use ironward::template::{
    Functions, Kind, Limits, MissingKey, Template, Value,
    metadata::{FUNCTIONS, Node},
    problems,
};
use serde_json::{Value as Json, json};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Answers questions.
#[derive(Debug)]
pub struct Engine {
    functions: Functions,
    node: Node,
}

impl Engine {
    /// With functions that speak of a node.
    #[must_use]
    pub fn new(node: Node) -> Self {
        Self { functions: Functions::new(&FUNCTIONS), node }
    }

    /// What came of a question: `output`, `error`, `limit` or `panic`.
    #[must_use]
    pub fn answer(&self, question: &Json) -> Json {
        let answer = catch_unwind(AssertUnwindSafe(|| self.render(question)));
        answer.unwrap_or_else(|cause| {
            let text = cause.downcast_ref::<String>().map(String::as_str);
            json!({"panic": text.or_else(|| cause.downcast_ref::<&str>().copied()).unwrap_or("?")})
        })
    }

    fn render(&self, question: &Json) -> Json {
        let source = question["template"].as_str().unwrap_or_default();
        let data = Value::from(&question["data"]);
        let missing_key = match question["missingkey"].as_str() {
            Some("error") => MissingKey::Error,
            _ => MissingKey::NoValue,
        };
        let told = |kind: Kind, text: String| match kind {
            Kind::Fault => json!({"error": text}),
            Kind::Limit => json!({"limit": text}),
        };
        let found = problems("t", source, &self.functions);
        match Template::parse("t", source, &self.functions, &Limits::default()) {
            Ok(template) => match template.missing_key(missing_key).render(&data, &self.node) {
                Ok(output) => json!({"output": output}),
                Err(error) => told(error.kind, error.to_string()),
            },
            Err(error) if found.is_empty() => {
                json!({"panic": format!("no problems, but: {error}")})
            }
            Err(error) => told(error.kind, error.to_string()),
        }
    }
}
