//! Shared memory that a killed server leaves behind: PostgreSQL's files in `/dev/shm`, and the
//! segment of System V by which a server finds out that another one runs on its data.
//!
//! Only what processes of that server had mapped is removed, and what its own list of files names.
//! A server that stops in good order removes all of it itself.

use crate::fuse::{FuseMount, fuse_mounts, lies_on};
use nix::libc;
use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The folder of shared memory that has names (shm_open(3)).
const FOLDER: &str = "/dev/shm";

/// The start of the names that PostgreSQL gives its files; a number follows.
const PREFIX: &str = "PostgreSQL.";

/// The file in a server's folder that lists its files: what is left of a run that was killed is
/// removed by it.
const LIST: &str = "shared-memory";

/// The depth to which the folder of a trial is searched for lists: those of nodes are in theirs.
const LIST_DEPTH: u32 = 4;

/// The most bytes of a file that are searched for names or numbers of others.
const LIST_BYTES: usize = 1 << 20;

/// A file in the folder of shared memory. Its number tells it from a later one of that name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct SharedFile {
    name: String,
    inode: u64,
}

/// Shared memory of the processes of a server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SharedMemory {
    files: BTreeSet<SharedFile>,
    /// The numbers of segments of System V that one of the processes made.
    segments: BTreeSet<i32>,
}

impl SharedMemory {
    /// Returns what these processes have mapped, and what the files among it name.
    pub fn of(pids: &[u32]) -> Self {
        let mut found = Self::default();
        for pid in pids {
            let maps = fs::read(format!("/proc/{pid}/maps")).unwrap_or_default();
            for line in String::from_utf8_lossy(&maps).lines() {
                found.add_mapping(line, pids);
            }
        }
        let named: Vec<SharedFile> = found.files.iter().flat_map(named_files).collect();
        found.files.extend(named);
        found
    }

    /// Adds what a line of a process's mappings names, if it is PostgreSQL's (proc_pid_maps(5)).
    fn add_mapping(&mut self, line: &str, pids: &[u32]) {
        let mut fields = line.split_ascii_whitespace().skip(4);
        let (Some(inode), Some(path)) = (fields.next(), fields.next()) else {
            return;
        };
        if let Some(name) = name_in_folder(path) {
            self.files.extend(file_of(name));
        } else if path.starts_with("/SYSV")
            && let Ok(number) = inode.parse()
            && segment(number).is_some_and(|segment| pids.contains(&segment.creator))
        {
            self.segments.insert(number);
        }
    }

    /// Adds what another look has found.
    pub fn extend(&mut self, other: Self) {
        self.files.extend(other.files);
        self.segments.extend(other.segments);
    }

    /// Removes what is left of it and in nobody's use any more.
    pub fn remove(&self) {
        let left: Vec<&SharedFile> = self.files.iter().filter(|file| file.is_there()).collect();
        let used = if left.is_empty() {
            BTreeSet::new()
        } else {
            mapped_names()
        };
        for file in left.into_iter().filter(|file| !used.contains(&file.name)) {
            // It may have been removed meanwhile, which is all that is wanted.
            let _ = fs::remove_file(file.path());
        }
        for &number in &self.segments {
            if segment(number).is_some_and(|segment| segment.users == 0) {
                // SAFETY: the call takes a number and no memory.
                let _ = unsafe { libc::shmctl(number, libc::IPC_RMID, std::ptr::null_mut()) };
            }
        }
    }

    /// Returns the files that lists in the folder of a trial name. Nothing on a FUSE file system is
    /// looked at: its server may not answer.
    pub fn listed_below(folder: &Path) -> Self {
        let mut found = Self::default();
        found.add_lists(folder, LIST_DEPTH, &fuse_mounts());
        found
    }

    fn add_lists(&mut self, folder: &Path, depth: u32, fuse: &[FuseMount]) {
        if lies_on(fuse, folder) {
            return;
        }
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let (path, kind) = (entry.path(), entry.file_type());
            let Ok(kind) = kind else { continue };
            if kind.is_file() && entry.file_name() == LIST {
                self.extend(Self::from_text(&read_list(&path)));
            } else if kind.is_dir() && depth > 0 {
                self.add_lists(&path, depth - 1, fuse);
            }
        }
    }

    /// Writes the list into the folder of a server. Where that fails, what a killed run leaves is
    /// not found.
    pub fn write_list(&self, folder: &Path) {
        if self.files.is_empty() {
            return;
        }
        let path = folder.join(LIST);
        // The folder is the server's: whatever is there is replaced and not written through.
        let _ = fs::remove_file(&path);
        if let Ok(mut file) = fs::File::create_new(path) {
            let _ = file.write_all(self.to_text().as_bytes());
        }
    }

    /// Returns the files as lines of text: `NAME INODE`.
    fn to_text(&self) -> String {
        let lines = self.files.iter();
        lines
            .map(|file| format!("{} {}\n", file.name, file.inode))
            .collect()
    }

    /// Reads the files from such lines. Other lines are ignored: their names lead elsewhere.
    fn from_text(text: &str) -> Self {
        let files = text.lines().filter_map(|line| {
            let (name, inode) = line.split_once(' ')?;
            is_name(name).then_some(())?;
            Some(SharedFile {
                name: name.to_owned(),
                inode: inode.parse().ok()?,
            })
        });
        let mut read = Self {
            files: files.collect(),
            segments: BTreeSet::new(),
        };
        let present: Vec<_> = read.files.iter().filter(|file| file.is_there()).collect();
        let named: Vec<SharedFile> = present.into_iter().flat_map(named_files).collect();
        read.files.extend(named);
        read
    }

    /// Returns the paths of the files that are still there.
    pub fn paths(&self) -> Vec<PathBuf> {
        let there = self.files.iter().filter(|file| file.is_there());
        there.map(SharedFile::path).collect()
    }
}

impl SharedFile {
    fn path(&self) -> PathBuf {
        Path::new(FOLDER).join(&self.name)
    }

    fn is_there(&self) -> bool {
        file_of(&self.name).as_ref() == Some(self)
    }
}

/// Reads the beginning of a list, whose folder is a server's: it may have any length, and be
/// replaced by a link or a pipe.
fn read_list(path: &Path) -> String {
    let mut options = fs::OpenOptions::new();
    let options = options.read(true);
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let mut bytes = Vec::new();
    if let Ok(file) = options.custom_flags(flags).open(path) {
        // What was read so far may name files, too.
        let _ = file.take(LIST_BYTES as u64).read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns the file of that name; `None` if there is none.
fn file_of(name: &str) -> Option<SharedFile> {
    let metadata = fs::symlink_metadata(Path::new(FOLDER).join(name)).ok()?;
    metadata.is_file().then(|| SharedFile {
        name: name.to_owned(),
        inode: metadata.ino(),
    })
}

/// Whether a name is one that PostgreSQL gives: it has no `/`.
fn is_name(name: &str) -> bool {
    let digits = name.strip_prefix(PREFIX).unwrap_or_default();
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn name_in_folder(path: &str) -> Option<&str> {
    let name = path.strip_prefix(FOLDER)?.strip_prefix('/')?;
    is_name(name).then_some(name)
}

/// Returns the files that a file names by their numbers, as the first one of a server does (struct
/// dsm_control_header in PostgreSQL's dsm.c): those of the same user. Their names are random, so a
/// number that is no name finds nothing.
fn named_files(list: &SharedFile) -> Vec<SharedFile> {
    let mut bytes = Vec::new();
    let opened = fs::File::open(list.path());
    let Ok(file) = opened else {
        return Vec::new();
    };
    let owner = file.metadata().map(|metadata| metadata.uid());
    if file
        .take(LIST_BYTES as u64)
        .read_to_end(&mut bytes)
        .is_err()
    {
        return Vec::new();
    }
    let (words, _) = bytes.as_chunks::<4>();
    let numbers = words.iter().map(|word| u32::from_ne_bytes(*word));
    let numbers: BTreeSet<u32> = numbers.filter(|number| *number > 0).collect();
    let present = fs::read_dir(FOLDER).into_iter().flatten().flatten();
    let named = present.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let number: u32 = name.strip_prefix(PREFIX)?.parse().ok()?;
        let is_own = entry.metadata().ok()?.uid() == *owner.as_ref().ok()?;
        (is_own && numbers.contains(&number)).then(|| file_of(&name))?
    });
    named.collect()
}

/// Returns the names of PostgreSQL's files that a process has mapped.
fn mapped_names() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let maps = fs::read(entry.path().join("maps")).unwrap_or_default();
        let text = String::from_utf8_lossy(&maps);
        let paths = text
            .lines()
            .filter_map(|line| line.split_ascii_whitespace().nth(5));
        names.extend(paths.filter_map(name_in_folder).map(str::to_owned));
    }
    names
}

/// A segment of System V.
struct Segment {
    /// The process that made it.
    creator: u32,
    /// The number of processes that have it attached.
    users: u64,
}

/// Returns a segment by its number; `None` if there is none, or it cannot be looked at.
fn segment(number: i32) -> Option<Segment> {
    let mut state = std::mem::MaybeUninit::<libc::shmid_ds>::zeroed();
    // SAFETY: the kernel writes one `shmid_ds` to memory of that size.
    let code = unsafe { libc::shmctl(number, libc::IPC_STAT, state.as_mut_ptr()) };
    if code != 0 {
        return None;
    }
    // SAFETY: it was zeroed, and all bytes of it may have any value.
    let state = unsafe { state.assume_init() };
    Some(Segment {
        creator: u32::try_from(state.shm_cpid).ok()?,
        users: state.shm_nattch,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    /// A file of shared memory with a random name, removed at the end.
    struct Segments(Vec<PathBuf>);

    impl Segments {
        /// Makes files with these numbers; the first one names the others.
        fn make(numbers: &[u32]) -> Self {
            let paths = numbers.iter().map(|number| {
                let path = Path::new(FOLDER).join(format!("{PREFIX}{number}"));
                fs::write(&path, "").unwrap();
                path
            });
            let made = Self(paths.collect());
            let words = numbers[1..].iter().flat_map(|number| number.to_ne_bytes());
            fs::write(
                &made.0[0],
                [7, 0, 0, 0].into_iter().chain(words).collect::<Vec<u8>>(),
            )
            .unwrap();
            made
        }

        fn line(&self) -> String {
            let (path, inode) = (&self.0[0], fs::metadata(&self.0[0]).unwrap().ino());
            format!("{} {inode}", path.file_name().unwrap().display())
        }
    }

    impl Drop for Segments {
        fn drop(&mut self) {
            for path in &self.0 {
                let _ = fs::remove_file(path);
            }
        }
    }

    /// Numbers that differ between processes that test at once.
    fn number(offset: u32) -> u32 {
        3_000_000_000 + std::process::id() % 100_000 * 100 + offset
    }

    #[test]
    fn what_a_killed_server_had_and_what_its_list_names_is_removed_and_nothing_else() {
        let own = Segments::make(&[number(0), number(1)]);
        let others = Segments::make(&[number(2)]);
        SharedMemory::from_text(&own.line()).remove();
        assert!(own.0.iter().all(|path| !path.exists()));
        assert!(others.0[0].exists());
    }

    #[test]
    fn a_later_file_of_that_name_stays() {
        let own = Segments::make(&[number(3)]);
        let line = own.line();
        let (name, inode) = line.split_once(' ').unwrap();
        let earlier = format!("{name} {}", inode.parse::<u64>().unwrap() + 1);
        SharedMemory::from_text(&earlier).remove();
        assert!(own.0[0].exists());
    }

    #[test]
    fn a_list_is_read_to_a_limit_and_through_no_link() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(LIST);
        let list = fs::File::create(&path).unwrap();
        list.set_len(64 << 30).unwrap();
        assert_eq!(read_list(&path).len(), LIST_BYTES);
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert_eq!(read_list(&link), "");
    }

    #[test]
    fn a_list_names_nothing_outside_the_folder() {
        for line in [
            "../etc/passwd 1",
            "PostgreSQL. 1",
            "PostgreSQL.1/../x 1",
            "other 1",
            "",
        ] {
            assert_eq!(
                SharedMemory::from_text(line),
                SharedMemory::default(),
                "{line}"
            );
        }
    }

    #[test]
    fn a_mapped_file_is_found_and_stays_as_long_as_it_is_mapped() {
        let own = Segments::make(&[number(4)]);
        let line = format!("7f00-7f01 rw-s 00000000 00:1a 17 {}", own.0[0].display());
        let mut found = SharedMemory::default();
        found.add_mapping(&line, &[1]);
        assert_eq!(found.paths(), own.0);
        assert_eq!(SharedMemory::from_text(&found.to_text()), found);
    }
}
