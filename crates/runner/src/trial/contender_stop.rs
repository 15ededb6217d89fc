//! Stops a contender between its time slices.

use crate::context::{RunContext, TrialError};
use crate::workers::stopped_time::{StopMoment, StoppedTimeKeeper};
use std::time::{Duration, Instant};
use trueput_host::cgroup::MemoryGroup;
use trueput_host::freezer::Freezer;
use trueput_record::accounting::{StopMeans, TimeSlices};

/// The length of a stop.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct StopLength {
    /// For how long they were stopped, which does not count.
    pub stopped: Duration,
    /// The time since they were told. Those that wait for nothing stop at once, and wait for the
    /// others, such as one that flushes.
    pub since_told: Duration,
}

/// The processes of a contender: its workers and its server.
pub(crate) struct ContenderStop {
    freezer: Freezer,
    stopped_time: StoppedTimeKeeper,
    /// When they were told to stop, and since when they are stopped; `None` while they run.
    since: Option<(Instant, StopMoment)>,
    slices: u32,
    longest_stop: Duration,
}

impl ContenderStop {
    /// Takes the processes `pids` and their descendants, which run.
    pub fn new(
        stopped_time: StoppedTimeKeeper,
        pids: Vec<u32>,
        limit: Option<&MemoryGroup>,
    ) -> Self {
        Self {
            freezer: Freezer::new(pids, limit),
            stopped_time,
            since: None,
            slices: 0,
            longest_stop: Duration::ZERO,
        }
    }

    /// Stops them. What they do meanwhile counts as theirs. The time does not, unless one waits in
    /// the kernel.
    ///
    /// # Errors
    /// [`TrialError::Overrun`] if one does not stop, [`TrialError::Failed`] if the clock cannot be
    /// read.
    pub fn stop(&mut self, context: &RunContext<'_>) -> Result<(), TrialError> {
        let told = Instant::now();
        let stopped_time = &self.stopped_time;
        let since = self
            .freezer
            .stop(|| stopped_time.now(), || !context.stopped());
        let since = since.map_err(|error| TrialError::Overrun(error.to_string().into()))?;
        self.since = Some((told, since.map_err(|error| error.to_string())?));
        self.longest_stop = self.longest_stop.max(told.elapsed());
        Ok(())
    }

    /// Lets them go on, and returns the length of their stop.
    ///
    /// # Errors
    /// [`TrialError::Failed`], if the clock cannot be read.
    pub fn resume(&mut self) -> Result<StopLength, TrialError> {
        let length = match self.since.take() {
            Some((told, since)) => self
                .stopped_time
                .add_since(since)
                .map(|stopped| StopLength {
                    stopped,
                    since_told: told.elapsed(),
                }),
            None => Ok(StopLength::default()),
        };
        self.freezer.resume();
        Ok(length.map_err(|error| error.to_string())?)
    }

    /// Notes that a time slice begins.
    pub fn begin_slice(&mut self) {
        self.slices += 1;
    }

    /// Returns what the record says of the time slices.
    pub fn time_slices(&self) -> TimeSlices {
        TimeSlices {
            count: self.slices,
            stopped_by: if self.freezer.uses_signals() {
                StopMeans::Signals
            } else {
                StopMeans::ControlGroup
            },
            longest_stop_s: self.longest_stop.as_secs_f64(),
        }
    }
}
