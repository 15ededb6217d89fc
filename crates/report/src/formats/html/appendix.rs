//! The frame around the results: the page's head, every trial, the machine, the commands.

use crate::bottleneck_words::cause;
use crate::document::{Block, Table};
use crate::sections::header::host_lines;
use crate::storage_words;
use maud::{Markup, html};
use std::collections::BTreeSet;
use trueput_findings::cells::context_switches;
use trueput_findings::shell::quoted;
use trueput_findings::trial_names::TrialNames;
use trueput_findings::units::{bytes, nanoseconds, number, per_cent, seconds, thousands};
use trueput_findings::{Run, bottleneck};
use trueput_record::measurement::{LatencySummary, Measurement, OpenLoop, OperationSummary};
use trueput_record::{Outcome, TrialRecord, TrialSpec};

/// A description of the run.
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
    let names = TrialNames::of(report);
    let cores = f64::from(report.manifest.host.cores);
    let trials = report.trials.iter();
    let trials: Vec<_> = trials.map(|trial| EndedTrial::of(report, trial)).collect();
    // In an open loop, the time in the queue comes on top.
    let is_open = trials.iter().any(|it| it.open_loop().is_some());
    let service = if is_open { "service " } else { "" };
    let table = Table::of(&trials)
        .text("trial", 0, |it| &it.trial.spec.id)
        .text("ended", 0, |it| ending(it.trial).0)
        .figures("per second", 0, |it| {
            it.of_operation(|operation| Some(number(operation.per_s)))
        })
        .text("operation", 5, |it| {
            it.of_operation(|operation| Some(operation.kind.clone()))
        })
        .text("contender", 1, |it| names.contender(it.trial))
        .text("level", 2, |it| it.trial.spec.durability)
        .figures("workers", 3, |it| it.trial.spec.workers)
        .figures("offered/s", 3, |it| {
            it.open_loop()
                .map_or_else(String::new, |open| number(open.rate_per_s))
        })
        .figures("worst response p99", 4, |it| {
            it.worst_response_p99_ns()
                .map_or_else(String::new, |time_ns| nanoseconds(time_ns as f64))
        })
        .figures(format!("{service}p50"), 5, |it| {
            it.latency(|latency| latency.p50_ns)
        })
        .figures(format!("{service}p99"), 4, |it| {
            it.latency(|latency| latency.p99_ns)
        })
        .figures("elapsed", 5, |it| it.measured(|m| seconds(m.elapsed_s)))
        .figures("CPU", 6, |it| it.measured(|m| seconds(m.cpu_s())))
        .figures("peak PSS", 6, |it| {
            it.measured(|m| bytes(m.resources.peak_pss_bytes as f64))
        })
        .figures("database", 6, |it| {
            it.measured(|m| bytes(m.database.allocated_bytes as f64))
        })
        .figures("written", 6, |it| {
            it.measured(|m| bytes(m.resources.storage_written_bytes as f64))
        })
        .figures("switches", 7, |it| {
            it.measured(|m| thousands(context_switches(m)))
        })
        .text("bottleneck", 5, |it| it.bottleneck(cores))
        .text("why it is not valid", 1, |it| ending(it.trial).1)
        .build()
        .without_columns_of("");
    let text = "In the order in which they ended. Plain figures with every setting: trueput report \
                with --format csv.";
    vec![Block::Text(text.to_owned()), Block::Table(table)]
}

/// A trial, with the kind of operation whose figures are shown: the workload's headline, or else
/// the first. Missing values have empty cells.
struct EndedTrial<'a> {
    trial: &'a TrialRecord,
    operation: Option<&'a OperationSummary>,
}

impl<'a> EndedTrial<'a> {
    fn of(report: &Run, trial: &'a TrialRecord) -> Self {
        let headline = report.manifest.headlines.get(&trial.spec.workload);
        let operation = trial.measurement.as_ref().and_then(|measured| {
            let named = headline.and_then(|kind| measured.operation(kind));
            named.or(measured.operations.first())
        });
        Self { trial, operation }
    }

    fn measured(&self, cell: impl FnOnce(&Measurement) -> String) -> String {
        let measured = self.trial.measurement.as_ref();
        measured.map_or_else(String::new, cell)
    }

    fn of_operation(&self, cell: impl FnOnce(&OperationSummary) -> Option<String>) -> String {
        self.operation.and_then(cell).unwrap_or_default()
    }

    fn open_loop(&self) -> Option<&OpenLoop> {
        self.trial.measurement.as_ref()?.open_loop.as_ref()
    }

    /// The highest 99th percentile of the response times of a kind of request.
    fn worst_response_p99_ns(&self) -> Option<u64> {
        let responses = self.open_loop()?.responses.iter();
        let counted = responses.filter(|response| response.count > 0);
        counted.map(|response| response.latency.p99_ns).max()
    }

    fn latency(&self, of: impl FnOnce(&LatencySummary) -> u64) -> String {
        self.of_operation(|operation| {
            let latency = &operation.latency;
            let is_measured = latency.is_measured();
            is_measured.then(|| nanoseconds(of(latency) as f64))
        })
    }

    fn bottleneck(&self, cores: f64) -> String {
        self.measured(|measured| {
            let found = bottleneck::trial_bottleneck(self.trial, measured, cores);
            found.map_or_else(String::new, |found| {
                format!("{} ({})", cause(found.verdict), per_cent(found.share))
            })
        })
    }
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
    facts.extend(storage_words::models_of(report).map(|models| ("storage models", models)));
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
    facts.retain(|(_, value)| !value.trim().is_empty());
    let table = Table::of(&facts).text("fact", 0, |(name, _)| name).text(
        "as the system states it",
        0,
        |(_, value)| value,
    );
    vec![Block::Table(table.build())]
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
    // A bundle has no folder for its page.
    let page = if report.shown_as == report.folder {
        "--html"
    } else {
        "--html page.html"
    };
    let called = quoted(report.program());
    blocks.push(words(&format!("{called} report {folder} {page}")));
    blocks.push(words(&format!("{called} report {folder} --format csv")));
    let mut seen = BTreeSet::new();
    let cells = report
        .manifest
        .trials
        .iter()
        .filter(|spec| seen.insert(spec.cell));
    let cells: Vec<_> = cells.collect();
    let repeats = |cell: &TrialSpec| {
        let specs = report.manifest.trials.iter();
        specs.filter(|spec| spec.cell == cell.cell).count()
    };
    let each = Table::of(&cells)
        .text("first trial", 0, |spec| &spec.id)
        .text("command", 0, |spec| one_cell(&called, spec, repeats(spec)));
    let each = Block::Table(each.build());
    (blocks, each)
}

/// The command that runs a cell with its repeats, every setting spelled out.
fn one_cell(called: &str, spec: &TrialSpec, repeats: usize) -> String {
    let mut words = vec![called.to_owned(), "run".to_owned(), spec.workload.clone()];
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
