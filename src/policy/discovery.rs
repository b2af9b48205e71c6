//! The expressions of a BareMetalHostDiscovery: which machines become hosts, and with which labels. CEL over what is known of a machine,
//! with the functions of the extended tier. Admission refuses what does not compile here, and the controller evaluates it.
//!
//! `hardware` is what `status.hardware` of its host will be, `inventory` is what its ramdisk reported, word for word, and `node` is what Ironic
//! knows of it.

use serde_json::Value as Json;

use super::{
    cel::{self, Bindings, CompileErrors, Environment, Problem, Program, Type, Value},
    functions::parsers,
};

/// What expressions may look at.
#[derive(Debug, Clone, Copy)]
pub struct Machine<'a> {
    /// In Metal3's words.
    pub hardware: &'a Json,
    /// In the words of its ramdisk.
    pub inventory: &'a Json,
    /// In Ironic's words.
    pub node: &'a Json,
}

/// `spec.nodeSelector`, compiled.
#[derive(Debug, Clone)]
pub struct Selector(Program);

/// `spec.labels[].expression`, compiled.
#[derive(Debug, Clone)]
pub struct LabelExpression(Program);

impl Selector {
    /// Compiles one, or says why that cannot be.
    pub fn compile(expression: &str) -> Result<Self, String> {
        compile(expression, &[Type::Bool]).map(Self)
    }

    /// Whether a machine is selected, or why that cannot be told.
    pub fn selects(&self, machine: Machine<'_>) -> Result<bool, String> {
        let bindings = bound(machine);
        match self.0.evaluate(&bindings).result {
            Ok(Value::Bool(selects)) => Ok(selects),
            Ok(other) => Err(format!("gives {}, which is neither true nor false", shown(&other))),
            Err(error) => Err(error.to_string()),
        }
    }
}

impl LabelExpression {
    /// Compiles one, or says why that cannot be.
    pub fn compile(expression: &str) -> Result<Self, String> {
        // What is read of a machine has no type until it is read.
        let kinds = [Type::Dyn, Type::String, Type::Int, Type::Uint, Type::Double, Type::Bool];
        compile(expression, &kinds).map(Self)
    }

    /// What it gives for a machine, as text. Whether that can be the value of a label is for others to say.
    pub fn value(&self, machine: Machine<'_>) -> Result<String, String> {
        let bindings = bound(machine);
        match self.0.evaluate(&bindings).result {
            Ok(Value::String(text)) => Ok((*text).to_owned()),
            Ok(plain @ (Value::Int(_) | Value::Uint(_) | Value::Double(_) | Value::Bool(_))) => {
                Ok(cel::display(&plain))
            }
            Ok(other) => Err(format!("gives {}, which is no text", shown(&other))),
            Err(error) => Err(error.to_string()),
        }
    }
}

fn compile(expression: &str, expected: &[Type]) -> Result<Program, String> {
    let environment =
        parsers().into_iter().fold(Environment::of_report(), Environment::with_extension);
    cel::compile(expression, &environment, expected).map_err(|errors| in_a_line(&errors))
}

/// A message of a policy has one line.
fn in_a_line(errors: &CompileErrors) -> String {
    let told: Vec<String> = errors
        .problems
        .iter()
        .map(|problem| {
            let Problem { line, column, message, suggestion, .. } = problem;
            let meant = suggestion.iter().map(|it| format!("; did you mean {it}?"));
            format!("{line}:{column}: {message}{}", meant.collect::<String>())
        })
        .collect();
    let told = if told.is_empty() { errors.to_string() } else { told.join("; ") };
    told.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn bound(machine: Machine<'_>) -> Bindings<'_> {
    Bindings::new().report(machine.hardware, machine.inventory, machine.node)
}

/// Not all of what a stranger has sent.
fn shown(value: &Value<'_>) -> String {
    let text = cel::display(value);
    crate::domain::text::Excerpt::from(text.as_str()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    fn with<T>(ask: impl Fn(Machine<'_>) -> T) -> T {
        let hardware = json!({"ramMebibytes": 32768, "cpu": {"arch": "x86_64", "count": 8}, "hostname": "a/b"});
        let inventory = json!({"bmc_address": "10.0.0.7", "interfaces": [{"mac_address": "52-54-00-AA-00-01"}]});
        let node = json!({"uuid": "u", "driver": "fake-hardware", "extra": {}});
        ask(Machine { hardware: &hardware, inventory: &inventory, node: &node })
    }

    #[rstest]
    #[case::hardware("hardware.cpu.arch == 'x86_64' && hardware.ramMebibytes > 1024", Ok(true))]
    #[case::inventory("inventory.bmc_address.startsWith('10.1.')", Ok(false))]
    #[case::node("node.driver == 'fake-hardware'", Ok(true))]
    #[case::parsers(
        "mac.canonical(inventory.interfaces[0].mac_address).startsWith('52:54:00')",
        Ok(true)
    )]
    #[case::not_reported("hardware.gpu.count > 0", Err("no such key: gpu".to_owned()))]
    fn a_selector_looks_at_a_machine(#[case] source: &str, #[case] expected: Result<bool, String>) {
        assert_eq!(with(|machine| Selector::compile(source).unwrap().selects(machine)), expected);
    }

    #[rstest]
    #[case::text("hardware.cpu.arch", Ok("x86_64"))]
    #[case::number("hardware.cpu.count", Ok("8"))]
    #[case::choice("hardware.ramMebibytes > 131072 ? 'large' : 'small'", Ok("small"))]
    #[case::what_it_says_is_for_others("hardware.hostname", Ok("a/b"))]
    #[case::no_text("hardware.cpu", Err("which is no text"))]
    fn a_label_is_read_from_a_machine(#[case] source: &str, #[case] expected: Result<&str, &str>) {
        let found = with(|machine| LabelExpression::compile(source).unwrap().value(machine));
        match expected {
            Ok(value) => assert_eq!(found.as_deref(), Ok(value)),
            Err(part) => assert!(found.as_ref().is_err_and(|it| it.contains(part)), "{found:?}"),
        }
    }

    #[rstest]
    #[case::syntax("hardware.cpu.arch ==", "Syntax error")]
    #[case::no_answer("'x86_64'", "must evaluate to bool but got string")]
    #[case::no_request("object.metadata.name == 'a'", "undeclared reference to 'object'")]
    #[case::no_variable("hardwre.cpu.arch == 'a'", "did you mean hardware?")]
    fn what_does_not_compile_is_told(#[case] source: &str, #[case] expected: &str) {
        let said = Selector::compile(source).unwrap_err();
        assert!(said.contains(expected), "{said}");
    }

    #[test]
    fn a_label_is_no_list() {
        let said = LabelExpression::compile("[hardware.cpu.arch]").unwrap_err();
        assert!(said.contains("must evaluate to one of"), "{said}");
    }
}
