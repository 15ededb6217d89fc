//! The folder in which one engine is made, and its move into place.

use super::console::{Console, StopMethod, compiler};
use super::error::{InstallationError, Result};
use crate::bundled_sources;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;
use trueput_drivers::InstallationFolder;

/// The start of the names of folders in which engines are made.
pub const PREFIX: &str = ".installing.";

/// Where trueput's own sources of libraries lie in the repository.
const SHIM_SOURCES: &str = "crates/drivers/shim";

/// The folder in which one engine is made.
pub struct Workspace<'i> {
    /// Runs the programs.
    pub console: &'i Console,
    /// The name of the engine's folder, without the version.
    pub engine: String,
    /// The engine's version.
    pub version: String,
    /// Whether an engine that is there is made again.
    pub is_reinstallation: bool,
    folders: &'i InstallationFolder,
    work: TempDir,
}

impl<'i> Workspace<'i> {
    /// Creates the folder beside the engines, so that a move into place is atomic.
    ///
    /// # Errors
    /// A folder that cannot be created.
    pub fn create(console: &'i Console, folders: &'i InstallationFolder) -> io::Result<Self> {
        let work = tempfile::Builder::new()
            .prefix(PREFIX)
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(&folders.target)?;
        Ok(Self {
            console,
            engine: String::new(),
            version: String::new(),
            is_reinstallation: false,
            folders,
            work,
        })
    }

    /// The same folder for another engine that is made in it.
    pub fn rename(&mut self, engine: &str, version: &str) {
        engine.clone_into(&mut self.engine);
        version.clone_into(&mut self.version);
    }

    /// The folder in which it is made.
    pub fn path(&self) -> &Path {
        self.work.path()
    }

    /// The folder of all engines.
    pub fn engines(&self) -> &Path {
        &self.folders.target
    }

    /// The engine's folder.
    pub fn target(&self) -> PathBuf {
        self.engines()
            .join(format!("{}-{}", self.engine, self.version))
    }

    /// Writes a line about the engine.
    pub fn say(&self, text: &str) {
        self.console.display.say(text);
    }

    /// A command that runs in the folder.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.path());
        // An outer make speaks of its own job server and options.
        for variable in ["MAKEFLAGS", "MFLAGS", "MAKELEVEL"] {
            command.env_remove(variable);
        }
        command
    }

    /// Runs a command, and fails with a reason and the path of the log.
    ///
    /// # Errors
    /// A failure of the command; as [`Console::run`].
    pub fn run(&self, command: &mut Command, failure: &str) -> Result<()> {
        if self.console.run(command, StopMethod::Group)? {
            return Ok(());
        }
        Err(self.failure_in_log(failure))
    }

    /// A failure that the log explains.
    pub fn failure_in_log(&self, failure: &str) -> InstallationError {
        InstallationError::Failure(format!("{failure}; see {}", self.console.log_path()))
    }

    /// Replaces the names in braces of a text of the table.
    pub fn expand(&self, text: &str) -> String {
        let values = [
            ("{version}", self.version.clone()),
            ("{work}", self.path().display().to_string()),
            ("{sources}", self.shim_sources().display().to_string()),
            ("{cc}", compiler("CC", "cc")),
            ("{cxx}", compiler("CXX", "g++")),
            ("{processor}", processor().to_owned()),
            ("{jni}", jni_processor()),
        ];
        values.iter().fold(text.to_owned(), |text, (name, value)| {
            text.replace(name, value)
        })
    }

    /// The folder of trueput's own sources, in the folder.
    pub fn shim_sources(&self) -> PathBuf {
        self.path().join(SHIM_SOURCES)
    }

    /// Writes trueput's own sources into the folder.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write_shim_sources(&self) -> io::Result<()> {
        bundled_sources::write_matching(self.path(), |file| file.starts_with(SHIM_SOURCES))
    }

    /// Whether the engine is there already, in this version.
    ///
    /// # Errors
    /// An older installation that cannot be taken over.
    pub fn is_present(&self) -> Result<bool> {
        if self.is_reinstallation {
            return Ok(false);
        }
        if self.target().is_dir() {
            self.say(&format!("is there already: {}", self.version));
            return Ok(true);
        }
        self.take_over()
    }

    /// Takes over what an earlier version put into root's own folder; nothing that another user
    /// could have written.
    fn take_over(&self) -> Result<bool> {
        let name = format!("{}-{}", self.engine, self.version);
        let old = self.folders.own.join(name);
        let is_other = self.folders.own != self.folders.target;
        if !is_other || !old.is_dir() || !is_of_root(&old) {
            return Ok(false);
        }
        let mut files = Vec::new();
        for entry in fs::read_dir(&old)? {
            files.push(entry?.path());
        }
        self.place(&files)?;
        Ok(true)
    }

    /// Moves copies of files into the engine's folder, all at once: an interruption leaves no half
    /// of an engine.
    ///
    /// # Errors
    /// A file that is not there or cannot be copied.
    pub fn place(&self, files: &[PathBuf]) -> Result<()> {
        self.console.check_stop()?;
        let placed = self.path().join("placed");
        fs::create_dir(&placed)?;
        for file in files {
            let name = file.file_name().unwrap_or_default();
            copy(file, &placed.join(name)).map_err(|error| {
                InstallationError::Failure(format!("cannot place {}: {error}", file.display()))
            })?;
        }
        fs::set_permissions(&placed, Permissions::from_mode(0o755))?;
        let target = self.target();
        if target.symlink_metadata().is_ok() {
            let old = self.path().join("old");
            fs::rename(&target, &old)?;
            fs::rename(&placed, &target)?;
            // What is left of it goes with the work folder.
            let _ = fs::remove_dir_all(&old);
        } else {
            fs::rename(&placed, &target)?;
        }
        self.say(&format!(
            "installed {} in {}",
            self.version,
            target.display()
        ));
        Ok(())
    }
}

/// Copies a file to the disk, as others may read it and nobody else may write it.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    if !from.symlink_metadata()?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    fs::copy(from, to)?;
    let mode = from.metadata()?.permissions().mode();
    fs::set_permissions(to, Permissions::from_mode(mode & 0o755 | 0o644))?;
    File::open(to)?.sync_all()
}

/// Whether a folder holds regular files only, and all is root's.
fn is_of_root(folder: &Path) -> bool {
    let is_root_s = |path: &Path| path.symlink_metadata().is_ok_and(|it| it.uid() == 0);
    let Ok(entries) = fs::read_dir(folder) else {
        return false;
    };
    let files: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    let is_file = |path: &PathBuf| path.symlink_metadata().is_ok_and(|it| it.is_file());
    let is_safe = |path: &PathBuf| is_file(path) && is_root_s(path);
    is_root_s(folder) && !files.is_empty() && files.iter().all(is_safe)
}

/// The kernel's name for this program's processor.
pub fn processor() -> &'static str {
    match std::env::consts::ARCH {
        "powerpc64" if cfg!(target_endian = "little") => "ppc64le",
        name => name,
    }
}

/// The end of a library's name in Java packages.
fn jni_processor() -> String {
    match processor() {
        "x86_64" => "64".to_owned(),
        other => format!("-{other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_writable_for_its_owner_alone_and_a_link_is_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let [from, to, link] = ["from", "to", "link"].map(|name| folder.path().join(name));
        fs::write(&from, "x").unwrap();
        for (mode, expected) in [(0o666, 0o644), (0o777, 0o755), (0o600, 0o644)] {
            fs::set_permissions(&from, Permissions::from_mode(mode)).unwrap();
            copy(&from, &to).unwrap();
            let placed = to.metadata().unwrap().permissions().mode() & 0o777;
            assert_eq!(placed, expected, "{mode:o}");
        }
        std::os::unix::fs::symlink(&from, &link).unwrap();
        assert!(copy(&link, &to).is_err());
    }
}
