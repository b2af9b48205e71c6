//! Kubernetes puts policies, bindings and params into no order, so that some answers are one of several.

use super::{
    case::Topic,
    recording::{Recording, Recordings},
};

/// Where chance decides, one run shows one answer: those of former runs are kept beside it.
pub(super) fn remember(now: &mut [Recordings], known: &[Recordings], topics: &[Topic]) {
    let known: Vec<&Recording> = known.iter().flat_map(|topic| &topic.cases).collect();
    let asks = topics.iter().flat_map(|topic| &topic.cases);
    for (case, recording) in asks.zip(now.iter_mut().flat_map(|topic| &mut topic.cases)) {
        let before = known.iter().find(|before| {
            before.id == recording.id
                && before.documents == recording.documents
                && before.requests.len() == recording.requests.len()
        });
        let Some(before) = before else { continue };
        let exchanges = recording.requests.iter_mut().zip(&before.requests);
        for (ask, (exchange, before)) in case.requests.iter().zip(exchanges) {
            let same = before.request == exchange.request;
            let old = before.answers.iter().filter(|_| same && ask.outcomes > 1);
            let old: Vec<_> = old.filter(|old| !exchange.answers.contains(old)).cloned().collect();
            exchange.answers.extend(old);
            exchange
                .answers
                .sort_by_key(|answer| serde_json::to_string(answer).unwrap_or_default());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            recording::{Answer, Exchange, Request},
            written::topic,
        },
        *,
    };

    fn recordings(warning: &str) -> Vec<Recordings> {
        let answer = Answer { warnings: vec![warning.into()], ..Answer::default() };
        let exchange =
            Exchange { request: Request::default(), without_policies: None, answers: vec![answer] };
        let case = Recording { id: "a".into(), requests: vec![exchange], ..Recording::default() };
        vec![Recordings { topic: "x".into(), about: "x".into(), cases: vec![case] }]
    }

    fn remembered(outcomes: usize) -> usize {
        let text = format!(
            "about: x\ncases: [{{ id: a, name: x, requests: [{{ create: {{}}, outcomes: {outcomes} }}] }}]"
        );
        let topics = [topic("x", &text).unwrap()];
        let mut now = recordings("one");
        remember(&mut now, &recordings("two"), &topics);
        now[0].cases[0].requests[0].answers.len()
    }

    #[test]
    fn an_answer_of_a_former_run_is_kept_only_where_chance_decides() {
        assert_eq!((remembered(1), remembered(2)), (1, 2));
    }
}
