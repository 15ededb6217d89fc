//! Once a second, what the worker processes use.

use crate::host::process::{self, Cpu, Io, Memory};

/// What the worker processes of a trial used since the release, and their memory at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Sample {
    /// CPU seconds.
    pub cpu: Cpu,
    /// Bytes moved.
    pub io: Io,
    /// Memory of those that live.
    pub memory: Memory,
}

/// What is known of one process.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    cpu: Cpu,
    io: Io,
}

/// Samples worker processes.
pub(crate) struct Sampler {
    processes: Vec<(u32, Seen, Seen)>,
    samples: Vec<Sample>,
}

impl Sampler {
    /// Notes where the processes `pids` stand at the release.
    pub fn new(pids: Vec<u32>) -> Self {
        let stand = |pid| {
            let seen = look(pid, Seen::default());
            (pid, seen, seen)
        };
        Self {
            processes: pids.into_iter().map(stand).collect(),
            samples: Vec::new(),
        }
    }

    /// How many whole seconds were sampled.
    pub fn seconds(&self) -> usize {
        self.samples.len()
    }

    /// Takes the sample of the next whole second. A process that has ended counts with what it had
    /// used when last seen, and without memory.
    pub fn sample(&mut self) {
        let mut sample = Sample::default();
        for (pid, first, last) in &mut self.processes {
            *last = look(*pid, *last);
            sample.cpu.user_s += last.cpu.user_s - first.cpu.user_s;
            sample.cpu.system_s += last.cpu.system_s - first.cpu.system_s;
            sample.io = sample.io.plus(&last.io.since(&first.io));
            let memory = process::memory(*pid).unwrap_or_default();
            sample.memory.pss_bytes += memory.pss_bytes;
            sample.memory.rss_bytes += memory.rss_bytes;
        }
        self.samples.push(sample);
    }

    /// The samples, one per whole second.
    pub fn into_samples(self) -> Vec<Sample> {
        self.samples
    }
}

fn look(pid: u32, before: Seen) -> Seen {
    Seen {
        cpu: process::cpu(pid).unwrap_or(before.cpu),
        io: process::io(pid).unwrap_or(before.io),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_ended_keeps_what_it_had_used_and_has_no_memory() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let mut sampler = Sampler::new(vec![child.id(), std::process::id()]);
        sampler.sample();
        child.kill().unwrap();
        child.wait().unwrap();
        sampler.sample();
        let samples = sampler.into_samples();
        assert!(samples[1].memory.pss_bytes > 0);
        assert!(samples[1].cpu.user_s >= samples[0].cpu.user_s);
    }
}
