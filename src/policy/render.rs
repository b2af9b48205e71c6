//! A problem as people read it: file, line and column first, then the line itself with a caret
//! under the place, then what was probably meant.

use std::fmt;

use super::problem::Problem;

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}:{}: ", self.file, self.place.line, self.place.column)?;
        if !self.field.is_empty() {
            write!(formatter, "{}: ", self.field)?;
        }
        let mut lines = self.message.lines();
        write!(formatter, "{}", lines.next().unwrap_or_default())?;
        for line in lines {
            write!(formatter, "\n  {line}")?;
        }
        if !self.excerpt.trim().is_empty() {
            let number = self.place.line.to_string();
            let margin = " ".repeat(number.len());
            // Tabs stay tabs, so that the caret stands under the place in any terminal.
            let lead: String = self
                .excerpt
                .chars()
                .take(self.place.column.saturating_sub(1))
                .map(|character| if character == '\t' { '\t' } else { ' ' })
                .collect();
            write!(formatter, "\n  {number} | {}\n  {margin} | {lead}^", self.excerpt.trim_end())?;
        }
        if let Some(suggestion) = &self.suggestion {
            write!(formatter, "\n  help: {suggestion}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::yaml::Place;

    fn problem() -> Problem {
        Problem {
            file: "boot.yaml".to_owned(),
            place: Place { line: 12, column: 5, offset: 0 },
            field: "spec.validations[0].expresion".to_owned(),
            message: "unknown field".to_owned(),
            excerpt: "    expresion: 'true'".to_owned(),
            suggestion: Some("did you mean \"expression\"?".to_owned()),
        }
    }

    #[test]
    fn the_caret_stands_under_the_place() {
        assert_eq!(
            problem().to_string(),
            "boot.yaml:12:5: spec.validations[0].expresion: unknown field\n  \
             12 |     expresion: 'true'\n     \
                |     ^\n  help: did you mean \"expression\"?"
        );
    }

    #[test]
    fn a_message_of_many_lines_is_indented() {
        let problem = Problem { message: "one\ntwo".to_owned(), ..problem() };
        assert!(problem.to_string().contains("expresion: one\n  two\n"), "{problem}");
    }
}
