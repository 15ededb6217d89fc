//! Trials in open loop that were all asked for one rate.

use super::{spec, valid};
use crate::conditions::{Arrival, Rate};
use crate::measurement::{LatencySummary, OpenLoop, ResponseSummary};
use crate::{Durability, TrialRecord};

/// The rate that is asked for, operations per second.
pub const ASKED_PER_S: f64 = 5_000.0;

/// A repeat that was asked for a rate and had response times of that 99th percentile.
#[must_use]
pub fn trial(cell: u32, engine: &str, repeat: u32, p99_us: u64, backlog: u64) -> TrialRecord {
    // The slowest to respond gets the highest rate, by a hair: rates must not order them.
    let per_s = ASKED_PER_S + p99_us as f64 / 1e6;
    let mut record = valid(spec(cell, engine, Durability::Process, repeat), per_s);
    if let Some(measured) = &mut record.measurement {
        measured.open_loop = Some(OpenLoop {
            rate_per_s: ASKED_PER_S,
            issued: (ASKED_PER_S * measured.elapsed_s) as u64 - backlog,
            backlog,
            responses: vec![ResponseSummary {
                kind: "update".to_owned(),
                count: 9,
                latency: LatencySummary {
                    p99_ns: p99_us * 1_000,
                    ..LatencySummary::default()
                },
            }],
            ..OpenLoop::default()
        });
    }
    record
}

/// Five repeats whose times scatter by a hundredth.
#[must_use]
pub fn repeats(cell: u32, engine: &str, p99_us: u64, backlog: u64) -> Vec<TrialRecord> {
    let times = [0, 1, 2, 3, 4].map(|more| p99_us + p99_us * more / 400);
    let repeats = (1..).zip(times);
    repeats
        .map(|(repeat, p99_us)| trial(cell, engine, repeat, p99_us, backlog))
        .collect()
}

/// Two contenders that kept the rate, and the fastest to respond, which did not.
#[must_use]
pub fn contest() -> Vec<TrialRecord> {
    let sqlite = repeats(0, "sqlite", 1_150, 0);
    let lmdb = repeats(1, "lmdb", 105, 0);
    let redb = repeats(2, "redb", 90, 40_000);
    [sqlite, lmdb, redb].concat()
}

/// Adds commits, with the same scatter, to repeats of which the headline's units are on record.
#[must_use]
pub fn with_commits(mut repeats: Vec<TrialRecord>, p99_us: u64) -> Vec<TrialRecord> {
    for (more, trial) in (0..).zip(&mut repeats) {
        let measured = trial.measurement.as_mut();
        let Some(open) = measured.and_then(|it| it.open_loop.as_mut()) else {
            continue;
        };
        open.responses.push(ResponseSummary {
            kind: "commit".to_owned(),
            count: 9,
            latency: LatencySummary {
                p99_ns: (p99_us + p99_us * more / 400) * 1_000,
                ..LatencySummary::default()
            },
        });
    }
    repeats
}

/// The fastest reader is the slowest to commit.
#[must_use]
pub fn slow_commits() -> Vec<TrialRecord> {
    let sqlite = with_commits(repeats(0, "sqlite", 90, 0), 50_000);
    let lmdb = with_commits(repeats(1, "lmdb", 105, 0), 700);
    let redb = with_commits(repeats(2, "redb", 2_000, 0), 100);
    [sqlite, lmdb, redb].concat()
}

/// The trials of an engine offered another rate, or none, with cells of their own.
#[must_use]
pub fn offered(rate_per_s: f64, cells: &[(u32, &str, u64)]) -> Vec<TrialRecord> {
    let trials = cells.iter();
    let mut trials: Vec<_> = trials
        .flat_map(|(cell, engine, p99_us)| repeats(*cell, engine, *p99_us, 0))
        .collect();
    for trial in &mut trials {
        let (arrival, per_s) = (Arrival::Constant, rate_per_s);
        trial.spec.conditions.rate = (per_s > 0.0).then_some(Rate { per_s, arrival });
        trial.spec.id += &format!("-{rate_per_s}");
        let Some(measured) = &mut trial.measurement else {
            continue;
        };
        let open = measured.open_loop.take().filter(|_| per_s > 0.0);
        measured.open_loop = open.map(|open| OpenLoop {
            rate_per_s,
            issued: (rate_per_s * measured.elapsed_s) as u64,
            ..open
        });
    }
    trials
}
