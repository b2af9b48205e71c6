//! Somebody who is killed at every step that he takes, once before it has an effect and once before he knows that it had one.

use crate::gate::{Gate, Held};
use anyhow::{Result, anyhow};
use axum::http::Method;
use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

/// How often it is looked whether all is over.
const LOOK: Duration = Duration::from_millis(200);

/// Who can be killed, and comes back.
pub trait Victim: Sync {
    /// As the kernel does when memory runs out.
    fn kill(&self) -> Result<()>;
    /// Comes back, and is at work soon.
    fn start_again(&self) -> Result<()>;
}

/// Kills at each step that `named` names and that it has not killed at, until `live` is over. A step is a request through the gate; those
/// without a name pass. The answer tells at which steps it was, each with its moment: `Before …` and `After …`.
pub fn haunt(
    gate: &Gate,
    victim: &impl Victim,
    named: impl Fn(&Method, &str, &[u8]) -> Option<String> + Send + Sync + 'static,
    live: impl FnOnce() -> Result<()>,
) -> Result<BTreeSet<String>> {
    let (killed, is_over) = (Arc::<Mutex<BTreeSet<String>>>::default(), AtomicBool::new(false));
    let named = Arc::new(named);
    let hold = || -> Held {
        let (killed, named) = (Arc::clone(&killed), Arc::clone(&named));
        let is_dying = AtomicBool::new(false);
        gate.hold_all(move |at, method, path, body| {
            let Some(step) = named(method, path, body) else { return false };
            let mut killed = killed.lock().unwrap_or_else(PoisonError::into_inner);
            let is_new = killed.insert(format!("{at:?} {step}"));
            // Whatever it does beside, until it is dead, is held, too.
            is_dying.fetch_or(is_new, Ordering::Relaxed) || is_new
        })
    };
    let haunting = || -> Result<()> {
        let mut request = hold();
        while !is_over.load(Ordering::Relaxed) {
            if request.wait(LOOK).is_ok() {
                victim.kill()?;
                // Before it can do anything again.
                request = hold();
                victim.start_again()?;
            }
        }
        Ok(())
    };
    thread::scope(|scope| {
        let haunting = scope.spawn(haunting);
        let lived = live();
        is_over.store(true, Ordering::Relaxed);
        haunting.join().map_err(|_| anyhow!("a panic"))??;
        lived
    })?;
    let killed = killed.lock().unwrap_or_else(PoisonError::into_inner).clone();
    Ok(killed)
}
