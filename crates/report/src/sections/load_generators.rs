//! The section on the hosts that ran a trial's workers, started over ssh.

use super::{Part, Section, SectionInput};
use crate::document::{Block, Table};
use trueput_findings::trial_names::TrialNames;
use trueput_findings::units::{nanoseconds, number, per_cent, thousands};
use trueput_record::TrialRecord;
use trueput_record::load_generator::{LoadGenerator, MAX_CPU_SHARE, MAX_LATE_SHARE};
use trueput_record::measurement::{Measurement, OperationSummary};

/// The hosts that ran the workers of trials.
pub(crate) struct LoadGenerators;

impl Section for LoadGenerators {
    fn part(&self, input: &SectionInput<'_>) -> Option<Part> {
        let blocks = blocks(&input.measured, &input.names);
        Part::with_text("Load from several hosts", FROM_HOSTS, blocks)
    }
}

const FROM_HOSTS: &str = "Workers ran on these hosts, and began together. The percentiles of all \
    hosts are those of the sum of the hosts' histograms. A clock's offset is against this host, \
    by the fastest of several round trips, with its error bound; its drift is the change of the \
    monotonic clock during the trial.";

fn blocks(measured: &[(&TrialRecord, &Measurement)], names: &TrialNames) -> Vec<Block> {
    let (mut rates, mut hosts, mut warnings) = (Vec::new(), Vec::new(), Vec::new());
    for (trial, measurement) in measured {
        let generators = &measurement.load_generators;
        if generators.is_empty() {
            continue;
        }
        let name = names.trial(trial);
        for generator in generators {
            rates.extend(rate_rows(&name, &generator.host, &generator.operations));
            warnings.extend(warning(&name, generator));
            warnings.extend(generator.doubts().map(|doubt| format!("{name}: {doubt}.")));
            let trial = name.clone();
            hosts.push(HostRow { trial, generator });
        }
        rates.extend(rate_rows(&name, "all", &measurement.operations));
    }
    let blocks = [
        Block::Warnings(warnings),
        Block::Table(rate_table(&rates)),
        Block::Table(host_table(&hosts)),
    ];
    blocks.into_iter().filter_map(Block::filled).collect()
}

/// A kind of operation of a host in a trial.
struct RateRow<'a> {
    trial: String,
    host: &'a str,
    operation: &'a OperationSummary,
}

/// A host in a trial.
struct HostRow<'a> {
    trial: String,
    generator: &'a LoadGenerator,
}

fn rate_rows<'a>(
    trial: &str,
    host: &'a str,
    operations: &'a [OperationSummary],
) -> impl Iterator<Item = RateRow<'a>> {
    let counted = operations.iter().filter(|operation| operation.count > 0);
    counted.map(move |operation| RateRow {
        trial: trial.to_owned(),
        host,
        operation,
    })
}

/// Warns of a host that may have limited its trial.
fn warning(trial: &str, generator: &LoadGenerator) -> Option<String> {
    let busy = generator.cpu_share.filter(|share| *share > MAX_CPU_SHARE);
    let busy = busy.map(|share| format!("{} of its CPU was used", per_cent(share)));
    let late = generator.late_share();
    let late = (late > MAX_LATE_SHARE).then(|| {
        let share = per_cent(late);
        format!("{share} of its requests started over 1 ms late, and not because of the engine")
    });
    let reasons: Vec<_> = busy.into_iter().chain(late).collect();
    (!reasons.is_empty()).then(|| {
        format!(
            "{trial}: host {} may have been the limit: {}. Add a host, or lower the rate.",
            generator.host,
            reasons.join("; ")
        )
    })
}

fn rate_table(rows: &[RateRow<'_>]) -> Table {
    let latency = |of: fn(&OperationSummary) -> u64| {
        move |row: &RateRow<'_>| {
            if row.operation.latency.is_measured() {
                nanoseconds(of(row.operation) as f64)
            } else {
                "–".to_owned()
            }
        }
    };
    Table::of(rows)
        .text("trial", 0, |row| &row.trial)
        .text("host", 0, |row| row.host.to_owned())
        .text("operation", 0, |row| &row.operation.kind)
        .figures("count", 3, |row| thousands(row.operation.count))
        .figures("per s", 0, |row| number(row.operation.per_s))
        .figures("p50", 1, latency(|it| it.latency.p50_ns))
        .figures("p99", 0, latency(|it| it.latency.p99_ns))
        .figures("p99.9", 2, latency(|it| it.latency.p999_ns))
        .figures("max", 2, latency(|it| it.latency.max_ns))
        .build()
}

fn host_table(rows: &[HostRow<'_>]) -> Table {
    let clock = |row: &HostRow<'_>| {
        let clock = row.generator.clock_before;
        let error = nanoseconds(clock.error_ns as f64);
        format!("{} ± {error}", signed(clock.wall_ns))
    };
    let mut table = Table::of(rows)
        .text("trial", 0, |row| &row.trial)
        .text("host", 0, |row| &row.generator.host)
        .text("its name", 3, |row| &row.generator.hostname)
        .figures("workers", 1, |row| row.generator.workers)
        .figures("cores", 2, |row| row.generator.cores)
        .figures("CPU used", 0, |row| {
            let share = row.generator.cpu_share;
            share.map_or_else(|| "–".to_owned(), per_cent)
        })
        .figures("late", 1, |row| match row.generator.arrivals {
            0 => "–".to_owned(),
            _ => per_cent(row.generator.late_share()),
        })
        .figures("clock offset", 0, clock)
        .figures("drift", 1, |row| signed(row.generator.drift_ns()))
        .figures("stalls", 1, |row| row.generator.stalls.len())
        .build();
    table.caption = "The hosts".to_owned();
    table
}

/// Formats a time with its sign.
fn signed(time_ns: i64) -> String {
    let sign = if time_ns < 0 { "−" } else { "+" };
    format!("{sign}{}", nanoseconds(time_ns.unsigned_abs() as f64))
}
