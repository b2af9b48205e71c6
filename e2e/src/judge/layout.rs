//! JSON as a person would lay it out: what fits on a line is on a line.

use serde_json::Value;

const WIDTH: usize = 120;

/// The value in lines that are not too long, where that can be.
pub(super) fn lines(value: &Value) -> String {
    let mut out = String::new();
    lay_out(value, 0, 0, &mut out);
    out
}

fn lay_out(value: &Value, depth: usize, taken: usize, out: &mut String) {
    let (open, elements, close): (_, Vec<_>, _) = if let Some(all) = value.as_array() {
        ('[', all.iter().map(|value| (String::new(), value)).collect(), ']')
    } else if let Some(all) = value.as_object() {
        let named = |(key, value)| (format!("{}: ", Value::from(String::clone(key))), value);
        ('{', all.iter().map(named).collect(), '}')
    } else {
        return out.push_str(&value.to_string());
    };
    let flat = value.to_string();
    if elements.is_empty() || depth > 2 && 2 * depth + taken + flat.len() <= WIDTH {
        return out.push_str(&flat);
    }
    out.push(open);
    for (number, (key, value)) in elements.iter().enumerate() {
        out.push_str(if number == 0 { "\n" } else { ",\n" });
        out.push_str(&"  ".repeat(depth + 1));
        out.push_str(key);
        lay_out(value, depth + 1, key.len(), out);
    }
    out.push('\n');
    out.push_str(&"  ".repeat(depth));
    out.push(close);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn it_is_the_same_value_and_short_things_share_a_line() {
        let value = json!({ "a": [{ "b": { "c": [1, "x"], "d": "y".repeat(200), "e": {} } }] });
        let text = lines(&value);
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
        assert!(text.contains(r#""c": [1,"x"],"#), "{text}");
    }
}
