//! What is long or many is written short in a case: `$id`, `$times`, `$repeat`.

use anyhow::{Context, Result};
use serde_json::{Map, Value};

/// Puts the id in the place of `$id`, and copies in the place of an element with `$times`.
pub(super) fn spelt_out(value: Value, id: &str) -> Result<Value> {
    Ok(match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
        Value::String(text) => Value::String(repeated(&text.replace("$id", id))?),
        Value::Array(elements) => {
            let mut all = Vec::new();
            for mut element in elements {
                let times = element.as_object_mut().and_then(|fields| fields.remove("$times"));
                match times.as_ref().and_then(Value::as_u64) {
                    None => all.push(spelt_out(element, id)?),
                    Some(times) => {
                        for number in 1..=times {
                            all.push(spelt_out(numbered(&element, number), id)?);
                        }
                    }
                }
            }
            Value::Array(all)
        }
        Value::Object(fields) => {
            let mut all = Map::new();
            for (key, value) in fields {
                all.insert(repeated(&key.replace("$id", id))?, spelt_out(value, id)?);
            }
            Value::Object(all)
        }
    })
}

fn numbered(value: &Value, number: u64) -> Value {
    match value {
        Value::String(text) => Value::String(text.replace("$n", &number.to_string())),
        Value::Object(fields) => {
            fields.iter().map(|(key, value)| (key.clone(), numbered(value, number))).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => value.clone(),
    }
}

/// `$repeat<x|3>` is `xxx`.
fn repeated(text: &str) -> Result<String> {
    let mut done = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("$repeat<") {
        let (inside, behind) = after.split_once('>').context("$repeat<text|times> ends with >")?;
        let (what, times) = inside.split_once('|').context("$repeat<text|times> has a |")?;
        done.push_str(before);
        done.push_str(&what.repeat(times.trim().parse().context("times is a number")?));
        rest = behind;
    }
    done.push_str(rest);
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_long_or_many_is_written_short() {
        let short = json!({ "list": [{ "$times": 2, "e": "c$n of $id" }], "x": "$repeat<ab|3>!" });
        let long = json!({ "list": [{ "e": "c1 of a" }, { "e": "c2 of a" }], "x": "ababab!" });
        assert_eq!(spelt_out(short, "a").unwrap(), long);
    }

    #[test]
    fn a_repetition_without_a_number_is_told() {
        assert!(spelt_out("$repeat<ab|x>".into(), "a").is_err());
    }
}
