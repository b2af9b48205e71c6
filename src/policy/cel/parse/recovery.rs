//! Going on after a mistake, as ANTLR's default strategy does: what is reported next depends on it.

use super::sets::{Follow, NOTHING, Set, set};
use crate::policy::cel::{
    lex::{Tok, Token},
    source::Raised,
};

/// cel-go's limits on recovery, on syntax errors and on recursion.
const ATTEMPTS: usize = 30;
const LOOKAHEAD: usize = 256;
const MOST_ERRORS: usize = 100;
pub(super) const DEPTH: usize = 250;

/// The rule cannot go on.
pub(super) struct Stop(Problem);

/// What the rule cannot go on for; said when the rule is left.
enum Problem {
    Mismatch(Set),
    /// From this token to that.
    NoWay(usize, usize),
    /// Said already.
    Said,
}

/// How deep the rules are in each other.
#[derive(Default)]
pub(super) struct Depths {
    pub expr: usize,
    pub relation: usize,
    pub calc: usize,
}

/// The tokens, how far they are read, and what went wrong.
pub(super) struct Reader {
    tokens: Vec<Token>,
    pos: usize,
    pub errors: Vec<Raised>,
    /// What is no token, with the token before which it stands: ANTLR meets it when it fetches that one.
    not_tokens: std::collections::VecDeque<(usize, Raised)>,
    pub depth: Depths,
    /// What follows each rule that is being read.
    frames: Vec<Follow>,
    /// Nothing is reported until a token fits again.
    recovering: bool,
    /// The place in the grammar.
    state: u16,
    /// Where the last recovery was, and the places in the grammar of all since a token fitted.
    last_error: Option<usize>,
    error_states: Vec<u16>,
    attempts: usize,
    /// Nothing more is read.
    pub aborted: bool,
}

impl Reader {
    pub(super) fn new(tokens: Vec<Token>, not_tokens: Vec<(usize, Raised)>) -> Self {
        Self {
            tokens,
            pos: 0,
            errors: Vec::new(),
            not_tokens: not_tokens.into(),
            depth: Depths::default(),
            frames: Vec::new(),
            recovering: false,
            state: 0,
            last_error: None,
            error_states: Vec::new(),
            attempts: 0,
            aborted: false,
        }
    }

    fn syntax_error(&mut self, raised: Raised) {
        if self.aborted {
            return;
        }
        if self.errors.len() == MOST_ERRORS {
            let text = format!("Syntax error: More than {MOST_ERRORS} syntax errors");
            self.errors.push(Raised { message: text, ..raised });
            self.aborted = true;
            return;
        }
        self.errors.push(raised);
    }

    fn fetch(&mut self, index: usize) {
        while self.not_tokens.front().is_some_and(|(before, _)| *before <= index) {
            if let Some((_, raised)) = self.not_tokens.pop_front() {
                self.syntax_error(raised);
            }
        }
    }

    pub(super) fn kind(&mut self) -> Tok {
        self.ahead(0)
    }

    pub(super) fn ahead(&mut self, n: usize) -> Tok {
        let last = self.tokens.len() - 1;
        self.fetch((self.pos + n).min(last));
        if self.aborted {
            return Tok::End;
        }
        self.tokens[(self.pos + n).min(last)].kind
    }

    pub(super) fn token(&self) -> Token {
        let last = self.tokens.len() - 1;
        self.tokens[if self.aborted { last } else { self.pos.min(last) }].clone()
    }

    fn bump(&mut self) -> Token {
        let token = self.token();
        if self.pos + 1 < self.tokens.len() {
            self.pos += 1;
            self.fetch(self.pos);
        }
        token
    }

    /// A token that fits ends the silence.
    pub(super) fn fits(&mut self) -> Token {
        self.matched();
        self.bump()
    }

    fn matched(&mut self) {
        self.recovering = false;
        self.last_error = None;
        self.error_states.clear();
    }

    pub(super) fn eat(&mut self, kind: Tok) -> Option<Token> {
        (self.kind() == kind).then(|| self.fits())
    }

    fn report(&mut self, at: usize, message: &str) {
        if !self.recovering {
            self.recovering = true;
            self.syntax_error(Raised::at(at, format!("Syntax error: {message}")));
        }
    }

    fn attempt(&mut self) -> Result<(), Stop> {
        if self.aborted {
            return Err(Stop(Problem::Said));
        }
        if self.attempts == ATTEMPTS {
            let text = format!("Syntax error: error recovery attempt limit exceeded: {ATTEMPTS}");
            self.syntax_error(Raised::at(self.token().at, text));
            self.aborted = true;
            return Err(Stop(Problem::Said));
        }
        self.attempts += 1;
        Ok(())
    }

    /// All that may follow here, through the ends of rules.
    fn after_rule(&self) -> Set {
        let mut all = NOTHING;
        for Follow(next, ends) in self.frames.iter().rev() {
            all = all.and(*next);
            if !ends {
                break;
            }
        }
        all
    }

    /// What may come after any of the rules that are being read.
    fn recovery_set(&self) -> Set {
        self.frames.iter().fold(NOTHING, |all, frame| all.and(frame.0))
    }

    /// A token that must come; `next` and the rule's own end may come after it.
    pub(super) fn expect(&mut self, state: u16, kind: Tok, next: Follow) -> Result<Token, Stop> {
        self.state = state;
        if self.kind() == kind && !self.aborted {
            return Ok(self.fits());
        }
        self.attempt()?;
        if self.kind() != Tok::End && self.ahead(1) == kind {
            self.extraneous(set(&[kind]));
            self.bump();
            return Ok(self.fits());
        }
        let follows = if next.1 { next.0.and(self.after_rule()) } else { next.0 };
        let token = self.token();
        if follows.has(token.kind) {
            let message = format!("missing {} at '{}'", kind.name(), shown(&token.text));
            self.report(token.at, &message);
            // It stands where the last one stood, if there is no more text.
            let at = match token.kind {
                Tok::End if self.pos > 0 => self.tokens[self.pos - 1].at,
                _ => token.at,
            };
            let text = format!("<missing {}>", kind.name());
            return Ok(Token { kind, at, text, hidden: String::new() });
        }
        Err(Stop(Problem::Mismatch(set(&[kind]))))
    }

    /// At a choice: what comes must be one of these.
    pub(super) fn sync(&mut self, state: u16, expected: Set) -> Result<(), Stop> {
        self.state = state;
        if self.recovering || expected.has(self.kind()) {
            return Ok(());
        }
        if self.kind() != Tok::End && expected.has(self.ahead(1)) {
            self.extraneous(expected);
            self.bump();
            self.matched();
            return Ok(());
        }
        Err(Stop(Problem::Mismatch(expected)))
    }

    /// At the end of a turn of a loop that cannot be left here: what does not fit is skipped.
    pub(super) fn sync_loop(&mut self, state: u16, expected: Set) {
        self.state = state;
        if self.recovering || expected.has(self.kind()) {
            return;
        }
        self.extraneous(expected);
        let all = expected.and(self.recovery_set());
        while self.kind() != Tok::End && !all.has(self.kind()) {
            self.bump();
        }
    }

    fn extraneous(&mut self, expected: Set) {
        let token = self.token();
        let text = shown(&token.text);
        self.report(token.at, &format!("extraneous input '{text}' expecting {}", expected.shown()));
    }

    /// None of the ways goes on with the `n`th token from here.
    pub(super) fn no_way(&mut self, state: u16, n: usize) -> Stop {
        self.state = state;
        self.ahead(n);
        Stop(Problem::NoWay(self.pos, (self.pos + n).min(self.tokens.len() - 1)))
    }

    fn say(&mut self, problem: &Problem) {
        match *problem {
            Problem::Said => {}
            Problem::Mismatch(expected) => {
                let token = self.token();
                let text = shown(&token.text);
                let expected = expected.shown();
                self.report(token.at, &format!("mismatched input '{text}' expecting {expected}"));
            }
            Problem::NoWay(first, last) => {
                let offending = self.tokens[last].clone();
                let mut text = String::new();
                for (index, token) in self.tokens[first..=last].iter().enumerate() {
                    if index > 0 {
                        text.push_str(&token.hidden);
                    }
                    if token.kind != Tok::End {
                        text.push_str(&token.text);
                    }
                }
                if self.tokens[first].kind == Tok::End {
                    "<EOF>".clone_into(&mut text);
                }
                let text = shown(&text);
                // cel-go's own words, for these two tokens and nothing between.
                let mut rest = text.chars();
                rest.next();
                let message = match rest.as_str() {
                    word @ ("true" | "false" | "null") => {
                        format!("mismatched input '{word}' expecting IDENTIFIER")
                    }
                    _ => format!("no viable alternative at input '{text}'"),
                };
                self.report(offending.at, &message);
            }
        }
    }

    /// Reads a rule; if it fails, skips to what may come after it or after a rule around it.
    pub(super) fn rule(
        &mut self,
        follow: Follow,
        body: impl FnOnce(&mut Self) -> Result<(), Stop>,
    ) {
        self.frames.push(follow);
        if let Err(Stop(problem)) = body(self) {
            self.say(&problem);
            self.recover();
        }
        self.frames.pop();
    }

    fn recover(&mut self) {
        if self.attempt().is_err() {
            return;
        }
        let mut consumed = 0;
        if self.last_error == Some(self.pos) && self.error_states.contains(&self.state) {
            self.bump();
            consumed += 1;
        }
        self.last_error = Some(self.pos);
        self.error_states.push(self.state);
        let all = self.recovery_set();
        while self.kind() != Tok::End && !all.has(self.kind()) {
            if consumed >= LOOKAHEAD {
                let text = format!("error recovery token lookahead limit exceeded: {LOOKAHEAD}");
                self.errors.push(Raised::whole(text));
                self.aborted = true;
                return;
            }
            self.bump();
            consumed += 1;
        }
    }

    pub(super) fn too_deep(&mut self, depth: usize) -> Result<(), Stop> {
        if depth <= DEPTH {
            return Ok(());
        }
        if !self.aborted {
            self.aborted = true;
            let text = format!("expression recursion limit exceeded: {DEPTH}");
            self.errors.push(Raised::whole(text));
        }
        Err(Stop(Problem::Said))
    }
}

fn shown(text: &str) -> String {
    text.replace('\t', "\\t").replace('\n', "\\n").replace('\r', "\\r")
}
