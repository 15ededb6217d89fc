//! Replays of counterexamples.

use crate::options::AuditOptions;
use crate::recorded::RecordedWorkload;
use crate::recovery::rebuild;
use crate::state_judge::{Images, StateJudge};
use crate::subject::Subject;
use std::path::{Path, PathBuf};
use trueput_record::audit::{Counterexample, Damage, StorageModel};

/// The result of a replay.
#[derive(Debug, Clone, PartialEq)]
pub struct Replay {
    /// The damage that it showed; `None` if it showed none.
    pub damage: Option<Damage>,
    /// The folder with the files as they were before the engine opened them.
    pub state: PathBuf,
}

/// Rebuilds the state of a counterexample in `folder`, and lets the engine open a copy of it in the
/// folder `options.scratch`, which should have the path that it had when the database was recorded:
/// files of some engines (GT.M) hold it.
///
/// # Errors
/// One sentence, if the recording cannot be read or the state cannot be written.
pub fn replay(
    subject: &Subject,
    counterexample: &Counterexample,
    recording: &Path,
    folder: &Path,
    options: &AuditOptions,
) -> Result<Replay, String> {
    let recorded =
        RecordedWorkload::read(recording, options).map_err(|failure| failure.to_string())?;
    let images = Images::of(&recorded);
    let state = folder.join("state");
    let written = std::fs::create_dir_all(&state).and_then(|()| {
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
        let again = again.ok_or("recovery did not get to its end")?;
        let operations = (again.operations.len() - again.base) as u64;
        if operations != crash.operations {
            return Err(format!(
                "recovery took {operations} operations, not {}: it does not repeat itself",
                crash.operations
            ));
        }
        image = rebuild(&again, &crash.state);
        let written = std::fs::remove_dir_all(&state)
            .and_then(|()| std::fs::create_dir(&state))
            .and_then(|()| image.materialize(&state));
        written.map_err(|error| format!("{}: {error}", state.display()))?;
    }
    let inspection = judge.inspect(&image)?.ok_or("interrupted")?;
    // A counterexample of killed processes has no state to replay.
    let guarantee = subject.guarantee(StorageModel::Journal);
    Ok(Replay {
        damage: judge.judge(&counterexample.state, &inspection, guarantee),
        state,
    })
}
