//! Finds, lists and removes leftovers of killed runs, recognized by trueput's markers.
//!
//! ```text
//! WORK/                        a work folder
//!   .trueput-work              its marker
//!   RUN/                       the folder of a run
//!     .trueput-run             its marker, with the process of the run
//!     TRIAL/                   the folder of a trial
//!       .trueput-file-system   its marker, if file systems were created for the trial
//! ```

use super::marker::{FileSystemPart, Marker};
use super::system::may_mount;
use super::{
    TrialFileSystemError, loop_device, mounting, remove as remove_file_systems, unmount_all,
};
use crate::cgroup::thaw;
use crate::file_system::read_mounts;
use crate::fit_file;
use crate::fuse::{FuseMount, find_own_at, fuse_mounts, lies_on};
use crate::process::is_alive;
use crate::process_tree::find_stopped_users;
use crate::run_marker::{RemovalError, RunMarker, RunMarkerError};
use crate::service::{SurvivingProcesses, kill_server};
use crate::shared_memory::SharedMemory;
use crate::work_folder::WorkFolder;
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use trueput_record::RunFolder;

/// The time that fusermount3 has.
const UNMOUNT_TIMEOUT: Duration = Duration::from_secs(10);

/// The time that the processes of a control group have to end, once they hear of it.
const GROUP_TIMEOUT: Duration = Duration::from_secs(10);

/// The pause between two attempts to remove a control group.
const GROUP_PAUSE: Duration = Duration::from_millis(20);

/// The folder of the recordings in that of an audit.
pub const RECORDINGS: &str = "recordings";

/// The folder of the control groups.
const CONTROL_GROUPS: &str = "/sys/fs/cgroup";

/// The depth to which control groups are searched. Those of a desktop's programs are seven deep.
const MAX_CGROUP_DEPTH: u32 = 12;

/// The leftovers of one killed run: its folder in a work folder, or a control group; or the file of
/// a killed fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    /// The run's folder in its work folder, the control group, or the file.
    pub path: PathBuf,
    /// The process that made it, which has ended.
    pub pid: u32,
    /// Its parts, in the order of removal.
    pub items: Vec<(LeftoverKind, PathBuf)>,
}

/// A kind of leftover.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftoverKind {
    /// A mounted file system.
    Mount,
    /// An attached loop device.
    LoopDevice,
    /// An image file.
    Image,
    /// A folder with its contents.
    Folder,
    /// The recording of an audit, with its contents.
    Recording,
    /// The file that a fit of a storage model measured.
    FitFile,
    /// A control group.
    ControlGroup,
    /// Shared memory of a server that was killed.
    SharedMemory,
    /// A process that was stopped between its time slices.
    StoppedProcess,
}

impl LeftoverKind {
    /// Returns the kind's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Mount => "mount",
            Self::LoopDevice => "loop device",
            Self::Image => "image",
            Self::Folder => "folder",
            Self::Recording => "recording",
            Self::FitFile => "file of a fit",
            Self::ControlGroup => "control group",
            Self::SharedMemory => "shared memory",
            Self::StoppedProcess => "stopped process",
        }
    }
}

/// The reason why a part of a leftover cannot be removed.
#[derive(Debug, thiserror::Error)]
pub enum CleanError {
    /// The run is active, or its folder holds files of others.
    #[error(transparent)]
    Run(#[from] RunMarkerError),
    /// The file systems of a trial cannot be removed.
    #[error(transparent)]
    FileSystem(#[from] TrialFileSystemError),
    /// A folder cannot be removed.
    #[error(transparent)]
    NotRemoved(#[from] RemovalError),
    /// A stopped process cannot be killed.
    #[error(transparent)]
    NotKilled(#[from] SurvivingProcesses),
    /// The recording file system of an audit cannot be unmounted.
    #[error("cannot unmount {}: {error}", point.display())]
    NotUnmounted {
        /// Its mount point.
        point: PathBuf,
        /// The reason.
        error: HelperError,
    },
}

/// The reason why `fusermount3` does not unmount.
#[derive(Debug, thiserror::Error)]
pub enum HelperError {
    /// It cannot be run.
    #[error("fusermount3: {0}")]
    NotRun(#[from] io::Error),
    /// It takes too long.
    #[error("no answer within {} s", .0.as_secs())]
    Timeout(Duration),
    /// It failed, with these words.
    #[error("{0}")]
    Failed(String),
}

/// Finds leftovers of ended runs in the work folders of the runs in `results` and in the folders
/// `work`, and in the latter those of fits of storage models.
///
/// A name alone is not enough: each run's folder has a marker, and so has each trial's folder in
/// which a file system was created.
#[must_use]
pub fn find(results: &[PathBuf], work: &[PathBuf]) -> Vec<Leftover> {
    let mut folders: BTreeSet<PathBuf> = work.iter().filter_map(|path| canonical(path)).collect();
    for results in results {
        folders.extend(work_folders(results));
    }
    let mut found = in_work_folders(&folders);
    found.extend(results.iter().flat_map(|results| recordings(results)));
    found.extend(work.iter().flat_map(|folder| fit_files(folder)));
    found
}

fn fit_files(folder: &Path) -> Vec<Leftover> {
    let found = canonical(folder).map(|folder| fit_file::find_abandoned(&folder));
    let leftovers = found.into_iter().flatten().map(|file| Leftover {
        path: file.path.clone(),
        pid: file.pid,
        items: vec![(LeftoverKind::FitFile, file.path)],
    });
    leftovers.collect()
}

/// Finds leftovers of ended runs as [`find`] does for `results`, and also from mounted file systems
/// and attached images anywhere, and control groups, which are recognized by their name and
/// process.
#[must_use]
pub fn find_everywhere(results: &Path) -> Vec<Leftover> {
    let mut folders: BTreeSet<PathBuf> = work_folders(results).into_iter().collect();
    let points = read_mounts()
        .into_iter()
        .map(|mount| mount.mount_point.into());
    let devices = entries(Path::new("/sys/block"));
    let devices = devices.map(|entry| Path::new("/dev").join(entry.file_name()));
    let images = devices.filter_map(|device| loop_device::find_image_of(&device));
    let fuse = fuse_mounts();
    for path in points.chain(images).collect::<Vec<PathBuf>>() {
        // The marker is in the trial's folder, two levels below the work folder. A FUSE file system
        // may have no server that answers, so no file on one is looked at.
        let marked = path
            .ancestors()
            .filter(|folder| !lies_on(&fuse, folder))
            .find(|folder| Marker::read(folder).is_some());
        let work = marked.and_then(|trial| trial.ancestors().nth(2));
        folders.extend(work.map(Path::to_owned));
    }
    // Processes that are frozen in a group end before their folders are removed.
    let mut found = control_groups(Path::new(CONTROL_GROUPS), MAX_CGROUP_DEPTH);
    found.extend(in_work_folders(&folders));
    found.extend(recordings(results));
    found
}

fn in_work_folders(folders: &BTreeSet<PathBuf>) -> Vec<Leftover> {
    let mut found = Vec::new();
    for folder in folders
        .iter()
        .filter_map(|folder| WorkFolder::open_marked(folder))
    {
        let mut runs: Vec<_> = entries(folder.path()).map(|entry| entry.path()).collect();
        runs.sort();
        found.extend(runs.iter().filter_map(|run| leftover_of_run(run)));
    }
    found
}

/// Returns the entries of a folder. An unreadable folder has none: it is another user's, or has
/// just disappeared, and must not hide the leftovers in others.
fn entries(path: &Path) -> impl Iterator<Item = fs::DirEntry> + use<> {
    fs::read_dir(path).into_iter().flatten().flatten()
}

fn canonical(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok()
}

/// Returns the work folders of the runs in a results folder.
fn work_folders(results: &Path) -> Vec<PathBuf> {
    let work = entries(results)
        .map(|entry| entry.path())
        .filter_map(|run| {
            let named = RunFolder::open(&run)
                .ok()
                .and_then(|(_, manifest)| manifest.work);
            canonical(&named.unwrap_or_else(|| run.join("work")))
        });
    work.collect()
}

/// Finds the recordings that killed audits have left in a results folder. Those of audits that
/// ended have no marker.
fn recordings(results: &Path) -> Vec<Leftover> {
    let audits = entries(results).filter_map(|audit| canonical(&audit.path()));
    let all = audits.flat_map(|audit| entries(&audit.join(RECORDINGS)));
    let recordings = all.map(|recording| recording.path()).filter_map(|path| {
        let marker = RunMarker::read(&path)?;
        let left = Leftover {
            path: path.clone(),
            pid: marker.pid,
            items: vec![(LeftoverKind::Recording, path.clone())],
        };
        (!marker.is_active(&path)).then_some(left)
    });
    let mut recordings: Vec<_> = recordings.collect();
    recordings.sort_by(|one, other| one.path.cmp(&other.path));
    recordings
}

/// Removes a recording, and the folder of recordings if it was the last one.
fn remove_recording(path: &Path) -> Result<(), RemovalError> {
    fs::remove_dir_all(path).map_err(RemovalError::of_path(path))?;
    // Fails if other recordings are in it, as it should.
    let _ = path.parent().map(fs::remove_dir);
    Ok(())
}

/// Returns the leftovers in a run's folder if the run has ended. What it was to keep is none.
fn leftover_of_run(path: &Path) -> Option<Leftover> {
    let run_marker = RunMarker::read(path)?;
    if run_marker.is_active(path) {
        return None;
    }
    let mut trials: Vec<_> = entries(path).map(|entry| entry.path()).collect();
    trials.sort();
    let mut items = Vec::new();
    for marker in trials.iter().filter_map(|trial| Marker::read(trial)) {
        let shown = marker.shown_folder();
        let shown = shown.filter(|folder| find_own_at(folder).is_some());
        items.extend(shown.map(|folder| (LeftoverKind::Mount, folder)));
        for part in marker.parts.iter().rev() {
            items.extend(leftover_items(&marker, part));
        }
    }
    let stopped = find_stopped_users(path).into_iter();
    let stopped = stopped.map(|pid| PathBuf::from(format!("/proc/{pid}")));
    items.extend(stopped.map(|path| (LeftoverKind::StoppedProcess, path)));
    let memory = SharedMemory::listed_below(path).paths();
    items.extend(
        memory
            .into_iter()
            .map(|path| (LeftoverKind::SharedMemory, path)),
    );
    let recordings = recording_mounts(path, &storage_mount_points(path)).into_iter();
    items.extend(recordings.map(|mount| (LeftoverKind::Mount, mount.mount_point)));
    items.push((LeftoverKind::Folder, path.to_owned()));
    if keeps_databases(&run_marker) {
        items.retain(|(kind, _)| !matches!(kind, LeftoverKind::Image | LeftoverKind::Folder));
    }
    (!items.is_empty()).then(|| Leftover {
        path: path.to_owned(),
        pid: run_marker.pid,
        items,
    })
}

/// Returns whether a run was to keep databases, or an earlier part of it has kept some.
fn keeps_databases(marker: &RunMarker) -> bool {
    marker.is_disposable == Some(false)
}

/// Finds the recording file systems and the faulty folders below a folder, the last mounted first:
/// those that are not the modeled storage of a trial.
fn recording_mounts(folder: &Path, storage: &[PathBuf]) -> Vec<FuseMount> {
    let own = fuse_mounts().into_iter().rev().filter(FuseMount::is_own);
    let below = own.filter(|mount| mount.mount_point.starts_with(folder));
    below
        .filter(|mount| !storage.contains(&mount.mount_point))
        .collect()
}

/// Returns the mount points of the modeled storage of a run's trials.
fn storage_mount_points(run: &Path) -> Vec<PathBuf> {
    let trials = entries(run).map(|entry| entry.path());
    let markers = trials.filter_map(|trial| Marker::read(&trial));
    markers
        .flat_map(|marker| marker.storage_mount_points())
        .collect()
}

/// Unmounts a recording file system whose server was killed, or does not answer: without root by
/// fusermount3, which may unmount what its user has mounted.
fn unmount_recording(mount: &FuseMount) -> Result<(), CleanError> {
    use rustix::mount::{UnmountFlags, unmount};
    // Without the right to do this, unmounting may still work.
    let _ = mount.abort();
    let point = &mount.mount_point;
    if unmount(point, UnmountFlags::DETACH).is_ok() {
        return Ok(());
    }
    let mut command = Command::new("fusermount3");
    command.args(["-u", "-z"]).arg(point);
    let unmounted = run_within(command, UNMOUNT_TIMEOUT);
    unmounted.map_err(|error| CleanError::NotUnmounted {
        point: point.clone(),
        error,
    })
}

/// Runs a command, and kills it if it takes longer than the limit.
fn run_within(mut command: Command, limit: Duration) -> Result<(), HelperError> {
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let mut child = command.stderr(Stdio::piped()).spawn()?;
    let began = Instant::now();
    let status = loop {
        match child.try_wait()? {
            Some(status) => break status,
            None if began.elapsed() < limit => std::thread::sleep(Duration::from_millis(5)),
            None => {
                // Not awaited: a process that waits for a file system may not end.
                child.kill()?;
                return Err(HelperError::Timeout(limit));
            }
        }
    };
    let mut words = String::new();
    if let Some(mut errors) = child.stderr.take() {
        errors.read_to_string(&mut words)?;
    }
    if status.success() {
        Ok(())
    } else {
        Err(HelperError::Failed(words.trim().to_owned()))
    }
}

fn leftover_items(marker: &Marker, part: &FileSystemPart) -> Vec<(LeftoverKind, PathBuf)> {
    let mut items = Vec::new();
    let at = marker.mount_point(part);
    if mounting::find_source_at(&at).is_some() {
        items.push((LeftoverKind::Mount, at));
    }
    for image in [part.image(marker.folder()), part.journal(marker.folder())] {
        let devices = loop_device::find_devices_of_image(&part.attached_file(&image));
        items.extend(
            devices
                .into_iter()
                .map(|device| (LeftoverKind::LoopDevice, device)),
        );
        let storage = part.storage_of(&image);
        let storage = storage.filter(|folder| find_own_at(folder).is_some());
        items.extend(storage.map(|folder| (LeftoverKind::Mount, folder)));
        if image.exists() {
            items.push((LeftoverKind::Image, image));
        }
    }
    let elsewhere = part.elsewhere.clone().filter(|folder| folder.exists());
    items.extend(elsewhere.map(|folder| (LeftoverKind::Folder, folder)));
    items
}

/// Finds control groups named `trueput-PID-N` whose process has ended. In another container the
/// number is that of another process.
fn control_groups(folder: &Path, depth: u32) -> Vec<Leftover> {
    if depth == 0 {
        return Vec::new();
    }
    let folders = entries(folder).filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let mut found = Vec::new();
    for path in folders.map(|entry| entry.path()) {
        found.extend(control_groups(&path, depth - 1));
        let pid = path
            .file_name()
            .and_then(|name| runner_of_group(name.to_str()?));
        if let Some(pid) = pid.filter(|pid| !is_alive(*pid) && holds_own_processes(&path)) {
            found.push(Leftover {
                items: vec![(LeftoverKind::ControlGroup, path.clone())],
                path,
                pid,
            });
        }
    }
    found
}

/// Whether all processes of a group are numbered as this one is.
fn holds_own_processes(group: &Path) -> bool {
    let namespace = |pid: &str| fs::read_link(format!("/proc/{pid}/ns/pid")).ok();
    let own = namespace("self");
    let members = fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
    // One that this process cannot number is listed as 0.
    let is_own = |pid: &str| pid != "0" && namespace(pid).is_none_or(|one| Some(one) == own);
    members.lines().all(is_own)
}

fn runner_of_group(name: &str) -> Option<u32> {
    let (pid, number) = name.strip_prefix("trueput-")?.split_once('-')?;
    number.parse::<u32>().ok()?;
    pid.parse().ok()
}

/// Removes a leftover. A run's folder is locked first, which fails if the run is active. The folder
/// of one that was to keep databases stays; its file systems are unmounted. The processes of a
/// control group end by themselves, since their runner has.
///
/// # Errors
/// A [`CleanError`] for each part that cannot be removed; the rest is removed.
pub fn clean(left: &Leftover) -> Result<(), Vec<CleanError>> {
    if left
        .items
        .iter()
        .any(|(kind, _)| *kind == LeftoverKind::ControlGroup)
    {
        return remove_group(&left.path).map_err(|error| vec![error.into()]);
    }
    if let [(LeftoverKind::FitFile, path)] = left.items.as_slice() {
        let removed = fs::remove_file(path).map_err(RemovalError::of_path(path));
        return removed.map_err(|error| vec![error.into()]);
    }
    let Some(run_marker) = RunMarker::read(&left.path) else {
        return Ok(());
    };
    let locked = run_marker.lock(&left.path);
    let _lock = locked.map_err(|error| vec![error.into()])?;
    if let [(LeftoverKind::Recording, path)] = left.items.as_slice() {
        return remove_recording(path).map_err(|error| vec![error.into()]);
    }
    let mut failures = Vec::new();
    for pid in find_stopped_users(&left.path) {
        failures.extend(kill_server(pid).err().map(CleanError::from));
    }
    // Modeled storage is unmounted with the file systems above it. Without root there are none, and
    // it takes the helper, too.
    let storage = if may_mount() {
        storage_mount_points(&left.path)
    } else {
        Vec::new()
    };
    let recordings = recording_mounts(&left.path, &storage);
    let unmounted = recordings.iter().map(unmount_recording);
    failures.extend(unmounted.filter_map(Result::err));
    if !failures.is_empty() {
        // What is still mounted may not answer, so nothing below it can be removed.
        return Err(failures);
    }
    SharedMemory::listed_below(&left.path).remove();
    let is_kept = keeps_databases(&run_marker);
    for trial in entries(&left.path)
        .map(|entry| entry.path())
        .filter(|path| is_folder(path))
    {
        failures.extend(if is_kept {
            unmount_all(&trial, None).err().map(CleanError::from)
        } else {
            remove_trial(&trial).err()
        });
    }
    if failures.is_empty() && !is_kept {
        let work = left.path.parent().and_then(WorkFolder::open_marked);
        match RunMarker::remove_with_folder(&left.path) {
            Ok(()) => work.into_iter().for_each(WorkFolder::release),
            Err(error) => failures.push(error.into()),
        }
    }
    if failures.is_empty() {
        Ok(())
    } else {
        Err(failures)
    }
}

/// Removes a control group. Processes in it that were frozen go on first, and hear that their
/// runner has ended.
fn remove_group(path: &Path) -> Result<(), RemovalError> {
    thaw(path);
    let until = Instant::now() + GROUP_TIMEOUT;
    loop {
        match fs::remove_dir(path) {
            Err(error) if error.kind() == ErrorKind::ResourceBusy && Instant::now() < until => {
                std::thread::sleep(GROUP_PAUSE);
            }
            removed => return removed.map_err(RemovalError::of_path(path)),
        }
    }
}

fn remove_trial(path: &Path) -> Result<(), CleanError> {
    // The servers of its modeled storage have ended with the run.
    remove_file_systems(path, None)?;
    Ok(fs::remove_dir_all(path).map_err(RemovalError::of_path(path))?)
}

fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_groups_named_after_a_process_are_recognized() {
        assert_eq!(runner_of_group("trueput-123-4"), Some(123));
        for name in ["trueput-123", "trueput-x-1", "trueput-1-x", "mine-1-2"] {
            assert_eq!(runner_of_group(name), None, "{name}");
        }
    }

    #[test]
    fn the_file_of_a_killed_fit_is_found_in_a_folder_that_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(".trueput-fit-7");
        fs::write(&file, "measured").unwrap();
        let named = [folder.path().to_owned()];
        let found = find(&[], &named);
        assert_eq!(found.len(), 1);
        assert_eq!(
            (found[0].pid, found[0].items[0].0),
            (7, LeftoverKind::FitFile)
        );
        clean(&found[0]).unwrap();
        assert!(!file.exists() && find(&[], &named).is_empty());
    }

    #[test]
    fn a_group_of_a_process_that_lives_is_not_left_behind() {
        let folder = tempfile::tempdir().unwrap();
        let own = std::process::id();
        // No process has the highest number.
        for name in [
            format!("trueput-{own}-1"),
            format!("trueput-{}-1", u32::MAX),
        ] {
            fs::create_dir_all(folder.path().join("a").join(name)).unwrap();
        }
        let found = control_groups(folder.path(), 3);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].pid, u32::MAX);
        clean(&found[0]).unwrap();
        assert!(control_groups(folder.path(), 3).is_empty());
    }
}
