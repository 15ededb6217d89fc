//! Stops a contender between its time slices.

use crate::context::{RunContext, TrialError};
use crate::workers::stopped_time::{StopMoment, StoppedTimeKeeper};
use std::time::{Duration, Instant};
use trueput_host::cgroup::MemoryGroup;
use trueput_host::freezer::{FreezeError, Freezer};
use trueput_record::accounting::{StopMeans, TimeSlices};

/// The processes of a contender: its workers and its server.
pub(crate) struct ContenderStop {
    freezer: Freezer,
    stopped_time: StoppedTimeKeeper,
    /// Since when they are stopped; `None` while they run.
    since: Option<StopMoment>,
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

    /// Stops them; what they do until the last one has stopped counts as theirs.
    ///
    /// # Errors
    /// [`TrialError::Overrun`] if one does not stop, [`TrialError::Failed`] if the system refuses.
    pub fn stop(&mut self, context: &RunContext<'_>) -> Result<(), TrialError> {
        let told = Instant::now();
        let stopped_time = &self.stopped_time;
        let since = self
            .freezer
            .stop(|| stopped_time.now(), || !context.stopped());
        let since = since.map_err(|error| match error {
            FreezeError::NotStopped { .. } => TrialError::Overrun(error.to_string().into()),
            FreezeError::Refused(_) => error.to_string().into(),
        })?;
        self.since = Some(since.map_err(|error| error.to_string())?);
        self.longest_stop = self.longest_stop.max(told.elapsed());
        Ok(())
    }

    /// Lets them go on, and returns for how long they were stopped.
    ///
    /// # Errors
    /// [`TrialError::Failed`], if the clock cannot be read.
    pub fn resume(&mut self) -> Result<Duration, TrialError> {
        let stopped = match self.since.take() {
            Some(since) => self.stopped_time.add_since(since),
            None => Ok(Duration::ZERO),
        };
        self.freezer.resume();
        Ok(stopped.map_err(|error| error.to_string())?)
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
