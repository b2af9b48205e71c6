use super::*;
use proptest::{collection::vec, option, prelude::*, sample::select};

fn entry(uid: &str, attempt: Option<u32>, outcome: Option<Outcome>) -> Entry {
    Entry {
        host: "worker-0".into(),
        host_uid: "h-0".into(),
        boot_mac_address: Some("00:1a:74:74:e5:cb".into()),
        remediation_uid: uid.into(),
        attempt,
        now: Timestamp::from_second(1_800_000_100).unwrap(),
        started: Timestamp::from_second(1_800_000_000).unwrap(),
        outcome,
        cause: Some(HistoryCause {
            condition: Some("HealthCheckSucceeded".into()),
            reason: Some("UnhealthyNode".into()),
            message: Some("Condition Ready on Node is reporting status Unknown".into()),
        }),
        machine: "workers-x7k".into(),
        cluster: Some("lab".into()),
        message: None,
    }
}

fn tell(entries: &[Entry]) -> HostHistoryFields {
    let mut history = None;
    for entry in entries {
        history = remember(history.as_ref(), entry).or(history);
    }
    history.unwrap()
}

fn counts(history: &HostHistoryFields) -> [i32; 5] {
    let counts = history.counts.unwrap();
    [counts.remediations, counts.attempts, counts.recovered, counts.replaced, counts.failed]
        .map(Option::unwrap_or_default)
}

#[test]
fn a_remediation_with_two_attempts_is_one() {
    let history = tell(&[
        entry("a", Some(1), None),
        entry("a", Some(1), Some(Outcome::TimedOut)),
        entry("a", Some(2), None),
        entry("a", Some(2), Some(Outcome::Recovered)),
    ]);
    assert_eq!(counts(&history), [1, 2, 1, 0, 0]);
    let outcomes: Vec<_> = history.records.iter().flatten().map(|it| it.outcome).collect();
    assert_eq!(outcomes, [Some(Outcome::TimedOut), Some(Outcome::Recovered)]);
    let last = history.last_remediation.unwrap();
    assert_eq!(last.attempt, Some(2));
    assert_eq!(last.cause.unwrap().reason.as_deref(), Some("UnhealthyNode"));
}

#[test]
fn when_it_began_is_when_it_was_first_said() {
    let mut later = entry("a", Some(1), Some(Outcome::Recovered));
    later.started = later.now;
    let history = tell(&[entry("a", Some(1), None), later]);
    let record = &history.records.unwrap()[0];
    assert_eq!(record.started.0.as_second(), 1_800_000_000);
    assert_eq!(record.finished.as_ref().unwrap().0.as_second(), 1_800_000_100);
}

#[test]
fn what_failed_before_it_began_is_no_attempt() {
    let history = tell(&[entry("a", None, Some(Outcome::Failed))]);
    assert_eq!(counts(&history), [1, 0, 0, 0, 1]);
    assert_eq!(history.records.unwrap()[0].action, None);
}

#[test]
fn what_goes_on_is_not_forgotten_for_what_is_over() {
    let mut entries = vec![entry("begun", Some(1), None)];
    for number in 0..2 * RECORDS {
        entries.push(entry(&number.to_string(), Some(1), Some(Outcome::Replaced)));
    }
    let mut history = tell(&entries);
    assert_eq!(history.records.as_ref().unwrap().len(), RECORDS);
    history = remember(Some(&history), &entry("begun", Some(1), Some(Outcome::Recovered))).unwrap();
    assert_eq!(counts(&history), [201, 201, 1, 200, 0]);
}

#[test]
fn words_without_end_are_cut() {
    let mut long = entry("a", Some(1), Some(Outcome::Failed));
    long.message = Some("ü".repeat(10_000));
    long.cause = Some(HistoryCause { message: long.message.clone(), ..HistoryCause::default() });
    let record = tell(&[long]).last_remediation.unwrap();
    assert_eq!(record.message.unwrap().chars().count(), 1024);
    assert_eq!(record.cause.unwrap().message.unwrap().chars().count(), 1024);
}

fn outcomes() -> impl Strategy<Value = Option<Outcome>> {
    option::of(select(vec![
        Outcome::Recovered,
        Outcome::TimedOut,
        Outcome::Replaced,
        Outcome::Failed,
        Outcome::Cancelled,
    ]))
}

proptest! {
    /// Whatever is said, and however often a crash has it said again.
    #[test]
    fn saying_it_again_changes_nothing(
        said in vec((select(vec!["a", "b", "c"]), 1..4_u32, outcomes()), 1..40),
    ) {
        let mut history = None;
        for (uid, attempt, outcome) in said {
            let entry = entry(uid, Some(attempt), outcome);
            history = remember(history.as_ref(), &entry).or(history);
            prop_assert_eq!(remember(history.as_ref(), &entry), None);
        }
        let history = history.unwrap();
        let records = history.records.clone().unwrap();
        let [remediations, attempts, recovered, replaced, failed] = counts(&history);
        let with = |outcome| records.iter().filter(|it| it.outcome == Some(outcome)).count();
        prop_assert_eq!(usize::try_from(attempts).unwrap(), records.len());
        prop_assert_eq!(usize::try_from(recovered).unwrap(), with(Outcome::Recovered));
        prop_assert_eq!(usize::try_from(replaced).unwrap(), with(Outcome::Replaced));
        prop_assert_eq!(usize::try_from(failed).unwrap(), with(Outcome::Failed));
        prop_assert!(remediations <= 3);
        for record in records {
            prop_assert_eq!(record.finished.is_some(), record.outcome.is_some());
        }
    }
}
