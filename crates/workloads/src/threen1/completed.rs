//! The starts that a trial has done: the whole range, or what the time sufficed for.

use super::problem::Problem;
use std::ops::RangeInclusive;

/// A set of starts: ranges in ascending order that neither overlap nor touch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CompletedStarts {
    ranges: Vec<RangeInclusive<u64>>,
}

impl From<RangeInclusive<u64>> for CompletedStarts {
    fn from(range: RangeInclusive<u64>) -> Self {
        let mut starts = Self::default();
        starts.push(range);
        starts
    }
}

impl CompletedStarts {
    /// Collects the first starts of blocks: the block, in ascending order, and their number.
    pub(super) fn of_blocks(
        problem: &Problem,
        blocks: impl IntoIterator<Item = (u64, u64)>,
    ) -> Self {
        let mut starts = Self::default();
        for (block, count) in blocks.into_iter().filter(|(_, count)| *count > 0) {
            let (first, last) = problem.bounds(block);
            starts.push(first..=last.min(first.saturating_add(count - 1)));
        }
        starts
    }

    /// Adds a range above all others.
    fn push(&mut self, range: RangeInclusive<u64>) {
        match self.ranges.last_mut() {
            Some(last) if *last.end() + 1 == *range.start() => {
                *last = *last.start()..=*range.end();
            }
            _ => self.ranges.push(range),
        }
    }

    /// The ranges.
    #[must_use]
    pub fn ranges(&self) -> &[RangeInclusive<u64>] {
        &self.ranges
    }

    /// The number of starts.
    #[must_use]
    pub fn count(&self) -> u64 {
        let ranges = self.ranges.iter();
        ranges.map(|range| range.end() - range.start() + 1).sum()
    }

    /// The lowest start.
    #[must_use]
    pub fn first(&self) -> Option<u64> {
        self.ranges.first().map(|range| *range.start())
    }

    /// The highest start.
    #[must_use]
    pub fn last(&self) -> Option<u64> {
        self.ranges.last().map(|range| *range.end())
    }

    /// Whether a number is one of the starts.
    #[must_use]
    pub fn contains(&self, number: u64) -> bool {
        let place = self.ranges.partition_point(|range| *range.end() < number);
        let range = self.ranges.get(place);
        range.is_some_and(|range| *range.start() <= number)
    }

    /// The starts, upwards.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        self.ranges.iter().flat_map(RangeInclusive::clone)
    }
}

#[cfg(test)]
mod tests {
    use super::super::problem::{CommitScope, KeyEncoding};
    use super::*;

    #[test]
    fn the_starts_of_blocks_are_exactly_those_that_were_done() {
        let problem = Problem {
            start: 11,
            finish: None,
            block: 10,
            workers: 3,
            commit: CommitScope::Store,
            keys: KeyEncoding::Integers,
        };
        let blocks = [(0, 10), (1, 10), (2, 3), (3, 0), (4, 10), (5, 1)];
        let starts = CompletedStarts::of_blocks(&problem, blocks);
        assert_eq!(starts.ranges(), [11..=33, 51..=61]);
        assert_eq!(starts.count(), 34);
        assert_eq!((starts.first(), starts.last()), (Some(11), Some(61)));
        for number in 0..80 {
            let is_done = (11..=33).contains(&number) || (51..=61).contains(&number);
            assert_eq!(starts.contains(number), is_done, "{number}");
        }
        assert_eq!(starts.iter().count(), 34);
    }

    #[test]
    fn no_start_may_be_done() {
        let starts = CompletedStarts::default();
        assert_eq!((starts.count(), starts.last()), (0, None));
        assert!(!starts.contains(1));
    }
}
