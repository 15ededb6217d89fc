//! Mounted file systems: the one that holds a folder, its free space, the mount table.

use std::path::{Path, PathBuf};
use trueput_record::host::FileSystemFacts;

/// Returns the file system that holds `directory` or its nearest existing ancestor.
pub fn find_file_system(directory: &Path) -> FileSystemFacts {
    let directory = find_nearest_existing(directory);
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let mut facts = mount_of(&mounts, &directory).unwrap_or_default();
    if let Some((size, free)) = size_and_free(&directory) {
        facts.size_bytes = size;
        facts.free_bytes = free;
    }
    facts
}

/// Lists the mounts of this process's namespace in the order in which they were made.
pub(crate) fn read_mounts() -> Vec<FileSystemFacts> {
    let text = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    text.lines().filter_map(parse_mount).collect()
}

/// Returns the bytes free for this user on the file system of `directory`, which need not exist
/// yet; `None` if the kernel does not report them.
pub fn read_free_bytes(directory: &Path) -> Option<u64> {
    size_and_free(&find_nearest_existing(directory)).map(|(_, free)| free)
}

/// Returns `directory`, with its links resolved, or its nearest existing ancestor.
pub fn find_nearest_existing(directory: &Path) -> PathBuf {
    let absolute = std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned());
    let found = absolute
        .ancestors()
        .find_map(|ancestor| ancestor.canonicalize().ok());
    found.unwrap_or_else(|| PathBuf::from("/"))
}

fn size_and_free(directory: &Path) -> Option<(u64, u64)> {
    let statistics = nix::sys::statvfs::statvfs(directory).ok()?;
    let fragment = statistics.fragment_size();
    let bytes = |blocks: u64| blocks.saturating_mul(fragment);
    Some((
        bytes(statistics.blocks()),
        bytes(statistics.blocks_available()),
    ))
}

/// Finds the mount of `directory` in the text of `/proc/self/mountinfo` (proc(5)): the longest
/// mount point that is a prefix of it, the last one where several are mounted on one point.
fn mount_of(mountinfo: &str, directory: &Path) -> Option<FileSystemFacts> {
    let mounts = mountinfo.lines().filter_map(parse_mount);
    mounts
        .filter(|mount| directory.starts_with(&mount.mount_point))
        .max_by_key(|mount| mount.mount_point.len())
}

/// Parses one line: `36 35 98:0 /root /mnt rw,noatime master:1 - ext4 /dev/sda1
/// rw,errors=continue`.
fn parse_mount(line: &str) -> Option<FileSystemFacts> {
    let (mount, file_system) = line.split_once(" - ")?;
    let mut mount = mount.split(' ').skip(4);
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
    Some(FileSystemFacts {
        kind,
        source,
        mount_point,
        options: options.join(","),
        ..FileSystemFacts::default()
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

    #[test]
    fn the_longest_mount_point_wins_and_the_last_of_several_on_one_point() {
        let facts = mount_of(MOUNTS, Path::new("/data/work")).unwrap();
        assert_eq!(
            (facts.kind.as_str(), facts.source.as_str()),
            ("ext4", "/dev/vdc")
        );
        assert_eq!(facts.options, "rw,noatime,data=ordered");
    }

    #[test]
    fn a_folder_that_only_begins_like_a_mount_point_is_not_on_it() {
        assert_eq!(
            mount_of(MOUNTS, Path::new("/database"))
                .unwrap()
                .mount_point,
            "/"
        );
    }

    #[test]
    fn a_blank_in_a_mount_point_is_read() {
        let facts = mount_of(MOUNTS, Path::new("/data sets/x")).unwrap();
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
