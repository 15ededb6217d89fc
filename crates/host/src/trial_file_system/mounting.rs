//! Mounting and unmounting. The kernel's newer calls, fsopen(2) and its companions, are used: they
//! hand back the kernel's own words on a wrong option.

use super::error::{TrialFileSystemError, describe_error};
use crate::file_system::read_mounts;
use rustix::fs::{CWD, OFlags};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, UnmountFlags, fsconfig_create,
    fsconfig_set_flag, fsconfig_set_string, fsmount, fsopen, mount_bind, move_mount,
};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Options that belong to the mount and not to the file system, with their bits.
const ATTRIBUTES: [(&str, MountAttrFlags); 8] = [
    ("nosuid", MountAttrFlags::MOUNT_ATTR_NOSUID),
    ("nodev", MountAttrFlags::MOUNT_ATTR_NODEV),
    ("noexec", MountAttrFlags::MOUNT_ATTR_NOEXEC),
    ("relatime", MountAttrFlags::empty()),
    ("noatime", MountAttrFlags::MOUNT_ATTR_NOATIME),
    ("strictatime", MountAttrFlags::MOUNT_ATTR_STRICTATIME),
    ("nodiratime", MountAttrFlags::MOUNT_ATTR_NODIRATIME),
    ("defaults", MountAttrFlags::empty()),
];

/// The time that a file system may stay busy after its last user has ended.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Mounts a file system of that kind from `source` on the folder `at`.
///
/// # Errors
/// [`TrialFileSystemError::NotMounted`] or [`TrialFileSystemError::NoMountPoint`].
pub(super) fn mount(
    kind: &str,
    source: &Path,
    options: &[String],
    at: &Path,
) -> Result<(), TrialFileSystemError> {
    let log = KernelLog::from_now();
    let refusal = |option: Option<&str>, message: String| TrialFileSystemError::NotMounted {
        kind: kind.to_owned(),
        option: option.map(str::to_owned),
        message: log.or(message, source),
    };
    let context = fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC);
    let context = context.map_err(|error| refusal(None, describe_error(&error.into())))?;
    let mut context = File::from(context);
    fsconfig_set_string(&context, "source", source)
        .map_err(|error| refusal(None, kernel_messages(&mut context, error)))?;
    let mut attributes = MountAttrFlags::empty();
    for option in options {
        if let Some((_, bit)) = ATTRIBUTES.iter().find(|(name, _)| name == option) {
            attributes |= *bit;
            continue;
        }
        let set = match option.split_once('=') {
            Some((key, value)) => fsconfig_set_string(&context, key, value),
            None => fsconfig_set_flag(&context, option.as_str()),
        };
        set.map_err(|error| refusal(Some(option), kernel_messages(&mut context, error)))?;
    }
    let mounted = fsconfig_create(&context)
        .and_then(|()| fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes))
        .map_err(|error| refusal(None, kernel_messages(&mut context, error)))?;
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    move_mount(&mounted, "", CWD, at, flags).map_err(|error| TrialFileSystemError::NoMountPoint {
        at: at.to_owned(),
        error: error.into(),
    })
}

/// Makes the folder `from` appear at `at` as well.
///
/// # Errors
/// [`TrialFileSystemError::Path`].
pub(super) fn bind_mount(from: &Path, at: &Path) -> Result<(), TrialFileSystemError> {
    let bound = mount_bind(from, at).map_err(io::Error::from);
    bound.map_err(TrialFileSystemError::of_path(from, "bound"))
}

/// Unmounts the file system at `at`; its users may need a moment to exit.
///
/// # Errors
/// [`TrialFileSystemError::NotUnmounted`].
pub(super) fn unmount(at: &Path) -> Result<(), TrialFileSystemError> {
    let until = Instant::now() + BUSY_TIMEOUT;
    loop {
        let error = match rustix::mount::unmount(at, UnmountFlags::NOFOLLOW) {
            Ok(()) => return Ok(()),
            Err(error) => error,
        };
        if error != Errno::BUSY || Instant::now() > until {
            return Err(TrialFileSystemError::NotUnmounted {
                at: at.to_owned(),
                error: error.into(),
            });
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Returns the source of the topmost mount at exactly `at`.
pub(super) fn find_source_at(at: &Path) -> Option<PathBuf> {
    let all = read_mounts();
    let mut here = all.into_iter().rev();
    let top = here.find(|mount| Path::new(&mount.mount_point) == at);
    top.map(|mount| PathBuf::from(mount.source))
}

/// Lists every mount point at or below `folder`.
pub(super) fn list_mount_points_in(folder: &Path) -> Vec<PathBuf> {
    let points = read_mounts()
        .into_iter()
        .map(|mount| PathBuf::from(mount.mount_point));
    points.filter(|point| point.starts_with(folder)).collect()
}

/// Returns the kernel's messages on a file system that is being set up, in one line.
fn kernel_messages(context: &mut File, error: Errno) -> String {
    let mut said = Vec::new();
    let mut buffer = [0; 1024];
    // Each read takes one message: `e text` for an error, `w` or `i` for less.
    while let Ok(length @ 1..) = context.read(&mut buffer) {
        let message = String::from_utf8_lossy(&buffer[..length]);
        said.extend(
            message
                .strip_prefix("e ")
                .map(|text| text.trim().to_owned()),
        );
    }
    if said.is_empty() {
        describe_error(&io::Error::from(error))
    } else {
        said.join("; ")
    }
}

/// The kernel's log from a moment on, for file systems that report errors only there.
struct KernelLog(Option<File>);

impl KernelLog {
    fn from_now() -> Self {
        let mut options = OpenOptions::new();
        let file = options
            .read(true)
            .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
            .open("/dev/kmsg");
        let at_end = file.and_then(|mut file| file.seek(SeekFrom::End(0)).map(|_| file));
        Self(at_end.ok())
    }

    /// Returns the log's messages on that device since then, or `said` if there are none.
    fn or(&self, said: String, source: &Path) -> String {
        let device = source.file_name().unwrap_or_default().to_string_lossy();
        let Some(mut log) = self.0.as_ref() else {
            return said;
        };
        let mut found = Vec::new();
        let mut buffer = [0; 8192];
        while let Ok(length @ 1..) = log.read(&mut buffer) {
            let record = String::from_utf8_lossy(&buffer[..length]);
            let message = record.split_once(';').map_or("", |(_, message)| message);
            let message = message.lines().next().unwrap_or_default();
            if message.contains(&*device) {
                found.push(message.to_owned());
            }
        }
        if found.is_empty() {
            said
        } else {
            found.join("; ")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::system::may_mount;
    use super::*;

    #[test]
    fn a_tmpfs_is_mounted_with_its_options_and_a_wrong_option_is_named() {
        if !may_mount() {
            eprintln!("skipped: it needs CAP_SYS_ADMIN");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().canonicalize().unwrap();
        let source = Path::new("trueput");
        let options = ["size=1048576", "noatime"].map(str::to_owned);
        mount("tmpfs", source, &options, &at).unwrap();
        assert_eq!(find_source_at(&at).as_deref(), Some(source));
        let mounted = read_mounts().into_iter().rev();
        let mounted = mounted.filter(|mount| Path::new(&mount.mount_point) == at);
        let options = mounted.map(|mount| mount.options).next().unwrap();
        assert!(
            options.contains("noatime") && options.contains("size=1024k"),
            "{options}"
        );
        unmount(&at).unwrap();
        assert_eq!(find_source_at(&at), None);
        let refused = mount("tmpfs", source, &["sizze=1".to_owned()], &at);
        let reason = refused.unwrap_err().to_string();
        assert!(
            reason.starts_with("tmpfs cannot be mounted: option 'sizze=1': "),
            "{reason}"
        );
        assert!(reason.contains("sizze"), "{reason}");
    }
}
