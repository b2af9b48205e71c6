//! A YAML or JSON text as a tree in which every value knows its place in the file, so that a
//! problem can be shown where it is. Bounded in depth and size before anything walks it.

#![allow(
    clippy::wildcard_enum_match_arm,
    reason = "of the many events and forms, few mean something in each place"
)]

use std::collections::HashMap;

use serde_json::{Map, Number, Value};
use serde_saphyr::granit_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Span};

use super::scalar::{Scalar, resolve};

/// Deeper than any policy, shallow enough for recursion.
const MAX_DEPTH: usize = 64;
/// Values of one file, aliases expanded.
const MAX_NODES: usize = 200_000;

/// Where something stands in a file. Lines and columns count from one, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Counts from one.
    pub line: usize,
    /// Counts from one, in characters.
    pub column: usize,
    /// Bytes from the start of the file.
    pub(crate) offset: usize,
}

impl Place {
    fn of(marker: &Marker) -> Self {
        Self {
            line: marker.line(),
            column: marker.col() + 1,
            offset: marker.byte_offset().unwrap_or_default(),
        }
    }
}

/// A value and its place.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub tree: Tree,
    pub place: Place,
}

/// What a value is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Tree {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// A key, its place, and what it leads to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    pub key: String,
    pub place: Place,
    pub node: Node,
}

/// What is wrong with a text before it means anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub place: Place,
    pub message: String,
}

impl Node {
    /// The value under a key.
    pub(crate) fn get(&self, key: &str) -> Option<&Entry> {
        match &self.tree {
            Tree::Map(entries) => entries.iter().find(|entry| entry.key == key),
            _ => None,
        }
    }

    /// The text under a key, if it is one.
    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        match &self.get(key)?.node.tree {
            Tree::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The value without its places.
    pub(crate) fn to_json(&self) -> Value {
        match &self.tree {
            Tree::Null => Value::Null,
            Tree::Bool(value) => Value::Bool(*value),
            Tree::Number(value) => Value::Number(value.clone()),
            Tree::Text(value) => Value::String(value.clone()),
            Tree::List(items) => Value::Array(items.iter().map(Self::to_json).collect()),
            Tree::Map(entries) => Value::Object(
                entries
                    .iter()
                    .map(|entry| (entry.key.clone(), entry.node.to_json()))
                    .collect::<Map<_, _>>(),
            ),
        }
    }
}

/// Reads every document of a text. Empty documents are left out, as Kubernetes does.
pub(crate) fn read(text: &str) -> Result<Vec<Node>, Vec<Fault>> {
    let mut builder = Builder::default();
    for next in Parser::new_from_str(text) {
        match next {
            Ok((event, span)) => builder.take(event, &span),
            Err(error) => builder.faults.push(fault_of(&error)),
        }
        if !builder.faults.is_empty() && builder.hopeless {
            break;
        }
    }
    if builder.faults.is_empty() { Ok(builder.documents) } else { Err(builder.faults) }
}

fn fault_of(error: &ScanError) -> Fault {
    let text = error.to_string();
    // The place is printed beside the message, once.
    let message = text.rsplit_once(" at char ").map_or(text.as_str(), |(message, _)| message);
    Fault { place: Place::of(error.marker()), message: message.to_owned() }
}

/// A collection that has begun and not ended.
enum Open {
    List { place: Place, anchor: usize, items: Vec<Node> },
    Map { place: Place, anchor: usize, entries: Vec<Entry>, key: Option<Key> },
}

struct Key {
    text: String,
    place: Place,
    merge: bool,
}

#[derive(Default)]
struct Builder {
    documents: Vec<Node>,
    open: Vec<Open>,
    anchors: HashMap<usize, (Node, usize)>,
    nodes: usize,
    faults: Vec<Fault>,
    hopeless: bool,
}

impl Builder {
    fn take(&mut self, event: Event<'_>, span: &Span) {
        let place = Place::of(&span.start);
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let plain = style == ScalarStyle::Plain && tag.is_none();
                let merge = plain && text == "<<";
                let tree = if plain { self.plain(&text, place) } else { Tree::Text(text.into()) };
                self.finish(Node { tree, place }, anchor, 1, merge);
            }
            Event::SequenceStart(_, anchor, _) => {
                self.deepen(Open::List { place, anchor, items: Vec::new() }, place);
            }
            Event::MappingStart(_, anchor, _) => {
                self.deepen(Open::Map { place, anchor, entries: Vec::new(), key: None }, place);
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(),
            Event::Alias(anchor) => match self.anchors.get(&anchor).cloned() {
                Some((node, size)) => self.finish(Node { place, ..node }, 0, size, false),
                None => self.fault(place, "an anchor may not contain itself"),
            },
            Event::UnresolvedAlias(name) => {
                self.fault(place, &format!("unknown anchor '{name}' referenced"));
            }
            // Where documents begin and end, and comments: no values.
            _ => {}
        }
    }

    fn plain(&mut self, text: &str, place: Place) -> Tree {
        match resolve(text) {
            Scalar::Null => Tree::Null,
            Scalar::Bool(value) => Tree::Bool(value),
            Scalar::Number(value) => Tree::Number(value),
            Scalar::Text => Tree::Text(text.to_owned()),
            Scalar::NotJson => {
                self.fault(place, &format!("json: unsupported value: {text}"));
                Tree::Null
            }
        }
    }

    fn deepen(&mut self, open: Open, place: Place) {
        if self.open.len() >= MAX_DEPTH {
            self.give_up(place, &format!("nested deeper than {MAX_DEPTH} levels"));
        } else {
            self.open.push(open);
        }
    }

    fn close(&mut self) {
        match self.open.pop() {
            Some(Open::List { place, anchor, items }) => {
                let size = 1 + items.len();
                self.finish(Node { tree: Tree::List(items), place }, anchor, size, false);
            }
            Some(Open::Map { place, anchor, entries, .. }) => {
                let size = 1 + entries.len();
                self.finish(Node { tree: Tree::Map(entries), place }, anchor, size, false);
            }
            None => {}
        }
    }

    /// Puts a complete value where it belongs.
    fn finish(&mut self, node: Node, anchor: usize, size: usize, merge: bool) {
        self.nodes += size;
        if self.nodes > MAX_NODES {
            self.give_up(node.place, &format!("more than {MAX_NODES} values"));
            return;
        }
        if anchor != 0 {
            self.anchors.insert(anchor, (node.clone(), weight(&node)));
        }
        let place = node.place;
        let mut duplicate = None;
        match self.open.last_mut() {
            None => {
                if node.tree != Tree::Null {
                    self.documents.push(node);
                }
            }
            Some(Open::List { items, .. }) => items.push(node),
            Some(Open::Map { entries, key, .. }) => match key.take() {
                None => match key_text(&node.tree) {
                    Some(text) => *key = Some(Key { text, place, merge }),
                    None => self.fault(place, "a key must be a scalar"),
                },
                Some(Key { merge: true, .. }) => merge_into(entries, &node),
                Some(Key { text, place, .. }) => {
                    if entries.iter().any(|entry| entry.key == text) {
                        duplicate = Some((place, format!("key {text:?} already set in map")));
                    } else {
                        entries.push(Entry { key: text, place, node });
                    }
                }
            },
        }
        if let Some((place, message)) = duplicate {
            self.fault(place, &message);
        }
    }

    fn fault(&mut self, place: Place, message: &str) {
        self.faults.push(Fault { place, message: message.to_owned() });
    }

    fn give_up(&mut self, place: Place, message: &str) {
        self.fault(place, message);
        self.hopeless = true;
    }
}

fn weight(node: &Node) -> usize {
    match &node.tree {
        Tree::List(items) => 1 + items.iter().map(weight).sum::<usize>(),
        Tree::Map(entries) => 1 + entries.iter().map(|entry| weight(&entry.node)).sum::<usize>(),
        Tree::Null | Tree::Bool(_) | Tree::Number(_) | Tree::Text(_) => 1,
    }
}

fn key_text(tree: &Tree) -> Option<String> {
    match tree {
        Tree::Text(text) => Some(text.clone()),
        Tree::Bool(value) => Some(value.to_string()),
        Tree::Number(value) => Some(value.to_string()),
        Tree::Null => Some("null".to_owned()),
        Tree::List(_) | Tree::Map(_) => None,
    }
}

/// YAML's `<<`: what is written out wins over what is merged in.
fn merge_into(entries: &mut Vec<Entry>, from: &Node) {
    match &from.tree {
        Tree::Map(merged) => {
            for entry in merged {
                if !entries.iter().any(|own| own.key == entry.key) {
                    entries.push(entry.clone());
                }
            }
        }
        Tree::List(items) => items.iter().for_each(|item| merge_into(entries, item)),
        Tree::Null | Tree::Bool(_) | Tree::Number(_) | Tree::Text(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::one("a: 1\n", vec![json!({"a": 1})])]
    #[case::many("a: 1\n---\nb: yes\n", vec![json!({"a": 1}), json!({"b": true})])]
    #[case::empty_ones("---\n---\na: 1\n---\n# nothing\n", vec![json!({"a": 1})])]
    #[case::json("{\"a\": [1, \"x\", null]}", vec![json!({"a": [1, "x", null]})])]
    #[case::json_tabs("{\n\t\"a\": [\n\t\t1\n\t]\n}\n", vec![json!({"a": [1]})])]
    #[case::json_escapes("{\"a\": \"\\ud83d\\ude00 \\/\"}", vec![json!({"a": "\u{1f600} /"})])]
    #[case::quoted("a: '1'\nb: \"yes\"\n", vec![json!({"a": "1", "b": "yes"})])]
    #[case::tagged("a: !!str 1\n", vec![json!({"a": "1"})])]
    #[case::alias("a: &x {b: 1}\nc: *x\n", vec![json!({"a": {"b": 1}, "c": {"b": 1}})])]
    #[case::merge("a: &x {b: 1, c: 2}\nd:\n  b: 3\n  <<: *x\n",
        vec![json!({"a": {"b": 1, "c": 2}, "d": {"b": 3, "c": 2}})])]
    fn documents_are_read(#[case] text: &str, #[case] want: Vec<Value>) {
        let got: Vec<_> = read(text).unwrap().iter().map(Node::to_json).collect();
        assert_eq!(got, want);
    }

    #[test]
    fn a_value_knows_its_place() {
        let documents = read("a: 1\nb:\n  - c: |\n      x\n").unwrap();
        let Tree::List(items) = &documents[0].get("b").unwrap().node.tree else { panic!("a list") };
        let entry = items[0].get("c").unwrap();
        assert_eq!((entry.place.line, entry.place.column), (3, 5));
        assert_eq!((entry.node.place.line, entry.node.place.column), (4, 7));
    }

    #[rstest]
    #[case::duplicate("a: 1\na: 2\n", "key \"a\" already set in map", 2)]
    #[case::unclosed("a: [1\n", "unclosed bracket", 1)]
    #[case::infinity("a: .inf\n", "unsupported value", 1)]
    fn what_is_wrong_is_placed(#[case] text: &str, #[case] message: &str, #[case] line: usize) {
        let faults = read(text).unwrap_err();
        assert!(faults[0].message.contains(message), "{faults:?}");
        assert_eq!(faults[0].place.line, line, "{faults:?}");
    }

    #[test]
    fn depth_and_size_are_bounded() {
        assert!(read(&"[".repeat(100_000)).is_err());
        let bomb = "a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n\
             c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n\
             e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]\n";
        assert!(read(bomb).is_err());
    }
}
