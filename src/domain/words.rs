//! Words as they are listed in the guide: what varies in them is a `<placeholder>`.

/// The parts of listed words that do not vary. Between any two of them is a placeholder.
#[must_use]
pub fn fixed(words: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = words;
    while let Some((before, after)) = rest.split_once('<') {
        let Some((_, behind)) = after.split_once('>') else { break };
        parts.push(before);
        rest = behind;
    }
    parts.push(rest);
    parts
}

/// Whether a text is listed words with something for each placeholder.
#[must_use]
pub fn fit(words: &str, text: &str) -> bool {
    let parts = fixed(words);
    let [first, between @ .., last] = parts.as_slice() else { return words == text };
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    for part in between {
        let Some((_, behind)) = rest.split_once(part) else { return false };
        rest = behind;
    }
    rest.ends_with(last)
}

/// Whether it is any of them. Who has nothing to say, says nothing.
#[must_use]
pub fn fit_any(listed: &[&str], text: &str) -> bool {
    text.is_empty() || listed.iter().any(|words| fit(words, text))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::as_it_is("The host is off", "The host is off", true)]
    #[case::other("The host is off", "The host is on", false)]
    #[case::longer("The host is off", "The host is off again", false)]
    #[case::in_between("took host <host> again", "took host worker-0 again", true)]
    #[case::at_the_end("host <host> is <state>", "host a is is provisioning: no", true)]
    #[case::all("<error>", "anything", true)]
    #[case::another_end("<path>.image: no", "spec.image: yes", false)]
    #[case::in_their_order("<a> x <b> y", "1 y 2 x", false)]
    fn a_text_fits_words(#[case] words: &str, #[case] text: &str, #[case] fits: bool) {
        assert_eq!(fit(words, text), fits);
    }
}
