//! A cache of passed conformance suites, for this user. A suite that the same program passed on the
//! same files, level and knobs need not run again.

use crate::evidence::user_folder::{UserFolder, entry_name};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use trueput_record::measurement::Conformance;
use trueput_record::value::Settings;

/// The version of an entry's layout.
const FORMAT: u32 = 2;

/// The cache's name in the user's folder for caches.
const FOLDER: &str = "trueput/conformance";

/// Everything on which conformance depends, except the libraries that the engine loads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ConformanceKey {
    /// SHA-256 of this program.
    pub program: String,
    /// SHA-256 of the library or the server's program; that of this program where the engine is
    /// compiled in.
    pub library: String,
    /// The engine, with its build if it names one.
    pub contender: String,
    /// The level of durability.
    pub durability: String,
    /// All knobs.
    pub knobs: Settings,
    /// The memory allocator.
    pub allocator: String,
    /// The kernel's release.
    pub kernel: String,
    /// The type of the file system that databases are made on.
    pub file_system: String,
    /// The variables that the dynamic linker reads: `LD_PRELOAD` and the like.
    pub linker: BTreeMap<String, String>,
}

/// The identity of a file at some moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileState {
    path: PathBuf,
    inode: u64,
    size_bytes: u64,
    modified_s: i64,
    modified_ns: i64,
    /// Unlike the time of modification, nobody can set the time of change.
    changed_s: i64,
    changed_ns: i64,
}

impl FileState {
    /// Returns the state of a file now; `None` if it does not exist.
    pub fn of(path: &Path) -> Option<Self> {
        let metadata = path.metadata().ok().filter(Metadata::is_file)?;
        Some(Self {
            path: path.to_owned(),
            inode: metadata.ino(),
            size_bytes: metadata.len(),
            modified_s: metadata.mtime(),
            modified_ns: metadata.mtime_nsec(),
            changed_s: metadata.ctime(),
            changed_ns: metadata.ctime_nsec(),
        })
    }

    fn is_unchanged(&self) -> bool {
        Self::of(&self.path).as_ref() == Some(self)
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    format: u32,
    key: ConformanceKey,
    passed_at: String,
    checks: usize,
    /// The files that the engine had loaded.
    files: Vec<FileState>,
}

/// The cache of a user: one file per entry.
#[derive(Debug, Clone)]
pub struct ConformanceCache {
    folder: UserFolder,
    /// Whether entries are read. They are always written.
    reuse: bool,
}

impl ConformanceCache {
    /// Opens the cache in `$XDG_CACHE_HOME` or `~/.cache`; `None` if this user owns no such folder.
    /// Without `reuse`, every suite runs and passed ones are recorded again.
    #[must_use]
    pub fn of_user(reuse: bool) -> Option<Self> {
        let folder = UserFolder::of_user("XDG_CACHE_HOME", ".cache", FOLDER)?;
        Some(Self { folder, reuse })
    }

    /// Whether suites that passed are not run again.
    pub(crate) fn reuses(&self) -> bool {
        self.reuse
    }

    /// Opens the cache in a separate folder, which need not exist yet.
    #[must_use]
    pub fn in_folder(folder: &Path, reuse: bool) -> Option<Self> {
        let folder = UserFolder::at(folder)?;
        Some(Self { folder, reuse })
    }

    /// Returns the folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the number of entries.
    #[must_use]
    pub fn count(&self) -> usize {
        self.folder.entries().len()
    }

    /// Removes every entry.
    ///
    /// # Errors
    /// The error of the operating system.
    pub fn clear(&self) -> std::io::Result<()> {
        self.folder.clear()
    }

    /// Returns the entry of a suite that passed with that key and the same files.
    pub(crate) fn find(&self, key: &ConformanceKey) -> Option<Conformance> {
        if !self.reuse {
            return None;
        }
        let entry: Entry = self.folder.read(&entry_name(key)?)?;
        let passed_at: jiff::Timestamp = entry.passed_at.parse().ok()?;
        let is_known = entry.format == FORMAT
            && entry.key == *key
            && entry.checks > 0
            && passed_at <= jiff::Timestamp::now()
            && entry.files.iter().all(FileState::is_unchanged);
        is_known.then_some(Conformance {
            passed_at: entry.passed_at,
            checks: entry.checks,
            cached: true,
        })
    }

    /// Stores a passed suite. A cache that cannot be written is ignored.
    pub(crate) fn store(&self, key: ConformanceKey, passed: &Conformance, files: Vec<FileState>) {
        let Some(name) = entry_name(&key) else {
            return;
        };
        let entry = Entry {
            format: FORMAT,
            key,
            passed_at: passed.passed_at.clone(),
            checks: passed.checks,
            files,
        };
        let _ = self.folder.write(&name, &entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::user_folder::MAX_ENTRIES;
    use std::fs::File;
    use std::os::unix::fs::PermissionsExt;

    fn key() -> ConformanceKey {
        ConformanceKey {
            program: "a1".into(),
            library: "b2".into(),
            contender: "lmdb".into(),
            durability: "sync".into(),
            knobs: Settings::from([("map_size".to_owned(), 1_i64.into())]),
            allocator: "libc".into(),
            kernel: "6.1".into(),
            file_system: "ext4".into(),
            linker: BTreeMap::new(),
        }
    }

    fn passed() -> Conformance {
        Conformance {
            passed_at: "2020-02-03T01:02:03Z".into(),
            checks: 32,
            cached: false,
        }
    }

    struct Room {
        room: tempfile::TempDir,
    }

    impl Room {
        fn new() -> Self {
            Self {
                room: tempfile::tempdir().unwrap(),
            }
        }

        fn library(&self) -> PathBuf {
            self.room.path().join("library.so")
        }

        fn cache(&self, reuse: bool) -> ConformanceCache {
            ConformanceCache::in_folder(&self.room.path().join("cache/trueput"), reuse).unwrap()
        }

        /// Creates a cache that contains the key, with one file.
        fn filled(&self) -> ConformanceCache {
            std::fs::write(self.library(), "code").unwrap();
            let cache = self.cache(true);
            let files = vec![FileState::of(&self.library()).unwrap()];
            cache.store(key(), &passed(), files);
            cache
        }

        fn entry(&self) -> PathBuf {
            let cache = self.cache(true);
            cache.folder.entries().remove(0).1
        }
    }

    #[test]
    fn what_was_passed_is_found_again_for_this_user_alone() {
        let room = Room::new();
        let cache = room.filled();
        let found = cache.find(&key()).unwrap();
        let expected = Conformance {
            cached: true,
            ..passed()
        };
        assert_eq!(found, expected);
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&room.entry()), mode(cache.folder())), (0o600, 0o700));
        assert_eq!(cache.count(), 1);
        cache.clear().unwrap();
        assert_eq!((cache.count(), cache.find(&key())), (0, None));
        cache.clear().unwrap();
    }

    #[test]
    fn another_value_of_any_part_of_the_key_is_another_matter() {
        let room = Room::new();
        let cache = room.filled();
        let changes: [fn(&mut ConformanceKey); 9] = [
            |key| key.program.push('0'),
            |key| key.library.push('0'),
            |key| key.contender = "lmdb@/x.so".into(),
            |key| key.durability = "async".into(),
            |key| _ = key.knobs.insert("map_size".into(), 2_i64.into()),
            |key| key.allocator = "jemalloc".into(),
            |key| key.kernel.push('0'),
            |key| key.file_system = "tmpfs".into(),
            |key| _ = key.linker.insert("LD_PRELOAD".into(), "x.so".into()),
        ];
        for change in changes {
            let mut other = key();
            change(&mut other);
            assert_eq!(cache.find(&other), None, "{other:?}");
        }
        assert!(cache.find(&key()).is_some(), "the control");
    }

    #[test]
    fn a_file_that_the_engine_had_loaded_and_that_has_changed_counts() {
        let room = Room::new();
        let cache = room.filled();
        std::fs::write(room.library(), "other code").unwrap();
        assert_eq!(cache.find(&key()), None);
        std::fs::remove_file(room.library()).unwrap();
        assert_eq!(cache.find(&key()), None);
    }

    #[test]
    fn a_file_of_other_content_and_the_old_time_counts() {
        let room = Room::new();
        let cache = room.filled();
        let modified = room.library().metadata().unwrap().modified().unwrap();
        std::fs::write(room.library(), "edoc").unwrap();
        let file = File::options().write(true).open(room.library()).unwrap();
        file.set_modified(modified).unwrap();
        assert_eq!(cache.find(&key()), None);
    }

    #[test]
    fn checking_again_takes_nothing_from_the_cache_and_writes_it() {
        let room = Room::new();
        room.filled();
        let again = room.cache(false);
        assert_eq!(again.find(&key()), None);
        let later = Conformance {
            passed_at: "2020-02-03T02:00:00Z".into(),
            ..passed()
        };
        again.store(key(), &later, Vec::new());
        let found = room.cache(true).find(&key()).unwrap();
        assert_eq!(found.passed_at, later.passed_at);
    }

    #[test]
    fn a_damaged_forged_or_future_entry_is_passed_over() {
        let room = Room::new();
        let cache = room.filled();
        let entry = room.entry();
        let text = std::fs::read_to_string(&entry).unwrap();
        for damaged in [
            String::new(),
            "{}".to_owned(),
            text[..text.len() / 2].to_owned(),
            text.replace("2020-02-03", "2999-01-01"),
            text.replace("\"checks\":32", "\"checks\":0"),
            text.replace("\"format\":2", "\"format\":3"),
            text.replace("\"b2\"", "\"b3\""),
        ] {
            std::fs::write(&entry, &damaged).unwrap();
            assert_eq!(cache.find(&key()), None, "{damaged}");
        }
        std::fs::write(&entry, &text).unwrap();
        assert!(cache.find(&key()).is_some(), "the control");
        let writable = std::fs::Permissions::from_mode(0o666);
        std::fs::set_permissions(&entry, writable).unwrap();
        assert_eq!(cache.find(&key()), None, "others may have written it");
    }

    #[test]
    fn no_more_than_so_many_are_kept_and_where_nothing_can_be_written_nothing_is() {
        let room = Room::new();
        let cache = room.filled();
        for number in 0..MAX_ENTRIES {
            std::fs::write(cache.folder().join(format!("{number}.json")), "").unwrap();
        }
        cache.store(key(), &passed(), Vec::new());
        assert_eq!(cache.count(), MAX_ENTRIES);
        assert!(ConformanceCache::in_folder(Path::new("/dev/null/trueput"), true).is_none());
        assert!(
            ConformanceCache::in_folder(Path::new("/proc/self/trueput"), true).is_none_or(
                |cache| {
                    cache.store(key(), &passed(), Vec::new());
                    cache.count() == 0
                }
            )
        );
    }
}
