//! The folder for the states of an audit: marked, so that `trueput clean` knows what a killed audit
//! leaves, and in memory where that is possible.

use crate::failure::Failure;
use std::path::{Path, PathBuf};
use trueput_host::mount_namespace;
use trueput_host::run_work_folder::RunWorkFolder;
use trueput_host::work_folder::WorkFolder;

/// The name of the usual work folder, in the folder of the audit.
const WORK: &str = "work";

/// The folder for states in the work folder.
const STATES: &str = "states";

/// The folder for states, in use.
pub struct Scratch {
    area: RunWorkFolder,
    path: PathBuf,
    is_in_memory: bool,
}

impl Scratch {
    /// Makes the folder, in `work` or in the folder of the audit. As root, this process gets a view
    /// of mounts of its own, and states lie in memory unless `work` is given.
    ///
    /// # Errors
    /// A usage error if it cannot be made.
    pub fn open(work: Option<&Path>, audit: &Path) -> Result<Self, Failure> {
        let is_private = mount_namespace::enter_private().is_ok();
        let usual = audit.join(WORK);
        let folder = WorkFolder::claim(work.unwrap_or(&usual)).map_err(Failure::usage)?;
        let name = audit.file_name().map_or(Path::new("audit"), Path::new);
        let area = RunWorkFolder::open(folder, name).map_err(Failure::usage)?;
        let (path, is_used) = area.trial_folder(STATES).map_err(Failure::Usage)?;
        if is_used {
            return Err(Failure::usage(format!(
                "{} holds what a killed audit left: trueput clean --yes removes it",
                path.display()
            )));
        }
        let is_in_memory = is_private && work.is_none();
        if is_in_memory {
            mount_namespace::mount_memory(&path)
                .map_err(|error| Failure::Other(format!("{}: {error}", path.display())))?;
        }
        Ok(Self {
            area,
            path,
            is_in_memory,
        })
    }

    /// Returns the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the folder and everything in it.
    pub fn close(self) {
        if self.is_in_memory {
            let _ = mount_namespace::unmount(&self.path);
        }
        let _ = self.area.remove_trial(STATES);
        self.area.close();
    }
}
