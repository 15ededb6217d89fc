//! Mounted file systems: the one that holds a folder, its free space, the mount table.

use nix::sys::statvfs::{Statvfs, statvfs};
use std::path::{Path, PathBuf};
use trueput_record::host::FileSystemFacts;

/// Returns the file system that holds `directory` or its nearest existing ancestor.
pub fn find_file_system(directory: &Path) -> FileSystemFacts {
    let directory = find_nearest_existing(directory);
    let mount = find_mount(&read_mount_table(), &directory).cloned();
    let mut facts = mount.unwrap_or_default().facts;
    if let Ok(statistics) = statvfs(&directory) {
        facts.size_bytes = in_bytes(&statistics, statistics.blocks());
        facts.free_bytes = in_bytes(&statistics, statistics.blocks_available());
    }
    facts
}

/// A line of the mount table.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Mount {
    /// The kernel's number of the mount.
    pub id: u64,
    /// The number of its device, as in `/sys/dev/block`: `254:0`.
    pub device: String,
    /// The folder of the file system that is mounted.
    pub root: PathBuf,
    /// The file system.
    pub facts: FileSystemFacts,
}

/// Options that the superblock of an ext2, ext3 or ext4 can set (`tune2fs -o`, `-E mount_opts`),
/// and that decide what it keeps. The mount table leaves out what equals the superblock's
/// (`_ext4_show_options` of linux/fs/ext4/super.c).
const EXT4_DEFAULTS: [&str; 3] = ["nobarrier", "data=writeback", "data=journal"];

impl Mount {
    /// Adds the options that the mount table of ext2, ext3 and ext4 leaves out. `ext4` has a folder
    /// for each device, with all options.
    fn add_ext4_defaults(&mut self, devices: &Path, ext4: &Path) {
        if !["ext2", "ext3", "ext4"].contains(&self.facts.kind.as_str()) {
            return;
        }
        let device = devices.join(&self.device).canonicalize();
        let Some(name) = device.as_ref().ok().and_then(|device| device.file_name()) else {
            return;
        };
        let all = std::fs::read_to_string(ext4.join(name).join("options")).unwrap_or_default();
        for option in all.lines().filter(|line| EXT4_DEFAULTS.contains(line)) {
            if !self.facts.options.split(',').any(|shown| shown == option) {
                self.facts.options = format!("{},{option}", self.facts.options);
            }
        }
    }
}

/// Lists the mounts of this process's namespace in the order in which they were made.
pub(crate) fn read_mounts() -> Vec<FileSystemFacts> {
    read_mount_table()
        .into_iter()
        .map(|mount| mount.facts)
        .collect()
}

/// Lists the lines of the mount table in the order in which the mounts were made.
pub(crate) fn read_mount_table() -> Vec<Mount> {
    let text = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let mut mounts: Vec<Mount> = text.lines().filter_map(parse_mount).collect();
    let (devices, ext4) = (Path::new("/sys/dev/block"), Path::new("/proc/fs/ext4"));
    for mount in &mut mounts {
        mount.add_ext4_defaults(devices, ext4);
    }
    mounts
}

/// Finds the mount of a file or folder, whose links are resolved, in the mount table.
pub(crate) fn find_mount<'a>(mounts: &'a [Mount], path: &Path) -> Option<&'a Mount> {
    // A mount point can lie below a later mount that hides it, so the kernel's number comes first.
    let id = mount_id(path);
    let numbered = mounts.iter().find(|mount| Some(mount.id) == id);
    numbered.or_else(|| mount_of(mounts, path))
}

/// Returns the kernel's number of the mount that a path is on; `None` before Linux 5.8.
fn mount_id(path: &Path) -> Option<u64> {
    let found = rustix::fs::statx(
        rustix::fs::CWD,
        path,
        rustix::fs::AtFlags::empty(),
        rustix::fs::StatxFlags::MNT_ID,
    );
    let found = found.ok()?;
    let is_known = found.stx_mask & rustix::fs::StatxFlags::MNT_ID.bits() != 0;
    is_known.then_some(found.stx_mnt_id)
}

/// Returns the bytes free for this user on the file system of `directory`, which need not exist
/// yet; `None` if the kernel does not report them.
pub fn read_free_bytes(directory: &Path) -> Option<u64> {
    read_free_space(directory).map(|free| free.bytes)
}

/// What is free on a file system for this user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FreeSpace {
    /// Bytes.
    pub bytes: u64,
    /// Inodes; `None` where the file system makes them as needed, as btrfs does.
    pub inodes: Option<u64>,
}

/// Returns what is free on the file system of `directory`, which need not exist; `None` if the
/// kernel does not report it.
pub fn read_free_space(directory: &Path) -> Option<FreeSpace> {
    let statistics = statvfs(&find_nearest_existing(directory)).ok()?;
    Some(FreeSpace {
        bytes: in_bytes(&statistics, statistics.blocks_available()),
        inodes: (statistics.files() > 0).then(|| statistics.files_available()),
    })
}

/// Returns `directory`, with its links resolved, or its nearest existing ancestor.
pub fn find_nearest_existing(directory: &Path) -> PathBuf {
    let absolute = std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned());
    let found = absolute
        .ancestors()
        .find_map(|ancestor| ancestor.canonicalize().ok());
    found.unwrap_or_else(|| PathBuf::from("/"))
}

fn in_bytes(statistics: &Statvfs, blocks: u64) -> u64 {
    blocks.saturating_mul(statistics.fragment_size())
}

/// Finds the mount of `directory` in the mount table: the longest mount point that is a prefix of
/// it, the last one where several are mounted on one point.
fn mount_of<'a>(mounts: &'a [Mount], directory: &Path) -> Option<&'a Mount> {
    mounts
        .iter()
        .filter(|mount| directory.starts_with(&mount.facts.mount_point))
        .max_by_key(|mount| mount.facts.mount_point.len())
}

/// Parses one line of `/proc/self/mountinfo` (proc(5)): `36 35 98:0 /root /mnt rw,noatime master:1
/// - ext4 /dev/sda1 rw,errors=continue`.
pub(crate) fn parse_mount(line: &str) -> Option<Mount> {
    let (mount, file_system) = line.split_once(" - ")?;
    let mut mount = mount.split(' ');
    let id = mount.next()?.parse().ok()?;
    let device = mount.nth(1)?.to_owned();
    let root = PathBuf::from(unescape(mount.next()?));
    let mount_point = unescape(mount.next()?);
    let mount_options = mount.next()?;
    let mut file_system = file_system.split(' ');
    let kind = file_system.next()?.to_owned();
    let source = unescape(file_system.next()?);
    let mut options: Vec<&str> = mount_options.split(',').collect();
    for option in file_system.next().unwrap_or_default().split(',') {
        if !option.is_empty() && !options.contains(&option) {
            options.push(option);
        }
    }
    let facts = FileSystemFacts {
        kind,
        source,
        mount_point,
        options: options.join(","),
        ..FileSystemFacts::default()
    };
    Some(Mount {
        id,
        device,
        root,
        facts,
    })
}

/// Decodes the octal escapes that the kernel writes for blanks, tabs, newlines and backslashes:
/// `\040`.
pub(crate) fn unescape(text: &str) -> String {
    let mut rest = text;
    let mut plain = String::new();
    while let Some(at) = rest.find('\\') {
        plain.push_str(&rest[..at]);
        let code = rest
            .get(at + 1..at + 4)
            .and_then(|code| u8::from_str_radix(code, 8).ok());
        if let Some(code) = code {
            plain.push(char::from(code));
            rest = &rest[at + 4..];
        } else {
            plain.push('\\');
            rest = &rest[at + 1..];
        }
    }
    plain.push_str(rest);
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
22 1 254:0 / / rw,relatime - ext4 /dev/root rw
30 22 0:26 / /data rw,noatime shared:1 - xfs /dev/vdb rw,attr2,inode64
31 22 0:27 / /data\\040sets rw - tmpfs tmpfs rw,size=1024k
32 22 0:28 / /data rw,noatime - ext4 /dev/vdc rw,data=ordered
";

    fn mount_at(path: &str) -> Option<Mount> {
        let mounts: Vec<Mount> = MOUNTS.lines().filter_map(parse_mount).collect();
        mount_of(&mounts, Path::new(path)).cloned()
    }

    #[test]
    fn the_longest_mount_point_wins_and_the_last_of_several_on_one_point() {
        let mount = mount_at("/data/work").unwrap();
        assert_eq!((mount.id, mount.device.as_str()), (32, "0:28"));
        let facts = mount.facts;
        assert_eq!(
            (facts.kind.as_str(), facts.source.as_str()),
            ("ext4", "/dev/vdc")
        );
        assert_eq!(facts.options, "rw,noatime,data=ordered");
    }

    #[test]
    fn a_folder_that_only_begins_like_a_mount_point_is_not_on_it() {
        let facts = mount_at("/database").unwrap().facts;
        assert_eq!(facts.mount_point, "/");
    }

    #[test]
    fn what_the_superblock_of_ext4_sets_is_among_the_options() {
        let folder = tempfile::tempdir().unwrap();
        let (devices, ext4) = (folder.path().join("block"), folder.path().join("ext4"));
        for (number, name) in [("254:0", "vda"), ("0:28", "vdc"), ("0:26", "vdb")] {
            std::fs::create_dir_all(folder.path().join(name)).unwrap();
            std::fs::create_dir_all(&devices).unwrap();
            std::os::unix::fs::symlink(folder.path().join(name), devices.join(number)).unwrap();
            std::fs::create_dir_all(ext4.join(name)).unwrap();
            let options = "rw\nnobarrier\ncommit=5\ndata=writeback\n";
            std::fs::write(ext4.join(name).join("options"), options).unwrap();
        }
        let options_at = |path: &str| {
            let mut mount = mount_at(path).unwrap();
            mount.add_ext4_defaults(&devices, &ext4);
            mount.add_ext4_defaults(&devices, &ext4);
            mount.facts.options
        };
        assert_eq!(options_at("/"), "rw,relatime,nobarrier,data=writeback");
        assert_eq!(options_at("/data sets"), "rw,size=1024k");
        std::fs::remove_file(ext4.join("vdc/options")).unwrap();
        assert_eq!(options_at("/data"), "rw,noatime,data=ordered");
    }

    #[test]
    fn a_blank_in_a_mount_point_is_read() {
        let facts = mount_at("/data sets/x").unwrap().facts;
        assert_eq!(facts.mount_point, "/data sets");
    }

    #[test]
    fn a_folder_that_is_not_there_yet_is_on_the_file_system_of_its_parent() {
        let folder = tempfile::tempdir().unwrap();
        let below = folder.path().join("not/there");
        assert_eq!(
            find_nearest_existing(&below),
            folder.path().canonicalize().unwrap()
        );
        assert!(read_free_bytes(&below).is_some());
        assert!(!find_file_system(&below).kind.is_empty());
    }
}
