//! `'…'.format([…])`.
use crate::policy::cel::{error::Error, eval::Machine, value::Value};
pub(crate) fn format<'a>(_: &mut Machine<'_, 'a>, _: &[Value<'a>]) -> Result<Value<'a>, Error> {
    Err(crate::policy::cel::error::no_overload())
}
