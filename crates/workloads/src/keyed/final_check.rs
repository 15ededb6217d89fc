//! Verifies the database at the end against the operations of the workers.

use super::draws::ValueLengths;
use super::expected_state::{ExpectedState, KNOWLEDGE, ReplayableJob};
use super::read_check::{ReadCounts, ReadFault, RecordState, compared_part};
use super::record::RecordMaker;
use super::transaction::transact_unmetered;
use super::write_tracker::WriteKnowledge;
use crate::{ExecutionSummary, JobDatabase, JobResults, Result, finding};
use std::ops::ControlFlow;
use trueput_engine::{Direction, KeyRange, Mode, Result as EngineResult};
use trueput_record::measurement::Check;
use trueput_record::{Survival, VerifyLevel};

/// Records between two reports of progress.
const PROGRESS_STEP: u64 = 1 << 16;

/// The results, and the checks where verification is on.
pub(crate) fn verify(
    job: &impl ReplayableJob,
    target: &JobDatabase<'_>,
    ended: &ExecutionSummary,
) -> Result<JobResults> {
    let mut conclusion = JobResults::default();
    let (results, checks) = (&mut conclusion.results, &mut conclusion.checks);
    results.insert("records".to_owned(), job.records_at_first().into());
    if ended.verify == VerifyLevel::Off || !target.capabilities.retains_data {
        return Ok(conclusion);
    }
    let expected = ExpectedState::replay(job, target, ended)?;
    let found = scan_database(job, target, ended, &expected)?;
    results.insert("records_at_end".to_owned(), found.records_found.into());
    checks.extend(check_reads(ended));
    if ended.crashed.is_some() {
        let missing = found.missing;
        results.insert("missing_acknowledged".to_owned(), missing.into());
    }
    checks.push(found.records.check("records", || {
        let (found, inserted) = (found.records_found, expected.inserted());
        format!(
            "{found} found; {} filled or loaded, {inserted} inserted",
            job.records_at_first()
        )
    }));
    checks.push(
        found
            .order
            .check("order", || format!("{} keys in order", found.records_found)),
    );
    checks.push(found.contents.check("contents", || {
        format!("{} values intact, to the last byte", found.looked_at)
    }));
    let looked_at = found.looked_at;
    checks.push(
        found
            .versions
            .check("versions", || versions_detail(&expected, looked_at)),
    );
    (target.progress)(1.0);
    Ok(conclusion)
}

/// Describes versions that are all as they may be, of so many records that were compared.
pub(crate) fn versions_detail(expected: &ExpectedState, followed: u64) -> String {
    match (expected.is_inexact(), expected.unsettled()) {
        (true, _) => format!("{followed} within what may be, too many writes having met"),
        (false, 0) => format!("{followed} as last written"),
        (false, met) => {
            format!("{followed} as last written, {met} of them by one of several writes that met")
        }
    }
}

/// The check of the workers' own reads; `None` if they read nothing.
pub(crate) fn check_reads(ended: &ExecutionSummary) -> Option<Check> {
    let reads = ReadCounts::sum(&ended.findings);
    let checked = reads.checked();
    (checked > 0).then(|| {
        reads.check("reads", || {
            let compared = compared_part(ended.verify);
            format!(
                "{checked} reads saw what they may{compared}{}",
                unchecked_part(ended)
            )
        })
    })
}

/// Describes the part that workers could not check because they were processes.
fn unchecked_part(ended: &ExecutionSummary) -> String {
    let knows = |knowledge| {
        let number = knowledge as u64;
        let mut found = ended.findings.iter();
        found.any(|found| finding(found, KNOWLEDGE) == number)
    };
    match (
        knows(WriteKnowledge::Nothing),
        knows(WriteKnowledge::Rising),
    ) {
        (true, _) => format!("; {}", Check::STALE_UNKNOWN),
        (_, true) => "; fresh is checked as versions that never fall, because another process \
            wrote"
            .to_owned(),
        _ => String::new(),
    }
}

/// The failures of one check, and the first of them.
#[derive(Default)]
pub(crate) struct FailureCount {
    wrong: u64,
    first: Option<String>,
}

impl FailureCount {
    /// Counts a failure; the text is only built for the first one.
    pub(crate) fn note(&mut self, reason: impl FnOnce() -> String) {
        self.wrong += 1;
        if self.first.is_none() {
            self.first = Some(reason());
        }
    }

    /// The check that there was none; `when_right` gives its text then.
    pub(crate) fn check(&self, name: &str, when_right: impl FnOnce() -> String) -> Check {
        match &self.first {
            None => Check::new(name, true, when_right()),
            Some(first) => Check::new(name, false, format!("{} wrong; first, {first}", self.wrong)),
        }
    }
}

/// The findings of a pass over every record.
#[derive(Default)]
struct DatabaseCheck {
    records_found: u64,
    /// The records among them that workers inserted.
    inserted: u64,
    looked_at: u64,
    /// Writes that a crash has taken.
    missing: u64,
    records: FailureCount,
    order: FailureCount,
    contents: FailureCount,
    versions: FailureCount,
}

fn scan_database(
    job: &impl ReplayableJob,
    target: &JobDatabase<'_>,
    ended: &ExecutionSummary,
    expected: &ExpectedState,
) -> Result<DatabaseCheck> {
    let mut session = target.open_session()?;
    let records = job.records();
    let maker = job.maker(target.seed)?;
    let mut checker = RecordChecker {
        records,
        fills: job.fills(),
        maker: maker.in_partitions(job.partitions(target.workers)),
        level: ended.verify,
        may_miss: ended.crashed == Some(Survival::ConsistentPrefix),
        expected,
    };
    let mut found = DatabaseCheck::default();
    let doing = || "scanning the records".to_owned();
    transact_unmetered(
        &mut *session,
        Mode::Read,
        doing,
        |session| -> EngineResult<()> {
            found = DatabaseCheck::default();
            let mut position = ScanPosition::default();
            let visit = &mut |key: &[u8], value: &[u8]| {
                checker.check_record(&mut found, &mut position, key, value);
                if found.records_found.is_multiple_of(PROGRESS_STEP) {
                    (target.progress)(found.records_found as f64 / records as f64);
                }
                ControlFlow::Continue(())
            };
            session.scan(KeyRange::ALL, Direction::Forward, visit)?;
            checker.check_missing(&mut found, position.next_loaded, records);
            Ok(())
        },
    )?;
    let missing = expected.remaining_inserts();
    let missing = missing.saturating_sub(found.inserted);
    if missing > 0 && checker.may_miss {
        found.missing += missing;
    } else if missing > 0 {
        found
            .records
            .note(|| format!("{missing} of those inserted are not there"));
    }
    Ok(found)
}

/// How far the scan has come.
#[derive(Default)]
struct ScanPosition {
    /// The record before, and the place of its key among all keys.
    former: Option<(u64, u64)>,
    /// The loaded records below this one were met, or noted as missing.
    next_loaded: u64,
}

struct RecordChecker<'s, L> {
    records: u64,
    /// Whether the trial itself filled the database.
    fills: bool,
    maker: RecordMaker<L>,
    level: VerifyLevel,
    /// Whether acknowledged writes may be missing, and are counted.
    may_miss: bool,
    expected: &'s ExpectedState,
}

impl<L: ValueLengths> RecordChecker<'_, L> {
    /// Looks at the next record of the scan.
    fn check_record(
        &mut self,
        found: &mut DatabaseCheck,
        position: &mut ScanPosition,
        key: &[u8],
        value: &[u8],
    ) {
        found.records_found += 1;
        let Some(item) = self.maker.item(key) else {
            found
                .order
                .note(|| format!("a key of {} bytes that no record has", key.len()));
            return;
        };
        let place = self.maker.key_place(item);
        if let Some((former, former_place)) = position.former
            && place <= former_place
        {
            found
                .order
                .note(|| format!("record {item} after record {former}"));
            return;
        }
        position.former = Some((item, place));
        // Loaded records have the order of their keys also where inserted ones are between them.
        let loaded = self.maker.loaded_before(item, self.records);
        self.check_missing(found, position.next_loaded, loaded);
        position.next_loaded = loaded + u64::from(item < self.records);
        if self.expected.check_presence(item).is_err() {
            found
                .records
                .note(|| format!("record {item} is there and should not be"));
            return;
        }
        found.inserted += u64::from(item >= self.records);
        if self.level != VerifyLevel::Full && !self.expected.is_tracked(item) {
            return;
        }
        found.looked_at += 1;
        let seen = match self.maker.check_whole(item, value) {
            Ok(version) => RecordState::Version(version),
            Err(wrong) => {
                found.contents.note(|| wrong.to_string());
                return;
            }
        };
        if let Err(fault) = self.expected.check_version(item, seen) {
            if fault == ReadFault::Stale && self.may_miss {
                found.missing += 1;
                return;
            }
            found
                .versions
                .note(|| format!("record {item} is {}", fault.name()));
        }
    }

    /// Checks the absence of the records from one up to another.
    fn check_missing(&self, found: &mut DatabaseCheck, from: u64, to: u64) {
        for item in from..to {
            if self.expected.check_absence(item).is_ok() {
                continue;
            }
            // What was loaded before the workers came was closed in good order.
            if self.may_miss && self.fills {
                found.missing += 1;
            } else {
                found.records.note(|| format!("record {item} is lost"));
            }
        }
    }
}
