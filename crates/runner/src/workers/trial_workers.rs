//! The worker processes of a trial's measured part: on this host, or on others.

use crate::failure_reason::FailureReason;
use crate::hosts::error::HostError;
use crate::hosts::workers::{HostParticipation, HostWorkers};
use crate::workers::local::LocalWorkers;
use crate::workers::protocol::{Instruction, ProcessResult};
use crate::workers::worker_process::WorkerEvent;
use std::time::Duration;
use trueput_host::process::MemoryUsage;
use trueput_host::usage::ResourceUsage;

/// Worker processes.
pub(crate) enum TrialWorkers {
    /// On this host.
    Local(LocalWorkers),
    /// On other hosts.
    Hosts(HostWorkers),
}

impl TrialWorkers {
    /// Returns the number of processes.
    pub fn len(&self) -> usize {
        match self {
            Self::Local(local) => local.len(),
            Self::Hosts(remote) => remote.len(),
        }
    }

    /// Returns the processes' numbers, each on its host.
    pub fn pids(&self) -> Vec<u32> {
        match self {
            Self::Local(local) => local.pids(),
            Self::Hosts(remote) => remote.pids(),
        }
    }

    /// Returns the numbers of the processes on this host.
    pub fn local_pids(&self) -> Vec<u32> {
        match self {
            Self::Local(local) => local.pids(),
            Self::Hosts(_) => Vec::new(),
        }
    }

    /// Returns the host of a process; `None` for this one.
    pub fn host_of(&self, index: usize) -> Option<&str> {
        match self {
            Self::Local(_) => None,
            Self::Hosts(remote) => Some(remote.host_of(index)),
        }
    }

    /// Releases the workers together: all are ready.
    ///
    /// # Errors
    /// [`HostError`] with a host that does not answer.
    pub fn release(&mut self) -> Result<(), HostError> {
        match self {
            Self::Local(local) => {
                local.send_all(&Instruction::Start);
                Ok(())
            }
            Self::Hosts(remote) => remote.release(),
        }
    }

    /// Notes that the measured part has begun: the warm-up is over.
    pub fn begin_measurement(&mut self) {
        if let Self::Hosts(remote) = self {
            remote.begin_measurement();
        }
    }

    /// Sends an instruction to every process. Those on other hosts are only ever stopped: they
    /// close their databases unasked.
    pub fn send_all(&mut self, instruction: &Instruction) {
        match self {
            Self::Local(local) => local.send_all(instruction),
            Self::Hosts(remote) if matches!(instruction, Instruction::Stop) => remote.stop(),
            Self::Hosts(_) => {}
        }
    }

    /// Waits for an event of any process, at most `limit`.
    pub fn receive(&mut self, limit: Duration) -> Option<(usize, WorkerEvent)> {
        match self {
            Self::Local(local) => local.receive(limit),
            Self::Hosts(remote) => remote.receive(limit),
        }
    }

    /// Returns whether every process has ended.
    pub fn all_closed(&self) -> bool {
        match self {
            Self::Local(local) => local.all_closed(),
            Self::Hosts(remote) => remote.all_closed(),
        }
    }

    /// Kills every process that still runs.
    pub fn kill_all(&mut self) {
        match self {
            Self::Local(local) => local.kill_all(),
            Self::Hosts(remote) => remote.kill_all(),
        }
    }

    /// Waits for a process that has closed its pipe; an error says how it ended.
    pub fn exit_result(&mut self, index: usize) -> Result<(), FailureReason> {
        match self {
            Self::Local(local) => local.exit_result(index),
            Self::Hosts(remote) => match remote.failure(index) {
                None => Ok(()),
                Some(reason) => Err(reason.to_owned().into()),
            },
        }
    }

    /// Ends a process that has said why it fails, and returns what it last wrote to standard error,
    /// to follow the reason. Of one on another host that is not known.
    pub fn await_failed_exit(&mut self, index: usize) -> String {
        match self {
            Self::Local(local) => local.await_failed_exit(index),
            Self::Hosts(_) => String::new(),
        }
    }

    /// Returns resources and memory of the workers on other hosts since the measured part began.
    pub fn remote_usage(&self) -> (ResourceUsage, MemoryUsage) {
        match self {
            Self::Local(_) => Default::default(),
            Self::Hosts(remote) => remote.usage(),
        }
    }

    /// Converts all times of the results to this host's clock, and returns what each other host was
    /// in the trial.
    ///
    /// # Errors
    /// [`HostError`] with a host that does not answer.
    pub fn finish(
        &mut self,
        results: &mut [Option<ProcessResult>],
    ) -> Result<Vec<HostParticipation>, HostError> {
        match self {
            Self::Local(_) => Ok(Vec::new()),
            Self::Hosts(remote) => remote.finish(results),
        }
    }
}
