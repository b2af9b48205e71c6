//! What is secret in requests to Ironic, and how it is kept out of whatever people see.

use serde_json::{Map, Value};

/// What Ironic itself writes in place of a secret.
pub const MASK: &str = "******";

/// Fields whose name has one of these in it hold secrets.
const SECRET_WORDS: [&str; 6] =
    ["password", "secret", "token", "configdrive", "user_data", "snmp_community"];

/// Shorter ones are words of the language as well: masking them would only garble messages.
const SHORTEST: usize = 4;

fn is_secret(field: &str) -> bool {
    SECRET_WORDS.iter().any(|word| field.contains(word))
}

/// Masks the secrets among fields; Ironic does it itself unless its policy is told otherwise.
pub fn mask(fields: &mut Map<String, Value>) {
    for (name, value) in fields.iter_mut() {
        if is_secret(name) && !value.is_null() {
            *value = Value::from(MASK);
        }
    }
}

/// The secrets in the body of a request: those that an answer may repeat.
#[must_use]
pub fn secrets_in(body: &Value) -> Vec<String> {
    let mut found = Vec::new();
    collect(body, false, &mut found);
    found
}

fn collect(value: &Value, secret: bool, found: &mut Vec<String>) {
    match value {
        Value::String(text) if secret => found.extend(text.lines().map(str::to_owned)),
        Value::Array(items) => items.iter().for_each(|item| collect(item, secret, found)),
        Value::Object(fields) => {
            // A JSON patch names the field beside its value.
            let path = fields.get("path").and_then(Value::as_str).unwrap_or_default();
            for (name, value) in fields {
                let secret = secret || is_secret(name) || (name == "value" && is_secret(path));
                collect(value, secret, found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// A text with every secret masked.
#[must_use]
pub fn redact(text: &str, secrets: &[String]) -> String {
    let mut secrets: Vec<&str> = secrets.iter().map(|secret| secret.trim()).collect();
    secrets.retain(|secret| secret.len() >= SHORTEST && *secret != MASK);
    // The longest first: one may be a part of another.
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret, MASK))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_ironic_repeats_of_a_request_is_masked() {
        let body = json!({
            "name": "default~worker-0",
            "driver_info": {"redfish_username": "admin", "redfish_password": "correct horse"},
            "configdrive": {"user_data": "#cloud-config\ntoken: abcdef.0123456789\n"},
        });
        let said =
            "Schema error for {'redfish_password': 'correct horse'} and token: abcdef.0123456789";
        assert_eq!(
            redact(said, &secrets_in(&body)),
            "Schema error for {'redfish_password': '******'} and ******"
        );
    }

    #[test]
    fn the_values_of_a_patch_are_secret_by_their_path() {
        let patch = json!([
            {"op": "add", "path": "/driver_info/ipmi_password", "value": "battery staple"},
            {"op": "add", "path": "/driver_info/ipmi_username", "value": "root"},
        ]);
        assert_eq!(secrets_in(&patch), ["battery staple"]);
        let whole =
            json!([{"op": "add", "path": "/driver_info", "value": {"ipmi_password": "staple"}}]);
        assert_eq!(secrets_in(&whole), ["staple"]);
    }

    #[test]
    fn short_words_and_masks_garble_no_message() {
        assert_eq!(redact("a bmc said no", &["a".into(), String::new()]), "a bmc said no");
    }

    #[test]
    fn of_two_secrets_the_longer_is_masked_first() {
        let secrets = ["horse".to_owned(), "horse battery".to_owned()];
        assert_eq!(redact("horse battery", &secrets), MASK);
    }

    #[test]
    fn fields_are_masked_by_name() {
        let mut fields = json!({"redfish_password": "x", "redfish_address": "https://b"});
        mask(fields.as_object_mut().unwrap());
        assert_eq!(fields, json!({"redfish_password": MASK, "redfish_address": "https://b"}));
    }
}
