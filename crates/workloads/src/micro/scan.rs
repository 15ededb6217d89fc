//! Short scans from a record on, and passes over all records.

use super::kinds::Kind;
use super::worker::Worker;
use crate::keyed::read_check::ReadValidator;
use crate::keyed::scan::{ScanCheck, scan_first};
use crate::{JobTask, Result};
use std::hint::black_box;
use std::ops::{Bound, ControlFlow};
use trueput_engine::{Direction, KeyRange, Mode, Result as EngineResult};

/// One record and the `nexts` after it, in a transaction.
pub(super) fn scan_from(worker: &mut Worker<'_>, task: &mut JobTask<'_>, item: u64) -> Result<()> {
    let wanted = worker.config.nexts + 1;
    if worker.verifies {
        for (floor, item) in worker.floors.iter_mut().zip(item..) {
            *floor = worker.tracker.floor(item);
        }
    }
    let key = worker.config.format.write(item, &mut worker.key);
    let reads = worker.reads;
    let lacks_record = &mut worker.lacks_record;
    let doing = || "scanning".to_owned();
    worker.reads = task.transact(Mode::Read, doing, |session, _| {
        let from = (item, &*worker.floors);
        let mut check = ScanCheck::new(&mut worker.maker, &worker.tracker, from, reads);
        let shown = scan_first(session, KeyRange::from(key), wanted, |key, value| {
            if worker.verifies {
                check.check_record(key, value);
            } else {
                black_box((key.first().copied(), value.first().copied()));
            }
        })?;
        *lacks_record = shown == 0;
        if worker.verifies && shown < wanted {
            // The scan ended early: the remaining records must not exist.
            check.check_missing(item.checked_add(wanted));
        }
        EngineResult::Ok(check.reads)
    })?;
    Ok(())
}

/// Passes over the records, around and around, each record one operation, until the quota or the
/// time is up. Each round is one transaction.
pub(super) fn scan_all(
    worker: &mut Worker<'_>,
    task: &mut JobTask<'_>,
    kind: Kind,
    reverse: bool,
    quota: Option<u64>,
) -> Result<()> {
    let records = worker.config.records;
    let share = worker.config.share(task.worker, task.workers);
    let start = if share.start < records {
        share.start
    } else {
        0
    };
    let end = share.end.min(records);
    let (mut next, rewind) = if reverse {
        (end.max(1) - 1, records - 1)
    } else {
        (start, 0)
    };
    let mut left = quota.unwrap_or(u64::MAX);
    let mut begun = left > 0 && task.meter.next_unit();
    while begun {
        let round = ScanPass {
            kind,
            reverse,
            counts: quota.is_some(),
        };
        begun = round.run(worker, task, next, &mut left)?;
        next = rewind;
    }
    Ok(())
}

/// One round of a pass.
struct ScanPass {
    kind: Kind,
    reverse: bool,
    counts: bool,
}

impl ScanPass {
    /// Goes from `from` to the last record. Whether an operation is due that no record was left
    /// for.
    fn run(
        &self,
        worker: &mut Worker<'_>,
        task: &mut JobTask<'_>,
        from: u64,
        left: &mut u64,
    ) -> Result<bool> {
        let kind = worker.kinds.index(self.kind);
        let unit = worker.paced.index(self.kind);
        let bound = worker.config.format.write(from, &mut worker.key);
        let (range, direction) = self.range(bound);
        let (maker, tracker) = (&mut worker.maker, &worker.tracker);
        let check = ScanCheck::new(maker, tracker, (from, &[]), worker.reads);
        let mut check = check.reversed(self.reverse);
        let verifies = worker.verifies;
        let (mut shown, mut due) = (0_u64, true);
        let doing = || "scanning".to_owned();
        task.transact(Mode::Read, doing, |session, meter| -> EngineResult<()> {
            // After a conflict the round restarts; the records shown before it were still read.
            if !due {
                return Ok(());
            }
            check.next = Some(from);
            let visit = &mut |key: &[u8], value: &[u8]| {
                if verifies {
                    check.check_record(key, value);
                } else {
                    black_box((key.first().copied(), value.first().copied()));
                }
                shown += 1;
                due = self.finish(meter, [kind, unit], left);
                if due {
                    ControlFlow::Continue(())
                } else {
                    ControlFlow::Break(())
                }
            };
            session.scan(range, direction, visit).map(drop)
        })?;
        if due && verifies {
            check.check_missing(None);
        }
        if due && shown == 0 {
            // A round without a record is an operation too, or an empty database had no end.
            task.meter.not_found(kind);
            due = self.finish(task.meter, [kind, unit], left);
        }
        worker.reads = check.reads;
        Ok(due)
    }

    fn range<'k>(&self, bound: &'k [u8]) -> (KeyRange<'k>, Direction) {
        if self.reverse {
            let range = KeyRange {
                lower: Bound::Unbounded,
                upper: Bound::Included(bound),
            };
            (range, Direction::Backward)
        } else {
            (KeyRange::from(bound), Direction::Forward)
        }
    }

    /// An operation has ended. Whether the next one is due.
    fn finish(
        &self,
        meter: &mut dyn crate::Meter,
        [kind, unit]: [usize; 2],
        left: &mut u64,
    ) -> bool {
        let counts = self.counts && !meter.is_warming_up();
        meter.finish(kind);
        meter.finish_unit(unit);
        if counts {
            *left -= 1;
            meter.advance(1);
        }
        *left > 0 && meter.next_unit()
    }
}
