//! Whole policies against what kube-apiserver 1.36.3 did with them: `policy/api-server.jsonl` has, line
//! by line, the documents, the request, and the API server's answer: what it refused at create, or the
//! verdict with its message, reason and code, the warnings, the audit annotations, and the object as
//! it was to be stored. The first line has the CRD and the namespace that all requests are about.

#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test that cannot go on fails"
)]

use ironward::policy::{
    Directory, Facts, File, KnownFacts, PolicySet, Question, Request, Schemas, Scope, Which,
    cel::authorizer::Decision, json::Json,
};
use serde_json::{Map, Value, json};

const RECORDED: &str = include_str!("policy/api-server.jsonl");

#[test]
fn the_engine_answers_as_the_api_server_did() {
    let mut lines = RECORDED.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let common = lines.next().unwrap();
    let mut differences = Vec::new();
    let mut count = 0;
    for case in lines {
        count += 1;
        let (got, want) = match PolicySet::compile(&directory(&[file(&content(&case))]), &[]) {
            Err(problems) => {
                let got = problems
                    .iter()
                    .map(|problem| format!("{}: {}", problem.field, problem.message))
                    .collect::<Vec<_>>();
                (json!(sorted(got)), json!(sorted(texts(&case["problems"]))))
            }
            Ok(set) => (answer(&set, &common, &case), case["want"].clone()),
        };
        if got != want {
            differences.push(format!("{}\n   got {got}\n  want {want}", case["name"]));
        }
    }
    assert!(count >= 240, "only {count} cases are left");
    assert!(differences.is_empty(), "{} differ:\n{}", differences.len(), differences.join("\n"));
}

fn content(case: &Value) -> String {
    let documents = case["documents"].as_array().unwrap().iter().map(Value::to_string);
    documents.collect::<Vec<_>>().join("\n---\n")
}

fn file(content: &str) -> File<'_> {
    File { name: "case.yaml", content }
}

fn directory<'a>(user: &'a [File<'a>]) -> Directory<'a> {
    Directory { user, ..Directory::default() }
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(|it| it.as_str().map(str::to_owned)).collect()
}

fn sorted(mut texts: Vec<String>) -> Vec<String> {
    texts.sort();
    texts
}

/// The request in full: what is the same in all of them is not in the records.
fn review(case: &Value) -> Value {
    let operation = case["request"]["operation"].as_str().unwrap();
    let options = match operation {
        "CREATE" => "CreateOptions",
        "UPDATE" => "UpdateOptions",
        _ => "DeleteOptions",
    };
    let kind = json!({"group": "example.com", "version": "v1", "kind": "Thing"});
    let resource = json!({"group": "example.com", "version": "v1", "resource": "things"});
    let mut review = json!({
        "uid": "u", "kind": kind, "requestKind": kind, "resource": resource,
        "requestResource": resource, "namespace": "t1", "dryRun": true,
        "userInfo": {"username": "admin", "uid": "1",
            "groups": ["system:masters", "system:authenticated"]},
        "options": {"kind": options, "apiVersion": "meta.k8s.io/v1", "dryRun": ["All"]},
    });
    let own = case["request"].as_object().unwrap().clone();
    review.as_object_mut().unwrap().extend(own);
    review
}

/// First the mutating policies, then the validating ones on what they left.
fn answer(set: &PolicySet, common: &Value, case: &Value) -> Value {
    let schemas = Schemas::from_crds([&common["crd"]]);
    let mut facts = KnownFacts::default();
    facts.namespaces.insert("t1".to_owned(), Some(common["namespace"].clone()));
    let mut review = review(case);
    let mutated = asked(&mut facts, case, |facts| {
        set.mutate(&Request::from_json(&review).unwrap(), facts, &schemas)
    });
    let refusal = |refusal: ironward::policy::Refusal| {
        json!({"code": refusal.code, "reason": refusal.reason.to_string(),
            "message": refusal.message, "causes": refusal.causes})
    };
    let mut answer = json!({"warnings": [], "annotations": {}});
    if let Some(refused) = mutated.as_api_server() {
        answer["refusal"] = refusal(refused);
        return answer;
    }
    let patch = mutated.patch(&Request::from_json(&review).unwrap());
    let object = mutated.object.as_ref().map(|object| Json::from(object).to_value());
    json_patch::patch(&mut review["object"], &patch).unwrap();
    if let Some(object) = object {
        assert_eq!(review["object"], object, "the patch leads to the object");
    }
    let request = Request::from_json(&review).unwrap();
    let verdict = asked(&mut facts, case, |facts| set.validate(&request, facts));
    match verdict.as_api_server(&request) {
        Some(refused) => answer["refusal"] = refusal(refused),
        None => answer["object"] = review["object"].clone(),
    }
    answer["warnings"] = verdict.warnings.iter().map(|warning| json!(warning.text())).collect();
    answer["annotations"] = json!(verdict.api_server_annotations());
    answer
}

/// Repeats an evaluation until nothing is asked any more.
fn asked<T>(
    facts: &mut KnownFacts,
    case: &Value,
    evaluate: impl Fn(&dyn Facts) -> Result<T, Vec<Question>>,
) -> T {
    for _ in 0..50 {
        match evaluate(facts) {
            Ok(answer) => return answer,
            Err(questions) => {
                for question in questions {
                    learn(facts, case, question);
                }
            }
        }
    }
    panic!("{}: the questions have no end", case["name"]);
}

fn learn(facts: &mut KnownFacts, case: &Value, question: Question) {
    match question {
        Question::Namespace(name) => {
            facts.namespaces.insert(name, None);
        }
        Question::ParamScope(kind) => {
            let scope = match kind.kind.as_str() {
                "ConfigMap" => Some(Scope::Namespaced),
                "ClusterRole" => Some(Scope::Cluster),
                _ => None,
            };
            facts.param_scopes.insert(kind, scope);
        }
        Question::Params(query) => {
            let nothing = Map::new();
            let objects = case["objects"].as_array().into_iter().flatten();
            let found = objects.filter(|object| {
                let metadata = object["metadata"].as_object().unwrap_or(&nothing);
                let is_there =
                    query.namespace.as_deref().is_none_or(|it| metadata["namespace"] == it);
                is_there
                    && match &query.which {
                        Which::Named(name) => metadata["name"] == name.as_str(),
                        Which::Selected(selector) => selector
                            .match_labels
                            .iter()
                            .all(|(key, value)| metadata["labels"][key] == value.as_str()),
                    }
            });
            let found = found.cloned().collect();
            facts.params.insert(*query, found);
        }
        Question::Authorization(question) => {
            let decision =
                Decision { allowed: true, denied: false, reason: String::new(), error: None };
            facts.authorizations.insert(*question, decision);
        }
    }
}
