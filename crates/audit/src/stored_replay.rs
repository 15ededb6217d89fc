//! The replay of a counterexample that is in the folder of an audit. Former replays stay.

use crate::Error;
use crate::audit_all::{Scratch, default_options, hash_build};
use crate::options::AuditOptions;
use crate::replay::{Replay, StoredRecording, replay};
use crate::subject::Subject;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use trueput_host::trial_file_system::RECORDINGS;
use trueput_record::audit::{AuditResult, Counterexample};
use trueput_record::filesystem::FileSystem;
use trueput_record::folder::create_numbered;
use trueput_runner::Registry;

/// The folder for replays, in that of the audit.
const REPLAYS: &str = "replays";

/// The mode of a replay's folder: it holds files of whoever made the recording.
const PRIVATE: u32 = 0o700;

/// A replay that is asked for.
#[derive(Debug)]
pub struct ReplayRequest<'a> {
    /// The folder of the audit.
    pub folder: &'a Path,
    /// The result with the counterexample.
    pub result: &'a AuditResult,
    /// What was audited.
    pub subject: &'a Subject,
    /// The file system of the block form; `None`: files were recorded.
    pub file_system: Option<FileSystem>,
    /// The directory for states; `None`: in the folder of the replay, in memory as root.
    pub work: Option<&'a Path>,
    /// The most bytes that a file of the recording may have.
    pub max_bytes: u64,
    /// Set when the user stops the replay.
    pub stop: Arc<AtomicBool>,
}

impl ReplayRequest<'_> {
    /// Reproduces a counterexample in a folder of its own, and keeps its state for a look.
    ///
    /// # Errors
    /// An [`Error`].
    pub fn replay(&self, counterexample: &Counterexample) -> Result<Replay, Error> {
        let target = self.create_target(&counterexample.id)?;
        let scratch = Scratch::open(self.work, &target)?;
        let options = AuditOptions {
            seed: self.result.seed,
            commits: self.result.commits_per_phase,
            file_system: self.file_system.clone(),
            ..default_options(&scratch.path().join(&self.result.id), &self.stop)?
        };
        let recording = StoredRecording {
            folder: self.folder,
            within: &Path::new(RECORDINGS).join(&self.result.id),
            max_bytes: self.max_bytes,
        };
        let replayed = replay(self.subject, counterexample, recording, &target, &options);
        scratch.close();
        replayed.map_err(|error| {
            // Nothing is in it that could be looked at.
            let _ = fs::remove_dir_all(&target);
            error.into()
        })
    }

    /// Says that the build that is here is not the audited one, if so.
    #[must_use]
    pub fn describe_other_build(&self, registry: &Registry) -> Option<String> {
        let here = hash_build(self.subject, registry);
        let short = |hash: &str| hash.chars().take(16).collect::<String>();
        (here != self.result.build).then(|| {
            format!(
                "this build of {} is another than the audited one (SHA-256 {}…, not {}…): it may \
                 show other damage",
                self.subject.contender(),
                short(&here),
                short(&self.result.build)
            )
        })
    }

    fn create_target(&self, id: &str) -> Result<PathBuf, Error> {
        let replays = self.folder.join(REPLAYS);
        let failed = |source| Error::Replays {
            folder: replays.clone(),
            source,
        };
        match fs::create_dir(&replays) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(failed(error)),
            _ => {}
        }
        if !replays.symlink_metadata().map_err(failed)?.is_dir() {
            return Err(Error::ReplaysNotFolder { folder: replays });
        }
        Ok(create_numbered(&replays, id, PRIVATE)?)
    }
}
