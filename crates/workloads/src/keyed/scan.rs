//! Scans of this many records, and the check of what a scan returns.

use super::draws::ValueLengths;
use super::read_check::{ReadCounts, ReadFault, ReadValidator, RecordState};
use super::record::RecordMaker;
use super::write_tracker::WriteTracker;
use std::ops::ControlFlow;
use trueput_engine::{Direction, KeyRange, Result, Session};

/// Shows the first records of a range: at most `limit`, and at least one if there is any. Returns
/// their number.
#[inline]
pub(crate) fn scan_first(
    session: &mut dyn Session,
    range: KeyRange<'_>,
    limit: u64,
    visit: impl FnMut(&[u8], &[u8]),
) -> Result<u64> {
    scan_some(session, range, Direction::Forward, limit, visit)
}

/// Shows records of a range in either order: at most `limit`, and at least one if there is any.
/// Returns their number.
#[inline]
pub(crate) fn scan_some(
    session: &mut dyn Session,
    range: KeyRange<'_>,
    direction: Direction,
    limit: u64,
    mut visit: impl FnMut(&[u8], &[u8]),
) -> Result<u64> {
    let mut shown = 0;
    session.scan(range, direction, &mut |key, value| {
        visit(key, value);
        shown += 1;
        if shown < limit {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    })?;
    Ok(shown)
}

/// Compares the records that a scan returns with the expected ones.
pub(crate) struct ScanCheck<'w, L> {
    maker: &'w mut RecordMaker<L>,
    tracker: &'w WriteTracker<'w>,
    /// The least numbers of the records from `first` on.
    floors: &'w [u32],
    first: u64,
    reverse: bool,
    /// The next expected record; `None` after the last one.
    pub(crate) next: Option<u64>,
    pub(crate) reads: ReadCounts,
}

impl<'w, L: ValueLengths> ScanCheck<'w, L> {
    /// A scan from record `first` on. `floors` are the least numbers of the records from there,
    /// from before the transaction began; of those beyond nothing is known.
    pub(crate) fn new(
        maker: &'w mut RecordMaker<L>,
        tracker: &'w WriteTracker<'w>,
        (first, floors): (u64, &'w [u32]),
        reads: ReadCounts,
    ) -> Self {
        Self {
            maker,
            tracker,
            floors,
            first,
            reverse: false,
            next: Some(first),
            reads,
        }
    }

    /// The same in the reverse order if `reverse`.
    pub(crate) fn reversed(self, reverse: bool) -> Self {
        Self { reverse, ..self }
    }

    fn floor(&self, item: u64) -> u32 {
        let place = item.checked_sub(self.first);
        let place = place.and_then(|place| usize::try_from(place).ok());
        place
            .and_then(|place| self.floors.get(place))
            .copied()
            .unwrap_or(0)
    }

    /// Checks the next record that the scan returned.
    pub(crate) fn check_record(&mut self, key: &[u8], value: &[u8]) {
        let Some(item) = self.maker.item(key) else {
            self.reads
                .count(self.next.unwrap_or(0), Err(ReadFault::Disorder));
            return;
        };
        let ahead = match (self.next, self.reverse) {
            (Some(next), false) => item >= next,
            (Some(next), true) => item <= next,
            (None, _) => false,
        };
        if !ahead {
            self.reads.count(item, Err(ReadFault::Disorder));
            return;
        }
        self.check_missing(Some(item));
        let state = self.maker.state(item, value);
        let verdict = self.tracker.validate(item, self.floor(item), state);
        self.reads.count(item, verdict);
        self.next = self.after(item);
    }

    fn after(&self, item: u64) -> Option<u64> {
        if self.reverse {
            item.checked_sub(1)
        } else {
            item.checked_add(1)
        }
    }

    /// Checks the absence of the records from the next one up to `item`, or to the end.
    pub(crate) fn check_missing(&mut self, item: Option<u64>) {
        let loaded = 0..self.tracker.records();
        while let Some(next) = self.next.filter(|next| loaded.contains(next)) {
            if Some(next) == item {
                return;
            }
            let floor = self.floor(next);
            let absent = self.tracker.validate(next, floor, RecordState::Absent);
            self.reads.count(next, absent);
            self.next = self.after(next);
        }
    }
}
