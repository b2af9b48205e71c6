//! How much a template may ask for. Go has almost no such limits; what a webhook renders must have them.

/// The limits of one template. Each is checked before the work is done, and passing one is an error
/// of its own kind ([`Kind::Limit`](super::Kind::Limit)), with its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the source.
    pub source: usize,
    /// Blocks, `else if`s and parentheses inside one another. Go takes 10,000 parentheses.
    pub nesting: usize,
    /// Nodes evaluated and rounds of loops; long arguments of functions count more.
    pub steps: usize,
    /// Templates, blocks and parentheses inside one another while rendering. Go takes 100,000 templates.
    pub depth: usize,
    /// Bytes of the output, and of any one text on the way to it, such as what `printf` makes.
    pub output: usize,
    /// Bytes of all texts that functions make on the way.
    pub text: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            source: 64 << 10,
            nesting: 100,
            steps: 100_000,
            depth: 200,
            // A Secret holds no more.
            output: 1 << 20,
            text: 8 << 20,
        }
    }
}
