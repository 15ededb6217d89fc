//! The limits of released workers: some operation must end from time to time, every process must
//! report, and the database must be closed.

use crate::context::RunContext;
use crate::trial::phase_limit::{LimitedPhase, PhaseClock};
use std::time::{Duration, Instant};
use trueput_record::TrialSpec;

/// Watches the released workers of a trial.
pub(crate) struct RunWatch {
    run: PhaseClock,
    close: PhaseClock,
    /// Whether all workers have finished, so that they close the database.
    is_closing: bool,
    /// The time for which a worker's process may be silent, which reports every second.
    silence_limit: Duration,
    /// When each process was heard of last.
    heard_at: Vec<Instant>,
    checked_at: Instant,
}

impl RunWatch {
    /// Creates the watch of a trial whose workers are not released yet.
    pub fn new(context: &RunContext<'_>, spec: &TrialSpec) -> Self {
        Self {
            run: context.begin_phase(LimitedPhase::Run, spec),
            close: context.begin_phase(LimitedPhase::Close, spec),
            is_closing: false,
            silence_limit: context.options.hang_limit,
            heard_at: Vec::new(),
            checked_at: Instant::now(),
        }
    }

    /// Begins to watch so many processes: they are measured from now on.
    pub fn begin(&mut self, processes: usize) {
        let now = Instant::now();
        self.run.restart();
        self.heard_at = vec![now; processes];
        self.checked_at = now;
    }

    /// Derives the limit of the close anew: it is known by now how long the run took.
    pub fn expect_close(&mut self, context: &RunContext<'_>, spec: &TrialSpec) {
        self.close = context.begin_phase(LimitedPhase::Close, spec);
    }

    /// Notes that operations have ended.
    pub fn note_operations(&mut self) {
        self.run.note_progress();
    }

    /// Notes a report of a process, or its end.
    pub fn note_sign_of(&mut self, index: usize) {
        if let Some(heard_at) = self.heard_at.get_mut(index) {
            *heard_at = Instant::now();
        }
    }

    /// Leaves out the time in which the workers were paused.
    pub fn skip(&mut self, time: Duration) {
        self.run.skip(time);
        self.checked_at += time;
        for heard_at in &mut self.heard_at {
            *heard_at += time;
        }
    }

    /// Returns the first process that works and has been silent for too long, and the limit.
    pub fn find_silent(&mut self, has_ended: impl Fn(usize) -> bool) -> Option<(usize, Duration)> {
        let now = Instant::now();
        let unseen = now.duration_since(std::mem::replace(&mut self.checked_at, now));
        if unseen > PhaseClock::OWN_PAUSE {
            // What came meanwhile is still to be read.
            self.heard_at.fill(now);
        }
        let is_silent = |(index, heard_at): &(usize, &Instant)| {
            now.duration_since(**heard_at) >= self.silence_limit && !has_ended(*index)
        };
        let silent = self.heard_at.iter().enumerate().find(is_silent);
        silent.map(|(index, _)| (index, self.silence_limit))
    }

    /// Returns why the workers are to be ended; `None` if they may go on.
    pub fn check(&mut self, has_measured: bool, pids: &[u32]) -> Option<String> {
        if !has_measured {
            return self.run.check(pids);
        }
        if !std::mem::replace(&mut self.is_closing, true) {
            self.close.restart();
        }
        self.close.check(pids)
    }
}
