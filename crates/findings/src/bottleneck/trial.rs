//! The bottleneck of a trial: the rules of [`super`] over its record.

use super::{Bottleneck, BottleneckInterval, TrialContext};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use trueput_record::TrialRecord;
use trueput_record::conditions::parse_list;
use trueput_record::measurement::Measurement;

/// Trials of less than this many seconds have too few samples to judge.
const MIN_TRIAL_S: f64 = 2.0;

/// The bottleneck of a trial over its time.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TrialBottleneck<'a> {
    /// The trial.
    pub trial: &'a str,
    /// The bottleneck of its longest part.
    pub verdict: Bottleneck,
    /// Share of that part in the trial's time.
    pub share: f64,
    /// When it changed from CPU-bound to I/O-bound, seconds.
    pub io_bound_from_s: Option<f64>,
    /// All intervals, with their evidence.
    pub intervals: Vec<BottleneckInterval>,
}

impl TrialBottleneck<'_> {
    /// The share of the time of each bottleneck.
    #[must_use]
    pub fn shares(&self) -> BTreeMap<Bottleneck, f64> {
        let mut shares: BTreeMap<Bottleneck, f64> = BTreeMap::new();
        for interval in &self.intervals {
            *shares.entry(interval.bottleneck).or_default() += interval.span_s();
        }
        let whole_s: f64 = shares.values().sum();
        shares.values_mut().for_each(|share| *share /= whole_s);
        shares
    }

    /// Returns the `most` longest intervals in the order of time; of equal ones the first.
    #[must_use]
    pub fn longest(&self, most: usize) -> Vec<&BottleneckInterval> {
        let mut longest: Vec<_> = self.intervals.iter().collect();
        longest.sort_by(|one, other| other.span_s().total_cmp(&one.span_s()));
        longest.truncate(most);
        longest.sort_by(|one, other| one.from_s.total_cmp(&other.from_s));
        longest
    }
}

/// Finds the bottleneck of a trial on a machine of this many processors, of which it may have been
/// allowed fewer; `None` if the samples are too few.
pub fn trial_bottleneck<'a>(
    trial: &'a TrialRecord,
    measurement: &Measurement,
    cores: f64,
) -> Option<TrialBottleneck<'a>> {
    // Older records with time slices do not say what the machine did in those of one trial.
    let is_mixed =
        trial.spec.conditions.time_slice_s.is_some() && measurement.time_slices.is_none();
    if is_mixed || measurement.elapsed_s < MIN_TRIAL_S || measurement.workers.is_empty() {
        return None;
    }
    let harness_per_s = trial
        .hardware_limits
        .as_ref()
        .map_or(0.0, |one| one.harness_per_s);
    let workers = measurement.workers.len() as f64;
    let cores = allowed_processors(measurement).unwrap_or(cores);
    // Such a server runs elsewhere: its resource usage is not visible, only the waits for its
    // answers.
    let is_users_server = trial.spec.is_on_users_server();
    let context = TrialContext {
        cores,
        workers,
        harness_s_per_operation: if harness_per_s > 0.0 {
            cores.min(workers) / harness_per_s
        } else {
            0.0
        },
        has_server: measurement.server.is_some() || is_users_server,
        is_all_harness: trial.spec.engine == "null",
        keeps_rate: keeps_rate(measurement),
    };
    let intervals = super::intervals(&measurement.timeline, &context);
    let (verdict, share) = super::verdict(&intervals)?;
    Some(TrialBottleneck {
        trial: &trial.spec.id,
        verdict,
        share,
        io_bound_from_s: super::io_bound_from_s(&intervals),
        intervals,
    })
}

/// Number of processors that the workers could use, as reported by them; `None` in older records.
pub fn allowed_processors(measurement: &Measurement) -> Option<f64> {
    let cpus = &measurement.placement.as_ref()?.cpus;
    let count = parse_list(cpus).ok()?.len();
    (count > 0).then_some(count as f64)
}

/// Whether an open loop started every unit that was due. Work that ends by a count leaves no
/// backlog even if it is late.
pub fn keeps_rate(measurement: &Measurement) -> bool {
    measurement.open_loop.as_ref().is_some_and(|open| {
        let due = open.rate_per_s * measurement.elapsed_s;
        // Random arrivals may be fewer than their mean by some deviations.
        let least = 0.9 * due - 3.0 * due.sqrt();
        open.backlog * 20 < open.issued && open.issued as f64 >= least
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    /// Records of runs with bottlenecks that `scripts/plant-bottlenecks` caused.
    const PLANTED: &str = include_str!("../../fixtures/planted.jsonl");

    #[derive(Deserialize)]
    struct PlantedTrial {
        planted: String,
        named: String,
        record: TrialRecord,
    }

    fn planted() -> Vec<PlantedTrial> {
        let lines = PLANTED.lines().map(serde_json::from_str);
        lines.collect::<Result<_, _>>().unwrap()
    }

    fn verdict(record: &TrialRecord) -> String {
        let measurement = record.measurement.as_ref().unwrap();
        let verdict = trial_bottleneck(record, measurement, 2.0).unwrap().verdict;
        serde_json::to_value(verdict)
            .unwrap()
            .as_str()
            .unwrap()
            .to_owned()
    }

    /// Removes the evidence that decided the verdict.
    fn without(named: &str, record: &mut TrialRecord) {
        let measurement = record.measurement.as_mut().unwrap();
        for second in &mut measurement.timeline {
            match named {
                "noisy_neighbors" => second.neighbors = None,
                "write_back" | "random_read" | "log_flush" => second.io_wait_share = Some(0.0),
                "single_writer_lock" => second.voluntary_context_switches = 0,
                _ => {
                    second.user_cpu_s /= 10.0;
                    second.system_cpu_s /= 10.0;
                }
            }
        }
        match named {
            "harness" => record.spec.engine = "lmdb".to_owned(),
            "offered_load" => measurement.open_loop = None,
            _ => {}
        }
    }

    #[test]
    fn every_bottleneck_that_was_planted_is_named() {
        let all = planted();
        assert_eq!(all.len(), 11);
        for PlantedTrial {
            planted,
            named,
            record,
        } in all
        {
            assert_eq!(verdict(&record), named, "{planted}");
        }
    }

    #[test]
    fn what_told_a_bottleneck_taken_away_it_is_named_no_more() {
        for PlantedTrial {
            planted,
            named,
            mut record,
        } in planted()
        {
            without(&named, &mut record);
            assert_ne!(verdict(&record), named, "{planted}");
        }
    }

    #[test]
    fn waits_for_a_users_server_are_no_lock_between_the_workers() {
        let planted = planted().into_iter();
        let mut record = planted
            .filter(|one| one.named == "single_writer_lock")
            .map(|one| one.record)
            .next()
            .unwrap();
        assert_eq!(verdict(&record), "single_writer_lock");
        record.spec.build = Some("/usr/lib/libengine.so".into());
        assert_eq!(verdict(&record), "single_writer_lock");
        // An engine that takes no address has a file of that name.
        record.spec.engine = "sqlite".to_owned();
        record.spec.build = Some("Driver={Any};Server=host".into());
        assert_eq!(verdict(&record), "single_writer_lock");
        for (engine, address) in [
            ("postgresql", "postgres://me@host/db"),
            ("odbc", "Driver={Any};Server=host"),
        ] {
            record.spec.engine = engine.to_owned();
            record.spec.build = Some(address.into());
            assert_ne!(verdict(&record), "single_writer_lock", "{address}");
        }
    }

    #[test]
    fn a_trial_is_judged_by_the_processors_that_it_may_use() {
        let planted = planted().into_iter();
        let mut record = planted
            .filter(|one| one.planted == "engine")
            .map(|one| one.record)
            .next()
            .unwrap();
        assert_eq!(verdict(&record), "cpu_in_engine");
        // With this many processors, as many workers would have left most of them idle.
        let measurement = record.measurement.as_mut().unwrap();
        measurement.placement.as_mut().unwrap().cpus = "0-31".to_owned();
        let one = measurement.workers[0].clone();
        measurement.workers = vec![one; 32];
        assert_ne!(verdict(&record), "cpu_in_engine");
        record.measurement.as_mut().unwrap().placement = None;
        assert_eq!(
            verdict(&record),
            "cpu_in_engine",
            "the machine's count stands in"
        );
    }
}
