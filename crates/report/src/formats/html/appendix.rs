//! What stands around the results: the page's head, every trial, the machine, the commands.

use crate::bottleneck_words::cause;
use crate::document::{Block, Column, Table};
use crate::sections::header::host_lines;
use maud::{Markup, html};
use std::collections::BTreeSet;
use trueput_findings::cells::context_switches;
use trueput_findings::shell::quoted;
use trueput_findings::trial_names::TrialNames;
use trueput_findings::units::{bytes, nanoseconds, number, per_cent, seconds, thousands};
use trueput_findings::{Run, bottleneck};
use trueput_record::{Outcome, TrialRecord, TrialSpec};

/// What the run is about.
pub(crate) fn about(report: &Run) -> Markup {
    let about = &report.manifest.about;
    html! { @if !about.is_empty() { p class="about" { (about) } } }
}

/// The machine and the program, a line each.
pub(crate) fn facts(report: &Run) -> Markup {
    html! { ul class="facts" { @for fact in host_lines(report) { li { (fact) } } } }
}

/// A row per trial, in the order in which they ended.
pub(crate) fn trials(report: &Run) -> Vec<Block> {
    if report.trials.is_empty() {
        return vec![Block::Text("No trial has ended.".to_owned())];
    }
    let columns = vec![
        Column::text("trial", 0),
        Column::text("ended", 0),
        Column::figures("per second", 0),
        Column::text("operation", 5),
        Column::text("contender", 1),
        Column::text("level", 2),
        Column::figures("workers", 3),
        Column::figures("p50", 5),
        Column::figures("p99", 4),
        Column::figures("elapsed", 5),
        Column::figures("CPU", 6),
        Column::figures("peak PSS", 6),
        Column::figures("database", 6),
        Column::figures("written", 6),
        Column::figures("switches", 7),
        Column::text("bottleneck", 5),
        Column::text("why it is not valid", 1),
    ];
    let names = TrialNames::of(report);
    let rows: Vec<_> = report
        .trials
        .iter()
        .map(|trial| row(report, trial, &names))
        .collect();
    let table = Table::new(columns, rows).without_empty_columns();
    let text = "In the order in which they ended. Plain figures with every setting: trueput report \
                with --format csv.";
    vec![Block::Text(text.to_owned()), Block::Table(table)]
}

fn row(report: &Run, trial: &TrialRecord, names: &TrialNames) -> Vec<String> {
    let spec = &trial.spec;
    let (status, why) = ending(trial);
    let headline = report.manifest.headlines.get(&spec.workload);
    let operation = trial.measurement.as_ref().and_then(|measured| {
        let named = headline.and_then(|kind| measured.operation(kind));
        named.or(measured.operations.first())
    });
    let mut cells = vec![
        spec.id.clone(),
        status.to_owned(),
        operation.map_or_else(String::new, |operation| number(operation.per_s)),
        operation.map_or_else(String::new, |operation| operation.kind.clone()),
        names.contender(trial),
        spec.durability.to_string(),
        spec.workers.to_string(),
    ];
    let figures = trial.measurement.as_ref().map(|measured| {
        let timed = operation.filter(|operation| operation.latency.is_measured());
        let latency = |ns: Option<u64>| ns.map_or_else(String::new, |ns| nanoseconds(ns as f64));
        let used = &measured.resources;
        let held =
            bottleneck::trial_bottleneck(trial, measured, f64::from(report.manifest.host.cores));
        let held = held.map(|held| format!("{} ({})", cause(held.verdict), per_cent(held.share)));
        [
            latency(timed.map(|operation| operation.latency.p50_ns)),
            latency(timed.map(|operation| operation.latency.p99_ns)),
            seconds(measured.elapsed_s),
            seconds(measured.cpu_s()),
            bytes(used.peak_pss_bytes as f64),
            bytes(measured.database.allocated_bytes as f64),
            bytes(used.storage_written_bytes as f64),
            thousands(context_switches(measured)),
            held.unwrap_or_default(),
        ]
    });
    cells.extend(figures.unwrap_or_default());
    cells.push(why);
    cells
}

fn ending(trial: &TrialRecord) -> (&'static str, String) {
    match &trial.outcome {
        Outcome::Valid if trial.resumed => {
            ("resumed", "it continued an interrupted one".to_owned())
        }
        Outcome::Valid => ("valid", String::new()),
        Outcome::Invalid { reasons } => ("INVALID", reasons.join("; ")),
        Outcome::Failed { reason, .. } => ("FAILED", reason.clone()),
        Outcome::Interrupted => ("interrupted", "the user stopped it".to_owned()),
    }
}

/// The machine and the program, a row per fact.
pub(crate) fn machine(report: &Run) -> Vec<Block> {
    let host = &report.manifest.host;
    let (files, program) = (&host.file_system, &host.program);
    let load = |load: [f64; 3]| load.map(|average| format!("{average:.2}")).join(", ");
    let mut facts = vec![
        ("host", host.host_name.clone()),
        ("processor", host.cpu_model.clone()),
        ("cores for this program", host.cores.to_string()),
        ("memory", bytes(host.memory_bytes as f64)),
        ("operating system", host.operating_system.clone()),
        ("kernel", host.kernel.clone()),
        ("virtualization", host.virtualization.clone()),
        (
            "frequency governor",
            host.governor.clone().unwrap_or_default(),
        ),
        ("clock of latencies", host.clock.clone()),
        (
            "file system of the databases",
            format!("{} on {}", files.kind, files.source),
        ),
        (
            "mounted at",
            format!("{} ({})", files.mount_point, files.options),
        ),
        ("its size", bytes(files.size_bytes as f64)),
        ("free at the start", bytes(files.free_bytes as f64)),
        (
            "load over 1, 5, 15 minutes, start",
            load(host.load_at_start),
        ),
    ];
    if let Some(end) = &report.end {
        facts.push(("load over 1, 5, 15 minutes, end", load(end.load_at_end)));
        facts.push(("ended", end.ended_at.clone()));
    }
    for node in &host.numa_nodes {
        let text = format!(
            "processors {}, {}",
            node.cpus,
            bytes(node.memory_bytes as f64)
        );
        facts.push(("memory node", format!("{}: {text}", node.node)));
    }
    facts.push((
        "trueput",
        format!("{} ({} build)", program.version, program.profile),
    ));
    facts.push(("commit", program.commit.clone()));
    facts.push(("run folder", report.shown_as.to_string_lossy().into_owned()));
    let known = facts
        .into_iter()
        .filter(|(_, value)| !value.trim().is_empty());
    let rows = known.map(|(name, value)| vec![name.to_owned(), value]);
    vec![Block::Table(Table::new(
        vec![
            Column::text("fact", 0),
            Column::text("as the system states it", 0),
        ],
        rows.collect(),
    ))]
}

/// The commands that make all of these results again, and for each contender the one that makes its
/// own.
pub(crate) fn again(report: &Run) -> (Vec<Block>, Block) {
    let program = &report.manifest.host.program;
    let folder = quoted(&report.shown_as.to_string_lossy());
    let words = |line: &str| Block::Command(line.split(' ').map(str::to_owned).collect());
    let mut blocks = Vec::new();
    let commit = program.commit.trim_end_matches("-dirty");
    if !commit.is_empty() && commit != "unknown" {
        let mut text = "The same program, from its repository:".to_owned();
        if commit != program.commit {
            text = format!("{text} (its tree had changes that were not committed)");
        }
        blocks.push(Block::Text(text));
        blocks.push(words(&format!("git checkout {commit} && make build")));
    }
    blocks.push(Block::Text("The whole run:".to_owned()));
    let command = program.command.iter().map(|word| quoted(word));
    blocks.push(Block::Command(command.collect()));
    blocks.push(Block::Text(
        "This page, and every figure of every trial:".to_owned(),
    ));
    // A bundle has no folder in which its page could be kept.
    let page = match report.shown_as == report.folder {
        true => "--html",
        false => "--html page.html",
    };
    blocks.push(words(&format!("trueput report {folder} {page}")));
    blocks.push(words(&format!("trueput report {folder} --format csv")));
    let mut seen = BTreeSet::new();
    let cells = report
        .manifest
        .trials
        .iter()
        .filter(|spec| seen.insert(spec.cell));
    let rows = cells.map(|spec| {
        let repeats = report
            .manifest
            .trials
            .iter()
            .filter(|other| other.cell == spec.cell);
        vec![spec.id.clone(), one_cell(spec, repeats.count())]
    });
    let each = Block::Table(Table::new(
        vec![Column::text("first trial", 0), Column::text("command", 0)],
        rows.collect(),
    ));
    (blocks, each)
}

/// The command that runs a cell with its repeats, every setting spelled out.
fn one_cell(spec: &TrialSpec, repeats: usize) -> String {
    let mut words = vec![
        "trueput".to_owned(),
        "run".to_owned(),
        spec.workload.clone(),
    ];
    let mut option =
        |name: &str, value: String| words.extend([format!("--{name}"), quoted(&value)]);
    option("engine", spec.contender());
    option("durability", spec.durability.to_string());
    option("workers", spec.workers.to_string());
    option("worker-kind", spec.worker_kind.to_string());
    option("repeat", repeats.to_string());
    option("verify", spec.verify.to_string());
    option("seed", spec.seed.to_string());
    for (name, value) in &spec.settings {
        option("set", format!("{name}={value}"));
    }
    for (name, value) in &spec.knobs {
        option("knob", format!("{}.{name}={value}", spec.engine));
    }
    for (name, value) in spec.conditions.options() {
        words.push(format!("--{name}"));
        words.extend(value.as_deref().map(quoted));
    }
    words.join(" ")
}
