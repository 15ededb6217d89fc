//! What stands beside the rankings: open loops, ceilings, bottlenecks, scaling, published rows.

use crate::document::{Block, Column, Table};
use crate::{hardware_limits, knobs, scaling, symas};
use trueput_findings::bottleneck::Stretch;
use trueput_findings::rankings::Ranking;
use trueput_findings::trial_names::TrialNames;
use trueput_findings::units::{counted, nanoseconds, number, per_cent, seconds};
use trueput_findings::{Run, bottleneck};
use trueput_record::measurement::Measurement;
use trueput_record::{Outcome, TrialRecord};

/// The sections that have something to say, in the order in which a reader wants them.
pub(crate) fn sections(report: &Run, rankings: &[Ranking]) -> Vec<Block> {
    // What was interrupted was measured up to then, and says nothing of the rest.
    let ended = report.trials.iter();
    let ended = ended.filter(|trial| trial.outcome != Outcome::Interrupted);
    let measured: Vec<_> = ended
        .filter_map(|trial| Some((trial, trial.measurement.as_ref()?)))
        .collect();
    let one_of_each = first_of_each_cell(&measured);
    let names = TrialNames::of(report);
    let mut blocks = Vec::new();
    let mut section = |title: &str, text: &str, content: Vec<Block>| {
        if !content.is_empty() {
            blocks.push(Block::Heading(2, title.to_owned()));
            blocks.push(Block::Text(text.to_owned()));
            blocks.extend(content);
        }
    };
    section("At a fixed rate", AT_A_RATE, open_loops(&measured, &names));
    section(
        "Compared with raw storage and memory",
        CEILINGS,
        hardware_limits::blocks(&one_of_each, &names),
    );
    let cores = report.manifest.host.cores;
    section(
        BOTTLENECK,
        BOTTLENECKS,
        held(&one_of_each, &names, f64::from(cores)),
    );
    section(SCALING, SCALING_TEXT, scaling(rankings, cores));
    let effects = knobs::effects(report, rankings);
    section(KNOBS, KNOBS_TEXT, knobs::blocks(&effects));
    let rows = trueput_findings::symas::rows(&report.trials);
    if !rows.is_empty() {
        match trueput_findings::symas::differences(report, &rows)
            .and_then(|differs| symas::document(&rows, differs))
        {
            Ok(beside) => blocks.extend(beside),
            Err(error) => blocks.push(Block::Warnings(vec![error.to_string()])),
        }
    }
    blocks
}

const AT_A_RATE: &str = "Requests arrive at this rate, however slow the engine is. Response time \
    starts when a request is due, service time when a worker starts it; only response time shows \
    what a stall costs users. The backlog is the requests that were due but not started at the \
    end. Each counts as a response with the time it had waited.";

const CEILINGS: &str = "Hardware limits, measured in this run without an engine, on the same file \
    system, with as many threads as the trial has workers. Commits are compared with durable \
    appends (a flush for each, or a flush for all that wait), reads with dependent reads of \
    memory.";

const BOTTLENECKS: &str = "Judged for each second from CPU, device, waits and other programs, by \
    the rules in docs/METHOD.md.";

/// The heading of what each trial waited for.
pub(crate) const BOTTLENECK: &str = "Bottleneck of each trial";

/// The heading of the scaling laws.
pub(crate) const SCALING: &str = "Scaling";

/// The heading of what knobs did.
pub(crate) const KNOBS: &str = "Effect of each knob";

const KNOBS_TEXT: &str = "Cells that differ in one knob only: rate, peak memory and database size \
    relative to the first value in the plan, and the cost that the driver states.";

const SCALING_TEXT: &str = "The Universal Scalability Law, fitted to the median rates by number \
    of workers. σ (contention) is the share of work that only one worker can do at a time; κ \
    (coherency) is the cost of keeping workers consistent. Where the law does not fit (rule in \
    docs/METHOD.md), no coefficients are shown.";

/// The first trial of each cell: its repeats would say the same again. JSON has all.
pub(crate) fn first_of_each_cell<'a>(
    measured: &Measured<'a>,
) -> Vec<(&'a TrialRecord, &'a Measurement)> {
    let mut seen = std::collections::BTreeSet::new();
    let first = measured
        .iter()
        .filter(|(trial, _)| seen.insert(trial.spec.cell));
    first.copied().collect()
}

pub(crate) type Measured<'a> = [(&'a TrialRecord, &'a Measurement)];

fn column(title: &str, figures: bool, dispensable: u8) -> Column {
    Column {
        title: title.to_owned(),
        figures,
        dispensable,
    }
}

fn open_loops(measured: &Measured<'_>, names: &TrialNames) -> Vec<Block> {
    let (mut rows, mut late) = (Vec::new(), Vec::new());
    for (trial, measurement) in measured {
        let Some(open) = &measurement.open_loop else {
            continue;
        };
        let name = names.trial(trial);
        let begun_per_s = number(open.issued as f64 / measurement.elapsed_s.max(1e-9));
        if !bottleneck::keeps_rate(measurement) {
            late.push(format!(
                "{name} did not keep the rate: {}/s requested, {begun_per_s}/s started, backlog \
                 of {} at the end.",
                number(open.rate_per_s),
                open.backlog
            ));
        }
        for response in open.responses.iter().filter(|response| response.count > 0) {
            let service = measurement.operation(&response.kind);
            let of_service = |value: fn(&trueput_record::measurement::LatencySummary) -> f64| {
                service.map_or_else(|| "–".to_owned(), |kind| nanoseconds(value(&kind.latency)))
            };
            let times = &response.latency;
            rows.push(vec![
                name.clone(),
                response.kind.clone(),
                number(open.rate_per_s),
                begun_per_s.clone(),
                of_service(|latency| latency.mean_ns),
                of_service(|latency| latency.p99_ns as f64),
                nanoseconds(times.mean_ns),
                nanoseconds(times.p99_ns as f64),
                nanoseconds(times.max_ns as f64),
                open.backlog.to_string(),
                seconds(open.oldest_wait_s),
            ]);
        }
    }
    let columns = vec![
        column("trial", false, 0),
        column("unit", false, 0),
        column("requested/s", true, 1),
        column("started/s", true, 1),
        column("service mean", true, 2),
        column("service p99", true, 2),
        column("response mean", true, 1),
        column("response p99", true, 0),
        column("response max", true, 3),
        column("backlog", true, 1),
        column("oldest wait", true, 4),
    ];
    let mut blocks = table(columns, rows);
    if !late.is_empty() {
        blocks.push(Block::List(late));
    }
    blocks
}

fn table(columns: Vec<Column>, rows: Vec<Vec<String>>) -> Vec<Block> {
    match rows.is_empty() {
        true => Vec::new(),
        false => vec![Block::Table(Table { columns, rows })],
    }
}

fn held(measured: &Measured<'_>, names: &TrialNames, cores: f64) -> Vec<Block> {
    let mut lines = Vec::new();
    for (trial, measurement) in measured {
        let Some(held) = bottleneck::held(trial, measurement, cores) else {
            continue;
        };
        let label = names.trial(trial);
        let mut line = format!(
            "{label}: {} ({} of the time)",
            held.verdict.words(),
            per_cent(held.share)
        );
        if let Some(at_s) = held.turns_io_bound_s {
            line += &format!("; it changes from CPU-bound to I/O-bound at {at_s:.0} s");
        }
        let told = longest(&held.stretches);
        let evidence: Vec<_> = told.iter().map(ToString::to_string).collect();
        line += &format!(". {}", evidence.join("; "));
        let more = held.stretches.len() - told.len();
        if more > 0 {
            line += &format!("; and {}", counted(more as u64, "shorter interval"));
        }
        lines.push(line);
    }
    match lines.is_empty() {
        true => Vec::new(),
        false => vec![Block::List(lines)],
    }
}

/// How many stretches of a trial are told; the JSON report has all.
const MOST_STRETCHES: usize = 2;

/// The longest stretches, of those alike the first, in the order in which they were.
fn longest(stretches: &[Stretch]) -> Vec<&Stretch> {
    let span = |stretch: &Stretch| stretch.to_s - stretch.from_s;
    let mut told: Vec<_> = stretches.iter().collect();
    told.sort_by(|one, other| span(other).total_cmp(&span(one)));
    told.truncate(MOST_STRETCHES);
    told.sort_by(|one, other| one.from_s.total_cmp(&other.from_s));
    told
}

fn scaling(rankings: &[Ranking], cores: u32) -> Vec<Block> {
    let fits = trueput_findings::scaling::fits(rankings);
    let points = fits.iter().flat_map(|(_, points, _)| points);
    let most = points.map(|point| point.workers).fold(0.0, f64::max);
    let fits: Vec<_> = fits.into_iter().map(|(name, _, fit)| (name, fit)).collect();
    if fits.is_empty() {
        return Vec::new();
    }
    // Where nothing was fitted the law says nothing that cores could bend.
    let fitted = fits.iter().any(|(_, fit)| fit.is_ok());
    let mut said: Vec<_> = scaling::beyond_cores(most, cores)
        .filter(|_| fitted)
        .into_iter()
        .collect();
    for (name, fit) in &fits {
        said.extend(scaling::sentences(name, fit));
    }
    said.extend(scaling::unfitted(&fits));
    let mut blocks = vec![Block::List(said)];
    let table = scaling::table(&fits);
    if !table.rows.is_empty() {
        blocks.insert(0, Block::Table(table));
    }
    blocks
}
