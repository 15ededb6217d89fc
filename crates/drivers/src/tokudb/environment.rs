//! An open environment and its one dictionary.

use super::folder::TokuFolder;
use super::knobs::{self, TokuKnobs};
use super::shim::{DictionaryLayout, TokuLibrary};
use crate::berkeleydb::session::DatabaseContext;
use crate::berkeleydb::shim::{DatabaseHandles, Handle, NONE};
use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStrExt;
use trueput_engine::{Durability, Error, OpenSpec, Result};

/// The dictionary's name; the library names its file.
const DICTIONARY: &CStr = c"records";

/// `ENOENT`: the library's error if the environment lacks one of its files.
const MISSING_FILE: i64 = 2;

/// An open environment and its dictionary.
pub(super) struct TokuEnvironment {
    pub(super) store: DatabaseContext,
    is_nosync: bool,
}

impl TokuEnvironment {
    /// Opens the database of `spec`. Creates it if it is missing, or if a kill interrupted its
    /// creation: the library refuses an environment that lacks one of its files.
    pub(super) fn open(engine: &'static TokuLibrary, spec: &OpenSpec<'_>) -> Result<Self> {
        let folder = TokuFolder(spec.directory);
        let opened = match Self::try_open(engine, spec) {
            Err(Error::Engine { code, .. }) if code == MISSING_FILE && !folder.is_complete() => {
                folder.clear()?;
                Self::try_open(engine, spec)?
            }
            opened => opened?,
        };
        folder.mark_complete()?;
        Ok(opened)
    }

    fn try_open(engine: &'static TokuLibrary, spec: &OpenSpec<'_>) -> Result<Self> {
        let TokuLibrary { api, own } = engine;
        let folder = spec.directory.canonicalize().map_err(Error::engine)?;
        let home = CString::new(folder.as_os_str().as_bytes()).map_err(Error::engine)?;
        let knobs = TokuKnobs::from(spec.knobs);
        let settings = knobs::settings(&knobs, spec.durability);
        let layout = knobs::layout(&knobs);
        let mut env = NONE;
        // SAFETY: `env` can be written.
        api.check(unsafe { (api.exported.env_create)(&raw mut env, 0) })?;
        // SAFETY: the handle is new; path and settings outlive the call.
        let opened = api.check(unsafe { (own.env_open)(env, home.as_ptr(), &raw const settings) });
        let db = opened.and_then(|()| open_dictionary(engine, env, &layout));
        let db = match db {
            Ok(db) => db,
            Err(error) => {
                // SAFETY: after a failure the handle can only be closed.
                unsafe { (api.shim.env_close)(env) };
                return Err(error);
            }
        };
        let store = DatabaseContext {
            handles: DatabaseHandles { api, env, db },
            has_snapshots: true,
            // Readers do not share locks: a get takes the same lock as a put.
            reads_for_update: true,
            is_hash: false,
            max_key_bytes: super::MAX_KEY_BYTES,
            max_value_bytes: super::MAX_VALUE_BYTES,
            take_turn: None,
            guard: None,
        };
        let is_nosync = spec.durability == Durability::Buffered;
        Ok(Self { store, is_nosync })
    }

    /// The settings that the library reports, except the durability of commits, which is given with
    /// each transaction.
    pub(super) fn settings(&self) -> Result<Vec<(String, u64)>> {
        let mut settings = self.store.handles.settings()?;
        settings.push(("DB_TXN_NOSYNC".to_owned(), u64::from(self.is_nosync)));
        Ok(settings)
    }
}

impl Drop for TokuEnvironment {
    fn drop(&mut self) {
        let DatabaseHandles { api, env, db } = self.store.handles;
        // SAFETY: sessions borrow this, so none is left. Closing writes a checkpoint; a drop cannot
        // report.
        unsafe {
            (api.shim.close)(db);
            (api.shim.env_close)(env);
        }
    }
}

fn open_dictionary(engine: &TokuLibrary, env: Handle, layout: &DictionaryLayout) -> Result<Handle> {
    let TokuLibrary { api, own } = engine;
    let mut db = NONE;
    // SAFETY: `db` can be written; the environment is open.
    api.check(unsafe { (api.exported.create)(&raw mut db, env, 0) })?;
    // SAFETY: the handle is new; name and layout outlive the call.
    let opened = api.check(unsafe { (own.open)(db, DICTIONARY.as_ptr(), layout) });
    match opened {
        Ok(()) => Ok(db),
        Err(error) => {
            // SAFETY: after a failure the handle can only be closed.
            unsafe { (api.shim.close)(db) };
            Err(error)
        }
    }
}
