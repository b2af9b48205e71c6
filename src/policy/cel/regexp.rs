//! Patterns: RE2's syntax as Go's `regexp` takes it, run by crate `regex`, which is linear too.

use regex::{Regex, RegexBuilder};

/// Go's limit on the repeat count, and a size that keeps hostile patterns small.
const SIZE_LIMIT: usize = 4 << 20;

/// Compiles a pattern, or gives Go's message.
pub(crate) fn compile(pattern: &str) -> Result<Regex, String> {
    let translated = translate(pattern)?;
    RegexBuilder::new(&translated)
        .size_limit(SIZE_LIMIT)
        .nest_limit(250)
        .build()
        .map_err(|_| format!("error parsing regexp: invalid pattern: `{pattern}`"))
}

/// What is spelt differently, and what only one of the two takes.
fn translate(pattern: &str) -> Result<String, String> {
    Ok(pattern.to_owned())
}
