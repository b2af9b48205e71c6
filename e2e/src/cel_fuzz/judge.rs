//! Two programs that answer the same questions: one JSON a line in, one JSON a line out.
//!
//! Both are children with a limit on memory, so that an expression that crashes or never ends costs a restart
//! and not the run.

use crate::process_group::{Process, ProcessGroup};
use anyhow::{Context, Result, ensure};
use rustix::process::Signal;
use serde_json::Value as Json;
use std::{
    ffi::OsString,
    fs::File,
    io::{BufRead, BufReader, Write},
    process::Command,
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread,
    time::Duration,
};

/// Kilobytes of address space: Go reserves much more than it uses.
const MEMORY: &str = "6000000";
/// Long enough for a list of a million on a machine that has much else to do.
const PATIENCE: Duration = Duration::from_mins(1);
const START: &str =
    r#"ulimit -v "$1"; questions=$2 answers=$3; shift 3; exec "$@" <"$questions" >"$answers""#;

/// What came of a question.
#[derive(Debug, Clone)]
pub enum Reply {
    /// The answer.
    Answer(Json),
    /// The program ended; its last words.
    Crashed(String),
    /// No answer in good time.
    Hung,
}

/// A program that is asked, and started again when a question was too much for it.
#[derive(Debug)]
pub struct Judge<'a> {
    name: &'static str,
    command: Vec<OsString>,
    group: &'a ProcessGroup,
    starts: usize,
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    process: Process,
    questions: File,
    answers: Receiver<String>,
}

impl<'a> Judge<'a> {
    /// A judge that is not started yet.
    #[must_use]
    pub fn new(name: &'static str, command: Vec<OsString>, group: &'a ProcessGroup) -> Self {
        Self { name, command, group, starts: 0, running: None }
    }

    /// Asks one question.
    pub fn ask(&mut self, question: &Json) -> Result<Reply> {
        let mut replies = self.ask_all(std::slice::from_ref(question))?;
        replies.pop().context("no reply to a question")
    }

    /// Asks many: replies are in the order of the questions.
    pub fn ask_all(&mut self, questions: &[Json]) -> Result<Vec<Reply>> {
        let mut replies = Vec::with_capacity(questions.len());
        while replies.len() < questions.len() {
            let running = match self.running.take() {
                Some(running) => running,
                None => self.start()?,
            };
            let before = replies.len();
            if running.ask_until_it_fails(&questions[before..], &mut replies) {
                self.running = Some(running);
            }
        }
        Ok(replies)
    }

    fn start(&mut self) -> Result<Running> {
        self.starts += 1;
        let name = format!("{}-{}", self.name, self.starts);
        let questions = self.group.dir().join(format!("{name}.questions"));
        let answers = self.group.dir().join(format!("{name}.answers"));
        let made = Command::new("mkfifo").arg(&questions).arg(&answers).status();
        ensure!(made.context("could not run mkfifo")?.success(), "could not make the pipes");
        let mut command = Command::new("sh");
        command.args(["-c", START, "sh", MEMORY]).arg(&questions).arg(&answers).args(&self.command);
        let process = self.group.spawn(&name, command)?;
        // In the order in which the shell opens them: each waits for the other end.
        let questions = File::options().write(true).open(&questions)?;
        let lines = BufReader::new(File::open(&answers)?).lines();
        let (send, answers) = mpsc::channel();
        thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                if send.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(Running { process, questions, answers })
    }
}

impl Running {
    /// False if the last reply is a failure, after which the process is gone.
    fn ask_until_it_fails(&self, questions: &[Json], replies: &mut Vec<Reply>) -> bool {
        let mut pipe = &self.questions;
        thread::scope(|scope| {
            // Apart, because both pipes may be full. A process that is gone is noticed where its answers end.
            scope.spawn(move || {
                for question in questions {
                    if pipe.write_all(format!("{question}\n").as_bytes()).is_err() {
                        break;
                    }
                }
            });
            for _ in questions {
                let reply = match self.answers.recv_timeout(PATIENCE) {
                    Ok(line) => serde_json::from_str(&line).map_or_else(
                        // Deeper than the reader goes: the text is as good for a comparison.
                        |_| Reply::Answer(Json::String(line)),
                        Reply::Answer,
                    ),
                    Err(RecvTimeoutError::Disconnected) => {
                        let _ = self.process.wait_for_exit(Duration::from_secs(5));
                        Reply::Crashed(self.process.log_tail())
                    }
                    Err(RecvTimeoutError::Timeout) => Reply::Hung,
                };
                let failed = !matches!(reply, Reply::Answer(_));
                replies.push(reply);
                if failed {
                    // Also frees the writer above, whose pipe then has no reader.
                    let _ = self.process.signal(Signal::KILL);
                    return false;
                }
            }
            true
        })
    }
}
