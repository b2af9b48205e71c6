//! Tests that want the machine for themselves.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// One test at a time: each has a control plane of its own, and some of them keep the machine busy.
pub fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}
