//! The 3n+1 benchmark of K.S. Bhaskar (2010): workers with nothing but the database between them
//! find the longest 3n+1 sequence that starts in a range, and the largest number met on the way.
//!
//! `docs/workloads/threen1.md` says what is counted and why.

mod blocks;
mod codec;
mod completed;
mod error;
mod input_line;
mod maximum;
mod oracle;
mod problem;
mod step_table;
mod verify;
mod worker;

pub use codec::MAX_STORABLE;
pub use completed::CompletedStarts;
pub use error::{InputMistake, ThreeN1Error};
pub use input_line::{InputLine, InputLineError, parse_lines};
pub use maximum::Maximum;
pub use oracle::{KnownAnswers, Oracle, Overflow, distinct_numbers};
pub use problem::used_block;

use crate::{
    ExecutionSummary, ExistingDatabase, Job, JobDatabase, JobError, JobResults, JobTask,
    LoadSummary, Result, WorkerFindings, Workload, WorkloadInfo,
};
use codec::{IntegerCodec, WordCodec};
use problem::{CommitScope, KeyEncoding, Problem};
use trueput_engine::{Parameter, ParameterValues, choices, parameters};
use trueput_record::measurement::Measurement;
use trueput_record::{Conditions, Survival, TrialSpec, Value, WorkerKind};

/// The kinds of operation, as indexes of [`Job::kinds`].
mod kinds {
    pub(super) const READ: usize = 0;
    pub(super) const UPDATE: usize = 1;
    pub(super) const CLAIM: usize = 2;
    pub(super) const FINISH: usize = 3;
    pub(super) const BEGIN: usize = 4;
    pub(super) const COMMIT: usize = 5;
    pub(super) const NAMES: [&str; 6] = ["read", "update", "claim", "finish", "begin", "commit"];
}

choices! {
    /// The number of look-ups that one snapshot serves.
    enum SnapshotScope {
        /// Each look-up has a read transaction of its own.
        Get = "get",
        /// All look-ups of a start share one.
        Start = "start",
    }
}

parameters! {
    /// The settings.
    struct Settings {
        /// First number of the range.
        start: Integer = 1 in 1..,
        /// Last number of the range. With a duration, which then ends the trial, the work goes on
        /// above it. 0: there is no last number.
        finish: Integer = 0 in 0..,
        /// Numbers that a worker claims at a time; 0, or more than its share of the range: its
        /// share, or 100 of a range without end.
        block: Integer = 0 in 0.., unit "starts", cost "large blocks leave workers idle at the end",
        /// What one transaction covers: one update, all updates of one number, or a whole block.
        commit: Choice<CommitScope> = Store,
            cost "comparison with results of the other granularities; a crash loses more work",
        /// How numbers and step counts are stored: as big-endian integers, or with each digit as a
        /// word.
        keys: Choice<KeyEncoding> = Integers, cost "words make keys of 30 to 120 bytes",
        /// What one read transaction covers: one look-up, or all look-ups of one number.
        snapshot: Choice<SnapshotScope> = Get,
            cost "a longer snapshot keeps the engine from reusing space meanwhile",
    }
}

/// The workload.
#[derive(Debug, Clone, Copy)]
pub struct ThreeN1;

impl Workload for ThreeN1 {
    fn info(&self) -> WorkloadInfo {
        WorkloadInfo {
            name: "threen1",
            summary: "the longest 3n+1 sequence in a range of numbers; workers share results \
                      through the database",
            headline: "update",
            worker_kind: WorkerKind::Processes,
        }
    }

    fn settings(&self) -> &'static [Parameter] {
        Settings::PARAMETERS
    }

    fn has_end(&self, settings: &ParameterValues, _conditions: &Conditions) -> bool {
        Settings::from(settings).finish > 0
    }

    fn job(
        &self,
        settings: &ParameterValues,
        conditions: &Conditions,
    ) -> Result<Box<dyn Job>, JobError> {
        if conditions.warm_up_s > 0.0 {
            return Err(ThreeN1Error::WarmUp.into());
        }
        let Settings {
            start,
            finish,
            block,
            commit,
            keys,
            snapshot,
        } = settings.into();
        if (1..start).contains(&finish) {
            return Err(ThreeN1Error::ReversedRange { start, finish }.into());
        }
        if commit == CommitScope::Block && snapshot == SnapshotScope::Start {
            return Err(ThreeN1Error::SnapshotOfBlock.into());
        }
        if commit == CommitScope::Block && conditions.rate.is_some() {
            return Err(ThreeN1Error::RateOfBlocks.into());
        }
        Ok(Box::new(ThreeN1Job {
            start,
            finish: (finish > 0).then_some(finish),
            duration_s: conditions.duration_s,
            block,
            commit,
            keys,
            snapshot,
        }))
    }
}

/// Starts of a block if the range has no end.
const DEFAULT_BLOCK: u64 = 100;

/// Starts that an engine is expected to do at most, per second: more than the fastest do that keep
/// their data.
const MAX_STARTS_PER_S: f64 = 200_000.0;

struct ThreeN1Job {
    start: u64,
    finish: Option<u64>,
    /// The time that ends the work in place of the range.
    duration_s: Option<f64>,
    block: u64,
    commit: CommitScope,
    keys: KeyEncoding,
    snapshot: SnapshotScope,
}

impl ThreeN1Job {
    /// The starts of the range; `None` if it has no end.
    fn range_starts(&self) -> Option<u64> {
        self.finish.map(|finish| finish - self.start + 1)
    }

    /// The starts that are expected at most.
    fn expected_starts(&self) -> u64 {
        let by_time = self
            .duration_s
            .map(|duration_s| (duration_s * MAX_STARTS_PER_S) as u64);
        by_time.or(self.range_starts()).unwrap_or_default()
    }

    fn problem(&self, workers: u32) -> Problem {
        let block = match (self.range_starts(), self.block) {
            (Some(starts), block) => used_block(starts, workers, block),
            (None, 0) => DEFAULT_BLOCK,
            (None, block) => block,
        };
        Problem {
            start: self.start,
            finish: self.finish.filter(|_| self.duration_s.is_none()),
            block,
            workers,
            commit: self.commit,
            keys: self.keys,
        }
    }
}

impl Job for ThreeN1Job {
    fn kinds(&self) -> &'static [&'static str] {
        match self.commit {
            CommitScope::Store => &kinds::NAMES[..kinds::BEGIN],
            CommitScope::Start => &kinds::NAMES,
            CommitScope::Block => &kinds::NAMES[..kinds::COMMIT],
        }
    }

    fn total_units(&self) -> u64 {
        let range = self.range_starts().filter(|_| self.duration_s.is_none());
        range.unwrap_or_default()
    }

    fn has_load(&self) -> bool {
        false
    }

    fn expected_bytes(&self) -> u64 {
        // LMDB's live tree takes 29 bytes for an integer record.
        let record = match self.keys {
            KeyEncoding::Integers => 32,
            KeyEncoding::Words => 160,
        };
        // A range from 1 leads to 2.17 numbers a start; a high one to some more.
        let starts = self.expected_starts();
        let numbers = if self.start <= starts { 3 } else { 12 };
        (1 << 20_u64).max(starts.saturating_mul(numbers * record))
    }

    fn unit_kinds(&self) -> &'static [&'static str] {
        &["start"]
    }

    fn commits(&self, counts: &[u64]) -> Option<u64> {
        let of = |kind: usize| counts.get(kind).copied().unwrap_or_default();
        let blocks = of(kinds::CLAIM) + of(kinds::FINISH);
        Some(match self.commit {
            CommitScope::Store => of(kinds::UPDATE) + blocks,
            CommitScope::Start => of(kinds::COMMIT) + blocks,
            CommitScope::Block => blocks,
        })
    }

    /// Two workers that follow one path at once store the same steps twice. An engine may notice
    /// that the second of them changes nothing.
    fn changing_commits(&self, spec: &TrialSpec, measurement: &Measurement) -> Option<u64> {
        let counted = |kind: usize| measurement.operations.get(kind).map_or(0, |one| one.count);
        let blocks = counted(kinds::CLAIM) + counted(kinds::FINISH);
        let stores = match self.commit {
            CommitScope::Store => counted(kinds::UPDATE),
            CommitScope::Start => counted(kinds::COMMIT),
            CommitScope::Block => return Some(blocks),
        };
        let changing = match measurement.results.get("surplus") {
            Some(Value::Integer(surplus)) => stores.saturating_sub(surplus.unsigned_abs()),
            // Not verified: a worker stores a number at most once.
            _ => stores / u64::from(spec.workers.max(1)),
        };
        Some(changing + blocks)
    }

    fn commit_bytes(&self) -> u64 {
        match self.keys {
            KeyEncoding::Integers => 32,
            KeyEncoding::Words => 160,
        }
    }

    /// A trial that its time ends is measured anew.
    fn is_resumable(&self) -> bool {
        self.duration_s.is_none()
    }

    fn check_crash(&self, survival: Survival) -> Result<(), JobError> {
        match survival {
            Survival::ConsistentPrefix => Err(ThreeN1Error::CrashWithPrefix.into()),
            Survival::EveryCommit | Survival::Nothing => Ok(()),
        }
    }

    fn prepare(
        &self,
        target: &JobDatabase<'_>,
        remains: ExistingDatabase,
    ) -> Result<Option<LoadSummary>> {
        if !target.capabilities.retains_data {
            return Ok(None);
        }
        let mut session = target.open_session()?;
        let resume = remains == ExistingDatabase::Unfinished;
        blocks::prepare(&mut *session, &self.problem(target.workers), resume)?;
        Ok(None)
    }

    fn execute(&self, task: &mut JobTask<'_>) -> Result<WorkerFindings> {
        let problem = self.problem(task.workers);
        match self.keys {
            KeyEncoding::Integers => worker::run::<IntegerCodec>(&problem, self.snapshot, task),
            KeyEncoding::Words => worker::run::<WordCodec>(&problem, self.snapshot, task),
        }
    }

    fn verify(&self, target: &JobDatabase<'_>, ended: &ExecutionSummary) -> Result<JobResults> {
        let problem = self.problem(target.workers);
        match self.keys {
            KeyEncoding::Integers => verify::verify::<IntegerCodec>(&problem, target, ended),
            KeyEncoding::Words => verify::verify::<WordCodec>(&problem, target, ended),
        }
    }
}
