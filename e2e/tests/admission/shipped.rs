//! Every case of every shipped policy's own tests, put to the real API server: what the tests say without a
//! cluster is what users are told by one.
//!
//! What the API server refuses by the kind's schema never reaches a rule; each policy must still be seen
//! to do what it is for.

use crate::stage::{Stage, shared};
use http::Method;
use ironward::policy::{
    File, PolicySet, extensions, shipped,
    suite::{self, Case, Pattern, Policies, Word},
};
use ironward_e2e::judge::{
    recording::UserInfo,
    wire::{Message, Reply, Wire},
};
use ironward_e2e::{cluster, metal3};
use serde_json::{Value, json};
use std::{collections::BTreeMap, fmt::Write as _, fs, path::Path, time::Duration};

const POLICIES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../policies");
const OURSELVES: &str = "system:serviceaccount:ironward-system:ironward";
const PATIENCE: Duration = Duration::from_secs(4);

/// What became of the cases of one policy file.
#[derive(Default)]
struct Tally {
    seen: usize,
    as_expected: usize,
    /// Refused by the schema, or of a kind that is not installed.
    before_us: usize,
    wrong: Vec<String>,
}

#[test]
fn what_policy_tests_say_is_what_the_api_server_tells_users() {
    let stage = shared();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let tallies = runtime.block_on(put_all(stage));
    let mut report = String::new();
    for (file, tally) in &tallies {
        let Tally { seen, as_expected, before_us, wrong } = tally;
        writeln!(
            report,
            "{file}: {as_expected} as expected, {seen} with an effect, {before_us} refused before us, {} wrong",
            wrong.len()
        )
        .unwrap();
    }
    println!("{report}");
    let wrong: Vec<_> = tallies.values().flat_map(|tally| tally.wrong.clone()).collect();
    assert!(wrong.is_empty(), "{report}\n{}", wrong.join("\n\n"));
    let unseen: Vec<_> =
        tallies.iter().filter(|(_, it)| it.seen == 0).map(|(file, _)| file).collect();
    assert!(unseen.is_empty(), "{report}\nnever seen to do anything: {unseen:?}");
}

async fn put_all(stage: &Stage) -> BTreeMap<String, Tally> {
    let wire = Wire::connect(stage.plane.admin_kubeconfig()).await.unwrap();
    let everybody = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": {"name": "everybody-may-everything"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:authenticated"}],
    });
    wire.create(&everybody).await.unwrap();
    // Not ours, but ours to judge where it is installed.
    let definition = metal3::cluster_api_provider_metal3()
        .unwrap()
        .join("config/crd/bases/infrastructure.cluster.x-k8s.io_metal3datatemplates.yaml");
    let definition = fs::read_to_string(definition).unwrap();
    let kubectl = stage.plane.kubectl();
    kubectl.expect_with_input(&["apply", "--server-side", "--filename", "-"], &definition).unwrap();
    cluster::wait_until_established(&kubectl, &definition).unwrap();
    let mut tallies = BTreeMap::new();
    for file in test_files() {
        let text = fs::read_to_string(&file).unwrap();
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let suite = suite::read(&name, &text).unwrap();
        let policies = match suite.policies {
            Policies::Own => policies_of(suite::policy_file(&name).unwrap()),
            Policies::All => Vec::new(),
        };
        let mut tally = Tally::default();
        for case in &suite.cases {
            let put = Put { wire: &wire, case, policies: &policies };
            put.tally(&mut tally, &name).await;
        }
        tallies.insert(name, tally);
    }
    tallies
}

fn test_files() -> Vec<std::path::PathBuf> {
    let mut files: Vec<_> = fs::read_dir(POLICIES)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            let name = path.file_name().unwrap().to_string_lossy();
            // What is unique is not, on this stage: tests/uniqueness has one of its own.
            suite::is_suite_file(&name) && !name.starts_with("unique-")
        })
        .collect();
    files.sort();
    files
}

/// The names of the policies in a shipped file.
fn policies_of(stem: &str) -> Vec<String> {
    let is_named = |file: &&File<'_>| Path::new(file.name).file_stem().is_some_and(|it| it == stem);
    let file =
        shipped::files().iter().find(is_named).unwrap_or_else(|| panic!("{stem} is not shipped"));
    let documents = PolicySet::check(*file, &extensions()).unwrap();
    documents.iter().map(|document| document.metadata.name.clone()).collect()
}

/// One case, put to the API server; what it made is removed after it.
struct Put<'a> {
    wire: &'a Wire,
    case: &'a Case,
    /// Whose findings count; all if there are none.
    policies: &'a [String],
}

/// What the API server said.
struct Said {
    denials: Vec<String>,
    warnings: Vec<String>,
    object: Option<Value>,
    /// Somebody else refused it before the policies could.
    before_us: Option<String>,
}

impl Put<'_> {
    async fn tally(&self, tally: &mut Tally, file: &str) {
        let said = match self.said_in_the_end().await {
            Ok(said) => said,
            Err(reason) => {
                tally.before_us += 1;
                tally.as_expected += 1;
                println!("{file}: {}: not put: {reason}", self.case.name);
                return;
            }
        };
        if let Some(reason) = &said.before_us {
            println!("{file}: {}: {reason}", self.case.name);
            tally.before_us += 1;
            tally.as_expected += 1;
            return;
        }
        let wrong = self.differences(&said);
        if wrong.is_empty() {
            tally.as_expected += 1;
            let changes = self.case.expect.object.is_some() || self.case.expect.patch.is_some();
            if changes || !said.denials.is_empty() || !said.warnings.is_empty() {
                tally.seen += 1;
            }
        } else {
            let Case { name, line, .. } = self.case;
            tally.wrong.push(format!("{file}:{line}: {name}\n  {}", wrong.join("\n  ")));
        }
    }

    /// What is around an object is heard of a moment after it is stored: what is said too early is asked again.
    async fn said_in_the_end(&self) -> Result<Said, String> {
        let mut pause = Duration::ZERO;
        loop {
            let said = self.said(pause).await?;
            let is_heard = self.case.surroundings.objects.is_empty() || pause > PATIENCE;
            if is_heard || said.before_us.is_some() || self.differences(&said).is_empty() {
                return Ok(said);
            }
            pause = (pause * 2).max(Duration::from_millis(250));
        }
    }

    async fn said(&self, pause: Duration) -> Result<Said, String> {
        let attempt = &self.case.attempt;
        let around = self.case.surroundings.objects.iter().filter(|it| it["kind"] != "Namespace");
        let around: Vec<_> = around.map(completed).collect();
        let own = [attempt.object.as_ref(), attempt.old_object.as_ref()].into_iter().flatten();
        let all: Vec<_> = around.iter().chain(own).map(placed).collect();
        self.remove(&all).await?;
        for object in &all {
            let namespace = &object["metadata"]["namespace"];
            let namespace =
                json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
            // It may be there from the case before.
            let _ = self.wire.create(&namespace).await;
        }
        for object in &around {
            let object = placed(object);
            self.as_ourselves(&Method::POST, &collection(&object)?, &object).await?;
        }
        tokio::time::sleep(pause).await;
        let stored = match &attempt.old_object {
            Some(old) => Some(self.store(&completed(old)).await?),
            None => None,
        };
        let reply = self.attempt(stored.as_ref()).await?;
        self.remove(&all).await?;
        Ok(self.read(&reply))
    }

    async fn remove(&self, objects: &[Value]) -> Result<(), String> {
        for object in objects {
            let name = object["metadata"]["name"].as_str().unwrap_or_default();
            let uri = format!("{}/{name}", collection(object)?);
            // What is not there need not be removed.
            if let Ok(mut stored) = self.as_ourselves(&Method::GET, &uri, &Value::Null).await {
                stored["metadata"]["finalizers"] = json!([]);
                let _ = self.as_ourselves(&Method::PUT, &uri, &stored).await;
                let _ = self.as_ourselves(&Method::DELETE, &uri, &json!({})).await;
            }
        }
        Ok(())
    }

    /// Stores an object that nobody judges, with its status, and on its way out if it is.
    async fn store(&self, old: &Value) -> Result<Value, String> {
        let mut old = placed(old);
        let is_going = old["metadata"]["deletionTimestamp"].is_string();
        if let Some(metadata) = old["metadata"].as_object_mut() {
            metadata.remove("deletionTimestamp");
            if is_going && !metadata.contains_key("finalizers") {
                metadata.insert("finalizers".into(), json!(["test.ironward.dev/stays"]));
            }
        }
        let uri = collection(&old)?;
        let mut stored = self.as_ourselves(&Method::POST, &uri, &old).await?;
        let name = stored["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        if old["status"].is_object() {
            stored["status"] = old["status"].clone();
            stored =
                self.as_ourselves(&Method::PUT, &format!("{uri}/{name}/status"), &stored).await?;
        }
        if is_going {
            stored =
                self.as_ourselves(&Method::DELETE, &format!("{uri}/{name}"), &json!({})).await?;
        }
        Ok(stored)
    }

    async fn as_ourselves(
        &self,
        method: &Method,
        uri: &str,
        object: &Value,
    ) -> Result<Value, String> {
        let user = UserInfo {
            username: OURSELVES.into(),
            groups: vec!["system:masters".into()],
            ..UserInfo::default()
        };
        let body = (!object.is_null()).then_some(object);
        let message = Message { method, uri, body, patch: None, audit_id: None };
        let reply = self.wire.send(&user, message).await.map_err(|error| format!("{error:#}"))?;
        match reply.refusal() {
            Some(refusal) => Err(refusal.message),
            None => Ok(reply.body),
        }
    }

    async fn attempt(&self, stored: Option<&Value>) -> Result<Reply, String> {
        let attempt = &self.case.attempt;
        let groups = attempt.user.groups.iter().cloned().chain(["system:authenticated".to_owned()]);
        let user = UserInfo {
            username: attempt.user.username.clone(),
            groups: groups.collect(),
            ..UserInfo::default()
        };
        let (method, object) = match (&attempt.object, stored) {
            (Some(object), None) => (Method::POST, object.clone()),
            (Some(object), Some(_)) => (Method::PUT, object.clone()),
            (None, Some(stored)) => (Method::DELETE, stored.clone()),
            (None, None) => return Err("there is no object".into()),
        };
        let mut object = completed(&placed(&object));
        let mut uri = collection(&object)?;
        if method != Method::POST {
            write!(uri, "/{}", object["metadata"]["name"].as_str().unwrap_or_default()).unwrap();
        }
        if let Some(stored) = stored {
            object["metadata"]["resourceVersion"] = stored["metadata"]["resourceVersion"].clone();
            if stored["metadata"]["deletionTimestamp"].is_string()
                && object["metadata"]["finalizers"].is_null()
                && attempt
                    .old_object
                    .as_ref()
                    .is_some_and(|it| it["metadata"]["finalizers"].is_null())
            {
                object["metadata"]["finalizers"] = stored["metadata"]["finalizers"].clone();
            }
        }
        let body = (method != Method::DELETE).then_some(&object);
        let message = Message { method: &method, uri: &uri, body, patch: None, audit_id: None };
        self.wire.send(&user, message).await.map_err(|error| format!("{error:#}"))
    }

    fn read(&self, reply: &Reply) -> Said {
        let counts =
            |policy: &str| self.policies.is_empty() || self.policies.iter().any(|it| it == policy);
        let mut said =
            Said { denials: Vec::new(), warnings: Vec::new(), object: None, before_us: None };
        for warning in &reply.warnings {
            if let Some((text, policy)) = named(warning)
                && counts(policy)
            {
                said.warnings.push(text.to_owned());
            }
        }
        let Some(refusal) = reply.refusal() else {
            said.object = Some(reply.body.clone());
            return said;
        };
        for cause in &refusal.causes {
            match named(&cause.message) {
                Some((text, policy)) if counts(policy) => {
                    said.denials.push(format!("{}: {text}", cause.field));
                }
                None if counts(&cause.field) && refusal.message.contains("ironward.dev") => {
                    said.denials.push(cause.message.clone());
                }
                Some(_) | None => {}
            }
        }
        if !refusal.message.contains("ironward.dev") {
            said.before_us = Some(refusal.message);
        }
        said
    }

    fn differences(&self, said: &Said) -> Vec<String> {
        let expect = &self.case.expect;
        let mut wrong = Vec::new();
        let mut compare = |what: &str, wanted: &Option<Vec<Pattern>>, found: &[String]| {
            for pattern in wanted.iter().flatten() {
                if !found.iter().any(|text| fits(pattern, text)) {
                    wrong.push(format!("{what} not said: {pattern}; said was {found:?}"));
                }
            }
        };
        compare("denial", &expect.messages, &said.denials);
        compare("warning", &expect.warnings, &said.warnings);
        let word = match (said.denials.is_empty(), said.warnings.is_empty()) {
            (false, _) => Word::Deny,
            (true, false) => Word::Warn,
            (true, true) => Word::Allow,
        };
        if word != expect.word() {
            wrong.push(format!(
                "expected {}, was {word}: {:?} {:?}",
                expect.word(),
                said.denials,
                said.warnings
            ));
        }
        if let (Some(wanted), Some(object)) = (&expect.object, &said.object) {
            lacking(wanted, object, "", &mut wrong);
        }
        if let (Some(wanted), Some(object)) = (&expect.patch, &said.object) {
            lacking(wanted, object, "", &mut wrong);
        }
        wrong
    }
}

/// In a namespace, and without what only the API server gives.
fn placed(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove("uid");
        metadata.remove("resourceVersion");
        metadata.entry("namespace").or_insert_with(|| json!("default"));
    }
    object
}

/// With what the schema asks for and the tests of policies leave out.
fn completed(object: &Value) -> Value {
    let kind = object["kind"].as_str().unwrap_or_default();
    let mut object = object.clone();
    let mut fill = |pointer: &str, rest: Value| {
        let found = object.pointer_mut(pointer).and_then(Value::as_object_mut);
        if let (Some(found), Value::Object(rest)) = (found, rest) {
            for (key, value) in rest {
                found.entry(key).or_insert(value);
            }
        }
    };
    match kind {
        "BareMetalHost" => {
            let status = json!({"errorMessage": "", "poweredOn": false, "operationalStatus": "OK", "provisioning": {}});
            fill("/status", status);
            fill("/status/provisioning", json!({"ID": "", "state": "", "image": {"url": ""}}));
        }
        "Metal3Machine" => fill("/spec", json!({"image": image()})),
        "Metal3MachineTemplate" => fill("/spec/template/spec", json!({"image": image()})),
        "Metal3DataTemplate" => fill("/spec", json!({"clusterName": "edge"})),
        "BareMetalHostDiscovery" => {
            fill("/spec", json!({"resourceNameTemplate": {"hardwareDetails": "serial-number"}}));
        }
        _ => {}
    }
    object
}

fn image() -> Value {
    json!({"url": "http://192.0.2.1/image.qcow2", "checksum": "http://192.0.2.1/image.qcow2.sha256sum"})
}

/// `text [policy]`.
fn named(message: &str) -> Option<(&str, &str)> {
    let (text, policy) = message.strip_suffix(']')?.rsplit_once(" [")?;
    Some((text, policy))
}

fn fits(pattern: &Pattern, text: &str) -> bool {
    match pattern {
        Pattern::Exact(wanted) => wanted == text,
        Pattern::Found(expression) => expression.is_match(text),
    }
}

/// What of `wanted` is not in `object`; null is to be absent.
fn lacking(wanted: &Value, object: &Value, path: &str, wrong: &mut Vec<String>) {
    match wanted {
        Value::Object(fields) if path != ".metadata.namespace" => {
            for (key, value) in fields {
                lacking(value, &object[key.as_str()], &format!("{path}.{key}"), wrong);
            }
        }
        _ if path == ".metadata.namespace" || wanted == object => {}
        Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_) => {
            wrong.push(format!("{path} is {object}, expected {wanted}"));
        }
    }
}

/// Where objects of this kind are kept.
fn collection(object: &Value) -> Result<String, String> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (api_version, kind) = (text("/apiVersion"), text("/kind"));
    let namespace = text("/metadata/namespace");
    let root = if api_version.contains('/') { "/apis" } else { "/api" };
    let plural = match kind {
        "Metal3Metadata" | "HardwareData" => kind.to_lowercase(),
        "BareMetalHostDiscovery" => "baremetalhostdiscoveries".to_owned(),
        _ => kind.to_lowercase() + "s",
    };
    if kind.is_empty() {
        return Err("an object without a kind".into());
    }
    Ok(format!("{root}/{api_version}/namespaces/{namespace}/{plural}"))
}
