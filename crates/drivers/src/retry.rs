//! Attempts that are made again after a transient error.

use std::time::{Duration, Instant};

/// The time for which an attempt is made again, and the pause before each.
pub(crate) struct Retry {
    pub(crate) limit: Duration,
    pub(crate) pause: Duration,
}

impl Retry {
    pub(crate) const fn new(limit: Duration, pause: Duration) -> Self {
        Self { limit, pause }
    }

    /// Makes an attempt, and makes it again while its error is transient by `passes`.
    ///
    /// # Errors
    /// The error of the last attempt.
    pub(crate) fn run<T, E>(
        &self,
        passes: impl Fn(&E) -> bool,
        mut attempt: impl FnMut() -> Result<T, E>,
    ) -> Result<T, E> {
        let end = Instant::now() + self.limit;
        loop {
            match attempt() {
                Err(error) if passes(&error) && Instant::now() < end => {
                    std::thread::sleep(self.pause);
                }
                outcome => return outcome,
            }
        }
    }

    /// Asks until the answer is yes. Returns false if it never was within the limit.
    ///
    /// # Errors
    /// The first error of the question itself.
    pub(crate) fn until(
        &self,
        mut question: impl FnMut() -> trueput_engine::Result<bool>,
    ) -> trueput_engine::Result<bool> {
        let answer = self.run(Option::is_none, || match question() {
            Ok(true) => Ok(()),
            Ok(false) => Err(None),
            Err(error) => Err(Some(error)),
        });
        match answer {
            Ok(()) => Ok(true),
            Err(None) => Ok(false),
            Err(Some(error)) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attempt_is_made_again_until_it_succeeds_or_its_error_stays() {
        let retry = |limit| Retry::new(Duration::from_millis(limit), Duration::from_millis(1));
        let nth = |limit, good: u32, passing: u32| {
            let mut attempts = 0;
            let outcome = retry(limit).run(
                |attempt| *attempt < passing,
                || {
                    attempts += 1;
                    if attempts == good {
                        Ok("done")
                    } else {
                        Err(attempts)
                    }
                },
            );
            (outcome, attempts)
        };
        assert_eq!(nth(10_000, 3, 9), (Ok("done"), 3));
        assert_eq!(nth(10_000, 9, 2), (Err(2), 2));
        assert_eq!(nth(0, 9, 9), (Err(1), 1));
    }
}
