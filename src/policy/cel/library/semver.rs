//! Kubernetes' Semver library.
use super::{Binding, Function};
/// A version.
#[derive(Debug, Clone)]
pub struct Semver {}
impl Semver {
    pub(crate) fn compare(&self, _: &Self) -> std::cmp::Ordering {
        std::cmp::Ordering::Equal
    }
}
impl std::fmt::Display for Semver {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Ok(())
    }
}
pub(crate) fn implementation(_: &str) -> Option<(Function, Binding)> {
    None
}
