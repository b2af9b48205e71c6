//! The API server's own policies as judge of ours: see `ironward_e2e::judge`.
//!
//! After a change to the cases: `IRONWARD_RECORD=1 cargo test --package ironward-e2e --test policies`, and read
//! what `git diff` says.

use ironward_e2e::{
    control_plane::{ControlPlane, Options},
    judge::{
        self, engine,
        recorder::record,
        recording::{Recording, Recordings, differences},
    },
};

/// Cases in which our engine says something else, and why. A case that agrees may not stay here.
const KNOWN_DIFFERENCES: [(&str, &str); 4] = [
    // The API server decodes what a patch leaves of its own kinds into their Go types, and does the same with the patch of
    // a webhook. A webhook has no such types; for kinds with a definition there is nothing to decode into.
    ("patch-empty-path", DECODED),
    ("patch-native-unknown", DECODED),
    ("patch-native-type", DECODED),
    ("req-large-integers", "the API server sends a webhook 1 for 1.0"),
];
const DECODED: &str = "the API server decodes its own kinds itself";

#[test]
fn the_recordings_are_what_the_api_server_says() {
    let committed = judge::recordings().unwrap();
    let now = record_all(&committed).unwrap();
    if std::env::var_os("IRONWARD_RECORD").is_some() {
        return judge::write(&now).unwrap();
    }
    let mut stale = Vec::new();
    for (topic, case) in now.iter().flat_map(cases) {
        let before = committed.iter().flat_map(cases).find(|(_, before)| before.id == case.id);
        let Some((_, before)) = before else {
            stale.push(format!("{topic} {}: not recorded", case.id));
            continue;
        };
        let value = |case| serde_json::to_value(case).unwrap();
        let lines = differences(&value(before), &value(case));
        stale.extend(lines.into_iter().map(|line| format!("{topic} {}{line}", case.id)));
    }
    assert!(stale.is_empty(), "{} differences\n{}", stale.len(), stale.join("\n"));
    assert_eq!(committed, now, "a topic or case is recorded that is no more");
}

/// The cases are many enough, and they show every way in which an answer can come out.
#[test]
fn the_recordings_cover_what_they_promise() {
    let recordings = judge::recordings().unwrap();
    let cases: Vec<_> = recordings.iter().flat_map(|topic| &topic.cases).collect();
    let exchanges: Vec<_> = cases.iter().flat_map(|case| &case.requests).collect();
    let documents: Vec<_> = cases.iter().flat_map(|case| &case.documents).collect();
    let refused = documents.iter().filter(|document| document.acceptance.refusal.is_some()).count();
    let answers = || exchanges.iter().flat_map(|exchange| &exchange.answers);
    println!("{} cases, {} requests, {refused} refused documents", cases.len(), exchanges.len());
    assert!(exchanges.len() >= 200 && refused >= 60, "{} {refused}", exchanges.len());
    assert!(answers().any(|answer| !answer.warnings.is_empty()));
    assert!(answers().any(|answer| !answer.audit_annotations.is_empty()));
    assert!(answers().any(|answer| answer.object.is_some()));
    for code in [403, 413, 422, 500] {
        let of_code = |answer: &&judge::recording::Answer| {
            answer.refusal.as_ref().is_some_and(|refusal| refusal.code == code)
        };
        assert!(answers().any(|answer| of_code(&answer)), "no answer is {code}");
    }
}

/// Where chance decides, they have to be recorded until every answer came up once.
#[test]
fn every_answer_that_chance_can_give_is_recorded() {
    let (topics, recordings) = (judge::topics().unwrap(), judge::recordings().unwrap());
    let mut missing = Vec::new();
    for case in topics.iter().flat_map(|topic| &topic.cases) {
        let recorded = recordings.iter().flat_map(cases).find(|(_, found)| found.id == case.id);
        let Some((_, recording)) = recorded else { continue };
        for (ask, exchange) in case.requests.iter().zip(&recording.requests) {
            if exchange.answers.len() != ask.outcomes {
                missing.push(format!(
                    "{}: {} of {}",
                    case.id,
                    exchange.answers.len(),
                    ask.outcomes
                ));
            }
        }
    }
    assert!(missing.is_empty(), "\n{}", missing.join("\n"));
}

/// Needs no API server.
#[test]
fn our_engine_says_what_the_api_server_says() {
    let recordings = judge::recordings().unwrap();
    let (mut agreeing, mut wrong, mut settled) = (0, Vec::new(), Vec::new());
    let cases: Vec<_> = recordings.iter().flat_map(|topic| &topic.cases).collect();
    for case in &cases {
        let lines = match engine::verdict(case) {
            Ok(verdict) => engine::disagreements(case, &verdict),
            Err(error) => vec![format!("{}: {error:#}", case.id)],
        };
        let why = KNOWN_DIFFERENCES.iter().find(|(id, _)| *id == case.id);
        match (lines.is_empty(), why) {
            (true, None) => agreeing += 1,
            (true, Some(_)) => settled.push(case.id.as_str()),
            (false, None) => wrong.extend(lines),
            (false, Some((id, why))) => println!("{id} differs: {why}"),
        }
    }
    println!("{agreeing} of {} cases agree", cases.len());
    assert!(wrong.is_empty(), "{} disagreements\n{}", wrong.len(), wrong.join("\n"));
    assert!(settled.is_empty(), "no difference any more: {settled:?}");
    assert_eq!(agreeing + KNOWN_DIFFERENCES.len(), cases.len(), "a known difference is of no case");
    assert!(agreeing >= 500, "only {agreeing} cases are left");
}

fn cases(topic: &Recordings) -> impl Iterator<Item = (&str, &Recording)> {
    topic.cases.iter().map(|case| (topic.topic.as_str(), case))
}

fn record_all(known: &[Recordings]) -> anyhow::Result<Vec<Recordings>> {
    let plane = ControlPlane::start_with(Options { audit: true, ..Options::default() })?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(record(&plane, &judge::topics()?, known))
}
