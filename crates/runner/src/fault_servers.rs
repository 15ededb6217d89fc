//! The servers of storage that fails: one process for each trial with a fault, which shows the
//! folder of its database. They end with this process at the latest.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use trueput_faultfs::faulty_folder::{FailedFlush, FaultyFolder, FaultyFolders};
use trueput_faultfs::mount::MountError;
use trueput_host::trial_file_system::{FAULTY_FOLDER, TrialFileSystems};
use trueput_record::TrialSpec;
use trueput_record::measurement::FaultCounts;
use trueput_record::service_report::REPORTS;

/// The folder of the database's files, where they would be in the trial's folder itself: the faulty
/// folder must not show its own mount point.
const FILES: &str = "database";

/// The reason why a trial's storage cannot be made to fail, or not any more.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FaultServerError {
    /// A folder cannot be made.
    #[error("{} cannot be made: {error}", path.display())]
    NotMade {
        /// Its path.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// The server does not start, or does not answer.
    #[error(transparent)]
    Server(#[from] MountError),
}

/// The servers of a run.
#[derive(Debug)]
pub(crate) struct FaultServers {
    /// The program that serves: this one, as a trial's workers are.
    program: PathBuf,
    /// The folder for what the servers report, a file each.
    reports: PathBuf,
    /// By trial.
    folders: Mutex<BTreeMap<String, FaultyFolder>>,
}

impl FaultServers {
    /// Creates the store of a run without any servers.
    pub(crate) fn new(program: &Path, run_folder: &Path) -> Self {
        Self {
            program: program.to_owned(),
            reports: run_folder.join(REPORTS),
            folders: Mutex::default(),
        }
    }

    fn folders(&self) -> MutexGuard<'_, BTreeMap<String, FaultyFolder>> {
        self.folders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows the database's folder of a trial with a fault through one that fails, once it is
    /// armed. Returns that in the place of the database's folder. A trial without a fault has its
    /// database where it was.
    ///
    /// # Errors
    /// [`FaultServerError`].
    pub(crate) fn serve(
        &self,
        spec: &TrialSpec,
        trial_folder: &Path,
        place: TrialFileSystems,
    ) -> Result<TrialFileSystems, FaultServerError> {
        let Some(fault) = spec.conditions.fault else {
            return Ok(place);
        };
        let files = if place.database == trial_folder {
            trial_folder.join(FILES)
        } else {
            place.database
        };
        let mount_point = trial_folder.join(FAULTY_FOLDER);
        for path in [&files, &mount_point] {
            fs::create_dir_all(path).map_err(|error| FaultServerError::NotMade {
                path: path.clone(),
                error,
            })?;
        }
        let folders = FaultyFolders {
            backing: files.clone(),
            mount_point: mount_point.clone(),
            report: self.reports.join(format!("{}-faults.json", spec.id)),
            faults: vec![fault],
            failed_flush: FailedFlush::default(),
            // A trial ends with its processes: its machine does not start again.
            can_lose: false,
            seed: spec.seed,
        };
        let folder = FaultyFolder::start(folders.server_command(&self.program), folders)?;
        self.folders().insert(spec.id.clone(), folder);
        Ok(TrialFileSystems {
            database: mount_point,
            files: Some(files),
            ..place
        })
    }

    /// Lets the fault of a trial come from now on, if it has one.
    ///
    /// # Errors
    /// [`FaultServerError::Server`] if its server has ended, or does not answer.
    pub(crate) fn arm(&self, id: &str) -> Result<(), FaultServerError> {
        match self.folders().get_mut(id) {
            Some(folder) => Ok(folder.arm()?),
            None => Ok(()),
        }
    }

    /// Lets the fault of a trial come no more.
    ///
    /// # Errors
    /// As [`FaultServers::arm`].
    pub(crate) fn disarm(&self, id: &str) -> Result<(), FaultServerError> {
        match self.folders().get_mut(id) {
            Some(folder) => Ok(folder.disarm()?),
            None => Ok(()),
        }
    }

    /// Returns the processes of the servers. What they use of the processors is no other program's.
    pub(crate) fn server_pids(&self) -> Vec<u32> {
        let folders = self.folders();
        folders.values().filter_map(FaultyFolder::pid).collect()
    }

    /// Returns whether a server has ended that still has a folder to serve.
    pub(crate) fn has_ended_server(&self) -> bool {
        let mut folders = self.folders();
        folders.values_mut().any(FaultyFolder::has_ended)
    }

    /// Unmounts the faulty folder of a trial, whose processes have ended, and returns how often the
    /// fault came; `None` without one.
    ///
    /// # Errors
    /// [`FaultServerError::Server`] if its server does not end well, or has written no report.
    pub(crate) fn end(&self, id: &str) -> Result<Option<FaultCounts>, FaultServerError> {
        let Some(folder) = self.folders().remove(id) else {
            return Ok(None);
        };
        let report = folder.stop()?;
        Ok(report.by_fault.first().map(|count| FaultCounts {
            requests: count.requests,
            injected: count.injected,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueput_record::{Durability, testing};

    #[test]
    fn a_trial_without_a_fault_keeps_its_folder_and_one_whose_server_fails_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let servers = FaultServers::new(Path::new("/bin/false"), Path::new("/nowhere"));
        let place = || TrialFileSystems::in_folder(folder.path());
        let mut spec = testing::spec(0, "lmdb", Durability::Sync, 1);
        let plain = servers.serve(&spec, folder.path(), place()).unwrap();
        let found = (plain.database.as_path(), plain.files);
        assert_eq!(found, (folder.path(), None));
        assert!(servers.arm(&spec.id).is_ok() && servers.disarm(&spec.id).is_ok());
        assert_eq!(servers.end(&spec.id).unwrap(), None);
        spec.conditions.fault = "fsync:eio@3".parse().ok();
        let failed = servers.serve(&spec, folder.path(), place()).unwrap_err();
        let failed = failed.to_string();
        let is_missing = failed.contains("FUSE is not available");
        assert!(
            is_missing || failed.contains("cannot be mounted"),
            "{failed}"
        );
        assert_eq!(servers.server_pids(), [] as [u32; 0]);
    }
}
