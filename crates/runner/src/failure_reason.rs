//! The reason for which a part of a trial failed.

use std::fmt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use trueput_host::process::describe_exit_status;
use trueput_record::trial::KILLED_BY_MEMORY_LIMIT;
use trueput_record::value::format_bytes;

/// The reason for which a part of a trial failed: one sentence, which may be about the end of a
/// process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FailureReason {
    /// The words before those on the end.
    before: String,
    /// How the process ended; `None` if the reason is about no process.
    end: Option<ExitStatus>,
    /// The words after those on the end.
    after: String,
}

impl FailureReason {
    /// Returns the reason that a process, which is not named yet, has ended so.
    pub fn of_end(status: ExitStatus) -> Self {
        Self {
            before: String::new(),
            end: Some(status),
            after: String::new(),
        }
    }

    /// Adds words at the beginning.
    pub fn preceded_by(mut self, words: &str) -> Self {
        self.before.insert_str(0, words);
        self
    }

    /// Adds words at the end.
    pub fn followed_by(mut self, words: &str) -> Self {
        self.after.push_str(words);
        self
    }

    /// Adds what happened first. The reason is then about the end of that process if it was killed.
    pub fn caused_by(self, cause: Self) -> Self {
        if cause.is_kill() {
            cause.followed_by(&format!("; then {self}"))
        } else {
            self.preceded_by(&format!("{cause}; then "))
        }
    }

    /// Names a memory limit that has killed a process: the one that the reason is about, or one
    /// more.
    pub fn blame_memory_limit(self, limit_bytes: u64) -> Self {
        let killed = format!(
            "was {KILLED_BY_MEMORY_LIMIT} of {}",
            format_bytes(limit_bytes)
        );
        if self.is_kill() {
            Self {
                end: None,
                after: killed + &self.after,
                ..self
            }
        } else {
            self.followed_by(&format!("; a process {killed}"))
        }
    }

    /// Returns whether it is about a process that SIGKILL ended.
    pub fn is_kill(&self) -> bool {
        let signal = self.end.and_then(|end| end.signal());
        signal == Some(nix::sys::signal::Signal::SIGKILL as i32)
    }
}

impl From<String> for FailureReason {
    fn from(words: String) -> Self {
        Self {
            before: words,
            end: None,
            after: String::new(),
        }
    }
}

impl fmt::Display for FailureReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.before)?;
        if let Some(end) = self.end {
            formatter.write_str(&describe_exit_status(end))?;
        }
        formatter.write_str(&self.after)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn killed(name: &str) -> FailureReason {
        FailureReason::of_end(ExitStatus::from_raw(9)).preceded_by(&format!("{name} "))
    }

    #[test]
    fn a_process_that_the_memory_limit_killed_is_told_from_one_that_did_not_get_on_then() {
        let lost = FailureReason::from("worker 0: connection lost".to_owned());
        let both = lost.clone().caused_by(killed("the server")).to_string();
        let expected = "the server was killed by SIGKILL; then worker 0: connection lost";
        assert_eq!(both, expected);
        let limit_bytes = 64 << 20;
        let of_limit = lost.clone().caused_by(killed("the server"));
        assert_eq!(
            of_limit.blame_memory_limit(limit_bytes).to_string(),
            "the server was killed by the memory limit of 64 MiB; then worker 0: connection lost"
        );
        let exited = FailureReason::of_end(ExitStatus::from_raw(1 << 8)).preceded_by("the server ");
        let of_worker = killed("worker 0").caused_by(exited);
        assert_eq!(
            of_worker.blame_memory_limit(limit_bytes).to_string(),
            "the server exited with code 1; then worker 0 was killed by the memory limit of 64 MiB"
        );
        assert_eq!(
            lost.blame_memory_limit(limit_bytes).to_string(),
            "worker 0: connection lost; a process was killed by the memory limit of 64 MiB"
        );
    }
}
