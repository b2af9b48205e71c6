//! A run: questions until the time is up, differences made small and kept.

use super::{
    answer::read_bindings,
    compare::{Difference, Syntax, Verdict},
    court::Court,
    findings::{Findings, describe},
    generate::Grammar,
    judge::{Judge, Reply},
    kinds::Table,
    minimise::minimise,
    random::Random,
};
use crate::{oracle, process_group::ProcessGroup};
use anyhow::{Context, Result};
use clap::ValueEnum;
use serde_json::Value as Json;
use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

const BATCH: usize = 128;
/// So often a difference that looks the same from outside is made small, to see whether it is.
const LOOKS: usize = 12;
/// The same where a text says what is wrong.
const LOOKS_AT_TEXTS: usize = 4;
const PROGRESS: Duration = Duration::from_secs(5);

/// What a run is told.
#[derive(Debug)]
pub struct Settings {
    /// Where the random numbers start.
    pub seed: u64,
    /// The first expression of the stream.
    pub skip: u64,
    /// How long to go on.
    pub time: Option<Duration>,
    /// How many expressions to ask.
    pub count: Option<u64>,
    /// The folder of vectors, bindings and the table.
    pub data: PathBuf,
    /// Which words about a syntax error have to be the same.
    pub syntax: Syntaxes,
    /// Where each difference is told.
    pub report: Option<PathBuf>,
}

/// Which words about a syntax error have to be the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Syntaxes {
    /// None: that both refuse is enough.
    None,
    /// Those of the first problem.
    First,
    /// All.
    All,
}

/// What came of a run.
#[derive(Debug, Default)]
pub struct Score {
    /// How many expressions were asked.
    pub asked: u64,
    /// How many Kubernetes evaluated to a value.
    pub values: u64,
    /// How many it refused to compile.
    pub refused: u64,
    /// How many both refuse for a syntax error, with different words, where the settings say that this is no difference.
    pub syntax: u64,
    /// How many this engine refuses on purpose.
    pub unsupported: u64,
    /// How many it crashed on.
    pub nothing: u64,
    /// How many it answers differently each time.
    pub unsteady: u64,
    /// How many differed.
    pub different: u64,
    /// How many of these differences are not the same.
    pub distinct: usize,
}

/// Starts both judges and lends them.
fn with_court<T>(data: &Path, work: impl FnOnce(&mut Court<'_>) -> Result<T>) -> Result<T> {
    let bindings = data.join("bindings");
    let group = ProcessGroup::new("cel-fuzz")?;
    let words = |program: PathBuf, words: &[&str]| -> Vec<OsString> {
        let words = words.iter().map(|word| OsString::from(*word));
        [program.into()].into_iter().chain(words).chain([bindings.clone().into()]).collect()
    };
    let mut court = Court {
        theirs: Judge::new(
            "oracle",
            words(oracle::provide("cel-oracle")?, &["oracle", "-bindings"]),
            &group,
        ),
        ours: Judge::new("engine", words(std::env::current_exe()?, &["--answer"]), &group),
        bindings: read_bindings(&bindings)?,
    };
    work(&mut court)
}

fn grammar(settings: &Settings) -> Result<Grammar> {
    let table = fs::read_to_string(settings.data.join("functions-1.36.json"))?;
    let fixtures = read_bindings(&settings.data.join("bindings"))?;
    let corpus = read_corpus(&settings.data.join("vectors"))?;
    Ok(Grammar::new(Table::read(&table)?, &fixtures, corpus))
}

/// Writes the questions that a run would ask, one a line.
pub fn print(settings: &Settings) -> Result<()> {
    let grammar = grammar(settings)?;
    for index in settings.skip..settings.skip + settings.count.unwrap_or(100) {
        println!("{}", grammar.question(&mut Random::new(settings.seed, index)));
    }
    Ok(())
}

/// Asks random questions.
pub fn run(settings: &Settings) -> Result<Score> {
    let grammar = grammar(settings)?;
    let findings = Findings::new(&settings.data.join("fuzz-findings"), settings.report.clone());
    with_court(&settings.data, |court| {
        let mut run = Run {
            settings,
            findings,
            score: Score::default(),
            looks: BTreeMap::new(),
            known: BTreeSet::new(),
        };
        run.go(&grammar, court)?;
        Ok(run.score)
    })
}

/// Asks what was found before once more, and says how many still differ.
pub fn replay(data: &Path) -> Result<usize> {
    let vectors = Findings::new(&data.join("fuzz-findings"), None).read()?;
    let questions: Vec<Json> = vectors.into_iter().map(question_of).collect();
    with_court(data, |court| {
        let mut open = 0;
        for batch in questions.chunks(BATCH) {
            for verdict in court.compare_all(batch)? {
                if let Verdict::Different(found) = verdict {
                    println!("{}", describe(&found));
                    open += 1;
                }
            }
        }
        println!("{open} of {} differ", questions.len());
        Ok(open)
    })
}

/// A question without its number and answer.
fn question_of(mut vector: Json) -> Json {
    if let Some(fields) = vector.as_object_mut() {
        for key in ["id", "name", "answer"] {
            fields.remove(key);
        }
    }
    vector
}

fn read_corpus(folder: &Path) -> Result<Vec<Json>> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .with_context(|| folder.display().to_string())?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    files.sort();
    let mut corpus = Vec::new();
    for file in files {
        for line in fs::read_to_string(&file)?.lines() {
            // A few answers are nested deeper than the reader goes.
            corpus.extend(serde_json::from_str(line).map(question_of).ok());
        }
    }
    Ok(corpus)
}

struct Run<'a> {
    settings: &'a Settings,
    findings: Findings,
    score: Score,
    /// How often a difference of this look was made small.
    looks: BTreeMap<String, usize>,
    known: BTreeSet<String>,
}

impl Run<'_> {
    fn go(&mut self, grammar: &Grammar, court: &mut Court<'_>) -> Result<()> {
        let start = Instant::now();
        let mut told = start;
        let end = self.settings.count.unwrap_or(u64::MAX);
        while self.score.asked < end && self.settings.time.is_none_or(|time| start.elapsed() < time)
        {
            let first = self.settings.skip + self.score.asked;
            let size = (end - self.score.asked).min(BATCH as u64);
            let questions: Vec<Json> = (first..first + size)
                .map(|index| grammar.question(&mut Random::new(self.settings.seed, index)))
                .collect();
            for verdict in court.compare_all(&questions)? {
                self.score.asked += 1;
                self.judge(verdict, court)?;
            }
            if told.elapsed() > PROGRESS {
                told = Instant::now();
                self.tell(start);
            }
        }
        self.tell(start);
        Ok(())
    }

    fn tell(&self, start: Instant) {
        let Score {
            asked,
            values,
            refused,
            syntax,
            unsupported,
            nothing,
            unsteady,
            different,
            distinct,
        } = &self.score;
        let seconds = start.elapsed().as_secs().max(1);
        println!(
            "{seconds} s: {asked} expressions ({}/s; {values} to a value, {refused} refused), {different} differences \
             ({distinct} distinct); {syntax} refused with other words about the syntax, {unsupported} refused on purpose, {unsteady} unsteady, \
             {nothing} that Kubernetes does not survive",
            asked / seconds
        );
    }

    fn judge(&mut self, verdict: Verdict, court: &mut Court<'_>) -> Result<()> {
        match verdict {
            Verdict::Same(answer) => {
                self.score.values += u64::from(answer.get("value").is_some());
                self.score.refused += u64::from(answer.get("compileError").is_some());
            }
            Verdict::Nothing => self.score.nothing += 1,
            Verdict::Refused => self.score.unsupported += 1,
            Verdict::Different(found) => match found.syntax() {
                Some(Syntax::Behind) if self.settings.syntax < Syntaxes::All => {
                    self.score.syntax += 1;
                }
                Some(_) if self.settings.syntax < Syntaxes::First => self.score.syntax += 1,
                _ => self.look_into(*found, court)?,
            },
        }
        Ok(())
    }

    fn look_into(&mut self, found: Difference, court: &mut Court<'_>) -> Result<()> {
        let told = ["error", "compileError"].iter().any(|key| found.keys.contains(key));
        let most = if told { LOOKS_AT_TEXTS } else { LOOKS };
        let looks = self.looks.entry(found.signature()).or_default();
        if *looks >= most {
            self.score.different += 1;
            return Ok(());
        }
        let crash = found.keys == ["panic"];
        if !crash && !court.is_steady(&found.question, &found.theirs)? {
            self.score.unsteady += 1;
            return Ok(());
        }
        *looks += 1;
        self.score.different += 1;
        let (mut small, crashes) = minimise(court, found.clone())?;
        for crash in crashes {
            self.look_into(crash, court)?;
        }
        if !crash && !court.is_steady(&small.question, &small.theirs)? {
            // It became one that depends on the order of a map on the way: keep it as it was found.
            small = found;
        }
        if let Reply::Answer(theirs) = court.theirs.ask(&small.question)? {
            small.theirs = theirs;
        }
        if self.known.insert(small.fine_signature()) {
            self.score.distinct += 1;
            println!("{}", describe(&small));
            self.findings.add(&small)?;
        }
        Ok(())
    }
}
