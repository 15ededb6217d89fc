//! Verifies values in parts at the end: every part of every value is there, all of one version,
//! which is the one that was written last.

use super::config::{Maker, MicroConfig};
use super::large_values::SeenParts;
use super::value_parts::ValueParts;
use crate::keyed::expected_state::ExpectedState;
use crate::keyed::final_check::{FailureCount, check_reads, versions_detail};
use crate::keyed::read_check::{ReadFault, RecordState};
use crate::keyed::transaction::transact_unmetered;
use crate::{ExecutionSummary, JobDatabase, JobResults, Result};
use std::ops::ControlFlow;
use trueput_engine::{Direction, KeyRange, Mode, Result as EngineResult};
use trueput_record::{Survival, VerifyLevel};

/// Parts between two reports of progress.
const PROGRESS_STEP: u64 = 1 << 10;

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
    let expected = ExpectedState::replay(config, target, ended)?;
    let found = scan_database(config, target, ended, &expected)?;
    results.insert("records_at_end".to_owned(), found.whole.into());
    checks.extend(check_reads(ended));
    if ended.crashed.is_some() {
        results.insert("missing_acknowledged".to_owned(), found.missing.into());
    }
    let (whole, looked_at) = (found.whole, found.looked_at);
    checks.extend([
        found.records.check("records", || {
            format!("{whole} values found, none without a part")
        }),
        found
            .order
            .check("order", || format!("{} parts in order", found.parts_found)),
        found.contents.check("contents", || {
            format!("{} parts intact, to the last byte", found.compared)
        }),
        found
            .torn
            .check("parts", || format!("{whole} values of one version each")),
        found
            .versions
            .check("versions", || versions_detail(&expected, looked_at)),
    ]);
    (target.progress)(1.0);
    Ok(conclusion)
}

/// The findings of a pass over every part.
struct FoundValues<'s> {
    parts: ValueParts,
    /// The number of values.
    values: u64,
    level: VerifyLevel,
    /// Whether acknowledged writes may be missing, and are counted.
    may_miss: bool,
    expected: &'s ExpectedState,
    /// The value whose parts are shown now, and what was shown of it.
    record: u64,
    seen: SeenParts,
    /// The part before, if there was one.
    former: Option<u64>,
    parts_found: u64,
    /// Parts that were compared to their last byte.
    compared: u64,
    /// Values that are there with all their parts.
    whole: u64,
    /// Values whose version was compared.
    looked_at: u64,
    /// Writes that a crash has taken.
    missing: u64,
    records: FailureCount,
    order: FailureCount,
    contents: FailureCount,
    torn: FailureCount,
    versions: FailureCount,
}

fn scan_database<'s>(
    config: &MicroConfig,
    target: &JobDatabase<'_>,
    ended: &ExecutionSummary,
    expected: &'s ExpectedState,
) -> Result<FoundValues<'s>> {
    let mut session = target.open_session()?;
    let parts = config.value_parts(&target.capabilities);
    let mut maker = config.maker(config.values(target.seed)?, parts);
    let begin = || FoundValues::new(config, parts, ended, expected);
    let mut found = begin();
    let doing = || "scanning the values".to_owned();
    transact_unmetered(
        &mut *session,
        Mode::Read,
        doing,
        |session| -> EngineResult<()> {
            found = begin();
            let visit = &mut |key: &[u8], part: &[u8]| {
                found.check_part(&mut maker, key, part);
                if found.parts_found.is_multiple_of(PROGRESS_STEP) {
                    (target.progress)(found.record as f64 / config.records as f64);
                }
                ControlFlow::Continue(())
            };
            session.scan(KeyRange::ALL, Direction::Forward, visit)?;
            found.finish_values(config.records);
            Ok(())
        },
    )?;
    Ok(found)
}

impl<'s> FoundValues<'s> {
    /// Before the first part.
    fn new(
        config: &MicroConfig,
        parts: ValueParts,
        ended: &ExecutionSummary,
        expected: &'s ExpectedState,
    ) -> Self {
        Self {
            parts,
            values: config.records,
            level: ended.verify,
            may_miss: ended.crashed == Some(Survival::ConsistentPrefix),
            expected,
            record: 0,
            seen: SeenParts::new(parts.items(0)),
            former: None,
            parts_found: 0,
            compared: 0,
            whole: 0,
            looked_at: 0,
            missing: 0,
            records: FailureCount::default(),
            order: FailureCount::default(),
            contents: FailureCount::default(),
            torn: FailureCount::default(),
            versions: FailureCount::default(),
        }
    }

    /// Checks the next part of the scan.
    fn check_part(&mut self, maker: &mut Maker, key: &[u8], part: &[u8]) {
        self.parts_found += 1;
        let Some(item) = maker.item(key) else {
            let text = || format!("a key of {} bytes that no part has", key.len());
            return self.order.note(text);
        };
        let record = self.parts.record(item);
        if let Some(former) = self.former.filter(|former| item <= *former) {
            let former = self.parts.record(former);
            let text = || format!("a part of value {record} after one of value {former}");
            return self.order.note(text);
        }
        self.former = Some(item);
        if record >= self.values {
            let text = || format!("value {record} is there and should not be");
            return self.records.note(text);
        }
        self.finish_values(record);
        let state = self.state(maker, item, part);
        self.seen.add_part(item, state);
    }

    /// The state of a part: by every byte where its record is in the sample, or by its header.
    fn state(&mut self, maker: &mut Maker, item: u64, part: &[u8]) -> RecordState {
        let record = self.parts.record(item);
        if self.level == VerifyLevel::Full || self.expected.is_tracked(record) {
            self.compared += 1;
            match maker.check_whole(item, part) {
                Ok(version) => RecordState::Version(version),
                Err(wrong) => {
                    self.contents.note(|| wrong.to_string());
                    RecordState::Foreign
                }
            }
        } else {
            let state = maker.state(item, part);
            if state == RecordState::Foreign {
                let text = || format!("a part of value {record} is of another one");
                self.contents.note(text);
            }
            state
        }
    }

    /// Checks the values from the current one up to another, whose parts have all been shown.
    fn finish_values(&mut self, end: u64) {
        while self.record < end {
            let next = SeenParts::new(self.parts.items(self.record + 1));
            let seen = std::mem::replace(&mut self.seen, next);
            let record = self.record;
            self.record += 1;
            match seen.versions(true) {
                Ok(Some([version, _])) => self.check_version(record, version),
                Ok(None) => self.records.note(|| format!("value {record} is lost")),
                Err(ReadFault::Lost) => {
                    self.records
                        .note(|| format!("value {record} is without a part"));
                }
                Err(ReadFault::Torn) => {
                    self.torn
                        .note(|| format!("value {record} has parts of different versions"));
                }
                // Its contents were noted.
                Err(_) => {}
            }
        }
    }

    /// Checks the version of a value that is there with all its parts.
    fn check_version(&mut self, record: u64, version: u32) {
        self.whole += 1;
        if !self.expected.is_tracked(record) {
            return;
        }
        self.looked_at += 1;
        let state = RecordState::Version(version);
        match self.expected.check_version(record, state) {
            Ok(()) => {}
            Err(ReadFault::Stale) if self.may_miss => self.missing += 1,
            Err(fault) => {
                let text = || format!("value {record} is {}", fault.name());
                self.versions.note(text);
            }
        }
    }
}
