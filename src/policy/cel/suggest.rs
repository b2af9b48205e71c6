//! What was probably meant by a misspelt name.

/// The candidate at the smallest edit distance, if it is near.
pub(crate) fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<String> {
    let limit = 1 + name.chars().count() / 4;
    candidates
        .filter(|candidate| *candidate != name)
        .map(|candidate| (distance(name, candidate), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min()
        .map(|(_, candidate)| candidate.to_owned())
}

/// Levenshtein's, with case counted as nothing.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().map(|c| c.to_ascii_lowercase()).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().map(|c| c.to_ascii_lowercase()).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggests_what_is_one_slip_away() {
        let names = ["startsWith", "endsWith", "size"];
        assert_eq!(nearest("startWith", names.into_iter()), Some("startsWith".to_owned()));
        assert_eq!(nearest("sizes", names.into_iter()), Some("size".to_owned()));
        assert_eq!(nearest("frobnicate", names.into_iter()), None);
    }
}
