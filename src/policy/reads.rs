//! What the policies of a set can read of an object's large parts: each field of `status`, such as a host's
//! hardware, and `metadata.managedFields`. What none of them can read need not be taken in at all, and that is
//! half of what an answer to the API server costs.
//!
//! Told from the tokens of the expressions, on the safe side: whatever is not plainly `object.status.field`
//! reads everything. Mutations cannot write there: the API server takes neither from them.

use std::collections::BTreeSet;

use super::{
    cel::{Tok, Token, tokens},
    document::{Document, MatchCondition, Spec, Variable},
};

/// What is read of objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reads {
    /// Whether `metadata.managedFields` is.
    managed_fields: bool,
    /// The fields of `status`; none is all of them.
    status: Option<BTreeSet<String>>,
}

impl Default for Reads {
    fn default() -> Self {
        Self::everything()
    }
}

impl Reads {
    /// All of an object.
    #[must_use]
    pub const fn everything() -> Self {
        Self { managed_fields: true, status: None }
    }

    /// Whether a field of `metadata` is read.
    #[must_use]
    pub fn metadata(&self, field: &str) -> bool {
        self.managed_fields || field != "managedFields"
    }

    /// Whether a field of `status` is read.
    #[must_use]
    pub fn status(&self, field: &str) -> bool {
        self.status.as_ref().is_none_or(|fields| fields.contains(field))
    }

    pub(crate) fn of(documents: &[Document]) -> Self {
        let mut reads = Self { managed_fields: false, status: Some(BTreeSet::new()) };
        for document in documents {
            for expression in expressions(document) {
                let (tokens, errors) = tokens(expression);
                if !errors.is_empty() {
                    return Self::everything();
                }
                reads.add(&tokens, matches!(document.spec, Spec::MutatingPolicy(_)));
            }
        }
        reads
    }

    fn add(&mut self, tokens: &[Token], is_mutation: bool) {
        for (index, token) in tokens.iter().enumerate() {
            if is_mutation {
                // `Object{status: …}` and paths name it otherwise than by what they read.
                self.managed_fields |= token.text.contains("managedFields");
                if token.text.contains("status") && token.kind != Tok::Ident {
                    self.status = None;
                }
            }
            let is_object =
                token.kind == Tok::Ident && ["object", "oldObject"].contains(&token.text.as_str());
            if !is_object || is_selected(tokens, index) || is_asked_for(tokens, index) {
                continue;
            }
            match selected(tokens, index) {
                Some(("status", at)) => match (selected(tokens, at), &mut self.status) {
                    (Some((field, _)), Some(fields)) => {
                        fields.insert(field.to_owned());
                    }
                    _ => self.status = None,
                },
                Some(("metadata", at)) => {
                    self.managed_fields |=
                        selected(tokens, at).is_none_or(|(field, _)| field == "managedFields");
                }
                Some(_) => {}
                None => *self = Self::everything(),
            }
        }
    }
}

/// Whether it is a field of something.
pub(super) fn is_selected(tokens: &[Token], index: usize) -> bool {
    let before =
        |back: usize| index.checked_sub(back).and_then(|at| tokens.get(at)).map(|it| it.kind);
    before(1) == Some(Tok::Dot) || (before(1) == Some(Tok::Question) && before(2) == Some(Tok::Dot))
}

/// Whether only its presence is asked for, as in `oldObject == null`.
fn is_asked_for(tokens: &[Token], index: usize) -> bool {
    let kind = |at: usize| tokens.get(at).map(|token| token.kind);
    matches!(kind(index + 1), Some(Tok::Equals | Tok::NotEquals))
        && kind(index + 2) == Some(Tok::Null)
}

/// The field that is selected from what stands there, by `.field` or `.?field`, and where its name is.
pub(super) fn selected(tokens: &[Token], index: usize) -> Option<(&str, usize)> {
    let kind = |at: usize| tokens.get(at).map(|token| token.kind);
    if kind(index + 1) != Some(Tok::Dot) {
        return None;
    }
    let at = if kind(index + 2) == Some(Tok::Question) { index + 3 } else { index + 2 };
    let name = tokens.get(at).filter(|token| token.kind == Tok::Ident)?;
    Some((name.text.as_str(), at))
}

fn expressions(document: &Document) -> Vec<&str> {
    match &document.spec {
        Spec::ValidatingPolicy(spec) => {
            let mut found = conditions(&spec.match_conditions);
            found.extend(variables(&spec.variables));
            for validation in &spec.validations {
                found.extend([&*validation.expression, &*validation.message_expression]);
            }
            found.extend(spec.audit_annotations.iter().map(|it| it.value_expression.as_str()));
            found
        }
        Spec::MutatingPolicy(spec) => {
            let mut found = conditions(&spec.match_conditions);
            found.extend(variables(&spec.variables));
            for mutation in &spec.mutations {
                let patches = [&mutation.apply_configuration, &mutation.json_patch];
                found.extend(patches.into_iter().flatten().map(|it| it.expression.as_str()));
            }
            found
        }
        // `reported` is asked of objects that are stored, never of one that is being written.
        Spec::Unique(spec) => {
            let mut found = conditions(&spec.match_conditions);
            found.extend(variables(&spec.variables));
            found.extend([&*spec.key, &*spec.message_expression]);
            found
        }
        Spec::ValidatingBinding(_) | Spec::MutatingBinding(_) => Vec::new(),
    }
}

fn conditions(all: &[MatchCondition]) -> Vec<&str> {
    all.iter().map(|it| it.expression.as_str()).collect()
}

fn variables(all: &[Variable]) -> Vec<&str> {
    all.iter().map(|it| it.expression.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn reads(expression: &str, is_mutation: bool) -> Reads {
        let mut reads = Reads { managed_fields: false, status: Some(BTreeSet::new()) };
        reads.add(&tokens(expression).0, is_mutation);
        reads
    }

    #[rstest]
    #[case::nothing("object.spec.online", false, &[])]
    #[case::one("object.status.provisioning.state == 'a'", false, &["provisioning"])]
    #[case::optional("oldObject.?status.?provisioning.hasValue()", false, &["provisioning"])]
    #[case::presence("has(object.status.hardware)", false, &["hardware"])]
    #[case::a_field_of_that_name("object.spec.object", false, &[])]
    #[case::labels("object.metadata.labels['a'] == 'b'", false, &[])]
    #[case::presence_of_all("oldObject == null || oldObject != null", false, &[])]
    #[case::managed("size(object.metadata.managedFields) > 0", true, &[])]
    fn fields_that_are_named_are_read(
        #[case] expression: &str,
        #[case] managed: bool,
        #[case] status: &[&str],
    ) {
        let status = status.iter().map(|it| (*it).to_owned()).collect();
        let expected = Reads { managed_fields: managed, status: Some(status) };
        assert_eq!(reads(expression, false), expected);
    }

    #[rstest]
    #[case::whole("object == oldObject")]
    #[case::null_first("null == object")]
    #[case::by_index("object['status']")]
    #[case::as_argument("dyn(object).status")]
    #[case::in_a_list("[object, oldObject].all(o, o.spec.online)")]
    fn what_is_not_plain_reads_everything(#[case] expression: &str) {
        assert_eq!(reads(expression, false), Reads::everything());
    }

    #[test]
    fn a_part_as_a_whole_is_read_as_a_whole() {
        assert!(reads("object.status == oldObject.status", false).status("hardware"));
        assert!(!reads("object.status == oldObject.status", false).metadata("managedFields"));
        assert!(reads("object.metadata == oldObject.metadata", false).metadata("managedFields"));
    }

    #[test]
    fn what_a_mutation_names_is_read() {
        let patch = "[JSONPatch{op: 'test', path: '/status/hardware', value: 1}]";
        assert!(reads(patch, true).status("hardware"));
        assert!(!reads(patch, true).metadata("managedFields"));
    }
}
