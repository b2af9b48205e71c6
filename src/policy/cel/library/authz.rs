//! Kubernetes' authorization library.

use super::{Binding, Function, Opaque, text};
use crate::policy::cel::{
    authorizer::{Answer, Question, ResourceAttributes, Subject},
    error::{Error, Failure, fail, no_overload},
    eval::{Machine, opaque},
    gofmt::quote,
    value::Value,
};
use std::sync::Arc;

/// `authorizer`, for some subject.
#[derive(Debug, Clone)]
pub struct Authorizer {
    subject: Subject,
}

impl Authorizer {
    /// Whether it is the variable, of which there is one.
    pub(crate) fn is_bound(&self) -> bool {
        matches!(self.subject, Subject::Requester)
    }
}

/// A check on a path.
#[derive(Debug, Clone)]
pub struct PathCheck {
    subject: Subject,
    path: String,
}

/// The start of a check on a resource.
#[derive(Debug, Clone)]
pub struct GroupCheck {
    subject: Subject,
    group: String,
}

/// A check on a resource.
#[derive(Debug, Clone)]
pub struct ResourceCheck {
    subject: Subject,
    resource: ResourceAttributes,
}

impl PathCheck {
    pub(crate) fn describe(&self) -> String {
        format!("path={}", quote(&self.path))
    }
}

impl GroupCheck {
    pub(crate) fn describe(&self) -> String {
        format!("group={}", quote(&self.group))
    }
}

impl ResourceCheck {
    pub(crate) fn describe(&self) -> String {
        let r = &self.resource;
        [
            ("group", &r.group),
            ("resource", &r.resource),
            ("subresource", &r.subresource),
            ("namespace", &r.namespace),
            ("name", &r.name),
            ("fieldSelector", &r.field_selector),
            ("labelSelector", &r.label_selector),
        ]
        .map(|(key, value)| format!("{key}={}", quote(value)))
        .join(" ")
    }
}

/// The value of the variable `authorizer`.
pub(crate) fn authorizer<'a>() -> Value<'a> {
    wrap(Opaque::Authorizer(Authorizer { subject: Subject::Requester }))
}

/// The value of the variable `authorizer.requestResource`.
pub(crate) fn request_resource<'a>(resource: &ResourceAttributes) -> Value<'a> {
    let (subject, resource) = (Subject::Requester, resource.clone());
    wrap(Opaque::ResourceCheck(ResourceCheck { subject, resource }))
}

fn wrap<'a>(opaque: Opaque) -> Value<'a> {
    Value::Opaque(Arc::new(opaque))
}

pub(crate) fn implementation(id: &str) -> Option<(Function, Binding)> {
    let body: Function = match id {
        "authorizer_path" => path,
        "authorizer_group" => group,
        "authorizer_serviceaccount" => return Some((service_account, Binding::Variadic)),
        "groupcheck_resource" => resource,
        "resourcecheck_subresource" => |_, args| with(args, |r, v| r.subresource = v),
        "resourcecheck_namespace" => |_, args| with(args, |r, v| r.namespace = v),
        "resourcecheck_name" => |_, args| with(args, |r, v| r.name = v),
        "authorizer_fieldselector" => |_, args| with(args, |r, v| r.field_selector = v),
        "authorizer_labelselector" => |_, args| with(args, |r, v| r.label_selector = v),
        "pathcheck_check" => check_path,
        "resourcecheck_check" => check_resource,
        "decision_allowed" => |_, args| decision(args, |d| Value::Bool(d.allowed)),
        "decision_errored" => |_, args| decision(args, |d| Value::Bool(d.error.is_some())),
        "decision_error" => {
            |_, args| decision(args, |d| Value::text(d.error.clone().unwrap_or_default()))
        }
        "decision_reason" => |_, args| decision(args, |d| Value::text(d.reason.clone())),
        _ => return None,
    };
    Some((body, Binding::Direct))
}

fn path<'a>(_: &mut Machine<'_, 'a>, args: &[Value<'a>]) -> Result<Value<'a>, Error> {
    let Some(Opaque::Authorizer(authorizer)) = args.first().and_then(opaque) else {
        return Err(no_overload());
    };
    let path = text(args, 1)?;
    if path.trim().is_empty() {
        return Err(fail("path must not be empty"));
    }
    let (subject, path) = (authorizer.subject.clone(), path.to_owned());
    Ok(wrap(Opaque::PathCheck(PathCheck { subject, path })))
}

fn group<'a>(_: &mut Machine<'_, 'a>, args: &[Value<'a>]) -> Result<Value<'a>, Error> {
    let Some(Opaque::Authorizer(authorizer)) = args.first().and_then(opaque) else {
        return Err(no_overload());
    };
    let (subject, group) = (authorizer.subject.clone(), text(args, 1)?.to_owned());
    Ok(wrap(Opaque::GroupCheck(GroupCheck { subject, group })))
}

fn service_account<'a>(_: &mut Machine<'_, 'a>, args: &[Value<'a>]) -> Result<Value<'a>, Error> {
    let Some(Opaque::Authorizer(_)) = args.first().and_then(opaque) else {
        return Err(no_overload());
    };
    let (namespace, name) = (text(args, 1)?, text(args, 2)?);
    if !super::named_format::is_subdomain(name) {
        return Err(fail("Invalid service account name"));
    }
    if !super::named_format::is_label(namespace) {
        return Err(fail("Invalid service account namespace"));
    }
    let subject =
        Subject::ServiceAccount { namespace: namespace.to_owned(), name: name.to_owned() };
    Ok(wrap(Opaque::Authorizer(Authorizer { subject })))
}

fn resource<'a>(_: &mut Machine<'_, 'a>, args: &[Value<'a>]) -> Result<Value<'a>, Error> {
    let Some(Opaque::GroupCheck(check)) = args.first().and_then(opaque) else {
        return Err(no_overload());
    };
    let resource = text(args, 1)?;
    if resource.trim().is_empty() {
        return Err(fail("resource must not be empty"));
    }
    let resource = ResourceAttributes {
        group: check.group.clone(),
        resource: resource.to_owned(),
        ..ResourceAttributes::default()
    };
    Ok(wrap(Opaque::ResourceCheck(ResourceCheck { subject: check.subject.clone(), resource })))
}

fn with<'a>(
    args: &[Value<'a>],
    set: fn(&mut ResourceAttributes, String),
) -> Result<Value<'a>, Error> {
    let Some(Opaque::ResourceCheck(check)) = args.first().and_then(opaque) else {
        return Err(no_overload());
    };
    let mut check = check.clone();
    set(&mut check.resource, text(args, 1)?.to_owned());
    Ok(wrap(Opaque::ResourceCheck(check)))
}

fn check_path<'a>(machine: &mut Machine<'_, 'a>, args: &[Value<'a>]) -> Result<Value<'a>, Error> {
    let Some(Opaque::PathCheck(check)) = args.first().and_then(opaque) else {
        return Err(no_overload());
    };
    let question = Question::Path {
        subject: check.subject.clone(),
        path: check.path.clone(),
        verb: text(args, 1)?.to_owned(),
    };
    ask(machine, question)
}

fn check_resource<'a>(
    machine: &mut Machine<'_, 'a>,
    args: &[Value<'a>],
) -> Result<Value<'a>, Error> {
    let Some(Opaque::ResourceCheck(check)) = args.first().and_then(opaque) else {
        return Err(no_overload());
    };
    let question = Question::Resource {
        subject: check.subject.clone(),
        resource: check.resource.clone(),
        verb: text(args, 1)?.to_owned(),
    };
    ask(machine, question)
}

fn ask<'a>(machine: &mut Machine<'_, 'a>, question: Question) -> Result<Value<'a>, Error> {
    let answer = machine.bindings.authorizer.map(|authorizer| authorizer.decide(&question));
    match answer {
        Some(Answer::Known(decision)) => Ok(wrap(Opaque::Decision(decision))),
        _ => Err(Error::new(Failure::Unknown(Box::new(question)))),
    }
}

fn decision<'a>(
    args: &[Value<'a>],
    part: fn(&crate::policy::cel::authorizer::Decision) -> Value<'a>,
) -> Result<Value<'a>, Error> {
    match args.first().and_then(opaque) {
        Some(Opaque::Decision(decision)) => Ok(part(decision)),
        _ => Err(no_overload()),
    }
}
