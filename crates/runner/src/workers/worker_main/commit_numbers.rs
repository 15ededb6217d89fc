//! The numbers of a worker's write transactions under planned faults: which took effect, and which
//! of them were acknowledged.

/// The numbers of a worker's write transactions, as far as it knows.
#[derive(Debug, Default)]
pub(super) struct CommitNumbers {
    /// The last one that took effect.
    last: u64,
    /// Those up to it that were read and that nobody acknowledged.
    only_read: Vec<u64>,
}

/// Commits that are missing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct MissingCommits {
    /// Those that were acknowledged.
    pub acknowledged: u64,
    /// Those that were only read.
    pub only_read: u64,
}

impl CommitNumbers {
    /// Begins after a transaction whose number is stored already.
    pub fn after(stored: u64) -> Self {
        Self {
            last: stored,
            only_read: Vec::new(),
        }
    }

    /// Returns the number of the last one that took effect.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Notes that the next one was acknowledged.
    pub fn acknowledge(&mut self) {
        self.last += 1;
    }

    /// Notes that those up to `stored` were read, and that nobody acknowledged them.
    pub fn note_read(&mut self, stored: u64) {
        self.only_read.extend(self.last + 1..=stored);
        self.last = self.last.max(stored);
    }

    /// Returns those that are missing behind the number that is stored, and goes on from there.
    /// More than is known may be stored: what took effect late is noted by the next transaction.
    pub fn take_missing(&mut self, stored: u64) -> MissingCommits {
        let missing = self.last.saturating_sub(stored);
        let before = self.only_read.len();
        self.only_read.retain(|number| *number <= stored);
        let only_read = (before - self.only_read.len()) as u64;
        self.last = self.last.min(stored);
        MissingCommits {
            acknowledged: missing.saturating_sub(only_read),
            only_read,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missing(acknowledged: u64, only_read: u64) -> MissingCommits {
        MissingCommits {
            acknowledged,
            only_read,
        }
    }

    #[test]
    fn a_commit_that_was_read_and_not_acknowledged_is_not_an_acknowledged_one() {
        let mut numbers = CommitNumbers::after(4);
        numbers.acknowledge();
        numbers.note_read(6);
        assert_eq!(numbers.take_missing(5), missing(0, 1));
        assert_eq!(
            (numbers.last(), numbers.take_missing(5)),
            (5, missing(0, 0))
        );
    }

    #[test]
    fn what_was_acknowledged_after_it_is_missing_with_it() {
        let mut numbers = CommitNumbers::after(0);
        numbers.note_read(1);
        numbers.acknowledge();
        numbers.acknowledge();
        assert_eq!(numbers.take_missing(0), missing(2, 1));
        assert_eq!(numbers.last(), 0);
    }

    #[test]
    fn what_took_effect_late_is_left_to_the_next_transaction() {
        let mut numbers = CommitNumbers::after(3);
        assert_eq!(numbers.take_missing(5), missing(0, 0));
        assert_eq!(numbers.last(), 3);
        numbers.note_read(5);
        assert_eq!(numbers.take_missing(3), missing(0, 2));
    }

    #[test]
    fn one_that_is_still_there_is_not_missing() {
        let mut numbers = CommitNumbers::after(0);
        numbers.note_read(1);
        numbers.acknowledge();
        assert_eq!(numbers.take_missing(2), missing(0, 0));
        assert_eq!(numbers.take_missing(1), missing(1, 0));
        assert_eq!(numbers.take_missing(0), missing(0, 1));
    }
}
