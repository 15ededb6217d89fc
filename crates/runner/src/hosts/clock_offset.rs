//! The offset of a host's clocks, from round trips.

use trueput_record::load_generator::ClockOffset;

/// A question and its answer: the runner's clocks when it was sent and when it had returned, and
/// the host's clocks in between.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RoundTrip {
    /// The runner's monotonic clock at the question, nanoseconds.
    pub sent_ns: u64,
    /// The runner's monotonic clock at the answer, nanoseconds.
    pub received_ns: u64,
    /// The runner's wall clock minus its monotonic clock, nanoseconds.
    pub wall_base_ns: i64,
    /// The host's monotonic clock, nanoseconds.
    pub monotonic_ns: u64,
    /// The host's wall clock, nanoseconds.
    pub wall_ns: i64,
}

/// Estimates the offset from the fastest round trip: the host's clock was read between its two
/// ends, so that its middle is wrong by half of its length at most (Cristian's algorithm). `None`
/// without a round trip.
pub(crate) fn estimate_offset(trips: &[RoundTrip]) -> Option<ClockOffset> {
    let length_ns = |trip: &RoundTrip| trip.received_ns.saturating_sub(trip.sent_ns);
    let best = trips.iter().min_by_key(|trip| length_ns(trip))?;
    let half_ns = length_ns(best).div_ceil(2);
    let middle_ns = (best.sent_ns + half_ns) as i64;
    Some(ClockOffset {
        monotonic_ns: best.monotonic_ns as i64 - middle_ns,
        wall_ns: best.wall_ns - (middle_ns + best.wall_base_ns),
        error_ns: half_ns,
    })
}

/// Converts a moment of a host's monotonic clock to the runner's, nanoseconds.
pub(crate) fn to_runner_ns(host_ns: u64, offset: &ClockOffset) -> u64 {
    (host_ns as i64).saturating_sub(offset.monotonic_ns).max(0) as u64
}

/// Converts a moment of the runner's monotonic clock to a host's, nanoseconds.
pub(crate) fn to_host_ns(runner_ns: u64, offset: &ClockOffset) -> u64 {
    (runner_ns as i64)
        .saturating_add(offset.monotonic_ns)
        .max(0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A round trip to a host whose clocks are ahead by `ahead_ns`.
    fn trip(sent_ns: u64, there_ns: u64, back_ns: u64, ahead_ns: i64) -> RoundTrip {
        let read_ns = (sent_ns + there_ns) as i64;
        RoundTrip {
            sent_ns,
            received_ns: sent_ns + there_ns + back_ns,
            wall_base_ns: 1_000_000,
            monotonic_ns: (read_ns + ahead_ns) as u64,
            wall_ns: read_ns + 1_000_000 + ahead_ns,
        }
    }

    #[test]
    fn the_fastest_round_trip_counts_and_its_half_bounds_the_error() {
        let ahead_ns = 5_000_000_000;
        let trips = [
            trip(10_000, 90_000, 10_000, ahead_ns),
            trip(900_000, 300, 100, ahead_ns),
            trip(1_900_000, 50_000, 900, ahead_ns),
        ];
        let offset = estimate_offset(&trips).unwrap();
        assert_eq!(offset.error_ns, 200);
        for found in [offset.monotonic_ns, offset.wall_ns] {
            assert!(
                (found - ahead_ns).unsigned_abs() <= offset.error_ns,
                "{found}"
            );
        }
        assert_eq!(estimate_offset(&[]), None);
    }

    #[test]
    fn a_moment_converts_there_and_back() {
        for monotonic_ns in [-7_000_000_000, 0, 5_000_000_000] {
            let offset = ClockOffset {
                monotonic_ns,
                ..ClockOffset::default()
            };
            let host_ns = to_host_ns(9_000_000_000, &offset);
            assert_eq!(host_ns as i64, 9_000_000_000 + monotonic_ns);
            assert_eq!(to_runner_ns(host_ns, &offset), 9_000_000_000);
        }
    }
}
