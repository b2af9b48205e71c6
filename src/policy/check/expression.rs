//! What the API server refuses in the parts of a policy that hold expressions.

use std::collections::BTreeSet;

use super::{Compile, CompileFault, Role};
use crate::policy::{
    document::{AuditAnnotation, MatchCondition, Mutation, Patch, Validation, Variable},
    names,
    path::FieldPath,
    problem::FieldError,
};

const MOST_MATCH_CONDITIONS: usize = 64;
const LONGEST_VALUE_EXPRESSION: usize = 5 * 1024;

pub(super) fn match_conditions(
    conditions: &[MatchCondition],
    path: &FieldPath,
    compiler: &mut dyn Compile,
) -> Vec<FieldError> {
    let path = path.child("matchConditions");
    let mut errors = Vec::new();
    if conditions.len() > MOST_MATCH_CONDITIONS {
        errors.push(FieldError::too_many(&path, conditions.len(), MOST_MATCH_CONDITIONS));
    }
    let mut seen = BTreeSet::new();
    for (index, condition) in conditions.iter().enumerate() {
        let path = path.index(index);
        let at = path.child("expression");
        if condition.expression.trim().is_empty() {
            errors.push(FieldError::required(&at, ""));
        } else {
            let source = Source::trimmed(&condition.expression);
            errors.extend(source.compile(Role::MatchCondition, &at, compiler));
        }
        let at = path.child("name");
        if condition.name.is_empty() {
            errors.push(FieldError::required(&at, ""));
            continue;
        }
        for message in names::qualified_name(&condition.name) {
            errors.push(FieldError::invalid(&at, &condition.name, &message));
        }
        if !seen.insert(&condition.name) {
            errors.push(FieldError::duplicate(&at, &condition.name));
        }
    }
    errors
}

pub(super) fn variables(
    variables: &[Variable],
    path: &FieldPath,
    compiler: &mut dyn Compile,
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (index, variable) in variables.iter().enumerate() {
        let path = path.child("variables").index(index);
        let at = path.child("name");
        if variable.name.trim().is_empty() {
            errors.push(FieldError::required(&at, "name is not specified"));
        } else if !names::is_cel_identifier(&variable.name) {
            let detail = "must be a valid CEL identifier";
            errors.push(FieldError::invalid(&at, &variable.name, detail));
        }
        let at = path.child("expression");
        if variable.expression.trim().is_empty() {
            errors.push(FieldError::required(&at, "expression is not specified"));
        } else {
            let source = Source::whole(&variable.expression);
            errors.extend(source.compile(Role::Variable(&variable.name), &at, compiler));
        }
    }
    errors
}

pub(super) fn validation(
    validation: &Validation,
    path: &FieldPath,
    compiler: &mut dyn Compile,
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let at = path.child("expression");
    if validation.expression.trim().is_empty() {
        errors.push(FieldError::required(&at, "expression is not specified"));
    } else {
        let source = Source::whole(&validation.expression);
        errors.extend(source.compile(Role::Validation, &at, compiler));
    }
    let at = path.child("messageExpression");
    if !validation.message_expression.trim().is_empty() {
        let source = Source::whole(&validation.message_expression);
        errors.extend(source.compile(Role::Message, &at, compiler));
    } else if !validation.message_expression.is_empty() {
        let detail = "must be non-empty if specified";
        errors.push(FieldError::invalid(&at, &validation.message_expression, detail));
    }
    let at = path.child("message");
    let message = validation.message.trim();
    if !validation.message.is_empty() && message.is_empty() {
        let detail = "must be non-empty if specified";
        errors.push(FieldError::invalid(&at, &validation.message, detail));
    } else if message.contains(['\n', '\r']) {
        errors.push(FieldError::invalid(&at, &validation.message, "must not contain line breaks"));
    }
    let supported = ["Forbidden", "Invalid", "RequestEntityTooLarge"];
    if let Some(reason) = validation.reason.as_deref().filter(|it| !supported.contains(it)) {
        errors.push(FieldError::not_supported(&path.child("reason"), reason, &supported));
    }
    errors
}

pub(super) fn audit_annotation(
    policy: &str,
    annotation: &AuditAnnotation,
    path: &FieldPath,
    compiler: &mut dyn Compile,
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let at = path.child("key");
    if policy.is_empty() {
        let detail = "requires metadata.name be non-empty";
        errors.push(FieldError::invalid(&at, &annotation.key, detail));
    } else {
        let whole = format!("{policy}/{}", annotation.key);
        for message in names::qualified_name(&whole) {
            errors.push(FieldError::invalid(&at, &whole, &message));
        }
    }
    let at = path.child("valueExpression");
    let trimmed = annotation.value_expression.trim();
    if trimmed.is_empty() {
        errors.push(FieldError::required(&at, "valueExpression is not specified"));
    } else if trimmed.len() > LONGEST_VALUE_EXPRESSION {
        let detail = format!("must not exceed {LONGEST_VALUE_EXPRESSION} bytes in length");
        errors.push(FieldError::required(&at, &detail));
    } else {
        let source = Source {
            shown: &annotation.value_expression,
            ..Source::trimmed(&annotation.value_expression)
        };
        errors.extend(source.compile(Role::AuditAnnotation, &at, compiler));
    }
    errors
}

pub(super) fn mutation(
    mutation: &Mutation,
    path: &FieldPath,
    compiler: &mut dyn Compile,
) -> Vec<FieldError> {
    let (configured, patched) = (path.child("applyConfiguration"), path.child("jsonPatch"));
    let mut errors = Vec::new();
    match mutation.patch_type.as_str() {
        "" => errors.push(FieldError::required(&path.child("patchType"), "")),
        "JSONPatch" => {
            match &mutation.json_patch {
                None => errors.push(FieldError::required(
                    &patched,
                    "must be specified when patchType is JSONPatch",
                )),
                Some(it) => errors.extend(expression(it, Role::JsonPatch, &patched, compiler)),
            }
            if mutation.apply_configuration.is_some() {
                let detail = "must not be specified when patchType is JSONPatch";
                errors.push(FieldError::invalid(&configured, "{applyConfiguration}", detail));
            }
        }
        "ApplyConfiguration" => {
            match &mutation.apply_configuration {
                None => errors.push(FieldError::required(
                    &configured,
                    "must be specified when patchType is ApplyConfiguration",
                )),
                Some(it) => {
                    errors.extend(expression(it, Role::ApplyConfiguration, &configured, compiler));
                }
            }
            if mutation.json_patch.is_some() {
                let detail = "must not be specified when patchType is ApplyConfiguration";
                errors.push(FieldError::invalid(&patched, "{jsonPatch}", detail));
            }
        }
        other => errors.push(FieldError::not_supported(
            &path.child("patchType"),
            other,
            &["ApplyConfiguration", "JSONPatch"],
        )),
    }
    errors
}

fn expression(
    said: &Patch,
    role: Role<'_>,
    path: &FieldPath,
    compiler: &mut dyn Compile,
) -> Option<FieldError> {
    let at = path.child("expression");
    if said.expression.trim().is_empty() {
        return Some(FieldError::required(&at, ""));
    }
    Source::trimmed(&said.expression).compile(role, &at, compiler)
}

/// An expression as it is compiled, as it is shown, and how far into the field it begins.
pub(super) struct Source<'a> {
    compiled: &'a str,
    shown: &'a str,
    offset: usize,
}

impl<'a> Source<'a> {
    pub(super) fn whole(text: &'a str) -> Self {
        Self { compiled: text, shown: text, offset: 0 }
    }

    fn trimmed(text: &'a str) -> Self {
        let trimmed = text.trim();
        let offset = text.chars().take_while(|character| character.is_whitespace()).count();
        Self { compiled: trimmed, shown: trimmed, offset }
    }

    pub(super) fn compile(
        &self,
        role: Role<'_>,
        path: &FieldPath,
        compiler: &mut dyn Compile,
    ) -> Option<FieldError> {
        let CompileFault { detail, at, suggestion } =
            compiler.compile(role, self.compiled).err()?;
        Some(FieldError {
            inside: at.map(|at| at + self.offset),
            suggestion,
            ..FieldError::invalid(path, self.shown, &detail)
        })
    }
}
