//! Look-ups of several records at once, in one read transaction each.

use super::kinds::Kind;
use super::operation_stream::OperationStream;
use super::worker::{Worker, reading};
use crate::keyed::read_check::{ReadFault, ReadValidator, RecordState};
use crate::keyed::units::run_units;
use crate::{JobTask, Result};
use std::hint::black_box;
use trueput_engine::Mode;

/// Looks batches up until the quota of records or the time is up.
///
/// # Errors
/// Errors of the engine, except conflicts; a stop by the user.
pub(super) fn run(
    worker: &mut Worker<'_>,
    task: &mut JobTask<'_>,
    mut stream: OperationStream,
    quota: Option<u64>,
) -> Result<()> {
    let kind = worker.kinds.index(Kind::ReadBatch);
    run_units(task, quota, |task, left| {
        let count = worker.config.read_batch.min(left);
        draw(worker, &mut stream, count);
        task.meter.start();
        look_up(worker, task)?;
        if worker.lacks_record {
            task.meter.not_found(kind);
        }
        task.meter.finish(kind);
        task.meter.finish_unit(0);
        worker.done += count;
        Ok(count)
    })
}

/// Draws the next keys, and notes what their values may be. For a hundred keys that takes time that
/// is not the engine's, so the latency begins after it.
fn draw(worker: &mut Worker<'_>, stream: &mut OperationStream, count: u64) {
    worker.items.clear();
    worker.keys.clear();
    for _ in 0..count {
        let item = stream.next_operation().item;
        worker.items.push(item);
        let key = worker.config.format.write(item, &mut worker.key);
        worker.keys.push(key);
    }
    if worker.verifies {
        for (floor, item) in worker.floors.iter_mut().zip(&worker.items) {
            *floor = worker.tracker.floor(*item);
        }
    }
}

/// Looks the worker's keys up, and checks what is found.
fn look_up(worker: &mut Worker<'_>, task: &mut JobTask<'_>) -> Result<()> {
    let Worker {
        maker,
        tracker,
        reads,
        verifies,
        items,
        keys,
        floors,
        states,
        lacks_record,
        ..
    } = worker;
    let verifies = *verifies;
    // Values that were shown, and those of them that no key asked for.
    let (mut shown, mut strays) = (0_u64, 0_u64);
    let found = task.transact(Mode::Read, reading, |session, _| {
        // An attempt that ended in a conflict may have shown values.
        states.fill(RecordState::Absent);
        (shown, strays) = (0, 0);
        session.get_many(keys, &mut |position, value| {
            shown += 1;
            if !verifies {
                black_box(value.first().copied());
                return;
            }
            match (items.get(position), states.get_mut(position)) {
                (Some(item), Some(state)) if *state == RecordState::Absent => {
                    *state = maker.state(*item, value);
                }
                _ => strays += 1,
            }
        })
    })?;
    *lacks_record = found < keys.len() as u64;
    if verifies {
        let read = items.iter().zip(&*floors).zip(&*states);
        for ((item, floor), state) in read {
            reads.count(*item, tracker.validate(*item, *floor, *state));
        }
        if strays > 0 || shown != found {
            // A value without a key, a key with two values, or a wrong number of them.
            let first = items.first().copied().unwrap_or_default();
            reads.add(ReadFault::Unexpected, first);
        }
    }
    Ok(())
}
