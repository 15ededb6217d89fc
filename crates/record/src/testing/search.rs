//! The trials of searches for knobs, for capacities and of choices.

use super::{manifest, spec, standing, tried, valid};
use crate::audit::StorageModel;
use crate::conditions::{Arrival, Rate};
use crate::flush_evidence::FlushEvidence;
use crate::folder::RunManifest;
use crate::measurement::{LatencySummary, OpenLoop, ResponseSummary};
use crate::search::{
    CapacitySettings, ChoiceSettings, ContenderPresets, SearchSettings, TrialPurpose, TrialRole,
    TuningLimits, TuningPreset, TuningScore, TuningSettings, TuningStrategy,
};
use crate::storage::{PowerLoss, StorageStack};
use crate::{Durability, Outcome, TrialRecord, Value};

const MIB: i64 = 1 << 20;

/// The winner of [`tuning`]: a cache that doubles the rate, and a buffer that does nothing, MiB.
pub const WINNER: [(&str, i64); 2] = [("cache", 256), ("buffer", 8)];

/// The rates of a search that finds none, from a quarter of the closed loop's down.
pub const FALLING: [f64; 8] = [250.0, 125.0, 62.5, 31.2, 15.6, 7.8, 3.9, 1.95];

/// The reason of a trial that the kernel killed for its memory.
pub const KILLED: &str = "worker 0 (process 7) was killed by the memory limit of 64 MiB; \
    rocksdb's cache of 32 MiB (block_cache) is not the cause: lower write_buffer_size (64 MiB), \
    or raise --memory";

/// A 99th percentile that exceeds 5 ms, nanoseconds.
pub const SLOW_NS: u64 = 9_000_000;

/// A plan with its trials.
pub type RunRecords = (RunManifest, Vec<TrialRecord>);

/// A trial of a configuration, whose knobs in MiB make these updates per second.
#[must_use]
pub fn trial(
    purpose: TrialPurpose,
    configuration: u32,
    round: u32,
    knobs: &[(&str, i64)],
    per_s: f64,
) -> TrialRecord {
    let mut spec = spec(configuration, "lmdb", Durability::Sync, round);
    spec.id = format!("{}-{configuration}-{round}", purpose.name());
    for (name, value) in [("cache", 64), ("buffer", 4)].iter().chain(knobs) {
        let value = Value::Integer(value * MIB);
        spec.knobs.insert((*name).to_owned(), value);
    }
    spec.role = Some(TrialRole {
        contender: 0,
        purpose,
        configuration: Some(configuration),
    });
    let noise = 1.0 + f64::from(round * 7 % 5) / 500.0;
    let mut record = valid(spec, per_s * noise);
    if let Some(measurement) = &mut record.measurement {
        measurement.resources.peak_pss_bytes += u64::from(configuration) << 24;
    }
    record
}

/// A search for knobs that finds [`WINNER`], with its holdout and its ablation.
#[must_use]
pub fn tuning(planned: u32) -> RunRecords {
    let mut trials = Vec::new();
    for round in 1..=8 {
        let mut add = |purpose, number, knobs: &[(&str, i64)], per_s| {
            trials.push(trial(purpose, number, round, knobs, per_s));
        };
        add(TrialPurpose::Tuning, 0, &[], 1_000.0);
        add(TrialPurpose::Tuning, 1, &WINNER, 2_200.0);
        add(TrialPurpose::Tuning, 2, &[("buffer", 16)], 900.0);
        add(TrialPurpose::Holdout, 0, &[], 1_000.0);
        add(TrialPurpose::Winner, 1, &WINNER, 2_000.0);
        add(TrialPurpose::Ablation, 1, &WINNER, 2_000.0);
        add(TrialPurpose::Ablation, 3, &[("buffer", 8)], 1_000.0);
        add(TrialPurpose::Ablation, 4, &[("cache", 256)], 2_000.0);
    }
    let mut manifest = manifest(&trials);
    manifest.search = Some(SearchSettings::Tuning(tuning_settings(planned)));
    (manifest, trials)
}

fn tuning_settings(planned: u32) -> TuningSettings {
    let preset = TuningPreset {
        name: "guide".to_owned(),
        title: "A guide".to_owned(),
        url: "https://example.org".to_owned(),
        settings: [("buffer".to_owned(), Value::Integer(16 * MIB))].into(),
        dropped: vec!["sync=off: it keeps none and not sync".to_owned()],
    };
    TuningSettings {
        score: TuningScore::Rate,
        limits: TuningLimits::default(),
        trials: planned,
        seed: 1,
        budget_s: 60.0,
        presets: vec![preset],
        searched: Vec::new(),
        strategy: TuningStrategy::default(),
    }
}

/// Configurations of a search for knobs, so many that a forest predicts their scores.
#[must_use]
pub fn configurations() -> Vec<TrialRecord> {
    let of_number = |number: u32| {
        let cache = i64::from(number * 37 % 64 + 1);
        let per_s = if cache > 32 { 2_000.0 } else { 1_000.0 };
        let buffer = i64::from(number * 11 % 16 + 1);
        let knobs = [("cache", cache), ("buffer", buffer)];
        let round = 1 + number % 8;
        trial(TrialPurpose::Tuning, number, round, &knobs, per_s)
    };
    (10..40).map(of_number).collect()
}

/// [`tuning`], whose holdout was cut short after these pairs.
#[must_use]
pub fn cut_short(pairs: u32) -> RunRecords {
    let (manifest, mut trials) = tuning(100);
    trials.retain(|trial| {
        let purpose = trial.spec.role.map(|role| role.purpose);
        match purpose {
            Some(TrialPurpose::Holdout | TrialPurpose::Winner) => trial.spec.repeat <= pairs,
            _ => purpose == Some(TrialPurpose::Tuning),
        }
    });
    (manifest, trials)
}

/// A trial for the capacity of a contender with its default knobs; in closed loop without a rate.
/// Above 900 requests per second it is slow.
#[must_use]
pub fn probe(contender: u32, engine: &str, rate_per_s: Option<f64>) -> TrialRecord {
    let purpose = match rate_per_s {
        Some(_) => TrialPurpose::Probe,
        None => TrialPurpose::ClosedLoop,
    };
    let mut record = trial(purpose, 0, 1, &[], 1_000.0);
    let spec = &mut record.spec;
    spec.id = format!("{contender}-{engine}-{}", rate_per_s.unwrap_or_default());
    spec.engine = engine.to_owned();
    spec.role = Some(TrialRole {
        contender,
        purpose,
        configuration: None,
    });
    spec.conditions.rate = rate_per_s.map(|per_s| Rate {
        per_s,
        arrival: Arrival::Constant,
    });
    if let Some(measured) = &mut record.measurement {
        let elapsed_s = measured.elapsed_s;
        measured.open_loop = rate_per_s.map(|rate_per_s| open_loop(rate_per_s, elapsed_s));
    }
    record
}

fn open_loop(rate_per_s: f64, elapsed_s: f64) -> OpenLoop {
    let p99_ns = if rate_per_s > 900.0 {
        SLOW_NS
    } else {
        1_000_000
    };
    OpenLoop {
        rate_per_s,
        issued: (rate_per_s * elapsed_s) as u64,
        responses: vec![ResponseSummary {
            kind: "update".to_owned(),
            count: 1_000,
            latency: LatencySummary {
                p50_ns: 200_000,
                p99_ns,
                p999_ns: 20_000_000,
                ..LatencySummary::default()
            },
        }],
        ..OpenLoop::default()
    }
}

/// A trial for the capacity of a contender, with this 99th percentile of its response times.
#[must_use]
pub fn probe_with(contender: u32, engine: &str, rate_per_s: f64, p99_ns: u64) -> TrialRecord {
    let mut record = probe(contender, engine, Some(rate_per_s));
    set_p99_ns(&mut record, p99_ns);
    record
}

/// A trial of a run-off in a pair, with this 99th percentile of its response times.
#[must_use]
pub fn run_off_trial(
    (contender, engine): (u32, &str),
    rate_per_s: f64,
    pair: u32,
    p99_ns: u64,
) -> TrialRecord {
    let mut record = probe_with(contender, engine, rate_per_s, p99_ns);
    record.spec.role = record.spec.role.map(|role| TrialRole {
        purpose: TrialPurpose::RunOff,
        ..role
    });
    record.spec.repeat = pair;
    record
}

/// The trials of a contender that holds at 900 requests per second, of which most were disturbed
/// and failed far below.
pub fn disturbed(contender: u32, engine: &str) -> impl Iterator<Item = TrialRecord> {
    let held = [850.0, 870.0, 880.0, 890.0, 895.0].map(|rate_per_s| (rate_per_s, 1_000_000));
    let failed = [
        120.0, 130.0, 140.0, 150.0, 160.0, 170.0, 180.0, 190.0, 200.0, 210.0, 220.0,
    ];
    let failed = failed.map(|rate_per_s| (rate_per_s, SLOW_NS));
    let all = held.into_iter().chain(failed);
    all.map(move |(rate_per_s, p99_ns)| probe_with(contender, engine, rate_per_s, p99_ns))
}

/// The trials that confirm a capacity of about 900 requests per second.
#[must_use]
pub fn confirmation(contender: u32, engine: &str) -> Vec<TrialRecord> {
    let held = [700.0, 800.0, 850.0, 870.0, 885.0, 895.0];
    let failed = [905.0, 915.0, 925.0, 930.0, 960.0, 1_000.0, 1_100.0, 1_200.0];
    let rates = held.into_iter().chain(failed);
    rates
        .map(|rate_per_s| probe(contender, engine, Some(rate_per_s)))
        .collect()
}

/// Gives a trial in open loop this 99th percentile of its response times.
pub fn set_p99_ns(trial: &mut TrialRecord, p99_ns: u64) {
    let measured = trial.measurement.as_mut();
    let open = measured.and_then(|it| it.open_loop.as_mut());
    for response in open.into_iter().flat_map(|it| &mut it.responses) {
        response.latency.p99_ns = p99_ns;
    }
}

/// Lets a trial fail.
pub fn fail(trial: &mut TrialRecord, reason: &str) {
    trial.measurement = None;
    trial.outcome = Outcome::Failed {
        reason: reason.to_owned(),
        bad_input: false,
    };
}

/// A choice between contenders, of which the first was tuned: each holds at 500 requests per
/// second, and is slow at 950.
#[allow(
    clippy::missing_panics_doc,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]
#[must_use]
pub fn choice(engines: &[&str], objective: &str) -> RunRecords {
    let (_, mut trials) = tuning(100);
    trials.extend(configurations());
    for (contender, engine) in (0..).zip(engines) {
        let rates = [None, Some(500.0), Some(950.0)];
        trials.extend(rates.map(|rate_per_s| probe(contender, engine, rate_per_s)));
    }
    let mut tuning = tuning_settings(100);
    let presets = std::mem::take(&mut tuning.presets);
    let mut manifest = manifest(&trials);
    manifest.search = Some(SearchSettings::Choice(ChoiceSettings {
        capacity: CapacitySettings {
            objective: objective.parse().unwrap(),
            precision: 0.1,
            budget_s: 60.0,
            arrival: Arrival::Constant,
            limits: TuningLimits::default(),
            fitted_caches: Vec::new(),
        },
        tuning: Some(tuning),
        untunable: Vec::new(),
        presets: vec![ContenderPresets {
            contender: 0,
            presets,
        }],
        needed_per_s: None,
        budget_s: 150.0,
    }));
    (manifest, trials)
}

/// The settings of a choice.
///
/// # Panics
/// The run is none.
#[allow(clippy::panic, reason = "a test fails by panicking")]
pub fn choice_settings(manifest: &mut RunManifest) -> &mut ChoiceSettings {
    let Some(SearchSettings::Choice(settings)) = &mut manifest.search else {
        panic!("it is a choice");
    };
    settings
}

/// Makes a choice a search for capacities.
pub fn as_capacities(manifest: &mut RunManifest) {
    let capacity = choice_settings(manifest).capacity.clone();
    manifest.search = Some(SearchSettings::Capacity(capacity));
}

/// A choice between lmdb and rocksdb, whose second contender is slow at [`FALLING`] rates, and
/// whose trials at `failed` ones failed.
#[must_use]
pub fn with_failures(reason: &str, failed: &[f64]) -> RunRecords {
    let (mut manifest, mut trials) = choice(&["lmdb"], "p99<5ms");
    let probes = std::iter::once(None).chain(FALLING.map(Some));
    trials.extend(probes.map(|rate_per_s| {
        let mut record = probe(1, "rocksdb", rate_per_s);
        set_p99_ns(&mut record, SLOW_NS);
        if rate_per_s.is_some_and(|rate_per_s| failed.contains(&rate_per_s)) {
            fail(&mut record, reason);
        }
        record
    }));
    manifest.trials = trials.iter().map(|it| it.spec.clone()).collect();
    (manifest, trials)
}

/// Makes lmdb slow at every rate.
pub fn slow_down_lmdb(trials: &mut Vec<TrialRecord>) {
    let lower = FALLING.map(|rate_per_s| probe(0, "lmdb", Some(rate_per_s)));
    trials.extend(lower);
    let own = trials.iter_mut().filter(|it| it.spec.engine == "lmdb");
    own.for_each(|trial| set_p99_ns(trial, SLOW_NS));
}

/// A choice in which one of two promises was audited, and that contender's flushes not counted.
#[must_use]
pub fn audited() -> RunRecords {
    let (manifest, mut trials) = choice(&["lmdb", "sqlite"], "p99<5ms");
    let audited = standing(vec![tried(StorageModel::Journal, 1_058, 0)]);
    for trial in &mut trials {
        if trial.spec.engine == "sqlite" {
            trial.audit = Some(audited.clone());
            uncount_flushes(trial);
        }
    }
    (manifest, trials)
}

/// Leaves the flushes of a trial uncounted.
pub fn uncount_flushes(trial: &mut TrialRecord) {
    if let Some(measured) = &mut trial.measurement {
        let reason = "this is why".to_owned();
        measured.flush_evidence = Some(FlushEvidence::not_counted(1, 1, reason));
    }
}

/// Puts the trials of an engine on storage without barriers.
pub fn remove_barriers(trials: &mut [TrialRecord], engine: &str) {
    for trial in trials.iter_mut().filter(|it| it.spec.engine == engine) {
        trial.storage = Some(StorageStack {
            layers: Vec::new(),
            power_loss: PowerLoss::of_mount("its ext4", "ext4", "rw,nobarrier"),
        });
    }
}
