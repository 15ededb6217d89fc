//! Tests that a plan's expansion contains nothing that a run would refuse, neither in its cells nor
//! in its steps.

use super::*;
use trueput_engine::Dialect;
use trueput_record::plan::PlanStep;

/// Has write batches only.
const BATCHES: DescribedEngine = DescribedEngine {
    name: "batches",
    keeps_apart: false,
    ..SHARED
};

/// A workload that reads before it writes, and optionally uses SQL.
struct Reading;

parameters! {
    /// The settings of a workload that can speak SQL.
    struct StoreSettings {
        /// How records are stored.
        store: Choice = "kv" of ["kv", "sql"],
    }
}

impl Workload for Reading {
    fn info(&self) -> WorkloadInfo {
        WorkloadInfo {
            name: "reading",
            ..RangeWorkload.info()
        }
    }

    fn settings(&self) -> &'static [Parameter] {
        StoreSettings::PARAMETERS
    }

    fn job(&self, settings: &ParameterValues, _: &Conditions) -> Result<Box<dyn Job>, JobError> {
        Ok(Box::new(ReadingJob {
            speaks_sql: StoreSettings::from(settings).store == "sql",
        }))
    }
}

struct ReadingJob {
    speaks_sql: bool,
}

impl Job for ReadingJob {
    fn kinds(&self) -> &'static [&'static str] {
        IDLE.kinds()
    }

    fn total_units(&self) -> u64 {
        IDLE.total_units()
    }

    fn check_dialect(&self, dialect: Option<Dialect>) -> Result<(), JobError> {
        match (self.speaks_sql, dialect) {
            (true, None) => {
                let reason = "this engine does not support SQL: give store=kv".to_owned();
                Err(JobError::Other(reason))
            }
            _ => Ok(()),
        }
    }

    fn needs_transactions(&self) -> bool {
        true
    }

    fn expected_bytes(&self) -> u64 {
        IDLE.expected_bytes()
    }

    fn prepare(
        &self,
        target: &JobDatabase<'_>,
        remains: ExistingDatabase,
    ) -> Result<Option<LoadSummary>, WorkloadError> {
        IDLE.prepare(target, remains)
    }

    fn execute(&self, task: &mut JobTask<'_>) -> Result<WorkerFindings, WorkloadError> {
        IDLE.execute(task)
    }

    fn verify(
        &self,
        target: &JobDatabase<'_>,
        ended: &ExecutionSummary,
    ) -> Result<JobResults, WorkloadError> {
        IDLE.verify(target, ended)
    }
}

fn reading(engines: &[&str]) -> PlanFile {
    let mut plan = PlanFile::for_workload("reading");
    plan.engines = engines.iter().map(|name| Contender::parse(name)).collect();
    plan
}

fn expand_reading(plan: &PlanFile) -> Result<Matrix, Error> {
    let registry = Registry {
        engines: &[&SHARED, &SINGLE, &BATCHES],
        workloads: &[&Reading],
        plugins: None,
    };
    expand(plan, &registry)
}

#[test]
fn an_engine_without_the_transactions_that_a_workload_needs_is_refused_or_left_out() {
    let mut named = reading(&["shared", "single", "batches"]);
    let said = "reading: batches has no transactions";
    let refused = expand_reading(&named).unwrap_err();
    assert_eq!(refused.to_string(), format!("{said}{SKIP_HINT}"));
    named.unsupported = UnsupportedPolicy::Skip;
    for plan in [named, reading(&["present"])] {
        let matrix = expand_reading(&plan).unwrap();
        assert_eq!(
            ids(&matrix),
            ["0001-shared-sync-w4-r1", "0002-single-sync-w4-r1"]
        );
        assert_eq!(sentences(&matrix), [said]);
    }
}

#[test]
fn a_step_to_what_an_engine_has_not_is_refused_or_left_out() {
    let to_sql = PlanStep {
        name: "in SQL".to_owned(),
        settings: Settings::from([("store".to_owned(), "sql".into())]),
        ..PlanStep::default()
    };
    let wide = PlanStep {
        name: "wide".to_owned(),
        knobs: BTreeMap::from([(
            "shared".to_owned(),
            Settings::from([("map_size".to_owned(), Value::Integer(2 << 30))]),
        )]),
        ..PlanStep::default()
    };
    let mut plan = reading(&["shared"]);
    plan.steps = vec![to_sql, wide];
    let said = "shared: step 'in SQL': this engine does not support SQL: give store=kv";
    let refused = expand_reading(&plan).unwrap_err();
    assert_eq!(refused.to_string(), format!("{said}{SKIP_HINT}"));
    plan.unsupported = UnsupportedPolicy::Skip;
    let matrix = expand_reading(&plan).unwrap();
    assert_eq!(sentences(&matrix), [said]);
    let names: Vec<_> = matrix
        .trials
        .iter()
        .filter_map(|spec| spec.step.as_ref().map(|step| step.name.as_str()))
        .collect();
    assert_eq!(names, ["base", "wide"]);
}

/// Sets a condition of a plan.
type SetCondition = fn(&mut PlanFile);

#[test]
fn an_engine_with_nothing_to_compact_or_to_recover_is_refused_or_left_out() {
    let conditions: [(SetCondition, &str); 2] = [
        (
            |it| it.conditions.compact = true,
            "compact: null stores nothing that could be compacted: remove compact",
        ),
        (
            |it| it.conditions.crash_and_recover = true,
            "null stores nothing that could survive a crash: remove crash_and_recover",
        ),
    ];
    for (set_condition, said) in conditions {
        let under_it = |engines: &[&str]| {
            let mut plan = plan(engines);
            set_condition(&mut plan);
            plan
        };
        let mut named = under_it(&["null", "shared"]);
        assert_eq!(refused(&named), format!("{said}{SKIP_HINT}"));
        named.unsupported = UnsupportedPolicy::Skip;
        let matrix = expanded(&named);
        assert_eq!(ids(&matrix), ["0001-shared-sync-w4-r1"]);
        assert_eq!(sentences(&matrix), [said]);
        let matrix = expanded(&under_it(&["present"]));
        let engines: Vec<_> = matrix.trials.iter().map(|it| it.engine.as_str()).collect();
        assert_eq!(engines, ["shared", "single", "server"]);
        assert!(sentences(&matrix).contains(&said), "{:?}", matrix.skipped);
        // The control: without the condition the engine runs.
        assert_eq!(expanded(&plan(&["null"])).trials.len(), 1);
    }
}
