//! What held a trial, second by second, with the evidence: rules over what was sampled, in the order
//! in which they stand in [`judge`]. `docs/METHOD.md` says why each threshold is where it is.

use serde::Serialize;
use std::fmt;
use trueput_record::measurement::TimelineSecond;

/// What held the workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bottleneck {
    /// Programs that are not ours, or the hypervisor, had the processors.
    NoisyNeighbours,
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
    /// An open loop whose work was done: nothing held it.
    OfferedLoad,
    /// None of the rules fits.
    Unclear,
}

impl Bottleneck {
    /// In words, as they stand after "held by".
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::NoisyNeighbours => "noisy neighbours",
            Self::Harness => "the harness",
            Self::CpuInEngine => "CPU in the engine",
            Self::CpuInKernel => "CPU in the kernel",
            Self::LogFlush => "log flush",
            Self::RandomRead => "random read",
            Self::WriteBack => "write-back",
            Self::SingleWriterLock => "a lock between the workers",
            Self::OfferedLoad => "the offered load alone",
            Self::Unclear => "nothing that was seen",
        }
    }

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

/// What the rules must know beside the samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Setting {
    /// Processors of the machine.
    pub cores: f64,
    /// Workers of the trial, those that the workload added included.
    pub workers: f64,
    /// What the harness itself costs per operation, seconds; 0 where it was not measured.
    pub harness_s_per_operation: f64,
    /// Whether an open loop set the pace, and kept it.
    pub keeps_rate: bool,
}

/// Shares and rates of one second that the rules look at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Evidence {
    /// The workers' CPU over what they could have had.
    pub cpu_share: f64,
    /// The part of their CPU that was inside the kernel.
    pub kernel_share: f64,
    /// The part of their CPU that the harness itself needs for so many operations.
    pub harness_share: f64,
    /// CPU of programs that are not ours over the machine's.
    pub others_share: f64,
    /// What the hypervisor withheld over the machine's.
    pub steal_share: f64,
    /// The part of the time in which the device had something to do; `None` where none is seen.
    pub device_busy_share: Option<f64>,
    /// Flushes of the device per second.
    pub flushes_per_s: f64,
    /// Reads of the device per second.
    pub reads_per_s: f64,
    /// Bytes written by the device per second.
    pub written_bytes_per_s: f64,
    /// The part of the time in which some task waited for I/O.
    pub io_pressure_share: f64,
    /// Times per second that a worker gave up its processor, over all workers.
    pub voluntary_switches_per_s: f64,
}

/// A stretch of a trial that one thing held.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Stretch {
    /// Where it began, seconds since the release.
    pub from_s: f64,
    /// Where it ended.
    pub to_s: f64,
    /// What held it.
    pub bottleneck: Bottleneck,
    /// The means of what was seen.
    pub evidence: Evidence,
}

impl fmt::Display for Stretch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            from_s,
            to_s,
            bottleneck,
            evidence,
        } = self;
        let percent = |share: f64| format!("{:.0} %", share * 100.0);
        write!(
            formatter,
            "{from_s:.0} to {to_s:.0} s: {} (workers' CPU {}, of it in the kernel {}",
            bottleneck.words(),
            percent(evidence.cpu_share),
            percent(evidence.kernel_share),
        )?;
        if let Some(busy) = evidence.device_busy_share {
            write!(
                formatter,
                "; device busy {}, {:.0} flushes/s, {:.0} reads/s, {:.1} MB/s written",
                percent(busy),
                evidence.flushes_per_s,
                evidence.reads_per_s,
                evidence.written_bytes_per_s / 1e6,
            )?;
        }
        write!(
            formatter,
            "; waits {:.0}/s; others {}, steal {})",
            evidence.voluntary_switches_per_s,
            percent(evidence.others_share),
            percent(evidence.steal_share),
        )
    }
}

/// What held each stretch of a trial, and the means of what was seen in it. Seconds shorter than a
/// quarter are left out: their samples are too coarse.
#[must_use]
pub fn stretches(timeline: &[TimelineSecond], setting: &Setting) -> Vec<Stretch> {
    let mut found: Vec<(Stretch, Vec<Evidence>)> = Vec::new();
    let mut from_s = 0.0;
    for second in timeline {
        let span_s = second.at_s - from_s;
        if span_s >= 0.25 {
            let evidence = evidence(second, span_s, setting);
            let bottleneck = judge(&evidence, setting);
            match found.last_mut() {
                Some((last, seen)) if last.bottleneck == bottleneck => {
                    last.to_s = second.at_s;
                    seen.push(evidence);
                }
                _ => {
                    let stretch = Stretch {
                        from_s,
                        to_s: second.at_s,
                        bottleneck,
                        evidence,
                    };
                    found.push((stretch, vec![evidence]));
                }
            }
        }
        from_s = second.at_s;
    }
    let meant = found.into_iter().map(|(mut stretch, seen)| {
        stretch.evidence = mean(&seen);
        stretch
    });
    meant.collect()
}

/// What held the longest part of a trial, and for which share of it.
#[must_use]
pub fn verdict(stretches: &[Stretch]) -> Option<(Bottleneck, f64)> {
    let total: f64 = stretches
        .iter()
        .map(|stretch| stretch.to_s - stretch.from_s)
        .sum();
    let mut spans = std::collections::BTreeMap::new();
    for stretch in stretches {
        *spans.entry(stretch.bottleneck).or_insert(0.0) += stretch.to_s - stretch.from_s;
    }
    let longest = spans
        .into_iter()
        .max_by(|one, other| f64::total_cmp(&one.1, &other.1))?;
    (total > 0.0).then(|| (longest.0, longest.1 / total))
}

/// When the processors ceased to set the pace and the device began to, seconds: the end of the last
/// second that the processors held, where at least a tenth of the trial was held by each.
#[must_use]
pub fn turns_io_bound(stretches: &[Stretch]) -> Option<f64> {
    let span = |of: fn(Bottleneck) -> bool| -> f64 {
        let held = stretches.iter().filter(|stretch| of(stretch.bottleneck));
        held.map(|stretch| stretch.to_s - stretch.from_s).sum()
    };
    let total = span(|_| true);
    let both = span(Bottleneck::is_cpu) >= total / 10.0 && span(Bottleneck::is_io) >= total / 10.0;
    let first_io = stretches
        .iter()
        .position(|stretch| stretch.bottleneck.is_io())?;
    let begins_with_cpu = stretches[..first_io]
        .iter()
        .any(|stretch| stretch.bottleneck.is_cpu());
    (both && begins_with_cpu).then(|| stretches[first_io].from_s)
}

fn evidence(second: &TimelineSecond, span_s: f64, setting: &Setting) -> Evidence {
    let cpu_s = second.user_cpu_s + second.system_cpu_s;
    let over = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
    let operations: u64 = second.counts.iter().sum();
    let neighbours = second.neighbours.unwrap_or_default();
    let device = second.device.unwrap_or_default();
    let machine_s = setting.cores * span_s;
    let available_s = setting.cores.min(setting.workers.max(1.0)) * span_s;
    Evidence {
        cpu_share: over(cpu_s, available_s),
        kernel_share: over(second.system_cpu_s, cpu_s),
        harness_share: over(operations as f64 * setting.harness_s_per_operation, cpu_s),
        others_share: over(neighbours.cpu_s, machine_s),
        steal_share: over(neighbours.steal_s, machine_s),
        device_busy_share: second.device.map(|device| over(device.busy_s, span_s)),
        flushes_per_s: device.flushes.unwrap_or_default() as f64 / span_s,
        reads_per_s: device.reads as f64 / span_s,
        written_bytes_per_s: device.written_bytes as f64 / span_s,
        io_pressure_share: second
            .pressure
            .map_or(0.0, |pressure| over(pressure.io_some_s, span_s)),
        voluntary_switches_per_s: second.voluntary_context_switches as f64 / span_s,
    }
}

/// The rules, in order. The first that fits names the bottleneck.
#[must_use]
pub fn judge(seen: &Evidence, setting: &Setting) -> Bottleneck {
    let busy = seen.device_busy_share.unwrap_or_default();
    let waits_for_device = busy >= 0.5 || seen.io_pressure_share >= 0.3;
    let ours = seen.cpu_share * setting.cores.min(setting.workers.max(1.0)) / setting.cores;
    let machine_is_full = ours + seen.others_share + seen.steal_share >= 0.85;
    if machine_is_full && seen.others_share + seen.steal_share >= 0.2 {
        return Bottleneck::NoisyNeighbours;
    }
    if seen.cpu_share >= 0.8 {
        return match (seen.harness_share >= 0.5, seen.kernel_share >= 0.5) {
            (true, _) => Bottleneck::Harness,
            // A worker that flushes burns kernel time and waits; one that only burns it is CPU-bound.
            (false, true) => Bottleneck::CpuInKernel,
            (false, false) => Bottleneck::CpuInEngine,
        };
    }
    if setting.keeps_rate && seen.cpu_share < 0.7 && !waits_for_device {
        return Bottleneck::OfferedLoad;
    }
    if waits_for_device {
        return device_bound(seen);
    }
    let per_worker = seen.voluntary_switches_per_s / setting.workers.max(1.0);
    if setting.workers > 1.0 && per_worker >= 20.0 {
        return Bottleneck::SingleWriterLock;
    }
    match seen.cpu_share >= 0.6 {
        true if seen.kernel_share >= 0.5 => Bottleneck::CpuInKernel,
        true => Bottleneck::CpuInEngine,
        false => Bottleneck::Unclear,
    }
}

/// Which use of the device was waited for: a flush that few bytes go with is a log's.
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
    let busy: Vec<f64> = seen
        .iter()
        .filter_map(|one| one.device_busy_share)
        .collect();
    Evidence {
        cpu_share: of(|one| one.cpu_share),
        kernel_share: of(|one| one.kernel_share),
        harness_share: of(|one| one.harness_share),
        others_share: of(|one| one.others_share),
        steal_share: of(|one| one.steal_share),
        device_busy_share: (!busy.is_empty()).then(|| busy.iter().sum::<f64>() / busy.len() as f64),
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
    use trueput_record::accounting::{Device, Neighbours};

    const SETTING: Setting = Setting {
        cores: 2.0,
        workers: 4.0,
        harness_s_per_operation: 30e-9,
        keeps_rate: false,
    };

    fn second(at_s: f64, user_cpu_s: f64, system_cpu_s: f64) -> TimelineSecond {
        TimelineSecond {
            at_s,
            counts: vec![10_000],
            user_cpu_s,
            system_cpu_s,
            device: Some(Device::default()),
            neighbours: Some(Neighbours::default()),
            ..TimelineSecond::default()
        }
    }

    fn held(second: TimelineSecond) -> Bottleneck {
        stretches(&[second], &SETTING)[0].bottleneck
    }

    fn on_device(mut second: TimelineSecond, device: Device) -> TimelineSecond {
        second.device = Some(device);
        second
    }

    #[test]
    fn busy_processors_are_told_by_where_they_are_busy() {
        assert_eq!(held(second(1.0, 1.8, 0.1)), Bottleneck::CpuInEngine);
        assert_eq!(held(second(1.0, 0.5, 1.4)), Bottleneck::CpuInKernel);
        let mut harness = second(1.0, 1.8, 0.1);
        harness.counts = vec![50_000_000];
        assert_eq!(held(harness), Bottleneck::Harness);
    }

    #[test]
    fn neighbours_are_named_where_they_take_what_the_workers_lack() {
        let mut hogged = second(1.0, 1.0, 0.1);
        hogged.neighbours = Some(Neighbours {
            cpu_s: 0.8,
            steal_s: 0.0,
        });
        assert_eq!(held(hogged), Bottleneck::NoisyNeighbours);
        let mut beside = second(1.0, 0.2, 0.1);
        beside.neighbours = Some(Neighbours {
            cpu_s: 0.5,
            steal_s: 0.0,
        });
        beside.voluntary_context_switches = 10_000;
        assert_ne!(held(beside), Bottleneck::NoisyNeighbours);
    }

    #[test]
    fn a_busy_device_is_told_by_what_it_does() {
        let busy = Device {
            busy_s: 0.9,
            ..Device::default()
        };
        let flushing = Device {
            flushes: Some(1_000),
            writes: 2_000,
            written_bytes: 8 << 20,
            ..busy
        };
        assert_eq!(
            held(on_device(second(1.0, 0.2, 0.3), flushing)),
            Bottleneck::LogFlush
        );
        let reading = Device {
            reads: 20_000,
            read_bytes: 80 << 20,
            ..busy
        };
        assert_eq!(
            held(on_device(second(1.0, 0.2, 0.3), reading)),
            Bottleneck::RandomRead
        );
        let writing = Device {
            writes: 900,
            written_bytes: 200 << 20,
            ..busy
        };
        assert_eq!(
            held(on_device(second(1.0, 0.2, 0.3), writing)),
            Bottleneck::WriteBack
        );
    }

    #[test]
    fn workers_that_wait_while_all_else_has_room_wait_for_each_other() {
        let mut waiting = second(1.0, 0.9, 0.1);
        waiting.voluntary_context_switches = 5_000;
        assert_eq!(held(waiting), Bottleneck::SingleWriterLock);
        let alone = Setting {
            workers: 1.0,
            ..SETTING
        };
        let mut idle = second(1.0, 0.1, 0.1);
        idle.voluntary_context_switches = 5_000;
        assert_eq!(
            stretches(&[idle.clone()], &alone)[0].bottleneck,
            Bottleneck::Unclear
        );
        let paced = Setting {
            keeps_rate: true,
            ..SETTING
        };
        assert_eq!(
            stretches(&[idle], &paced)[0].bottleneck,
            Bottleneck::OfferedLoad
        );
    }

    #[test]
    fn a_run_that_turns_io_bound_says_when() {
        let busy = Device {
            busy_s: 0.9,
            writes: 900,
            written_bytes: 200 << 20,
            ..Device::default()
        };
        let mut timeline: Vec<_> = (1..=4).map(|at| second(f64::from(at), 1.9, 0.0)).collect();
        timeline.extend((5..=9).map(|at| on_device(second(f64::from(at), 0.2, 0.2), busy)));
        let found = stretches(&timeline, &SETTING);
        assert_eq!(found.len(), 2);
        assert_eq!(turns_io_bound(&found), Some(4.0));
        assert_eq!(
            verdict(&found).map(|(held, _)| held),
            Some(Bottleneck::WriteBack)
        );
        assert_eq!(turns_io_bound(&found[..1]), None);
        assert!(
            found[1].to_string().starts_with("4 to 9 s: write-back"),
            "{}",
            found[1]
        );
    }

    #[test]
    fn a_remainder_too_short_to_sample_says_nothing() {
        let timeline = [second(1.0, 1.9, 0.0), second(1.1, 0.0, 0.0)];
        assert_eq!(stretches(&timeline, &SETTING).len(), 1);
        assert_eq!(verdict(&[]), None);
    }
}
