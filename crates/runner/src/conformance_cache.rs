//! A cache of passed conformance suites, for this user. A suite that the same program passed on the
//! same files, level and knobs need not run again.

use nix::unistd::geteuid;
use serde::{Deserialize, Serialize};
use sha2::Digest;
use std::collections::BTreeMap;
use std::fs::{DirBuilder, File, Metadata, OpenOptions, read_dir, remove_dir_all, remove_file};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use trueput_host::find_nearest_existing;
use trueput_record::measurement::Conformance;
use trueput_record::trial::Settings;

/// The version of an entry's layout.
const FORMAT: u32 = 2;

/// The maximum number of entries; the oldest are removed first.
const MOST_ENTRIES: usize = 1_000;

/// The maximum size of an entry; a longer file is not an entry.
const LONGEST_BYTES: u64 = 256 << 10;

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

impl ConformanceKey {
    /// Returns the name of its entry.
    fn file_name(&self) -> Option<String> {
        let text = serde_json::to_vec(self).ok()?;
        let hash = sha2::Sha256::digest(&text);
        let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        Some(format!("{hash}.json"))
    }
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
    folder: PathBuf,
    /// Whether entries are read. They are always written.
    reuse: bool,
}

impl ConformanceCache {
    /// Opens the cache in `$XDG_CACHE_HOME` or `~/.cache`; `None` if this user owns no such folder.
    /// Without `reuse`, every suite runs and passed ones are recorded again.
    #[must_use]
    pub fn of_user(reuse: bool) -> Option<Self> {
        let folder = |name| {
            let path = std::env::var_os(name).map(PathBuf::from);
            path.filter(|path| path.is_absolute())
        };
        let caches = folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")))?;
        Self::in_folder(&caches.join(FOLDER), reuse)
    }

    /// Opens the cache in a separate folder, which need not exist yet.
    #[must_use]
    pub fn in_folder(folder: &Path, reuse: bool) -> Option<Self> {
        // Root with another user's HOME leaves no files of root's there.
        let existing = find_nearest_existing(folder).metadata().ok()?;
        let cache = Self {
            folder: folder.to_owned(),
            reuse,
        };
        (existing.is_dir() && is_of_this_user(&existing)).then_some(cache)
    }

    /// Returns the folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the number of entries.
    #[must_use]
    pub fn count(&self) -> usize {
        self.entries().len()
    }

    /// Removes every entry.
    ///
    /// # Errors
    /// The error of the operating system.
    pub fn clear(&self) -> std::io::Result<()> {
        match remove_dir_all(&self.folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Returns the entry of a suite that passed with that key and the same files.
    pub(crate) fn find(&self, key: &ConformanceKey) -> Option<Conformance> {
        if !self.reuse || !is_of_this_user(&self.folder.metadata().ok()?) {
            return None;
        }
        let entry = self.read(&key.file_name()?)?;
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

    fn read(&self, name: &str) -> Option<Entry> {
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(nix::libc::O_NOFOLLOW);
        let file = options.open(self.folder.join(name)).ok()?;
        let metadata = file.metadata().ok()?;
        if !metadata.is_file() || !is_of_this_user(&metadata) {
            return None;
        }
        let mut text = String::new();
        file.take(LONGEST_BYTES).read_to_string(&mut text).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Stores a passed suite. A cache that cannot be written is ignored.
    pub(crate) fn store(&self, key: ConformanceKey, passed: &Conformance, files: Vec<FileState>) {
        let Some(name) = key.file_name() else {
            return;
        };
        let entry = Entry {
            format: FORMAT,
            key,
            passed_at: passed.passed_at.clone(),
            checks: passed.checks,
            files,
        };
        let _ = self.write(&name, &entry);
        for (_, path) in self.entries().into_iter().skip(MOST_ENTRIES) {
            let _ = remove_file(path);
        }
    }

    fn write(&self, name: &str, entry: &Entry) -> std::io::Result<()> {
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700).create(&self.folder)?;
        let temporary = self
            .folder
            .join(format!("{name}.{}.part", std::process::id()));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let written = options.open(&temporary).and_then(|mut file: File| {
            file.write_all(&serde_json::to_vec(entry)?)?;
            std::fs::rename(&temporary, self.folder.join(name))
        });
        written.inspect_err(|_| {
            let _ = remove_file(&temporary);
        })
    }

    /// Lists the entries, the newest first.
    fn entries(&self) -> Vec<(std::time::SystemTime, PathBuf)> {
        let read = read_dir(&self.folder).into_iter().flatten().flatten();
        let mut entries: Vec<_> = read
            .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
            .collect();
        entries.sort_by(|a, b| b.cmp(a));
        entries
    }
}

/// Returns whether only this user can have written a file or folder.
fn is_of_this_user(metadata: &Metadata) -> bool {
    metadata.uid() == geteuid().as_raw() && metadata.mode() & 0o022 == 0
}

#[cfg(test)]
mod tests {
    use super::*;
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
            cache.entries().remove(0).1
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
        for number in 0..MOST_ENTRIES {
            std::fs::write(cache.folder().join(format!("{number}.json")), "").unwrap();
        }
        cache.store(key(), &passed(), Vec::new());
        assert_eq!(cache.count(), MOST_ENTRIES);
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
