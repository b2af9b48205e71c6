//! Each state by itself, and then any number of replicas in any order.

use proptest::prelude::*;
use rstest::rstest;

use super::{
    super::{Certificate, Key},
    *,
};

const START: Timestamp = Timestamp::constant(1_800_000_000, 0);
const LIFETIME: SignedDuration = SignedDuration::from_hours(90 * 24);

fn names() -> Vec<String> {
    vec!["ironward.ironward-system.svc".to_owned()]
}

fn authority(id: &str, made: Timestamp) -> Authority {
    Authority { id: id.to_owned(), expires: made + LIFETIME, pem: format!("{id}\n") }
}

fn pair(id: &str, made: Timestamp) -> Pair {
    let certificate = Certificate {
        authority: id.to_owned(),
        begins: made - BACKDATED,
        expires: made + LIFETIME,
        names: names(),
    };
    Pair { certificate, chain: format!("leaf of {id}\n"), key: Key("key".to_owned()) }
}

fn days(days: i64) -> SignedDuration {
    SignedDuration::from_hours(days * 24)
}

/// `a` was made at the start and is current.
fn steady() -> Content {
    Content { trusted: vec![authority("a", START)], current: Some(pair("a", START)), next: None }
}

/// `b` was made after 60 days and is next.
fn overlapping() -> Content {
    let made = START + days(60);
    Content {
        trusted: vec![authority("a", START), authority("b", made)],
        current: Some(pair("a", START)),
        next: Some(pair("b", made)),
    }
}

struct Case {
    content: Content,
    registered: Option<Vec<Authority>>,
    now: Timestamp,
}

impl Case {
    fn seen<T>(&self, look: impl Fn(&Observed<'_>) -> T) -> T {
        look(&Observed {
            now: self.now,
            lifetime: LIFETIME,
            names: &names(),
            content: &self.content,
            registered: self.registered.as_deref(),
        })
    }
}

fn trusting(ids: &[&str]) -> Vec<Authority> {
    ids.iter().map(|id| authority(id, START)).collect()
}

#[rstest]
#[case::nothing_yet(Content::default(), None, days(0), Plan::MakeFirst)]
#[case::fresh(steady(), Some(trusting(&["a"])), days(59), Plan::Keep)]
#[case::due(steady(), Some(trusting(&["a"])), days(60), Plan::MakeNext)]
#[case::next_is_too_young(overlapping(), Some(trusting(&["a", "b"])), days(60), Plan::Keep)]
#[case::next_is_not_registered(overlapping(), Some(trusting(&["a"])), days(61), Plan::Keep)]
#[case::next_is_trusted(overlapping(), Some(trusting(&["a", "b"])), days(61), Plan::Promote)]
#[case::nobody_asks(overlapping(), None, days(61), Plan::Promote)]
#[case::current_has_ended(overlapping(), Some(trusting(&["a"])), days(91), Plan::Promote)]
#[case::all_has_ended(steady(), Some(trusting(&["a"])), days(91), Plan::MakeFirst)]
#[case::both_have_ended(overlapping(), Some(trusting(&["a", "b"])), days(200), Plan::MakeFirst)]
fn what_is_done(
    #[case] content: Content,
    #[case] registered: Option<Vec<Authority>>,
    #[case] after: SignedDuration,
    #[case] expected: Plan,
) {
    let case = Case { content, registered, now: START + after };
    assert_eq!(case.seen(decide), expected);
}

#[test]
fn another_name_needs_another_certificate() {
    let mut content = steady();
    if let Some(current) = &mut content.current {
        current.certificate.names = vec!["elsewhere.svc".to_owned()];
    }
    let case = Case { content, registered: Some(trusting(&["a"])), now: START };
    assert_eq!(case.seen(decide), Plan::MakeNext);
}

#[test]
fn a_certificate_whose_authority_is_not_trusted_is_none() {
    let content = Content { trusted: Vec::new(), ..steady() };
    let case = Case { content, registered: None, now: START };
    assert_eq!(case.seen(decide), Plan::MakeFirst);
}

#[test]
fn what_is_lost_is_made_anew_and_what_is_registered_stays_trusted() {
    let case = Case { content: Content::default(), registered: Some(trusting(&["a"])), now: START };
    let made = Some((pair("b", START), authority("b", START)));
    let content = case.seen(|seen| carried_out(seen, Plan::MakeFirst, made.clone()));
    assert_eq!(content.bundle(), "a\nb\n");
    let case = Case { content, registered: Some(trusting(&["a"])), now: START };
    assert!(!case.seen(may_serve), "the API server does not know it yet");
    let case = Case { registered: Some(trusting(&["a", "b"])), ..case };
    assert!(!case.seen(may_serve), "another replica may still write what it knew");
    let case = Case { now: START + SETTLING, ..case };
    assert!(case.seen(may_serve));
}

#[test]
fn authorities_that_have_ended_are_forgotten_and_no_others() {
    let case = Case { content: overlapping(), registered: None, now: START + days(120) };
    let made = Some((pair("c", case.now), authority("c", case.now)));
    let content = case.seen(|seen| carried_out(seen, Plan::MakeNext, made.clone()));
    assert_eq!(content.bundle(), "b\nc\n");
}

#[test]
fn the_second_replica_of_a_new_release_need_not_wait() {
    let case = Case { content: steady(), registered: Some(trusting(&["a"])), now: START };
    assert!(case.seen(may_serve));
}

/// What happens next.
#[derive(Debug, Clone, Copy)]
enum Event {
    /// Seconds go by.
    Wait(u32),
    /// A replica looks after the certificates, and at what it serves with.
    Look(usize),
    /// A replica reads what is trusted, to register it.
    Read(usize),
    /// It registers that.
    Register(usize),
    /// A replica is started anew.
    Restart(usize),
    /// Somebody empties the Secret.
    Lose,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        2 => (1_u32..40).prop_map(Event::Wait),
        1 => (86_400_u32..4_000_000).prop_map(Event::Wait),
        4 => (0_usize..3).prop_map(Event::Look),
        4 => (0_usize..3).prop_map(Event::Read),
        4 => (0_usize..3).prop_map(Event::Register),
        1 => (0_usize..3).prop_map(Event::Restart),
        1 => Just(Event::Lose),
    ]
}

#[derive(Default)]
struct Replica {
    serves: Option<Authority>,
    /// What it read, and when.
    trusts: Option<(Vec<Authority>, Timestamp)>,
}

struct World {
    now: Timestamp,
    content: Content,
    registered: Option<Vec<Authority>>,
    replicas: [Replica; 3],
    made: u32,
}

impl World {
    fn new() -> Self {
        let (content, replicas) = (Content::default(), Default::default());
        Self { now: START, content, registered: None, replicas, made: 0 }
    }

    fn happen(&mut self, event: Event) {
        let (now, before) = (self.now, self.content.clone());
        let names = names();
        let registered = self.registered.clone();
        let seen = |content| Observed {
            now,
            lifetime: LIFETIME,
            names: &names,
            content,
            registered: registered.as_deref(),
        };
        match event {
            Event::Wait(seconds) => self.now += SignedDuration::from_secs(seconds.into()),
            Event::Look(index) => {
                let plan = decide(&seen(&before));
                self.made += 1;
                let id = format!("{}", self.made);
                let made = Some((pair(&id, now), authority(&id, now)));
                self.content = carried_out(&seen(&before), plan, made);
                if may_serve(&seen(&self.content)) {
                    let id = self.content.current.as_ref().map(|it| &it.certificate.authority);
                    let authority = self.content.trusted.iter().find(|it| Some(&it.id) == id);
                    self.replicas[index].serves = authority.cloned();
                }
            }
            Event::Read(index) => {
                // Nothing is not registered.
                let trusted = self.content.trusted.clone();
                self.replicas[index].trusts = (!trusted.is_empty()).then_some((trusted, now));
            }
            Event::Register(index) => {
                let is_first = self.registered.is_none();
                let replica = &mut self.replicas[index];
                let trusts = replica.trusts.take();
                // One that serves nothing tells the API server of nothing new, and a request that takes longer is given up.
                let trusts = trusts.filter(|(_, read)| now < *read + SETTLING);
                let is_allowed = replica.serves.is_some() || !is_first;
                if let Some((trusts, _)) = trusts.filter(|_| is_allowed) {
                    self.registered = Some(trusts);
                }
            }
            Event::Restart(index) => self.replicas[index] = Replica::default(),
            // Before the API server was told of anything, nobody knows what others serve with.
            Event::Lose if self.registered.is_none() => {}
            Event::Lose => self.content = Content::default(),
        }
    }

    /// A replica that serves with what the API server does not trust.
    fn stranger(&self) -> Option<&Authority> {
        let registered = self.registered.as_ref()?;
        let is_stranger = |it: &&Authority| {
            it.expires > self.now && registered.iter().all(|known| known.id != it.id)
        };
        self.replicas.iter().filter_map(|it| it.serves.as_ref()).find(is_stranger)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn no_replica_serves_with_what_the_api_server_does_not_trust(
        events in prop::collection::vec(event(), 1..120),
    ) {
        let mut world = World::new();
        for (number, event) in events.into_iter().enumerate() {
            world.happen(event);
            let stranger = world.stranger();
            prop_assert!(stranger.is_none(), "after event {number}, {event:?}: {stranger:?}");
        }
    }
}

/// The property would be worth little if nothing ever changed.
#[test]
fn certificates_do_rotate() {
    let mut world = World::new();
    for _ in 0..400 {
        for event in [Event::Look(0), Event::Read(0), Event::Register(0), Event::Wait(86_400)] {
            world.happen(event);
        }
    }
    let serves = world.replicas[0].serves.clone().map(|it| it.id);
    assert!(serves.is_some_and(|id| id.parse::<u32>().unwrap() > 300));
    assert!(world.registered.unwrap().len() <= 2);
}
