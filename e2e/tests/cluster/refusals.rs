//! Bad objects are refused by the schema with words that a person understands; near misses are not refused.
//! The objects and the words are in `e2e/objects/*.yaml`.

use ironward_e2e::cluster;
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    /// Why it is refused, or why it is not.
    case: String,
    object: Value,
    /// What the API server must say.
    #[serde(default)]
    says: Vec<String>,
}

#[test]
fn bad_objects_are_refused_with_words_that_help() {
    let wrong: Vec<String> = cases(include_str!("../../objects/refused.yaml"))
        .into_iter()
        .filter_map(|case| {
            assert!(!case.says.is_empty(), "{}: what must it say?", case.case);
            let (admitted, answer) = dry_run(&case.object);
            let silent = case.says.iter().find(|words| !answer.contains(words.as_str()));
            match (admitted, silent) {
                (true, _) => Some(format!("{}: was not refused", case.case)),
                (false, Some(words)) => {
                    Some(format!("{}: does not say `{words}`:\n{answer}", case.case))
                }
                (false, None) => None,
            }
        })
        .collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn near_misses_are_not_refused() {
    let wrong: Vec<String> = cases(include_str!("../../objects/accepted.yaml"))
        .into_iter()
        .filter_map(|case| {
            let (admitted, answer) = dry_run(&case.object);
            (!admitted).then(|| format!("{}:\n{answer}", case.case))
        })
        .collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

fn cases(text: &str) -> Vec<Case> {
    serde_saphyr::from_str(text).unwrap()
}

fn dry_run(object: &Value) -> (bool, String) {
    let mut object = object.clone();
    // A case may leave out the name that does not matter to it.
    object["metadata"]["name"]
        .as_str()
        .is_none()
        .then(|| object["metadata"]["name"] = "case".into());
    let kubectl = cluster::shared().unwrap().kubectl();
    let create = ["create", "--dry-run=server", "--filename", "-"];
    let answer = kubectl.run_with_input(&create, &object.to_string()).unwrap();
    (answer.success, answer.err)
}
