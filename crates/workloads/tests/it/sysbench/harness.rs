//! Runs the job in this process, as the runner's workers do in theirs.

use crate::counting_meter::{CountingMeter, in_threads, sum_up};
use crate::job_bench::{self, JobBench, deref_to_job_bench};
use crate::support::assert_all_right;
pub use crate::support::{engine, failures, installed};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use trueput_engine::reference::Reference;
pub use trueput_engine::testing::Fault;
use trueput_engine::testing::{FaultState, FaultySession};
use trueput_engine::{Direction, Engine, KeyRange, Session};
use trueput_record::{Conditions, WorkerKind};
use trueput_workloads::sysbench::Sysbench;
use trueput_workloads::{
    ExecutionSummary, ExistingDatabase, Job, JobResults, LoadSummary, Result, WorkerFindings,
};

pub const SEED: u64 = 7;

/// Few rows and short ranges, and transactions enough to meet each other.
pub const SMALL: &str = "table_size=200 range_size=20 events=200";

/// Every script, with settings that go with it and how many checks there are.
pub const SCRIPTS: [(&str, &str, usize); 11] = [
    ("oltp_read_write", "tables=2", 8),
    ("oltp_read_only", "tables=2", 8),
    ("oltp_write_only", "tables=2", 6),
    ("oltp_point_select", "tables=2", 7),
    ("oltp_update_index", "tables=2", 6),
    ("oltp_update_non_index", "tables=2", 6),
    ("oltp_insert", "tables=2", 6),
    ("oltp_delete", "tables=2", 6),
    ("select_random_points", "", 8),
    ("select_random_ranges", "", 7),
    ("bulk_insert", "bulk_rows=7", 2),
];

pub fn job(given: &str) -> Result<Box<dyn Job>, String> {
    job_bench::job_under(&Sysbench, given, &Conditions::default())
}

/// One worker's meter, findings and attachment.
pub type WorkerOutcome<'b> = (CountingMeter<'b>, WorkerFindings, Vec<u8>);

/// A database with a job on it.
pub struct Bench {
    bench: JobBench,
    given: String,
    pub warm_up: u64,
}

deref_to_job_bench!(Bench);

impl Bench {
    /// On an engine, with settings beyond [`SMALL`].
    pub fn new(engine: &dyn Engine, workers: u32, given: &str) -> Self {
        Self::turned(engine, workers, given, "")
    }

    /// Like [`Bench::new`], with knobs of the engine.
    pub fn turned(engine: &dyn Engine, workers: u32, given: &str, knobs: &str) -> Self {
        let given = format!("{SMALL} {given}");
        let mut bench = JobBench::with_knobs(engine, knobs, workers, job(&given).unwrap());
        bench.seed = SEED;
        Self {
            bench,
            given,
            warm_up: 0,
        }
    }

    /// On the reference engine.
    pub fn reference(workers: u32, given: &str) -> Self {
        Self::new(&Reference, workers, given)
    }

    pub fn prepare(&self) -> Option<LoadSummary> {
        self.bench.prepare(ExistingDatabase::Nothing).unwrap()
    }

    /// One worker through a session, on the calling thread. A process has a job of its own.
    pub fn work_through(&self, worker: u32, session: &mut dyn Session) -> WorkerOutcome<'_> {
        let own = (self.kind == WorkerKind::Processes).then(|| job(&self.given).unwrap());
        let job: &dyn Job = match &own {
            Some(own) => &**own,
            None => &*self.job,
        };
        let mut meter = CountingMeter {
            warm_up: self.warm_up,
            ..CountingMeter::new(job.kinds().len())
        };
        let mut attachment = Vec::new();
        let mut task = self.task_with(worker, session, &mut meter, &mut attachment);
        job.initialize(&task).unwrap();
        let found = job.execute(&mut task).unwrap();
        (meter, found, attachment)
    }

    /// All workers at once, each with a session that has the fault.
    pub fn work_together(&self, fault: Fault) -> ExecutionSummary {
        let outcomes = in_threads(self.workers, |worker| {
            let faults = FaultState::new(fault);
            let inner = self.database.session().unwrap();
            let mut session = FaultySession::new(inner, &faults);
            self.work_through(worker, &mut session)
        });
        self.sum_up(outcomes)
    }

    /// The summary of workers' outcomes.
    pub fn sum_up(&self, outcomes: Vec<WorkerOutcome<'_>>) -> ExecutionSummary {
        let (mut all, mut attachments) = (Vec::new(), Vec::new());
        for (meter, found, attachment) in outcomes {
            all.push((meter, found));
            attachments.push(attachment);
        }
        let (ended, _) = sum_up(self.job.kinds().len(), self.bench.verify, all);
        ExecutionSummary {
            attachments,
            ..ended
        }
    }

    /// Load, run and checks.
    pub fn run(&self, fault: Fault) -> (ExecutionSummary, JobResults) {
        self.prepare();
        let ended = self.work_together(fault);
        let conclusion = self.bench.verify(&ended);
        (ended, conclusion)
    }

    /// Every record.
    pub fn records(&self) -> BTreeMap<Vec<u8>, Vec<u8>> {
        let mut records = BTreeMap::new();
        self.tamper(|session| {
            session
                .scan(KeyRange::ALL, Direction::Forward, &mut |key, value| {
                    records.insert(key.to_vec(), value.to_vec());
                    ControlFlow::Continue(())
                })
                .unwrap();
        });
        records
    }
}

/// The key of a row: a byte 1, the table and the id.
pub fn row_key(table: u32, id: u32) -> Vec<u8> {
    [&[1][..], &table.to_be_bytes(), &id.to_be_bytes()].concat()
}

/// The key of a row's entry of the index: a byte 2, the table, k and the id.
pub fn entry_key(table: u32, k: u32, id: u32) -> Vec<u8> {
    let numbers = [table, k, id].map(u32::to_be_bytes);
    [&[2][..], &numbers.concat()].concat()
}

/// k of a row's value.
pub fn k_of(value: &[u8]) -> u32 {
    u32::from_le_bytes(value[..4].try_into().unwrap())
}

/// The names of the checks that failed.
pub fn failed(conclusion: &JobResults) -> Vec<String> {
    failures(conclusion).into_keys().collect()
}

/// Asserts that there were so many checks and all passed.
pub fn assert_right(conclusion: &JobResults, checks: usize, subject: &str) {
    assert_all_right(conclusion, checks, subject);
    assert_eq!(conclusion.checks.len(), checks, "{subject}");
}
