//! The metrics derived from a measurement, and the names that they may have.

use super::kinds;
use super::scale::Cardinality;
use super::settings::Settings;
use crate::JobResults;
use trueput_record::Value;
use trueput_record::measurement::{Check, Measurement};

/// The remark that every output carries (the TPC's fair-use policy).
pub const NOTICE: &str = "tpcc workload, not an audited TPC-C result";

/// New-orders per minute and warehouse that keying and think times leave room for (clause 4.2.1).
const MAX_PER_WAREHOUSE: f64 = 12.86;

/// Derives the metrics, and with pacing the specification's requirements for them.
pub(super) fn derive_metrics(settings: &Settings, measurement: &Measurement) -> JobResults {
    let mut conclusion = JobResults::default();
    let minutes = measurement.elapsed_s / 60.0;
    if minutes <= 0.0 {
        return conclusion;
    }
    let count = |kind: usize| {
        let operation = measurement.operation(kinds::NAMES[kind]);
        operation.map_or(0, |operation| operation.count)
    };
    let all: u64 = (0..kinds::NAMES.len()).map(count).sum();
    let new_orders = count(kinds::NEW_ORDER);
    let rate = new_orders as f64 / minutes;
    let mut put = |name: &str, value: f64| {
        let value = Value::Float((value * 100.0).round() / 100.0);
        conclusion.results.insert(name.to_owned(), value);
    };
    put(rate_name(settings), rate);
    put("transactions per minute (all kinds)", all as f64 / minutes);
    put(
        "rolled-back new-orders per minute",
        count(kinds::ROLLED_BACK) as f64 / minutes,
    );
    let attempts = all + measurement.conflicts;
    let percent = |count: u64| 100.0 * count as f64 / (attempts.max(1)) as f64;
    put(
        "conflicts, percent of attempts",
        percent(measurement.conflicts),
    );
    put(
        "deadlocks, percent of attempts",
        percent(measurement.deadlocks),
    );
    let times = response_times(measurement);
    for (kind, time_s, _) in &times {
        put(&format!("90th percentile of {kind}, ms"), time_s * 1e3);
    }
    let slow: Vec<_> = times
        .iter()
        .filter(|(_, time_s, limit_s)| time_s > limit_s)
        .map(|(kind, time_s, limit_s)| format!("{kind} {time_s:.1} s, at most {limit_s} s"))
        .collect();
    let within = Value::Boolean(slow.is_empty());
    conclusion
        .results
        .insert("response times within limits".to_owned(), within);
    if settings.is_paced {
        conclusion.checks = pacing_checks(settings, (new_orders, rate, minutes), &slow);
    }
    conclusion
}

/// The name of the rate of new-orders: never tpmC where terminals do not wait or tables are
/// reduced.
fn rate_name(settings: &Settings) -> &'static str {
    match (settings.is_paced, settings.cardinality) {
        (true, Cardinality::Full) => "tpmC (not audited)",
        (true, _) => "paced new-orders per minute (reduced cardinality)",
        (false, Cardinality::Full) => "new-orders per minute",
        (false, _) => "new-orders per minute (reduced cardinality)",
    }
}

/// Kind, 90th percentile and limit, seconds, of every kind that was done. In an open loop it is the
/// time since the transaction was due.
fn response_times(measurement: &Measurement) -> Vec<(&'static str, f64, f64)> {
    let mut times = Vec::new();
    for (kind, limit_s) in kinds::NAMES.into_iter().zip(kinds::LIMITS_S) {
        let operation = measurement.operation(kind);
        let service = operation
            .filter(|one| one.count > 0)
            .map(|one| one.latency.p90_ns);
        let open_loop = measurement.open_loop.as_ref();
        let response = open_loop.and_then(|open| {
            let of_kind = open.responses.iter().find(|one| one.kind == kind);
            of_kind
                .filter(|one| one.count > 0)
                .map(|one| one.latency.p90_ns)
        });
        if let Some(time_ns) = response.or(service) {
            times.push((kind, time_ns as f64 / 1e9, limit_s));
        }
    }
    times
}

/// The checks of a paced run.
fn pacing_checks(
    settings: &Settings,
    (new_orders, rate, minutes): (u64, f64, f64),
    slow: &[String],
) -> Vec<Check> {
    let bound = MAX_PER_WAREHOUSE * f64::from(settings.scale.warehouses);
    // A short interval has more or fewer than the mean by chance: three standard deviations.
    let chance = 3.0 * (new_orders as f64).sqrt() / minutes;
    vec![
        Check::new(
            "new-orders per minute within 12.86 per warehouse (clause 4.2.1)",
            rate <= bound + chance,
            format!("{rate:.2} per minute, bound {bound:.2}, by chance up to {chance:.2} more"),
        ),
        Check::new(
            "90th percentiles of response times within their limits (clause 5.2.5.7)",
            slow.is_empty(),
            if slow.is_empty() {
                "all".to_owned()
            } else {
                slow.join("; ")
            },
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::settings::GivenSettings;
    use super::*;
    use trueput_engine::parameter;
    use trueput_record::Conditions;
    use trueput_record::measurement::OperationSummary;

    fn settings(pacing: &str, cardinality: &str) -> Settings {
        let given = [("pacing", pacing), ("cardinality", cardinality)];
        let given = given.map(|(name, value)| (name.to_owned(), Value::parse(value)));
        let resolved =
            parameter::resolve("tpcc", GivenSettings::PARAMETERS, &given.into()).unwrap();
        Settings::of(&resolved, &Conditions::default()).unwrap()
    }

    fn measurement(new_orders: u64, p90_s: u64) -> Measurement {
        let mut operation = OperationSummary {
            kind: "new-order".to_owned(),
            count: new_orders,
            ..OperationSummary::default()
        };
        operation.latency.p90_ns = p90_s * 1_000_000_000;
        Measurement {
            elapsed_s: 60.0,
            operations: vec![operation],
            ..Measurement::default()
        }
    }

    fn failed(conclusion: &JobResults) -> Vec<bool> {
        conclusion
            .checks
            .iter()
            .map(|check| !check.passed)
            .collect()
    }

    #[test]
    fn only_a_paced_run_on_full_tables_has_a_tpmc() {
        let named = |pacing, cardinality| {
            let of = derive_metrics(&settings(pacing, cardinality), &measurement(12, 1));
            of.results.keys().any(|name| name.contains("tpmC"))
        };
        assert!(named("tpc", "full"));
        assert!(!named("none", "full") && !named("tpc", "tenth") && !named("none", "hundredth"));
    }

    #[test]
    fn conflicts_and_the_deadlocks_among_them_are_shares_of_all_attempts() {
        let measured = Measurement {
            conflicts: 20,
            deadlocks: 5,
            ..measurement(80, 1)
        };
        let of = derive_metrics(&settings("none", "full"), &measured);
        let share = |name: &str| of.results[name].clone();
        let shares =
            ["conflicts", "deadlocks"].map(|of| share(&format!("{of}, percent of attempts")));
        assert_eq!(shares, [Value::Float(20.0), Value::Float(5.0)]);
    }

    #[test]
    fn a_paced_rate_beyond_the_bound_is_refused() {
        let of = |new_orders| derive_metrics(&settings("tpc", "full"), &measurement(new_orders, 1));
        assert_eq!(failed(&of(12)), [false, false]);
        assert_eq!(failed(&of(60)), [true, false]);
    }

    #[test]
    fn a_paced_run_that_answers_too_late_is_refused_and_an_unpaced_one_tells() {
        let paced = derive_metrics(&settings("tpc", "full"), &measurement(12, 6));
        assert_eq!(failed(&paced), [false, true]);
        let unpaced = derive_metrics(&settings("none", "full"), &measurement(12, 6));
        assert!(unpaced.checks.is_empty());
        let within = &unpaced.results["response times within limits"];
        assert_eq!(within, &Value::Boolean(false));
    }
}
