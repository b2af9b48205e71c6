//! `cargo webhook-load`: how much admission one core of Ironward answers, and how fast, over TLS.
//!
//! The server is Ironward itself against a real API server with hosts in it, held to one core; the load comes
//! from here, over HTTP/2 as the API server's does, which itself stands still meanwhile. Throughput is asked with answers awaited; latency at
//! a fixed rate, counted from when a question was due, so that a stall counts for all that waited. It is told second by second, for a virtual
//! machine is now and then not run for a while, which is said too and is nobody's doing here.

use anyhow::{Context, Result};
use clap::Parser;
use ironward_e2e::{
    cluster,
    control_plane::ControlPlane,
    fleet::{self, Member},
    ironward::{self, Ironward, Options},
    load::{self, Latencies, Process, StandStill, number, reviews},
    peers::figures::Samples,
    progress::{Progress, say},
};
use serde_json::json;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{
    sync::{Semaphore, mpsc},
    task::{JoinError, JoinSet},
};

/// Measures admission over TLS.
#[derive(Debug, Parser)]
struct Arguments {
    /// How long each part is measured, in seconds.
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// How many hosts the cluster has.
    #[arg(long, default_value_t = 1000)]
    hosts: usize,
    /// The rate at which latency is measured, in reviews per second.
    #[arg(long, default_value_t = 5000)]
    rate: u32,
    /// Which of cargo's profiles Ironward is built with.
    #[arg(long, default_value = "release")]
    profile: String,
}

/// What an answer at that rate should not exceed.
const TARGET: Duration = Duration::from_millis(2);
const CONNECTIONS: usize = 4;
const IN_FLIGHT: usize = 64;

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let plane = ControlPlane::start()?;
    cluster::install_kinds(&plane)?;
    ironward::build(&arguments.profile)?;
    let cores = std::thread::available_parallelism()?.get();
    let options = Options { profile: Some(arguments.profile.clone()), ..Options::default() };
    // It is to know of one core, as in a pod that may use one, and the load is not to take that from it.
    load::hold_to([0])?;
    let ironward = Ironward::start_with(&plane, &options)?;
    load::hold_to(1.min(cores - 1)..cores)?;
    ironward.wait_until_ready()?;
    let progress = Progress::start(&format!("creating {} hosts", arguments.hosts));
    let members: Vec<_> = (0..arguments.hosts).map(Member::imaginary).collect();
    fleet::create(&plane, &members, &json!({"online": true}))?;
    progress.done();
    let server = Process::of(ironward.process.id());
    // One thread for each core that the server does not have: more would wait for each other, and that would count as the server's.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads((cores - 1).max(1))
        .enable_all()
        .build()?;
    runtime.block_on(measure(&arguments, &ironward, &plane, server))
}

async fn measure(
    arguments: &Arguments,
    ironward: &Ironward,
    plane: &ControlPlane,
    server: Process,
) -> Result<()> {
    let clients = Arc::new(load::clients(plane, CONNECTIONS)?);
    let (idle, peak_idle) = (server.memory()?, server.peak_memory()?);
    println!(
        "| review | reviews/s on one core | CPU per review | p50 at {0}/s | p99 of a second | of the worst | over 2 ms | not run |",
        arguments.rate
    );
    println!("|---|---|---|---|---|---|---|---|");
    for review in reviews()? {
        let url = format!("{}{}", ironward.webhook, review.path);
        let ask = {
            let (clients, body) = (Arc::clone(&clients), review.body.clone());
            move |question: usize| {
                let client = clients[question % CONNECTIONS].clone();
                let (url, body) = (url.clone(), body.clone());
                async move { load::ask(&client, &url, body).await }
            }
        };
        saturate(&ask, Duration::from_secs(2)).await?;
        let stillness = StandStill::of(plane)?;
        let (start, before) = (Instant::now(), server.cpu()?);
        let answered = saturate(&ask, Duration::from_secs(arguments.seconds)).await?;
        let (took, cpu) = (start.elapsed(), server.cpu()?.saturating_sub(before));
        let stolen = load::stolen()?;
        let seconds = at_rate(&ask, arguments.rate, arguments.seconds).await?;
        let stolen = load::stolen()?.saturating_sub(stolen);
        drop(stillness);
        let milliseconds = |it: Duration| it.as_secs_f64() * 1e3;
        let p99 = Samples(seconds.iter().map(|it| milliseconds(it.quantile(990))).collect());
        let mut all = Latencies::default();
        for second in seconds {
            all.extend(second);
        }
        println!(
            "| {} ({:.1} KB) | {:.0} | {:.1} µs | {:.2} ms | {:.2} ms | {:.2} ms | {:.2} % | {} ms |",
            review.name,
            number(review.body.len()) / 1024.0,
            number(answered) / took.as_secs_f64(),
            cpu.as_secs_f64() * 1e6 / number(answered),
            milliseconds(all.quantile(500)),
            p99.median().unwrap_or_default(),
            p99.0.iter().copied().fold(0.0, f64::max),
            number(all.over(TARGET)) * 100.0 / number(all.count()),
            stolen.as_millis(),
        );
    }
    let (now, peak) = (server.memory()?, server.peak_memory()?);
    say(&format!(
        "memory with {} hosts: {idle:.1} MiB before the load, {peak_idle:.1} at most; {now:.1} MiB after it, {peak:.1} at most",
        arguments.hosts
    ));
    Ok(())
}

/// Asks as fast as answers come, and returns how many came.
async fn saturate<F>(
    ask: &(impl Fn(usize) -> F + Clone + Send + 'static),
    span: Duration,
) -> Result<usize>
where
    F: Future<Output = Result<()>> + Send + 'static,
{
    let end = Instant::now() + span;
    let mut askers = JoinSet::new();
    for number in 0..IN_FLIGHT {
        let ask = ask.clone();
        askers.spawn(async move {
            let mut answered = 0;
            while Instant::now() < end {
                ask(number).await?;
                answered += 1;
            }
            anyhow::Ok(answered)
        });
    }
    let mut answered = 0;
    while let Some(asker) = askers.join_next().await {
        answered += asker.context("an asker ended")??;
    }
    Ok(answered)
}

/// Asks at a fixed rate, whether answers come or not. What was due in each second is told apart.
async fn at_rate<F>(
    ask: &(impl Fn(usize) -> F + Clone + Send + 'static),
    rate: u32,
    seconds: u64,
) -> Result<Vec<Latencies>>
where
    F: Future<Output = Result<()>> + Send + 'static,
{
    // More than this in flight is a server that cannot keep up; what waits here still counts as waiting.
    let in_flight = Arc::new(Semaphore::new(4096));
    let mut due = paced(rate, Duration::from_secs(seconds));
    let mut questions = JoinSet::new();
    let mut latencies = vec![Latencies::default(); usize::try_from(seconds)?];
    let mut note = |answered: Result<Result<(usize, Duration)>, JoinError>| {
        let (number, took) = answered.context("a question ended")??;
        latencies[number / rate as usize].add(took);
        anyhow::Ok(())
    };
    while let Some((number, was_due)) = due.recv().await {
        let (ask, in_flight) = (ask.clone(), Arc::clone(&in_flight));
        questions.spawn(async move {
            let _permit = in_flight.acquire_owned().await?;
            ask(number).await?;
            anyhow::Ok((number, was_due.elapsed()))
        });
        while let Some(answered) = questions.try_join_next() {
            note(answered)?;
        }
    }
    while let Some(answered) = questions.join_next().await {
        note(answered)?;
    }
    Ok(latencies)
}

/// Which question is due, and since when. From a thread of its own: tokio's timers tick once a millisecond, and
/// questions that come several at once wait for each other.
fn paced(rate: u32, span: Duration) -> mpsc::UnboundedReceiver<(usize, Instant)> {
    let (due, questions) = mpsc::unbounded_channel();
    let (start, pause) = (Instant::now(), Duration::from_secs(1) / rate);
    std::thread::spawn(move || {
        for number in 0.. {
            let at = start + pause * number;
            std::thread::sleep(at.saturating_duration_since(Instant::now()));
            if at >= start + span || due.send((number as usize, at)).is_err() {
                return;
            }
        }
    });
    questions
}
