//! Makes a difference small: cuts pieces out of the template as long as the answers still differ.

use anyhow::Result;
use serde_json::Value as Json;

/// The smallest question found for which `differs` still holds.
pub fn minimise(question: &Json, mut differs: impl FnMut(&Json) -> Result<bool>) -> Result<Json> {
    let mut smallest = question.clone();
    let text = |question: &Json| -> Vec<char> {
        question["template"].as_str().unwrap_or_default().chars().collect()
    };
    let mut size = text(&smallest).len().div_ceil(2);
    while size > 0 {
        let characters = text(&smallest);
        let mut cut = None;
        for start in (0..characters.len()).step_by(size) {
            let end = (start + size).min(characters.len());
            let shorter: String = characters[..start].iter().chain(&characters[end..]).collect();
            let mut candidate = smallest.clone();
            candidate["template"] = shorter.into();
            if differs(&candidate)? {
                cut = Some(candidate);
                break;
            }
        }
        match cut {
            Some(shorter) => smallest = shorter,
            None => size /= 2,
        }
    }
    Ok(smallest)
}
