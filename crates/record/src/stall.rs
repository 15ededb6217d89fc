//! Intervals in which a part of a trial did not run: a process that was stopped, a machine that was
//! suspended.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A part of a trial that does not run for longer than this makes the trial invalid, seconds.
pub const STALL_S: f64 = 2.0;

/// A part of a trial.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StalledPart {
    /// The machine, or all processes of the trial.
    #[default]
    Machine,
    /// The process that supervises the trial.
    Runner,
    /// A worker's process.
    Worker,
    /// A process of the engine's server, or a native program of a worker.
    Server,
}

/// An interval in which a part of a trial did not run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialStall {
    /// The part.
    pub part: StalledPart,
    /// The index of the first worker in that process; absent for another part, and for all workers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<u32>,
    /// Its start, seconds since the measured part began.
    pub from_s: f64,
    /// Its length, seconds.
    pub length_s: f64,
}

impl TrialStall {
    /// Returns its end, seconds since the measured part began.
    #[must_use]
    pub fn until_s(&self) -> f64 {
        self.from_s + self.length_s
    }

    /// Returns why the trial's figures are invalid, in a sentence.
    #[must_use]
    pub fn doubt(&self) -> String {
        let part = match (self.part, self.worker) {
            (StalledPart::Worker, Some(worker)) => format!("worker {worker}"),
            (StalledPart::Worker, None) => "every worker".to_owned(),
            (StalledPart::Machine, _) => "the machine, or every process of the trial,".to_owned(),
            (StalledPart::Runner, _) => "the runner".to_owned(),
            (StalledPart::Server, _) => "a process of the engine's server".to_owned(),
        };
        format!(
            "{part} did not run for {:.1} s, from second {:.1} on",
            self.length_s, self.from_s
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stalled_part_is_named() {
        let stall = |part, worker| TrialStall {
            part,
            worker,
            from_s: 3.04,
            length_s: 20.0,
        };
        assert_eq!(
            stall(StalledPart::Worker, Some(2)).doubt(),
            "worker 2 did not run for 20.0 s, from second 3.0 on"
        );
        assert_eq!(
            stall(StalledPart::Machine, None).doubt(),
            "the machine, or every process of the trial, did not run for 20.0 s, from second 3.0 on"
        );
    }
}
