//! One policy file: its documents read strictly, with every problem placed in it.

use std::{str::FromStr, sync::Arc};

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{
    check::{self, Compile},
    document::{Document, EXTENDED, Kind, Metadata, PORTABLE, Spec, Tier},
    locate,
    path::FieldPath,
    problem::{FieldError, Problem, quoted},
    shape, shapes,
    suggest::closest,
    yaml::{self, Node, Place, Tree},
};

/// A document that has the right shape, and the text it came from.
#[derive(Debug, Clone)]
pub(crate) struct Draft {
    pub document: Document,
    root: Node,
    text: Arc<Text>,
}

#[derive(Debug)]
struct Text {
    file: String,
    content: String,
}

/// Reads the documents of a file; a document with problems is left out.
pub(crate) fn read(file: &str, content: &str) -> (Vec<Draft>, Vec<Problem>) {
    let text = Arc::new(Text { file: file.to_owned(), content: content.to_owned() });
    let mut reader = Reader { text, drafts: Vec::new(), problems: Vec::new() };
    match yaml::read(content) {
        Ok(documents) => documents.into_iter().for_each(|root| reader.document(root, None)),
        Err(faults) => {
            for fault in faults {
                reader.problems.push(reader.text.problem(fault.place, "", fault.message));
            }
        }
    }
    (reader.drafts, reader.problems)
}

impl Draft {
    /// What the API server would refuse at create.
    pub(crate) fn check(&self, compiler: &mut dyn Compile) -> Vec<Problem> {
        let mut errors = check::metadata(&self.document.metadata);
        errors.extend(match &self.document.spec {
            Spec::ValidatingPolicy(spec) => {
                check::validating_policy(&self.document.metadata.name, spec, compiler)
            }
            Spec::ValidatingBinding(spec) => check::validating_binding(spec),
            Spec::MutatingPolicy(spec) => check::mutating_policy(spec, compiler),
            Spec::MutatingBinding(spec) => check::mutating_binding(spec),
            Spec::Unique(spec) => check::unique_policy(spec, compiler),
        });
        errors.into_iter().map(|error| self.problem(error)).collect()
    }

    pub(crate) fn problem(&self, error: FieldError) -> Problem {
        self.text.place(&self.root, error)
    }
}

struct Reader {
    text: Arc<Text>,
    drafts: Vec<Draft>,
    problems: Vec<Problem>,
}

impl Reader {
    /// A document, or an item of a list that names the kind of its items.
    fn document(&mut self, root: Node, item_of: Option<(Tier, Kind)>) {
        if !matches!(root.tree, Tree::Map(_)) {
            let message = "a document must be an object with apiVersion and kind";
            self.problems.push(self.text.problem(root.place, "", message.to_owned()));
            return;
        }
        let api_version = root.text("apiVersion").unwrap_or_default().to_owned();
        let kind = root.text("kind").unwrap_or_default().to_owned();
        match (classify(&api_version, &kind), item_of) {
            (Class::One(tier, kind), _) => self.one(tier, kind, root),
            (Class::Unknown(_), Some((tier, kind))) if root.get("kind").is_none() => {
                self.one(tier, kind, root);
            }
            (Class::Many(of), _) => {
                if let Some(Tree::List(items)) =
                    root.get("items").map(|entry| entry.node.tree.clone())
                {
                    for item in items {
                        self.document(item, of);
                    }
                }
            }
            (Class::Unknown(error), _) => {
                let problem = self.text.place(&root, *error);
                self.problems.push(problem);
            }
        }
    }

    fn one(&mut self, tier: Tier, kind: Kind, root: Node) {
        let shape = match kind {
            Kind::ValidatingAdmissionPolicy => &shapes::VALIDATING_POLICY,
            Kind::ValidatingAdmissionPolicyBinding => &shapes::VALIDATING_BINDING,
            Kind::MutatingAdmissionPolicy => &shapes::MUTATING_POLICY,
            Kind::MutatingAdmissionPolicyBinding => &shapes::MUTATING_BINDING,
            Kind::UniquePolicy => &shapes::UNIQUE_POLICY,
        };
        let read = shape::read(shape, &root).and_then(|value| {
            document(tier, kind, &self.text.file, value)
                .map_err(|message| vec![FieldError::plain(&FieldPath::default(), message)])
        });
        match read {
            Ok(document) => {
                self.drafts.push(Draft { document, root, text: Arc::clone(&self.text) });
            }
            Err(errors) => {
                let text = Arc::clone(&self.text);
                self.problems.extend(errors.into_iter().map(|error| text.place(&root, error)));
            }
        }
    }
}

enum Class {
    One(Tier, Kind),
    Many(Option<(Tier, Kind)>),
    Unknown(Box<FieldError>),
}

fn classify(api_version: &str, kind: &str) -> Class {
    let tier = match api_version {
        PORTABLE => Some(Tier::Portable),
        EXTENDED => Some(Tier::Extended),
        _ => None,
    };
    if let ("v1", "List") = (api_version, kind) {
        return Class::Many(None);
    }
    if let Some(tier) = tier {
        let known = |kind: &str| Kind::from_str(kind).ok().filter(|it| is_in(*it, tier));
        if let Some(kind) = known(kind) {
            return Class::One(tier, kind);
        }
        if let Some(kind) = kind.strip_suffix("List").and_then(known) {
            return Class::Many(Some((tier, kind)));
        }
    }
    Class::Unknown(Box::new(unknown_kind(api_version, kind, tier)))
}

/// Nothing of ours is in Kubernetes' group.
fn is_in(kind: Kind, tier: Tier) -> bool {
    tier == Tier::Extended || kind != Kind::UniquePolicy
}

fn unknown_kind(api_version: &str, kind: &str, tier: Option<Tier>) -> FieldError {
    const KINDS: [&str; 5] = [
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
        "UniquePolicy",
    ];
    let field = |name: &str| FieldPath::new(name);
    if kind.is_empty() {
        return FieldError::plain(&field("kind"), "Object 'Kind' is missing");
    }
    if api_version.is_empty() {
        return FieldError::plain(&field("apiVersion"), "Object 'apiVersion' is missing");
    }
    let message =
        format!("no kind {} is registered for version {}", quoted(kind), quoted(api_version));
    let (path, meant) = if kind == "UniquePolicy" {
        (field("apiVersion"), Some(EXTENDED))
    } else if tier.is_some() {
        (field("kind"), closest(kind, KINDS))
    } else if KINDS.contains(&kind) {
        let group = if api_version.starts_with("policies.") { EXTENDED } else { PORTABLE };
        (field("apiVersion"), Some(group))
    } else {
        (field("kind"), None)
    };
    FieldError {
        suggestion: meant.map(|meant| format!("did you mean {meant:?}?")),
        ..FieldError::plain(&path, message)
    }
}

fn document(tier: Tier, kind: Kind, file: &str, mut value: Value) -> Result<Document, String> {
    let metadata: Metadata = part(&mut value, "metadata")?;
    let spec = match kind {
        Kind::ValidatingAdmissionPolicy => {
            let mut spec: super::document::ValidatingPolicySpec = part(&mut value, "spec")?;
            spec.fill_defaults();
            Spec::ValidatingPolicy(spec)
        }
        Kind::MutatingAdmissionPolicy => {
            let mut spec: super::document::MutatingPolicySpec = part(&mut value, "spec")?;
            spec.fill_defaults();
            Spec::MutatingPolicy(spec)
        }
        Kind::ValidatingAdmissionPolicyBinding => {
            let mut spec: super::document::BindingSpec = part(&mut value, "spec")?;
            spec.fill_defaults();
            Spec::ValidatingBinding(spec)
        }
        Kind::MutatingAdmissionPolicyBinding => {
            let mut spec: super::document::BindingSpec = part(&mut value, "spec")?;
            spec.fill_defaults();
            Spec::MutatingBinding(spec)
        }
        Kind::UniquePolicy => {
            let mut spec: super::document::UniquePolicySpec = part(&mut value, "spec")?;
            spec.fill_defaults();
            Spec::Unique(spec)
        }
    };
    Ok(Document { tier, file: file.to_owned(), metadata, spec })
}

fn part<T: DeserializeOwned + Default>(value: &mut Value, key: &str) -> Result<T, String> {
    match value.get_mut(key) {
        None => Ok(T::default()),
        Some(part) => serde_json::from_value(part.take()).map_err(|error| error.to_string()),
    }
}

impl Text {
    fn place(&self, root: &Node, error: FieldError) -> Problem {
        let place = error.path.place_in(root);
        let place = match (error.inside, error.path.text_in(root)) {
            (Some(index), Some(value)) => locate::inside(&self.content, place, value, index),
            _ => place,
        };
        Problem {
            suggestion: error.suggestion,
            ..self.problem(place, &error.path.to_string(), error.message)
        }
    }

    fn problem(&self, place: Place, field: &str, message: String) -> Problem {
        Problem {
            file: self.file.clone(),
            place,
            field: field.to_owned(),
            message,
            excerpt: self.content.lines().nth(place.line - 1).unwrap_or_default().to_owned(),
            suggestion: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::policy::check::tests::Recorder;

    const POLICY: &str = "\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: online
spec:
  matchConstraints:
    resourceRules:
    - apiGroups: [metal3.io]
      apiVersions: ['*']
      operations: [CREATE]
      resources: [baremetalhosts]
  validations:
  - expression: |
      object.spec.online
        && bad
";

    #[test]
    fn defaults_are_filled_in() {
        let (drafts, problems) = read("a.yaml", POLICY);
        assert_eq!(problems, []);
        let Spec::ValidatingPolicy(spec) = &drafts[0].document.spec else { panic!("a policy") };
        assert_eq!(spec.failure_policy.as_deref(), Some("Fail"));
        let constraints = spec.match_constraints.as_ref().unwrap();
        assert_eq!(constraints.match_policy.as_deref(), Some("Equivalent"));
        assert_eq!(constraints.resource_rules[0].scope.as_deref(), Some("*"));
        assert!(constraints.namespace_selector.is_some() && constraints.object_selector.is_some());
    }

    #[test]
    fn a_fault_in_a_block_scalar_is_shown_where_it_is() {
        let (drafts, _) = read("a.yaml", POLICY);
        let problems = drafts[0].check(&mut Recorder::default());
        assert_eq!(problems.len(), 1);
        assert_eq!((problems[0].place.line, problems[0].place.column), (15, 12));
        assert_eq!(problems[0].excerpt, "        && bad");
        assert_eq!(problems[0].field, "spec.validations[0].expression");
    }

    #[rstest]
    #[case::list(&format!("apiVersion: v1\nkind: List\nitems:\n- {}", POLICY.replace('\n', "\n  ")))]
    #[case::typed_list(&format!("apiVersion: admissionregistration.k8s.io/v1\n\
        kind: ValidatingAdmissionPolicyList\nitems:\n- {}", POLICY.replace('\n', "\n  ")))]
    #[case::extended(&POLICY.replace("admissionregistration.k8s.io", "policies.ironward.dev"))]
    fn lists_are_unwrapped_and_tiers_known(#[case] content: &str) {
        let (drafts, problems) = read("a.yaml", content);
        assert_eq!(problems, []);
        assert_eq!(drafts.len(), 1);
    }

    #[rstest]
    #[case::kind(
        "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmisionPolicy\n",
        "did you mean \"ValidatingAdmissionPolicy\"?"
    )]
    #[case::version(
        "apiVersion: admissionregistration.k8s.io/v1beta1\nkind: MutatingAdmissionPolicy\n",
        "did you mean \"admissionregistration.k8s.io/v1\"?"
    )]
    #[case::only_ours(
        "apiVersion: admissionregistration.k8s.io/v1\nkind: UniquePolicy\n",
        "did you mean \"policies.ironward.dev/v1\"?"
    )]
    fn a_wrong_kind_is_named_with_what_was_meant(#[case] content: &str, #[case] help: &str) {
        let (drafts, problems) = read("a.yaml", content);
        assert!(drafts.is_empty());
        assert_eq!(problems[0].suggestion.as_deref(), Some(help));
    }

    #[test]
    fn problems_of_all_documents_come_at_once() {
        let content = format!(
            "{}---\nkind: Pod\napiVersion: v1\n---\n- 1\n",
            POLICY.replace("name:", "nam:")
        );
        let (_, problems) = read("a.yaml", &content);
        let fields: Vec<_> = problems.iter().map(|problem| problem.field.as_str()).collect();
        assert_eq!(fields, ["metadata.nam", "kind", ""]);
    }
}
