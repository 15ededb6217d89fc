//! The words for bottlenecks: the cause, and an interval with its evidence.

use trueput_findings::bottleneck::{Bottleneck, BottleneckInterval, Evidence};

/// The name of a cause.
pub(crate) fn cause(bottleneck: Bottleneck) -> &'static str {
    match bottleneck {
        Bottleneck::NoisyNeighbors => "noisy neighbors",
        Bottleneck::Harness => "the harness",
        Bottleneck::CpuInEngine => "CPU in the engine",
        Bottleneck::CpuInKernel => "CPU in the kernel",
        Bottleneck::LogFlush => "log flush",
        Bottleneck::RandomRead => "random read",
        Bottleneck::WriteBack => "write-back",
        Bottleneck::SingleWriterLock => "lock contention between workers",
        Bottleneck::OfferedLoad => "offered load",
        Bottleneck::Unclear => "no cause detected",
    }
}

/// An interval: its seconds, its bottleneck and the evidence.
pub(crate) fn interval(interval: &BottleneckInterval) -> String {
    let (from_s, to_s, cause) = (interval.from_s, interval.to_s, cause(interval.bottleneck));
    let evidence = evidence_words(&interval.evidence, interval.bottleneck).join(", ");
    format!("{from_s:.0} to {to_s:.0} s: {cause} ({evidence})")
}

/// The evidence for this verdict; all evidence if no rule matched.
fn evidence_words(evidence: &Evidence, verdict: Bottleneck) -> Vec<String> {
    match verdict {
        Bottleneck::NoisyNeighbors => [neighbors(evidence), processor_waits(evidence)].concat(),
        Bottleneck::Harness => {
            let harness = format!("harness {} of it", per_cent(evidence.harness_share));
            vec![cpu(evidence), harness]
        }
        Bottleneck::CpuInEngine | Bottleneck::CpuInKernel => processors(evidence),
        Bottleneck::LogFlush | Bottleneck::RandomRead | Bottleneck::WriteBack => {
            [waiting(evidence), device(evidence)].concat()
        }
        Bottleneck::SingleWriterLock => {
            [vec![cpu(evidence), switches(evidence)], waiting(evidence)].concat()
        }
        Bottleneck::OfferedLoad => [vec![cpu(evidence)], waiting(evidence)].concat(),
        Bottleneck::Unclear => [
            processors(evidence),
            vec![switches(evidence)],
            waiting(evidence),
            device(evidence),
            neighbors(evidence),
        ]
        .concat(),
    }
}

fn cpu(evidence: &Evidence) -> String {
    format!("worker CPU {}", per_cent(evidence.cpu_share))
}

fn processors(evidence: &Evidence) -> Vec<String> {
    vec![
        cpu(evidence),
        format!("kernel {} of it", per_cent(evidence.kernel_share)),
        kernel_threads(evidence),
    ]
}

fn kernel_threads(evidence: &Evidence) -> String {
    format!("kernel threads {}", per_cent(evidence.kernel_threads_share))
}

fn switches(evidence: &Evidence) -> String {
    format!("waits {:.0}/s", evidence.voluntary_switches_per_s)
}

/// Whether the workers waited for I/O; in older records, whether the device and the machine
/// were busy with it.
fn waiting(evidence: &Evidence) -> Vec<String> {
    let seen = evidence
        .io_wait_share
        .map(|share| ("samples waiting for I/O", share));
    let (name, share) = seen.unwrap_or(("I/O pressure", evidence.io_pressure_share));
    vec![format!("{name} {}", per_cent(share))]
}

fn device(evidence: &Evidence) -> Vec<String> {
    let Some(busy) = evidence.device_busy_share else {
        return Vec::new();
    };
    let whose = if evidence.is_log_device { "log's " } else { "" };
    let mut found = vec![format!("{whose}device busy {}", per_cent(busy))];
    found.extend(
        evidence
            .device_queue
            .map(|queue| format!("queue {queue:.1}")),
    );
    found.extend([
        format!("{:.0} flushes/s", evidence.flushes_per_s),
        format!("{:.0} reads/s", evidence.reads_per_s),
        format!("{:.1} MB/s written", evidence.written_bytes_per_s / 1e6),
    ]);
    found
}

fn neighbors(evidence: &Evidence) -> Vec<String> {
    vec![
        format!("others {}", per_cent(evidence.others_share)),
        format!("steal {}", per_cent(evidence.steal_share)),
    ]
}

/// Time that the workers waited for a processor; in older records, the CPU time that they got.
fn processor_waits(evidence: &Evidence) -> Vec<String> {
    match evidence.run_delay_share {
        Some(share) => vec![format!("waiting for a CPU {}", per_cent(share))],
        None => vec![cpu(evidence), kernel_threads(evidence)],
    }
}

fn per_cent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(bottleneck: Bottleneck) -> String {
        let evidence = Evidence {
            cpu_share: 0.91,
            kernel_share: 0.12,
            harness_share: 0.55,
            others_share: 0.23,
            kernel_threads_share: 0.04,
            steal_share: 0.01,
            run_delay_share: Some(0.31),
            is_log_device: true,
            device_busy_share: Some(0.72),
            device_queue: Some(1.25),
            flushes_per_s: 812.0,
            reads_per_s: 3.0,
            written_bytes_per_s: 2.5e6,
            io_wait_share: Some(0.66),
            io_pressure_share: 0.5,
            voluntary_switches_per_s: 1_624.0,
        };
        let interval = BottleneckInterval {
            from_s: 3.0,
            to_s: 8.0,
            bottleneck,
            evidence,
        };
        super::interval(&interval)
    }

    #[test]
    fn an_interval_has_the_evidence_of_its_rule_and_no_more() {
        assert_eq!(
            found(Bottleneck::LogFlush),
            "3 to 8 s: log flush (samples waiting for I/O 66 %, log's device busy 72 %, queue \
             1.2, 812 flushes/s, 3 reads/s, 2.5 MB/s written)"
        );
        assert_eq!(
            found(Bottleneck::CpuInEngine),
            "3 to 8 s: CPU in the engine (worker CPU 91 %, kernel 12 % of it, kernel threads 4 %)"
        );
        assert_eq!(
            found(Bottleneck::NoisyNeighbors),
            "3 to 8 s: noisy neighbors (others 23 %, steal 1 %, waiting for a CPU 31 %)"
        );
        assert_eq!(
            found(Bottleneck::Harness),
            "3 to 8 s: the harness (worker CPU 91 %, harness 55 % of it)"
        );
        assert_eq!(
            found(Bottleneck::SingleWriterLock),
            "3 to 8 s: lock contention between workers (worker CPU 91 %, waits 1624/s, samples \
             waiting for I/O 66 %)"
        );
    }

    #[test]
    fn where_no_rule_fitted_everything_is_told() {
        let all = found(Bottleneck::Unclear);
        for figure in [
            "91 %",
            "12 %",
            "4 %",
            "1624/s",
            "66 %",
            "812",
            "others 23 %",
        ] {
            assert!(all.contains(figure), "{figure}: {all}");
        }
    }
}
