//! Reports as CSV (RFC 4180): a line per trial, plain numbers, the unit in each column's name.

use std::borrow::Cow;
use std::collections::BTreeSet;
use trueput_findings::Run;
use trueput_findings::cells::{cache_hit_ratio, context_switches, cpu_ns_per_operation};
use trueput_findings::marks::{WITH_ASSERTIONS, labels, marks};
use trueput_findings::objective::judge;
use trueput_findings::rankings::records_by_size;
use trueput_findings::trial_names::TrialNames;
use trueput_record::ablation::AblationStep;
use trueput_record::measurement::{
    EngineReport, Measurement, OpenLoop, OperationSummary, ResponseSummary,
};
use trueput_record::objective::Objective;
use trueput_record::text::escape_lines;
use trueput_record::value::Settings;
use trueput_record::{Conditions, Isolation, Outcome, TrialRecord};

/// A trial, and what its run says of it.
struct CsvRow<'a> {
    trial: &'a TrialRecord,
    contender: String,
    objective: Option<&'a Objective>,
}

/// A column: its title, and a function that returns its value for a trial.
type CsvColumn = (String, Box<dyn Fn(&CsvRow<'_>) -> String>);

/// A value of a column. A missing value has an empty cell.
trait CellValue {
    fn cell(&self) -> String;
}

macro_rules! cell_values {
    ($($type:ty),+) => {
        $(impl CellValue for $type {
            fn cell(&self) -> String {
                self.to_string()
            }
        })+
    };
}

cell_values!(bool, f64, u32, u64, usize, &str, String);

impl<T: CellValue> CellValue for Option<T> {
    fn cell(&self) -> String {
        self.as_ref().map(T::cell).unwrap_or_default()
    }
}

/// Declares columns for fields of a part of a measurement, each named after its field with a
/// prefix.
macro_rules! fields {
    ($prefix:literal, |$measured:ident| $part:expr, [$($field:ident),+ $(,)?]) => {
        [$(measured(concat!($prefix, stringify!($field)), |$measured| Some($part?.$field))),+]
    };
}

/// The columns that distinguish trials of several runs and hosts.
const OF_RUN: [&str; 4] = ["run", "run_started_at", "host", "program_commit"];

/// Writes every trial of every run, whether or not it counts: the column `rankable` says so.
pub fn render(reports: &[Run]) -> String {
    let all = reports.iter().flat_map(|report| &report.trials);
    let trials: &[&TrialRecord] = &all.collect::<Vec<_>>();
    let mut columns = about_the_trial();
    columns.extend(conditions());
    columns.extend(totals());
    columns.extend(amplification());
    columns.extend(space());
    columns.extend(machine());
    columns.extend(of_operations(trials));
    columns.extend(open_loops());
    columns.extend(of_responses(trials));
    columns.extend(named(trials, "setting", |trial| Some(settings(trial))));
    columns.extend(named(trials, "knob", |trial| {
        Some(Cow::Borrowed(&trial.spec.knobs))
    }));
    columns.extend(named(trials, "result", |trial| {
        Some(Cow::Borrowed(&trial.measurement.as_ref()?.results))
    }));
    let line = |cells: Vec<String>| cells.join(",") + "\r\n";
    let titles = columns.iter().map(|(title, _)| quoted(title));
    let of_run = OF_RUN.map(str::to_owned).into_iter();
    let mut text = line(of_run.chain(titles).collect());
    for report in reports {
        let run = facts(report).map(quoted);
        let names = TrialNames::of(report);
        for trial in &report.trials {
            let row = CsvRow {
                trial,
                contender: names.contender(trial),
                objective: report.manifest.objective.as_ref(),
            };
            let values = columns.iter().map(|(_, value)| quoted(&value(&row)));
            text += &line(run.iter().cloned().chain(values).collect());
        }
    }
    text
}

/// The values of the columns [`OF_RUN`].
fn facts(report: &Run) -> [&str; 4] {
    let (manifest, host) = (&report.manifest, &report.manifest.host);
    let commit = &host.program.commit;
    [
        &manifest.name,
        &manifest.started_at,
        &host.host_name,
        commit,
    ]
}

fn column<T: CellValue>(title: &str, value: impl Fn(&TrialRecord) -> T + 'static) -> CsvColumn {
    let cell = move |row: &CsvRow<'_>| value(row.trial).cell();
    (title.to_owned(), Box::new(cell))
}

/// A column of what a run says of a trial.
fn of_row(title: &str, value: fn(&CsvRow<'_>) -> String) -> CsvColumn {
    (title.to_owned(), Box::new(value))
}

/// A column of a value that the engine reported.
fn reported<T: CellValue>(title: &str, value: impl Fn(&EngineReport) -> T + 'static) -> CsvColumn {
    column(title, move |trial| trial.engine.as_ref().map(&value))
}

/// A column that only trials of an ablation fill.
fn of_step<T: CellValue>(title: &str, value: impl Fn(&AblationStep) -> T + 'static) -> CsvColumn {
    column(title, move |trial| trial.spec.step.as_ref().map(&value))
}

/// A column of a measured value.
fn measured<T: CellValue>(title: &str, value: impl Fn(&Measurement) -> T + 'static) -> CsvColumn {
    column(title, move |trial| trial.measurement.as_ref().map(&value))
}

fn about_the_trial() -> Vec<CsvColumn> {
    vec![
        column("trial", |trial| trial.spec.id.clone()),
        column("cell", |trial| trial.spec.cell),
        column("repeat", |trial| trial.spec.repeat),
        column("started_at", |trial| trial.started_at.clone()),
        column("status", |trial| status(trial).0),
        column("reason", |trial| status(trial).1),
        column("rankable", TrialRecord::is_rankable),
        column("resumed", |trial| trial.resumed),
        column("verified", |trial| {
            let verification = trial.verification.as_ref();
            verification.map(|verification| verification.level.to_string())
        }),
        column("workload", |trial| trial.spec.workload.clone()),
        column("engine", |trial| trial.spec.engine.clone()),
        reported("engine_version", |engine| engine.version.clone()),
        reported("engine_origin", |engine| engine.origin.clone()),
        reported("engine_sha256", |engine| engine.sha256.clone()),
        reported("engine_assertions", |engine| engine.assertions),
        reported("engine_warning", |engine| {
            (engine.assertions == Some(true)).then_some(WITH_ASSERTIONS)
        }),
        column("marks", |trial| labels(&marks(trial), "; ")),
        column("durability", |trial| trial.spec.durability.name()),
        column("flushed_data", |trial| {
            let stack = trial.storage.as_ref();
            stack.map(|stack| stack.power_loss.phrase())
        }),
        reported("mapped_to", |engine| engine.promise.mapped_to.clone()),
        reported("isolation", |engine| engine.isolation.map(Isolation::name)),
        column("workers", |trial| trial.spec.workers),
        column("worker_kind", |trial| trial.spec.worker_kind.name()),
        column("seed", |trial| trial.spec.seed),
        column("note", |trial| trial.spec.note.clone()),
        of_row("contender", |row| row.contender.clone()),
        of_row("objective", objective),
        of_step("step_ablation", |step| step.ablation.to_string()),
        of_step("step_base", |step| step.base),
        of_step("step_index", |step| step.index),
        of_step("step_name", |step| step.name.clone()),
    ]
}

/// Whether the trial kept the objective of its plan: `kept` or `not kept`; empty if it was not
/// judged.
fn objective(row: &CsvRow<'_>) -> String {
    let judged = row.objective.and_then(|it| judge(row.trial, it));
    let word = judged.map(|judged| if judged.holds() { "kept" } else { "not kept" });
    word.cell()
}

/// The run conditions: the amounts as plain numbers, and each as a plan writes it.
fn conditions() -> Vec<CsvColumn> {
    let rate = |trial: &TrialRecord| trial.spec.conditions.rate;
    let mut columns = vec![
        column("warm_up_s", |trial| trial.spec.conditions.warm_up_s),
        column("duration_s", |trial| trial.spec.conditions.duration_s),
        column("rate_per_s", move |trial| rate(trial).map(|it| it.per_s)),
        column("arrival", move |trial| {
            rate(trial).map(|it| it.arrival.to_string())
        }),
        column("load_records", |trial| {
            trial.load.as_ref().map(|load| load.records)
        }),
        column("load_elapsed_s", |trial| {
            trial.load.as_ref().map(|load| load.elapsed_s)
        }),
    ];
    let names = Conditions::default().named().into_iter();
    columns.extend(names.map(|(name, _)| {
        column(&format!("condition.{name}"), move |trial| {
            let mut named = trial.spec.conditions.named().into_iter();
            named
                .find(|(other, _)| *other == name)
                .map(|(_, value)| value)
        })
    }));
    columns
}

/// The settings, with the records that were loaded if their size decided the number.
fn settings(trial: &TrialRecord) -> Cow<'_, Settings> {
    let settings = &trial.spec.settings;
    match records_by_size(trial) {
        Some(loaded) => {
            let mut settings = settings.clone();
            settings.insert("records".to_owned(), loaded.into());
            Cow::Owned(settings)
        }
        None => Cow::Borrowed(settings),
    }
}

fn status(trial: &TrialRecord) -> (&'static str, String) {
    match &trial.outcome {
        Outcome::Valid => ("valid", String::new()),
        Outcome::Invalid { reasons } => ("invalid", reasons.join("; ")),
        Outcome::Failed { reason, .. } => ("failed", reason.clone()),
        Outcome::Interrupted => ("interrupted", String::new()),
    }
}

fn totals() -> Vec<CsvColumn> {
    let mut columns = vec![
        measured("elapsed_s", |m| m.elapsed_s),
        measured("conflicts", |m| m.conflicts),
        measured("deadlocks", |m| m.deadlocks),
    ];
    columns.extend(fields!(
        "",
        |m| Some(&m.resources),
        [user_cpu_s, system_cpu_s]
    ));
    columns.extend([
        measured("cpu_ns_per_operation", cpu_ns_per_operation),
        measured("context_switches", context_switches),
    ]);
    columns.extend(fields!(
        "",
        |m| Some(&m.resources),
        [
            voluntary_context_switches,
            involuntary_context_switches,
            minor_page_faults,
            major_page_faults,
            peak_pss_bytes,
            peak_rss_bytes,
            storage_read_bytes,
            storage_written_bytes,
            read_call_bytes,
            write_call_bytes,
        ]
    ));
    let database = fields!(
        "database_",
        |m| Some(&m.database),
        [allocated_bytes, apparent_bytes]
    );
    columns.extend(database);
    columns
}

/// Bytes that the workers requested, and the resulting I/O.
fn amplification() -> Vec<CsvColumn> {
    let mut columns = vec![measured("cpu_percent", Measurement::cpu_percent)];
    columns.extend(fields!("", |m| Some(&m.resources), [max_rss_bytes]));
    columns.push(measured("total_bytes", Measurement::total_bytes));
    columns.extend(fields!(
        "",
        |m| Some(&m.resources),
        [read_calls, write_calls]
    ));
    columns.extend(fields!(
        "",
        |m| Some(m),
        [
            commits,
            user_read_bytes,
            user_written_bytes,
            live_user_bytes,
        ]
    ));
    columns.extend([
        measured("read_amplification", Measurement::read_amplification),
        measured("write_amplification", Measurement::write_amplification),
        measured(
            "device_write_amplification",
            Measurement::device_write_amplification,
        ),
        measured("space_amplification", Measurement::space_amplification),
    ]);
    columns
}

/// The database's size before the run, and the engine's own compaction after it.
fn space() -> Vec<CsvColumn> {
    let mut columns = Vec::from(fields!(
        "database_at_start_",
        |m| m.database_at_start.as_ref(),
        [allocated_bytes, apparent_bytes]
    ));
    columns.extend(fields!(
        "compaction_",
        |m| m.compaction.as_ref(),
        [elapsed_s, storage_written_bytes]
    ));
    columns.extend(fields!(
        "compaction_device_",
        |m| m.compaction.as_ref().and_then(|it| it.device.as_ref()),
        [read_bytes, written_bytes]
    ));
    columns.extend(fields!(
        "compacted_",
        |m| m.compaction.as_ref().map(|it| &it.database),
        [allocated_bytes, apparent_bytes]
    ));
    columns.extend([
        measured("compaction_means", |m| {
            m.compaction.as_ref().map(|it| it.means.clone())
        }),
        measured(
            "compacted_space_amplification",
            Measurement::compacted_space_amplification,
        ),
    ]);
    columns
}

/// Activity of the machine, and the limits that the trial ran in.
fn machine() -> Vec<CsvColumn> {
    let mut columns = Vec::new();
    columns.extend(fields!(
        "device_",
        |m| m.device.as_ref(),
        [
            read_bytes,
            written_bytes,
            reads,
            writes,
            flushes,
            flush_s,
            busy_s,
        ]
    ));
    columns.extend(fields!(
        "log_device_",
        |m| m.log_device.as_ref(),
        [written_bytes, flushes, flush_s, busy_s,]
    ));
    columns.extend(fields!(
        "pressure_",
        |m| m.pressure.as_ref(),
        [
            cpu_some_s,
            memory_some_s,
            memory_full_s,
            io_some_s,
            io_full_s,
        ]
    ));
    columns.extend(fields!(
        "neighbors_",
        |m| m.neighbors.as_ref(),
        [cpu_s, steal_s]
    ));
    columns.extend(fields!(
        "memory_",
        |m| m.memory.as_ref(),
        [limit_bytes, peak_bytes, limit_hits, kills,]
    ));
    columns.extend(fields!(
        "cold_start_",
        |m| m.cold_start.as_ref(),
        [pages, pages_left]
    ));
    columns.extend(fields!(
        "",
        |m| m.recovery.as_ref(),
        [recovery_s, first_commit_s]
    ));
    columns.extend(fields!("cache_", |m| m.cache.as_ref(), [hits, misses]));
    columns.extend([
        measured("cache_hit_ratio", cache_hit_ratio),
        measured("events", |m| m.events.as_ref().map(Vec::len)),
    ]);
    columns
}

/// Columns `KIND_count`, `KIND_not_found`, `KIND_per_s`, `KIND_p50_ns` … for every kind of
/// operation of any trial, and with an open loop `KIND_service_p50_ns` …, the same. Latencies are
/// empty if no operation was timed.
fn of_operations(trials: &[&TrialRecord]) -> Vec<CsvColumn> {
    let mut kinds: Vec<&str> = Vec::new();
    let measurements = trials.iter().filter_map(|trial| trial.measurement.as_ref());
    for operation in measurements.flat_map(|measurement| &measurement.operations) {
        if !kinds.contains(&operation.kind.as_str()) {
            kinds.push(&operation.kind);
        }
    }
    macro_rules! latencies {
        ($($field:ident),+) => {
            [$((stringify!($field), |operation| {
                let latency = Some(&operation.latency).filter(|it| it.is_measured());
                latency.map(|latency| latency.$field).cell()
            })),+]
        };
    }
    type OperationColumn = (&'static str, fn(&OperationSummary) -> String);
    let rates: [OperationColumn; 3] = [
        ("count", |operation| operation.count.cell()),
        ("not_found", |operation| operation.not_found.cell()),
        ("per_s", |operation| operation.per_s.cell()),
    ];
    let latencies: [OperationColumn; 7] =
        latencies!(mean_ns, min_ns, p50_ns, p90_ns, p99_ns, p999_ns, max_ns);
    // Beside response times, the columns of service times have a name that says so, too.
    let is_open = |trial: &&TrialRecord| {
        let measurement = trial.measurement.as_ref();
        measured_open_loop(measurement).is_some()
    };
    let named = trials.iter().any(is_open).then_some("service_");
    let prefixes = || std::iter::once("").chain(named);
    let of_kind = |kind: &str| {
        let times =
            prefixes().flat_map(|prefix| latencies.map(|(name, value)| (prefix, name, value)));
        let rates = rates.map(|(name, value)| ("", name, value));
        let columns = rates.into_iter().chain(times).map(|(prefix, name, value)| {
            let wanted = kind.to_owned();
            let value = move |m: &Measurement| m.operation(&wanted).map(value);
            measured(&format!("{kind}_{prefix}{name}"), value)
        });
        columns.collect::<Vec<_>>()
    };
    kinds.into_iter().flat_map(of_kind).collect()
}

/// What arrived in an open loop: empty for closed loops.
fn open_loops() -> Vec<CsvColumn> {
    let mut columns = Vec::from(fields!(
        "open_loop_",
        |m| measured_open_loop(Some(m)),
        [rate_per_s, issued, backlog, oldest_wait_s]
    ));
    columns.push(measured("open_loop_arrival", |m| {
        m.open_loop.as_ref().map(|open| open.arrival.clone())
    }));
    columns
}

fn measured_open_loop(measurement: Option<&Measurement>) -> Option<&OpenLoop> {
    measurement?.open_loop.as_ref()
}

/// Columns `KIND_response_count`, `KIND_response_p99_ns` … for every kind of request of any open
/// loop: times from when a request was due.
fn of_responses(trials: &[&TrialRecord]) -> Vec<CsvColumn> {
    let mut kinds: Vec<&str> = Vec::new();
    let measurements = trials.iter().map(|trial| trial.measurement.as_ref());
    let loops = measurements.filter_map(measured_open_loop);
    for response in loops.flat_map(|open| &open.responses) {
        if !kinds.contains(&response.kind.as_str()) {
            kinds.push(&response.kind);
        }
    }
    type ResponseColumn = (&'static str, fn(&ResponseSummary) -> String);
    let figures: [ResponseColumn; 8] = [
        ("count", |it| it.count.cell()),
        ("mean_ns", |it| it.latency.mean_ns.cell()),
        ("min_ns", |it| it.latency.min_ns.cell()),
        ("p50_ns", |it| it.latency.p50_ns.cell()),
        ("p90_ns", |it| it.latency.p90_ns.cell()),
        ("p99_ns", |it| it.latency.p99_ns.cell()),
        ("p999_ns", |it| it.latency.p999_ns.cell()),
        ("max_ns", |it| it.latency.max_ns.cell()),
    ];
    let of_kind = |kind: &str| {
        let columns = figures.map(|(name, value)| {
            let wanted = kind.to_owned();
            measured(
                &format!("{kind}_response_{name}"),
                move |m: &Measurement| {
                    let mut responses = m.open_loop.iter().flat_map(|open| &open.responses);
                    let response = responses.find(|it| it.kind == wanted && it.count > 0);
                    response.map(value)
                },
            )
        });
        columns.into_iter()
    };
    kinds.into_iter().flat_map(of_kind).collect()
}

/// Columns `PREFIX.NAME` for every name that any trial has.
fn named(
    trials: &[&TrialRecord],
    prefix: &str,
    values: fn(&TrialRecord) -> Option<Cow<'_, Settings>>,
) -> Vec<CsvColumn> {
    let of_trials = trials.iter().filter_map(|trial| values(trial));
    let names: BTreeSet<String> = of_trials
        .flat_map(|settings| settings.keys().cloned().collect::<Vec<_>>())
        .collect();
    let one = |name: String| {
        let wanted = name.clone();
        column(&format!("{prefix}.{name}"), move |trial| {
            let settings = values(trial)?;
            settings.get(&wanted).map(ToString::to_string)
        })
    };
    names.into_iter().map(one).collect()
}

/// A cell as RFC 4180 has it. A text that a spreadsheet would take for a formula gets an apostrophe
/// in front, as OWASP recommends; numbers stay as they are.
pub(crate) fn quoted(cell: &str) -> String {
    let mut cell = escape_lines(cell);
    if cell.starts_with(['=', '+', '-', '@', '\t']) && cell.parse::<f64>().is_err() {
        cell = format!("'{cell}").into();
    }
    if cell.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.into_owned()
    }
}
