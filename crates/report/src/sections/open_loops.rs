//! The section on trials at a fixed rate.

use super::{Part, Section, SectionInput};
use crate::document::{Block, Table};
use trueput_findings::trial_names::TrialNames;
use trueput_findings::units::{nanoseconds, number, seconds};
use trueput_findings::{bottleneck, fixed_rate};
use trueput_record::TrialRecord;
use trueput_record::measurement::{LatencySummary, Measurement, OpenLoop, ResponseSummary};

/// Trials whose requests arrived at a fixed rate.
pub(crate) struct OpenLoops;

impl Section for OpenLoops {
    fn part(&self, input: &SectionInput<'_>) -> Option<Part> {
        let blocks = open_loops(&input.measured, &input.names);
        Part::with_text("At a fixed rate", AT_A_RATE, blocks)
    }
}

const AT_A_RATE: &str = "Requests arrive at this rate, however slow the engine is. Response time \
    starts when a request is due, service time when a worker starts it; only response time shows \
    what a stall costs users. The backlog is the requests that were due but not started at the \
    end. Each counts as a response with the time it had waited.";

fn open_loops(measured: &[(&TrialRecord, &Measurement)], names: &TrialNames) -> Vec<Block> {
    let (mut rows, mut late) = (Vec::new(), Vec::new());
    for (trial, measurement) in measured {
        let Some(open) = &measurement.open_loop else {
            continue;
        };
        let started_per_s = number(fixed_rate::started_per_s(open, measurement.elapsed_s));
        if !bottleneck::keeps_rate(measurement) {
            late.push(format!(
                "{} did not keep the rate: {}/s requested, {started_per_s}/s started, backlog of \
                 {} at the end.",
                names.trial(trial),
                number(open.rate_per_s),
                open.backlog
            ));
        }
        let responses = open.responses.iter().filter(|one| one.count > 0);
        rows.extend(responses.map(|response| {
            ResponseRow {
                trial: names.trial(trial),
                open,
                started_per_s: started_per_s.clone(),
                service: measurement
                    .operation(&response.kind)
                    .map(|operation| &operation.latency),
                response,
            }
        }));
    }
    let blocks = [Block::Table(table(&rows)), Block::List(late)];
    blocks.into_iter().filter_map(Block::filled).collect()
}

/// A kind of operation of a trial.
struct ResponseRow<'a> {
    trial: String,
    open: &'a OpenLoop,
    started_per_s: String,
    service: Option<&'a LatencySummary>,
    response: &'a ResponseSummary,
}

fn table(rows: &[ResponseRow<'_>]) -> Table {
    let service = |of: fn(&LatencySummary) -> f64| {
        move |row: &ResponseRow<'_>| match row.service {
            Some(latency) => nanoseconds(of(latency)),
            None => "–".to_owned(),
        }
    };
    let response = |of: fn(&LatencySummary) -> f64| {
        move |row: &ResponseRow<'_>| nanoseconds(of(&row.response.latency))
    };
    Table::of(rows)
        .text("trial", 0, |row| &row.trial)
        .text("unit", 0, |row| &row.response.kind)
        .figures("requested/s", 1, |row| number(row.open.rate_per_s))
        .figures("started/s", 1, |row| &row.started_per_s)
        .figures("service mean", 2, service(|it| it.mean_ns))
        .figures("service p99", 2, service(|it| it.p99_ns as f64))
        .figures("response mean", 1, response(|it| it.mean_ns))
        .figures("response p99", 0, response(|it| it.p99_ns as f64))
        .figures("response max", 3, response(|it| it.max_ns as f64))
        .figures("backlog", 1, |row| row.open.backlog)
        .figures("oldest wait", 4, |row| seconds(row.open.oldest_wait_s))
        .build()
}
