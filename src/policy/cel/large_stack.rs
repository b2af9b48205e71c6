//! A thread with a large stack: the parser, the checker and what walks their trees go as deep as an
//! expression does, and no expression may exhaust its caller's stack.

use std::{
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind},
};

/// Enough for the deepest expression that is let in, in a debug build.
const SIZE: usize = 32 * 1024 * 1024;

thread_local! {
    /// Whether this thread is one.
    static IS_LARGE: Cell<bool> = const { Cell::new(false) };
}

/// Runs work on a large stack, once: what is started from there stays there, so that a whole set of policies
/// takes one thread. The error says why it did not end.
pub(crate) fn on_large_stack<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, String> {
    let panicked = || "internal error: the compiler panicked".to_owned();
    if IS_LARGE.get() {
        return catch_unwind(AssertUnwindSafe(work)).map_err(|_| panicked());
    }
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .name("cel-compile".to_owned())
            .stack_size(SIZE)
            .spawn_scoped(scope, || {
                IS_LARGE.set(true);
                work()
            })
            .map_err(|error| format!("could not start a thread: {error}"))?;
        thread.join().map_err(|_| panicked())
    })
}
