//! Kubernetes' Format library.
use super::{Binding, Function};
/// A named format.
#[derive(Debug)]
pub struct NamedFormat {
    /// name
    pub name: &'static str,
    /// size
    pub regex_size: u64,
}
pub(crate) fn is_subdomain(_: &str) -> bool {
    true
}
pub(crate) fn is_label(_: &str) -> bool {
    true
}
pub(crate) fn implementation(_: &str) -> Option<(Function, Binding)> {
    None
}
