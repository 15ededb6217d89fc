//! Causes the planned faults of a trial at their times.

use crate::evidence::failover::CausedFault;
use crate::workers::clock::{ClockError, read_monotonic_ns};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use trueput_host::cluster::{OrderError, send_order};
use trueput_record::fault::{FaultSchedule, ScheduledFault};

/// The interval at which the end of the trial is checked.
const PAUSE: Duration = Duration::from_millis(10);

/// The reason why planned faults were not all caused.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FaultError {
    /// The cluster did not follow an order.
    #[error("the planned fault {fault}: {error}")]
    NotCaused {
        /// The fault.
        fault: ScheduledFault,
        /// The reason.
        error: OrderError,
    },
    /// The clock cannot be read.
    #[error(transparent)]
    Clock(#[from] ClockError),
    /// The thread that causes them panicked.
    #[error("causing the planned faults panicked")]
    Panic,
}

/// Gives orders to the host of a cluster, on a thread of its own: a node may take seconds to start.
pub(crate) struct FaultInjector {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<Vec<CausedFault>, FaultError>>>,
}

impl FaultInjector {
    /// Begins to cause faults in the cluster of a folder, whose times count from `measured_from`.
    pub fn start(schedule: &FaultSchedule, cluster: &Path, measured_from: Instant) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (faults, cluster) = (schedule.faults().to_vec(), cluster.to_owned());
        let ended = Arc::clone(&stop);
        let cause = move || cause(&faults, &cluster, measured_from, &ended);
        Self {
            stop,
            thread: (!schedule.is_empty()).then(|| std::thread::spawn(cause)),
        }
    }

    /// Returns the faults that were caused; those planned for later are not.
    ///
    /// # Errors
    /// [`FaultError`].
    pub fn finish(mut self) -> Result<Vec<CausedFault>, FaultError> {
        self.stop.store(true, Ordering::SeqCst);
        let Some(thread) = self.thread.take() else {
            return Ok(Vec::new());
        };
        let caused = thread.join();
        caused.unwrap_or(Err(FaultError::Panic))
    }
}

impl Drop for FaultInjector {
    /// A trial that has failed causes no more faults: the next one may use the same folder.
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn cause(
    faults: &[ScheduledFault],
    cluster: &Path,
    measured_from: Instant,
    stop: &AtomicBool,
) -> Result<Vec<CausedFault>, FaultError> {
    let mut caused = Vec::new();
    for fault in faults {
        let at = measured_from + Duration::from_secs_f64(fault.at_s);
        while Instant::now() < at {
            if stop.load(Ordering::SeqCst) {
                return Ok(caused);
            }
            std::thread::sleep(PAUSE.min(at.saturating_duration_since(Instant::now())));
        }
        let at_ns = read_monotonic_ns()?;
        let nodes = send_order(cluster, fault.order);
        caused.push(CausedFault {
            order: fault.order.to_string(),
            nodes: nodes.map_err(|error| FaultError::NotCaused {
                fault: *fault,
                error,
            })?,
            at_ns,
        });
    }
    Ok(caused)
}
