//! The reasons why the file systems of a trial cannot be had, made or removed.

use crate::image_store::ImageStoreError;
use crate::work_folder::WorkFolderError;
use std::ffi::c_int;
use std::io;
use std::path::PathBuf;
use trueput_record::suggest::did_you_mean;
use trueput_record::value::format_bytes;

/// The reason why a trial cannot have its file system.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileSystemError {
    /// The folder of the user's is not there.
    #[error("{} is not a directory: create it, or name another", .0.display())]
    NoFolder(PathBuf),
    /// Nobody knows the kind.
    #[error(
        "unknown file system '{kind}'{}: neither the kernel nor mkfs.{kind} supports it; known: \
         here, folder:/mnt/x, tmpfs, {}",
        did_you_mean(kind, known.iter().copied()),
        known.join(", ")
    )]
    UnknownKind {
        /// The kind.
        kind: String,
        /// The kinds that have a tool.
        known: Vec<&'static str>,
    },
    /// The kind has its journal inside.
    #[error("{0} does not support an external journal; ext3, ext4 and xfs do")]
    NoExternalJournal(String),
    /// The kernel does not have the kind.
    #[error("{0} is skipped: this kernel has no driver for it")]
    NoDriver(String),
    /// The program that makes the kind is not installed.
    #[error(
        "{kind} is skipped: mkfs.{kind} is not installed; install {}",
        package.unwrap_or("its package")
    )]
    NotInstalled {
        /// The kind.
        kind: String,
        /// The Debian package that has the program; `None` if it is not known.
        package: Option<&'static str>,
    },
    /// The machine has no loop devices.
    #[error(
        "{file_system} needs a loop device, but {control} is missing: load the kernel module \
         'loop', or give the container its devices"
    )]
    NoLoopDevices {
        /// The file system.
        file_system: String,
        /// The control device of loop devices.
        control: &'static str,
    },
    /// The kernel has no FUSE, by which storage is slowed down, or fails.
    #[error(
        "{purpose} needs the kernel's FUSE, which is not available ({reason}): load it with \
         'modprobe fuse', or give the container /dev/fuse"
    )]
    NoFuse {
        /// The storage that needs it, with an article.
        purpose: &'static str,
        /// The reason, in the system's words.
        reason: String,
    },
    /// A storage model is that of a device, and this file system lies on none of ours.
    #[error(
        "{0} lies on no device that could be slowed down: remove the storage model, or name a file \
         system that is made in an image, as ext4"
    )]
    NoModelBelow(String),
    /// A storage model in its folder form is with something else below or above it.
    #[error(
        "a storage model with folder: does not go with {0}: remove {0}, or name the model without \
         folder:"
    )]
    FolderFormWith(&'static str),
    /// The log of an engine is in the folder of its database.
    #[error("the storage model of a log has no folder form: name it without folder:")]
    FolderFormOfLog,
    /// This user may not mount the image of a storage model.
    #[error(
        "a storage model needs root (CAP_SYS_ADMIN): run trueput as root, or name the model with \
         folder: before it"
    )]
    ModelNeedsRoot,
    /// This user may not mount it.
    #[error(
        "{0} needs root (CAP_SYS_ADMIN) to be mounted: run trueput as root, or mount it yourself \
         and use folder:/its/path"
    )]
    NeedsRoot(String),
}

impl FileSystemError {
    /// Returns whether the plan is wrong, whatever the machine. Otherwise this machine or user
    /// cannot create the file system, and other trials can run.
    #[must_use]
    pub fn is_invalid(&self) -> bool {
        matches!(
            self,
            Self::NoFolder(_)
                | Self::UnknownKind { .. }
                | Self::NoExternalJournal(_)
                | Self::NoModelBelow(_)
                | Self::FolderFormWith(_)
                | Self::FolderFormOfLog
        )
    }
}

/// The reason why the file systems of a trial cannot be made, mounted, unmounted or removed.
#[derive(Debug, thiserror::Error)]
pub enum TrialFileSystemError {
    /// This machine or user cannot have one.
    #[error(transparent)]
    Unavailable(#[from] FileSystemError),
    /// The folder in a user's folder cannot be used.
    #[error(transparent)]
    WorkFolder(#[from] WorkFolderError),
    /// A file, folder or device cannot be used.
    #[error("{} cannot be {action}: {}", path.display(), describe_error(error))]
    Path {
        /// Its path.
        path: PathBuf,
        /// What was to be done with it, as a participle: `opened`.
        action: &'static str,
        /// The error of the operating system.
        error: io::Error,
    },
    /// A file or folder cannot be removed.
    #[error("cannot remove {}: {}", path.display(), describe_error(error))]
    NotRemoved {
        /// Its path.
        path: PathBuf,
        /// The error of the operating system.
        error: io::Error,
    },
    /// The marker of the folder cannot be put in words.
    #[error(transparent)]
    Marker(#[from] serde_json::Error),
    /// An image cannot be made.
    #[error(
        "an image of {}, {}, cannot be made: {}",
        format_bytes(*bytes),
        path.display(),
        describe_error(error)
    )]
    Image {
        /// Its path.
        path: PathBuf,
        /// Its size.
        bytes: u64,
        /// The error of the operating system.
        error: io::Error,
    },
    /// The work folder has too little room for an image.
    #[error(
        "an image of {} exceeds the free space in {}: {}; choose a smaller --image",
        format_bytes(*bytes),
        folder.display(),
        format_bytes(*free_bytes)
    )]
    NoRoom {
        /// The folder.
        folder: PathBuf,
        /// The size of the image.
        bytes: u64,
        /// The free space for this user.
        free_bytes: u64,
    },
    /// The kernel gives no loop device.
    #[error("no free loop device: {}", describe_error(.0))]
    NoLoopDevice(io::Error),
    /// Others were faster with each loop device that the kernel offered.
    #[error("other programs took every free loop device")]
    LoopDevicesTaken,
    /// The kernel offers a loop device whose file is not there.
    #[error(
        "the kernel offers the loop device {path}, but the file does not exist: give the container \
         its loop devices, or run 'mknod {path} b 7 {number}'",
        path = path.display()
    )]
    NoDeviceFile {
        /// The path of the file.
        path: PathBuf,
        /// The device's number.
        number: c_int,
    },
    /// An image cannot be attached to a loop device.
    #[error("{} on {}: {error}", image.display(), device.display())]
    NotAttached {
        /// The image.
        image: PathBuf,
        /// The device.
        device: PathBuf,
        /// The error of the operating system.
        error: io::Error,
    },
    /// An image is still attached some time after it was unmounted.
    #[error("{} still holds {}", device.display(), image.display())]
    StillAttached {
        /// The image.
        image: PathBuf,
        /// The device.
        device: PathBuf,
    },
    /// The image cannot be served with the delays of its storage model.
    #[error(transparent)]
    Storage(#[from] ImageStoreError),
    /// Nothing here serves images.
    #[error("a storage model is for the trials of runs only")]
    NoImageStore,
    /// The kernel does not use direct I/O on an image on modeled storage.
    #[error(
        "the kernel keeps {} in its page cache, which would hide the storage model: direct I/O on \
         this loop device is refused",
        .0.display()
    )]
    CachedImage(PathBuf),
    /// The program that makes a file system of this kind is not there.
    #[error("mkfs.{0} is not installed")]
    NoMkfs(String),
    /// That program cannot be started.
    #[error("cannot start {}: {error}", program.display())]
    MkfsNotStarted {
        /// Its path.
        program: PathBuf,
        /// The error of the operating system.
        error: io::Error,
    },
    /// That program makes no file system.
    #[error("{program}: {message}")]
    MkfsFailed {
        /// Its name.
        program: String,
        /// What it wrote.
        message: String,
    },
    /// The kernel does not accept a file system, or one of its options.
    #[error("{kind} cannot be mounted:{} {message}", of_option(option.as_deref()))]
    NotMounted {
        /// The kind of the file system.
        kind: String,
        /// The option; `None` if it is not about one.
        option: Option<String>,
        /// The kernel's own words, if it has any.
        message: String,
    },
    /// A folder cannot be a mount point.
    #[error("nothing can be mounted on {}: {}", at.display(), describe_error(error))]
    NoMountPoint {
        /// The folder.
        at: PathBuf,
        /// The error of the operating system.
        error: io::Error,
    },
    /// A file system cannot be unmounted.
    #[error(
        "{} cannot be unmounted: {}{}",
        at.display(),
        describe_error(error),
        user_hint(error)
    )]
    NotUnmounted {
        /// Its mount point.
        at: PathBuf,
        /// The error of the operating system.
        error: io::Error,
    },
    /// There is a mount in the folder that trueput has not made.
    #[error(
        "a mount on {} does not belong to trueput: unmount it, then try again",
        .0.display()
    )]
    ForeignMount(PathBuf),
    /// Something else is mounted where trueput has mounted a file system.
    #[error(
        "{} is mounted on {}, but not by trueput: unmount it, then try again",
        mounted.display(),
        at.display()
    )]
    Covered {
        /// What is mounted.
        mounted: PathBuf,
        /// The mount point.
        at: PathBuf,
    },
    /// The folder in a user's folder is not as it was made.
    #[error("{} was changed since trueput made it: not removed", .0.display())]
    Changed(PathBuf),
}

impl TrialFileSystemError {
    /// Returns how an error of the operating system becomes that of an action on a path.
    pub(super) fn of_path(
        path: impl Into<PathBuf>,
        action: &'static str,
    ) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::Path {
            path: path.into(),
            action,
            error,
        }
    }
}

/// Returns the text of a system error without its number.
pub(super) fn describe_error(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(number) => nix::errno::Errno::from_raw(number).desc().to_owned(),
        None => error.to_string(),
    }
}

fn of_option(option: Option<&str>) -> String {
    option.map_or_else(String::new, |option| format!(" option '{option}':"))
}

fn user_hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::ResourceBusy => "; a process has files open in it",
        _ => "",
    }
}
