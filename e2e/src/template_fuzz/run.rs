//! A run: questions until the time is up, differences made small and kept.

use super::{engine::Engine, generate::Grammar, minimise::minimise, node};
use crate::{
    cel_fuzz::{
        judge::{Judge, Reply},
        random::Random,
    },
    oracle,
    process_group::ProcessGroup,
};
use anyhow::{Result, anyhow};
use serde_json::{Map, Value as Json};
use std::{
    fs::File,
    io::Write as _,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

const BATCH: u64 = 256;
const PROGRESS: Duration = Duration::from_secs(5);
/// The stack of a Tokio worker, on which requests are answered.
const STACK: usize = 2 << 20;
/// After so many differences there is something to mend before it is worth going on.
const ENOUGH: u64 = 20;

/// What a run is told.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where the random numbers start.
    pub seed: u64,
    /// The first template of the stream.
    pub skip: u64,
    /// How long to go on.
    pub time: Option<Duration>,
    /// How many templates to ask.
    pub count: Option<u64>,
    /// The folder of data, vectors and the node.
    pub data: PathBuf,
}

/// What came of a run.
#[derive(Debug, Default, Clone)]
pub struct Score {
    /// How many templates were asked.
    pub asked: u64,
    /// How many Go rendered.
    pub rendered: u64,
    /// How many this engine ended at one of its limits.
    pub limited: u64,
    /// How many Go did not answer: too much output, or too long.
    pub unanswered: u64,
    /// How many differed.
    pub different: u64,
}

/// Writes the questions that a run would ask, one a line.
pub fn print(settings: &Settings) -> Result<()> {
    let grammar = Grammar::read(&settings.data.join("data"))?;
    for index in settings.skip..settings.skip + settings.count.unwrap_or(100) {
        println!("{}", grammar.question(&mut Random::new(settings.seed, index)));
    }
    Ok(())
}

/// Asks random questions.
pub fn run(settings: &Settings) -> Result<Score> {
    let settings = settings.clone();
    let worker = thread::Builder::new().stack_size(STACK).spawn(move || go(&settings))?;
    worker.join().map_err(|_| anyhow!("the run panicked outside a question"))?
}

fn go(settings: &Settings) -> Result<Score> {
    let grammar = Grammar::read(&settings.data.join("data"))?;
    let node_file = settings.data.join("node.json");
    let engine = Engine::new(node::read(&node_file)?);
    let group = ProcessGroup::new("template-fuzz")?;
    let command = vec![
        oracle::provide("template-oracle")?.into(),
        "oracle".into(),
        "-node".into(),
        node_file.into_os_string(),
    ];
    let mut go = Judge::new("oracle", command, &group);
    let mut score = Score::default();
    let start = Instant::now();
    let mut told = start;
    let end = settings.count.unwrap_or(u64::MAX);
    while score.asked < end && settings.time.is_none_or(|time| start.elapsed() < time) {
        let first = settings.skip + score.asked;
        let size = (end - score.asked).min(BATCH);
        let questions: Vec<Json> = (first..first + size)
            .map(|index| grammar.question(&mut Random::new(settings.seed, index)))
            .collect();
        let replies = go.ask_all(&questions)?;
        for (question, reply) in questions.iter().zip(replies) {
            score.asked += 1;
            let verdict = compare(&reply, &engine.answer(question));
            score.rendered += u64::from(
                matches!(&reply, Reply::Answer(answer) if answer.get("output").is_some()),
            );
            match verdict {
                Verdict::Same => {}
                Verdict::Limited => score.limited += 1,
                Verdict::Unanswered => score.unanswered += 1,
                Verdict::Different => {
                    score.different += 1;
                    report(question, &mut go, &engine, &settings.data)?;
                }
            }
        }
        if told.elapsed() > PROGRESS {
            told = Instant::now();
            tell(&score, start);
        }
        if score.different >= ENOUGH {
            break;
        }
    }
    tell(&score, start);
    Ok(score)
}

fn tell(score: &Score, start: Instant) {
    let Score { asked, rendered, limited, unanswered, different } = score;
    let seconds = start.elapsed().as_secs().max(1);
    println!(
        "{seconds} s: {asked} templates ({}/s; {rendered} rendered), {different} differences; \
         {limited} at a limit, {unanswered} without an answer of Go's",
        asked / seconds
    );
}

enum Verdict {
    Same,
    Limited,
    Unanswered,
    Different,
}

fn compare(theirs: &Reply, ours: &Json) -> Verdict {
    let theirs = match theirs {
        Reply::Answer(answer) => answer,
        Reply::Crashed(_) | Reply::Hung if ours.get("panic").is_none() => {
            return Verdict::Unanswered;
        }
        Reply::Crashed(_) | Reply::Hung => return Verdict::Different,
    };
    if ours.get("limit").is_some() {
        return Verdict::Limited;
    }
    if theirs.get("huge").is_some() {
        return Verdict::Unanswered;
    }
    if theirs == ours || is_address(theirs, ours) { Verdict::Same } else { Verdict::Different }
}

/// `%p` of a list or map is its address in Go, which is another in each run.
fn is_address(theirs: &Json, ours: &Json) -> bool {
    let of = |answer: &Json| answer["output"].as_str().unwrap_or_default().to_owned();
    of(ours).contains("%!p(") && of(theirs) != of(ours)
}

fn report(question: &Json, go: &mut Judge<'_>, engine: &Engine, data: &Path) -> Result<()> {
    let small = minimise(question, |candidate| {
        let reply = go.ask(candidate)?;
        Ok(matches!(compare(&reply, &engine.answer(candidate)), Verdict::Different))
    })?;
    let Reply::Answer(theirs) = go.ask(&small)? else {
        println!("\n{small}\n  Go does not answer\n  Ironward: {}", engine.answer(&small));
        return Ok(());
    };
    println!(
        "\n{}\n  Go:       {theirs}\n  Ironward: {}",
        small["template"],
        engine.answer(&small)
    );
    // A vector, as the others are: the question and Go's answer to it. Their data is the name of a file.
    let mut vector = Map::new();
    for part in [&small, &theirs] {
        vector.extend(part.as_object().cloned().unwrap_or_default());
    }
    let data_itself = vector.remove("data").unwrap_or_default();
    vector.insert("value".to_owned(), data_itself);
    let path = data.join("vectors/fuzz-findings.jsonl");
    let mut file = File::options().create(true).append(true).open(path)?;
    writeln!(file, "{}", Json::Object(vector))?;
    Ok(())
}
