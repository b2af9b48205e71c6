//! Patterns: RE2's syntax as Go's `regexp` takes it, run by crate `regex`, which is linear too.
//!
//! The two differ in spelling (`\Q…\E`, octal, `{,5}`), in what `\d`, `\w`, `\s` and `\b` mean (ASCII in
//! Go) and in what is refused. So a pattern is read by Go's rules, with Go's messages, and written anew.

mod class;
mod read;

use regex::{Regex, RegexBuilder};
use std::{
    collections::VecDeque,
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

/// Enough for any sane pattern, little enough for a hostile one.
const SIZE_LIMIT: usize = 4 << 20;
/// What a pattern may remember of its states while it runs.
const STATES_LIMIT: usize = 1 << 20;

/// A pattern, ready to be matched.
#[derive(Debug)]
pub(crate) struct Pattern {
    pub regex: Regex,
    /// Go's size of it, counted repeats written out: what a match may take for each character.
    pub size: u64,
}

/// Compiles a pattern, or gives Go's message.
pub(crate) fn compile(pattern: &str) -> Result<Pattern, String> {
    let read = read::read(pattern).map_err(|text| format!("error parsing regexp: {text}"))?;
    let build = || {
        RegexBuilder::new(&read.text)
            .size_limit(SIZE_LIMIT)
            .dfa_size_limit(STATES_LIMIT)
            .nest_limit(1_000)
            .build()
            .ok()
    };
    let regex = if read.height <= SHALLOW { build() } else { on_a_large_stack(build) };
    let too_large = || format!("error parsing regexp: expression too large: `{pattern}`");
    Ok(Pattern { regex: regex.ok_or_else(too_large)?, size: read.size })
}

/// Patterns that nest no deeper are compiled where they are met.
const SHALLOW: u64 = 50;
const LARGE_STACK: usize = 32 << 20;

/// Crate `regex` recurses to compile, and a worker's stack is small.
fn on_a_large_stack<T: Send>(work: impl FnOnce() -> Option<T> + Send) -> Option<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(LARGE_STACK);
        thread.spawn_scoped(scope, work).ok()?.join().ok()?
    })
}

/// Patterns that came from an object, so that a request does not compile what the one before it compiled.
/// Few and small: an object cannot fill the memory with them.
#[derive(Default)]
struct Recent {
    /// The latest last.
    patterns: VecDeque<(Box<str>, Arc<Pattern>)>,
    size: u64,
}

const MOST_PATTERNS: usize = 64;
const MOST_STATES: u64 = 100_000;
const LONGEST_TEXT: usize = 4_096;

static RECENT: LazyLock<Mutex<Recent>> = LazyLock::new(Mutex::default);

impl Recent {
    fn find(&mut self, text: &str) -> Option<Arc<Pattern>> {
        let at = self.patterns.iter().position(|(known, _)| **known == *text)?;
        let found = self.patterns.remove(at)?;
        let pattern = found.1.clone();
        self.patterns.push_back(found);
        Some(pattern)
    }

    fn keep(&mut self, text: &str, pattern: &Arc<Pattern>) {
        self.size += pattern.size;
        self.patterns.push_back((Box::from(text), pattern.clone()));
        while self.patterns.len() > MOST_PATTERNS || self.size > MOST_STATES {
            let Some((_, oldest)) = self.patterns.pop_front() else { break };
            self.size -= oldest.size;
        }
    }
}

/// A pattern that is computed: compiled, unless it was used a moment ago.
pub(crate) fn recent(text: &str) -> Result<Arc<Pattern>, String> {
    let lock = || RECENT.lock().unwrap_or_else(PoisonError::into_inner);
    if text.len() > LONGEST_TEXT {
        return compile(text).map(Arc::new);
    }
    if let Some(known) = lock().find(text) {
        return Ok(known);
    }
    let pattern = Arc::new(compile(text)?);
    if pattern.size < MOST_STATES {
        lock().keep(text, &pattern);
    }
    Ok(pattern)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::class_is_ascii(r"^\w$", "é", false)]
    #[case::quoted(r"^\Qa.b\E$", "a.b", true)]
    #[case::octal(r"^\101$", "A", true)]
    #[case::literal_brace("^a{,2}$", "a{,2}", true)]
    #[case::bracket_in_class("^[[a]+$", "[a", true)]
    #[case::ampersands_in_class("^[a&&b]+$", "&", true)]
    #[case::angle_is_literal(r"^\<$", "<", true)]
    #[case::posix("^[[:alpha:]]+$", "aZ", true)]
    #[case::lazy("^(a+?)$", "aaa", true)]
    #[case::flag_between_atom_and_repeat("^a(?i)+$", "aa", true)]
    #[case::dash_after_class(r"^[\d-z]+$", "1-z", true)]
    #[case::names_are_loose(r"^\p{^LL}$", "A", true)]
    #[case::flags_end_with_the_group("^((?i)a)b$", "AB", false)]
    #[case::swapped_greed("(?U)^a+?$", "aaa", true)]
    fn means_what_it_means_in_go(
        #[case] pattern: &str,
        #[case] subject: &str,
        #[case] expected: bool,
    ) {
        assert_eq!(compile(pattern).unwrap().regex.is_match(subject), expected);
    }

    #[rstest]
    #[case::open("(", "missing closing ): `(`")]
    #[case::close("a)", "unexpected ): `a)`")]
    #[case::class("[a", "missing closing ]: `[a`")]
    #[case::star("*", "missing argument to repetition operator: `*`")]
    #[case::nested("a**", "invalid nested repetition operator: `**`")]
    #[case::count("a{1001}", "invalid repeat count: `{1001}`")]
    #[case::product("(a{100}){100}", "invalid repeat count: `{100}`")]
    #[case::backreference(r"(a)\1", r"invalid escape sequence: `\1`")]
    #[case::lookahead("(?=a)", "invalid or unsupported Perl syntax: `(?=`")]
    #[case::trailing("a\\", "trailing backslash at end of expression: ``")]
    #[case::unfinished_flags(r"\d(?)?(?", "invalid or unsupported Perl syntax: `(?`")]
    #[case::script_of_two_words(
        r"\p{Old_Italic}",
        r"invalid character class range: `\p{Old_Italic}`"
    )]
    #[case::range("[z-a]", "invalid character class range: `z-a`")]
    fn refuses_as_go_refuses(#[case] pattern: &str, #[case] text: &str) {
        assert_eq!(compile(pattern).unwrap_err(), format!("error parsing regexp: {text}"));
    }
}
