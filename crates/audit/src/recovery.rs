//! Crashes of recovery itself: a state is opened on the recording file system, and the power fails
//! again while the engine recovers.

use crate::exploration::Exploration;
use crate::failure::{Failure, NoReport};
use crate::flush_scope::{Reading, is_unknown};
use crate::guarantee::Guarantee;
use crate::image::Image;
use crate::recorded::{DATABASE, mount};
use crate::state_judge::StateJudge;
use crate::worker::{Report, Task};
use crate::worker_process::Worker;
use std::path::Path;
use trueput_faultfs::Recording;
use trueput_record::audit::{CrashState, Damage, RecoveryCrash, StorageModel};

/// The states that are made from one recovery.
const STATES: usize = 4;

/// One crash of a recovery, with the damage that it did.
pub(crate) struct RecoveryAttempt {
    pub(crate) crash: RecoveryCrash,
    pub(crate) damage: Option<Damage>,
    /// Whether the recovery had flushes of which nobody knows the part.
    pub(crate) has_unknown_flush: bool,
}

impl StateJudge<'_> {
    /// Records the recovery of the state of that number, and examines states in which a second
    /// crash can leave it. Nothing if the user stopped the audit, or the recovery did not end.
    pub(crate) fn crash_recovery(
        &self,
        (model, reading): (StorageModel, Reading),
        state: &CrashState,
        number: u64,
        guarantee: Guarantee,
    ) -> Result<Vec<RecoveryAttempt>, Failure> {
        let folder = self.scratch.join(format!("recovery-{number}"));
        let recording = self.record_recovery(&self.image(state), &folder);
        let removed = std::fs::remove_dir_all(&folder);
        removed.map_err(Failure::of_file(&folder))?;
        let Some(recording) = recording? else {
            return Ok(Vec::new());
        };
        let mut attempts = Vec::new();
        let mut after = recording.operations.iter().skip(recording.base);
        let has_unknown_flush = after.any(|logged| is_unknown(&logged.operation));
        let seed = self.options.seed ^ number;
        let again = Exploration::new(&recording, &[], model, seed, None, reading);
        for crash in again.take(STATES) {
            let image = rebuild(&recording, &crash);
            let Some(inspection) = self.inspect(&image)? else {
                break;
            };
            attempts.push(RecoveryAttempt {
                damage: self.judge(state, &inspection, guarantee),
                has_unknown_flush,
                crash: RecoveryCrash {
                    operations: (recording.operations.len() - recording.base) as u64,
                    state: crash,
                },
            });
        }
        Ok(attempts)
    }

    /// Lets the engine recover a state on the recording file system; `None` if it did not get to an
    /// end, or the user stopped the audit.
    pub(crate) fn record_recovery(
        &self,
        image: &Image,
        folder: &Path,
    ) -> Result<Option<Recording>, Failure> {
        let backing = folder.join("backing");
        std::fs::create_dir_all(&backing)
            .and_then(|()| image.materialize(&backing))
            .map_err(Failure::of_file(&backing))?;
        let mounted = mount(&self.options.program, folder, &folder.join("log"))?;
        let machine = self.machine(mounted.path().join(DATABASE));
        let mut assignment = self.assignment(mounted.path(), machine.clone());
        assignment.task = Task::Recover { machine };
        let worker = Worker::start_on(&mounted, &self.options.program, &assignment);
        let worker =
            worker.and_then(|worker| worker.wait(self.options.state_limit, &self.options.stop));
        let recording = mounted.stop()?;
        match worker {
            Ok(Report::Recovered) => Ok(Some(recording)),
            Ok(Report::NotRecovered) => Ok(None),
            Ok(_) => Err(Failure::OtherReport),
            Err(NoReport::Canceled | NoReport::TimedOut(_) | NoReport::Ended(_)) => Ok(None),
            Err(none) => Err(none.into()),
        }
    }
}

/// Rebuilds a state from the recording of a recovery.
pub(crate) fn rebuild(recording: &Recording, state: &CrashState) -> Image {
    let mut image = Image::new();
    image.apply(recording, 0..recording.base);
    image.apply_state(recording, recording.base, state);
    image
}
