//! Kubernetes' URL library.
use super::{Binding, Function};
/// A URL.
#[derive(Debug, Clone)]
pub struct Url {}
impl std::fmt::Display for Url {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Ok(())
    }
}
pub(crate) fn implementation(_: &str) -> Option<(Function, Binding)> {
    None
}
