//! The timeline of a trial, from the counts of the workers and the samples.

use crate::evidence::sampler::{Gauges, HostActivity, Sample};
use crate::workers::protocol::OperationCounts;
use trueput_record::accounting::{Device, OtherPrograms, Pressure};
use trueput_record::measurement::TimelineSecond;

/// Builds the timeline: an entry for each whole second of the run, and one for the remainder, so
/// that its sums are those of the whole trial.
///
/// `processes` has, for each worker process, its counts at the end of each of its seconds; `finals`
/// has each one's final counts, and `total` the final use of all. Operations that were counted and
/// rolled back in a later second are in no entry.
pub(crate) fn build_timeline(
    elapsed_s: f64,
    processes: &[Vec<OperationCounts>],
    finals: &[OperationCounts],
    samples: &[Sample],
    total: &Sample,
) -> Vec<TimelineSecond> {
    let kinds = finals.iter().map(|last| last.counts.len()).max();
    let kinds = kinds.unwrap_or_default();
    let whole = count_seconds(elapsed_s);
    let parts: Vec<_> = processes.iter().map(Vec::as_slice).zip(finals).collect();
    let ends = |of| sum_at_seconds(kinds, whole, &parts, of);
    let times_ns = ends(|done| &done.times_ns);
    let ends = ends(|done| &done.counts);
    let mut before = (vec![0; kinds], Sample::default());
    let mut timeline = Vec::with_capacity(ends.len());
    for (index, counts) in ends.into_iter().enumerate() {
        let sampled = if index < whole {
            samples.get(index)
        } else {
            Some(total)
        };
        // A second that the runner slept through shows in the next one.
        let used = sampled.copied().unwrap_or(Sample {
            gauges: Gauges::default(),
            ..before.1
        });
        let at_s = if index < whole {
            (index + 1) as f64
        } else {
            elapsed_s
        };
        timeline.push(entry(at_s, &before, &counts, &used));
        before = (counts, used);
    }
    add_latencies(&mut timeline, &times_ns);
    add_tombstones(&mut timeline, whole, &parts);
    timeline
}

/// Adds the tombstones that iterators passed over in each second, if every process counts them.
fn add_tombstones(
    timeline: &mut [TimelineSecond],
    whole: usize,
    parts: &[(&[OperationCounts], &OperationCounts)],
) {
    if parts.is_empty() {
        return;
    }
    let mut before = 0;
    for (index, second) in timeline.iter_mut().enumerate() {
        let counted = parts.iter().map(|&(seen, last)| {
            let done = if index < whole {
                at(seen, index + 1, last)
            } else {
                last
            };
            done.tombstones_passed
        });
        let Some(now) = counted.sum::<Option<u64>>() else {
            return;
        };
        second.tombstones_passed = Some(now.saturating_sub(before));
        before = before.max(now);
    }
}

/// Adds each second's mean latencies, from the time of all operations so far at its end.
fn add_latencies(timeline: &mut [TimelineSecond], times_ns: &[Vec<u64>]) {
    let is_timed = times_ns
        .last()
        .is_some_and(|all| all.iter().any(|time| *time > 0));
    if !is_timed {
        return;
    }
    let mut before = vec![0; times_ns[0].len()];
    for (second, now) in timeline.iter_mut().zip(times_ns) {
        let passed = now.iter().zip(&before).map(|(now, then)| now - then);
        let means = passed.zip(&second.counts).map(|(time, count)| match count {
            0 => 0,
            count => time / count,
        });
        second.latency_mean_ns = means.collect();
        before.clone_from(now);
    }
}

fn entry(at_s: f64, before: &(Vec<u64>, Sample), counts: &[u64], used: &Sample) -> TimelineSecond {
    let then = &before.1;
    // `/proc` counts in hundredths of a second: the remainder may come out a tick short.
    let usage = used.usage - then.usage;
    let gauges = used.gauges;
    let HostActivity {
        device,
        log_device,
        pressure,
        neighbors,
        io_waits,
        run_delay_s,
    } = since(&used.host_activity, &then.host_activity);
    TimelineSecond {
        at_s,
        latency_mean_ns: Vec::new(),
        latency_p50_ns: Vec::new(),
        latency_p99_ns: Vec::new(),
        latency_p999_ns: Vec::new(),
        latency_max_ns: Vec::new(),
        counts: counts
            .iter()
            .zip(&before.0)
            .map(|(now, then)| now - then)
            .collect(),
        user_cpu_s: usage.user_cpu_s,
        system_cpu_s: usage.system_cpu_s,
        pss_bytes: gauges.memory.pss_bytes,
        storage_written_bytes: usage.storage_written_bytes,
        user_written_bytes: None,
        storage_read_bytes: usage.storage_read_bytes,
        rss_bytes: gauges.memory.rss_bytes,
        voluntary_context_switches: usage.voluntary_context_switches,
        involuntary_context_switches: usage.involuntary_context_switches,
        minor_page_faults: usage.minor_page_faults,
        major_page_faults: usage.major_page_faults,
        read_calls: usage.read_calls,
        write_calls: usage.write_calls,
        read_call_bytes: usage.read_call_bytes,
        write_call_bytes: usage.write_call_bytes,
        database_allocated_bytes: gauges.database_allocated_bytes,
        device,
        log_device,
        pressure,
        neighbors,
        io_wait_share: io_waits.share(),
        run_delay_s,
        runnable_tasks: gauges.runnable_tasks,
        tombstones_passed: None,
    }
}

/// Returns the machine's activity between two samples.
fn since(now: &HostActivity, then: &HostActivity) -> HostActivity {
    let passed = |now: Option<Device>, then: Option<Device>| {
        let then = then.unwrap_or(Device {
            flushes: Some(0),
            flush_s: Some(0.0),
            queue_s: Some(0.0),
            ..Device::default()
        });
        now.map(|now| now.since(&then))
    };
    let pressure = then.pressure.unwrap_or_default();
    let neighbors = then.neighbors.unwrap_or_default();
    HostActivity {
        device: passed(now.device, then.device),
        log_device: passed(now.log_device, then.log_device),
        pressure: now.pressure.map(|now: Pressure| now.since(&pressure)),
        neighbors: now
            .neighbors
            .map(|now: OtherPrograms| now.since(&neighbors)),
        io_waits: now.io_waits.since(&then.io_waits),
        run_delay_s: now
            .run_delay_s
            .map(|now_s| (now_s - then.run_delay_s.unwrap_or_default()).max(0.0)),
    }
}

/// Returns the operations by kind in each whole second since the release, over processes that were
/// released together: each counts its own seconds from then on.
pub(crate) fn count_by_second(
    kinds: usize,
    elapsed_s: f64,
    parts: &[(&[OperationCounts], &OperationCounts)],
) -> Vec<Vec<u64>> {
    let mut ends = sum_at_seconds(kinds, count_seconds(elapsed_s), parts, |done| &done.counts);
    // The remainder is no whole second.
    ends.pop();
    let mut before = vec![0; kinds];
    for end in &mut ends {
        let now = end.clone();
        end.iter_mut()
            .zip(&before)
            .for_each(|(count, then)| *count -= then);
        before = now;
    }
    ends
}

/// Returns the number of whole seconds before the one that the run ended in, which is the
/// remainder, a whole one included.
fn count_seconds(elapsed_s: f64) -> usize {
    (elapsed_s.ceil() as usize).saturating_sub(1)
}

/// Sums the processes' counts at the end of each whole second, and at the end.
fn sum_at_seconds(
    kinds: usize,
    whole: usize,
    parts: &[(&[OperationCounts], &OperationCounts)],
    of: fn(&OperationCounts) -> &Vec<u64>,
) -> Vec<Vec<u64>> {
    let until = |second| {
        let done = parts.iter().map(|(seen, last)| at(seen, second, last));
        sum_counts(kinds, done.map(|done| of(done).as_slice()))
    };
    let mut ends: Vec<_> = (1..=whole).map(until).collect();
    let finals = parts.iter().map(|(_, last)| of(last).as_slice());
    ends.push(sum_counts(kinds, finals));
    forget_rolled_back(&mut ends);
    ends
}

/// Returns the counts of a process at the end of a second, from 1: its report of that second, or
/// its final counts if it had ended before.
fn at<'a>(
    seen: &'a [OperationCounts],
    second: usize,
    last: &'a OperationCounts,
) -> &'a OperationCounts {
    seen.get(second - 1).unwrap_or(last)
}

/// Sums counts by kind.
pub(crate) fn sum_counts<'a>(kinds: usize, counts: impl Iterator<Item = &'a [u64]>) -> Vec<u64> {
    let mut sums = vec![0; kinds];
    for counts in counts {
        sums.iter_mut()
            .zip(counts)
            .for_each(|(sum, count)| *sum += count);
    }
    sums
}

/// Makes each count no larger than any later one.
fn forget_rolled_back(ends: &mut [Vec<u64>]) {
    for index in (1..ends.len()).rev() {
        let (earlier, later) = ends.split_at_mut(index);
        for (then, now) in earlier[index - 1].iter_mut().zip(&later[0]) {
            *then = (*then).min(*now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueput_host::process::MemoryUsage;
    use trueput_host::usage::ResourceUsage;

    fn done(counts: [u64; 2]) -> OperationCounts {
        OperationCounts {
            counts: counts.to_vec(),
            times_ns: counts.map(|count| 10 * count).to_vec(),
            units: 0,
            tombstones_passed: None,
        }
    }

    fn passed(tombstones: u64) -> OperationCounts {
        OperationCounts {
            tombstones_passed: Some(tombstones),
            ..done([1, 0])
        }
    }

    fn used(user_s: f64, written: u64) -> Sample {
        Sample {
            usage: ResourceUsage {
                user_cpu_s: user_s,
                storage_written_bytes: written,
                ..ResourceUsage::default()
            },
            host_activity: HostActivity {
                device: Some(Device {
                    flushes: Some(written / 10),
                    ..Device::default()
                }),
                ..HostActivity::default()
            },
            gauges: Gauges {
                memory: MemoryUsage {
                    pss_bytes: 10,
                    rss_bytes: 20,
                    max_rss_bytes: 30,
                },
                ..Gauges::default()
            },
        }
    }

    fn counts(timeline: &[TimelineSecond]) -> Vec<Vec<u64>> {
        timeline
            .iter()
            .map(|second| second.counts.clone())
            .collect()
    }

    #[test]
    fn its_sums_are_the_totals_and_its_last_entry_is_the_remainder() {
        // The second process ended within its first second.
        let processes = [vec![done([10, 1]), done([30, 2])], vec![]];
        let finals = [done([35, 3]), done([5, 5])];
        let samples = [used(0.5, 100), used(1.5, 300)];
        let made = build_timeline(2.25, &processes, &finals, &samples, &used(1.75, 400));
        assert_eq!(counts(&made), [[15, 6], [20, 1], [5, 1]]);
        assert_eq!(
            made.iter().map(|second| second.at_s).collect::<Vec<_>>(),
            [1.0, 2.0, 2.25]
        );
        assert_eq!(
            made.iter()
                .map(|second| second.storage_written_bytes)
                .sum::<u64>(),
            400
        );
        assert_eq!(
            made.iter().map(|second| second.user_cpu_s).sum::<f64>(),
            1.75
        );
        let flushes: Vec<_> = made
            .iter()
            .map(|second| second.device.unwrap().flushes.unwrap())
            .collect();
        assert_eq!(flushes, [10, 20, 10]);
    }

    #[test]
    fn the_tombstones_of_the_seconds_are_those_of_the_trial() {
        let of = |processes: &[Vec<OperationCounts>], finals: &[OperationCounts]| {
            let samples = [used(0.0, 0), used(0.0, 0)];
            let made = build_timeline(2.5, processes, finals, &samples, &used(0.0, 0));
            made.iter()
                .map(|second| second.tombstones_passed)
                .collect::<Vec<_>>()
        };
        // The second process ended within its second second.
        let processes = [vec![passed(10), passed(40)], vec![passed(5)]];
        let counted = of(&processes, &[passed(47), passed(6)]);
        assert_eq!(counted, [Some(15), Some(31), Some(7)]);
        let uncounted = of(&[vec![], vec![]], &[passed(47), done([1, 0])]);
        assert_eq!(uncounted, [None; 3]);
    }

    #[test]
    fn a_run_of_less_than_a_second_has_one_entry() {
        let made = build_timeline(0.1, &[vec![]], &[done([7, 0])], &[], &used(0.1, 1));
        assert_eq!(counts(&made), [[7, 0]]);
        assert_eq!(made[0].latency_mean_ns, [10, 0]);
        assert_eq!((made[0].at_s, made[0].pss_bytes), (0.1, 10));
    }

    #[test]
    fn what_was_rolled_back_later_counts_in_no_second() {
        let processes = [vec![done([10, 0]), done([4, 0])]];
        let samples = [used(0.0, 0), used(0.0, 0)];
        let made = build_timeline(2.5, &processes, &[done([9, 0])], &samples, &used(0.0, 0));
        assert_eq!(counts(&made), [[4, 0], [0, 0], [5, 0]]);
    }

    #[test]
    fn a_second_without_a_sample_shows_in_the_next_one() {
        let processes = [vec![done([1, 0]), done([2, 0])]];
        let made = build_timeline(
            2.5,
            &processes,
            &[done([3, 0])],
            &[used(1.0, 50)],
            &used(2.0, 90),
        );
        let written: Vec<_> = made
            .iter()
            .map(|second| second.storage_written_bytes)
            .collect();
        assert_eq!(written, [50, 0, 40]);
        assert_eq!(made[1].pss_bytes, 0);
    }
}
