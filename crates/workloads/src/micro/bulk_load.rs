//! A fill by the engine's own loader.

use super::config::Maker;
use super::kinds::Kind;
use super::worker::Worker;
use crate::keyed::versions::FIRST_VERSION;
use crate::{Error, ErrorContext, JobTask, Meter, Result};
use trueput_engine::RecordSource;

/// Loads the first `quota` records, if the engine has a loader; `false`, with nothing done, if it
/// has none.
///
/// # Errors
/// Errors of the engine; a stop by the user.
pub(super) fn run(
    worker: &mut Worker<'_>,
    task: &mut JobTask<'_>,
    quota: Option<u64>,
) -> Result<bool> {
    let kinds = worker.kinds;
    let mut records = FillRecords {
        maker: &mut worker.maker,
        meter: &mut *task.meter,
        kind: kinds.index(Kind::Insert),
        next: 0,
        end: quota.unwrap_or(0),
        is_due: false,
    };
    records.meter.start();
    let loaded = task.session.bulk_load(&mut records);
    let done = records.next;
    if !loaded.context(|| "loading the records in bulk".to_owned())? {
        return Ok(false);
    }
    if task.meter.is_stopped() {
        return Err(Error::Stopped);
    }
    // What the loader did behind the last record.
    task.meter.finish(kinds.index(Kind::Commit));
    task.meter.finish_unit(0);
    worker.done += done;
    worker.was_loaded = true;
    Ok(true)
}

/// The records of a fill in the order of their keys. Each counts when the loader asks for the one
/// after it.
struct FillRecords<'w> {
    maker: &'w mut Maker,
    meter: &'w mut dyn Meter,
    kind: usize,
    next: u64,
    end: u64,
    /// Whether a record was handed out that does not count yet.
    is_due: bool,
}

impl RecordSource for FillRecords<'_> {
    fn next_record(&mut self) -> Option<(&[u8], &[u8])> {
        if self.is_due {
            self.meter.finish(self.kind);
            self.meter.advance(1);
        }
        self.is_due = self.next < self.end && !self.meter.is_stopped();
        if !self.is_due {
            return None;
        }
        self.next += 1;
        Some(self.maker.make(self.next - 1, FIRST_VERSION))
    }
}
