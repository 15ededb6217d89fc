//! The latencies of a trial's seconds against each other and against the trial's.

use super::quote;
use crate::measurement::{Measurement, TimelineSecond};

/// Returns the contradictions, one sentence each. Older records have no latencies of seconds.
pub(super) fn contradictions(measured: &Measurement) -> Vec<String> {
    let has_latencies = |second: &TimelineSecond| !second.latency_max_ns.is_empty();
    if !measured.timeline.iter().any(has_latencies) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (index, operation) in measured.operations.iter().enumerate() {
        let kind = quote(&operation.kind);
        let of = |by_kind: &[u64]| by_kind.get(index).copied().unwrap_or_default();
        let seconds = || measured.timeline.iter();
        let highest_ns = seconds().map(|second| of(&second.latency_max_ns)).max();
        let (highest_ns, max_ns) = (highest_ns.unwrap_or_default(), operation.latency.max_ns);
        if highest_ns != max_ns {
            found.push(format!(
                "the longest {kind} took {max_ns} ns in the trial and {highest_ns} ns in its \
                 seconds"
            ));
        }
        let is_ordered = |second: &TimelineSecond| {
            let percentiles = [
                of(&second.latency_p50_ns),
                of(&second.latency_p99_ns),
                of(&second.latency_p999_ns),
                of(&second.latency_max_ns),
            ];
            percentiles.is_sorted()
        };
        if let Some(second) = seconds().find(|second| !is_ordered(second)) {
            let at_s = second.at_s;
            found.push(format!(
                "the percentiles of {kind} in the second that ends at {at_s} s are out of order"
            ));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::{LatencySummary, OperationSummary};

    fn measured(p99_ns: u64, max_ns: u64) -> Measurement {
        let operation = OperationSummary {
            kind: "read".to_owned(),
            latency: LatencySummary {
                max_ns: 900,
                ..LatencySummary::default()
            },
            ..OperationSummary::default()
        };
        let second = |p99_ns, max_ns| TimelineSecond {
            latency_p50_ns: vec![10],
            latency_p99_ns: vec![p99_ns],
            latency_p999_ns: vec![300],
            latency_max_ns: vec![max_ns],
            ..TimelineSecond::default()
        };
        Measurement {
            operations: vec![operation],
            timeline: vec![second(200, 300), second(p99_ns, max_ns)],
            ..Measurement::default()
        }
    }

    #[test]
    fn the_longest_of_the_seconds_is_the_longest_of_the_trial() {
        assert!(contradictions(&measured(200, 900)).is_empty());
        for other in [899, 901] {
            let found = contradictions(&measured(200, other));
            assert!(found[0].contains("900 ns in the trial"), "{found:?}");
        }
        let older = Measurement {
            timeline: vec![TimelineSecond::default()],
            ..measured(200, 900)
        };
        assert!(contradictions(&older).is_empty());
    }

    #[test]
    fn a_percentile_above_a_higher_one_is_a_contradiction() {
        let found = contradictions(&measured(301, 900));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("out of order"));
    }
}
