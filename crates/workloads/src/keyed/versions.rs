//! The versions of records: which trial wrote a value, and which of the writes of its record it
//! was.
//!
//! A version is the generation of the trial (6 bits) and the number of the write among those of its
//! record in that trial (26 bits); 0 is what was loaded. So trials that share a load need not know
//! of each other.

/// The version of a record that was loaded or inserted and not updated since.
pub(crate) const FIRST_VERSION: u32 = 0;

/// Bits of a version that number the write; the rest is the generation.
const NUMBER_BITS: u32 = 26;

/// The last number that a version has room for.
pub(crate) const MAX_NUMBER: u32 = (1 << NUMBER_BITS) - 1;

/// The number of trials that can run on one load before its records must be loaded again.
const GENERATIONS: u32 = 1 << (u32::BITS - NUMBER_BITS);

/// The versions of one trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TrialVersions {
    generation: u32,
}

impl TrialVersions {
    /// Of the trial that comes after `generation` others on the same database.
    pub(crate) const fn new(generation: u32) -> Self {
        Self {
            generation: generation % GENERATIONS,
        }
    }

    /// Whether the records must be loaded again before the trial: those before it took every
    /// generation.
    pub(crate) const fn need_load(self) -> bool {
        self.generation == 0
    }

    /// The version of the write with this number. Writes beyond the last number all bear it.
    #[inline]
    pub(crate) const fn version(self, number: u32) -> u32 {
        let number = if number < MAX_NUMBER {
            number
        } else {
            MAX_NUMBER
        };
        self.generation << NUMBER_BITS | number
    }

    /// The number of this trial's write that bears a version; 0 if a former trial or the load wrote
    /// it, `None` if no write can have.
    #[inline]
    pub(crate) const fn number(self, version: u32) -> Option<u32> {
        let (generation, number) = (version >> NUMBER_BITS, version & MAX_NUMBER);
        if generation < self.generation {
            Some(0)
        } else if generation > self.generation || number == 0 && version != FIRST_VERSION {
            None
        } else {
            Some(number)
        }
    }

    /// The number of the write after the one that bears a version.
    #[inline]
    pub(crate) fn next_number(self, version: u32) -> u32 {
        self.number(version).unwrap_or(0) + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_trial_on_a_load_numbers_from_one() {
        let (first, second) = (TrialVersions::new(0), TrialVersions::new(1));
        let twice = first.version(2);
        assert_eq!(first.number(FIRST_VERSION), Some(0));
        assert_eq!(first.number(twice), Some(2));
        assert_eq!(second.number(twice), Some(0));
        assert_eq!(second.number(second.version(1)), Some(1));
        assert_eq!(first.number(second.version(1)), None);
        assert_eq!(second.number(second.version(0)), None);
    }

    #[test]
    fn after_the_last_generation_the_records_are_loaded_again() {
        let last = TrialVersions::new(GENERATIONS - 1);
        assert_eq!(last.number(last.version(u32::MAX)), Some(MAX_NUMBER));
        assert!(!last.need_load());
        let next = TrialVersions::new(GENERATIONS);
        assert!(next.need_load());
        assert_eq!(next.number(last.version(1)), None);
    }
}
