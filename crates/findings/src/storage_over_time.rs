//! The size of a database, its write amplification and the tombstones that iterators passed over,
//! second by second.

use trueput_record::Measurement;
use trueput_record::measurement::TimelineSecond;

/// A part of the timeline shorter than this has too few samples, seconds.
const MIN_PART_S: f64 = 0.25;

/// The end of a part of a timeline, seconds since the release, and a figure of it.
pub type Point = (f64, f64);

/// Returns the size of the database on disk at the end of each second, bytes, or of groups of
/// seconds if there would be more than `most`; empty if it was not sampled.
#[must_use]
pub fn size_points(measurement: &Measurement, most: usize) -> Vec<Point> {
    points(measurement, most, |seconds, _| {
        let mut sampled = seconds.iter().rev();
        let size = sampled.find_map(|second| second.database_allocated_bytes)?;
        Some(size as f64)
    })
}

/// Returns the bytes that the processes sent to the storage layer in each second, or group of
/// seconds, per byte that the workers handed to the engine in it. Parts without such bytes are left
/// out.
///
/// The bytes of the device would come later, when the kernel writes dirty pages, and with those of
/// other programs.
#[must_use]
pub fn write_amplification_points(measurement: &Measurement, most: usize) -> Vec<Point> {
    points(measurement, most, |seconds, _| {
        let written: u64 = seconds.iter().map(|it| it.storage_written_bytes).sum();
        let user: Option<u64> = seconds.iter().map(|it| it.user_written_bytes).sum();
        let user = user.filter(|bytes| *bytes > 0)?;
        Some(written as f64 / user as f64)
    })
}

/// Returns the tombstones per second that iterators passed over; empty if the engine does not count
/// them.
#[must_use]
pub fn tombstone_points(measurement: &Measurement, most: usize) -> Vec<Point> {
    points(measurement, most, |seconds, length_s| {
        let passed: Option<u64> = seconds.iter().map(|it| it.tombstones_passed).sum();
        Some(passed? as f64 / length_s)
    })
}

/// The figure of each part of a timeline that has one, from its seconds and its length.
fn points(
    measurement: &Measurement,
    most: usize,
    figure: impl Fn(&[TimelineSecond], f64) -> Option<f64>,
) -> Vec<Point> {
    let together = measurement.timeline.len().div_ceil(most.max(1)).max(1);
    let mut from_s = 0.0;
    let point = |seconds: &[TimelineSecond]| {
        let until_s = seconds.last()?.at_s;
        let length_s = until_s - std::mem::replace(&mut from_s, until_s);
        let is_long = length_s >= MIN_PART_S;
        let figure = is_long.then(|| figure(seconds, length_s)).flatten()?;
        Some((until_s, figure))
    };
    let parts = measurement.timeline.chunks(together);
    parts.filter_map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured() -> Measurement {
        let second = |at_s: f64, user: u64, allocated: Option<u64>| TimelineSecond {
            at_s,
            storage_written_bytes: 600,
            user_written_bytes: Some(user),
            database_allocated_bytes: allocated,
            tombstones_passed: Some(user / 10),
            ..TimelineSecond::default()
        };
        Measurement {
            timeline: vec![
                second(1.0, 300, Some(4_096)),
                second(2.0, 0, Some(8_192)),
                second(3.0, 600, None),
                second(4.0, 300, Some(4_096)),
                second(4.1, 1, None),
            ],
            ..Measurement::default()
        }
    }

    #[test]
    fn each_second_has_its_own_amplification_and_one_without_writes_has_none() {
        let each = write_amplification_points(&measured(), 10);
        assert_eq!(each, [(1.0, 2.0), (3.0, 1.0), (4.0, 2.0)]);
    }

    #[test]
    fn seconds_together_have_the_ratio_of_their_sums_and_the_last_size() {
        let together = write_amplification_points(&measured(), 3);
        assert_eq!(together[..2], [(2.0, 4.0), (4.0, 1_200.0 / 900.0)]);
        assert_eq!(
            size_points(&measured(), 3),
            [(2.0, 8_192.0), (4.0, 4_096.0)]
        );
        let each = size_points(&measured(), 10);
        assert_eq!(each, [(1.0, 4_096.0), (2.0, 8_192.0), (4.0, 4_096.0)]);
    }

    #[test]
    fn tombstones_are_per_second_and_none_at_all_is_not_uncounted() {
        let passed = tombstone_points(&measured(), 3);
        assert_eq!(passed, [(2.0, 15.0), (4.0, 45.0)]);
        let mut none = measured();
        for second in &mut none.timeline {
            second.tombstones_passed = Some(0);
        }
        assert_eq!(tombstone_points(&none, 3), [(2.0, 0.0), (4.0, 0.0)]);
        none.timeline[1].tombstones_passed = None;
        assert_eq!(tombstone_points(&none, 3), [(4.0, 0.0)]);
        none.timeline[3].tombstones_passed = None;
        assert!(tombstone_points(&none, 3).is_empty());
    }
}
