//! The place of the journal of ext3 and ext4.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The place of the superblock, and of the fields in it that are read (Documentation/filesystems/
/// ext4/super.rst).
const SUPERBLOCK: u64 = 1024;
const MAGIC: usize = 0x38;
const JOURNAL_INODE: usize = 0xE0;
const JOURNAL_DEVICE: usize = 0xE4;

/// The kernel's information on the journals of ext3 and ext4.
pub(crate) struct Ext4State<'a> {
    /// A folder for each mounted file system, by its device.
    pub mounted: &'a Path,
    /// A folder with an entry `DEVICE-INODE` for each journal inside a file system, `DEVICE` for an
    /// external one.
    pub journals: &'a Path,
}

impl Ext4State<'static> {
    pub(crate) fn of_this_kernel() -> Self {
        Self {
            mounted: Path::new("/sys/fs/ext4"),
            journals: Path::new("/proc/fs/jbd2"),
        }
    }
}

/// Returns whether the journal of the file system on the device of this name may be on a separate
/// device. No mount option shows this, because ext4 finds its journal through the superblock. Some
/// of a commit's flushes may then reach only that device.
pub(crate) fn may_have_external_journal(kind: &str, name: &str, state: &Ext4State<'_>) -> bool {
    if !["ext3", "ext4"].contains(&kind) {
        return false;
    }
    let task = std::fs::read_to_string(state.mounted.join(name).join("journal_task"));
    if task.is_ok_and(|task| task.trim() == "<none>") {
        return false;
    }
    let inside = format!("{name}-");
    let journals = std::fs::read_dir(state.journals).into_iter().flatten();
    !journals.flatten().any(|entry| {
        let journal = entry.file_name();
        journal.to_str().is_some_and(|it| it.starts_with(&inside))
    })
}

/// The reason why the place of a journal is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum JournalError {
    /// The device cannot be read.
    #[error("it may be on another device, and only root can read which")]
    NotReadable,
    /// The device has another superblock.
    #[error("its superblock cannot be read")]
    NoSuperblock,
}

/// Reads from the superblock on a device the number of the device that has its journal, `8:1`;
/// `None` if the journal is inside. The kernel writes that number at each mount.
///
/// # Errors
/// [`JournalError`], if the device cannot be read.
pub(super) fn journal_device(device: &Path) -> Result<Option<String>, JournalError> {
    let mut block = [0; 1024];
    let read = File::open(device).and_then(|file| file.read_exact_at(&mut block, SUPERBLOCK));
    read.map_err(|_| JournalError::NotReadable)?;
    let field = |at: usize| {
        let bytes = block[at..at + 4].iter().rev();
        bytes.fold(0_u32, |number, byte| number << 8 | u32::from(*byte))
    };
    if field(MAGIC) & 0xFFFF != 0xEF53 {
        return Err(JournalError::NoSuperblock);
    }
    if field(JOURNAL_INODE) != 0 {
        return Ok(None);
    }
    Ok(Some(decoded(field(JOURNAL_DEVICE))))
}

/// Decodes a device number of 32 bits (`new_decode_dev` of linux/kdev_t.h).
fn decoded(number: u32) -> String {
    let (major, minor) = (number >> 8 & 0xFFF, number & 0xFF | number >> 12 & 0xF_FF00);
    format!("{major}:{minor}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_journal_inside_the_file_system_or_none_leaves_flushes_to_its_device() {
        let folder = tempfile::tempdir().unwrap();
        let (mounted, journals) = (folder.path().join("ext4"), folder.path().join("jbd2"));
        for (name, task) in [("plain", "<none>\n"), ("inside", "7\n"), ("beside", "8\n")] {
            std::fs::create_dir_all(mounted.join(name)).unwrap();
            std::fs::write(mounted.join(name).join("journal_task"), task).unwrap();
        }
        for journal in ["inside-8", "another"] {
            std::fs::create_dir_all(journals.join(journal)).unwrap();
        }
        let state = Ext4State {
            mounted: &mounted,
            journals: &journals,
        };
        let cases = [
            ("ext4", "plain", false),
            ("ext4", "inside", false),
            ("ext4", "beside", true),
            ("ext3", "unknown", true),
            ("xfs", "beside", false),
        ];
        for (kind, name, expected) in cases {
            let found = may_have_external_journal(kind, name, &state);
            assert_eq!(found, expected, "{kind} {name}");
        }
    }

    #[test]
    fn the_superblock_names_the_device_of_a_journal_apart() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("device");
        let mut image = vec![0; 4096];
        assert_eq!(journal_device(&path), Err(JournalError::NotReadable));
        std::fs::write(&path, &image).unwrap();
        assert_eq!(journal_device(&path), Err(JournalError::NoSuperblock));
        image[1024 + MAGIC..][..2].copy_from_slice(&[0x53, 0xEF]);
        image[1024 + JOURNAL_DEVICE..][..2].copy_from_slice(&[3, 7]);
        std::fs::write(&path, &image).unwrap();
        assert_eq!(journal_device(&path), Ok(Some("7:3".to_owned())));
        image[1024 + JOURNAL_INODE] = 8;
        std::fs::write(&path, &image).unwrap();
        assert_eq!(journal_device(&path), Ok(None));
        assert_eq!(decoded(0x0010_0801), "8:257");
    }
}
