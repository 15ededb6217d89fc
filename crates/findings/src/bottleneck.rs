//! The bottleneck of a trial, second by second, with the evidence: rules over the samples, in the
//! order of [`judge`]. `docs/METHOD.md` explains each threshold.

mod trial;

pub use trial::{TrialBottleneck, allowed_processors, keeps_rate, trial_bottleneck};

use schemars::JsonSchema;
use serde::Serialize;
use trueput_record::accounting::Device;
use trueput_record::measurement::TimelineSecond;
use trueput_record::value::saturating_sum;

/// A bottleneck of the workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Bottleneck {
    /// Programs that are not ours, or the hypervisor, had the processors.
    NoisyNeighbors,
    /// The harness itself used most of the processor time.
    Harness,
    /// The processors were busy outside the kernel: the engine.
    CpuInEngine,
    /// The processors were busy inside the kernel.
    CpuInKernel,
    /// Workers waited until the device had flushed their log.
    LogFlush,
    /// Workers waited for reads of the device.
    RandomRead,
    /// Workers waited while written pages went to the device.
    WriteBack,
    /// Workers waited for each other while device and processors had room.
    SingleWriterLock,
    /// An open loop whose work was done: nothing limited it.
    OfferedLoad,
    /// No rule matches.
    Unclear,
}

impl Bottleneck {
    /// Whether the processors set the pace, rather than the device.
    #[must_use]
    pub fn is_cpu(self) -> bool {
        matches!(self, Self::CpuInEngine | Self::CpuInKernel | Self::Harness)
    }

    /// Whether the device set the pace.
    #[must_use]
    pub fn is_io(self) -> bool {
        matches!(self, Self::LogFlush | Self::RandomRead | Self::WriteBack)
    }
}

/// Facts that the rules need in addition to the samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrialContext {
    /// Processors that the trial may use.
    pub cores: f64,
    /// Workers of the trial, including those that the workload added.
    pub workers: f64,
    /// CPU seconds per operation that the harness itself uses; 0 if not measured.
    pub harness_s_per_operation: f64,
    /// Whether the engine is the one that does nothing, so that all work is the harness's.
    pub is_all_harness: bool,
    /// Whether the workers are clients of a server: then their waits for answers do not indicate
    /// locks.
    pub has_server: bool,
    /// Whether this is an open loop that kept its rate, so that the rate limits it.
    pub keeps_rate: bool,
}

/// Shares and rates of one second that the rules look at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct Evidence {
    /// CPU time of the workers as a share of the time they could have had.
    pub cpu_share: f64,
    /// The part of their CPU that was inside the kernel.
    pub kernel_share: f64,
    /// The part of their CPU that the harness itself needs for this many operations.
    pub harness_share: f64,
    /// CPU of programs that are not ours over that of the processors that the trial may use; of
    /// older records with the kernel's own threads.
    pub others_share: f64,
    /// CPU of the kernel's own threads over the same.
    pub kernel_threads_share: f64,
    /// CPU time that the hypervisor withheld (steal), as a share of the same.
    pub steal_share: f64,
    /// Time that the workers waited for a processor over all their time; `None` in older records.
    pub run_delay_share: Option<f64>,
    /// Whether the device fields below describe the log's device: if the log has its own, they
    /// describe the busier of the two.
    pub is_log_device: bool,
    /// Share of the time in which the device was busy; `None` if no device is visible.
    pub device_busy_share: Option<f64>,
    /// The mean number of its requests that were issued and not yet done; `None` in older records.
    pub device_queue: Option<f64>,
    /// Flushes of the device per second.
    pub flushes_per_s: f64,
    /// Reads of the device per second.
    pub reads_per_s: f64,
    /// Bytes written by the device per second.
    pub written_bytes_per_s: f64,
    /// The part of the looks at the workers that found one waiting for I/O; `None` in older
    /// records.
    pub io_wait_share: Option<f64>,
    /// Share of the time in which some task of the machine waited for I/O.
    pub io_pressure_share: f64,
    /// Times per second that a worker gave up its processor, over all workers.
    pub voluntary_switches_per_s: f64,
}

/// An interval of a trial with one bottleneck.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct BottleneckInterval {
    /// Start, seconds since the release.
    pub from_s: f64,
    /// End, seconds since the release.
    pub to_s: f64,
    /// Its bottleneck.
    pub bottleneck: Bottleneck,
    /// Means of the samples in the interval.
    pub evidence: Evidence,
}

impl BottleneckInterval {
    /// Length, seconds.
    #[must_use]
    pub fn span_s(&self) -> f64 {
        self.to_s - self.from_s
    }
}

/// The bottleneck of each interval of a trial, with the means of its evidence. Seconds shorter than
/// a quarter are left out: their samples are too coarse.
#[must_use]
pub fn intervals(timeline: &[TimelineSecond], context: &TrialContext) -> Vec<BottleneckInterval> {
    let mut found: Vec<(BottleneckInterval, Vec<Evidence>)> = Vec::new();
    let mut from_s = 0.0;
    for second in timeline {
        let span_s = second.at_s - from_s;
        if span_s >= 0.25 {
            let evidence = evidence(second, span_s, context);
            let bottleneck = judge(&evidence, context);
            match found.last_mut() {
                Some((last, seen)) if last.bottleneck == bottleneck => {
                    last.to_s = second.at_s;
                    seen.push(evidence);
                }
                _ => {
                    let interval = BottleneckInterval {
                        from_s,
                        to_s: second.at_s,
                        bottleneck,
                        evidence,
                    };
                    found.push((interval, vec![evidence]));
                }
            }
        }
        from_s = second.at_s;
    }
    let meant = found.into_iter().map(|(mut interval, seen)| {
        interval.evidence = mean(&seen);
        interval
    });
    meant.collect()
}

/// The bottleneck of the longest part of a trial, and its share of the trial.
#[must_use]
pub fn verdict(intervals: &[BottleneckInterval]) -> Option<(Bottleneck, f64)> {
    let total: f64 = intervals
        .iter()
        .map(|interval| interval.to_s - interval.from_s)
        .sum();
    let mut spans = std::collections::BTreeMap::new();
    for interval in intervals {
        *spans.entry(interval.bottleneck).or_insert(0.0) += interval.to_s - interval.from_s;
    }
    let longest = spans
        .into_iter()
        .max_by(|one, other| f64::total_cmp(&one.1, &other.1))?;
    (total > 0.0).then(|| (longest.0, longest.1 / total))
}

/// Finds the second from which the device is the bottleneck after the processors were; each phase
/// lasts at least a tenth of the trial.
#[must_use]
pub fn io_bound_from_s(intervals: &[BottleneckInterval]) -> Option<f64> {
    let span = |of: fn(Bottleneck) -> bool| -> f64 {
        let matching = intervals.iter().filter(|interval| of(interval.bottleneck));
        matching
            .map(|interval| interval.to_s - interval.from_s)
            .sum()
    };
    let total = span(|_| true);
    let both = span(Bottleneck::is_cpu) >= total / 10.0 && span(Bottleneck::is_io) >= total / 10.0;
    let first_io = intervals
        .iter()
        .position(|interval| interval.bottleneck.is_io())?;
    let begins_with_cpu = intervals[..first_io]
        .iter()
        .any(|interval| interval.bottleneck.is_cpu());
    (both && begins_with_cpu).then(|| intervals[first_io].from_s)
}

fn evidence(second: &TimelineSecond, span_s: f64, context: &TrialContext) -> Evidence {
    let cpu_s = second.user_cpu_s + second.system_cpu_s;
    let over = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
    let operations = saturating_sum(second.counts.iter().copied());
    let neighbors = second.neighbors.unwrap_or_default();
    let (device, is_log_device) = busier_device(second);
    let seen = device.unwrap_or_default();
    let machine_s = context.cores * span_s;
    let available_s = context.cores.min(context.workers.max(1.0)) * span_s;
    Evidence {
        cpu_share: over(cpu_s, available_s),
        kernel_share: over(second.system_cpu_s, cpu_s),
        harness_share: if context.is_all_harness {
            1.0
        } else {
            over(operations as f64 * context.harness_s_per_operation, cpu_s)
        },
        others_share: over(neighbors.cpu_s, machine_s),
        kernel_threads_share: over(neighbors.kernel_s.unwrap_or_default(), machine_s),
        steal_share: over(neighbors.steal_s, machine_s),
        run_delay_share: second
            .run_delay_s
            .map(|delay_s| over(delay_s, context.workers.max(1.0) * span_s)),
        is_log_device,
        device_busy_share: device.map(|device| over(device.busy_s, span_s)),
        device_queue: device.and_then(|device| Some(device.queue_s? / span_s)),
        flushes_per_s: seen.flushes.unwrap_or_default() as f64 / span_s,
        reads_per_s: seen.reads as f64 / span_s,
        written_bytes_per_s: seen.written_bytes as f64 / span_s,
        io_wait_share: second.io_wait_share,
        io_pressure_share: second
            .pressure
            .map_or(0.0, |pressure| over(pressure.io_some_s, span_s)),
        voluntary_switches_per_s: second.voluntary_context_switches as f64 / span_s,
    }
}

/// The device that had more to do, and whether that is the log's own.
fn busier_device(second: &TimelineSecond) -> (Option<Device>, bool) {
    match (second.device, second.log_device) {
        (Some(data), Some(log)) if log.busy_s > data.busy_s => (Some(log), true),
        (None, Some(log)) => (Some(log), true),
        (data, _) => (data, false),
    }
}

/// Whether other programs use the processors that the workers need. A neighbor's load does not
/// matter to workers that mostly wait for something else, so the time that they waited for a
/// processor decides, if known.
fn is_disturbed_by_neighbors(seen: &Evidence, ours: f64) -> bool {
    let theirs = seen.others_share + seen.steal_share;
    let suffers = match seen.run_delay_share {
        // A guest's scheduler does not count time that the hypervisor withholds as waiting.
        Some(delay) => delay + seen.steal_share >= 0.2,
        None => ours + theirs >= 0.85,
    };
    suffers && theirs >= 0.2
}

/// Above this many flushes per second a wait is so short that sampling often misses it.
const FAST_FLUSHES_PER_S: f64 = 1_000.0;

/// Whether the workers wait for a device. Samples of the workers decide; without them a device or a
/// machine that is busy with I/O, although that may be a neighbor's.
fn waits_for_device(seen: &Evidence) -> bool {
    match seen.io_wait_share {
        Some(share) => share >= 0.3 || (share > 0.0 && waits_are_short(seen)),
        None => seen.device_busy_share.unwrap_or_default() >= 0.5 || seen.io_pressure_share >= 0.3,
    }
}

/// Whether the device flushes so fast that sampling misses most waits, the workers yielded the
/// processor as often as it flushed, and the machine as a whole waited for I/O.
fn waits_are_short(seen: &Evidence) -> bool {
    seen.flushes_per_s >= FAST_FLUSHES_PER_S
        && seen.voluntary_switches_per_s >= seen.flushes_per_s
        && seen.io_pressure_share >= 0.3
}

/// The rules, in order. The first that fits names the bottleneck.
#[must_use]
pub fn judge(seen: &Evidence, context: &TrialContext) -> Bottleneck {
    let waits_for_device = waits_for_device(seen);
    let ours = seen.cpu_share * context.cores.min(context.workers.max(1.0)) / context.cores;
    let with_kernel = ours + seen.kernel_threads_share;
    if is_disturbed_by_neighbors(seen, with_kernel) {
        return Bottleneck::NoisyNeighbors;
    }
    if seen.cpu_share >= 0.8 {
        return match (seen.harness_share >= 0.5, seen.kernel_share >= 0.5) {
            (true, _) => Bottleneck::Harness,
            // A worker that flushes burns kernel time and waits; one that only burns it is
            // CPU-bound.
            (false, true) => Bottleneck::CpuInKernel,
            (false, false) => Bottleneck::CpuInEngine,
        };
    }
    if with_kernel >= 0.85 {
        let in_kernel = ours * seen.kernel_share + seen.kernel_threads_share;
        return if in_kernel * 2.0 >= with_kernel {
            Bottleneck::CpuInKernel
        } else {
            Bottleneck::CpuInEngine
        };
    }
    if context.keeps_rate && seen.cpu_share < 0.7 && !waits_for_device {
        return Bottleneck::OfferedLoad;
    }
    if waits_for_device {
        return device_bound(seen);
    }
    let per_worker = seen.voluntary_switches_per_s / context.workers.max(1.0);
    if context.workers > 1.0 && !context.has_server && per_worker >= 20.0 {
        return Bottleneck::SingleWriterLock;
    }
    let is_busy = seen.cpu_share >= 0.6;
    if is_busy && seen.kernel_share >= 0.5 {
        Bottleneck::CpuInKernel
    } else if is_busy {
        Bottleneck::CpuInEngine
    } else {
        Bottleneck::Unclear
    }
}

/// Distinguishes log flushes from data I/O: a flush with few bytes belongs to a log.
fn device_bound(seen: &Evidence) -> Bottleneck {
    const LOG_BYTES: f64 = 512.0 * 1024.0;
    let bytes_per_flush = seen.written_bytes_per_s / seen.flushes_per_s.max(1.0);
    if seen.flushes_per_s >= 5.0 && bytes_per_flush < LOG_BYTES {
        Bottleneck::LogFlush
    } else if seen.reads_per_s * 4096.0 > seen.written_bytes_per_s {
        Bottleneck::RandomRead
    } else {
        Bottleneck::WriteBack
    }
}

fn mean(seen: &[Evidence]) -> Evidence {
    let count = seen.len().max(1) as f64;
    let of = |value: fn(&Evidence) -> f64| seen.iter().map(value).sum::<f64>() / count;
    let known = |value: fn(&Evidence) -> Option<f64>| {
        let values: Vec<f64> = seen.iter().filter_map(value).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    let of_log = seen.iter().filter(|one| one.is_log_device).count();
    Evidence {
        cpu_share: of(|one| one.cpu_share),
        kernel_share: of(|one| one.kernel_share),
        harness_share: of(|one| one.harness_share),
        others_share: of(|one| one.others_share),
        steal_share: of(|one| one.steal_share),
        kernel_threads_share: of(|one| one.kernel_threads_share),
        is_log_device: of_log * 2 > seen.len(),
        device_busy_share: known(|one| one.device_busy_share),
        device_queue: known(|one| one.device_queue),
        io_wait_share: known(|one| one.io_wait_share),
        run_delay_share: known(|one| one.run_delay_share),
        flushes_per_s: of(|one| one.flushes_per_s),
        reads_per_s: of(|one| one.reads_per_s),
        written_bytes_per_s: of(|one| one.written_bytes_per_s),
        io_pressure_share: of(|one| one.io_pressure_share),
        voluntary_switches_per_s: of(|one| one.voluntary_switches_per_s),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueput_record::accounting::{OtherPrograms, Pressure};

    const SETTING: TrialContext = TrialContext {
        cores: 2.0,
        workers: 4.0,
        harness_s_per_operation: 30e-9,
        is_all_harness: false,
        has_server: false,
        keeps_rate: false,
    };

    fn second(at_s: f64, user_cpu_s: f64, system_cpu_s: f64) -> TimelineSecond {
        TimelineSecond {
            at_s,
            counts: vec![10_000],
            user_cpu_s,
            system_cpu_s,
            device: Some(Device::default()),
            neighbors: Some(OtherPrograms::default()),
            ..TimelineSecond::default()
        }
    }

    fn bottleneck_of(second: TimelineSecond) -> Bottleneck {
        intervals(&[second], &SETTING)[0].bottleneck
    }

    /// CPU time of other programs in a second, if notable.
    fn others(cpu_s: f64) -> Option<OtherPrograms> {
        Some(OtherPrograms {
            cpu_s,
            ..OtherPrograms::default()
        })
    }

    /// A device that flushes.
    fn flushing() -> Device {
        Device {
            flushes: Some(1_000),
            writes: 2_000,
            written_bytes: 8 << 20,
            busy_s: 0.9,
            ..Device::default()
        }
    }

    /// A device that reads at random.
    fn reading(busy_s: f64) -> Device {
        Device {
            reads: 20_000,
            read_bytes: 80 << 20,
            busy_s,
            ..Device::default()
        }
    }

    /// A device that writes without flushes.
    fn writing() -> Device {
        Device {
            writes: 900,
            written_bytes: 200 << 20,
            busy_s: 0.9,
            ..Device::default()
        }
    }

    fn on_device(mut second: TimelineSecond, device: Device) -> TimelineSecond {
        second.device = Some(device);
        second
    }

    #[test]
    fn busy_processors_are_told_by_where_they_are_busy() {
        assert_eq!(
            bottleneck_of(second(1.0, 1.8, 0.1)),
            Bottleneck::CpuInEngine
        );
        assert_eq!(
            bottleneck_of(second(1.0, 0.5, 1.4)),
            Bottleneck::CpuInKernel
        );
        let mut harness = second(1.0, 1.8, 0.1);
        harness.counts = vec![50_000_000];
        assert_eq!(bottleneck_of(harness), Bottleneck::Harness);
    }

    #[test]
    fn neighbors_are_named_where_they_take_what_the_workers_lack() {
        let mut hogged = second(1.0, 1.0, 0.1);
        hogged.neighbors = others(0.8);
        assert_eq!(bottleneck_of(hogged), Bottleneck::NoisyNeighbors);
        let mut crowded = second(1.0, 0.2, 0.1);
        crowded.neighbors = others(0.5);
        crowded.voluntary_context_switches = 10_000;
        assert_ne!(bottleneck_of(crowded), Bottleneck::NoisyNeighbors);
    }

    #[test]
    fn workers_that_seldom_wait_for_a_processor_do_not_suffer_from_neighbors() {
        let mut crowded = second(1.0, 0.2, 0.2);
        crowded.neighbors = others(1.5);
        crowded.io_wait_share = Some(0.9);
        crowded.device = Some(Device {
            flushes: Some(1_000),
            busy_s: 0.9,
            ..Device::default()
        });
        assert_eq!(bottleneck_of(crowded.clone()), Bottleneck::NoisyNeighbors);
        crowded.run_delay_s = Some(0.2);
        assert_eq!(bottleneck_of(crowded.clone()), Bottleneck::LogFlush);
        crowded.run_delay_s = Some(1.2);
        assert_eq!(bottleneck_of(crowded.clone()), Bottleneck::NoisyNeighbors);
        // More threads than processors wait for each other, without any neighbor.
        crowded.neighbors = Some(OtherPrograms::default());
        assert_eq!(bottleneck_of(crowded), Bottleneck::LogFlush);
    }

    #[test]
    fn a_busy_device_is_told_by_what_it_does() {
        let on = |device| bottleneck_of(on_device(second(1.0, 0.2, 0.3), device));
        assert_eq!(on(flushing()), Bottleneck::LogFlush);
        assert_eq!(on(reading(0.9)), Bottleneck::RandomRead);
        assert_eq!(on(writing()), Bottleneck::WriteBack);
    }

    #[test]
    fn workers_that_wait_while_all_else_has_room_wait_for_each_other() {
        let mut waiting = second(1.0, 0.9, 0.1);
        waiting.voluntary_context_switches = 5_000;
        assert_eq!(bottleneck_of(waiting), Bottleneck::SingleWriterLock);
        let mut idle = second(1.0, 0.1, 0.1);
        idle.voluntary_context_switches = 5_000;
        let of = |setting: TrialContext| intervals(&[idle.clone()], &setting)[0].bottleneck;
        let single = TrialContext {
            workers: 1.0,
            ..SETTING
        };
        assert_eq!(of(single), Bottleneck::Unclear);
        let clients = TrialContext {
            has_server: true,
            ..SETTING
        };
        assert_eq!(of(clients), Bottleneck::Unclear);
        let paced = TrialContext {
            keeps_rate: true,
            ..SETTING
        };
        assert_eq!(of(paced), Bottleneck::OfferedLoad);
    }

    #[test]
    fn all_that_the_null_engine_takes_is_the_harnesss() {
        let null = TrialContext {
            is_all_harness: true,
            ..SETTING
        };
        let found = intervals(&[second(1.0, 1.8, 0.1)], &null);
        assert_eq!(found[0].bottleneck, Bottleneck::Harness);
    }

    #[test]
    fn the_kernels_threads_are_no_neighbors_and_fill_the_processors_all_the_same() {
        let mut working = second(1.0, 0.3, 0.8);
        working.neighbors = Some(OtherPrograms {
            kernel_s: Some(0.7),
            ..OtherPrograms::default()
        });
        assert_eq!(bottleneck_of(working.clone()), Bottleneck::CpuInKernel);
        (working.user_cpu_s, working.system_cpu_s) = (1.1, 0.1);
        assert_eq!(bottleneck_of(working.clone()), Bottleneck::CpuInEngine);
        // Older records have them among the others.
        working.neighbors = others(0.7);
        assert_eq!(bottleneck_of(working), Bottleneck::NoisyNeighbors);
    }

    #[test]
    fn a_device_that_neighbors_keep_busy_does_not_hold_workers_that_wait_for_each_other() {
        let mut waiting = on_device(second(1.0, 0.9, 0.1), writing());
        waiting.voluntary_context_switches = 5_000;
        assert_eq!(bottleneck_of(waiting.clone()), Bottleneck::WriteBack);
        waiting.io_wait_share = Some(0.1);
        assert_eq!(bottleneck_of(waiting.clone()), Bottleneck::SingleWriterLock);
        waiting.io_wait_share = Some(0.4);
        assert_eq!(bottleneck_of(waiting), Bottleneck::WriteBack);
    }

    #[test]
    fn waits_too_short_for_most_looks_are_known_by_flushes_switches_and_pressure() {
        let fast = Device {
            busy_s: 0.6,
            writes: 7_000,
            flushes: Some(7_000),
            written_bytes: 30 << 20,
            ..Device::default()
        };
        let mut waiting = on_device(second(1.0, 0.1, 0.4), fast);
        waiting.voluntary_context_switches = 14_000;
        waiting.io_wait_share = Some(0.1);
        let pressure = |io_some_s| {
            Some(Pressure {
                io_some_s,
                ..Pressure::default()
            })
        };
        waiting.pressure = pressure(0.4);
        assert_eq!(bottleneck_of(waiting.clone()), Bottleneck::LogFlush);
        // Without any one of the four it is not taken for a wait.
        let mut without = [(); 4].map(|()| waiting.clone());
        without[0].pressure = pressure(0.1);
        without[1].io_wait_share = Some(0.0);
        without[2].voluntary_context_switches = 6_000;
        without[3].device = Some(Device {
            flushes: Some(900),
            ..fast
        });
        for without in without {
            assert_ne!(bottleneck_of(without), Bottleneck::LogFlush);
        }
    }

    #[test]
    fn a_log_on_a_device_of_its_own_is_judged_by_that_device() {
        let mut apart = on_device(second(1.0, 0.2, 0.3), reading(0.3));
        apart.io_wait_share = Some(0.9);
        assert_eq!(bottleneck_of(apart.clone()), Bottleneck::RandomRead);
        apart.log_device = Some(flushing());
        let found = intervals(&[apart], &SETTING);
        assert_eq!(found[0].bottleneck, Bottleneck::LogFlush);
        assert!(found[0].evidence.is_log_device);
        assert_eq!(found[0].evidence.device_busy_share, Some(0.9));
    }

    #[test]
    fn a_run_that_turns_io_bound_says_when() {
        let mut timeline: Vec<_> = (1..=4).map(|at| second(f64::from(at), 1.9, 0.0)).collect();
        timeline.extend((5..=9).map(|at| on_device(second(f64::from(at), 0.2, 0.2), writing())));
        let found = intervals(&timeline, &SETTING);
        assert_eq!(found.len(), 2);
        assert_eq!(io_bound_from_s(&found), Some(4.0));
        assert_eq!(
            verdict(&found).map(|(bottleneck, _)| bottleneck),
            Some(Bottleneck::WriteBack)
        );
        assert_eq!(io_bound_from_s(&found[..1]), None);
        assert_eq!((found[1].from_s, found[1].to_s), (4.0, 9.0));
    }

    #[test]
    fn a_remainder_too_short_to_sample_says_nothing() {
        let timeline = [second(1.0, 1.9, 0.0), second(1.1, 0.0, 0.0)];
        assert_eq!(intervals(&timeline, &SETTING).len(), 1);
        assert_eq!(verdict(&[]), None);
    }
}
