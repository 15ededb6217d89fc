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

/// A process that is sampled.
struct Process {
    pid: u32,
    /// Whether a worker has started it. What such a one has read and written counts as the
    /// worker's, who waits for it, once it has ended.
    is_native: bool,
    first: Seen,
    last: Seen,
}

/// Samples worker processes.
pub(crate) struct Sampler {
    processes: Vec<Process>,
    samples: Vec<Sample>,
}

impl Sampler {
    /// Notes where the processes `pids` and the `natives` that they have started stand at the
    /// release.
    pub fn new(pids: &[u32], natives: &[u32]) -> Self {
        let stand = |pid: &u32, is_native| {
            let seen = look(*pid, Seen::default());
            Process {
                pid: *pid,
                is_native,
                first: seen,
                last: seen,
            }
        };
        let workers = pids.iter().map(|pid| stand(pid, false));
        let natives = natives.iter().map(|pid| stand(pid, true));
        Self {
            processes: workers.chain(natives).collect(),
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
        for process in &mut self.processes {
            let Process { first, last, .. } = process;
            *last = look(process.pid, *last);
            sample.cpu.user_s += last.cpu.user_s - first.cpu.user_s;
            sample.cpu.system_s += last.cpu.system_s - first.cpu.system_s;
            let memory = process::memory(process.pid);
            if memory.is_some() || !process.is_native {
                sample.io = sample.io.plus(&last.io.since(&first.io));
            }
            let memory = memory.unwrap_or_default();
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
        let mut sampler = Sampler::new(&[child.id(), std::process::id()], &[]);
        sampler.sample();
        child.kill().unwrap();
        child.wait().unwrap();
        sampler.sample();
        let samples = sampler.into_samples();
        assert!(samples[1].memory.pss_bytes > 0);
        assert!(samples[1].cpu.user_s >= samples[0].cpu.user_s);
    }
}
