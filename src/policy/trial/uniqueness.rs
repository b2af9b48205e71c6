//! Whether a request gives an object a key that a stored one has: what the claims decide in a cluster.

use serde_json::Value;

use super::review::plural;
use crate::policy::{
    json::Json,
    request::{Request, Versioned},
    set::PolicySet,
    unique::{Held, Occupied},
    verdict::{Cause, Verdict},
};
use crate::uniqueness::Holder;

pub(super) fn judge(
    set: &PolicySet,
    request: &Request<'_>,
    stored: &[Value],
    verdict: &mut Verdict,
) {
    if set.unique().is_empty() {
        return;
    }
    let mut occupied = Occupied::default();
    for object in stored {
        let text = |key: &str| object[key].as_str().unwrap_or_default();
        let (group, version) =
            text("apiVersion").split_once('/').unwrap_or(("", text("apiVersion")));
        let name = plural(group, text("kind"));
        // What cannot be evaluated is said of the object when it is its turn.
        let _ = occupied.set(set, Versioned { group, version, name: &name }, object);
    }
    let me = Holder {
        group: request.resource.group.to_owned(),
        resource: request.resource.name.to_owned(),
        namespace: request.namespace.to_owned(),
        name: request.name.to_owned(),
    };
    for policy in set.unique() {
        match policy.gained(request) {
            Err(text) if policy.fails() => verdict.denials.push(policy.denial(Cause::Error, text)),
            Err(_) => {}
            Ok(gained) => {
                for key in gained {
                    let Some(other) = occupied.others(policy, &key, &me).next() else { continue };
                    let held = Held { holder: &other.age.holder, kind: &other.kind };
                    let object = request.object.unwrap_or(Json::Value(&Value::Null));
                    let message = policy.message(object, &key, held);
                    verdict.denials.push(policy.denial(Cause::Rule, message));
                }
            }
        }
    }
}
