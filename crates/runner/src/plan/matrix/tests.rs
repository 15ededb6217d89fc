mod faults;
mod fits;
mod storage_models;
mod time_slices;

use super::skipped::SKIP_HINT;
use super::*;
use std::process::Command;
use trueput_engine::service::{Service, Signal};
use trueput_engine::{
    Build, COMPILED_IN, Capabilities, Database, Info as EngineInfo, OpenSpec, Promise, Value,
    parameters,
};
use trueput_record::plan::UnsupportedPolicy;
use trueput_workloads::{
    Error as WorkloadError, ExecutionSummary, ExistingDatabase, Job, JobDatabase, JobError,
    JobResults, JobTask, LoadSummary, WorkerFindings, WorkloadInfo,
};

/// An engine with a description only: nothing here opens one.
struct DescribedEngine {
    name: &'static str,
    several_processes: bool,
    retains_data: bool,
    levels: &'static [Durability],
    present: bool,
    /// Whether it isolates transactions that read.
    keeps_apart: bool,
    is_server: bool,
}

impl Engine for DescribedEngine {
    fn info(&self) -> EngineInfo {
        EngineInfo {
            name: self.name,
            title: self.name,
            summary: "",
            license: "",
            homepage: "",
            install: COMPILED_IN,
        }
    }

    fn build(&self) -> trueput_engine::Result<Build> {
        if self.present {
            Ok(Build {
                version: "1".to_owned(),
                library: None,
                assertions: None,
            })
        } else {
            Err(trueput_engine::Error::engine("no such library"))
        }
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            several_processes: self.several_processes,
            retains_data: self.retains_data,
            ..trueput_engine::Null.capabilities()
        }
    }

    fn promise_with(
        &self,
        durability: Durability,
        _knobs: &ParameterValues,
    ) -> trueput_engine::Result<Promise> {
        self.levels
            .contains(&durability)
            .then(|| Promise::new(durability, "", None, ""))
            .ok_or_else(|| trueput_engine::Error::no_durability(self.info().name, durability))
    }

    fn isolation(&self, _: &ParameterValues) -> Option<trueput_engine::Isolation> {
        None
    }

    fn knobs(&self) -> &'static [Parameter] {
        Knobs::PARAMETERS
    }

    fn check_transactions(&self, _: &ParameterValues) -> trueput_engine::Result<()> {
        if self.keeps_apart {
            Ok(())
        } else {
            Err(trueput_engine::Error::Unsupported(format!(
                "{} has no transactions",
                self.name
            )))
        }
    }

    fn service(&self) -> Option<Box<dyn Service>> {
        self.is_server
            .then(|| Box::new(DescribedServer) as Box<dyn Service>)
    }

    fn open(&self, _spec: &OpenSpec<'_>) -> trueput_engine::Result<Box<dyn Database>> {
        Err(only_described())
    }
}

fn only_described() -> trueput_engine::Error {
    trueput_engine::Error::engine("only described")
}

/// The server of an engine, which nothing here starts.
struct DescribedServer;

impl Service for DescribedServer {
    fn users(&self) -> &'static [&'static str] {
        &[]
    }

    fn make(&self, _: &OpenSpec<'_>) -> trueput_engine::Result<Vec<Command>> {
        Err(only_described())
    }

    fn is_made(&self, _: &OpenSpec<'_>) -> bool {
        false
    }

    fn command(&self, _: &OpenSpec<'_>) -> trueput_engine::Result<Command> {
        Err(only_described())
    }

    fn is_ready(&self, _: &OpenSpec<'_>) -> trueput_engine::Result<bool> {
        Err(only_described())
    }

    fn stop_signal(&self) -> Signal {
        Signal::Terminate
    }
}

parameters! {
    /// The knobs of an engine.
    struct Knobs {
        /// The largest size of the database.
        map_size: Bytes = 1 GiB in 1 MiB..=1 TiB,
    }
}

parameters! {
    /// The settings of a workload with a range.
    struct Range {
        /// The first number.
        start: Integer = 1 in 1..,
        /// The last number.
        finish: Integer = 100 in 1..,
    }
}

/// A workload with a range, which refuses a reversed one.
struct RangeWorkload;

impl Workload for RangeWorkload {
    fn info(&self) -> WorkloadInfo {
        WorkloadInfo {
            name: "ranged",
            summary: "",
            headline: "update",
            worker_kind: WorkerKind::Processes,
        }
    }

    fn settings(&self) -> &'static [Parameter] {
        Range::PARAMETERS
    }

    fn job(&self, settings: &ParameterValues, _: &Conditions) -> Result<Box<dyn Job>, JobError> {
        let Range { start, finish } = settings.into();
        if start <= finish {
            // One number is for one worker.
            let needed_workers = (start == finish).then_some(1);
            Ok(Box::new(IdleJob { needed_workers }))
        } else {
            let reason = format!("the range {start} to {finish} is reversed");
            Err(JobError::Other(reason))
        }
    }
}

struct IdleJob {
    needed_workers: Option<u32>,
}

const IDLE: IdleJob = IdleJob {
    needed_workers: None,
};

impl Job for IdleJob {
    fn needed_workers(&self) -> Option<u32> {
        self.needed_workers
    }

    fn kinds(&self) -> &'static [&'static str] {
        &["update"]
    }

    fn total_units(&self) -> u64 {
        0
    }

    fn expected_bytes(&self) -> u64 {
        0
    }

    fn prepare(
        &self,
        _target: &JobDatabase<'_>,
        _remains: ExistingDatabase,
    ) -> Result<Option<LoadSummary>, WorkloadError> {
        Ok(None)
    }

    fn execute(&self, _task: &mut JobTask<'_>) -> Result<WorkerFindings, WorkloadError> {
        Ok(WorkerFindings::new())
    }

    fn verify(
        &self,
        _target: &JobDatabase<'_>,
        _ended: &ExecutionSummary,
    ) -> Result<JobResults, WorkloadError> {
        Ok(JobResults::default())
    }
}

use Durability::{Async, Process, Sync};

const NULL: DescribedEngine = DescribedEngine {
    name: "null",
    several_processes: true,
    retains_data: false,
    levels: &[Durability::None],
    present: true,
    keeps_apart: true,
    is_server: false,
};
const SHARED: DescribedEngine = DescribedEngine {
    name: "shared",
    several_processes: true,
    retains_data: true,
    levels: &[Sync, Process],
    present: true,
    keeps_apart: true,
    is_server: false,
};
const SINGLE: DescribedEngine = DescribedEngine {
    name: "single",
    several_processes: false,
    retains_data: true,
    levels: &[Sync, Async],
    present: true,
    keeps_apart: true,
    is_server: false,
};
const SERVER: DescribedEngine = DescribedEngine {
    name: "server",
    is_server: true,
    ..SHARED
};
const ABSENT: DescribedEngine = DescribedEngine {
    name: "absent",
    present: false,
    ..SINGLE
};

fn registry() -> Registry {
    Registry {
        engines: &[&NULL, &SHARED, &SINGLE, &SERVER, &ABSENT],
        workloads: &[&RangeWorkload],
        plugins: None,
    }
}

pub(super) fn plan(engines: &[&str]) -> PlanFile {
    let mut plan = PlanFile::for_workload("ranged");
    plan.engines = engines.iter().map(|name| Contender::parse(name)).collect();
    plan
}

pub(super) fn expanded(plan: &PlanFile) -> Matrix {
    expand(plan, &registry()).unwrap()
}

pub(super) fn refused(plan: &PlanFile) -> String {
    expand(plan, &registry()).unwrap_err().to_string()
}

pub(super) fn sentences(matrix: &Matrix) -> Vec<&str> {
    let skipped = matrix.skipped.iter();
    skipped.map(|part| part.sentence.as_str()).collect()
}

fn ids(matrix: &Matrix) -> Vec<&str> {
    matrix
        .trials
        .iter()
        .map(|trial| trial.id.as_str())
        .collect()
}

#[test]
fn repeats_are_interleaved_and_ids_say_what_they_are() {
    let mut plan = plan(&["shared", "single"]);
    plan.repeat = 2;
    let matrix = expanded(&plan);
    let expected = [
        "0001-shared-sync-w4-r1",
        "0002-single-sync-w4-r1",
        "0003-shared-sync-w4-r2",
        "0004-single-sync-w4-r2",
    ];
    assert_eq!(ids(&matrix), expected);
    let cells: Vec<_> = matrix.trials.iter().map(|trial| trial.cell).collect();
    assert_eq!(cells, [0, 1, 0, 1]);
}

#[test]
fn a_job_gets_the_workers_that_it_needs_unless_the_plan_gives_others() {
    let mut plan = plan(&["shared"]);
    plan.settings
        .insert("finish".into(), vec![1_i64.into(), 20_i64.into()]);
    let workers = |plan: &PlanFile| {
        let trials = expanded(plan).trials.into_iter();
        trials.map(|trial| trial.workers).collect::<Vec<_>>()
    };
    assert_eq!(workers(&plan), [1, 4]);
    plan.workers = vec![2];
    assert_eq!(workers(&plan), [2, 2]);
}

#[test]
fn lists_of_workers_settings_and_knobs_are_dimensions() {
    let mut plan = plan(&["shared"]);
    plan.workers = vec![1, 2];
    plan.settings
        .insert("finish".into(), vec![10_i64.into(), 20_i64.into()]);
    let sizes = vec![Value::from("1GiB"), Value::from("2GiB")];
    plan.knobs.insert(
        "shared".into(),
        Dimensions::from([("map_size".into(), sizes)]),
    );
    let matrix = expanded(&plan);
    assert_eq!(matrix.trials.len(), 8);
    let last = &matrix.trials[7];
    assert_eq!(last.settings["finish"], Value::Integer(20));
    assert_eq!(
        last.settings["start"],
        Value::Integer(1),
        "defaults are filled in"
    );
    assert_eq!(
        last.knobs["map_size"],
        Value::Integer(2 << 30),
        "sizes are resolved"
    );
    assert_eq!(last.workers, 2);
}

#[test]
fn the_null_engine_runs_once_at_level_none_whatever_levels_are_asked() {
    let mut plan = plan(&["null", "shared"]);
    plan.durability = vec![Sync, Process];
    let expected = [
        "0001-null-none-w4-r1",
        "0002-shared-sync-w4-r1",
        "0003-shared-process-w4-r1",
    ];
    assert_eq!(ids(&expanded(&plan)), expected);
}

#[test]
fn workers_are_processes_where_the_engine_allows_and_else_threads() {
    let matrix = expanded(&plan(&["shared", "single"]));
    let kinds: Vec<_> = matrix
        .trials
        .iter()
        .map(|trial| trial.worker_kind)
        .collect();
    assert_eq!(kinds, [WorkerKind::Processes, WorkerKind::Threads]);
    let mut forced = plan(&["shared"]);
    forced.worker_kind = Some(WorkerKind::Threads);
    assert_eq!(expanded(&forced).trials[0].worker_kind, WorkerKind::Threads);
}

#[test]
fn what_an_engine_has_not_is_refused_or_left_out_as_the_plan_says() {
    let mut plan = plan(&["shared", "single"]);
    plan.durability = vec![Sync, Async];
    let message = refused(&plan);
    let said = "shared does not support durability 'async'; it supports sync, process";
    assert_eq!(message, format!("{said}{SKIP_HINT}"));
    plan.unsupported = UnsupportedPolicy::Skip;
    let matrix = expanded(&plan);
    assert_eq!(matrix.trials.len(), 3);
    assert_eq!(matrix.skipped, [SkippedPart::level(said.to_owned())]);
    plan.worker_kind = Some(WorkerKind::Processes);
    let matrix = expanded(&plan);
    assert_eq!(matrix.trials.len(), 1);
    let said = "ranged: single allows only one process to open a database, so its workers cannot \
                be processes: give --worker-kind threads (in a plan: worker_kind = \"threads\")";
    assert_eq!(matrix.skipped[1].sentence, said);
    plan.unsupported = UnsupportedPolicy::Refuse;
    plan.durability = vec![Sync];
    assert_eq!(refused(&plan), format!("{said}{SKIP_HINT}"));
}

#[test]
fn present_means_every_engine_that_is_there() {
    let matrix = expanded(&plan(&["present", "shared"]));
    assert_eq!(matrix.trials.len(), 4);
    assert_eq!(
        sentences(&matrix),
        ["absent is not installed: no such library; to install: compiled in"]
    );
    assert!(refused(&plan(&["absent"])).contains("to install: compiled in"));
}

#[test]
fn a_level_that_an_engine_lacks_is_refused_only_where_the_engine_is_named() {
    let mut plan = plan(&["present"]);
    plan.durability = vec![Async];
    let matrix = expanded(&plan);
    let engines: Vec<_> = matrix.trials.iter().map(|it| it.engine.as_str()).collect();
    assert_eq!(engines, ["null", "single"]);
    let skipped = sentences(&matrix).join("; ");
    let reason = "shared does not support durability 'async'; it supports sync, process";
    assert!(skipped.contains(reason), "{skipped}");
    plan.engines.push(Contender::parse("shared"));
    assert!(refused(&plan).contains(reason));
}

#[test]
fn two_names_of_one_library_are_one_contender_and_its_path_is_kept_in_full() {
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("liba.so");
    std::fs::write(&library, "").unwrap();
    let link = folder.path().join("libb.so");
    std::os::unix::fs::symlink(&library, &link).unwrap();
    let named = |path: &std::path::Path| Contender {
        engine: "shared".to_owned(),
        build: Some(path.to_owned()),
    };
    let full = named(&library.canonicalize().unwrap());
    assert_eq!(with_full_path(&named(&link)), full);
    assert_eq!(with_full_path(&named(&library)), full);
    let absent = named(std::path::Path::new("liba.so"));
    assert_eq!(
        with_full_path(&absent),
        absent,
        "the engine refuses it by its name"
    );
}

#[test]
fn an_engine_that_says_how_to_install_it_is_not_said_twice() {
    let said = trueput_engine::Error::missing("no library; `command` installs it");
    let engine = registry().engine("absent").unwrap();
    assert_eq!(with_install(&said, engine), said.to_string());
}

#[test]
fn an_exception_changes_the_settings_of_its_cells_and_is_noted() {
    let mut plan = plan(&["shared"]);
    plan.durability = vec![Sync, Process];
    plan.when.push(trueput_record::plan::PlanException {
        durability: vec![Sync],
        engines: Vec::new(),
        settings: Settings::from([("finish".into(), 7_i64.into())]),
        note: "shorter".into(),
    });
    let matrix = expanded(&plan);
    let finish = |index: usize| matrix.trials[index].settings["finish"].clone();
    assert_eq!(
        (finish(0), finish(1)),
        (Value::Integer(7), Value::Integer(100))
    );
    assert_eq!(matrix.trials[0].note.as_deref(), Some("shorter"));
    assert_eq!(matrix.trials[1].note, None);
}

#[test]
fn names_that_are_not_there_are_refused_with_the_nearest() {
    assert!(refused(&plan(&["shred"])).contains("did you mean 'shared'"));
    assert!(refused(&plan(&["presnt"])).contains("'present' means"));
    assert!(refused(&plan(&[])).contains("names no engine: give one with --engine"));
    assert!(refused(&plan(&["shared@/opt/lib.so"])).contains("compiled in"));
    let mut unknown = plan(&["shared"]);
    unknown.workload = "rangd".into();
    assert!(refused(&unknown).contains("did you mean 'ranged'"));
    let mut knob = plan(&["shared"]);
    let values = Dimensions::from([("mapsize".into(), vec![1_i64.into()])]);
    knob.knobs.insert("shared".into(), values.clone());
    assert!(refused(&knob).contains("did you mean 'map_size'"));
    knob.knobs = BTreeMap::from([("shred".into(), values)]);
    assert!(refused(&knob).contains("did you mean 'shared'"));
}

#[test]
fn values_that_do_not_fit_are_refused_before_anything_runs() {
    let with = |name: &str, value: Value| {
        let mut plan = plan(&["shared"]);
        plan.settings.insert(name.into(), vec![value]);
        plan
    };
    assert!(refused(&with("start", 101_i64.into())).contains("101 to 100 is reversed"));
    assert!(refused(&with("finish", 0_i64.into())).contains("out of range (1 or more)"));
    assert!(refused(&with("finish", "ten".into())).contains("'ten' is not a whole number"));
    let mut none = plan(&["shared"]);
    none.workers = vec![0];
    assert!(refused(&none).starts_with("workers is 0"));
    let mut many = plan(&["shared"]);
    many.workers = (1..=20).collect();
    many.repeat = 600;
    assert!(refused(&many).contains("12000 trials"));
}

#[test]
fn a_refusal_names_the_line_of_the_plan() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.toml");
    let text = "workload = \"ranged\"\nengines = \"shared\"\n[knobs.shared]\nmap_size = 1\n";
    std::fs::write(&path, text).unwrap();
    let message = refused(&PlanFile::read(&path).unwrap());
    let start = format!("{}:4: shared.map_size: 1 is out of range", path.display());
    assert!(message.starts_with(&start), "{message}");
}

#[test]
fn an_engine_may_run_at_the_first_level_that_it_has_alone() {
    let mut plan = plan(&["shared", "single"]);
    plan.durability = vec![Process, Async, Sync];
    plan.levels = trueput_record::plan::Levels::First;
    let matrix = expanded(&plan);
    assert_eq!(
        ids(&matrix),
        ["0001-shared-process-w4-r1", "0002-single-async-w4-r1"]
    );
    assert!(matrix.skipped.is_empty(), "{:?}", matrix.skipped);
    plan.durability = vec![Durability::Buffered];
    assert!(refused(&plan).contains("does not support durability 'buffered'"));
}
