//! Rates compared with the rates of the hardware without an engine, and explanations of rates above
//! them.

use super::{Part, Section, SectionInput};
use crate::document::{Block, Table};
use trueput_findings::hardware_limits::{Excess, ExcessCause, Limit, LimitShares};
use trueput_findings::trial_names::TrialNames;
use trueput_findings::units::{bytes, number, per_cent};
use trueput_record::TrialRecord;
use trueput_record::hardware_limits::{FlushLimit, HardwareLimits};
use trueput_record::measurement::Measurement;

/// Rates as shares of the hardware limits.
pub(crate) struct HardwareLimitShares;

impl Section for HardwareLimitShares {
    fn part(&self, input: &SectionInput<'_>) -> Option<Part> {
        let blocks = blocks(&input.first_of_each_cell(), &input.names);
        let title = "Compared with raw storage and memory";
        Part::with_text(title, TEXT, blocks)
    }
}

const TEXT: &str = "Hardware limits, measured in this run without an engine, on the same file \
    system, with as many threads as the trial has workers. Commits are compared with durable \
    appends (a flush for each, or a flush for all that wait), reads with dependent reads of \
    memory.";

/// A table of these trials, and a sentence for each rate that exceeds its limit.
pub(crate) fn blocks(measured: &[(&TrialRecord, &Measurement)], names: &TrialNames) -> Vec<Block> {
    let limited = measured.iter().filter_map(|(trial, measurement)| {
        let limits = trial.hardware_limits.as_ref()?;
        let shares = LimitShares::of(trial, measurement, limits);
        Some((*trial, *measurement, limits, shares))
    });
    let limited: Vec<_> = limited.collect();
    let exceeded = limited
        .iter()
        .flat_map(|(trial, measurement, limits, shares)| {
            let name = names.trial(trial);
            let excesses = shares.excesses(measurement, limits).into_iter();
            excesses.map(move |excess| format!("{name}: {}.", explain(excess)))
        });
    let exceeded = Block::List(exceeded.collect()).filled();
    let above = |exceeded| [Block::Text("Above 100 %:".to_owned()), exceeded];
    let table = Block::Table(table(&limited, names)).filled().into_iter();
    table.chain(exceeded.into_iter().flat_map(above)).collect()
}

/// A trial with its measurement, the limits, and its shares of them.
type LimitedTrial<'a> = (
    &'a TrialRecord,
    &'a Measurement,
    &'a HardwareLimits,
    LimitShares,
);

fn table(limited: &[LimitedTrial<'_>], names: &TrialNames) -> Table {
    let dash = || "–".to_owned();
    let share = |of: fn(&LimitShares) -> Option<f64>| {
        move |(.., shares): &LimitedTrial<'_>| of(shares).map_or_else(dash, per_cent)
    };
    let rate = |per_s: Option<f64>| per_s.map_or_else(dash, number);
    let flushes = |per_s: fn(FlushLimit) -> f64| {
        move |(_, _, limits, _): &LimitedTrial<'_>| rate(limits.flush.map(per_s))
    };
    Table::of(limited)
        .text("trial", 0, |(trial, ..)| names.trial(trial))
        .text("level", 6, |(trial, ..)| trial.spec.durability.name())
        .figures("workers", 5, |(trial, ..)| trial.spec.workers)
        .figures("commits/s", 0, |(.., shares)| rate(shares.commits_per_s))
        .figures("of single flushes", 0, share(|it| it.of_single_flushes))
        .figures("of grouped flushes", 0, share(|it| it.of_grouped_flushes))
        .figures("reads/s", 0, |(.., shares)| rate(shares.reads_per_s))
        .figures("of memory", 0, share(|it| it.of_memory))
        .figures("single flushes/s", 3, flushes(|it| it.separate_per_s))
        .figures("grouped flushes/s", 2, flushes(|it| it.grouped_per_s))
        .figures("memory reads/s", 4, |(_, _, limits, _)| {
            number(limits.memory.dependent_reads_per_s)
        })
        .build()
}

/// The exceeded limit with the reason, as a clause.
fn explain(excess: Excess) -> String {
    let limit = match excess.limit {
        Limit::SingleFlushes => "single flushes",
        Limit::GroupedFlushes => "grouped flushes",
        Limit::Memory => "memory",
    };
    let share = per_cent(excess.share);
    format!("{share} of {limit}; {}", cause(excess.cause))
}

fn cause(cause: ExcessCause) -> String {
    let fixed = match cause {
        ExcessCause::SlowerStorage => {
            "the limit was measured for only 250 ms, when storage was slower"
        }
        ExcessCause::UncountedFlushes => {
            "the device's flushes are not counted, so it is unknown whether each commit reached it"
        }
        ExcessCause::NoFlush => {
            "the device completed no flush: it has no volatile cache, writes through it, or the \
             commits did not reach it"
        }
        ExcessCause::SharedFlushes { served: None } => {
            "commits share flushes, or do not flush this device"
        }
        ExcessCause::IndependentReads => {
            "its reads are sequential in memory or find what others fetched; in the limit's \
             measurement each read waits for the last one"
        }
        ExcessCause::LargerGroups { served, by_limit } => {
            return format!(
                "a flush served {} commits here, and {} in the measurement of the limit",
                number(served),
                number(by_limit)
            );
        }
        ExcessCause::SharedFlushes {
            served: Some(served),
        } => return format!("commits share flushes, {} per flush", number(served)),
        ExcessCause::SmallDatabase {
            database_bytes,
            region_bytes,
        } => {
            return format!(
                "the database of {} fits better into the CPU caches than the {} of the limit's \
                 measurement",
                bytes(database_bytes as f64),
                bytes(region_bytes as f64)
            );
        }
    };
    fixed.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueput_record::Durability;
    use trueput_record::accounting::Device;
    use trueput_record::hardware_limits::MemoryBandwidth;
    use trueput_record::measurement::{DatabaseSize, OperationSummary, Outcome};

    /// A trial of one second at `sync`, with equally many commits and reads, on a device that
    /// completed `flushes`.
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

    /// The row of a trial, and the notes below the table.
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
