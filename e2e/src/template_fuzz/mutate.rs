//! Templates with a mistake or two: a token lost, doubled, moved or strange, a text cut short.

use super::words::STRAY;
use crate::cel_fuzz::random::Random;

/// The tokens with mistakes.
#[must_use]
pub fn broken(random: &mut Random, mut tokens: Vec<String>) -> Vec<String> {
    for _ in 0..=random.below(3) {
        if tokens.is_empty() {
            break;
        }
        let at = random.below(tokens.len());
        match random.below(8) {
            0 => {
                tokens.remove(at);
            }
            1 => tokens.insert(at, tokens[at].clone()),
            2 => tokens.truncate(at + 1),
            3 => {
                let other = random.below(tokens.len());
                tokens.swap(at, other);
            }
            4 | 5 => tokens.insert(at, random.pick(STRAY).to_owned()),
            6 => tokens[at] = without_a_character(random, &tokens[at]),
            _ => {
                let token = &tokens[at];
                let mut cut: Vec<char> = token.chars().collect();
                let stray = random.pick(STRAY);
                let place = random.below(cut.len() + 1);
                cut.splice(place..place, stray.chars());
                tokens[at] = cut.into_iter().collect();
            }
        }
    }
    tokens
}

fn without_a_character(random: &mut Random, token: &str) -> String {
    let lost = random.below(token.chars().count());
    token.chars().enumerate().filter(|(i, _)| *i != lost).map(|(_, c)| c).collect()
}
