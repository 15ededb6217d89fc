//! The section on trials at a fixed rate.

use super::{Findings, Part, Section};
use crate::document::{Block, Column, Table};
use trueput_findings::trial_names::TrialNames;
use trueput_findings::units::{nanoseconds, number, seconds};
use trueput_findings::{bottleneck, fixed_rate};
use trueput_record::TrialRecord;
use trueput_record::measurement::Measurement;

/// Trials whose requests arrived at a fixed rate.
pub(crate) struct OpenLoops;

impl Section for OpenLoops {
    fn parts(&self, findings: &Findings<'_>) -> Vec<Part> {
        let blocks = open_loops(&findings.measured, &findings.names);
        Part::with_text("At a fixed rate", AT_A_RATE, blocks)
            .into_iter()
            .collect()
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
        let name = names.trial(trial);
        let begun_per_s = number(fixed_rate::started_per_s(open, measurement.elapsed_s));
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
        Column::text("trial", 0),
        Column::text("unit", 0),
        Column::figures("requested/s", 1),
        Column::figures("started/s", 1),
        Column::figures("service mean", 2),
        Column::figures("service p99", 2),
        Column::figures("response mean", 1),
        Column::figures("response p99", 0),
        Column::figures("response max", 3),
        Column::figures("backlog", 1),
        Column::figures("oldest wait", 4),
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
        false => vec![Block::Table(Table::new(columns, rows))],
    }
}
