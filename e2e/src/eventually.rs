//! Waiting for what comes about by itself.

use anyhow::{Result, bail};
use std::{
    fmt::{Debug, Display},
    thread,
    time::{Duration, Instant},
};

const PAUSE: Duration = Duration::from_millis(100);

/// Looks again and again until `look` has what is waited for; its error says what is there instead.
///
/// When patience ends, the message names both: what was waited for, and what was seen last.
pub fn eventually<T, S: Display>(
    patience: Duration,
    what: &str,
    mut look: impl FnMut() -> Result<T, S>,
) -> Result<T> {
    let start = Instant::now();
    loop {
        match look() {
            Ok(found) => return Ok(found),
            Err(seen) if start.elapsed() > patience => {
                bail!("\"{what}\" has not come about in {patience:?}; last seen: {seen:#}")
            }
            Err(_) => thread::sleep(PAUSE),
        }
    }
}

/// Looks until what is seen is as it should be, and gives that back.
pub fn until<T: Debug>(
    patience: Duration,
    what: &str,
    mut look: impl FnMut() -> T,
    is_so: impl Fn(&T) -> bool,
) -> Result<T> {
    eventually(patience, what, || {
        let seen = look();
        if is_so(&seen) { Ok(seen) } else { Err(format!("{seen:?}")) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_about_is_given_back() {
        let mut looks = 0;
        let found = eventually(Duration::from_mins(1), "third look", || {
            looks += 1;
            if looks == 3 { Ok("found") } else { Err("nothing") }
        });
        assert_eq!((found.unwrap(), looks), ("found", 3));
    }

    #[test]
    fn impatience_says_what_was_waited_for_and_what_was_there_instead() {
        let given_up =
            eventually(Duration::ZERO, "node n1 is active", || Err::<(), _>("it is deploying"));
        assert_eq!(
            given_up.unwrap_err().to_string(),
            "\"node n1 is active\" has not come about in 0ns; last seen: it is deploying"
        );
    }
}
