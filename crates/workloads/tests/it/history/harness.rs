//! Runs the job in this process, as the runner's workers do in theirs.

use crate::counting_meter::{CountingMeter, in_threads, sum_up};
use crate::job_bench::{self, JobBench, deref_to_job_bench};
pub use crate::support::failures;
use trueput_engine::Engine;
use trueput_engine::testing::{Fault, FaultyDatabase};
use trueput_record::{Conditions, Survival};
use trueput_workloads::history::HistoryWorkload;
use trueput_workloads::history::check::{HistoryReport, check};
use trueput_workloads::history::transactions::History;
use trueput_workloads::{ExecutionSummary, ExistingDatabase, Job, JobResults, WorkerFindings};

/// Few keys and large transactions, so that they meet.
pub const CONTENDED: &str = "keys=4 transactions=2000";

pub fn job(given: &str) -> Result<Box<dyn Job>, String> {
    job_bench::job_under(&HistoryWorkload, given, &Conditions::default())
}

/// A database with a job on it.
pub struct Bench {
    bench: JobBench,
}

deref_to_job_bench!(Bench);

impl Bench {
    /// On a fresh database of `engine` with these knobs.
    pub fn new(engine: &dyn Engine, knobs: &str, given: &str) -> Self {
        let bench = JobBench::with_knobs(engine, knobs, 4, job(given).unwrap());
        Self { bench }
    }

    /// The same with an engine that fails.
    pub fn with(mut self, fault: Fault) -> Self {
        let inner = self.bench.database;
        self.bench.database = Box::new(FaultyDatabase::new(inner, fault));
        self
    }

    fn work(&self, worker: u32) -> (CountingMeter<'_>, WorkerFindings, Vec<u8>) {
        let mut session = self.database.session().unwrap();
        let mut meter = CountingMeter::new(self.job.kinds().len());
        let mut attachment = Vec::new();
        let mut task = self.task_with(worker, &mut *session, &mut meter, &mut attachment);
        let found = self.job.execute(&mut task).unwrap();
        (meter, found, attachment)
    }

    /// All workers at once.
    pub fn work_together(&self) -> ExecutionSummary {
        self.bench.prepare(ExistingDatabase::Nothing).unwrap();
        let (mut outcomes, mut attachments) = (Vec::new(), Vec::new());
        for (meter, found, attachment) in in_threads(self.workers, |worker| self.work(worker)) {
            outcomes.push((meter, found));
            attachments.push(attachment);
        }
        let (ended, _) = sum_up(self.job.kinds().len(), self.bench.verify, outcomes);
        ExecutionSummary {
            attachments,
            ..ended
        }
    }

    /// The run and its checks.
    pub fn run(&self) -> (ExecutionSummary, JobResults) {
        let ended = self.work_together();
        let conclusion = self.bench.verify(&ended);
        (ended, conclusion)
    }
}

/// The report of what the workers recorded, without a final read.
pub fn report(ended: &ExecutionSummary) -> HistoryReport {
    let mut history = History::default();
    for attachment in &ended.attachments {
        history.append(&History::decode(attachment).unwrap());
    }
    check(&history, Survival::EveryCommit)
}
