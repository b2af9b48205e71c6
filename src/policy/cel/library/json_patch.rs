//! `jsonpatch.escapeKey`.

use super::{Binding, Function, text};
use crate::policy::cel::value::Value;

pub(crate) fn implementation(id: &str) -> Option<(Function, Binding)> {
    let body: Function = match id {
        "string_jsonpatch_escapeKey_string" => {
            |_, args| Ok(Value::text(text(args, 0)?.replace('~', "~0").replace('/', "~1")))
        }
        _ => return None,
    };
    Some((body, Binding::Direct))
}
