//! The folder of a database: the first process to use it creates it, or recovers it after a crash.

use super::install::{GtmInstallation, files};
use super::knobs::{DatabaseLayout, JournalMode};
use crate::library::FileCache;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError, read_to_string, remove_file};
use std::path::{Path, PathBuf};
use trueput_engine::{Error, Result};

const ROUTINES: &str = include_str!("trueput.m");
const CALL_INS: &str = include_str!("trueput.ci");
const NATIVE: &str = include_str!("../../m/threen1.m");

/// Held while a database is made, checked or recovered.
const SETUP_LOCK: &str = "trueput.setup";
/// Held, shared, by every process that is attached.
const USE_LOCK: &str = "trueput.use";
/// The file with the layout of the database; it exists once the database is complete.
const SHAPE: &str = "trueput.shape";
/// Without before-images: the database as it was when the journal began.
const BASE: &str = "trueput.base";
/// There while the database is being rebuilt from that.
const REBUILDING: &str = "trueput.rebuilding";

/// The folder of a database, and the GT.M installation that works on it.
pub(super) struct DatabaseFolder<'a> {
    pub(super) installation: &'a GtmInstallation,
    pub(super) path: &'a Path,
    pub(super) layout: &'a DatabaseLayout,
}

/// Makes an error that names the file.
fn file_error(path: &Path) -> impl Fn(std::io::Error) -> Error + '_ {
    move |error| Error::engine(format!("{}: {error}", path.display()))
}

/// Success if GDE did its work, else an error with its output.
fn made_by_editor(is_done: bool, said: &str) -> Result<()> {
    let said = said.replace('\n', " ");
    is_done
        .then_some(())
        .ok_or_else(|| Error::engine(format!("GDE made no global directory: {said}")))
}

impl DatabaseFolder<'_> {
    /// Prepares the database for attaching. The returned lock marks it as in use, and must be held
    /// as long as the process lives.
    pub(super) fn prepare(&self) -> Result<File> {
        let setup = self.lock_file(SETUP_LOCK)?;
        setup.lock().map_err(file_error(self.path))?;
        let in_use = self.lock_file(USE_LOCK)?;
        match in_use.try_lock() {
            Ok(()) => {
                self.make_or_recover()?;
                in_use.unlock().map_err(file_error(self.path))?;
            }
            Err(TryLockError::WouldBlock) => self.check_layout()?,
            Err(TryLockError::Error(error)) => return Err(file_error(self.path)(error)),
        }
        in_use.lock_shared().map_err(file_error(self.path))?;
        Ok(in_use)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    fn lock_file(&self, name: &str) -> Result<File> {
        let path = self.file(name);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        options.open(&path).map_err(file_error(&path))
    }

    fn mupip(&self, arguments: &[&str]) -> Result<String> {
        self.installation.run("mupip", arguments, self.path, "")
    }

    /// Recovers the database after the machine's end, as GT.M's administration guide asks. The
    /// header of the file may be from before it was opened, and then does not say that recovery is
    /// due.
    pub(super) fn recover_after_power_loss(&self) -> Result<()> {
        if self.file(SHAPE).exists() {
            self.recover()
        } else {
            Ok(())
        }
    }

    /// Called by the only one that has the database.
    fn make_or_recover(&self) -> Result<()> {
        if self.file(SHAPE).exists() {
            self.check_layout()?;
            if self.is_crashed()? {
                self.recover()?;
            }
        } else {
            self.make()?;
        }
        self.place_routines()
    }

    /// The routines of this program, compiled.
    fn place_routines(&self) -> Result<()> {
        let sources = [(files::NATIVE, NATIVE), (files::ROUTINES, ROUTINES)];
        let calls = (files::CALL_INS, CALL_INS);
        let placed = |(name, text): &(&str, &str)| {
            read_to_string(self.file(name)).is_ok_and(|is| is == *text)
        };
        if sources.iter().chain([&calls]).all(placed) {
            return Ok(());
        }
        for (name, text) in [calls].into_iter().chain(sources) {
            let path = self.file(name);
            std::fs::write(&path, text).map_err(file_error(&path))?;
        }
        self.installation
            .run("mumps", &sources.map(|(name, _)| name), self.path, "")?;
        self.flush_files()
    }

    fn make(&self) -> Result<()> {
        // What an interrupted attempt has left.
        for name in [
            files::DIRECTORY,
            files::DATABASE,
            files::JOURNAL,
            files::JOURNAL_APART,
            BASE,
            files::ROUTINES,
        ] {
            self.remove(name)?;
        }
        if let Some(log) = self.layout.log_folder() {
            let log = self.file(log);
            std::fs::create_dir_all(&log).map_err(file_error(&log))?;
        }
        self.make_directory()?;
        self.mupip(&["create"])?;
        let block_writes = self.layout.block_writes_argument();
        self.mupip(&["set", &block_writes, "-file", files::DATABASE])?;
        self.start_journal()?;
        let path = self.file(SHAPE);
        std::fs::write(&path, self.layout_text()).map_err(file_error(&path))?;
        self.flush_files()
    }

    /// Stores what the tools and this program made, which flush little of it, and the names.
    fn flush_files(&self) -> Result<()> {
        let flush = |path: &Path| {
            let flushed = File::open(path).and_then(|opened| opened.sync_all());
            flushed.map_err(file_error(path))
        };
        let log = self.layout.log_folder().map(|log| self.file(log));
        for folder in log.iter().map(PathBuf::as_path).chain([self.path]) {
            for entry in std::fs::read_dir(folder).map_err(file_error(folder))? {
                let path = entry.map_err(file_error(folder))?.path();
                if path.is_file() {
                    flush(&path)?;
                }
            }
            flush(folder)?;
        }
        Ok(())
    }

    /// Makes the global directory. GDE waits half a second for one that is not there, so each
    /// process has it make one with GDE's defaults once, and lays that down for it to change.
    fn make_directory(&self) -> Result<()> {
        static DEFAULTS: FileCache<Vec<u8>> = FileCache::new();
        let path = self.file(files::DIRECTORY);
        let content = || std::fs::read(&path).unwrap_or_default();
        let defaults = DEFAULTS.get(self.installation.library(), |_| {
            let said = self.edit_directory("exit\n")?;
            let made = content();
            made_by_editor(!made.is_empty(), &said).map(|()| made)
        })?;
        std::fs::write(&path, defaults).map_err(file_error(&path))?;
        let said = self.edit_directory(&self.layout.editor_commands(self.path))?;
        made_by_editor(content() != *defaults, &said)
    }

    fn edit_directory(&self, commands: &str) -> Result<String> {
        let editor = ["-run", "GDE"];
        self.installation.run("mumps", &editor, self.path, commands)
    }

    /// Starts a journal, and saves a copy of the database if the journal alone could not undo it.
    fn start_journal(&self) -> Result<()> {
        let Some(journal) = self.layout.journal_argument() else {
            return Ok(());
        };
        self.mupip(&["set", &journal, "-file", files::DATABASE])?;
        if self.layout.journaling == JournalMode::NoBefore {
            self.copy_flushed(files::DATABASE, BASE)?;
        }
        Ok(())
    }

    fn layout_text(&self) -> String {
        format!("{:?}\n", self.layout)
    }

    fn check_layout(&self) -> Result<()> {
        let path = self.file(SHAPE);
        let made = read_to_string(&path).map_err(file_error(&path))?;
        let asked = self.layout_text();
        if made == asked {
            return Ok(());
        }
        Err(Error::Unsupported(format!(
            "{} was made with {}, not with {}",
            self.path.display(),
            made.trim_end(),
            asked.trim_end()
        )))
    }

    /// Whether the file is marked as open although no process has it open.
    fn is_crashed(&self) -> Result<bool> {
        if self.file(REBUILDING).exists() {
            return Ok(true);
        }
        let header = self.header()?;
        let number = |name: &str| header.get(name).map(String::as_str);
        Ok([number("shmid"), number("semid")] != [Some("-1"), Some("-1")])
    }

    /// The fields of the file's header, as `mupip dumpfhead` writes them.
    pub(super) fn header(&self) -> Result<BTreeMap<String, String>> {
        let said = self.mupip(&["dumpfhead", "-file", files::DATABASE])?;
        let field = |line: &str| {
            let (name, value) = line.split_once("\")=")?;
            let name = name.strip_prefix("record(\"sgmnt_data.")?;
            Some((name.to_owned(), value.trim_matches('"').to_owned()))
        };
        Ok(said.lines().filter_map(field).collect())
    }

    fn recover(&self) -> Result<()> {
        match self.layout.journaling {
            // Earlier journals stay: the new one refers to them, and a recovery within the next
            // second goes back to an epoch in them.
            JournalMode::Before => self
                .mupip(&["journal", "-recover", "-backward", self.layout.journal()])
                .map(|_| ()),
            JournalMode::NoBefore => self.rebuild().and_then(|()| self.remove_old_journals()),
            JournalMode::Off => self
                .mupip(&["rundown", "-file", files::DATABASE])
                .map(|_| ()),
        }
    }

    /// Applies the whole journal to the database as it was when the journal began.
    fn rebuild(&self) -> Result<()> {
        let mark = self.file(REBUILDING);
        if !mark.exists() {
            // Frees the shared memory that the file names; its changes to the file are then undone.
            self.mupip(&["rundown", "-override", "-file", files::DATABASE])?;
            File::create(&mark).map_err(file_error(&mark))?;
        }
        self.copy_flushed(BASE, files::DATABASE)?;
        self.mupip(&["journal", "-recover", "-forward", self.layout.journal()])?;
        let database = self.file(files::DATABASE);
        let opened = OpenOptions::new().write(true).open(&database);
        let flushed = opened.and_then(|file| file.sync_all());
        flushed.map_err(file_error(&database))?;
        self.start_journal()?;
        self.remove(REBUILDING)
    }

    fn copy_flushed(&self, from: &str, to: &str) -> Result<()> {
        let (from, to) = (self.file(from), self.file(to));
        let copied = std::fs::copy(&from, &to)
            .and_then(|_| OpenOptions::new().write(true).open(&to)?.sync_all());
        copied.map_err(file_error(&to))
    }

    /// Removes the journals of before the recovery, which the tools have renamed.
    fn remove_old_journals(&self) -> Result<()> {
        let renamed = format!("{}_", files::JOURNAL);
        let journal = self.file(self.layout.journal());
        let folder = journal.parent().unwrap_or(self.path);
        for entry in std::fs::read_dir(folder).map_err(file_error(folder))? {
            let path = entry.map_err(file_error(folder))?.path();
            let name = path.file_name().and_then(|name| name.to_str());
            if name.is_some_and(|name| name.starts_with(&renamed)) {
                remove_file(&path).map_err(file_error(&path))?;
            }
        }
        Ok(())
    }

    fn remove(&self, name: &str) -> Result<()> {
        let path = self.file(name);
        match remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(file_error(&path)(error))
            }
            _ => Ok(()),
        }
    }
}
