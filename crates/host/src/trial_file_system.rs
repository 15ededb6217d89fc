//! File systems created for a trial: an image file, a loop device, mkfs and a mount, and the
//! removal of all of these.
//!
//! ```text
//! WORK/RUN/TRIAL/
//!   .trueput-file-system   the marker: the file systems and their owner
//!   data.img               the image of the database's file system, on a loop device
//!   data-journal.img       the image of its journal, if that is separate
//!   mnt/database/          the mount, and the database in it
//!   mnt/database/log/      the mount of the log's file system, if that is separate
//!   log.img                its image
//! ```
//!
//! Only a device whose image was created here is ever formatted; no plan can name a device.

mod error;
mod leftovers;
mod loop_device;
mod marker;
mod mounting;
mod system;
mod tools;

pub use error::{FileSystemError, TrialFileSystemError};
pub use leftovers::{
    CleanError, HelperError, Leftover, LeftoverKind, RECORDINGS, clean, find, find_everywhere,
};
pub use tools::{check, why_unavailable};

use super::file_system::{find_file_system, read_free_bytes};
use crate::work_folder::WorkFolder;
use loop_device::LoopDevice;
use marker::{FileSystemPart, FileSystemRole, Marker};
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use system::check_removed;
use trueput_record::Conditions;
use trueput_record::filesystem::{FileSystem, FileSystemKind, MountedFileSystem};

/// The size of an image beyond the trial's needs, and its minimum size: file systems reserve some
/// space, and xfs and btrfs refuse less than 300 MiB.
const SPARE_BYTES: u64 = 512 << 20;

/// The size of an external journal's image.
const JOURNAL_BYTES: u64 = 256 << 20;

/// The folder that is made in a user's folder.
const USER_FOLDER: &str = "trueput-work";

/// The time that the kernel may take to release a loop device after unmounting.
const DETACH_TIMEOUT: Duration = Duration::from_secs(5);

/// Returns the size of the image for a trial that needs `needed_bytes`.
fn image_bytes(wanted: &FileSystem, needed_bytes: u64) -> u64 {
    let whole = |bytes: u64| bytes.div_ceil(1 << 20) << 20;
    let fitting = needed_bytes.saturating_add(needed_bytes / 8) + SPARE_BYTES;
    wanted.image_bytes.unwrap_or_else(|| whole(fitting))
}

/// Returns the bytes of the work folder's file system that a trial with these conditions takes if
/// its database needs `needed_bytes`.
pub fn estimate_taken_bytes(conditions: &Conditions, needed_bytes: u64) -> u64 {
    let taken = |wanted: &FileSystem| match wanted.kind {
        FileSystemKind::Made(_) => {
            let journal = if wanted.external_journal {
                JOURNAL_BYTES
            } else {
                0
            };
            image_bytes(wanted, needed_bytes).saturating_add(journal)
        }
        _ => 0,
    };
    let data = conditions.file_system.as_ref().map_or(needed_bytes, taken);
    let log = conditions.log_file_system.as_ref().map_or(0, taken);
    data.saturating_add(log)
}

/// A trial's mounted file systems.
#[derive(Debug)]
pub struct TrialFileSystems {
    /// The database's folder.
    pub database: PathBuf,
    /// The database's file system; `None` if it is the work folder's.
    pub data: Option<MountedFileSystem>,
    /// The log's file system; `None` if it is the database's.
    pub log: Option<MountedFileSystem>,
}

/// Creates and mounts the file systems that the conditions request in a trial's empty folder.
///
/// # Errors
/// [`TrialFileSystemError`]. What was created until then stays; the caller removes it with
/// [`remove`].
pub fn create(
    folder: &Path,
    conditions: &Conditions,
    needed_bytes: u64,
) -> Result<TrialFileSystems, TrialFileSystemError> {
    let wanted = [
        (FileSystemRole::Data, &conditions.file_system),
        (FileSystemRole::Log, &conditions.log_file_system),
    ];
    let wanted: Vec<_> = wanted
        .into_iter()
        .filter_map(|(role, wanted)| Some((role, wanted.as_ref()?)))
        .collect();
    if wanted.is_empty() {
        return Ok(TrialFileSystems {
            database: folder.to_owned(),
            data: None,
            log: None,
        });
    }
    for (_, wanted) in &wanted {
        check(wanted)?;
    }
    let parts = wanted
        .iter()
        .map(|(role, wanted)| part(folder, *role, wanted))
        .collect::<Result<_, TrialFileSystemError>>()?;
    let mut marker = Marker::new(folder, parts);
    marker.write()?;
    for (index, (_, wanted)) in wanted.iter().enumerate() {
        marker.parts[index].report = create_part(&marker, index, wanted, needed_bytes)?;
        make_folder(&marker.database())?;
        let at = location_of(&marker, &marker.parts[index]);
        marker.parts[index].report.mounted = find_file_system(&at);
        marker.write()?;
    }
    make_folder(&marker.database())?;
    Ok(file_systems_of(&marker))
}

/// Attaches an image and mounts its file system on a folder. The device is detached with its last
/// mount.
///
/// # Errors
/// [`MountImageError::NotAttached`] says nothing of the image.
pub fn mount_image(
    image: &Path,
    kind: &str,
    options: &[String],
    at: &Path,
) -> Result<(), MountImageError> {
    let device = loop_device::attach(image).map_err(MountImageError::NotAttached)?;
    let mounted = mounting::mount(kind, &device.path, options, at);
    mounted.map_err(MountImageError::NotMounted)
}

/// The reason why the file system in an image is not mounted.
#[derive(Debug, thiserror::Error)]
pub enum MountImageError {
    /// The machine gives no loop device for it.
    #[error(transparent)]
    NotAttached(TrialFileSystemError),
    /// The kernel does not accept the file system.
    #[error(transparent)]
    NotMounted(TrialFileSystemError),
}

/// Finds the file systems that an earlier trial of the same load left mounted.
pub fn find_existing(folder: &Path) -> TrialFileSystems {
    match Marker::read(folder) {
        Some(marker) => file_systems_of(&marker),
        None => TrialFileSystems {
            database: folder.to_owned(),
            data: None,
            log: None,
        },
    }
}

fn file_systems_of(marker: &Marker) -> TrialFileSystems {
    let report = |role| {
        let part = marker.parts.iter().find(|part| part.role == role);
        part.map(|part| part.report.clone())
    };
    TrialFileSystems {
        database: marker.database(),
        data: report(FileSystemRole::Data),
        log: report(FileSystemRole::Log),
    }
}

fn location_of(marker: &Marker, part: &FileSystemPart) -> PathBuf {
    match &part.elsewhere {
        Some(folder) => folder.clone(),
        None => marker.mount_point(part),
    }
}

/// Describes a part for the marker before it is created. A folder in a user's folder is named after
/// the trial's.
fn part(
    folder: &Path,
    role: FileSystemRole,
    wanted: &FileSystem,
) -> Result<FileSystemPart, TrialFileSystemError> {
    let mut part = FileSystemPart::new(role, &wanted.kind);
    if let FileSystemKind::Folder(theirs) = &wanted.kind {
        let work = WorkFolder::claim(&theirs.join(USER_FOLDER))?;
        let name = |path: Option<&Path>| {
            let name = path.and_then(Path::file_name).unwrap_or_default();
            name.to_string_lossy().into_owned()
        };
        let own = match role {
            FileSystemRole::Data => name(Some(folder)),
            FileSystemRole::Log => format!("{}-log", name(Some(folder))),
        };
        part.elsewhere = Some(work.path().join(name(folder.parent())).join(own));
    }
    Ok(part)
}

fn create_part(
    marker: &Marker,
    index: usize,
    wanted: &FileSystem,
    needed_bytes: u64,
) -> Result<MountedFileSystem, TrialFileSystemError> {
    let part = &marker.parts[index];
    let at = marker.mount_point(part);
    match &wanted.kind {
        FileSystemKind::Here => Ok(MountedFileSystem::default()),
        FileSystemKind::Folder(_) => {
            let theirs = part.elsewhere.clone().unwrap_or_default();
            make_folder(&theirs)?;
            if part.role == FileSystemRole::Log {
                make_folder(&at)?;
                mounting::bind_mount(&theirs, &at)?;
            }
            Ok(MountedFileSystem::default())
        }
        FileSystemKind::Tmpfs => {
            make_folder(&at)?;
            let size = wanted.image_bytes.map(|bytes| format!("size={bytes}"));
            // By default everybody may write to it.
            let mode = Some("mode=0755".to_owned());
            let own = mode.into_iter().chain(size);
            let options: Vec<_> = own.chain(wanted.mount.clone()).collect();
            mounting::mount("tmpfs", Path::new("trueput"), &options, &at)?;
            Ok(MountedFileSystem::default())
        }
        FileSystemKind::Made(kind) => {
            let bytes = image_bytes(wanted, needed_bytes);
            let device = image_device(&part.image(marker.folder()), bytes)?;
            let journal_bytes = wanted.external_journal.then_some(JOURNAL_BYTES);
            let journal = journal_bytes
                .map(|bytes| image_device(&part.journal(marker.folder()), bytes))
                .transpose()?;
            let journal_path = journal.as_ref().map(|device| device.path.as_path());
            let mkfs = tools::make(wanted, kind, &device.path, journal_path)?;
            let mut options = wanted.mount.clone();
            if let (Some(journal), "xfs") = (journal_path, kind.as_str()) {
                options.push(format!("logdev={}", journal.display()));
            }
            make_folder(&at)?;
            mounting::mount(kind, &device.path, &options, &at)?;
            // mke2fs creates it for fsck; an engine may mistake it for a file of its own.
            let _ = fs::remove_dir(at.join("lost+found"));
            Ok(MountedFileSystem {
                mkfs: Some(mkfs),
                image_bytes: Some(bytes),
                journal_bytes,
                direct_io: Some(device.direct_io),
                ..MountedFileSystem::default()
            })
        }
    }
}

/// Creates an image file with allocated blocks, so that none has to be allocated while a trial
/// runs, and attaches it to a loop device.
fn image_device(image: &Path, bytes: u64) -> Result<LoopDevice, TrialFileSystemError> {
    let failed = |error| TrialFileSystemError::Image {
        path: image.to_owned(),
        bytes,
        error,
    };
    if let Some(free_bytes) = read_free_bytes(image).filter(|&free| free < bytes) {
        return Err(TrialFileSystemError::NoRoom {
            folder: image.parent().unwrap_or(image).to_owned(),
            bytes,
            free_bytes,
        });
    }
    let file = File::create_new(image).map_err(failed)?;
    allocate(&file, bytes).map_err(failed)?;
    file.sync_all().map_err(failed)?;
    loop_device::attach(image)
}

fn allocate(file: &File, bytes: u64) -> std::io::Result<()> {
    use nix::libc;
    let length = libc::off_t::try_from(bytes).map_err(std::io::Error::other)?;
    // SAFETY: the descriptor is open, and the other arguments are plain numbers.
    match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, length) } {
        0 => Ok(()),
        // A file system without the call: the image is sparse.
        libc::EOPNOTSUPP | libc::EINVAL => file.set_len(bytes),
        number => Err(std::io::Error::from_raw_os_error(number)),
    }
}

fn make_folder(path: &Path) -> Result<(), TrialFileSystemError> {
    fs::create_dir_all(path).map_err(TrialFileSystemError::of_path(path, "made"))
}

/// Unmounts a trial's file systems and detaches their devices; the images stay.
///
/// # Errors
/// [`TrialFileSystemError`] of the first thing that cannot be undone.
pub fn unmount_all(folder: &Path) -> Result<(), TrialFileSystemError> {
    match Marker::read(folder) {
        Some(marker) => marker
            .parts
            .iter()
            .rev()
            .try_for_each(|part| unmount_part(&marker, part)),
        None => Ok(()),
    }
}

/// Removes a trial's file systems with their images; does nothing if there is no marker.
///
/// # Errors
/// [`TrialFileSystemError`] of the first part that cannot be removed. Files of others are left
/// alone.
pub(crate) fn remove(folder: &Path) -> Result<(), TrialFileSystemError> {
    let Some(marker) = Marker::read(folder) else {
        return refuse_foreign_mounts(folder, &[]);
    };
    // Own mounts first, so that a file system that cannot be removed completely stays mounted,
    // where the next attempt finds it.
    let own = marker.parts.iter().map(|part| marker.mount_point(part));
    refuse_foreign_mounts(folder, &own.collect::<Vec<_>>())?;
    unmount_all(folder)?;
    refuse_foreign_mounts(folder, &[])?;
    for part in &marker.parts {
        for image in [part.image(folder), part.journal(folder)] {
            check_removed(&image, fs::remove_file(&image))?;
        }
        if let Some(theirs) = &part.elsewhere {
            remove_from_user_folder(folder, theirs)?;
        }
    }
    marker.remove()
}

/// Refuses to empty a folder that contains a mount of others.
fn refuse_foreign_mounts(folder: &Path, own: &[PathBuf]) -> Result<(), TrialFileSystemError> {
    let points = mounting::list_mount_points_in(folder);
    match points.into_iter().find(|point| !own.contains(point)) {
        None => Ok(()),
        Some(point) => Err(TrialFileSystemError::ForeignMount(point)),
    }
}

fn unmount_part(marker: &Marker, part: &FileSystemPart) -> Result<(), TrialFileSystemError> {
    let at = marker.mount_point(part);
    let images = [part.image(marker.folder()), part.journal(marker.folder())];
    let is_bound = part.kind.is_empty() && part.role == FileSystemRole::Log;
    while let Some(source) = mounting::find_source_at(&at) {
        let ours = match part.kind.as_str() {
            "tmpfs" => source == Path::new("trueput"),
            "" => is_bound,
            _ => loop_device::find_image_of(&source).as_ref() == Some(&images[0]),
        };
        if !ours {
            return Err(TrialFileSystemError::Covered {
                mounted: source,
                at,
            });
        }
        mounting::unmount(&at)?;
    }
    images.iter().try_for_each(|image| wait_for_detach(image))
}

/// Waits until no loop device is attached to the image, and detaches one that was never mounted.
fn wait_for_detach(image: &Path) -> Result<(), TrialFileSystemError> {
    let until = Instant::now() + DETACH_TIMEOUT;
    loop {
        let mut devices = loop_device::find_devices_of_image(image);
        if devices.is_empty() {
            return Ok(());
        }
        for device in &devices {
            loop_device::detach(device)?;
        }
        if Instant::now() > until {
            return Err(TrialFileSystemError::StillAttached {
                image: image.to_owned(),
                device: devices.swap_remove(0),
            });
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Removes a trial's folder in a folder of the user's, if its path has the expected form: the
/// marked work folder, the run, the trial.
fn remove_from_user_folder(folder: &Path, theirs: &Path) -> Result<(), TrialFileSystemError> {
    let strange = || TrialFileSystemError::Changed(theirs.to_owned());
    let run = theirs.parent().ok_or_else(strange)?;
    let work = run.parent().ok_or_else(strange)?;
    let same_run = folder.parent().and_then(Path::file_name) == run.file_name();
    if !same_run || !work.ends_with(USER_FOLDER) {
        return Err(strange());
    }
    let Some(work) = WorkFolder::open_marked(work) else {
        return if theirs.exists() {
            Err(strange())
        } else {
            Ok(())
        };
    };
    refuse_foreign_mounts(theirs, &[])?;
    check_removed(theirs, fs::remove_dir_all(theirs))?;
    // Fails where another trial's folder is in it, as it should.
    let _ = fs::remove_dir(run);
    work.release();
    Ok(())
}
