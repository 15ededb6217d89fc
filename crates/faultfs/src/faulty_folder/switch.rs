//! Whether a folder is armed.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The switch that arms a folder, shared by the thread that serves and the one that obeys.
#[derive(Debug, Default)]
pub(super) struct ArmingSwitch {
    /// Since when it is armed.
    armed: Mutex<Option<Instant>>,
    changed: Condvar,
}

impl ArmingSwitch {
    fn lock(&self) -> MutexGuard<'_, Option<Instant>> {
        self.armed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn arm(&self) {
        *self.lock() = Some(Instant::now());
    }

    /// Disarms the folder, which ends every [`ArmingSwitch::wait`].
    pub(super) fn disarm(&self) {
        *self.lock() = None;
        self.changed.notify_all();
    }

    /// Returns for how long the folder has been armed; `None` if it is not.
    pub(super) fn armed_for(&self) -> Option<Duration> {
        self.lock().map(|since| since.elapsed())
    }

    /// Waits while the folder is armed, at most so long.
    pub(super) fn wait(&self, length: Duration) {
        let armed = self.lock();
        let is_armed = |armed: &mut Option<Instant>| armed.is_some();
        drop(self.changed.wait_timeout_while(armed, length, is_armed));
    }
}
