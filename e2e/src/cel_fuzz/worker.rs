//! This engine behind the oracle's protocol.

use super::answer::{Fixtures, answer};
use anyhow::{Result, anyhow};
use serde_json::{Value as Json, json};
use std::{
    io::{BufRead, Write},
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    thread,
};

/// The stack of a Tokio worker, on which requests are evaluated.
const STACK: usize = 2 << 20;

/// Answers questions on standard input, one a line, until it ends.
pub fn serve(bindings: &Path) -> Result<()> {
    let fixtures = Fixtures::read(bindings)?;
    let worker = thread::Builder::new().stack_size(STACK).spawn(move || answer_all(&fixtures))?;
    worker.join().map_err(|_| anyhow!("the worker panicked outside a question"))?
}

fn answer_all(fixtures: &Fixtures) -> Result<()> {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let question: Json = serde_json::from_str(&line?)?;
        let found = catch_unwind(AssertUnwindSafe(|| answer(&question, fixtures)));
        let found = found.unwrap_or_else(|cause| {
            let text = cause.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| cause.downcast_ref::<&str>().copied()).unwrap_or("a panic");
            json!({"panic": text})
        });
        writeln!(out, "{found}")?;
        out.flush()?;
    }
    Ok(())
}
