//! Our trials as rows of the document: a load of each, and its run where readers read beside one
//! writer.

use super::{MemoryPolicy, SymasRow, TEST, document_name, published_engine};
use trueput_record::conditions::NumaPolicy;
use trueput_record::measurement::{DatabaseSize, Resources};
use trueput_record::{TrialRecord, Value};

/// The rows of these trials: their runs, and the load of each contender once. Trials that do not
/// count give none. Of several repeats each gives its rows, in their order.
#[must_use]
pub fn rows(trials: &[TrialRecord]) -> Vec<SymasRow> {
    let mut rows = Vec::new();
    for trial in trials.iter().filter(|trial| is_of_the_document(trial)) {
        rows.extend(load(trial));
        rows.extend(run(trial));
    }
    rows
}

fn is_of_the_document(trial: &TrialRecord) -> bool {
    let test = trial.spec.settings.get("test");
    trial.spec.workload == "micro" && test == Some(&Value::from(TEST)) && trial.is_rankable()
}

fn load(trial: &TrialRecord) -> Option<SymasRow> {
    let load = trial.load.as_ref()?;
    let used = Used {
        wall_s: load.elapsed_s,
        resources: &load.resources,
        database: load.database,
    };
    Some(row(trial, None, &used))
}

fn run(trial: &TrialRecord) -> Option<SymasRow> {
    let measurement = trial.measurement.as_ref()?;
    let used = Used {
        wall_s: measurement.elapsed_s,
        resources: &measurement.resources,
        database: measurement.database,
    };
    let per_s = |kind: &str| measurement.operation(kind).map(|operation| operation.per_s);
    Some(SymasRow {
        writes_per_s: per_s("update"),
        reads_per_s: per_s("read"),
        ..row(trial, Some(trial.spec.workers), &used)
    })
}

/// What a load or a run used.
struct Used<'a> {
    wall_s: f64,
    resources: &'a Resources,
    database: DatabaseSize,
}

fn row(trial: &TrialRecord, readers: Option<u32>, used: &Used<'_>) -> SymasRow {
    let spec = &trial.spec;
    let origin = trial.engine.as_ref().map_or("", |engine| &engine.origin);
    let published = published_engine(&spec.engine, origin, &spec.knobs);
    let resources = used.resources;
    let cpu_s = resources.user_cpu_s + resources.system_cpu_s;
    let kib = |bytes: u64| bytes.div_ceil(1024);
    let (db_size_kib, process_size_kib) = (
        kib(used.database.allocated_bytes),
        kib(resources.max_rss_bytes),
    );
    SymasRow {
        engine: published.unwrap_or(&spec.engine).to_owned(),
        label: published
            .and_then(document_name)
            .unwrap_or(&spec.engine)
            .to_owned(),
        policy: match spec.conditions.numa {
            Some(NumaPolicy::Interleave(_)) => MemoryPolicy::Interleave,
            _ => MemoryPolicy::Local,
        },
        readers,
        wall_s: used.wall_s,
        user_s: resources.user_cpu_s,
        system_s: resources.system_cpu_s,
        cpu_percent: if used.wall_s > 0.0 {
            cpu_s / used.wall_s * 100.0
        } else {
            0.0
        },
        db_size_kib,
        process_size_kib,
        total_size_kib: if maps_its_database(&spec.engine) {
            process_size_kib.max(db_size_kib)
        } else {
            process_size_kib + db_size_kib
        },
        voluntary_context_switches: resources.voluntary_context_switches,
        involuntary_context_switches: resources.involuntary_context_switches,
        writes_per_s: None,
        reads_per_s: None,
    }
}

/// Engines whose processes map the database, so that its pages count as theirs already: the
/// document takes the larger of both there.
fn maps_its_database(engine: &str) -> bool {
    matches!(engine, "lmdb" | "mdbx")
}
