//! The folder of one run in a work folder: a folder for the database of each trial.

use crate::image_store::{ImageService, ImageStore};
use crate::process_tree::{describe_unkillable_users, find_stopped_users};
use crate::run_marker::{RemovalError, RunMarker};
use crate::service::kill_server;
use crate::trial_file_system::{self, TrialFileSystemError, TrialFileSystems};
use crate::work_folder::{FolderProblem, WorkFolder, WorkFolderError, is_empty};
use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use trueput_record::TrialSpec;

/// The time that the last attempt to remove the folder of a trial may take.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(15);

/// The reason why the folder of a trial cannot be made or removed.
#[derive(Debug, thiserror::Error)]
pub enum TrialFolderError {
    /// It cannot be made.
    #[error("{}: {problem}", path.display())]
    NotMade {
        /// Its path.
        path: PathBuf,
        /// The reason.
        problem: FolderProblem,
    },
    /// The file systems in it cannot be removed.
    #[error(transparent)]
    FileSystem(#[from] TrialFileSystemError),
    /// Files in it cannot be removed.
    #[error(transparent)]
    NotRemoved(#[from] RemovalError),
    /// Its removal takes too long.
    #[error(
        "removing {} did not end within {} s: 'trueput clean' removes what is left",
        path.display(),
        limit.as_secs()
    )]
    Timeout {
        /// Its path.
        path: PathBuf,
        /// The time that it had.
        limit: Duration,
    },
}

/// The folder of one run in a work folder. It is removed when it is closed, unless there are
/// databases in it that are to be kept, or that could not be removed.
#[derive(Debug)]
pub struct RunWorkFolder {
    work: WorkFolder,
    path: PathBuf,
    /// Serves images of trials on modeled storage; `None` if there are no such trials.
    images: Option<Arc<dyn ImageStore>>,
    /// Trials whose folders could not be removed yet: closing tries again.
    left: Mutex<BTreeSet<String>>,
    /// Whether nothing in it is to outlive the run.
    is_disposable: bool,
    /// Whether an earlier part of the run was killed, and nothing that it left is to be kept.
    has_leftovers: bool,
    /// Locked, so that no other run of that name works here.
    _lock: fs::File,
}

impl RunWorkFolder {
    /// Makes the folder of the run `name`, or takes up the one that an earlier part of the run
    /// left. This part may keep databases if `keeps` says so.
    ///
    /// # Errors
    /// A [`WorkFolderError`].
    pub fn open(
        work: WorkFolder,
        name: impl AsRef<Path>,
        keeps: bool,
    ) -> Result<Self, WorkFolderError> {
        let path = work.path().join(name.as_ref());
        let opened = make_folder(&path).and_then(|()| lock(&path));
        let opened = opened.and_then(|lock| {
            // A killed run has left them between two time slices.
            for pid in find_stopped_users(&path) {
                // One that does not end keeps its files, which is noticed there.
                let _ = kill_server(pid);
            }
            let earlier = RunMarker::read(&path);
            let has_leftovers = earlier
                .as_ref()
                .is_some_and(|mark| mark.is_disposable == Some(true));
            // A part of the run that has ended has kept what is in it.
            let is_new = earlier.is_none() && is_empty(&path).map_err(FolderProblem::NotRead)?;
            let is_disposable = !keeps && (is_new || has_leftovers);
            RunMarker::write(&path, is_disposable)?;
            Ok((lock, is_disposable, has_leftovers))
        });
        match opened {
            Ok((lock, is_disposable, has_leftovers)) => Ok(Self {
                work,
                path,
                images: None,
                left: Mutex::default(),
                is_disposable,
                has_leftovers,
                _lock: lock,
            }),
            Err(problem) => Err(WorkFolderError { path, problem }),
        }
    }

    /// Returns whether an earlier part of the run was killed, so that databases may be left that
    /// are not to be kept.
    #[must_use]
    pub fn has_leftovers(&self) -> bool {
        self.has_leftovers
    }

    /// Returns this folder with a store that serves the images of trials on modeled storage.
    #[must_use]
    pub fn with_images(self, images: Arc<dyn ImageStore>) -> Self {
        Self {
            images: Some(images),
            ..self
        }
    }

    /// Returns the type of its file system, such as `ext4`.
    pub fn file_system(&self) -> String {
        crate::find_file_system(&self.path).kind
    }

    /// Creates the folder of a trial's database, and returns whether it contains files of an
    /// earlier attempt.
    ///
    /// # Errors
    /// [`TrialFolderError::NotMade`].
    pub fn trial_folder(&self, id: &str) -> Result<(PathBuf, bool), TrialFolderError> {
        let path = self.path.join(id);
        let made = make_folder(&path);
        match made.and_then(|()| is_empty(&path).map_err(FolderProblem::NotRead)) {
            Ok(empty) => Ok((path, !empty)),
            Err(problem) => Err(TrialFolderError::NotMade { path, problem }),
        }
    }

    /// Returns the processes that serve modeled storage to the trials of this run.
    #[must_use]
    pub fn storage_server_pids(&self) -> Vec<u32> {
        let images = self.images.as_deref();
        images.map_or_else(Vec::new, ImageStore::server_pids)
    }

    /// Returns whether a server of modeled storage has ended before its trial.
    #[must_use]
    pub fn has_ended_storage_server(&self) -> bool {
        let images = self.images.as_deref();
        images.is_some_and(ImageStore::has_ended_server)
    }

    /// Creates and mounts the file systems that a trial's conditions request in its empty folder,
    /// for a database that needs `needed_bytes`.
    ///
    /// # Errors
    /// [`TrialFolderError::FileSystem`]. What was created until then stays until the trial's folder
    /// is removed.
    pub fn create_file_systems(
        &self,
        folder: &Path,
        spec: &TrialSpec,
        needed_bytes: u64,
    ) -> Result<TrialFileSystems, TrialFolderError> {
        let service = self.images.as_deref().map(|store| ImageService {
            store,
            seed: spec.seed,
        });
        let conditions = &spec.conditions;
        let created = trial_file_system::create(folder, conditions, needed_bytes, service);
        Ok(created?)
    }

    /// Removes a trial's folder and the file systems made in it.
    ///
    /// # Errors
    /// [`TrialFolderError`] of what cannot be removed.
    pub fn remove_trial(&self, id: &str) -> Result<(), TrialFolderError> {
        remove_folder(&self.path.join(id), self.images.as_deref())
    }

    /// As [`RunWorkFolder::remove_trial`], within `limit`: a device or a file system that does not
    /// answer must not keep the run waiting.
    ///
    /// # Errors
    /// [`TrialFolderError`] of what cannot be removed in time.
    pub fn remove_trial_within(&self, id: &str, limit: Duration) -> Result<(), TrialFolderError> {
        let path = self.path.join(id);
        let (sender, done) = channel();
        let (folder, images) = (path.clone(), self.images.clone());
        std::thread::spawn(move || {
            // Nobody listens once the time is over.
            let _ = sender.send(remove_folder(&folder, images.as_deref()));
        });
        let removed = done.recv_timeout(limit);
        let removed = removed.unwrap_or(Err(TrialFolderError::Timeout { path, limit }));
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        if removed.is_err() {
            left.insert(id.to_owned());
        } else {
            left.remove(id);
        }
        removed
    }

    /// Tries once more to remove what could not be removed: another process on this machine may
    /// have held a loop device for a moment. Returns the errors of what stays.
    fn remove_left(&self) -> Vec<TrialFolderError> {
        let left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let left: Vec<String> = left.iter().cloned().collect();
        let usable = left
            .iter()
            .filter(|id| self.describe_unkillable_users(id).is_none());
        let removed = usable.map(|id| self.remove_trial_within(id, CLOSE_TIMEOUT));
        removed.filter_map(Result::err).collect()
    }

    /// Ends the delays of a trial's modeled storage: nothing of the trial is measured any more, and
    /// its killed processes need not wait for a slow device.
    pub fn end_storage_delays(&self, id: &str) {
        trial_file_system::end_delays(&self.path.join(id), self.images.as_deref());
    }

    /// Describes processes of this run that use the folder of a trial and cannot be killed; `None`
    /// if there are none.
    #[must_use]
    pub fn describe_unkillable_users(&self, id: &str) -> Option<String> {
        let path = self.path.canonicalize().ok()?.join(id);
        path.symlink_metadata().ok()?;
        describe_unkillable_users(&path)
    }

    /// Unmounts the file systems of a trial whose database is kept; the images stay.
    ///
    /// # Errors
    /// [`TrialFolderError::FileSystem`].
    pub fn unmount_trial(&self, id: &str) -> Result<(), TrialFolderError> {
        let images = self.images.as_deref();
        Ok(trial_file_system::unmount_all(&self.path.join(id), images)?)
    }

    /// Leaves the work folder as it was found, except for databases that are kept. What could not
    /// be removed keeps its marker, by which `trueput clean` finds it. Returns the errors of what
    /// stays although another attempt was made.
    pub fn close(self) -> Vec<TrialFolderError> {
        let errors = self.remove_left();
        if self.is_disposable {
            let _ = RunMarker::remove_with_folder(&self.path);
        } else {
            let _ = RunMarker::remove(&self.path);
            // Fails if a database is kept, as it should.
            let _ = fs::remove_dir(&self.path);
        }
        self.work.release();
        errors
    }
}

/// Removes a trial's folder and the file systems made in it.
fn remove_folder(path: &Path, images: Option<&dyn ImageStore>) -> Result<(), TrialFolderError> {
    trial_file_system::remove(path, images)?;
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(RemovalError::of_path(path)(error).into())
        }
        _ => Ok(()),
    }
}

/// Locks a folder for as long as the file lives.
fn lock(path: &Path) -> Result<fs::File, FolderProblem> {
    let folder = fs::File::open(path).map_err(FolderProblem::NotOpened)?;
    match folder.try_lock() {
        Err(fs::TryLockError::WouldBlock) => Err(FolderProblem::Active),
        // A file system without locks can still be measured.
        Ok(()) | Err(fs::TryLockError::Error(_)) => Ok(folder),
    }
}

/// Creates a folder, or checks that it is one already and not a link.
fn make_folder(path: &Path) -> Result<(), FolderProblem> {
    match fs::create_dir(path) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let metadata = fs::symlink_metadata(path).map_err(FolderProblem::NotRead)?;
            let folder = metadata.is_dir();
            folder.then_some(()).ok_or(FolderProblem::NotFolder)
        }
        Err(error) => Err(FolderProblem::NotMade(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial_file_system::{Leftover, clean, find};
    use std::time::{Duration, Instant};

    /// Opens the folder of the run. A process that another test starts has a copy of the lock until
    /// it runs its program.
    fn reopen(work: &Path, keeps: bool) -> RunWorkFolder {
        let until = Instant::now() + Duration::from_secs(10);
        loop {
            match RunWorkFolder::open(WorkFolder::claim(work).unwrap(), "run", keeps) {
                Ok(area) => return area,
                Err(error) => assert!(Instant::now() < until, "{error}"),
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn store(area: &RunWorkFolder, id: &str) {
        let (folder, _) = area.trial_folder(id).unwrap();
        fs::write(folder.join("data"), "x").unwrap();
    }

    #[test]
    fn what_a_killed_run_left_is_told_from_what_a_run_was_to_keep() {
        let parent = tempfile::tempdir().unwrap();
        let work = parent.path().join("work");
        for (keeps, is_killed, is_leftover) in [
            (false, true, true),
            (true, true, false),
            (true, false, false),
        ] {
            let area = reopen(&work, keeps);
            assert!(!area.has_leftovers());
            store(&area, "0001");
            if is_killed {
                drop(area);
            } else {
                area.close();
            }
            let area = reopen(&work, false);
            assert_eq!(area.has_leftovers(), is_leftover, "{keeps} {is_killed}");
            area.remove_trial("0001").unwrap();
            area.close();
            assert!(!work.exists());
        }
    }

    #[test]
    fn what_an_earlier_part_of_the_run_kept_is_no_leftover_of_a_later_one_that_is_killed() {
        let parent = tempfile::tempdir().unwrap();
        let work = parent.path().join("work");
        let area = reopen(&work, true);
        store(&area, "0001");
        area.close();
        drop(reopen(&work, false));
        let area = reopen(&work, false);
        assert!(!area.has_leftovers());
        let run = area.path.clone();
        area.close();
        assert!(run.join("0001").exists() && RunMarker::read(&run).is_none());
    }

    #[test]
    fn what_a_killed_run_was_to_keep_stays_when_the_rest_of_it_is_removed() {
        let parent = tempfile::tempdir().unwrap();
        for keeps in [true, false] {
            let work = parent.path().join(keeps.to_string());
            let area = reopen(&work, keeps);
            let database = area.path.join("0001");
            store(&area, "0001");
            let left = Leftover {
                path: area.path.clone(),
                pid: std::process::id(),
                items: Vec::new(),
            };
            drop(area);
            let until = Instant::now() + Duration::from_secs(10);
            // As in `reopen`, the lock may be held a little longer.
            while let Err(errors) = clean(&left) {
                assert!(Instant::now() < until, "{errors:?}");
                std::thread::sleep(Duration::from_millis(10));
            }
            assert_eq!(database.exists(), keeps);
            assert_eq!(find(&[], &[work]), []);
        }
    }

    #[test]
    fn what_could_not_be_removed_keeps_the_mark_by_which_it_is_found() {
        let parent = tempfile::tempdir().unwrap();
        let area = reopen(&parent.path().join("work"), false);
        let run = area.path.clone();
        store(&area, "0001");
        area.close();
        assert!(RunMarker::read(&run).is_some());
    }

    #[test]
    fn a_bystander_in_a_marked_folder_stays_when_a_run_is_closed() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("work");
        let area = reopen(&path, false);
        assert!(!area.trial_folder("0001").unwrap().1);
        store(&area, "0001");
        assert!(area.trial_folder("0001").unwrap().1);
        fs::write(path.join("bystander"), "x").unwrap();
        area.remove_trial("0001").unwrap();
        area.close();
        assert!(path.join("bystander").exists() && !path.join("run").exists());
    }

    #[test]
    fn the_area_of_a_run_is_one_runs_at_a_time() {
        let parent = tempfile::tempdir().unwrap();
        let work = parent.path().join("work");
        let area = reopen(&work, false);
        let again = RunWorkFolder::open(WorkFolder::claim(&work).unwrap(), "run", false);
        let error = again.unwrap_err();
        assert!(error.to_string().contains("active here"), "{error}");
        drop(area);
        drop(reopen(&work, false));
    }

    #[test]
    fn a_link_in_place_of_a_trial_is_not_followed() {
        let parent = tempfile::tempdir().unwrap();
        let victim = tempfile::tempdir().unwrap();
        fs::write(victim.path().join("precious"), "x").unwrap();
        let work = WorkFolder::claim(&parent.path().join("work")).unwrap();
        let area = RunWorkFolder::open(work, "run", false).unwrap();
        std::os::unix::fs::symlink(victim.path(), area.path.join("0001")).unwrap();
        assert!(area.trial_folder("0001").is_err());
        // Whether or not the link itself goes, its target stays.
        let _ = area.remove_trial("0001");
        assert!(victim.path().join("precious").exists());
    }
}
