//! The folder for the states of an audit: marked, so that `trueput clean` knows what a killed audit
//! leaves, and in memory where that is possible.

use crate::Error;
use std::io;
use std::path::{Path, PathBuf};
use trueput_host::mount_namespace;
use trueput_host::run_work_folder::RunWorkFolder;
use trueput_host::work_folder::WorkFolder;

/// The name of the usual work folder, in the folder of the audit.
const WORK: &str = "work";

/// The folder for states in the work folder.
const STATES: &str = "states";

/// The place of the folder for an audit with a view of mounts of its own. Files of some engines
/// hold their own path (GT.M), so a replay from any folder needs the path of the recording.
const PLACE: &str = "/run/trueput";

/// The folder for states, in use.
pub(crate) struct Scratch {
    area: RunWorkFolder,
    path: PathBuf,
    /// The mounts of this process's view.
    mounts: Vec<PathBuf>,
}

impl Scratch {
    /// Makes the folder, in `work` or in the folder of the audit. As root, this process gets a view
    /// of mounts of its own, and states lie in memory unless `work` is given.
    ///
    /// # Errors
    /// An [`Error`] if it cannot be made.
    pub(crate) fn open(work: Option<&Path>, audit: &Path) -> Result<Self, Error> {
        let is_private = mount_namespace::enter_private().is_ok();
        let usual = audit.join(WORK);
        let folder = WorkFolder::claim(work.unwrap_or(&usual))?;
        let name = audit.file_name().map_or(Path::new("audit"), Path::new);
        let area = RunWorkFolder::open(folder, name, false)?;
        if area.has_leftovers() {
            // A command that was killed goes on.
            area.remove_trial(STATES)?;
        }
        let (path, is_used) = area.trial_folder(STATES)?;
        if is_used {
            return Err(Error::StatesInUse { folder: path });
        }
        let mut scratch = Self {
            area,
            path,
            mounts: Vec::new(),
        };
        if is_private {
            let path = scratch.path.clone();
            scratch
                .mount(work.is_none())
                .map_err(|source| Error::File { path, source })?;
        }
        Ok(scratch)
    }

    fn mount(&mut self, in_memory: bool) -> io::Result<()> {
        if in_memory {
            mount_namespace::mount_memory(&self.path)?;
            self.mounts.push(self.path.clone());
        }
        let place = Path::new(PLACE);
        if std::fs::create_dir_all(place).is_ok() {
            mount_namespace::bind(&self.path, place)?;
            self.mounts.push(place.to_owned());
            place.clone_into(&mut self.path);
        }
        Ok(())
    }

    /// Returns the folder.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the folder and everything in it.
    pub(crate) fn close(self) {
        for mounted in self.mounts.iter().rev() {
            let _ = mount_namespace::unmount(mounted);
        }
        let _ = self.area.remove_trial(STATES);
        self.area.close();
    }
}
