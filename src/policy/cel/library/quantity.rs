//! Kubernetes' Quantity library.
use super::{Binding, Function};
/// A quantity.
#[derive(Debug, Clone)]
pub struct Quantity {}
impl Quantity {
    pub(crate) fn compare(&self, _: &Self) -> std::cmp::Ordering {
        std::cmp::Ordering::Equal
    }
}
impl std::fmt::Display for Quantity {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Ok(())
    }
}
pub(crate) fn implementation(_: &str) -> Option<(Function, Binding)> {
    None
}
