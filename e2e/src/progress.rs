//! Tells people what is going on while something takes its time.
//!
//! On a terminal it is one line that changes; in a log it is a line at the start, one every ten seconds, and
//! one at the end. It writes to standard error itself, so that a test runner does not swallow it.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::{
    io::{IsTerminal, Write, stderr},
    sync::Mutex,
    time::{Duration, Instant},
};

const LINE_EVERY: Duration = Duration::from_secs(10);

/// One thing under way. Dropped without [`Progress::done`], it leaves no claim that the thing was done.
#[derive(Debug)]
pub struct Progress {
    title: String,
    started: Instant,
    bar: Option<ProgressBar>,
    last_line: Mutex<Instant>,
}

impl Progress {
    /// Starts a thing whose length is not known.
    #[must_use]
    pub fn start(title: &str) -> Self {
        let bar = stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            let style =
                ProgressStyle::with_template("{spinner} {prefix} {msg:.dim} {elapsed:.dim}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
            bar.set_prefix(title.to_owned());
            bar.enable_steady_tick(Duration::from_millis(120));
            bar
        });
        let progress = Self {
            title: title.into(),
            started: Instant::now(),
            bar,
            last_line: Instant::now().into(),
        };
        progress.line("…");
        progress
    }

    /// Says how far it is.
    pub fn note(&self, note: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(note.to_owned());
            return;
        }
        let Ok(mut last) = self.last_line.lock() else { return };
        if last.elapsed() >= LINE_EVERY {
            *last = Instant::now();
            self.line(&format!(": {note}, {} so far", seconds(self.started.elapsed())));
        }
    }

    /// Says that it is done, and how long it took if that is worth a word.
    pub fn done(self) {
        let took = seconds(self.started.elapsed());
        match &self.bar {
            Some(bar) => {
                bar.finish_and_clear();
                say(&format!("✓ {} ({took})", self.title));
            }
            None => self.line(&format!(": done in {took}")),
        }
    }

    fn line(&self, rest: &str) {
        if self.bar.is_none() {
            say(&format!("{}{rest}", self.title));
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// A line for the person who waits.
pub fn say(line: &str) {
    // Nobody can be told that standard error is gone.
    let _ = writeln!(stderr(), "{line}");
}

fn seconds(duration: Duration) -> String {
    match duration.as_secs() {
        secs @ 0..60 => format!("{secs}.{} s", duration.subsec_millis() / 100),
        secs => format!("{} min {} s", secs / 60, secs % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_reads_as_a_person_says_it() {
        assert_eq!(seconds(Duration::from_millis(4_260)), "4.2 s");
        assert_eq!(seconds(Duration::from_secs(215)), "3 min 35 s");
    }
}
