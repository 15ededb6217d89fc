//! Rates beside what the machine could do without an engine, and why a rate exceeds that.

use super::{Findings, Part, Section};
use crate::document::{Block, Column, Table};
use trueput_findings::cells::flushes_per_commit;
use trueput_findings::trial_names::TrialNames;
use trueput_findings::units::{bytes, number, per_cent};
use trueput_record::hardware_limits::{FlushLimit, HardwareLimits, share_of};
use trueput_record::measurement::Measurement;
use trueput_record::{Durability, TrialRecord};

/// Rates as shares of what the hardware allows.
pub(crate) struct HardwareLimitShares;

impl Section for HardwareLimitShares {
    fn parts(&self, findings: &Findings<'_>) -> Vec<Part> {
        let blocks = blocks(&findings.first_of_each_cell(), &findings.names);
        let title = "Compared with raw storage and memory";
        Part::with_text(title, CEILINGS, blocks)
            .into_iter()
            .collect()
    }
}

const CEILINGS: &str = "Hardware limits, measured in this run without an engine, on the same file \
    system, with as many threads as the trial has workers. Commits are compared with durable \
    appends (a flush for each, or a flush for all that wait), reads with dependent reads of \
    memory.";

/// A table of these trials, and a sentence for each rate that exceeds its ceiling.
pub(crate) fn blocks(measured: &[(&TrialRecord, &Measurement)], names: &TrialNames) -> Vec<Block> {
    let (mut rows, mut exceeded) = (Vec::new(), Vec::new());
    for (trial, measurement) in measured {
        let Some(hardware_limits) = &trial.hardware_limits else {
            continue;
        };
        let row = Row::new(trial, measurement, hardware_limits);
        let name = names.trial(trial);
        let why = row.why_exceeded(measurement, hardware_limits).into_iter();
        exceeded.extend(why.map(|why| format!("{name}: {why}.")));
        rows.push(row.cells(name, trial, hardware_limits));
    }
    if rows.is_empty() {
        return Vec::new();
    }
    let mut blocks = vec![Block::Table(Table {
        columns: columns(),
        rows,
        ..Table::default()
    })];
    if !exceeded.is_empty() {
        blocks.push(Block::Text("Above 100 %:".to_owned()));
        blocks.push(Block::List(exceeded));
    }
    blocks
}

fn columns() -> Vec<Column> {
    vec![
        Column::text("trial", 0),
        Column::text("level", 6),
        Column::figures("workers", 5),
        Column::figures("commits/s", 0),
        Column::figures("of single flushes", 0),
        Column::figures("of grouped flushes", 0),
        Column::figures("reads/s", 0),
        Column::figures("of memory", 0),
        Column::figures("single flushes/s", 3),
        Column::figures("grouped flushes/s", 2),
        Column::figures("memory reads/s", 4),
    ]
}

/// A trial's rates, and their shares of the ceilings.
struct Row {
    commits_per_s: Option<f64>,
    reads_per_s: Option<f64>,
    of_alone: Option<f64>,
    of_grouped: Option<f64>,
    of_memory: Option<f64>,
}

impl Row {
    fn new(
        trial: &TrialRecord,
        measurement: &Measurement,
        hardware_limits: &HardwareLimits,
    ) -> Self {
        // The workload that needs no engine counts its commits as its operation.
        let of_operation = || measurement.operation("commit").map(|commits| commits.count);
        let commits = measurement.commits.or_else(of_operation);
        let commits = commits.filter(|commits| *commits > 0);
        let elapsed_s = measurement.elapsed_s.max(1e-9);
        let commits_per_s = commits.map(|commits| commits as f64 / elapsed_s);
        // Only a level that waits for its flush can be held by one.
        let durable = commits_per_s.filter(|_| trial.spec.durability == Durability::Sync);
        let reads = measurement.operation("read").map(|reads| reads.per_s);
        let reads_per_s = reads.filter(|per_s| *per_s > 0.0);
        // An engine that keeps nothing reads nothing: memory is no limit of it.
        let from_memory = reads_per_s.filter(|_| trial.spec.engine != "null");
        let flush = hardware_limits.flush;
        let share = |per_s: Option<f64>, of: Option<f64>| share_of(per_s?, of?);
        Self {
            commits_per_s,
            reads_per_s,
            of_alone: share(durable, flush.map(|flush| flush.separate_per_s)),
            of_grouped: share(durable, flush.map(|flush| flush.grouped_per_s)),
            of_memory: share(
                from_memory,
                Some(hardware_limits.memory.dependent_reads_per_s),
            ),
        }
    }

    fn cells(
        &self,
        name: String,
        trial: &TrialRecord,
        hardware_limits: &HardwareLimits,
    ) -> Vec<String> {
        let dash = || "–".to_owned();
        let share = |share: Option<f64>| share.map_or_else(dash, per_cent);
        let rate = |per_s: Option<f64>| per_s.map_or_else(dash, number);
        let flush = hardware_limits.flush;
        vec![
            name,
            trial.spec.durability.name().to_owned(),
            trial.spec.workers.to_string(),
            rate(self.commits_per_s),
            share(self.of_alone),
            share(self.of_grouped),
            rate(self.reads_per_s),
            share(self.of_memory),
            rate(flush.map(|flush| flush.separate_per_s)),
            rate(flush.map(|flush| flush.grouped_per_s)),
            rate(Some(hardware_limits.memory.dependent_reads_per_s)),
        ]
    }

    /// Why a share is above 100 %, as far as the record tells; a clause for each that is.
    fn why_exceeded(
        &self,
        measurement: &Measurement,
        hardware_limits: &HardwareLimits,
    ) -> Vec<String> {
        let over = |share: Option<f64>| share.filter(|share| *share > 1.0);
        let mut why = Vec::new();
        let flush = hardware_limits.flush.as_ref();
        // Who exceeds grouped flushes exceeds flushes alone by the same cause.
        if let (Some(share), Some(flush)) = (over(self.of_grouped), flush) {
            let cause = grouped_cause(measurement, flush);
            why.push(format!("{} of grouped flushes; {cause}", per_cent(share)));
        } else if let Some(share) = over(self.of_alone) {
            let cause = alone_cause(measurement);
            why.push(format!("{} of single flushes; {cause}", per_cent(share)));
        }
        if let Some(share) = over(self.of_memory) {
            let cause = memory_cause(measurement, hardware_limits);
            why.push(format!("{} of memory; {cause}", per_cent(share)));
        }
        why
    }
}

/// What is left where nothing of the record explains it.
const UNSTEADY: &str = "the limit was measured for only 250 ms, when storage was slower";

/// Commits that one flush of the device served; `None` if flushes are not counted.
fn commits_per_flush(measurement: &Measurement) -> Option<f64> {
    flushes_per_commit(measurement).map(|flushes| 1.0 / flushes)
}

fn grouped_cause(measurement: &Measurement, flush: &FlushLimit) -> String {
    let limits = flush.grouped_per_s / flush.grouped_flushes_per_s.max(1e-9);
    match commits_per_flush(measurement) {
        None => "the device's flushes are not counted, so it is unknown whether each commit \
            reached it"
            .to_owned(),
        Some(served) if served.is_infinite() => {
            "the device completed no flush: it has no volatile cache, writes through it, or the \
             commits did not reach it"
                .to_owned()
        }
        Some(served) if served > 1.1 * limits => format!(
            "a flush served {} commits here, and {} in the measurement of the limit",
            number(served),
            number(limits)
        ),
        Some(_) => UNSTEADY.to_owned(),
    }
}

fn alone_cause(measurement: &Measurement) -> String {
    match commits_per_flush(measurement) {
        Some(served) if served.is_finite() && served > 1.1 => {
            format!("commits share flushes, {} per flush", number(served))
        }
        Some(served) if served.is_finite() => UNSTEADY.to_owned(),
        _ => "commits share flushes, or do not flush this device".to_owned(),
    }
}

fn memory_cause(measurement: &Measurement, hardware_limits: &HardwareLimits) -> String {
    let (database, region) = (
        measurement.database.allocated_bytes,
        hardware_limits.memory.region_bytes,
    );
    match database < region {
        true => format!(
            "the database of {} fits better into the CPU caches than the {} of the limit's \
             measurement",
            bytes(database as f64),
            bytes(region as f64)
        ),
        false => "its reads are sequential in memory or find what others fetched; in the limit's \
            measurement each read waits for the last one"
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueput_record::accounting::Device;
    use trueput_record::hardware_limits::MemoryBandwidth;
    use trueput_record::measurement::{DatabaseSize, OperationSummary, Outcome};

    /// A trial of a second at sync, with as many commits and reads, on a device that completed so
    /// many flushes.
    fn trial(engine: &str, commits: u64, reads: u64, flushes: Option<u64>) -> TrialRecord {
        let planted = include_str!("../../../findings/fixtures/planted.jsonl")
            .lines()
            .next();
        let planted: serde_json::Value = serde_json::from_str(planted.unwrap()).unwrap();
        let mut trial: TrialRecord = serde_json::from_value(planted["record"].clone()).unwrap();
        trial.spec.engine = engine.to_owned();
        trial.spec.durability = Durability::Sync;
        trial.outcome = Outcome::Valid;
        trial.measurement = Some(Measurement {
            elapsed_s: 1.0,
            commits: Some(commits),
            operations: vec![OperationSummary {
                kind: "read".to_owned(),
                count: reads,
                per_s: reads as f64,
                ..OperationSummary::default()
            }],
            device: Some(Device {
                flushes,
                ..Device::default()
            }),
            database: DatabaseSize {
                allocated_bytes: 1 << 20,
                apparent_bytes: 1 << 20,
            },
            ..Measurement::default()
        });
        trial.hardware_limits = Some(HardwareLimits {
            flush: Some(FlushLimit {
                separate_per_s: 500.0,
                grouped_per_s: 1_000.0,
                grouped_flushes_per_s: 500.0,
            }),
            memory: MemoryBandwidth {
                region_bytes: 64 << 20,
                dependent_reads_per_s: 1_000.0,
                ..MemoryBandwidth::default()
            },
            ..HardwareLimits::default()
        });
        trial
    }

    /// The row of a trial, and what is said below the table.
    fn said(trial: &TrialRecord) -> (Vec<String>, Vec<String>) {
        let trials = std::slice::from_ref(trial);
        let names = TrialNames::of_groups(&[vec![trial]], trials);
        let measurement = trial.measurement.as_ref().unwrap();
        let blocks = blocks(&[(trial, measurement)], &names);
        let Some(Block::Table(table)) = blocks.first() else {
            panic!("no table: {blocks:?}");
        };
        let below = match blocks.last() {
            Some(Block::List(lines)) => lines.clone(),
            _ => Vec::new(),
        };
        (table.rows[0].clone(), below)
    }

    #[test]
    fn an_engine_that_keeps_nothing_has_no_share_of_memory() {
        let (row, below) = said(&trial("null", 0, 2_870, None));
        assert_eq!(
            (row[7].as_str(), below.len()),
            ("–", 0),
            "{row:?} {below:?}"
        );
        let (row, below) = said(&trial("lmdb", 0, 2_870, None));
        assert_eq!(row[7], "287 %");
        assert!(
            below[0].contains("287 % of memory; the database of 1.00 MiB fits"),
            "{below:?}"
        );
    }

    #[test]
    fn every_limit_that_is_exceeded_is_explained_and_no_other() {
        let cases = [
            (
                900,
                Some(900),
                "180 % of single flushes; the limit was measured",
            ),
            (
                900,
                Some(300),
                "180 % of single flushes; commits share flushes, 3",
            ),
            (
                3_000,
                Some(500),
                "300 % of grouped flushes; a flush served 6",
            ),
            (
                3_000,
                Some(3_000),
                "300 % of grouped flushes; the limit was measured",
            ),
            (3_000, Some(0), "the device completed no flush"),
            (3_000, None, "flushes are not counted"),
        ];
        for (commits, flushes, expected) in cases {
            let (_, below) = said(&trial("lmdb", commits, 10, flushes));
            assert_eq!(below.len(), 1, "{below:?}");
            assert!(below[0].contains(expected), "{expected}: {below:?}");
        }
        assert!(said(&trial("lmdb", 400, 10, Some(400))).1.is_empty());
    }
}
