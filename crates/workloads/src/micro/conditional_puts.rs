//! Verifies puts on the condition that the key does not exist: of each key that was drawn one put
//! stored, and the worker that it belongs to was told so.

use super::config::{Maker, MicroConfig};
use super::operation_stream::OperationStream;
use super::worker::STORED;
use crate::keyed::expected_state::{DONE, worker};
use crate::keyed::final_check::FailureCount;
use crate::keyed::read_check::RecordState;
use crate::keyed::transaction::transact_unmetered;
use crate::{ExecutionSummary, JobDatabase, JobResults, Result, finding};
use std::ops::ControlFlow;
use trueput_engine::{Direction, KeyRange, Mode, Result as EngineResult};
use trueput_record::VerifyLevel;

/// The version of the records that a worker puts, which says whose they are.
pub(super) fn own_version(worker: u32) -> u32 {
    worker.saturating_add(1)
}

/// The results, and the checks where verification is on.
///
/// # Errors
/// Errors of the engine.
pub(super) fn verify(
    config: &MicroConfig,
    target: &JobDatabase<'_>,
    ended: &ExecutionSummary,
) -> Result<JobResults> {
    let mut conclusion = JobResults::default();
    let (results, checks) = (&mut conclusion.results, &mut conclusion.checks);
    results.insert("records".to_owned(), config.records.into());
    if ended.verify == VerifyLevel::Off || !target.capabilities.retains_data {
        return Ok(conclusion);
    }
    let drawn = DrawnItems::replay(config, target, ended)?;
    let mut found = scan_database(config, target, ended, &drawn)?;
    for findings in &ended.findings {
        let (worker, told) = (worker(findings), finding(findings, STORED));
        let own = found.stored_by.get(worker as usize).copied();
        let own = own.unwrap_or_default();
        if own != told {
            let text = || format!("worker {worker} was told of {told} records, and {own} are its");
            found.winners.note(text);
        }
    }
    let count = found.records_found;
    results.insert("records_at_end".to_owned(), count.into());
    checks.extend([
        found.records.check("records", || {
            format!("{count} found, those that a worker put")
        }),
        found
            .order
            .check("order", || format!("{count} keys in order")),
        found.contents.check("contents", || {
            format!("{} values intact, to the last byte", found.compared)
        }),
        found.winners.check("conditional puts", || {
            format!("{count} stored, each by one worker, which was told so")
        }),
    ]);
    (target.progress)(1.0);
    Ok(conclusion)
}

/// The items that the workers drew, a bit each.
struct DrawnItems {
    words: Vec<u64>,
}

impl DrawnItems {
    /// Draws all operations again.
    fn replay(
        config: &MicroConfig,
        target: &JobDatabase<'_>,
        ended: &ExecutionSummary,
    ) -> Result<Self> {
        let length = usize::try_from(config.records.div_ceil(64)).unwrap_or(usize::MAX);
        let mut words = vec![0_u64; length];
        let (seed, generation) = (target.seed, target.generation);
        for findings in &ended.findings {
            let worker = worker(findings);
            let mut stream =
                OperationStream::new(config, seed, generation, worker, target.workers)?;
            for _ in 0..finding(findings, DONE) {
                let item = stream.next_operation().item;
                words[(item / 64) as usize] |= 1 << (item % 64);
            }
        }
        Ok(Self { words })
    }

    /// No item from here on was drawn.
    fn end(&self) -> u64 {
        self.words.len() as u64 * 64
    }

    fn has(&self, item: u64) -> bool {
        let word = self.words.get((item / 64) as usize);
        word.is_some_and(|word| word >> (item % 64) & 1 == 1)
    }
}

/// The findings of a pass over every record.
#[derive(Default)]
struct FoundRecords {
    records_found: u64,
    compared: u64,
    /// The records below this one were met, or noted as missing.
    next: u64,
    /// The number of records that each worker stored.
    stored_by: Vec<u64>,
    records: FailureCount,
    order: FailureCount,
    contents: FailureCount,
    winners: FailureCount,
}

fn scan_database(
    config: &MicroConfig,
    target: &JobDatabase<'_>,
    ended: &ExecutionSummary,
    drawn: &DrawnItems,
) -> Result<FoundRecords> {
    let mut session = target.open_session()?;
    let parts = config.value_parts(&target.capabilities);
    let mut maker = config.maker(config.values(target.seed)?, parts);
    let mut found = FoundRecords::default();
    let doing = || "scanning the records".to_owned();
    transact_unmetered(
        &mut *session,
        Mode::Read,
        doing,
        |session| -> EngineResult<()> {
            found = FoundRecords {
                stored_by: vec![0; target.workers as usize],
                ..FoundRecords::default()
            };
            let visit = &mut |key: &[u8], value: &[u8]| {
                found.check_record(&mut maker, ended.verify, drawn, (key, value));
                ControlFlow::Continue(())
            };
            session.scan(KeyRange::ALL, Direction::Forward, visit)?;
            found.check_missing(drawn, config.records);
            Ok(())
        },
    )?;
    Ok(found)
}

impl FoundRecords {
    /// Checks the next record of the scan.
    fn check_record(
        &mut self,
        maker: &mut Maker,
        level: VerifyLevel,
        drawn: &DrawnItems,
        (key, value): (&[u8], &[u8]),
    ) {
        self.records_found += 1;
        let Some(item) = maker.item(key) else {
            let text = || format!("a key of {} bytes that no record has", key.len());
            return self.order.note(text);
        };
        if item < self.next {
            let text = || format!("record {item} after one behind it");
            return self.order.note(text);
        }
        self.check_missing(drawn, item.min(drawn.end()));
        self.next = item.saturating_add(1);
        if !drawn.has(item) {
            let text = || format!("record {item} is there, and nobody put it");
            return self.records.note(text);
        }
        let state = if level == VerifyLevel::Full || item.is_multiple_of(10) {
            self.compared += 1;
            match maker.check_whole(item, value) {
                Ok(version) => RecordState::Version(version),
                Err(wrong) => return self.contents.note(|| wrong.to_string()),
            }
        } else {
            maker.state(item, value)
        };
        let owner = match state {
            RecordState::Version(version) => version.checked_sub(own_version(0)),
            RecordState::Absent | RecordState::Foreign => None,
        };
        if let Some(worker) = owner
            && let Some(count) = self.stored_by.get_mut(worker as usize)
        {
            *count += 1;
        } else {
            let text = || format!("record {item} is of no worker");
            self.winners.note(text);
        }
    }

    /// Notes the records from the next up to another that were put and are not there.
    fn check_missing(&mut self, drawn: &DrawnItems, end: u64) {
        for item in (self.next..end).filter(|item| drawn.has(*item)) {
            self.records.note(|| format!("record {item} is lost"));
        }
    }
}
