//! Holds what the database has at the end against what was done to it.

use super::expected::{Expected, named};
use super::names;
use super::problem::Problem;
use super::track::Knowledge;
use crate::generate::value::Values;
use crate::keyed::read_check::{ReadCounts, ReadFault, RecordState};
use crate::keyed::transaction::transact_unmetered;
use crate::{Error, ExecutionSummary, JobDatabase, JobResults};
use std::ops::ControlFlow;
use trueput_engine::{Direction, KeyRange, Mode, Result as EngineResult};
use trueput_record::measurement::Check;
use trueput_record::{Survival, VerifyLevel};

/// Progress is told every so many records.
const PROGRESS_STEP: u64 = 1 << 16;

/// The results, and the checks where verification is on.
///
/// # Errors
/// Whatever the engine says.
pub(super) fn verify(
    problem: &Problem,
    target: &JobDatabase<'_>,
    ended: &ExecutionSummary,
) -> Result<JobResults, Error> {
    let mut conclusion = JobResults::default();
    let (results, checks) = (&mut conclusion.results, &mut conclusion.checks);
    results.insert("records".to_owned(), problem.records.into());
    if ended.verify == VerifyLevel::Off || !target.capabilities.retains_data {
        return Ok(conclusion);
    }
    let expected = Expected::replay(problem, target, ended)?;
    let survey = survey(problem, target, ended, &expected)?;
    results.insert("records_at_end".to_owned(), survey.found.into());
    checks.extend(check_reads(ended));
    if ended.crashed.is_some() {
        let missing = survey.missing;
        results.insert("missing_acknowledged".to_owned(), missing.into());
    }
    checks.push(survey.records.check("records", || {
        let (found, inserted) = (survey.found, expected.inserted());
        format!(
            "{found} found; {} filled or loaded, {inserted} inserted",
            problem.records
        )
    }));
    checks.push(
        survey
            .order
            .check("order", || format!("{} keys in order", survey.found)),
    );
    checks.push(survey.contents.check("contents", || {
        format!("{} values intact, to the last byte", survey.looked_at)
    }));
    checks.push(survey.versions.check("versions", || {
        let followed = survey.looked_at;
        match (expected.is_loose(), expected.unsettled()) {
            (true, _) => format!("{followed} within what may be, too many writes having met"),
            (false, 0) => format!("{followed} as last written"),
            (false, met) => format!(
                "{followed} as last written, {met} of them by one of several writes that met"
            ),
        }
    }));
    (target.progress)(1.0);
    Ok(conclusion)
}

/// What the workers' own reads came to; `None` where they read nothing.
fn check_reads(ended: &ExecutionSummary) -> Option<Check> {
    let reads = ReadCounts::sum(&ended.findings);
    let checked = reads.checked();
    (checked > 0).then(|| {
        reads.check("reads", || {
            format!("{checked} reads saw what they may{}", limits(ended))
        })
    })
}

/// What the workers could not check, being processes.
fn limits(ended: &ExecutionSummary) -> &'static str {
    let knows = |knowledge| {
        let number = knowledge as u64;
        let mut found = ended.findings.iter();
        found.any(|found| named(found, names::KNOWLEDGE) == number)
    };
    match (knows(Knowledge::Nothing), knows(Knowledge::Rising)) {
        (true, _) => "; whether stale is not known, several processes having written",
        (_, true) => {
            "; fresh is checked as versions that never fall, because another process \
            wrote"
        }
        _ => "",
    }
}

/// What one check has against the records.
#[derive(Default)]
struct Verdict {
    wrong: u64,
    first: Option<String>,
}

impl Verdict {
    fn note(&mut self, why: impl FnOnce() -> String) {
        self.wrong += 1;
        if self.first.is_none() {
            self.first = Some(why());
        }
    }

    fn check(&self, name: &str, when_right: impl FnOnce() -> String) -> Check {
        match &self.first {
            None => Check::new(name, true, when_right()),
            Some(first) => Check::new(name, false, format!("{} wrong; first, {first}", self.wrong)),
        }
    }
}

/// What a look at every record shows.
#[derive(Default)]
struct Survey {
    found: u64,
    /// Those among them that workers inserted.
    inserted: u64,
    looked_at: u64,
    /// Writes that a crash has taken.
    missing: u64,
    records: Verdict,
    order: Verdict,
    contents: Verdict,
    versions: Verdict,
}

fn survey(
    problem: &Problem,
    target: &JobDatabase<'_>,
    ended: &ExecutionSummary,
    expected: &Expected,
) -> Result<Survey, Error> {
    let mut session = target.open_session()?;
    let surveyor = Surveyor {
        problem,
        values: problem.values(target.seed)?,
        level: ended.verify,
        may_miss: ended.crashed == Some(Survival::ConsistentPrefix),
        expected,
    };
    let mut survey = Survey::default();
    let doing = || "scanning the records".to_owned();
    transact_unmetered(
        &mut *session,
        Mode::Read,
        doing,
        |session| -> EngineResult<()> {
            survey = Survey::default();
            let mut next = 0;
            let visit = &mut |key: &[u8], value: &[u8]| {
                surveyor.check_record(&mut survey, &mut next, key, value);
                if survey.found.is_multiple_of(PROGRESS_STEP) {
                    (target.progress)(survey.found as f64 / problem.records as f64);
                }
                ControlFlow::Continue(())
            };
            session.scan(KeyRange::ALL, Direction::Forward, visit)?;
            surveyor.pass_over(&mut survey, next, problem.records);
            Ok(())
        },
    )?;
    // Only what was loaded is ever deleted.
    let missing = expected.inserted().saturating_sub(survey.inserted);
    if missing > 0 && surveyor.may_miss {
        survey.missing += missing;
    } else if missing > 0 {
        survey
            .records
            .note(|| format!("{missing} of those inserted are not there"));
    }
    Ok(survey)
}

struct Surveyor<'s> {
    problem: &'s Problem,
    values: Values,
    level: VerifyLevel,
    /// Whether acknowledged writes may be missing, and are counted.
    may_miss: bool,
    expected: &'s Expected,
}

impl Surveyor<'_> {
    /// Looks at the next record of the scan; `next` is its number where none is missing.
    fn check_record(&self, survey: &mut Survey, next: &mut u64, key: &[u8], value: &[u8]) {
        survey.found += 1;
        let Some(item) = self.problem.format.read(key) else {
            survey
                .order
                .note(|| format!("a key of {} bytes that no record has", key.len()));
            return;
        };
        if item < *next {
            survey
                .order
                .note(|| format!("record {item} after record {}", *next - 1));
            return;
        }
        self.pass_over(survey, *next, item.min(self.problem.records));
        *next = item.saturating_add(1);
        if self.expected.judge_presence(item).is_err() {
            survey
                .records
                .note(|| format!("record {item} is there and should not be"));
            return;
        }
        survey.inserted += u64::from(item >= self.problem.records);
        if self.level != VerifyLevel::Full && !self.expected.follows(item) {
            return;
        }
        survey.looked_at += 1;
        let seen = match self.values.check_all(item, value) {
            Ok(_) if value.len() != self.problem.value_bytes => {
                survey
                    .contents
                    .note(|| format!("record {item} has {} bytes", value.len()));
                return;
            }
            Ok(version) => RecordState::Version(version),
            Err(wrong) => {
                survey.contents.note(|| wrong.to_string());
                return;
            }
        };
        if let Err(fault) = self.expected.judge_version(item, seen) {
            if fault == ReadFault::Stale && self.may_miss {
                survey.missing += 1;
                return;
            }
            survey
                .versions
                .note(|| format!("record {item} is {}", fault.name()));
        }
    }

    /// Judges the absence of the records from one up to another.
    fn pass_over(&self, survey: &mut Survey, from: u64, to: u64) {
        for item in from..to {
            if self.expected.judge_absence(item).is_ok() {
                continue;
            }
            // What was loaded before the workers came was closed in good order.
            if self.may_miss && self.problem.fills() {
                survey.missing += 1;
            } else {
                survey.records.note(|| format!("record {item} is lost"));
            }
        }
    }
}
