//! A folder of small JSON files that belongs to this user alone, one file per entry.

use nix::unistd::geteuid;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::Digest;
use std::fs::{DirBuilder, File, Metadata, OpenOptions, read_dir, remove_dir_all, remove_file};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use trueput_host::find_nearest_existing;

/// The maximum number of entries; the oldest are removed first.
pub(crate) const MAX_ENTRIES: usize = 1_000;

/// The maximum size of an entry; a longer file is not an entry.
const MAX_LENGTH_BYTES: u64 = 256 << 10;

/// A folder whose entries only this user can have written.
#[derive(Debug, Clone)]
pub(crate) struct UserFolder {
    path: PathBuf,
}

impl UserFolder {
    /// Opens `name` in the folder that the environment variable names, or in `usual` in the home
    /// folder; `None` if this user owns no such folder. It need not exist yet.
    pub fn of_user(variable: &str, usual: &str, name: &str) -> Option<Self> {
        let folder = |name| {
            let path = std::env::var_os(name).map(PathBuf::from);
            path.filter(|path| path.is_absolute())
        };
        let parent = folder(variable).or_else(|| Some(folder("HOME")?.join(usual)))?;
        Self::at(&parent.join(name))
    }

    /// Opens a folder, which need not exist yet.
    pub fn at(path: &Path) -> Option<Self> {
        // Root with another user's HOME leaves no files of root's there.
        let existing = find_nearest_existing(path).metadata().ok()?;
        let folder = Self {
            path: path.to_owned(),
        };
        (existing.is_dir() && is_of_this_user(&existing)).then_some(folder)
    }

    /// Returns the path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads an entry; `None` if there is none, or another user can have written it.
    pub fn read<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        if !is_of_this_user(&self.path.metadata().ok()?) {
            return None;
        }
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(nix::libc::O_NOFOLLOW);
        let file = options.open(self.path.join(name)).ok()?;
        let metadata = file.metadata().ok()?;
        if !metadata.is_file() || !is_of_this_user(&metadata) {
            return None;
        }
        let mut text = String::new();
        file.take(MAX_LENGTH_BYTES).read_to_string(&mut text).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Writes an entry, and removes the oldest ones if there are too many.
    ///
    /// # Errors
    /// The error of the operating system.
    pub fn write(&self, name: &str, entry: &impl Serialize) -> std::io::Result<()> {
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700).create(&self.path)?;
        let temporary = self
            .path
            .join(format!("{name}.{}.part", std::process::id()));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let written = options.open(&temporary).and_then(|mut file: File| {
            file.write_all(&serde_json::to_vec(entry)?)?;
            std::fs::rename(&temporary, self.path.join(name))
        });
        written.inspect_err(|_| {
            let _ = remove_file(&temporary);
        })?;
        for (_, path) in self.entries().into_iter().skip(MAX_ENTRIES) {
            let _ = remove_file(path);
        }
        Ok(())
    }

    /// Lists the entries, the newest first.
    pub fn entries(&self) -> Vec<(std::time::SystemTime, PathBuf)> {
        let read = read_dir(&self.path).into_iter().flatten().flatten();
        let mut entries: Vec<_> = read
            .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
            .collect();
        entries.sort_by(|a, b| b.cmp(a));
        entries
    }

    /// Removes every entry.
    ///
    /// # Errors
    /// The error of the operating system.
    pub fn clear(&self) -> std::io::Result<()> {
        match remove_dir_all(&self.path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

/// Returns the name of a key's entry.
pub(crate) fn entry_name(key: &impl Serialize) -> Option<String> {
    let text = serde_json::to_vec(key).ok()?;
    let hash = sha2::Sha256::digest(&text);
    let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    Some(format!("{hash}.json"))
}

/// Returns whether only this user can have written a file or folder.
fn is_of_this_user(metadata: &Metadata) -> bool {
    metadata.uid() == geteuid().as_raw() && metadata.mode() & 0o022 == 0
}
