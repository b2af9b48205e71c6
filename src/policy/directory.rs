//! A directory of policy files, as Kubernetes reads its static manifests: flat, sorted, the whole
//! set or nothing. A document of the user's replaces the embedded one of the same kind and name.
//! Files named `*.test.yaml` hold the policies' own tests and are left out.

use std::collections::{BTreeMap, HashSet};

use super::{
    document::{Kind, Spec},
    file::{self, Draft},
    path::FieldPath,
    problem::{FieldError, Problem, quoted},
};

/// A file: its name and what is in it.
#[derive(Debug, Clone, Copy)]
pub struct File<'a> {
    /// Its name, without a directory for the rules of sorting to hold.
    pub name: &'a str,
    /// Its text.
    pub content: &'a str,
}

/// What a set of policies is made from.
#[derive(Debug, Clone, Copy, Default)]
pub struct Directory<'a> {
    /// The files in the binary.
    pub embedded: &'a [File<'a>],
    /// The files of the user.
    pub user: &'a [File<'a>],
}

impl Directory<'_> {
    /// All documents that count, by kind and name, and what is wrong with the files themselves.
    pub(crate) fn read(&self) -> (Vec<Draft>, Vec<Problem>) {
        let mut problems = Vec::new();
        let mut documents = collect(self.embedded, &mut problems);
        // One name, one document: the user's.
        documents.extend(collect(self.user, &mut problems));
        let drafts: Vec<_> = documents.into_values().collect();
        problems.extend(dangling(&drafts));
        (drafts, problems)
    }
}

/// Whether Kubernetes would read a file of this name.
#[must_use]
pub fn is_policy_file(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let mut parts = name.rsplit('.');
    let (extension, before, rest) = (parts.next(), parts.next(), parts.next());
    let is_test = before == Some("test") && rest.is_some();
    before.is_some() && matches!(extension, Some("yaml" | "yml" | "json")) && !is_test
}

type Key = (Kind, String);

fn collect(files: &[File<'_>], problems: &mut Vec<Problem>) -> BTreeMap<Key, Draft> {
    let mut sorted: Vec<_> = files.iter().filter(|file| is_policy_file(file.name)).collect();
    sorted.sort_by_key(|file| file.name);
    let mut documents: BTreeMap<Key, Draft> = BTreeMap::new();
    for file in sorted {
        let (drafts, found) = file::read(file.name, file.content);
        problems.extend(found);
        for draft in drafts {
            let name = draft.document.metadata.name.clone();
            let key = (draft.document.kind(), name.clone());
            match documents.get(&key) {
                // A missing name is found by the check of the metadata, for each of them.
                Some(earlier) if !name.is_empty() => {
                    let message = format!(
                        "duplicate name {} found in file {} (previously seen in {})",
                        quoted(&name),
                        quoted(file.name),
                        quoted(&earlier.document.file)
                    );
                    let path = FieldPath::new("metadata").child("name");
                    problems.push(draft.problem(FieldError::plain(&path, message)));
                }
                _ => {
                    documents.insert(key, draft);
                }
            }
        }
    }
    documents
}

/// Bindings of policies that do not exist.
fn dangling(drafts: &[Draft]) -> Vec<Problem> {
    let policies: HashSet<_> = drafts
        .iter()
        .map(|draft| (draft.document.kind(), draft.document.metadata.name.as_str()))
        .collect();
    drafts
        .iter()
        .filter_map(|draft| {
            let (kind, spec) = match &draft.document.spec {
                Spec::ValidatingBinding(spec) => (Kind::ValidatingAdmissionPolicy, spec),
                Spec::MutatingBinding(spec) => (Kind::MutatingAdmissionPolicy, spec),
                Spec::ValidatingPolicy(_) | Spec::MutatingPolicy(_) | Spec::Unique(_) => {
                    return None;
                }
            };
            let name = spec.policy_name.as_str();
            if name.is_empty() || policies.contains(&(kind, name)) {
                return None;
            }
            let message = format!(
                "binding {} references policy {} which does not exist in the manifest directory",
                quoted(&draft.document.metadata.name),
                quoted(name)
            );
            let meant = super::suggest::closest(
                name,
                policies.iter().filter(|(of, _)| *of == kind).map(|(_, name)| *name),
            );
            Some(draft.problem(FieldError {
                suggestion: meant.map(|meant| format!("did you mean {meant:?}?")),
                ..FieldError::plain(&FieldPath::new("spec").child("policyName"), message)
            }))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn policy(name: &str) -> String {
        format!(
            "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\n\
             metadata: {{name: {name}}}\n---\n"
        )
    }

    fn binding(name: &str, policy: &str) -> String {
        format!(
            "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\n\
             metadata: {{name: {name}}}\nspec: {{policyName: {policy}}}\n---\n"
        )
    }

    fn names(drafts: &[Draft]) -> Vec<(&str, &str)> {
        drafts
            .iter()
            .map(|draft| (draft.document.metadata.name.as_str(), draft.document.file.as_str()))
            .collect()
    }

    #[rstest]
    #[case::yaml("a.yaml", true)]
    #[case::upper("A.YML", true)]
    #[case::json("a.json", true)]
    #[case::text("a.txt", false)]
    #[case::tests("a.test.yaml", false)]
    #[case::none("yaml", false)]
    fn policy_files_are_known_by_their_names(#[case] name: &str, #[case] want: bool) {
        assert_eq!(is_policy_file(name), want);
    }

    #[test]
    fn documents_are_sorted_by_name_whatever_the_file() {
        let (b, a) = (policy("b"), policy("a"));
        let files = [File { name: "1.yaml", content: &b }, File { name: "2.yaml", content: &a }];
        let (drafts, problems) = Directory { user: &files, ..Directory::default() }.read();
        assert_eq!(problems, []);
        assert_eq!(names(&drafts), [("a", "2.yaml"), ("b", "1.yaml")]);
    }

    #[test]
    fn the_users_document_replaces_the_embedded_one() {
        let (both, own) = (policy("a") + &policy("b"), policy("a"));
        let embedded = [File { name: "shipped.yaml", content: &both }];
        let user = [File { name: "mine.yaml", content: &own }];
        let (drafts, problems) = Directory { embedded: &embedded, user: &user }.read();
        assert_eq!(problems, []);
        assert_eq!(names(&drafts), [("a", "mine.yaml"), ("b", "shipped.yaml")]);
    }

    #[test]
    fn a_name_twice_is_a_problem_that_names_both_files() {
        let (one, two) = (policy("a"), policy("a"));
        let files =
            [File { name: "1.yaml", content: &one }, File { name: "2.yaml", content: &two }];
        let (_, problems) = Directory { user: &files, ..Directory::default() }.read();
        assert_eq!(
            problems[0].message,
            "duplicate name \"a\" found in file \"2.yaml\" (previously seen in \"1.yaml\")"
        );
    }

    #[test]
    fn a_binding_without_its_policy_is_a_problem() {
        let content = policy("online") + &binding("b", "onlin");
        let files = [File { name: "1.yaml", content: &content }];
        let (_, problems) = Directory { user: &files, ..Directory::default() }.read();
        assert_eq!(
            problems[0].message,
            "binding \"b\" references policy \"onlin\" which does not exist in the manifest \
             directory"
        );
        assert_eq!(problems[0].suggestion.as_deref(), Some("did you mean \"online\"?"));
    }

    #[test]
    fn an_embedded_policy_can_have_a_binding_of_the_users() {
        let (shipped, own) = (policy("a"), binding("b", "a"));
        let embedded = [File { name: "shipped.yaml", content: &shipped }];
        let user = [File { name: "mine.yaml", content: &own }];
        let (drafts, problems) = Directory { embedded: &embedded, user: &user }.read();
        assert_eq!(problems, []);
        assert_eq!(drafts.len(), 2);
    }
}
