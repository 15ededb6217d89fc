//! A stretch in words: what held it, and the figures that the rule for that looked at.

use super::{Bottleneck, BottleneckInterval, Evidence};
use std::fmt;

impl fmt::Display for BottleneckInterval {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (from_s, to_s, held_by) = (self.from_s, self.to_s, self.bottleneck.words());
        let evidence = self.evidence.told(self.bottleneck).join(", ");
        write!(
            formatter,
            "{from_s:.0} to {to_s:.0} s: {held_by} ({evidence})"
        )
    }
}

impl Evidence {
    /// What [`super::judge`] went by for this verdict; all that was seen where no rule fitted.
    fn told(&self, verdict: Bottleneck) -> Vec<String> {
        match verdict {
            Bottleneck::NoisyNeighbors => [self.neighbors(), self.lacking()].concat(),
            Bottleneck::Harness => {
                let harness = format!("harness {} of it", per_cent(self.harness_share));
                vec![self.cpu(), harness]
            }
            Bottleneck::CpuInEngine | Bottleneck::CpuInKernel => self.processors(),
            Bottleneck::LogFlush | Bottleneck::RandomRead | Bottleneck::WriteBack => {
                [self.waiting(), self.device()].concat()
            }
            Bottleneck::SingleWriterLock => {
                [vec![self.cpu(), self.switches()], self.waiting()].concat()
            }
            Bottleneck::OfferedLoad => [vec![self.cpu()], self.waiting()].concat(),
            Bottleneck::Unclear => [
                self.processors(),
                vec![self.switches()],
                self.waiting(),
                self.device(),
                self.neighbors(),
            ]
            .concat(),
        }
    }

    fn cpu(&self) -> String {
        format!("worker CPU {}", per_cent(self.cpu_share))
    }

    fn processors(&self) -> Vec<String> {
        vec![
            self.cpu(),
            format!("kernel {} of it", per_cent(self.kernel_share)),
            self.kernel_threads(),
        ]
    }

    fn kernel_threads(&self) -> String {
        format!("kernel threads {}", per_cent(self.kernel_threads_share))
    }

    fn switches(&self) -> String {
        format!("waits {:.0}/s", self.voluntary_switches_per_s)
    }

    /// Whether the workers waited for I/O; in older records, whether the device and the machine
    /// were busy with it.
    fn waiting(&self) -> Vec<String> {
        let seen = self
            .io_wait_share
            .map(|share| ("samples waiting for I/O", share));
        let (what, share) = seen.unwrap_or(("I/O pressure", self.io_pressure_share));
        vec![format!("{what} {}", per_cent(share))]
    }

    fn device(&self) -> Vec<String> {
        let Some(busy) = self.device_busy_share else {
            return Vec::new();
        };
        let whose = if self.is_log_device { "log's " } else { "" };
        let mut told = vec![format!("{whose}device busy {}", per_cent(busy))];
        told.extend(self.device_queue.map(|queue| format!("queue {queue:.1}")));
        told.extend([
            format!("{:.0} flushes/s", self.flushes_per_s),
            format!("{:.0} reads/s", self.reads_per_s),
            format!("{:.1} MB/s written", self.written_bytes_per_s / 1e6),
        ]);
        told
    }

    fn neighbors(&self) -> Vec<String> {
        vec![
            format!("others {}", per_cent(self.others_share)),
            format!("steal {}", per_cent(self.steal_share)),
        ]
    }

    /// How long the workers waited for a processor; in older records, what they had of them.
    fn lacking(&self) -> Vec<String> {
        match self.run_delay_share {
            Some(share) => vec![format!("waiting for a CPU {}", per_cent(share))],
            None => vec![self.cpu(), self.kernel_threads()],
        }
    }
}

fn per_cent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(bottleneck: Bottleneck) -> String {
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
        let stretch = BottleneckInterval {
            from_s: 3.0,
            to_s: 8.0,
            bottleneck,
            evidence,
        };
        stretch.to_string()
    }

    #[test]
    fn a_stretch_tells_what_its_rule_looked_at_and_no_more() {
        assert_eq!(
            told(Bottleneck::LogFlush),
            "3 to 8 s: log flush (samples waiting for I/O 66 %, log's device busy 72 %, queue \
             1.2, 812 flushes/s, 3 reads/s, 2.5 MB/s written)"
        );
        assert_eq!(
            told(Bottleneck::CpuInEngine),
            "3 to 8 s: CPU in the engine (worker CPU 91 %, kernel 12 % of it, kernel threads 4 %)"
        );
        assert_eq!(
            told(Bottleneck::NoisyNeighbors),
            "3 to 8 s: noisy neighbors (others 23 %, steal 1 %, waiting for a CPU 31 %)"
        );
        assert_eq!(
            told(Bottleneck::Harness),
            "3 to 8 s: the harness (worker CPU 91 %, harness 55 % of it)"
        );
        assert_eq!(
            told(Bottleneck::SingleWriterLock),
            "3 to 8 s: lock contention between workers (worker CPU 91 %, waits 1624/s, samples \
             waiting for I/O 66 %)"
        );
    }

    #[test]
    fn where_no_rule_fitted_everything_is_told() {
        let all = told(Bottleneck::Unclear);
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
