//! Replays of counterexamples.

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

/// The reason why a counterexample could not be replayed, in one sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// The recording cannot be read, or does not have the state.
    #[error("{0}")]
    BadRecording(String),
    /// Something else went wrong.
    #[error("{0}")]
    Other(String),
}

impl From<String> for ReplayError {
    fn from(reason: String) -> Self {
        Self::Other(reason)
    }
}

/// A recording in the folder of an audit, which may come from anybody.
#[derive(Debug, Clone, Copy)]
pub struct StoredRecording<'a> {
    /// The folder of the audit.
    pub folder: &'a Path,
    /// The path of the recording in it.
    pub within: &'a Path,
    /// The most bytes that a file of it may have.
    pub most_bytes: u64,
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
        most_bytes,
    } = stored;
    let recorded = RecordedWorkload::read_foreign(audit, within, options, most_bytes)
        .map_err(|failure| ReplayError::BadRecording(failure.to_string()))?;
    check_state(&counterexample.state, &recorded.recording).map_err(|reason| {
        ReplayError::BadRecording(format!("{}: {reason}", audit.join(within).display()))
    })?;
    let images = Images::of(&recorded);
    let state = folder.join("state");
    let written = create_dir(&state).and_then(|()| {
        images
            .rebuild(&recorded, &counterexample.state)
            .materialize(&state)
    });
    written.map_err(|error| format!("{}: {error}", state.display()))?;
    std::fs::create_dir_all(&options.scratch)
        .map_err(|error| format!("{}: {error}", options.scratch.display()))?;
    let judge = StateJudge::new(subject, options, &options.scratch, &recorded, &images);
    let judge = judge.map_err(|failure| failure.to_string())?;
    let mut image = judge.image(&counterexample.state);
    if let Some(crash) = &counterexample.recovery {
        let scratch = options.scratch.join("recovery");
        let again = judge.record_recovery(&image, &scratch)?;
        let again = again.ok_or_else(|| "recovery did not get to its end".to_owned())?;
        let operations = (again.operations.len() - again.base) as u64;
        if operations != crash.operations {
            return Err(ReplayError::Other(format!(
                "recovery took {operations} operations, not {}: it does not repeat itself",
                crash.operations
            )));
        }
        check_state(&crash.state, &again).map_err(|reason| format!("recovery: {reason}"))?;
        image = rebuild(&again, &crash.state);
        let written = std::fs::remove_dir_all(&state)
            .and_then(|()| create_dir(&state))
            .and_then(|()| image.materialize(&state));
        written.map_err(|error| format!("{}: {error}", state.display()))?;
    }
    let inspection = judge
        .inspect(&image)?
        .ok_or_else(|| "interrupted".to_owned())?;
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
fn check_state(state: &CrashState, recording: &Recording) -> Result<(), String> {
    let (base, operations) = (recording.base, recording.operations.len());
    if !(base..=operations).contains(&state.cut) {
        return Err(format!(
            "it has {operations} operations, the first {base} of them before the workload, and the \
             counterexample is cut after {}",
            state.cut
        ));
    }
    let Some(tear) = &state.tear else {
        return Ok(());
    };
    let torn = recording.operations.get(tear.operation);
    if torn.is_some_and(|logged| matches!(logged.operation, Operation::Write { .. })) {
        Ok(())
    } else {
        Err(format!(
            "operation {}, which the counterexample tears, is not a write",
            tear.operation
        ))
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
        assert!(said(3, Some(1)).unwrap_err().contains("not a write"));
    }
}
