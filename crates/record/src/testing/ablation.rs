//! The trials of an ablation.

use super::{spec, valid};
use crate::ablation::{AblationKind, AblationStep, BASE};
use crate::accounting::CacheUse;
use crate::recovery::{EventRecord, Recovery};
use crate::{Durability, TrialRecord, Value};

const SCATTER: [f64; 5] = [1.0, 1.012, 0.991, 1.005, 0.997];

/// Five trials of a step of an ablation whose base is cell 0, at about this rate.
#[must_use]
pub fn step_trials(index: u32, name: &str, durability: Durability, per_s: f64) -> Vec<TrialRecord> {
    let trial = |repeat: usize| {
        let mut spec = spec(index, "lmdb", durability, repeat as u32 + 1);
        spec.step = Some(AblationStep {
            ablation: AblationKind::Cumulative,
            base: 0,
            index,
            name: name.to_owned(),
        });
        if index == 2 {
            spec.knobs
                .insert("map_size".to_owned(), Value::Integer(2 << 30));
        }
        // Neighbors in time meet the same machine: pairs scatter together, and a little apart.
        let apart = 1.0 + 0.001 * f64::from(index) * repeat as f64;
        valid(spec, per_s * SCATTER[repeat] * apart)
    };
    (0..5).map(trial).collect()
}

/// A base, a step that gains a third and costs durability, and one that gains nothing.
#[must_use]
pub fn ablation() -> Vec<TrialRecord> {
    let mut all = step_trials(0, BASE, Durability::Sync, 3_000.0);
    let mut buffered = step_trials(1, "buffered logging", Durability::Buffered, 4_000.0);
    for trial in &mut buffered {
        let Some(measured) = &mut trial.measurement else {
            continue;
        };
        measured.cache = Some(CacheUse {
            hits: 99_972,
            misses: 28,
        });
        measured.recovery = Some(Recovery {
            killed: 4,
            recovery_s: 1.25,
            server_s: None,
            first_commit_s: Some(1.5),
        });
        measured
            .results
            .insert("missing_new_orders".to_owned(), Value::Integer(17));
        measured.events = Some(vec![EventRecord {
            at_s: 1.0,
            kind: "checkpoint".to_owned(),
            detail: "time".to_owned(),
        }]);
    }
    all.extend(buffered);
    all.extend(step_trials(2, "larger map", Durability::Buffered, 4_000.0));
    all
}
