//! Reports as CSV (RFC 4180): a line per trial, plain numbers, the unit in each column's name.

use std::collections::BTreeSet;
use trueput_findings::Run;
use trueput_findings::cells::{cache_hit_ratio, context_switches, cpu_ns_per_operation};
use trueput_findings::marks::{WITH_ASSERTIONS, labels, marks};
use trueput_record::ablation::AblationStep;
use trueput_record::accounting::{ColdStart, Device, MemoryUse, OtherPrograms, Pressure};
use trueput_record::measurement::{LatencySummary, Measurement, OperationSummary};
use trueput_record::text::visible_lines;
use trueput_record::trial::Settings;
use trueput_record::{Outcome, TrialRecord};

type Column = (String, Box<dyn Fn(&TrialRecord) -> String>);

/// The columns that tell apart trials of several runs and hosts.
const OF_RUN: [&str; 4] = ["run", "run_started_at", "host", "program_commit"];

/// Writes every trial of every run, whether or not it counts: the column `rankable` says so.
pub fn render(reports: &[Run]) -> String {
    let all = reports.iter().flat_map(|report| &report.trials);
    let trials: &[&TrialRecord] = &all.collect::<Vec<_>>();
    let mut columns = about_the_trial();
    columns.extend(totals());
    columns.extend(amplification());
    columns.extend(machine());
    columns.extend(of_operations(trials));
    columns.extend(named(trials, "setting", |trial| Some(&trial.spec.settings)));
    columns.extend(named(trials, "knob", |trial| Some(&trial.spec.knobs)));
    columns.extend(named(trials, "result", |trial| {
        Some(&trial.measurement.as_ref()?.results)
    }));
    let line = |cells: Vec<String>| cells.join(",") + "\r\n";
    let titles = columns.iter().map(|(title, _)| quoted(title));
    let of_run = OF_RUN.map(str::to_owned).into_iter();
    let mut text = line(of_run.chain(titles).collect());
    for report in reports {
        let run = facts(report).map(quoted);
        for trial in &report.trials {
            let values = columns.iter().map(|(_, value)| quoted(&value(trial)));
            text += &line(run.iter().cloned().chain(values).collect());
        }
    }
    text
}

/// What is in [`OF_RUN`].
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

fn column(title: &str, value: impl Fn(&TrialRecord) -> String + 'static) -> Column {
    (title.to_owned(), Box::new(value))
}

fn about_the_trial() -> Vec<Column> {
    let engine = |value: fn(&trueput_record::measurement::EngineReport) -> &str| {
        move |trial: &TrialRecord| {
            trial
                .engine
                .as_ref()
                .map(value)
                .unwrap_or_default()
                .to_owned()
        }
    };
    vec![
        column("trial", |trial| trial.spec.id.clone()),
        column("cell", |trial| trial.spec.cell.to_string()),
        column("repeat", |trial| trial.spec.repeat.to_string()),
        column("started_at", |trial| trial.started_at.clone()),
        column("status", |trial| status(trial).0.to_owned()),
        column("reason", |trial| status(trial).1),
        column("rankable", |trial| trial.is_rankable().to_string()),
        column("resumed", |trial| trial.resumed.to_string()),
        column("verified", |trial| {
            let verification = trial.verification.as_ref();
            verification
                .map(|v| v.level.to_string())
                .unwrap_or_default()
        }),
        column("workload", |trial| trial.spec.workload.clone()),
        column("engine", |trial| trial.spec.engine.clone()),
        column("engine_version", engine(|engine| &engine.version)),
        column("engine_origin", engine(|engine| &engine.origin)),
        column("engine_sha256", engine(|engine| &engine.sha256)),
        column("engine_assertions", |trial| {
            let assertions = trial.engine.as_ref().and_then(|engine| engine.assertions);
            assertions
                .map(|assertions| assertions.to_string())
                .unwrap_or_default()
        }),
        column("engine_warning", |trial| {
            let assertions = trial.engine.as_ref().and_then(|engine| engine.assertions);
            match assertions {
                Some(true) => WITH_ASSERTIONS.to_owned(),
                _ => String::new(),
            }
        }),
        column("marks", |trial| labels(&marks(trial), "; ")),
        column("durability", |trial| trial.spec.durability.to_string()),
        column("mapped_to", engine(|engine| &engine.promise.mapped_to)),
        column("isolation", |trial| {
            let stated = trial.engine.as_ref().and_then(|engine| engine.isolation);
            stated.map(|stated| stated.to_string()).unwrap_or_default()
        }),
        column("workers", |trial| trial.spec.workers.to_string()),
        column("worker_kind", |trial| trial.spec.worker_kind.to_string()),
        column("seed", |trial| trial.spec.seed.to_string()),
        column("note", |trial| trial.spec.note.clone().unwrap_or_default()),
        of_step("step_ablation", |step| step.ablation.to_string()),
        of_step("step_base", |step| step.base.to_string()),
        of_step("step_index", |step| step.index.to_string()),
        of_step("step_name", |step| step.name.clone()),
    ]
}

/// A column that only trials of an ablation fill.
fn of_step(title: &str, value: fn(&AblationStep) -> String) -> Column {
    column(title, move |trial| {
        trial.spec.step.as_ref().map(value).unwrap_or_default()
    })
}

fn status(trial: &TrialRecord) -> (&'static str, String) {
    match &trial.outcome {
        Outcome::Valid => ("valid", String::new()),
        Outcome::Invalid { reasons } => ("invalid", reasons.join("; ")),
        Outcome::Failed { reason, .. } => ("failed", reason.clone()),
        Outcome::Interrupted => ("interrupted", String::new()),
    }
}

fn measured(title: &str, value: impl Fn(&Measurement) -> String + 'static) -> Column {
    column(title, move |trial| {
        trial.measurement.as_ref().map(&value).unwrap_or_default()
    })
}

fn totals() -> Vec<Column> {
    vec![
        measured("elapsed_s", |m| m.elapsed_s.to_string()),
        measured("conflicts", |m| m.conflicts.to_string()),
        measured("deadlocks", |m| m.deadlocks.to_string()),
        measured("user_cpu_s", |m| m.resources.user_cpu_s.to_string()),
        measured("system_cpu_s", |m| m.resources.system_cpu_s.to_string()),
        measured("cpu_ns_per_operation", |m| {
            cpu_ns_per_operation(m)
                .map(|cost_ns| cost_ns.to_string())
                .unwrap_or_default()
        }),
        measured("context_switches", |m| context_switches(m).to_string()),
        measured("voluntary_context_switches", |m| {
            m.resources.voluntary_context_switches.to_string()
        }),
        measured("involuntary_context_switches", |m| {
            m.resources.involuntary_context_switches.to_string()
        }),
        measured("minor_page_faults", |m| {
            m.resources.minor_page_faults.to_string()
        }),
        measured("major_page_faults", |m| {
            m.resources.major_page_faults.to_string()
        }),
        measured("peak_pss_bytes", |m| m.resources.peak_pss_bytes.to_string()),
        measured("peak_rss_bytes", |m| m.resources.peak_rss_bytes.to_string()),
        measured("storage_read_bytes", |m| {
            m.resources.storage_read_bytes.to_string()
        }),
        measured("storage_written_bytes", |m| {
            m.resources.storage_written_bytes.to_string()
        }),
        measured("read_call_bytes", |m| {
            m.resources.read_call_bytes.to_string()
        }),
        measured("write_call_bytes", |m| {
            m.resources.write_call_bytes.to_string()
        }),
        measured("database_allocated_bytes", |m| {
            m.database.allocated_bytes.to_string()
        }),
        measured("database_apparent_bytes", |m| {
            m.database.apparent_bytes.to_string()
        }),
    ]
}

/// A figure that not every trial has; the cell is empty where it is absent.
fn optional<T: ToString>(
    title: &str,
    value: impl Fn(&Measurement) -> Option<T> + 'static,
) -> Column {
    measured(title, move |m| {
        value(m).map(|value| value.to_string()).unwrap_or_default()
    })
}

/// What the workers asked for, and what that cost besides.
fn amplification() -> Vec<Column> {
    vec![
        optional("cpu_percent", Measurement::cpu_percent),
        measured("max_rss_bytes", |m| m.resources.max_rss_bytes.to_string()),
        measured("total_bytes", |m| m.total_bytes().to_string()),
        measured("read_calls", |m| m.resources.read_calls.to_string()),
        measured("write_calls", |m| m.resources.write_calls.to_string()),
        optional("commits", |m| m.commits),
        optional("user_read_bytes", |m| m.user_read_bytes),
        optional("user_written_bytes", |m| m.user_written_bytes),
        optional("live_user_bytes", |m| m.live_user_bytes),
        optional("read_amplification", Measurement::read_amplification),
        optional("write_amplification", Measurement::write_amplification),
        optional("space_amplification", Measurement::space_amplification),
    ]
}

/// What the machine did meanwhile, and the limits that the trial ran in.
fn machine() -> Vec<Column> {
    let device = |title: &str, of: fn(&Device) -> Option<f64>| {
        optional(&format!("device_{title}"), move |m| {
            m.device.as_ref().and_then(of)
        })
    };
    let log_device = |title: &str, of: fn(&Device) -> Option<f64>| {
        optional(&format!("log_device_{title}"), move |m| {
            m.log_device.as_ref().and_then(of)
        })
    };
    let pressure = |title: &str, of: fn(&Pressure) -> f64| {
        optional(&format!("pressure_{title}"), move |m| {
            m.pressure.as_ref().map(of)
        })
    };
    let neighbors = |title: &str, of: fn(&OtherPrograms) -> f64| {
        optional(&format!("neighbors_{title}"), move |m| {
            m.neighbors.as_ref().map(of)
        })
    };
    let memory = |title: &str, of: fn(&MemoryUse) -> Option<u64>| {
        optional(&format!("memory_{title}"), move |m| {
            m.memory.as_ref().and_then(of)
        })
    };
    let cold = |title: &str, of: fn(&ColdStart) -> u64| {
        optional(&format!("cold_start_{title}"), move |m| {
            m.cold_start.as_ref().map(of)
        })
    };
    vec![
        device("read_bytes", |it| Some(it.read_bytes as f64)),
        device("written_bytes", |it| Some(it.written_bytes as f64)),
        device("reads", |it| Some(it.reads as f64)),
        device("writes", |it| Some(it.writes as f64)),
        device("flushes", |it| it.flushes.map(|flushes| flushes as f64)),
        device("busy_s", |it| Some(it.busy_s)),
        log_device("written_bytes", |it| Some(it.written_bytes as f64)),
        log_device("flushes", |it| it.flushes.map(|flushes| flushes as f64)),
        log_device("busy_s", |it| Some(it.busy_s)),
        pressure("cpu_some_s", |it| it.cpu_some_s),
        pressure("memory_some_s", |it| it.memory_some_s),
        pressure("memory_full_s", |it| it.memory_full_s),
        pressure("io_some_s", |it| it.io_some_s),
        pressure("io_full_s", |it| it.io_full_s),
        neighbors("cpu_s", |it| it.cpu_s),
        neighbors("steal_s", |it| it.steal_s),
        memory("limit_bytes", |it| Some(it.limit_bytes)),
        memory("peak_bytes", |it| it.peak_bytes),
        memory("limit_hits", |it| it.limit_hits),
        memory("kills", |it| Some(it.kills)),
        cold("pages", |it| it.pages),
        cold("pages_left", |it| it.pages_left),
        optional("recovery_s", |m| m.recovery.map(|it| it.recovery_s)),
        optional("first_commit_s", |m| m.recovery?.first_commit_s),
        optional("cache_hits", |m| m.cache.map(|cache| cache.hits)),
        optional("cache_misses", |m| m.cache.map(|cache| cache.misses)),
        optional("cache_hit_ratio", cache_hit_ratio),
        optional("events", |m| m.events.as_ref().map(Vec::len)),
    ]
}

/// Columns `KIND_count`, `KIND_per_s`, `KIND_p50_ns` … for every kind that any trial has.
fn of_operations(trials: &[&TrialRecord]) -> Vec<Column> {
    let mut kinds: Vec<&str> = Vec::new();
    let measurements = trials.iter().filter_map(|trial| trial.measurement.as_ref());
    for operation in measurements.flat_map(|measurement| &measurement.operations) {
        if !kinds.contains(&operation.kind.as_str()) {
            kinds.push(&operation.kind);
        }
    }
    type Figure = fn(&OperationSummary) -> String;
    let figures: [(&str, Figure); 9] = [
        ("count", |operation| operation.count.to_string()),
        ("per_s", |operation| operation.per_s.to_string()),
        ("mean_ns", |operation| {
            latency(operation, |l| l.mean_ns.to_string())
        }),
        ("min_ns", |operation| {
            latency(operation, |l| l.min_ns.to_string())
        }),
        ("p50_ns", |operation| {
            latency(operation, |l| l.p50_ns.to_string())
        }),
        ("p90_ns", |operation| {
            latency(operation, |l| l.p90_ns.to_string())
        }),
        ("p99_ns", |operation| {
            latency(operation, |l| l.p99_ns.to_string())
        }),
        ("p999_ns", |operation| {
            latency(operation, |l| l.p999_ns.to_string())
        }),
        ("max_ns", |operation| {
            latency(operation, |l| l.max_ns.to_string())
        }),
    ];
    let mut columns = Vec::new();
    for kind in kinds {
        for (name, value) in figures {
            let kind_of_column = kind.to_owned();
            columns.push(measured(&format!("{kind}_{name}"), move |measurement| {
                measurement
                    .operation(&kind_of_column)
                    .map(value)
                    .unwrap_or_default()
            }));
        }
    }
    columns
}

/// A figure of the latency, or nothing where no operation was timed.
fn latency(operation: &OperationSummary, figure: fn(&LatencySummary) -> String) -> String {
    match operation.latency.is_measured() {
        true => figure(&operation.latency),
        false => String::new(),
    }
}

/// Columns `PREFIX.NAME` for every name that any trial has.
fn named(
    trials: &[&TrialRecord],
    prefix: &str,
    values: fn(&TrialRecord) -> Option<&Settings>,
) -> Vec<Column> {
    let names: BTreeSet<&String> = trials
        .iter()
        .filter_map(|trial| values(trial))
        .flat_map(|settings| settings.keys())
        .collect();
    let one = |name: &String| {
        let wanted = name.clone();
        column(&format!("{prefix}.{name}"), move |trial| {
            let value = values(trial).and_then(|settings| settings.get(&wanted));
            value.map(ToString::to_string).unwrap_or_default()
        })
    };
    names.into_iter().map(one).collect()
}

/// A cell as RFC 4180 has it. A text that a spreadsheet would take for a formula gets an apostrophe
/// in front, as OWASP recommends; numbers stay as they are.
pub(crate) fn quoted(cell: &str) -> String {
    let mut cell = visible_lines(cell);
    if cell.starts_with(['=', '+', '-', '@', '\t']) && cell.parse::<f64>().is_err() {
        cell = format!("'{cell}").into();
    }
    if cell.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.into_owned()
    }
}
