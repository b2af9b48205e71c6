//! What the API server refuses at create, refused at load: its validation of the four kinds, in
//! its order and with its texts, every finding at once.

mod binding;
mod expression;
mod matching;
mod metadata;
mod policy;
mod unique;

pub(crate) use binding::{mutating_binding, validating_binding};
pub(crate) use metadata::metadata;
pub(crate) use policy::{mutating_policy, validating_policy};
pub(crate) use unique::unique_policy;

/// What an expression is for: that decides which names it may use and what type it must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role<'a> {
    MatchCondition,
    Variable(&'a str),
    Validation,
    Message,
    AuditAnnotation,
    ApplyConfiguration,
    JsonPatch,
    /// Of a UniquePolicy: also `reported`.
    Key,
    /// Of a UniquePolicy: knows the key and its holder.
    HeldMessage,
}

/// Why an expression does not compile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CompileFault {
    /// The API server's text, `compilation failed: …` included.
    pub detail: String,
    /// Which character of the source is at fault.
    pub at: Option<usize>,
    pub suggestion: Option<String>,
}

/// Compiles the expressions of one policy, in the order in which it is asked to.
pub(crate) trait Compile {
    fn compile(&mut self, role: Role<'_>, source: &str) -> Result<(), CompileFault>;
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Takes everything but the word `bad`, and remembers what it was asked.
    #[derive(Default)]
    pub(crate) struct Recorder(pub Vec<String>);

    impl Compile for Recorder {
        fn compile(&mut self, role: Role<'_>, source: &str) -> Result<(), CompileFault> {
            self.0.push(format!("{role:?}: {source}"));
            match source.find("bad") {
                None => Ok(()),
                Some(at) => Err(CompileFault {
                    detail: "compilation failed: bad".to_owned(),
                    at: Some(source[..at].chars().count()),
                    suggestion: None,
                }),
            }
        }
    }
}
