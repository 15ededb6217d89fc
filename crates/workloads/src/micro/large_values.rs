//! Values in several parts: overwritten and read as a whole, each in one transaction.

use super::config::Maker;
use super::worker::{Worker, reading, writing};
use crate::generate::key::KeyBuffer;
use crate::keyed::read_check::{ReadFault, ReadValidator, RecordState};
use crate::{JobTask, Result};
use std::hint::black_box;
use std::ops::{ControlFlow, Range};
use trueput_engine::{Direction, KeyRange, Mode, Result as EngineResult};

/// The bytes of a part of which [`touch`] reads one: those of a page of memory.
const PAGE_BYTES: usize = 4 << 10;

/// Overwrites every part of a value.
pub(super) fn overwrite(
    worker: &mut Worker<'_>,
    task: &mut JobTask<'_>,
    record: u64,
) -> Result<()> {
    let write = worker.tracker.begin_write(record, false);
    let version = worker.tracker.version(write);
    let (maker, items) = (&mut worker.maker, worker.parts.items(record));
    task.transact(Mode::Write, writing, |session, _| -> EngineResult<()> {
        for item in items.clone() {
            let (key, part) = maker.make(item, version);
            session.put(key, part)?;
        }
        Ok(())
    })?;
    worker.lacks_record = !worker.tracker.complete_write(write);
    Ok(())
}

/// Reads a byte of each page of a value or a part that is not compared: some engines show a
/// reference to memory, or to a file, that they have not read.
#[inline]
pub(super) fn touch(part: &[u8]) {
    let pages = part.iter().step_by(PAGE_BYTES);
    black_box(pages.fold(0_u8, |sum, byte| sum ^ byte));
}

/// Reads every part of a value, and checks what is found.
pub(super) fn read(worker: &mut Worker<'_>, task: &mut JobTask<'_>, record: u64) -> Result<()> {
    let floor = worker.tracker.floor(record);
    let items = worker.parts.items(record);
    let mut end = KeyBuffer::default();
    let format = &worker.config.format;
    let range = KeyRange::between(
        format.write(items.start, &mut worker.key),
        format.write(items.end, &mut end),
    );
    let (maker, verifies) = (&mut worker.maker, worker.verifies);
    let is_compared = verifies && maker.is_read_whole(items.start);
    let mut seen = SeenParts::new(items.clone());
    let shown = task.transact(Mode::Read, reading, |session, _| -> EngineResult<u64> {
        // An attempt that ended in a conflict may have shown parts.
        seen = SeenParts::new(items.clone());
        let mut left = items.end - items.start;
        session.scan(range, Direction::Forward, &mut |key, part| {
            if !is_compared {
                touch(part);
            }
            if verifies {
                seen.add(maker, key, part);
            }
            // After the last part an engine would look for more, some by another statement.
            left = left.saturating_sub(1);
            if left == 0 {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })
    })?;
    worker.lacks_record = shown == 0;
    if verifies {
        let sees_one_state = task.capabilities.snapshot_reads;
        let versions = seen.versions(sees_one_state);
        let tracker = &worker.tracker;
        let validate = |state| tracker.validate(record, floor, state);
        let verdict = versions.and_then(|versions| match versions {
            None => validate(RecordState::Absent),
            Some(versions) => {
                let mut states = versions.into_iter().map(RecordState::Version);
                states.try_for_each(validate)
            }
        });
        worker.reads.count(record, verdict);
    }
    Ok(())
}

/// What a scan has shown of the parts of one value.
#[derive(Debug, Clone)]
pub(super) struct SeenParts {
    /// The parts that are still to come.
    items: Range<u64>,
    /// Whether any part was there.
    is_there: bool,
    /// The oldest and the newest version among the parts.
    versions: Option<[u32; 2]>,
    /// The first fault.
    fault: Option<ReadFault>,
}

impl SeenParts {
    /// Nothing yet of the value that these items are.
    pub(super) fn new(items: Range<u64>) -> Self {
        Self {
            items,
            is_there: false,
            versions: None,
            fault: None,
        }
    }

    /// Notes the next record that the scan showed.
    #[inline]
    pub(super) fn add(&mut self, maker: &mut Maker, key: &[u8], part: &[u8]) {
        match maker.item(key) {
            Some(item) if self.items.contains(&item) => {
                self.add_part(item, maker.state(item, part));
            }
            _ => self.note(ReadFault::Disorder),
        }
    }

    /// Notes the next part, which is one that is still to come, in this state.
    #[inline]
    pub(super) fn add_part(&mut self, item: u64, state: RecordState) {
        self.is_there = true;
        if item != self.items.start {
            self.note(ReadFault::Lost);
        }
        self.items.start = item + 1;
        match (state, self.versions) {
            (RecordState::Version(version), None) => self.versions = Some([version; 2]),
            (RecordState::Version(version), Some([oldest, newest])) => {
                self.versions = Some([oldest.min(version), newest.max(version)]);
            }
            _ => self.note(ReadFault::Foreign),
        }
    }

    #[cold]
    fn note(&mut self, fault: ReadFault) {
        self.fault = self.fault.or(Some(fault));
    }

    /// The oldest and the newest version of the parts after the last one; `None` if no part is
    /// there. Where a scan sees one state of the database, both are the same.
    ///
    /// # Errors
    /// The first fault: a part is missing, damaged or out of order, or, where the scan sees one
    /// state, of another version than the others.
    pub(super) fn versions(&self, sees_one_state: bool) -> Result<Option<[u32; 2]>, ReadFault> {
        match (self.fault, self.versions) {
            (Some(fault), _) => Err(fault),
            (None, _) if self.is_there && !self.items.is_empty() => Err(ReadFault::Lost),
            (None, Some([oldest, newest])) if sees_one_state && oldest != newest => {
                Err(ReadFault::Torn)
            }
            (None, versions) => Ok(versions),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The verdict on the items from 10 to 13, shown in these states.
    fn verdict(parts: &[(u64, RecordState)], sees_one_state: bool) -> Verdict {
        let mut seen = SeenParts::new(10..14);
        for (item, state) in parts {
            seen.add_part(*item, *state);
        }
        seen.versions(sees_one_state)
    }

    type Verdict = Result<Option<[u32; 2]>, ReadFault>;

    #[test]
    fn a_value_is_whole_missing_cut_damaged_or_torn() {
        let parts = |versions: [u32; 4]| (10..14).zip(versions.map(RecordState::Version));
        let whole: Vec<_> = parts([7; 4]).collect();
        assert_eq!(verdict(&whole, true), Ok(Some([7, 7])));
        assert_eq!(verdict(&[], true), Ok(None));
        for lost in 0..4 {
            let mut cut = whole.clone();
            cut.remove(lost);
            assert_eq!(verdict(&cut, true), Err(ReadFault::Lost), "{lost}");
            let mut damaged = whole.clone();
            damaged[lost].1 = RecordState::Foreign;
            assert_eq!(verdict(&damaged, true), Err(ReadFault::Foreign), "{lost}");
            let mut torn = whole.clone();
            torn[lost].1 = RecordState::Version(6);
            assert_eq!(verdict(&torn, true), Err(ReadFault::Torn), "{lost}");
            assert_eq!(verdict(&torn, false), Ok(Some([6, 7])), "{lost}");
        }
    }
}
