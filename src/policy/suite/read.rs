//! Reads a test file strictly: a word that is not known is a mistake, and said with its place.

#![allow(
    clippy::wildcard_enum_match_arm,
    reason = "of the forms of a value, few fit in each place"
)]

use std::str::FromStr;

use serde_json::{Map, Value, json};

use super::{
    Case, Policies, Suite,
    expect::{Expectation, Pattern, Word},
};
use crate::policy::{
    problem::Problem,
    request::Operation,
    suggest::closest,
    trial::{Attempt, Authorized, Permission, Surroundings, User, placed},
    yaml::{self, Entry, Node, Place, Tree},
};

const OF_FILE: [&str; 3] = ["policies", "given", "cases"];
const GIVEN: [&str; 8] =
    ["object", "oldObject", "operation", "user", "namespace", "params", "authorized", "stored"];
const EXPECT: [&str; 5] = ["verdict", "messages", "warnings", "object", "patch"];
const PERMISSION: [&str; 7] =
    ["verb", "group", "resource", "subresource", "namespace", "name", "path"];

/// The tests of a file, or everything that is wrong with it.
pub fn read(file: &str, content: &str) -> Result<Suite, Vec<Problem>> {
    let mut reader = Reader { file, content, problems: Vec::new() };
    let roots = match yaml::read(content) {
        Ok(roots) => roots,
        Err(faults) => {
            for fault in faults {
                reader.problem(fault.place, "", &fault.message);
            }
            return Err(reader.problems);
        }
    };
    let mut suite = Suite { policies: Policies::default(), cases: Vec::new() };
    for root in &roots {
        reader.known(root, &OF_FILE, "");
        match root.text("policies") {
            None | Some("own") => {}
            Some("all") => suite.policies = Policies::All,
            Some(_) => reader.problem(root.place, "policies", "must be all or own"),
        }
        let given = root.get("given").map(|entry| &entry.node);
        if let Some(given) = given {
            reader.known(given, &GIVEN, "given");
        }
        let base = Base::new(given);
        let Some(Tree::List(cases)) = root.get("cases").map(|it| &it.node.tree) else {
            reader.problem(root.place, "cases", "is missing: a list of cases");
            continue;
        };
        for (index, case) in cases.iter().enumerate() {
            let case = reader.case(case, &format!("cases[{index}]"), &base);
            suite.cases.extend(case);
        }
    }
    if reader.problems.is_empty() { Ok(suite) } else { Err(reader.problems) }
}

/// What all cases of a file begin with.
struct Base {
    object: Value,
    old_object: Value,
    rest: Map<String, Value>,
}

impl Base {
    fn new(given: Option<&Node>) -> Self {
        let mut rest = match given.map(Node::to_json) {
            Some(Value::Object(fields)) => fields,
            _ => Map::new(),
        };
        let object = rest.remove("object").unwrap_or_else(|| json!({}));
        let old_object = merged(&object, &rest.remove("oldObject").unwrap_or_else(|| json!({})));
        Self { object, old_object, rest }
    }

    fn get(&self, case: &Node, key: &str) -> Option<Value> {
        let own = case.get(key).map(|entry| entry.node.to_json());
        own.or_else(|| self.rest.get(key).cloned()).filter(|value| !value.is_null())
    }
}

fn merged(base: &Value, over: &Value) -> Value {
    let mut merged = base.clone();
    json_patch::merge(&mut merged, over);
    merged
}

struct Reader<'a> {
    file: &'a str,
    content: &'a str,
    problems: Vec<Problem>,
}

impl Reader<'_> {
    fn problem(&mut self, place: Place, field: &str, message: &str) {
        self.suggest(place, field, message, None);
    }

    fn suggest(&mut self, place: Place, field: &str, message: &str, meant: Option<&str>) {
        let line = self.content.lines().nth(place.line.saturating_sub(1));
        self.problems.push(Problem {
            file: self.file.to_owned(),
            place,
            field: field.to_owned(),
            message: message.to_owned(),
            excerpt: line.unwrap_or_default().to_owned(),
            suggestion: meant.map(|meant| format!("did you mean {meant:?}?")),
        });
    }

    /// Complains about every other word.
    fn known(&mut self, node: &Node, words: &[&str], path: &str) {
        let Tree::Map(entries) = &node.tree else {
            return self.problem(node.place, path, "must be an object");
        };
        for Entry { key, place, .. } in entries {
            if !words.contains(&key.as_str()) {
                let field = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                let meant = closest(key, words.iter().copied());
                self.suggest(*place, &field, "is not known here", meant);
            }
        }
    }

    fn case(&mut self, node: &Node, path: &str, base: &Base) -> Option<Case> {
        let words: Vec<&str> = GIVEN.iter().copied().chain(["name", "expect"]).collect();
        self.known(node, &words, path);
        let Some(name) = node.text("name") else {
            self.problem(
                node.place,
                &format!("{path}.name"),
                "is missing: say what the case shows",
            );
            return None;
        };
        let part = |key: &str, base: &Value| {
            let own = node.get(key).map(|entry| entry.node.to_json())?;
            (!own.is_null()).then(|| merged(base, &own))
        };
        let old_object = part("oldObject", &base.old_object);
        let is_delete = node.get("object").is_none() && old_object.is_some();
        let object = match node.get("object") {
            None if is_delete => None,
            None => Some(base.object.clone()),
            Some(_) => part("object", &base.object),
        };
        let operation = self.operation(node, path, base);
        let namespace = base.get(node, "namespace").unwrap_or_else(|| json!({}));
        let attempt = Attempt {
            object,
            old_object,
            operation,
            user: self.user(node, path, base),
            namespace: namespace["metadata"]["name"].as_str().unwrap_or_default().to_owned(),
        };
        let surroundings = self.surroundings(node, path, base, &attempt, &namespace);
        let expect = self.expectation(node, path);
        Some(Case { name: name.to_owned(), line: node.place.line, attempt, surroundings, expect })
    }

    fn operation(&mut self, node: &Node, path: &str, base: &Base) -> Option<Operation> {
        let value = base.get(node, "operation")?;
        let word = value.as_str().unwrap_or_default();
        let operation = Operation::from_str(word).ok();
        if operation.is_none() {
            let meant = closest(word, ["CREATE", "UPDATE", "DELETE", "CONNECT"]);
            self.suggest(node.place, &format!("{path}.operation"), "is no operation", meant);
        }
        operation
    }

    fn user(&mut self, node: &Node, path: &str, base: &Base) -> User {
        if let Some(user) = node.get("user") {
            self.known(&user.node, &["username", "groups"], &format!("{path}.user"));
        }
        let mut user = User::default();
        if let Some(value) = base.get(node, "user") {
            if let Some(name) = value["username"].as_str() {
                name.clone_into(&mut user.username);
            }
            if let Some(groups) = value["groups"].as_array() {
                user.groups = groups.iter().filter_map(Value::as_str).map(str::to_owned).collect();
            }
        }
        user
    }

    /// All that there is: what a case does not mention is not there.
    fn surroundings(
        &mut self,
        node: &Node,
        path: &str,
        base: &Base,
        attempt: &Attempt,
        namespace: &Value,
    ) -> Surroundings {
        let mut objects = match base.get(node, "params") {
            Some(Value::Array(params)) => params,
            Some(param @ Value::Object(_)) => vec![param],
            _ => Vec::new(),
        };
        let subject = attempt.object.as_ref().or(attempt.old_object.as_ref());
        let name = subject
            .and_then(|object| object["metadata"]["namespace"].as_str())
            .unwrap_or(if attempt.namespace.is_empty() { "default" } else { &attempt.namespace });
        objects.push(merged(
            &json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {
                "name": name, "labels": {"kubernetes.io/metadata.name": name}}}),
            namespace,
        ));
        let stored = match base.get(node, "stored") {
            Some(Value::Array(stored)) => stored,
            Some(one @ Value::Object(_)) => vec![one],
            _ => Vec::new(),
        };
        // Like the object that is sent, each begins with what is given.
        let stored = stored.iter().map(|it| placed(&merged(&base.object, it), name)).collect();
        let authorized = Authorized::To(self.permissions(node, path, base));
        Surroundings { objects, stored, authorized, is_complete: true }
    }

    fn permissions(&mut self, node: &Node, path: &str, base: &Base) -> Vec<Permission> {
        if let Some(Tree::List(items)) = node.get("authorized").map(|entry| &entry.node.tree) {
            for item in items {
                self.known(item, &PERMISSION, &format!("{path}.authorized"));
            }
        }
        let permission = |value: &Value| {
            let text = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
            Permission {
                verb: text("verb"),
                group: text("group"),
                resource: text("resource"),
                subresource: text("subresource"),
                namespace: text("namespace"),
                name: text("name"),
                path: text("path"),
            }
        };
        match base.get(node, "authorized") {
            Some(Value::Bool(true)) => vec![Permission::default()],
            Some(Value::Array(items)) => items.iter().map(permission).collect(),
            Some(item @ Value::Object(_)) => vec![permission(&item)],
            _ => Vec::new(),
        }
    }

    fn expectation(&mut self, node: &Node, path: &str) -> Expectation {
        let path = format!("{path}.expect");
        let Some(entry) = node.get("expect") else {
            self.problem(node.place, &path, "is missing: say what is to come of it, such as Allow");
            return Expectation::default();
        };
        let expect = &entry.node;
        if let Tree::Text(word) = &expect.tree {
            return Expectation {
                verdict: self.word(word, expect.place, &path),
                ..Expectation::default()
            };
        }
        self.known(expect, &EXPECT, &path);
        let json = |key: &str| expect.get(key).map(|entry| entry.node.to_json());
        let verdict = expect.get("verdict").and_then(|entry| match &entry.node.tree {
            Tree::Text(word) => self.word(word, entry.place, &format!("{path}.verdict")),
            _ => None,
        });
        Expectation {
            verdict,
            messages: self.patterns(expect, "messages", &path),
            warnings: self.patterns(expect, "warnings", &path),
            object: json("object"),
            patch: json("patch"),
        }
    }

    fn word(&mut self, word: &str, place: Place, path: &str) -> Option<Word> {
        let known = Word::from_str(word).ok();
        if known.is_none() {
            let meant = closest(word, ["Allow", "Warn", "Deny"]);
            self.suggest(place, path, "must be Allow, Warn or Deny", meant);
        }
        known
    }

    fn patterns(&mut self, expect: &Node, key: &str, path: &str) -> Option<Vec<Pattern>> {
        let entry = expect.get(key)?;
        let items = match &entry.node.tree {
            Tree::List(items) => items.as_slice(),
            _ => std::slice::from_ref(&entry.node),
        };
        let mut patterns = Vec::new();
        for item in items {
            let read = match &item.tree {
                Tree::Text(text) => Pattern::new(text),
                _ => Err("must be a text, or /a regular expression/".to_owned()),
            };
            match read {
                Ok(pattern) => patterns.push(pattern),
                Err(message) => self.problem(item.place, &format!("{path}.{key}"), &message),
            }
        }
        Some(patterns)
    }
}
