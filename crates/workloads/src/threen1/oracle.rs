//! The answers, computed in memory and without any engine, to hold a trial's outcome against.
//!
//! It shares no code with the measured walk. The table of steps is indexed by the number itself and
//! filled by several threads in any order: an entry is either unknown or right, so
//! that a thread that finds one unknown just walks on.

use super::completed::CompletedStarts;
use super::maximum::Maximum;
use std::collections::HashSet;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// Numbers up to here have a place in the table: 128 MiB at most.
const TABLE_NUMBERS: u64 = 1 << 26;
/// Starts that a thread takes at once.
const CHUNK: usize = 1 << 14;
/// Numbers from which 3n+1 would leave 64 bits.
const OVERFLOW: u64 = (u64::MAX - 1) / 3 + 1;

/// The answers for some starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KnownAnswers {
    /// The most steps of any start, and the least start that takes them.
    pub longest: Maximum,
    /// The largest number computed on the way from any start, and the least start that leads to it.
    /// The start itself is not computed; 0 where nothing is (the range 1 to 1).
    pub largest: Maximum,
}

impl KnownAnswers {
    fn merge(&mut self, other: Self) {
        self.longest.consider(other.longest);
        self.largest.consider(other.largest);
    }
}

/// The answers for some starts, and the steps of any number.
#[derive(Debug)]
pub struct Oracle {
    starts: CompletedStarts,
    threads: u32,
    /// Steps by number; 0: unknown (or the number is 0 or 1).
    table: Vec<AtomicU16>,
    answers: KnownAnswers,
}

/// A sequence that leaves 64 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the sequence from {start} leaves 64 bits after {number}")]
pub struct Overflow {
    /// The first number of the sequence.
    pub start: u64,
    /// The last number within 64 bits.
    pub number: u64,
}

impl Oracle {
    /// Computes the answers for these starts, which are at least 1, on this many threads.
    ///
    /// # Errors
    /// [`Overflow`] if a sequence leaves 64 bits.
    ///
    /// ```
    /// let oracle = trueput_workloads::threen1::Oracle::compute(1..=1_000, 2)?;
    /// assert_eq!(oracle.answers().longest.value, 178);
    /// assert_eq!(oracle.steps(27), Some(111));
    /// # Ok::<(), trueput_workloads::threen1::Overflow>(())
    /// ```
    pub fn compute(starts: impl Into<CompletedStarts>, threads: u32) -> Result<Self, Overflow> {
        let starts = starts.into();
        let last = starts.last().unwrap_or(0);
        let numbers = last.saturating_mul(2).min(TABLE_NUMBERS);
        let table = (0..=numbers).map(|_| AtomicU16::new(0)).collect();
        let mut oracle = Self {
            starts,
            threads,
            table,
            answers: KnownAnswers::default(),
        };
        let outcome = Mutex::new(Ok(KnownAnswers::default()));
        oracle.each_chunk(|chunk| {
            let answers = oracle.inspect(chunk);
            let mut outcome = outcome.lock().unwrap_or_else(PoisonError::into_inner);
            match (&mut *outcome, answers) {
                (Ok(all), Ok(answers)) => all.merge(answers),
                (outcome, Err(overflow)) => *outcome = Err(overflow),
                (Err(_), Ok(_)) => {}
            }
            outcome.is_ok()
        });
        oracle.answers = outcome
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)?;
        oracle.answers.largest.start = oracle.least_start_to(oracle.answers.largest);
        Ok(oracle)
    }

    /// The answers.
    #[must_use]
    pub fn answers(&self) -> KnownAnswers {
        self.answers
    }

    /// The steps from `number`, at least 1, down to 1; `None` if its sequence leaves 64 bits.
    #[must_use]
    pub fn steps(&self, number: u64) -> Option<u32> {
        let mut current = number;
        let mut steps = 0_u32;
        while current > 1 {
            if let Some(known) = self.known(current) {
                return steps.checked_add(known);
            }
            current = next(current)?;
            steps += 1;
        }
        Some(steps)
    }

    /// Whether `number` is computed on the way from `start`, the start itself not counting.
    #[must_use]
    pub fn leads_to(start: u64, number: u64) -> bool {
        let way = std::iter::successors(Some(start), |&current| next(current));
        way.take_while(|&current| current != 1)
            .filter_map(next)
            .any(|reached| reached == number)
    }

    fn known(&self, number: u64) -> Option<u32> {
        let entry = self.table.get(usize::try_from(number).ok()?)?;
        let steps = entry.load(Relaxed);
        (steps != 0).then_some(steps.into())
    }

    fn note(&self, number: u64, steps: u32) {
        let place = usize::try_from(number)
            .ok()
            .and_then(|number| self.table.get(number));
        if let (Some(entry), Ok(steps)) = (place, u16::try_from(steps)) {
            entry.store(steps, Relaxed);
        }
    }

    /// Shows the starts to all threads, in chunks and upwards, until one of them returns false.
    fn each_chunk(&self, work: impl Fn(RangeInclusive<u64>) -> bool + Sync) {
        let chunks = self.starts.ranges().iter().flat_map(|range| {
            let lows = (*range.start()..=*range.end()).step_by(CHUNK);
            lows.map(|low| low..=(*range.end()).min(low.saturating_add(CHUNK as u64 - 1)))
        });
        let chunks = Mutex::new(Some(chunks));
        let next = || {
            let mut chunks = chunks.lock().unwrap_or_else(PoisonError::into_inner);
            chunks.as_mut().and_then(Iterator::next)
        };
        let thread = || {
            while let Some(chunk) = next() {
                if !work(chunk) {
                    *chunks.lock().unwrap_or_else(PoisonError::into_inner) = None;
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..self.threads {
                scope.spawn(thread);
            }
            thread();
        });
    }

    /// Walks from each start of a chunk until the steps are known, and fills the table.
    ///
    /// A walk may end only at a number that some start's walk has passed or will pass, for what
    /// is beyond counts as computed. That is every lower start. Of other lower numbers it is those
    /// that the table has: they are entered as walks pass them.
    fn inspect(&self, chunk: RangeInclusive<u64>) -> Result<KnownAnswers, Overflow> {
        let mut answers = KnownAnswers::default();
        let mut others = Vec::with_capacity(1_024);
        for start in chunk {
            let (mut number, mut passed, mut largest) = (start, 0_u32, 0);
            let rest = loop {
                if number == 1 {
                    break 0;
                }
                if number < start {
                    if let Some(steps) = self.known(number) {
                        break steps;
                    }
                    if !self.starts.contains(number) {
                        others.push((number, passed));
                    }
                }
                number = next(number).ok_or(Overflow { start, number })?;
                largest = largest.max(number);
                passed += 1;
            };
            let steps = passed + rest;
            self.note(start, steps);
            for (number, passed) in others.drain(..) {
                self.note(number, steps - passed);
            }
            answers.longest.consider(Maximum::new(steps.into(), start));
            if largest > answers.largest.value {
                answers.largest = Maximum::new(largest, start);
            }
        }
        Ok(answers)
    }

    /// The least start that leads to the largest number. In one range from 1 the inspection found
    /// it: a walk ends early only at a lower start, from which the number would have been reached.
    /// Otherwise the walk that computed it first need not have been the least start's.
    fn least_start_to(&self, largest: Maximum) -> u64 {
        if self.starts.first() == Some(1) && self.starts.ranges().len() == 1 {
            return largest.start;
        }
        let least = AtomicU64::new(largest.start);
        self.each_chunk(|chunk| {
            for start in chunk {
                if start >= least.load(Relaxed) {
                    return false;
                }
                let mut number = start;
                while let Some(after) = next(number) {
                    if after == largest.value {
                        least.fetch_min(start, Relaxed);
                        return false;
                    }
                    if after == 1 || (after < start && self.starts.contains(after)) {
                        break;
                    }
                    number = after;
                }
            }
            true
        });
        least.into_inner()
    }
}

/// The number of distinct numbers above 1 on the paths from these starts, including the starts: the
/// size of a correct step table. It keeps them all in memory. `None` if a sequence leaves 64 bits.
#[must_use]
pub fn distinct_numbers(starts: impl IntoIterator<Item = u64>) -> Option<u64> {
    let mut seen = HashSet::new();
    for start in starts {
        let mut number = start;
        while number != 1 && seen.insert(number) {
            number = next(number)?;
        }
    }
    Some(seen.len() as u64)
}

fn next(number: u64) -> Option<u64> {
    if number.is_multiple_of(2) {
        Some(number / 2)
    } else {
        (number < OVERFLOW).then(|| 3 * number + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::super::problem::{CommitScope, KeyEncoding, Problem};
    use super::*;

    fn maximum(value: u64, start: u64) -> Maximum {
        Maximum::new(value, start)
    }

    /// The plainest way to the answers.
    fn compute_simply(starts: impl IntoIterator<Item = u64>) -> KnownAnswers {
        let mut answers = KnownAnswers::default();
        for start in starts {
            let (mut number, mut steps, mut largest) = (start, 0_u64, 0);
            while number != 1 {
                number = if number.is_multiple_of(2) {
                    number / 2
                } else {
                    3 * number + 1
                };
                steps += 1;
                largest = largest.max(number);
            }
            answers.longest.consider(maximum(steps, start));
            if largest > answers.largest.value {
                answers.largest = maximum(largest, start);
            }
        }
        answers
    }

    #[test]
    fn the_published_answers_come_out() {
        let small = Oracle::compute(1..=100_000, 2).unwrap().answers();
        assert_eq!(small.longest, maximum(350, 77_031));
        assert_eq!(small.largest, maximum(1_570_824_736, 77_671));
        let large = Oracle::compute(1..=1_000_000, 2).unwrap().answers();
        assert_eq!(large.longest, maximum(524, 837_799));
        assert_eq!(large.largest, maximum(56_991_483_520, 704_511));
    }

    #[test]
    fn the_published_count_of_distinct_numbers_comes_out() {
        assert_eq!(distinct_numbers(1..=100_000), Some(217_211));
    }

    #[test]
    fn any_range_agrees_with_the_plainest_way_on_any_number_of_threads() {
        let high = 1_000_000_000_000;
        let ranges = [
            1..=1,
            1..=2,
            2..=2,
            1..=30_000,
            27..=27,
            17..=70_000,
            40_000..=90_000,
            high..=high + 40_000,
        ];
        for range in ranges {
            let expected = compute_simply(range.clone());
            for threads in [1, 2, 4] {
                let oracle = Oracle::compute(range.clone(), threads).unwrap();
                assert_eq!(oracle.answers(), expected, "{range:?} on {threads} threads");
            }
        }
    }

    #[test]
    fn starts_with_gaps_agree_with_the_plainest_way_on_any_number_of_threads() {
        let problem = Problem {
            start: 1,
            finish: None,
            block: 97,
            workers: 3,
            commit: CommitScope::Store,
            keys: KeyEncoding::Integers,
        };
        // Every third block whole, others not at all or in part, as workers leave them.
        for (first, blocks) in [(0, 900), (5, 300), (1_000, 400)] {
            let done = (first..first + blocks)
                .map(|block| (block, [97, 0, block % 97][block as usize % 3]));
            let starts = CompletedStarts::of_blocks(
                &Problem {
                    start: 1 + first,
                    ..problem
                },
                done,
            );
            assert!(starts.ranges().len() > 100);
            let expected = compute_simply(starts.iter());
            for threads in [1, 2, 4] {
                let oracle = Oracle::compute(starts.clone(), threads).unwrap();
                assert_eq!(
                    oracle.answers(),
                    expected,
                    "from {first} on {threads} threads"
                );
            }
        }
        let nothing = Oracle::compute(CompletedStarts::default(), 2).unwrap();
        assert_eq!(nothing.answers(), KnownAnswers::default());
    }

    #[test]
    fn the_steps_of_any_number_are_known_within_the_range_and_beyond() {
        let oracle = Oracle::compute(50..=20_000, 2).unwrap();
        for number in [1, 2, 3, 27, 49, 20_000, 77_031, 1_570_824_736, 1 << 62] {
            let mut steps = 0;
            let mut current: u64 = number;
            while current != 1 {
                current = if current.is_multiple_of(2) {
                    current / 2
                } else {
                    3 * current + 1
                };
                steps += 1;
            }
            assert_eq!(oracle.steps(number), Some(steps), "{number}");
        }
        assert_eq!(oracle.steps(u64::MAX), None);
    }

    #[test]
    fn the_start_itself_is_not_on_its_way() {
        assert!(Oracle::leads_to(77_671, 1_570_824_736));
        assert!(!Oracle::leads_to(77_670, 1_570_824_736));
        assert!(Oracle::leads_to(5, 16));
        assert!(!Oracle::leads_to(16, 16));
        assert!(!Oracle::leads_to(1, 4));
    }

    #[test]
    fn a_sequence_that_leaves_64_bits_is_an_error() {
        let start = OVERFLOW | 1;
        let overflow = Oracle::compute(start..=start, 2).unwrap_err();
        assert_eq!(
            overflow,
            Overflow {
                start,
                number: start
            }
        );
        assert_eq!(distinct_numbers(start..=start), None);
    }
}
