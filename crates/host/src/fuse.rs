//! Mounted FUSE file systems, whose server may be dead or stopped: a look at a file on one can wait
//! for ever.

use crate::file_system::unescape;
use rustix::fs::{Mode, OFlags, openat};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Where the kernel's control files of FUSE are usually mounted.
const CONTROL_FILES: &str = "/sys/fs/fuse/connections";

/// A mounted FUSE file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FuseMount {
    pub(crate) mount_point: PathBuf,
    /// Its kind: `fuse.faultfs`, or `fuse` where root mounted it without a helper.
    kind: String,
    /// Its source: `trueput`.
    source: String,
    /// The number of the connection to its server.
    connection: u32,
}

/// Lists the FUSE file systems of this process's namespace in the order in which they were mounted.
/// The mount table says all of this: no file on them is looked at.
pub(crate) fn fuse_mounts() -> Vec<FuseMount> {
    let text = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    text.lines().filter_map(parse).collect()
}

/// Parses a line of the mount table: `36 35 0:52 / /mnt rw - fuse.faultfs trueput rw`.
fn parse(line: &str) -> Option<FuseMount> {
    let (mount, file_system) = line.split_once(" - ")?;
    let mut file_system = file_system.split(' ');
    let kind = file_system.next()?;
    let is_fuse = kind == "fuse" || kind == "fuseblk" || kind.starts_with("fuse.");
    let mut fields = mount.split(' ').skip(2);
    let device = fields.next()?;
    let (_, connection) = device.split_once(':')?;
    let mount_point = fields.nth(1)?;
    is_fuse.then_some(())?;
    Some(FuseMount {
        mount_point: unescape(mount_point).into(),
        kind: kind.to_owned(),
        source: file_system.next()?.to_owned(),
        connection: connection.parse().ok()?,
    })
}

/// Returns the file system of this program that is mounted on that folder.
pub(crate) fn find_own_at(mount_point: &Path) -> Option<FuseMount> {
    let mut mounts = fuse_mounts().into_iter().rev();
    mounts.find(|mount| mount.mount_point == mount_point && mount.is_own())
}

/// Ends the connection to the server of the file system of this program that is mounted on that
/// folder, if there is one: whoever waits for it gets an error, which may be the server itself. No
/// file on it is looked at.
///
/// # Errors
/// The system's own.
pub fn end_connection(mount_point: &Path) -> io::Result<()> {
    // The mount table has no links in its paths.
    let (parent, name) = (mount_point.parent(), mount_point.file_name());
    let parent = parent.and_then(|parent| parent.canonicalize().ok());
    let path = parent.and_then(|parent| Some(parent.join(name?)));
    let mount = find_own_at(path.as_deref().unwrap_or(mount_point));
    mount.map_or(Ok(()), |mount| mount.abort())
}

/// Returns whether a file system of this kind, mounted from `source`, is this program's: audits
/// record on it, or it shows an image on modeled storage, or a folder that fails.
pub(crate) fn is_own(kind: &str, source: &str) -> bool {
    // Without a helper, which root does not need, the kernel is not told the subtype.
    kind == "fuse.faultfs" || (kind == "fuse" && source == "trueput")
}

/// Returns whether a path lies on one of these file systems. One on `/` is what the machine runs
/// from, as in a container, so it is alive.
pub(crate) fn lies_on(mounts: &[FuseMount], path: &Path) -> bool {
    mounts
        .iter()
        .any(|mount| mount.mount_point != Path::new("/") && path.starts_with(&mount.mount_point))
}

impl FuseMount {
    /// Returns whether it is this program's, as [`is_own`].
    pub(crate) fn is_own(&self) -> bool {
        is_own(&self.kind, &self.source)
    }

    /// Ends the connection to the server: whoever waits for it gets an error. A lazy unmount alone
    /// ends nothing.
    ///
    /// # Errors
    /// The system's own.
    pub(crate) fn abort(&self) -> io::Result<()> {
        let usual = Path::new(CONTROL_FILES).join(self.connection.to_string());
        match fs::write(usual.join("abort"), "1") {
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.abort_unmounted(),
            written => written,
        }
    }

    /// Does it where the control files are not mounted: through a mount that nobody sees.
    fn abort_unmounted(&self) -> io::Result<()> {
        let files = fsopen("fusectl", FsOpenFlags::FSOPEN_CLOEXEC)?;
        fsconfig_create(&files)?;
        let files = fsmount(
            &files,
            FsMountFlags::FSMOUNT_CLOEXEC,
            MountAttrFlags::empty(),
        )?;
        let name = format!("{}/abort", self.connection);
        let opened = openat(
            &files,
            name,
            OFlags::WRONLY | OFlags::CLOEXEC,
            Mode::empty(),
        )?;
        File::from(opened).write_all(b"1")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_fuse_is_recognized_and_holds_what_lies_below_its_mount_points() {
        let lines = [
            "22 1 254:0 / / rw,relatime - ext4 /dev/root rw",
            "36 22 0:52 / /data\\040sets/a rw,nosuid shared:1 - fuse.faultfs trueput rw",
            "37 22 0:53 / / rw - fuse.overlayfs overlay rw",
            "39 22 0:55 / /b rw - fuse trueput rw",
            "38 22 0:54 / /sys/fs/fuse/connections rw - fusectl fusectl rw",
        ];
        let mounts: Vec<_> = lines.iter().filter_map(|line| parse(line)).collect();
        let found: Vec<_> = mounts.iter().map(|mount| mount.connection).collect();
        assert_eq!(found, [52, 53, 55]);
        let own: Vec<_> = mounts.iter().map(FuseMount::is_own).collect();
        assert_eq!(own, [true, false, true]);
        assert!(lies_on(&mounts, Path::new("/data sets/a/b")));
        assert!(!lies_on(&mounts, Path::new("/data sets")));
    }
}
