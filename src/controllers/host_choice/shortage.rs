//! `Shortage`: why no host fits, in numbers.

use std::{collections::BTreeMap, fmt};

use super::candidate::Standing;

/// Why no host fits, in numbers that add up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shortage {
    /// The hosts of the namespace, by how they stand. Those that can be had do not fit.
    pub census: BTreeMap<Standing, usize>,
    /// Of those that can be had, how many are not where they are wanted, and where that is.
    pub elsewhere: Option<(String, usize)>,
    /// Of the rest, how many have other labels than those that are wanted.
    pub unselected: usize,
    /// Some of those that nobody is to take, and why.
    pub unhealthy: Vec<(String, String)>,
}

/// How many hosts are named, and how long a reason is that is read in a condition.
pub const NAMED: usize = 3;
const WORDS: usize = 80;

impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total: usize = self.census.values().sum();
        if total == 0 {
            return f.write_str("there are no hosts in this namespace");
        }
        let standing = self.census.iter().filter(|(it, count)| {
            // Told below, by what they lack.
            **it != Standing::Free && **count > 0
        });
        let mut parts: Vec<_> = standing
            .map(|(it, count)| {
                let why = (*it == Standing::Unhealthy).then(|| self.reasons(*count));
                format!("{count} {it}{}", why.unwrap_or_default())
            })
            .collect();
        if let Some((domain, count)) = &self.elsewhere
            && *count > 0
        {
            parts.push(format!("{count} {} failure domain {domain}", does_not_match(*count)));
        }
        if self.unselected > 0 {
            parts.push(format!(
                "{} {} hostSelector",
                self.unselected,
                does_not_match(self.unselected)
            ));
        }
        let hosts = if total == 1 { "host" } else { "hosts" };
        write!(f, "{total} {hosts}: {}", parts.join(", "))
    }
}

impl Shortage {
    /// Why hosts are out of use, in parentheses.
    fn reasons(&self, count: usize) -> String {
        let told = self.unhealthy.iter().take(NAMED).map(|(name, why)| {
            let why: String = why.chars().take(WORDS).collect();
            if why.is_empty() { name.clone() } else { format!("{name}: {why}") }
        });
        let mut told: Vec<_> = told.collect();
        let others = count.saturating_sub(told.len());
        if told.is_empty() {
            return String::new();
        }
        if others > 0 {
            told.push(format!("and {others} more"));
        }
        format!(" ({})", told.join("; "))
    }
}

fn does_not_match(count: usize) -> &'static str {
    if count == 1 { "does not match" } else { "do not match" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_has_numbers_that_add_up() {
        let census =
            [(Standing::InUse, 7), (Standing::NotAvailable, 3), (Standing::Free, 2)].into();
        let shortage = Shortage {
            census,
            elsewhere: Some(("b".into(), 2)),
            unselected: 0,
            ..Shortage::default()
        };
        assert_eq!(
            shortage.to_string(),
            "12 hosts: 7 in use, 3 not available, 2 do not match failure domain b"
        );
        let census = [(Standing::Free, 1)].into();
        let shortage = Shortage { census, unselected: 1, ..Shortage::default() };
        assert_eq!(shortage.to_string(), "1 host: 1 does not match hostSelector");
        assert_eq!(Shortage::default().to_string(), "there are no hosts in this namespace");
    }
    #[test]
    fn why_hosts_are_out_of_use_is_said_of_a_few() {
        let census = [(Standing::InUse, 1), (Standing::Unhealthy, 5)].into();
        let marked = [("a", "the fan is loud"), ("b", ""), ("c", &"x".repeat(200))];
        let unhealthy = marked.map(|(name, why)| (name.to_owned(), why.to_owned())).to_vec();
        let shortage = Shortage { census, unhealthy, ..Shortage::default() };
        let long = "x".repeat(80);
        assert_eq!(
            shortage.to_string(),
            format!(
                "6 hosts: 1 in use, 5 unhealthy (a: the fan is loud; b; c: {long}; and 2 more)"
            )
        );
    }
}
