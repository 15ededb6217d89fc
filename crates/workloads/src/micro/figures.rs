//! The figures of a trial whose writers have a rate, and of one with large values.

use super::config::MicroConfig;
use crate::JobResults;
use crate::keyed::rate_limiter::sustained_rate;
use trueput_record::Value;
use trueput_record::measurement::Measurement;

const BYTES_PER_MIB: f64 = (1 << 20) as f64;

/// Derives whether the writers kept their rate, if they have one, and how many bytes of large
/// values were read and written a second.
pub(super) fn derive_metrics(config: &MicroConfig, measurement: &Measurement) -> JobResults {
    let mut conclusion = JobResults::default();
    let elapsed_s = measurement.elapsed_s;
    if elapsed_s <= 0.0 {
        return conclusion;
    }
    let per_s = |kind| {
        let operation = measurement.operation(kind);
        operation.map(|operation| operation.count as f64 / elapsed_s)
    };
    if let Some(asked_per_s) = config.write_rate {
        let reached_per_s = per_s("update").unwrap_or_default();
        let sustained = sustained_rate("updates to make per s", asked_per_s as f64, reached_per_s);
        conclusion.results.extend(sustained);
    }
    if config.is_large() {
        let value_mib = config.value_bytes as f64 / BYTES_PER_MIB;
        for (kind, name) in [("read", "MiB read per s"), ("update", "MiB written per s")] {
            let mib_per_s = per_s(kind).map(|per_s| Value::Float(per_s * value_mib));
            conclusion
                .results
                .extend(mib_per_s.map(|rate| (name.to_owned(), rate)));
        }
    }
    conclusion
}
