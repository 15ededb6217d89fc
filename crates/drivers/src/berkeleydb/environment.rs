//! An open environment and its one database.

use super::attach_lock::AttachLock;
use super::knobs::{self, BerkeleyKnobs, LOG_FOLDER, ReadIsolation, Writers};
use super::session::DatabaseContext;
use super::shim::{
    BerkeleyApi, BerkeleyLibrary, BerkeleySettings, DatabaseHandles, Handle, LogFlush, NONE,
};
use crate::process_locks::OpenFolders;
use crate::retry::Retry;
use std::ffi::{CStr, CString};
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;
use trueput_engine::{Error, Result};

/// The database's file in the environment's folder.
const FILE: &CStr = c"records.db";

/// The pause between two looks at whether enough log was written for a checkpoint.
const CHECKPOINT_PAUSE: Duration = Duration::from_millis(500);

/// The time for which the creation of the database is retried if it collides with another
/// process's. The library waits for locks itself.
const OPENING: Retry = Retry::new(Duration::from_secs(30), Duration::ZERO);

/// `DB_REGISTER` knows processes, not handles: one environment is opened once in a process.
static OPEN_FOLDERS: OpenFolders = OpenFolders::new("berkeleydb");

/// An open environment and its database.
pub(super) struct BerkeleyEnvironment {
    pub(super) store: DatabaseContext,
    engine: &'static BerkeleyLibrary,
    folder: PathBuf,
    level: LogFlush,
    attach_lock: AttachLock,
    checkpoints: Option<CheckpointThread>,
}

impl BerkeleyEnvironment {
    /// Opens the database in `directory`, making it if it is not there.
    pub(super) fn open(
        engine: &'static BerkeleyLibrary,
        directory: &Path,
        knobs: &BerkeleyKnobs,
        level: LogFlush,
    ) -> Result<Self> {
        let api = &engine.api;
        let folder = directory.canonicalize().map_err(Error::engine)?;
        let settings = knobs::settings(knobs, level)?;
        let mut folders = OPEN_FOLDERS.lock_to_open(&folder)?;
        if !settings.log_directory.is_null() {
            let log = folder.join(LOG_FOLDER.to_string_lossy().as_ref());
            std::fs::create_dir_all(&log).map_err(Error::engine)?;
        }
        let attach_lock = AttachLock::new(&folder)?;
        let attach_guard = attach_lock.lock_transition()?;
        let env = open_env(engine, &folder, &settings)?;
        let has_snapshots = knobs.isolation == ReadIsolation::Snapshot;
        let is_hash = knobs.is_hash();
        let opened = reset_if_needed(engine, env, &folder, level, attach_guard.is_alone())
            .and_then(|()| {
                open_db(api, env, |db| {
                    let page_bytes = knobs.page_size.parse().unwrap_or(4096);
                    let (hash, versions) = (i32::from(is_hash), i32::from(has_snapshots));
                    let unlogged = i32::from(level == LogFlush::NotDurable);
                    // SAFETY: the handle is new and not open.
                    unsafe {
                        (engine.own.open)(db, FILE.as_ptr(), hash, page_bytes, versions, unlogged)
                    }
                })
            });
        let db = match opened {
            Ok(db) => db,
            Err(error) => {
                // SAFETY: the environment was opened above and nothing else knows it.
                unsafe { (api.shim.env_close)(env) };
                return Err(error);
            }
        };
        attach_guard.attach()?;
        let handles = DatabaseHandles { api, env, db };
        let store = DatabaseContext {
            handles,
            has_snapshots,
            reads_for_update: knobs.read_for_update,
            is_hash,
            max_key_bytes: u32::MAX,
            max_value_bytes: u32::MAX,
            take_turn: (knobs.writers == Writers::Turns).then_some(engine.own.take_turn),
            guard: (knobs.writers == Writers::Guarded && !is_hash).then_some(engine.own.guard),
        };
        let environment = Self {
            store,
            engine,
            folder: folder.clone(),
            level,
            attach_lock,
            checkpoints: None,
        };
        folders.insert(folder);
        drop(folders);
        environment.finish(knobs.checkpoint_log)
    }

    /// Checks the opened environment, and starts the checkpoint thread.
    fn finish(mut self, checkpoint_log_bytes: u64) -> Result<Self> {
        self.verify()?;
        // Berkeley DB flushes its files; the folder's entries of new ones are flushed here.
        File::open(&self.folder)
            .and_then(|entry| entry.sync_all())
            .map_err(Error::engine)?;
        let kib = checkpoint_log_bytes.div_ceil(1024);
        if kib != 0 {
            let kib = u32::try_from(kib).unwrap_or(u32::MAX);
            self.checkpoints = Some(CheckpointThread::start(self.store.handles, kib)?);
        }
        Ok(self)
    }

    /// Checks that the environment's settings keep the promise: an environment that another process
    /// made is joined with its own settings.
    fn verify(&self) -> Result<()> {
        let set = self.store.handles.settings()?;
        let is_set = |name: &str| {
            set.iter()
                .any(|(known, number)| known == name && *number != 0)
        };
        let wanted = [
            ("DB_TXN_NOSYNC", LogFlush::Nosync),
            ("DB_TXN_WRITE_NOSYNC", LogFlush::WriteNosync),
            ("DB_LOG_IN_MEMORY", LogFlush::LogInMemory),
            ("DB_TXN_NOT_DURABLE", LogFlush::NotDurable),
        ];
        for (flag, level) in wanted {
            if is_set(flag) != (self.level == level) {
                let how = if is_set(flag) { "is" } else { "is not" };
                return Err(Error::engine(format!(
                    "{flag} {how} set in the environment, against what the level needs"
                )));
            }
        }
        Ok(())
    }

    /// Compacts the database's file, and returns the name of the call; `None` if the shim has none.
    pub(super) fn compact_file(&self) -> Result<Option<&'static str>> {
        let Some(compact) = self.engine.compact else {
            return Ok(None);
        };
        let DatabaseHandles { api, db, .. } = self.store.handles;
        // SAFETY: the database is open, and no session uses it.
        api.check(unsafe { compact(db) })?;
        self.store.handles.checkpoint()?;
        Ok(Some("DB->compact"))
    }
}

impl Drop for BerkeleyEnvironment {
    /// The last process to leave takes the environment's shared memory away, so that the next one
    /// makes it with its own settings, and not one that was made with others.
    fn drop(&mut self) {
        let mut folders = OPEN_FOLDERS.lock();
        self.checkpoints = None;
        let DatabaseHandles { api, env, db } = self.store.handles;
        let attach_guard = self.attach_lock.lock_transition();
        let is_last = attach_guard
            .as_ref()
            .is_ok_and(|attach_guard| attach_guard.is_alone());
        // SAFETY: sessions borrow this, so none is left, and the thread of checkpoints has ended.
        unsafe {
            let written = (api.shim.checkpoint)(env, 0);
            (api.shim.close)(db);
            if is_last && written == 0 {
                let _ = reset_if_needed(self.engine, env, &self.folder, self.level, true);
            }
            (api.shim.env_close)(env);
        }
        if is_last {
            // What is left does no harm: the next opening finds it and joins it.
            let _ = remove_regions(self.engine, &self.folder);
        }
        folders.remove(&self.folder);
    }
}

/// Runs checkpoints until it is dropped.
struct CheckpointThread {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl CheckpointThread {
    fn start(handles: DatabaseHandles, kib: u32) -> Result<Self> {
        let (stop, stopped) = channel();
        let work = move || {
            // The whole struct, not its fields, may go to another thread.
            let handles = handles;
            while stopped.recv_timeout(CHECKPOINT_PAUSE) == Err(RecvTimeoutError::Timeout) {
                // What goes wrong here meets the next commit too, which says so.
                // SAFETY: the environment is open until this thread has been joined.
                unsafe { (handles.api.shim.checkpoint)(handles.env, kib) };
            }
        };
        let thread = std::thread::Builder::new()
            .name("checkpoints".to_owned())
            .spawn(work)
            .map_err(Error::engine)?;
        Ok(Self {
            stop: Some(stop),
            thread: Some(thread),
        })
    }
}

impl Drop for CheckpointThread {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // The thread does not panic; if it did, there is nothing to do about it here.
            let _ = thread.join();
        }
    }
}

/// Checks the structure of the file of a closed database.
pub(super) fn check_file(engine: &BerkeleyLibrary, folder: &Path) -> Result<()> {
    let BerkeleyLibrary { api, own, .. } = engine;
    let file = path_text(&folder.join(FILE.to_string_lossy().as_ref()))?;
    let mut db = NONE;
    // SAFETY: `db` can be written; without an environment a handle stands alone.
    api.check(unsafe { (api.exported.create)(&raw mut db, NONE, 0) })?;
    // SAFETY: the handle is new, and is gone whatever is returned; the path outlives the call.
    api.check(unsafe { (own.verify)(db, file.as_ptr()) })
}

fn path_text(path: &Path) -> Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(Error::engine)
}

fn new_env(api: &BerkeleyApi) -> Result<Handle> {
    let mut env = NONE;
    // SAFETY: `env` can be written.
    api.check(unsafe { (api.exported.env_create)(&raw mut env, 0) })?;
    Ok(env)
}

fn open_env(
    engine: &BerkeleyLibrary,
    folder: &Path,
    settings: &BerkeleySettings,
) -> Result<Handle> {
    let BerkeleyLibrary { api, own, .. } = engine;
    let home = path_text(folder)?;
    let env = new_env(api)?;
    // SAFETY: the handle is new; path and settings outlive the call. After a failure a handle can
    // only be closed.
    unsafe {
        let code = (own.env_open)(env, home.as_ptr(), settings);
        if code != 0 {
            let error = api.error(code);
            (api.shim.env_close)(env);
            return Err(error);
        }
    }
    Ok(env)
}

fn open_db(api: &BerkeleyApi, env: Handle, open: impl Fn(Handle) -> i32) -> Result<Handle> {
    OPENING.run(Error::is_conflict, || {
        let mut db = NONE;
        // SAFETY: `db` can be written; the environment is open.
        api.check(unsafe { (api.exported.create)(&raw mut db, env, 0) })?;
        let code = open(db);
        if code == 0 {
            return Ok(db);
        }
        let error = api.error(code);
        // SAFETY: after a failure a handle can only be closed.
        unsafe { (api.shim.close)(db) };
        Err(error)
    })
}

/// Resets the log positions in pages. A log in memory starts again with each environment, so that
/// positions written under another one would be beyond its end.
fn reset_if_needed(
    engine: &BerkeleyLibrary,
    env: Handle,
    folder: &Path,
    level: LogFlush,
    is_alone: bool,
) -> Result<()> {
    let file = folder.join(FILE.to_string_lossy().as_ref());
    if level != LogFlush::LogInMemory || !is_alone || !file.exists() {
        return Ok(());
    }
    let BerkeleyLibrary { api, own, .. } = engine;
    // SAFETY: the environment is open, and nobody has the database open.
    api.check(unsafe { (own.lsn_reset)(env, FILE.as_ptr()) })
}

fn remove_regions(engine: &BerkeleyLibrary, folder: &Path) -> Result<()> {
    let BerkeleyLibrary { api, own, .. } = engine;
    let home = path_text(folder)?;
    let env = new_env(api)?;
    // SAFETY: the handle is new, and is gone whatever is returned.
    api.check(unsafe { (own.env_remove)(env, home.as_ptr()) })
}

/// Removes the files of the shared memory and of the registry, `__db.*`, after lost power.
pub(super) fn remove_region_files(folder: &Path) -> Result<()> {
    for entry in std::fs::read_dir(folder).map_err(Error::engine)? {
        let path = entry.map_err(Error::engine)?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        if name.is_some_and(|name| name.starts_with("__db.")) {
            std::fs::remove_file(&path).map_err(Error::engine)?;
        }
    }
    Ok(())
}
