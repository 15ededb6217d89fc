//! The time for which a contender was stopped between its time slices: it counts for nothing.
//!
//! The runner stops all processes of a contender at any point of their work. Before it lets them go
//! on it adds the stopped time to words of memory that it shares with them, and every clock of a
//! worker is read less that time: latencies, arrivals and the duration alike.

use crate::workers::clock::{ClockError, read_monotonic_ns};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::atomic::{AtomicU64, compiler_fence};
use std::time::Duration;
use trueput_host::shared_counters::SharedCounters;

/// The word with the stopped time in ticks of the workers' clock.
const TICKS: usize = 0;

/// The word with the stopped time in nanoseconds.
const NANOSECONDS: usize = 1;

const WORDS: usize = 2;

/// A moment, on the clock of the measured loop and on `CLOCK_MONOTONIC`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StopMoment {
    ticks: u64,
    ns: u64,
}

/// The stopped time of a contender, as the runner keeps it.
pub(crate) struct StoppedTimeKeeper {
    words: SharedCounters,
    path: PathBuf,
    clock: quanta::Clock,
}

impl StoppedTimeKeeper {
    /// Creates a stopped time of nothing.
    ///
    /// # Errors
    /// The system's own.
    pub fn new() -> io::Result<Self> {
        let (words, path) = SharedCounters::create_unnamed(WORDS)?;
        Ok(Self {
            words,
            path,
            clock: quanta::Clock::new(),
        })
    }

    /// Returns the path by which workers read it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns this moment.
    ///
    /// # Errors
    /// [`ClockError`].
    pub fn now(&self) -> Result<StopMoment, ClockError> {
        Ok(StopMoment {
            ticks: self.clock.raw(),
            ns: read_monotonic_ns()?,
        })
    }

    /// Adds the time since that moment, in which all were stopped and still are, and returns it.
    ///
    /// # Errors
    /// [`ClockError`].
    pub fn add_since(&self, stopped: StopMoment) -> Result<Duration, ClockError> {
        let now = self.now()?;
        let add = |word: usize, time: u64| {
            let total = self.words.get(word);
            total.store(total.load(Acquire).wrapping_add(time), Release);
        };
        let stopped_ns = now.ns.saturating_sub(stopped.ns);
        add(TICKS, now.ticks.saturating_sub(stopped.ticks));
        add(NANOSECONDS, stopped_ns);
        Ok(Duration::from_nanos(stopped_ns))
    }
}

/// The stopped time of a contender, as its workers read it.
#[derive(Debug)]
pub(crate) enum StoppedTime {
    /// It is never stopped.
    Never,
    /// It has time slices.
    Shared(SharedCounters),
}

impl StoppedTime {
    /// Opens the words that the runner keeps.
    ///
    /// # Errors
    /// The system's own.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self::Shared(SharedCounters::open(path, WORDS)?))
    }

    /// Returns the stopped time in ticks of the workers' clock; `None` if it stays zero.
    pub fn ticks(&self) -> Option<&AtomicU64> {
        match self {
            Self::Never => None,
            Self::Shared(words) => Some(words.get(TICKS)),
        }
    }

    /// Reads `CLOCK_MONOTONIC` less the stopped time, nanoseconds.
    ///
    /// # Errors
    /// [`ClockError`].
    pub fn running_ns(&self) -> Result<u64, ClockError> {
        match self {
            Self::Never => read_monotonic_ns(),
            Self::Shared(words) => {
                read_monotonic_ns()?;
                // Linux has this clock always: it was just read.
                let read = || read_monotonic_ns().unwrap_or_default();
                Ok(read_running(words.get(NANOSECONDS), read))
            }
        }
    }

    /// Returns the stopped time so far.
    pub fn total(&self) -> Duration {
        match self {
            Self::Never => Duration::ZERO,
            Self::Shared(words) => Duration::from_nanos(words.get(NANOSECONDS).load(Acquire)),
        }
    }
}

/// Returns what a clock says less the stopped time. A stop between the reading of one and of the
/// other must not count, so that both are read again then: `read` is called between two loads.
#[inline]
pub(crate) fn read_running(stopped: &AtomicU64, read: impl Fn() -> u64) -> u64 {
    loop {
        let before = stopped.load(Acquire);
        compiler_fence(std::sync::atomic::Ordering::SeqCst);
        let now = read();
        compiler_fence(std::sync::atomic::Ordering::SeqCst);
        if stopped.load(Acquire) == before {
            return now.wrapping_sub(before);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn what_the_runner_adds_the_workers_read() {
        let kept = StoppedTimeKeeper::new().unwrap();
        let read = StoppedTime::open(kept.path()).unwrap();
        assert_eq!(read.total(), Duration::ZERO);
        let stopped = kept.now().unwrap();
        std::thread::sleep(Duration::from_millis(20));
        let added = kept.add_since(stopped).unwrap();
        assert!(added >= Duration::from_millis(20), "{added:?}");
        assert_eq!(read.total(), added);
        let ticks = read.ticks().unwrap().load(Acquire);
        let clock = quanta::Clock::new();
        let by_ticks = Duration::from_nanos(clock.delta_as_nanos(0, ticks));
        let ratio = by_ticks.as_secs_f64() / added.as_secs_f64();
        assert!((0.99..1.01).contains(&ratio), "{ratio}");
    }

    #[test]
    fn a_stop_while_the_clock_is_read_does_not_count() {
        let stopped = AtomicU64::new(100);
        let readings = Cell::new(0);
        let now = read_running(&stopped, || {
            readings.set(readings.get() + 1);
            if readings.get() == 1 {
                // It is stopped here for 50 ticks.
                stopped.store(150, Release);
                return 1_000;
            }
            1_060
        });
        assert_eq!((now, readings.get()), (910, 2));
    }
}
