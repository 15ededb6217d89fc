//! The beginning of a report: the run, the machine, and warnings.

use super::absence;
use crate::answer::words;
use crate::document::Block;
use crate::machine_words;
use crate::storage_words;
use trueput_findings::Run;
use trueput_findings::answer::Answer;
use trueput_findings::disturbance;
use trueput_findings::storage_faults::fault_occurrences;
use trueput_findings::text::capitalized;
use trueput_findings::units::{bytes, counted};
use trueput_record::HostFacts;
use trueput_record::folder::DamagedLine;
use trueput_record::host::FileSystemFacts;
use trueput_record::measurement::DEBUG_BUILD;

/// The content before the first section.
pub(crate) struct ReportHeader {
    title: Block,
    about: Option<Block>,
    host: Block,
    damage: Option<Block>,
    /// Notes for reading the figures.
    pub how_to_read: Block,
    storage: Option<Block>,
    faults: Option<Block>,
    absence: Option<Block>,
    disturbances: Option<Block>,
}

impl ReportHeader {
    pub(crate) fn of(run: &Run, answer: &Answer) -> Self {
        let about = &run.manifest.about;
        let disturbed = words::disturbed(&answer.disturbances).into_iter();
        let late = answer.late_models.iter().map(storage_words::late);
        let disturbed = Block::Warnings(disturbed.chain(late).collect());
        Self {
            title: title(run),
            about: (!about.is_empty()).then(|| Block::Text(about.clone())),
            host: host_list(run),
            damage: damage(run),
            how_to_read: Block::Text(how_to_read(run)),
            storage: storage_words::warning(run),
            faults: storage_words::faults(&answer.storage_faults).map(Block::Text),
            absence: absence::warning(run),
            disturbances: disturbed.filled(),
        }
    }

    /// The warnings, and how often faults came.
    pub(crate) fn warnings(&self) -> impl Iterator<Item = Block> {
        let warnings = [
            &self.damage,
            &self.storage,
            &self.faults,
            &self.absence,
            &self.disturbances,
        ];
        warnings.into_iter().flatten().cloned()
    }

    pub(crate) fn into_blocks(self) -> Vec<Block> {
        let blocks = [
            Some(self.title),
            self.about,
            Some(self.host),
            self.damage,
            Some(self.how_to_read),
            self.storage,
            self.faults,
            self.absence,
            self.disturbances,
        ];
        blocks.into_iter().flatten().collect()
    }
}

/// The report's heading.
pub(crate) fn title(run: &Run) -> Block {
    Block::Heading(1, format!("trueput: {}", run.manifest.name))
}

/// Warns that the figures of a search are those of a debug build, and of what disturbed it, and
/// says how often faults came.
pub(crate) fn search_warnings(run: &Run) -> impl Iterator<Item = Block> {
    let is_debug = run.manifest.host.program.profile == "debug";
    let debug = is_debug.then(|| format!("{}.", capitalized(DEBUG_BUILD)));
    let reasons = disturbance::of_run(run).map_or_else(Vec::new, |noise| noise.reasons);
    let warnings: Vec<_> = debug
        .into_iter()
        .chain(words::disturbed(&reasons))
        .collect();
    let warnings = (!warnings.is_empty()).then_some(Block::Warnings(warnings));
    let faults = storage_words::faults(&fault_occurrences(run)).map(Block::Text);
    let warnings = warnings.into_iter().chain(absence::warning(run));
    warnings.chain(faults)
}

/// The machine and the program.
pub(crate) fn host_list(run: &Run) -> Block {
    Block::List(host_lines(run))
}

const NOTHING_ENDED: &str = "No trial of this run has finished. There is nothing to rank.";

const HOW_TO_READ: &str = "Contenders are ranked by their median rate, and only against \
    contenders with the same settings, workers, durability level, offered rate and faults.";

const DECIDED: &str = "The run repeats its trials until each ranking is decided or its time is up. \
    Contenders are ranked by their rates in the repeats that they share (docs/STATISTICS.md), and \
    only against contenders with the same settings, workers, durability level and faults.";

const NOT_RANKED: &str = "Search trials use different knobs and rates, so they are not ranked.";

const CLOSED_LOOP: &str = "Latencies are service times of a closed loop. They do not show how \
    long users wait at a fixed request rate.";

const OPEN_LOOP: &str = "Requests arrived at a fixed rate (open loop). Latencies in rankings are \
    service times, measured from when a worker starts a request. 'At a fixed rate' lists \
    response times, which include the time in the queue. Response time decides the order.";

const BOTH_LOOPS: &str = "Some trials had a fixed request rate (open loop), others did not \
    (closed loop). Latencies in rankings are service times. For open loops, 'At a fixed rate' \
    lists response times, which include the time in the queue. There, response time decides the \
    order.";

/// Explains the order of the contenders, and the latencies.
fn how_to_read(report: &Run) -> String {
    if report.trials.is_empty() {
        return NOTHING_ENDED.to_owned();
    }
    let measured = report
        .trials
        .iter()
        .filter_map(|it| it.measurement.as_ref());
    let (open, closed): (Vec<_>, Vec<_>) = measured.partition(|it| it.open_loop.is_some());
    let latencies = match (open.is_empty(), closed.is_empty()) {
        (true, _) => CLOSED_LOOP,
        (false, true) => OPEN_LOOP,
        (false, false) => BOTH_LOOPS,
    };
    let order = if report.manifest.decision().is_some() {
        DECIDED
    } else if report.manifest.is_ranked() {
        HOW_TO_READ
    } else {
        NOT_RANKED
    };
    format!("{order} {latencies}")
}

/// The machine and the program, a line each.
pub(crate) fn host_lines(report: &Run) -> Vec<String> {
    let host = &report.manifest.host;
    let mut processor = format!(
        "{}, {} cores, {} of memory; {}",
        or_unknown(&host.cpu_model),
        host.cores,
        bytes(host.memory_bytes as f64),
        virtualization(host)
    );
    if let Some(governor) = &host.governor {
        processor += &format!("; governor {governor}");
    }
    let load = |load: [f64; 3]| load.map(|average| format!("{average:.2}")).join(" ");
    let mut loads = format!("load {} at the start", load(host.load_at_start));
    if let Some(end) = &report.end {
        loads += &format!(", {} at the end", load(end.load_at_end));
    }
    let program = &host.program;
    let mut lines = vec![processor, file_system(&host.file_system)];
    let checks: Vec<String> = host.checks.iter().map(machine_words::sentence).collect();
    if !checks.is_empty() {
        let checks = checks.join("; ");
        lines.push(format!("limits figures (trueput doctor): {checks}"));
    }
    lines.extend(storage_words::models_of(report).map(|models| {
        format!(
            "storage models: {models}; requests take as long as on such a device \
             (docs/STORAGE_MODELS.md)"
        )
    }));
    lines.extend([
        format!(
            "{}; {}",
            or_unknown(&host.operating_system),
            or_unknown(&host.kernel)
        ),
        format!("{loads}; latencies from {}", or_unknown(&host.clock)),
        format!(
            "trueput {} (commit {}, {} build), started {}",
            or_unknown(&program.version),
            or_unknown(&program.commit),
            or_unknown(&program.profile),
            report.manifest.started_at
        ),
    ]);
    lines
}

fn or_unknown(fact: &str) -> &str {
    if fact.is_empty() { "unknown" } else { fact }
}

fn virtualization(host: &HostFacts) -> String {
    match host.virtualization.as_str() {
        "" => "virtualization unknown".to_owned(),
        "none" => "no virtualization detected".to_owned(),
        other => format!("virtualized ({other})"),
    }
}

fn file_system(facts: &FileSystemFacts) -> String {
    format!(
        "databases on {} ({}, {}; {}), {} free of {}",
        or_unknown(&facts.kind),
        or_unknown(&facts.source),
        or_unknown(&facts.mount_point),
        or_unknown(&facts.options),
        bytes(facts.free_bytes as f64),
        bytes(facts.size_bytes as f64)
    )
}

fn damage(report: &Run) -> Option<Block> {
    let line = |damaged: &DamagedLine| {
        let (line, message) = (damaged.line, &damaged.message);
        format!("trials.jsonl, line {line}: unreadable, skipped: {message}")
    };
    let unchecked = match report.integrity.unchecked {
        0 => None,
        count => Some(format!(
            "the histograms of {} are missing and cannot be checked",
            counted(count as u64, "trial")
        )),
    };
    Block::Warnings(report.damaged.iter().map(line).chain(unchecked).collect()).filled()
}
