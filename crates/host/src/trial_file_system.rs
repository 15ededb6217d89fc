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
//! On a storage model ([`Conditions::storage_model`]), a server shows the image with the delays of
//! the modeled device, and the loop device is attached to what it shows ([`ImageStore`]):
//!
//! ```text
//! WORK/RUN/TRIAL/
//!   data.img               as above; only the server reads and writes it
//!   data.storage/          the mount point of the server
//!   data.storage/image     what it shows: the loop device is attached to it
//! ```
//!
//! File systems are made and mounted without delays, which begin when all of the trial's are
//! mounted and end before the first is unmounted: mkfs on a slow disk would take minutes and use up
//! burst credits, and what is not written when a trial has ended is thrown away. The removal goes
//! from above: the file system, the loop device, the server, the image. A server ends with the
//! process of the run; what it has left is then a mount that answers with errors, from which
//! [`clean`] removes the file system as from a broken disk.
//!
//! A storage model in its folder form takes no image: a server shows the files of the database with
//! the delays in `data.storage/`, above whatever file system they are on (`database/` without one),
//! and ends before that is unmounted.
//!
//! With a fault of its storage ([`Conditions::fault`]), whoever runs the trial shows the database's
//! folder through one that fails ([`FAULTY_FOLDER`]), above whatever file system it is on, and
//! removes that one first.
//!
//! Only a device whose image was created here is ever formatted; no plan can name a device.

mod error;
mod leftovers;
mod loop_device;
mod marker;
mod modelled_storage;
mod mounting;
mod system;
mod tools;

pub use error::{FileSystemError, TrialFileSystemError};
pub use leftovers::{
    CleanError, HelperError, Leftover, LeftoverKind, RECORDINGS, clean, find, find_everywhere,
};
pub use tools::{check, why_unavailable};

use super::file_system::{find_file_system, read_free_bytes};
use crate::image_store::{ImageService, ImageStore};
use crate::work_folder::WorkFolder;
use loop_device::LoopDevice;
use marker::{FileSystemPart, FileSystemRole, Marker};
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use system::check_removed;
use tools::check_fuse;
use trueput_record::Conditions;
use trueput_record::filesystem::{FileSystem, FileSystemKind, MountedFileSystem};
use trueput_record::storage_model::is_in_folder;

/// The size of an image beyond the trial's needs, and its minimum size: file systems reserve some
/// space, and xfs and btrfs refuse less than 300 MiB.
const SPARE_BYTES: u64 = 512 << 20;

/// The size of an external journal's image.
const JOURNAL_BYTES: u64 = 256 << 20;

/// The folder that is made in a user's folder.
const USER_FOLDER: &str = "trueput-work";

/// The name, in a trial's folder, of the mount point of a folder that fails: that of its database.
pub const FAULTY_FOLDER: &str = "faulty";

/// A file system that a trial's conditions ask for.
struct PartRequest {
    role: FileSystemRole,
    file_system: FileSystem,
    storage_model: Option<String>,
}

/// Returns the file systems that are to be created for a trial, in the order in which they are
/// mounted. A storage model takes one ([`FileSystem::of_storage_model`] if none is named), but for
/// its folder form.
fn requested_parts(conditions: &Conditions) -> Vec<PartRequest> {
    let request = |role, file_system: &Option<FileSystem>, model: &Option<String>| {
        let modelled = model.as_ref().map(|_| FileSystem::of_storage_model());
        Some(PartRequest {
            role,
            file_system: file_system.clone().or(modelled)?,
            storage_model: model.clone(),
        })
    };
    let Conditions {
        file_system,
        log_file_system,
        storage_model,
        log_storage_model,
        ..
    } = conditions;
    let in_image = |model: &&String| !is_in_folder(Some(model.as_str()));
    let storage_model = storage_model.as_ref().filter(in_image).cloned();
    let data = request(FileSystemRole::Data, file_system, &storage_model);
    let log = request(FileSystemRole::Log, log_file_system, log_storage_model);
    data.into_iter().chain(log).collect()
}

/// Checks that this machine and this user can have the file systems, the modeled storage and the
/// fault that a trial's conditions ask for.
///
/// # Errors
/// [`FileSystemError`], one sentence.
pub fn check_conditions(conditions: &Conditions) -> Result<(), FileSystemError> {
    modelled_storage::check_folder_form(conditions)?;
    requested_parts(conditions)
        .iter()
        .try_for_each(check_part)?;
    match conditions.fault {
        Some(_) => check_fuse("a fault of storage"),
        None => Ok(()),
    }
}

fn check_part(request: &PartRequest) -> Result<(), FileSystemError> {
    if request.storage_model.is_some() && !request.file_system.is_made() {
        let file_system = request.file_system.to_string();
        return Err(FileSystemError::NoModelBelow(file_system));
    }
    let checked = check(&request.file_system);
    if request.storage_model.is_none() {
        return checked;
    }
    match checked {
        // One that the user mounts is on no model.
        Err(FileSystemError::NeedsRoot(_)) => Err(FileSystemError::ModelNeedsRoot),
        Err(error) => Err(error),
        Ok(()) => check_fuse("a storage model"),
    }
}

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
    let requests = requested_parts(conditions);
    let taken_by = |role| {
        let request = requests.iter().find(|request| request.role == role);
        request.map(|request| taken(&request.file_system))
    };
    let data = taken_by(FileSystemRole::Data).unwrap_or(needed_bytes);
    data.saturating_add(taken_by(FileSystemRole::Log).unwrap_or(0))
}

/// A trial's mounted file systems.
#[derive(Debug)]
pub struct TrialFileSystems {
    /// The database's folder.
    pub database: PathBuf,
    /// The folder in which its files lie, if that shows them with delays or a fault; `None`: they
    /// lie in it.
    pub files: Option<PathBuf>,
    /// The database's file system; `None` if it is the work folder's.
    pub data: Option<MountedFileSystem>,
    /// The log's file system; `None` if it is the database's.
    pub log: Option<MountedFileSystem>,
}

impl TrialFileSystems {
    /// Returns those of a database in the trial's folder itself.
    #[must_use]
    pub fn in_folder(folder: &Path) -> Self {
        Self {
            database: folder.to_owned(),
            files: None,
            data: None,
            log: None,
        }
    }
}

/// Creates and mounts the file systems that the conditions request in a trial's empty folder. The
/// service is that of a trial whose conditions may name a storage model.
///
/// # Errors
/// [`TrialFileSystemError`]. What was created until then stays; the caller removes it with
/// [`remove`].
pub fn create(
    folder: &Path,
    conditions: &Conditions,
    needed_bytes: u64,
    service: Option<ImageService<'_>>,
) -> Result<TrialFileSystems, TrialFileSystemError> {
    let requests = requested_parts(conditions);
    let model = conditions.storage_model.as_ref();
    let folder_model = model.filter(|model| is_in_folder(Some(model.as_str())));
    if requests.is_empty() && folder_model.is_none() {
        return Ok(TrialFileSystems::in_folder(folder));
    }
    check_conditions(conditions)?;
    let parts = requests
        .iter()
        .map(|request| part(folder, request))
        .collect::<Result<_, TrialFileSystemError>>()?;
    let mut marker = Marker::new(folder, parts);
    marker.folder_model = folder_model.cloned();
    marker.write()?;
    for (index, request) in requests.iter().enumerate() {
        let wanted = &request.file_system;
        let report = create_part(&marker, index, wanted, needed_bytes, service)?;
        marker.parts[index].report = report;
        make_folder(&marker.files())?;
        let at = location_of(&marker, &marker.parts[index]);
        marker.parts[index].report.mounted = find_file_system(&at);
        marker.write()?;
    }
    make_folder(&marker.files())?;
    let wanted = conditions.file_system.clone().unwrap_or_default();
    modelled_storage::serve_folder(&marker, image_bytes(&wanted, needed_bytes), service)?;
    modelled_storage::begin_delays(&marker, service)?;
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

/// Attaches an image to a loop device, as the file systems of trials are, while `use_device` has
/// the device. It is detached before this returns, or by the kernel if the process ends before.
/// `None` if this machine or user has no loop device with direct I/O for it.
///
/// # Errors
/// [`TrialFileSystemError`] if the image cannot be found, or stays attached.
pub fn with_loop_device<T>(
    image: &Path,
    use_device: impl FnOnce(&Path) -> T,
) -> Result<Option<T>, TrialFileSystemError> {
    // The kernel names an attached image by its full path.
    let found = image.canonicalize();
    let image = found.map_err(TrialFileSystemError::of_path(image, "found"))?;
    let device = loop_device::attach(&image).ok();
    let device = device.filter(|device| device.direct_io);
    let used = device.as_ref().map(|device| use_device(&device.path));
    // While this process has it open, it is not detached.
    drop(device);
    loop_device::wait_for_detach(&image)?;
    Ok(used)
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
        None => TrialFileSystems::in_folder(folder),
    }
}

fn file_systems_of(marker: &Marker) -> TrialFileSystems {
    let report = |role| {
        let part = marker.parts.iter().find(|part| part.role == role);
        part.map(|part| part.report.clone())
    };
    TrialFileSystems {
        database: marker.database(),
        files: marker.shown_folder().map(|_| marker.files()),
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
fn part(folder: &Path, request: &PartRequest) -> Result<FileSystemPart, TrialFileSystemError> {
    let (role, kind) = (request.role, &request.file_system.kind);
    let mut part = FileSystemPart::new(role, kind);
    part.storage_model.clone_from(&request.storage_model);
    if let FileSystemKind::Folder(theirs) = kind {
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
    service: Option<ImageService<'_>>,
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
            create_in_image(marker, part, (wanted, kind.as_str(), bytes), service)
        }
    }
}

/// Makes a file system of that kind in an image of that size, and mounts it.
fn create_in_image(
    marker: &Marker,
    part: &FileSystemPart,
    (wanted, kind, bytes): (&FileSystem, &str, u64),
    service: Option<ImageService<'_>>,
) -> Result<MountedFileSystem, TrialFileSystemError> {
    let folder = marker.folder();
    let device = image_device(part, &part.image(folder), bytes, service)?;
    let journal_bytes = wanted.external_journal.then_some(JOURNAL_BYTES);
    let journal = journal_bytes
        .map(|bytes| image_device(part, &part.journal(folder), bytes, service))
        .transpose()?;
    let journal_path = journal.as_ref().map(|device| device.path.as_path());
    let mkfs = tools::make(wanted, kind, &device.path, journal_path)?;
    let mut options = wanted.mount.clone();
    if let (Some(journal), "xfs") = (journal_path, kind) {
        options.push(format!("logdev={}", journal.display()));
    }
    let at = marker.mount_point(part);
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

/// Creates an image file with allocated blocks, so that none has to be allocated while a trial
/// runs, and attaches it to a loop device: the image itself, or what the server of its storage
/// model shows of it.
fn image_device(
    part: &FileSystemPart,
    image: &Path,
    bytes: u64,
    service: Option<ImageService<'_>>,
) -> Result<LoopDevice, TrialFileSystemError> {
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
    modelled_storage::serve(part, image, bytes, service)?;
    let attached = part.attached_file(image);
    let device = loop_device::attach(&attached)?;
    if part.storage_model.is_some() && !device.direct_io {
        return Err(TrialFileSystemError::CachedImage(attached));
    }
    Ok(device)
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

/// Ends the delays of a trial's modeled storage, so that killed processes which wait for it end.
pub(crate) fn end_delays(folder: &Path, store: Option<&dyn ImageStore>) {
    let marker = Marker::read(folder);
    let storage = marker.iter().flat_map(Marker::storage_mount_points);
    storage.for_each(|mount_point| modelled_storage::end_delays(store, &mount_point));
}

/// Unmounts a trial's file systems, detaches their devices and ends the servers below them; the
/// images stay. The store is the one with which they were created, in the same process.
///
/// # Errors
/// [`TrialFileSystemError`] of the first thing that cannot be undone.
pub fn unmount_all(
    folder: &Path,
    store: Option<&dyn ImageStore>,
) -> Result<(), TrialFileSystemError> {
    let Some(marker) = Marker::read(folder) else {
        return Ok(());
    };
    let storage = marker.storage_mount_points();
    for mount_point in &storage {
        modelled_storage::end_delays(store, mount_point);
    }
    // It is above the file system of the files that it shows.
    if let Some(shown) = marker.shown_folder() {
        modelled_storage::unmount(store, &shown)?;
    }
    let mut parts = marker.parts.iter().rev();
    parts.try_for_each(|part| unmount_part(&marker, part))?;
    let mut storage = storage.iter();
    storage.try_for_each(|mount_point| modelled_storage::unmount(store, mount_point))
}

/// Removes a trial's file systems with their images; does nothing if there is no marker.
///
/// # Errors
/// [`TrialFileSystemError`] of the first part that cannot be removed. Files of others are left
/// alone.
pub(crate) fn remove(
    folder: &Path,
    store: Option<&dyn ImageStore>,
) -> Result<(), TrialFileSystemError> {
    // The server of a run that was killed may have left it.
    modelled_storage::unmount(None, &folder.join(FAULTY_FOLDER))?;
    let Some(marker) = Marker::read(folder) else {
        return refuse_foreign_mounts(folder, &[]);
    };
    // Own mounts first, so that a file system that cannot be removed completely stays mounted,
    // where the next attempt finds it.
    let mounted = marker.parts.iter().map(|part| marker.mount_point(part));
    let own = mounted.chain(marker.storage_mount_points());
    refuse_foreign_mounts(folder, &own.collect::<Vec<_>>())?;
    unmount_all(folder, store)?;
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
    let images = images.map(|image| part.attached_file(&image));
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
    images
        .iter()
        .try_for_each(|image| loop_device::wait_for_detach(image))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image_store::{ImageStoreError, ModelledImage};
    use std::sync::Mutex;

    /// A store that serves one image, and notes what becomes of its delays.
    #[derive(Debug, Default)]
    struct NotedDelays(Mutex<Vec<(PathBuf, bool)>>);

    impl ImageStore for NotedDelays {
        fn serve(&self, _: &ModelledImage<'_>) -> Result<(), ImageStoreError> {
            Ok(())
        }

        fn serves(&self, mount_point: &Path) -> bool {
            mount_point.ends_with("data.storage")
        }

        fn set_delayed(&self, mount_point: &Path, on: bool) -> Result<(), ImageStoreError> {
            self.0.lock().unwrap().push((mount_point.to_owned(), on));
            Ok(())
        }

        fn end(&self, _: &Path) {}
    }

    #[test]
    fn the_delays_of_a_trial_end_on_its_own_images_alone() {
        let folder = tempfile::tempdir().unwrap();
        let (place, store) = (folder.path(), NotedDelays::default());
        end_delays(place, Some(&store));
        assert!(store.0.lock().unwrap().is_empty(), "it has no marker yet");
        let parts = requested_parts(&modelled(None)).into_iter();
        let parts = parts.map(|request| part(place, &request).unwrap());
        Marker::new(place, parts.collect()).write().unwrap();
        end_delays(place, Some(&store));
        let noted = store.0.into_inner().unwrap();
        assert_eq!(noted, [(place.join("data.storage"), false)]);
    }

    fn modelled(file_system: Option<&str>) -> Conditions {
        Conditions {
            file_system: file_system.map(|text| text.parse().unwrap()),
            storage_model: Some("hdd-7200".to_owned()),
            ..Conditions::default()
        }
    }

    fn described(conditions: &Conditions) -> Vec<(FileSystemRole, String, Option<String>)> {
        let requests = requested_parts(conditions).into_iter();
        let described = requests.map(|it| (it.role, it.file_system.to_string(), it.storage_model));
        described.collect()
    }

    #[test]
    fn a_storage_model_takes_a_file_system_in_an_image() {
        use FileSystemRole::{Data, Log};
        let model = Some("hdd-7200".to_owned());
        let ext4 = || "ext4".to_owned();
        assert!(described(&Conditions::default()).is_empty());
        let implied = described(&modelled(None));
        assert_eq!(implied, [(Data, ext4(), model.clone())]);
        let named = described(&modelled(Some("xfs")));
        assert_eq!(named, [(Data, "xfs".to_owned(), model.clone())]);
        // A log with a file system alone is on this machine's own storage.
        let mut both = modelled(None);
        both.log_file_system = "tmpfs".parse().ok();
        let log = (Log, "tmpfs".to_owned(), None);
        assert_eq!(described(&both), [(Data, ext4(), model.clone()), log]);
        let log = Conditions {
            log_storage_model: model.clone(),
            ..Conditions::default()
        };
        assert_eq!(described(&log), [(Log, ext4(), model)]);
    }

    #[test]
    fn an_image_on_a_storage_model_takes_the_room_of_any_other() {
        let named: FileSystem = "ext4".parse().unwrap();
        let named = Conditions {
            file_system: Some(named),
            ..Conditions::default()
        };
        let taken = |conditions: &Conditions| estimate_taken_bytes(conditions, 1 << 30);
        assert_eq!(taken(&modelled(None)), taken(&named));
        assert!(taken(&modelled(None)) > 1 << 30);
        assert_eq!(taken(&Conditions::default()), 1 << 30);
    }

    #[test]
    fn a_file_system_on_no_device_of_ours_is_refused_a_storage_model() {
        for file_system in ["tmpfs", "folder:/"] {
            let refused = check_conditions(&modelled(Some(file_system))).unwrap_err();
            assert!(refused.is_invalid(), "{refused}");
            assert!(refused.to_string().starts_with(file_system), "{refused}");
        }
        // The control: without the model it is another question.
        let mut plain = modelled(Some("folder:/"));
        plain.storage_model = None;
        assert_eq!(check_conditions(&plain), Ok(()));
    }
}
