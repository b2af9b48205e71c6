//! `Events`: tells people of objects, by Kubernetes' events.
//!
//! What is said again within some minutes is counted and not written anew, as kube's own recorder has it. But of each only as much is
//! remembered as that takes, and not each time all are looked through: a fleet tells a lot at one time.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Mutex, PoisonError},
};

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::{
    api::{
        core::v1::ObjectReference,
        events::v1::{Event as Written, EventSeries},
    },
    apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta},
};
use kube::{
    Api, Client,
    api::{Patch, PatchParams, PostParams},
    runtime::events::{Event, EventType},
};
use serde_json::json;

use super::clock;
use crate::controllers::events::Reason;

/// What is said again after this is said anew.
const MEMORY: SignedDuration = SignedDuration::from_mins(6);
/// How often what is too long ago is forgotten.
const SWEEP: SignedDuration = SignedDuration::from_mins(1);
/// The API server takes no longer note.
const LONGEST_NOTE: usize = 1024;
/// What is left of an object's name in the name of an event, which has an ending.
const LONGEST_NAME: usize = 220;

/// Writes events.
pub struct Events {
    client: Client,
    replica: String,
    said: Mutex<Said>,
}

#[derive(Default)]
struct Said {
    events: HashMap<u64, Once>,
    swept: Timestamp,
}

/// An event that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Once {
    name: String,
    times: i32,
    last: Timestamp,
}

impl Events {
    /// As this replica.
    #[must_use]
    pub fn new(client: Client, replica: &str) -> Self {
        Self { client, replica: replica.to_owned(), said: Mutex::default() }
    }

    /// Tells something of an object: why, in words, and what was done or is to be done.
    pub async fn publish(
        &self,
        reason: impl Reason,
        note: &str,
        action: &str,
        about: &ObjectReference,
    ) -> kube::Result<()> {
        let word: &str = reason.into();
        debug_assert!(reason.says(note), "{word}: not listed: {note}");
        let event = Event {
            type_: if reason.is_warning() { EventType::Warning } else { EventType::Normal },
            reason: word.to_owned(),
            note: Some(note.to_owned()),
            action: action.to_owned(),
            secondary: None,
        };
        self.write(&event, about).await
    }

    async fn write(&self, event: &Event, about: &ObjectReference) -> kube::Result<()> {
        let namespace = about.namespace.as_deref().unwrap_or("default");
        let api: Api<Written> = Api::namespaced(self.client.clone(), namespace);
        let (key, now) = (key(event, about), clock::now());
        let once = self.said().say(key, about, now);
        if once.times > 1 {
            let series = EventSeries { count: once.times, last_observed_time: MicroTime(now) };
            let patch = Patch::Merge(json!({"series": series}));
            match api.patch(&once.name, &PatchParams::default(), &patch).await {
                // The API server keeps events for a while only.
                Err(kube::Error::Api(status)) if status.code == 404 => {}
                other => return other.map(drop),
            }
        }
        let written = self.written(event, about, namespace, once.name, now);
        let created = api.create(&PostParams::default(), &written).await;
        if created.is_err() {
            self.said().events.remove(&key);
        }
        created.map(drop)
    }

    fn written(
        &self,
        event: &Event,
        about: &ObjectReference,
        namespace: &str,
        name: String,
        now: Timestamp,
    ) -> Written {
        let type_ = match event.type_ {
            EventType::Normal => "Normal",
            EventType::Warning => "Warning",
        };
        Written {
            metadata: ObjectMeta {
                name: Some(name),
                namespace: Some(namespace.to_owned()),
                ..ObjectMeta::default()
            },
            type_: Some(type_.to_owned()),
            reason: Some(event.reason.clone()),
            action: Some(event.action.clone()),
            note: event.note.as_deref().map(|note| cut(note, LONGEST_NOTE).to_owned()),
            event_time: Some(MicroTime(now)),
            regarding: Some(about.clone()),
            related: event.secondary.clone(),
            reporting_controller: Some("ironward".to_owned()),
            reporting_instance: Some(self.replica.clone()),
            ..Written::default()
        }
    }

    fn said(&self) -> std::sync::MutexGuard<'_, Said> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Said {
    /// Which event it is, and how often that was said, this time among them.
    fn say(&mut self, key: u64, about: &ObjectReference, now: Timestamp) -> Once {
        let is_recent = |once: &Once| now.duration_since(once.last) < MEMORY;
        if now.duration_since(self.swept) > SWEEP {
            self.events.retain(|_, once| is_recent(once));
            self.swept = now;
        }
        let before = self.events.remove(&key).filter(is_recent);
        let once = before.map_or_else(
            || Once { name: name(about, now), times: 1, last: now },
            |once| Once { times: once.times.saturating_add(1), last: now, ..once },
        );
        self.events.insert(key, once.clone());
        once
    }
}

fn key(event: &Event, about: &ObjectReference) -> u64 {
    let mut hasher = DefaultHasher::new();
    (&about.uid, &about.namespace, &about.name).hash(&mut hasher);
    (&event.reason, &event.note, &event.action).hash(&mut hasher);
    matches!(event.type_, EventType::Warning).hash(&mut hasher);
    hasher.finish()
}

/// As kubectl's users know them: the object's, and when it was.
fn name(about: &ObjectReference, now: Timestamp) -> String {
    let of = cut(about.name.as_deref().unwrap_or("object"), LONGEST_NAME);
    format!("{}.{:x}", of.trim_end_matches(['.', '-']), now.as_nanosecond())
}

fn cut(text: &str, longest: usize) -> &str {
    text.get(..text.floor_char_boundary(longest)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn about(name: &str) -> ObjectReference {
        ObjectReference { name: Some(name.to_owned()), ..ObjectReference::default() }
    }

    fn event(note: &str) -> Event {
        Event {
            type_: EventType::Normal,
            reason: "PowerOn".to_owned(),
            note: Some(note.to_owned()),
            action: "available".to_owned(),
            secondary: None,
        }
    }

    #[test]
    fn what_is_said_again_is_counted_until_it_is_long_ago() {
        let (mut said, host) = (Said::default(), about("a"));
        let key = key(&event("on"), &host);
        let first = said.say(key, &host, at(1_000_000));
        let second = said.say(key, &host, at(1_000_300));
        assert_eq!((first.times, second.times), (1, 2));
        assert_eq!(first.name, second.name);
        let later = said.say(key, &host, at(1_000_700));
        assert_eq!(later.times, 1);
        assert_ne!(later.name, first.name);
    }

    #[test]
    fn nothing_is_remembered_for_long() {
        let (mut said, host) = (Said::default(), about("a"));
        for key in 0..1_000 {
            said.say(key, &host, at(1_000_000));
        }
        said.say(2_000, &host, at(1_001_000));
        assert_eq!(said.events.len(), 1);
    }

    #[test]
    fn another_object_or_another_note_is_another_event() {
        let keys = [
            key(&event("on"), &about("a")),
            key(&event("on"), &about("b")),
            key(&event("off"), &about("a")),
        ];
        assert!(keys[0] != keys[1] && keys[0] != keys[2]);
    }

    #[test]
    fn names_and_notes_are_as_long_as_they_may_be() {
        let name = name(&about(&format!("{}-x", "a".repeat(219))), at(1));
        assert!(name.len() < 253 && name.starts_with(&format!("{}.", "a".repeat(219))), "{name}");
        assert_eq!(cut("äöü", 3), "ä");
        assert_eq!(cut("abc", 9), "abc");
    }
}
