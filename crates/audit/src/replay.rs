//! Replays of counterexamples.

use crate::failure::Failure;
use crate::options::AuditOptions;
use crate::recorded::RecordedWorkload;
use crate::recovery::rebuild;
use crate::state_judge::{Images, StateJudge};
use crate::subject::Subject;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use trueput_faultfs::Recording;
use trueput_faultfs::operation::Operation;
use trueput_record::audit::{Counterexample, CrashState, Damage, StorageModel};

/// The result of a replay.
#[derive(Debug, Clone, PartialEq)]
pub struct Replay {
    /// The damage that it showed; `None` if it showed none.
    pub damage: Option<Damage>,
    /// The folder with the files as they were before the engine opened them.
    pub state: PathBuf,
}

/// The reason why a counterexample could not be replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The recording cannot be read.
    #[error(transparent)]
    BadRecording(Failure),
    /// The recording does not have the state.
    #[error("{}: {source}", recording.display())]
    NoSuchState {
        /// The folder of the recording.
        recording: PathBuf,
        /// The reason.
        source: ImpossibleState,
    },
    /// The recovery that was crashed did not get to its end now.
    #[error("recovery did not get to its end")]
    EndlessRecovery,
    /// The recovery that was crashed was another one.
    #[error("recovery took {operations} operations, not {recorded}: it does not repeat itself")]
    OtherRecovery {
        /// The operations that it took now.
        operations: u64,
        /// The operations that it took in the audit.
        recorded: u64,
    },
    /// The recovery that was crashed does not have the state.
    #[error("recovery: {0}")]
    NoSuchRecoveryState(ImpossibleState),
    /// Something failed on the way.
    #[error(transparent)]
    Other(#[from] Failure),
}

impl ReplayError {
    /// Returns whether the folder of the audit is to blame.
    #[must_use]
    pub fn is_bad_input(&self) -> bool {
        matches!(self, Self::BadRecording(_) | Self::NoSuchState { .. })
    }
}

/// The reason why a recording cannot have a state.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImpossibleState {
    /// It is cut outside the workload.
    #[error(
        "it has {operations} operations, the first {base} of them before the workload, and the \
         counterexample is cut after {cut}"
    )]
    Cut {
        /// The operations of the recording.
        operations: usize,
        /// Those of them before the workload.
        base: usize,
        /// The operations before the cut.
        cut: usize,
    },
    /// It tears what cannot be torn.
    #[error("operation {operation}, which the counterexample tears, is not a write")]
    Tear {
        /// The number of the operation.
        operation: usize,
    },
}

/// A recording in the folder of an audit, which may come from anybody.
#[derive(Debug, Clone, Copy)]
pub struct StoredRecording<'a> {
    /// The folder of the audit.
    pub folder: &'a Path,
    /// The path of the recording in it.
    pub within: &'a Path,
    /// The most bytes that a file of it may have.
    pub max_bytes: u64,
}

/// Rebuilds the state of a counterexample in `folder`, which is empty, and lets the engine open a
/// copy of it in the folder `options.scratch`, which should have the path that it had when the
/// database was recorded: files of some engines (GT.M) hold it.
///
/// # Errors
/// A [`ReplayError`].
pub fn replay(
    subject: &Subject,
    counterexample: &Counterexample,
    stored: StoredRecording<'_>,
    folder: &Path,
    options: &AuditOptions,
) -> Result<Replay, ReplayError> {
    let StoredRecording {
        folder: audit,
        within,
        max_bytes,
    } = stored;
    let recorded = RecordedWorkload::read_foreign(audit, within, options, max_bytes)
        .map_err(ReplayError::BadRecording)?;
    check_state(&counterexample.state, &recorded.recording).map_err(|source| {
        ReplayError::NoSuchState {
            recording: audit.join(within),
            source,
        }
    })?;
    let images = Images::of(&recorded);
    let state = folder.join("state");
    let written = create_dir(&state).and_then(|()| {
        images
            .rebuild(&recorded, &counterexample.state)
            .materialize(&state)
    });
    written.map_err(Failure::of_file(&state))?;
    std::fs::create_dir_all(&options.scratch).map_err(Failure::of_file(&options.scratch))?;
    let judge = StateJudge::new(subject, options, &options.scratch, &recorded, &images)?;
    let mut image = judge.image(&counterexample.state);
    if let Some(crash) = &counterexample.recovery {
        let scratch = options.scratch.join("recovery");
        let again = judge.record_recovery(&image, &scratch)?;
        let again = again.ok_or(ReplayError::EndlessRecovery)?;
        let operations = (again.operations.len() - again.base) as u64;
        if operations != crash.operations {
            return Err(ReplayError::OtherRecovery {
                operations,
                recorded: crash.operations,
            });
        }
        check_state(&crash.state, &again).map_err(ReplayError::NoSuchRecoveryState)?;
        image = rebuild(&again, &crash.state);
        let written = std::fs::remove_dir_all(&state)
            .and_then(|()| create_dir(&state))
            .and_then(|()| image.materialize(&state));
        written.map_err(Failure::of_file(&state))?;
    }
    let inspection = judge.inspect(&image)?.ok_or(Failure::Interrupted)?;
    // A counterexample of killed processes has no state to replay.
    let guarantee = subject.guarantee(StorageModel::Journal);
    Ok(Replay {
        damage: judge.judge(&counterexample.state, &inspection, guarantee),
        state,
    })
}

/// Creates a folder that nobody else may enter.
fn create_dir(folder: &Path) -> std::io::Result<()> {
    std::fs::DirBuilder::new().mode(0o700).create(folder)
}

/// Refuses a state that a recording cannot have.
fn check_state(state: &CrashState, recording: &Recording) -> Result<(), ImpossibleState> {
    let (base, operations) = (recording.base, recording.operations.len());
    if !(base..=operations).contains(&state.cut) {
        return Err(ImpossibleState::Cut {
            operations,
            base,
            cut: state.cut,
        });
    }
    let Some(tear) = &state.tear else {
        return Ok(());
    };
    let torn = recording.operations.get(tear.operation);
    if torn.is_some_and(|logged| matches!(logged.operation, Operation::Write { .. })) {
        Ok(())
    } else {
        Err(ImpossibleState::Tear {
            operation: tear.operation,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueput_faultfs::operation::{Inode, LoggedOperation};
    use trueput_record::audit::{Tear, TornRest};

    #[test]
    fn a_state_that_the_recording_cannot_have_is_refused() {
        let (inode, size) = (Inode::ROOT, 0);
        let operation = Operation::Truncate { inode, size };
        let logged = LoggedOperation {
            operation,
            phase: 0,
        };
        let recording = Recording::new(vec![logged; 3], 1, Vec::new());
        let said = |cut, torn: Option<usize>| {
            let state = CrashState {
                cut,
                tear: torn.map(|operation| Tear {
                    operation,
                    persisted: 0,
                    rest: TornRest::Old,
                }),
                ..CrashState::default()
            };
            check_state(&state, &recording)
        };
        assert_eq!((said(1, None), said(3, None)), (Ok(()), Ok(())));
        for cut in [0, 4, 1 << 62, usize::MAX] {
            assert!(said(cut, None).is_err(), "{cut}");
        }
        let operation = 1;
        assert_eq!(
            said(3, Some(operation)),
            Err(ImpossibleState::Tear { operation })
        );
    }
}
