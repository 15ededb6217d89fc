//! The servers of modeled storage: one process for each image of a trial that is on a storage
//! model. They outlive the workers, and end with this process at the latest.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use trueput_faultfs::modelled_image::{SERVER_COMMAND, ServedImage};
use trueput_faultfs::mount::MountError;
use trueput_host::image_store::{ImageStore, ImageStoreError, ModelledImage};
use trueput_record::service_report::REPORTS;

/// The servers of a run.
#[derive(Debug)]
pub(crate) struct StorageServers {
    /// The program that serves: this one, as a trial's workers are.
    program: PathBuf,
    /// The folder for what the servers report, a file each.
    reports: PathBuf,
    /// By mount point.
    servers: Mutex<BTreeMap<PathBuf, ServedImage>>,
}

impl StorageServers {
    /// Creates the store of a run without any servers. `program` is started as
    /// `PROGRAM storage-server`. The folder of the reports is created when the first server ends.
    pub(crate) fn new(program: &Path, run_folder: &Path) -> Self {
        Self {
            program: program.to_owned(),
            reports: run_folder.join(REPORTS),
            servers: Mutex::default(),
        }
    }

    fn servers(&self) -> MutexGuard<'_, BTreeMap<PathBuf, ServedImage>> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the file of the report on an image: `0001-data.json` for `0001/data.storage`. A
    /// trial that is run again replaces it.
    fn report(&self, mount_point: &Path) -> PathBuf {
        let name = |part: Option<&OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
        let trial = name(mount_point.parent().and_then(Path::file_name));
        let image = name(mount_point.file_stem());
        self.reports.join(format!("{trial}-{image}.json"))
    }
}

fn store_error(error: &MountError) -> ImageStoreError {
    ImageStoreError(error.to_string())
}

impl ImageStore for StorageServers {
    fn serve(&self, image: &ModelledImage<'_>) -> Result<(), ImageStoreError> {
        let mut command = Command::new(&self.program);
        command
            .arg(SERVER_COMMAND)
            .args([image.backing, image.mount_point])
            .arg(self.report(image.mount_point))
            .args([image.bytes.to_string(), image.model.to_owned()])
            .arg(image.seed.to_string());
        let server = ServedImage::start(command, image.mount_point);
        let server = server.map_err(|error| store_error(&error))?;
        self.servers().insert(image.mount_point.to_owned(), server);
        Ok(())
    }

    fn serves(&self, mount_point: &Path) -> bool {
        self.servers().contains_key(mount_point)
    }

    fn server_pids(&self) -> Vec<u32> {
        self.servers()
            .values()
            .filter_map(ServedImage::pid)
            .collect()
    }

    fn has_ended_server(&self) -> bool {
        self.servers().values_mut().any(ServedImage::has_ended)
    }

    fn set_delayed(&self, mount_point: &Path, is_delayed: bool) -> Result<(), ImageStoreError> {
        match self.servers().get_mut(mount_point) {
            Some(server) => {
                let set = server.set_delayed(is_delayed);
                set.map_err(|error| store_error(&error))
            }
            None => Ok(()),
        }
    }

    fn end(&self, mount_point: &Path) {
        let server = self.servers().remove(mount_point);
        // A server that was killed has failed its trial before.
        let _ = server.map(ServedImage::stop);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_image_of_each_trial_has_its_own_report() {
        let servers = StorageServers::new(Path::new("/trueput"), Path::new("/run"));
        for (mount_point, report) in [
            ("0001/data.storage", "0001-data.json"),
            ("0001/log.storage", "0001-log.json"),
            ("0002/data-journal.storage", "0002-data-journal.json"),
        ] {
            let mount_point = &Path::new("/databases").join(mount_point);
            let expected = Path::new("/run/storage").join(report);
            assert_eq!(servers.report(mount_point), expected);
            assert!(!servers.serves(mount_point));
        }
    }

    #[test]
    fn a_program_that_serves_nothing_fails_with_its_words() {
        let servers = StorageServers::new(Path::new("/bin/false"), Path::new("/nowhere"));
        let mount_point = Path::new("/nowhere/data.storage");
        let image = ModelledImage {
            backing: Path::new("/nowhere/data.img"),
            bytes: 1 << 20,
            mount_point,
            model: "hdd-7200",
            seed: 1,
        };
        let failed = servers.serve(&image).unwrap_err().to_string();
        let is_missing = failed.contains("FUSE is not available");
        assert!(
            is_missing || failed.contains("cannot be mounted"),
            "{failed}"
        );
        assert!(!servers.serves(mount_point));
        servers.end(mount_point);
    }
}
