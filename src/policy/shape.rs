//! Strict reading of a document by its shape: a field that the shape does not know is a mistake,
//! not something to ignore. Texts are those of the API server's decoder, all of them at once.

use serde_json::{Map, Value};

use super::{
    path::FieldPath,
    problem::{FieldError, quoted},
    suggest::closest,
    yaml::{Node, Tree},
};

/// The type of a value, with the name that Go's decoder prints.
pub(crate) enum Shape {
    Text(&'static str),
    Integer(&'static str),
    Bool(&'static str),
    List(&'static str, &'static Self),
    Map(&'static str, &'static Self),
    Struct(&'static Struct),
    Any,
}

/// A struct: its Go name and its fields.
pub(crate) struct Struct {
    pub go: &'static str,
    pub fields: &'static [Field],
}

/// A field: its name, and its name in Go's messages, which differs for embedded structs.
pub(crate) struct Field {
    pub name: &'static str,
    pub go: &'static str,
    pub shape: Shape,
}

pub(crate) const fn field(name: &'static str, shape: Shape) -> Field {
    Field { name, go: name, shape }
}

pub(crate) const fn embedded(name: &'static str, go: &'static str, shape: Shape) -> Field {
    Field { name, go, shape }
}

/// The value in JSON, nulls left out, or what keeps it from being read.
pub(crate) fn read(shape: &Struct, root: &Node) -> Result<Value, Vec<FieldError>> {
    let mut reader = Reader { errors: Vec::new() };
    let at = At { path: FieldPath::default(), go: String::new(), within: shape.go };
    let value = reader.fields(shape, root, &at);
    if reader.errors.is_empty() { Ok(value) } else { Err(reader.errors) }
}

struct Reader {
    errors: Vec<FieldError>,
}

/// Where the reader is: the path for people, and the one that Go prints.
struct At {
    path: FieldPath,
    go: String,
    within: &'static str,
}

impl Reader {
    fn value(&mut self, shape: &Shape, node: &Node, at: &At) -> Value {
        match (shape, &node.tree) {
            (_, Tree::Null) => zero(shape),
            (Shape::Any, _) | (Shape::Text(_), Tree::Text(_)) | (Shape::Bool(_), Tree::Bool(_)) => {
                node.to_json()
            }
            (Shape::Integer(_), Tree::Number(number)) if number.is_i64() => node.to_json(),
            (Shape::List(_, element), Tree::List(items)) => Value::Array(
                items
                    .iter()
                    .enumerate()
                    .map(|(index, item)| {
                        let at = At { path: at.path.index(index), go: at.go.clone(), ..*at };
                        self.value(element, item, &at)
                    })
                    .collect(),
            ),
            (Shape::Map(_, element), Tree::Map(entries)) => Value::Object(
                entries
                    .iter()
                    .map(|entry| {
                        let path = at.path.child(&entry.key);
                        let at = At { path, go: at.go.clone(), ..*at };
                        (entry.key.clone(), self.value(element, &entry.node, &at))
                    })
                    .collect(),
            ),
            (Shape::Struct(shape), Tree::Map(_)) => {
                let at = At { path: at.path.clone(), go: at.go.clone(), within: shape.go };
                self.fields(shape, node, &at)
            }
            _ => {
                self.mismatch(shape, node, at);
                Value::Null
            }
        }
    }

    fn fields(&mut self, shape: &Struct, node: &Node, at: &At) -> Value {
        let Tree::Map(entries) = &node.tree else { return Value::Null };
        let mut object = Map::new();
        for entry in entries {
            let path = at.path.child(&entry.key);
            match shape.fields.iter().find(|field| field.name == entry.key) {
                Some(field) => {
                    let go = if at.go.is_empty() {
                        field.go.to_owned()
                    } else {
                        format!("{}.{}", at.go, field.go)
                    };
                    let at = At { path, go, within: at.within };
                    if entry.node.tree != Tree::Null {
                        object
                            .insert(entry.key.clone(), self.value(&field.shape, &entry.node, &at));
                    }
                }
                None => self.unknown(shape, &entry.key, &path),
            }
        }
        Value::Object(object)
    }

    fn unknown(&mut self, shape: &Struct, key: &str, path: &FieldPath) {
        let message = format!("unknown field {}", quoted(&path.to_string()));
        self.errors.push(FieldError {
            suggestion: closest(key, shape.fields.iter().map(|field| field.name))
                .map(|meant| format!("did you mean {meant:?}?")),
            ..FieldError::plain(path, message)
        });
    }

    fn mismatch(&mut self, shape: &Shape, node: &Node, at: &At) {
        let got = match &node.tree {
            Tree::Null => "null",
            Tree::Bool(_) => "bool",
            Tree::Number(_) => "number",
            Tree::Text(_) => "string",
            Tree::List(_) => "array",
            Tree::Map(_) => "object",
        };
        let message = format!(
            "json: cannot unmarshal {got} into Go struct field {}.{} of type {}",
            at.within,
            at.go,
            go_type(shape)
        );
        let is_bare =
            matches!(shape, Shape::Text(_)) && matches!(node.tree, Tree::Bool(_) | Tree::Number(_));
        self.errors.push(FieldError {
            suggestion: is_bare
                .then(|| "put it in quotes, or YAML takes it for no text".to_owned()),
            ..FieldError::plain(&at.path, message)
        });
    }
}

fn go_type(shape: &Shape) -> String {
    match shape {
        Shape::Text(go)
        | Shape::Integer(go)
        | Shape::Bool(go)
        | Shape::List(go, _)
        | Shape::Map(go, _) => (*go).to_owned(),
        Shape::Struct(shape) => format!("v1.{}", shape.go),
        Shape::Any => "interface {}".to_owned(),
    }
}

/// What `null` stands for inside a list or a map.
fn zero(shape: &Shape) -> Value {
    match shape {
        Shape::Text(_) => Value::String(String::new()),
        Shape::Integer(_) => Value::from(0),
        Shape::Bool(_) => Value::Bool(false),
        Shape::List(..) => Value::Array(Vec::new()),
        Shape::Map(..) | Shape::Struct(_) => Value::Object(Map::new()),
        Shape::Any => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::policy::{shapes::VALIDATING_POLICY, yaml};

    fn messages(text: &str) -> Vec<String> {
        let documents = yaml::read(text).unwrap();
        read(&VALIDATING_POLICY, &documents[0])
            .err()
            .unwrap_or_default()
            .into_iter()
            .map(|error| error.message)
            .collect()
    }

    // Each text was printed by kube-apiserver 1.36.3.
    #[rstest]
    #[case::scalar(
        "spec: {failurePolicy: 7}",
        "json: cannot unmarshal number into Go struct field \
        ValidatingAdmissionPolicySpec.spec.failurePolicy of type v1.FailurePolicyType"
    )]
    #[case::list(
        "spec: {matchConstraints: {resourceRules: [{operations: CREATE}]}}",
        "json: cannot unmarshal string into Go struct field NamedRuleWithOperations.spec.\
         matchConstraints.resourceRules.RuleWithOperations.operations of type []v1.OperationType"
    )]
    #[case::element(
        "spec: {matchConstraints: {resourceRules: [{operations: [CREATE, 7]}]}}",
        "json: cannot unmarshal number into Go struct field NamedRuleWithOperations.spec.\
         matchConstraints.resourceRules.RuleWithOperations.operations of type v1.OperationType"
    )]
    #[case::list_of_structs(
        "spec: {validations: {}}",
        "json: cannot unmarshal object into Go struct \
        field ValidatingAdmissionPolicySpec.spec.validations of type []v1.Validation"
    )]
    #[case::name(
        "metadata: {name: 7}",
        "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.name of type string"
    )]
    #[case::label(
        "metadata: {labels: {a: 7}}",
        "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string"
    )]
    #[case::spec(
        "spec: []",
        "json: cannot unmarshal array into Go struct field \
        ValidatingAdmissionPolicy.spec of type v1.ValidatingAdmissionPolicySpec"
    )]
    #[case::struct_element(
        "spec: {validations: [7]}",
        "json: cannot unmarshal number into Go struct \
        field ValidatingAdmissionPolicySpec.spec.validations of type v1.Validation"
    )]
    fn mismatches_read_as_the_api_servers(#[case] text: &str, #[case] want: &str) {
        assert_eq!(messages(text), [want]);
    }

    #[test]
    fn every_unknown_field_is_named() {
        let text = "spec: {foo: 1, validations: [{expresion: a, x: 1}]}\nmetadata: {bar: 1}";
        assert_eq!(
            messages(text),
            [
                "unknown field \"spec.foo\"",
                "unknown field \"spec.validations[0].expresion\"",
                "unknown field \"spec.validations[0].x\"",
                "unknown field \"metadata.bar\"",
            ]
        );
    }

    #[test]
    fn null_is_the_same_as_absent() {
        let documents = yaml::read("metadata: {name: x, labels: null}\nspec: ~\n").unwrap();
        let value = read(&VALIDATING_POLICY, &documents[0]).unwrap();
        assert_eq!(value, serde_json::json!({"metadata": {"name": "x"}}));
    }
}
