//! Replays a trace: requests that somebody recorded, at their own times or as fast as possible.
//!
//! `docs/workloads/trace.md` has the formats, the settings, and what is checked.

mod builder;
mod config;
mod error;
mod format;
mod grammar;
mod kinds;
mod observations;
mod reader;
mod settings;
mod stored;
mod stream;
mod summary;
mod text;
mod worker;

use crate::generate::value::Values;
use crate::keyed::action::Action;
use crate::keyed::changing_writes::{certain_puts, numbers_apart};
use crate::keyed::expected_state::ReplayableJob;
use crate::keyed::final_check;
use crate::keyed::load::{LoadedRecords, load_unless_loaded};
use crate::keyed::shared_state::SharedState;
use crate::keyed::write_tracker::{RecordSample, WriteTable};
use crate::{
    DueTimes, Error, ExecutionSummary, ExistingDatabase, IneffectiveSetting, Job, JobDatabase,
    JobError, JobResults, JobTask, LoadSummary, OperationBytes, Result, WorkerFindings, Workload,
    WorkloadInfo,
};
use config::TraceConfig;
pub use error::{FileError, LineError, TraceError};
pub use grammar::FormatChoice;
use kinds::Kind;
pub(crate) use observations::{Observations, observe};
use settings::{FILE, Pace, Settings};
use std::path::Path;
use stored::Operation;
use stream::TraceReplay;
pub use summary::{SizeSummary, TraceSummary, summarize};
use trueput_engine::{Capabilities, Parameter, ParameterValues};
use trueput_record::measurement::{Measurement, OperationSummary};
use trueput_record::plan::Dimensions;
use trueput_record::{Conditions, Survival, TrialSpec, Value, WorkerKind};
use worker::Worker;

/// The name of the workload.
pub const NAME: &str = "trace";

/// Resolves the files that settings of this workload name, relative to the folder of the file that
/// states the settings.
pub fn resolve_files(settings: &mut Dimensions, folder: &Path) {
    for value in settings.get_mut(FILE).into_iter().flatten() {
        let given = value.to_string();
        if given != reader::EXAMPLE_NAME {
            *value = folder.join(given).display().to_string().into();
        }
    }
}

/// The workload.
#[derive(Debug, Clone, Copy)]
pub struct TraceWorkload;

impl Workload for TraceWorkload {
    fn info(&self) -> WorkloadInfo {
        WorkloadInfo {
            name: NAME,
            summary: "the requests of a trace, as they were recorded: CSV, JSON Lines, RocksDB's, \
                      Twitter's, MSR Cambridge's",
            headline: "",
            worker_kind: WorkerKind::Threads,
        }
    }

    fn settings(&self) -> &'static [Parameter] {
        Settings::PARAMETERS
    }

    fn check_given(&self, given: &Dimensions) -> Result<(), IneffectiveSetting> {
        let paces = given.get("pace").into_iter().flatten();
        let is_closed = |pace: &Value| pace.to_string() == Pace::Closed.word();
        let mut paces = paces.peekable();
        if given.contains_key("speed") && paces.peek().is_some() && paces.all(is_closed) {
            return Err(IneffectiveSetting {
                name: "speed",
                message: "pace=closed ignores trace timestamps, and speed scales them: \
                          remove one of them"
                    .to_owned(),
            });
        }
        Ok(())
    }

    fn job(
        &self,
        settings: &ParameterValues,
        conditions: &Conditions,
    ) -> Result<Box<dyn Job>, JobError> {
        let config = TraceConfig::new(&settings.into(), conditions)?;
        Ok(Box::new(TraceJob {
            replay: TraceReplay::new(config),
            shared: SharedState::default(),
        }))
    }
}

struct TraceJob {
    replay: TraceReplay,
    shared: SharedState,
}

impl TraceJob {
    fn config(&self) -> &TraceConfig {
        &self.replay.config
    }

    fn values(&self, task: &JobTask<'_>) -> Result<Values> {
        self.shared.values(|| self.config().values(task.seed))
    }

    fn table(&self, task: &JobTask<'_>) -> Option<&WriteTable> {
        let tracks = task.verifies_reads() && self.config().trace.has(Action::writes);
        let wanted = tracks || self.replay.deletes();
        let make = || {
            let sample = RecordSample::new(task.verify, self.config().keys());
            WriteTable::with_absent(sample, |item| !self.config().is_loaded(item))
        };
        wanted.then(|| self.shared.table(make))
    }
}

impl Job for TraceJob {
    fn kinds(&self) -> &'static [&'static str] {
        self.config().kinds.names()
    }

    fn total_units(&self) -> u64 {
        self.config().trace.requests
    }

    fn scheduled_per_s(&self) -> Option<f64> {
        let config = self.config();
        config.speed.map(|speed| config.rate_per_s(speed))
    }

    fn due_times(&self, worker: u32, workers: u32) -> Option<DueTimes<'_>> {
        let speed = self.config().speed?;
        let starts = self.replay.shares(workers).of_worker(worker).iter();
        Some(Box::new(
            starts.map(move |start| self.config().due_ns(*start, speed)),
        ))
    }

    fn closed_loop_setting(&self) -> &'static str {
        "pace=closed"
    }

    fn check_capabilities(&self, capabilities: &Capabilities) -> Result<(), JobError> {
        Ok(self.config().check_room(capabilities)?)
    }

    fn needs_transactions(&self) -> bool {
        let trace = &self.config().trace;
        trace.longest_request > 1 || trace.has(Action::reads_first)
    }

    fn check_crash(&self, _survival: Survival) -> Result<(), JobError> {
        if self.replay.deletes() {
            Err(TraceError::CrashWithDeletes.into())
        } else {
            Ok(())
        }
    }

    fn caution(&self) -> Option<String> {
        self.config().caution()
    }

    fn volumes(&self) -> Vec<OperationBytes> {
        self.config().volumes()
    }

    fn live_bytes(&self, counts: &[u64]) -> Option<u64> {
        self.config().live_bytes_after(counts)
    }

    fn commits(&self, counts: &[u64]) -> Option<u64> {
        Some(self.config().commits(counts))
    }

    fn changing_commits(&self, spec: &TrialSpec, measurement: &Measurement) -> Option<u64> {
        let (config, trace) = (self.config(), &self.config().trace);
        // Without transactions, the requests of a key are one worker's, in their order.
        let is_alone = trace.longest_request == 1;
        let writers = if is_alone { 1 } else { spec.workers.into() };
        let numbers_apart = numbers_apart(spec, writers);
        let stores = |request: &[Operation]| {
            let writes = request.iter().any(|it| it.action().writes());
            !writes || request.iter().any(|it| it.action().stores())
        };
        let all_store = || trace.requests().filter(|it| it.len() > 1).all(stores);
        let certain = |(kind, operation): (Kind, &OperationSummary)| match kind {
            Kind::Get | Kind::Scan | Kind::ReadTransaction => 0,
            Kind::Delete if is_alone => operation.count.saturating_sub(operation.not_found),
            Kind::Delete => 0,
            Kind::Transaction if !all_store() => 0,
            _ => certain_puts(operation.count, numbers_apart),
        };
        let each = config.kinds.iter().zip(&measurement.operations);
        Some(each.map(certain).sum())
    }

    fn commit_bytes(&self) -> u64 {
        self.config().commit_bytes()
    }

    fn load_key(&self) -> Option<String> {
        let config = self.config();
        let digest = config.trace.load_digest();
        let (bytes, percent) = (config.bytes(0), config.compressibility);
        let key = format!("trace {digest:016x} with {bytes} B to {percent} %");
        (!self.replay.deletes()).then_some(key)
    }

    fn expected_bytes(&self) -> u64 {
        self.config().expected_bytes()
    }

    fn initialize(&self, task: &JobTask<'_>) -> Result<()> {
        self.table(task);
        self.replay.shares(task.workers);
        self.values(task).map(drop)
    }

    fn prepare(
        &self,
        target: &JobDatabase<'_>,
        remains: ExistingDatabase,
    ) -> Result<Option<LoadSummary>> {
        let config = self.config();
        let room = config.check_room(&target.capabilities);
        room.map_err(|error| Error::Workload(error.to_string()))?;
        if !target.capabilities.retains_data {
            return Ok(None);
        }
        let wanted = LoadedRecords {
            records: config.keys(),
            batch: config.load_batch,
            is_wanted: |item| config.is_loaded(item),
        };
        let make = || self.replay.maker(target.seed);
        load_unless_loaded(&wanted, make, target, remains)
    }

    fn execute(&self, task: &mut JobTask<'_>) -> Result<WorkerFindings> {
        let values = self.values(task)?;
        Worker::new(&self.replay, values, self.table(task), task).run(task)
    }

    fn verify(&self, target: &JobDatabase<'_>, ended: &ExecutionSummary) -> Result<JobResults> {
        let counts = self.config().check_counts(&ended.counts);
        counts.map_err(|error| Error::Workload(error.to_string()))?;
        let mut conclusion = final_check::verify(&self.replay, target, ended)?;
        let trace = &self.config().trace;
        let digest = format!("{:016x}", trace.digest());
        let facts: [(&str, Value); 4] = [
            ("trace_format", trace.format.into()),
            ("trace_requests", trace.requests.into()),
            ("trace_keys", self.config().keys().into()),
            ("trace_digest", digest.as_str().into()),
        ];
        let facts = facts.map(|(name, value)| (name.to_owned(), value));
        conclusion.results.extend(facts);
        Ok(conclusion)
    }
}
