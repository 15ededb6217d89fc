//! The audits that this user made: for each build, level and knobs, what is known of the promise.

use crate::evidence::user_folder::{UserFolder, entry_name};
use crate::sha256_of;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use trueput_engine::credentials::is_address;
use trueput_engine::{Engine, parameter};
use trueput_record::audit_standing::AuditStanding;
use trueput_record::value::Settings;
use trueput_record::{Durability, Value};

/// The version of an entry's layout.
const FORMAT: u32 = 1;

/// The store's name in the user's folder for state.
const FOLDER: &str = "trueput/audits";

/// A build of an engine at a level with knobs, whose promise can be audited.
pub struct AuditSubject<'a> {
    /// The engine, in the library that the contender names, if any.
    pub engine: &'a dyn Engine,
    /// The engine's name, with the library if one is named.
    pub contender: String,
    /// The level.
    pub durability: Durability,
    /// The knobs; those that are left out have their defaults.
    pub knobs: &'a Settings,
}

/// Everything that an audit depends on.
///
/// The sizes that the engine sets for an audit ([`Engine::audit_knobs_with`]) are not part of it:
/// an audit makes buffers and logs small, so that they are full often, and speaks of every size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct AuditKey {
    /// SHA-256 of this program, with its drivers.
    program: String,
    /// SHA-256 of the library or the server's program; that of this program where the engine is
    /// compiled in.
    library: String,
    contender: String,
    durability: Durability,
    /// The knobs that differ from their defaults.
    knobs: Settings,
}

#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    format: u32,
    key: AuditKey,
    standing: AuditStanding,
}

/// The audits of a user: one file per build, level and knobs.
#[derive(Debug, Clone)]
pub struct AuditStore {
    folder: UserFolder,
    program: PathBuf,
    /// SHA-256 of files, each computed once.
    hashes: Arc<Mutex<HashMap<PathBuf, String>>>,
}

impl AuditStore {
    /// Opens the store in `$XDG_STATE_HOME` or `~/.local/state`; `None` if this user owns no such
    /// folder. `program` is this program's file.
    #[must_use]
    pub fn of_user(program: &Path) -> Option<Self> {
        let folder = UserFolder::of_user("XDG_STATE_HOME", ".local/state", FOLDER)?;
        Some(Self::new(folder, program))
    }

    /// Opens the store in a separate folder, which need not exist yet.
    #[must_use]
    pub fn in_folder(folder: &Path, program: &Path) -> Option<Self> {
        Some(Self::new(UserFolder::at(folder)?, program))
    }

    fn new(folder: UserFolder, program: &Path) -> Self {
        Self {
            folder,
            program: program.to_owned(),
            hashes: Arc::default(),
        }
    }

    /// Returns the folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns what is known of a promise; `None` if it was not audited.
    #[must_use]
    pub fn find(&self, subject: &AuditSubject<'_>) -> Option<AuditStanding> {
        if self.folder.entries().is_empty() {
            // Hashes take time.
            return None;
        }
        self.find_key(&self.key(subject)?)
    }

    fn find_key(&self, key: &AuditKey) -> Option<AuditStanding> {
        let entry: Entry = self.folder.read(&entry_name(key)?)?;
        (entry.format == FORMAT && entry.key == *key).then_some(entry.standing)
    }

    /// Adds an audit. A subject whose build is unknown, as that of a remote server, is left out.
    ///
    /// # Errors
    /// The error of the operating system.
    pub fn store(&self, subject: &AuditSubject<'_>, later: AuditStanding) -> std::io::Result<()> {
        let key = self.key(subject);
        let Some((name, key)) = key.and_then(|key| Some((entry_name(&key)?, key))) else {
            return Ok(());
        };
        let standing = match self.find_key(&key) {
            Some(earlier) => earlier.after(later),
            None => later,
        };
        let entry = Entry {
            format: FORMAT,
            key,
            standing,
        };
        self.folder.write(&name, &entry)
    }

    fn key(&self, subject: &AuditSubject<'_>) -> Option<AuditKey> {
        let library = subject.engine.build().ok()?.library;
        let library = library.unwrap_or_else(|| self.program.clone());
        if is_address(&library) {
            return None;
        }
        let all = subject.engine.knobs();
        let given = parameter::resolve(subject.engine.info().name, all, subject.knobs).ok()?;
        let sizes = subject.engine.audit_knobs_with(&given);
        let is_of_audit = |name: &String| sizes.iter().any(|(size, _)| size == name);
        let is_default = |name: &String, value: &Value| {
            let knob = all.iter().find(|knob| knob.name == name);
            knob.is_some_and(|knob| *value == knob.kind.default_value())
        };
        let knobs = subject.knobs.iter();
        let knobs = knobs.filter(|(name, value)| !is_of_audit(name) && !is_default(name, value));
        Some(AuditKey {
            program: self.hash(&self.program)?,
            library: self.hash(&library)?,
            contender: subject.contender.clone(),
            durability: subject.durability,
            knobs: knobs
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
        })
    }

    fn hash(&self, file: &Path) -> Option<String> {
        let mut hashes = self.hashes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = hashes.get(file) {
            return Some(known.clone());
        }
        let hash = sha256_of(file).ok()?;
        hashes.insert(file.to_owned(), hash.clone());
        Some(hash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueput_engine::Null;
    use trueput_record::audit::StorageModel;
    use trueput_record::audit_standing::ModelStanding;

    fn subject<'a>(durability: Durability, knobs: &'a Settings) -> AuditSubject<'a> {
        AuditSubject {
            engine: &Null,
            contender: "null".to_owned(),
            durability,
            knobs,
        }
    }

    fn standing(states: u64) -> AuditStanding {
        AuditStanding {
            audited_at: "2026-11-24T18:00:00Z".to_owned(),
            models: vec![ModelStanding {
                model: StorageModel::Journal,
                file_system: None,
                states,
                distinct: states,
                refuted: 0,
                undecided: false,
                counterexample: None,
            }],
        }
    }

    #[test]
    fn an_audit_speaks_of_its_program_level_and_knobs_alone() {
        let room = tempfile::tempdir().unwrap();
        let [program, folder] = ["program", "audits"].map(|name| room.path().join(name));
        std::fs::write(&program, "one").unwrap();
        let open = || AuditStore::in_folder(&folder, &program).unwrap();
        let (none, knobs) = (
            Settings::new(),
            Settings::from([("mode".to_owned(), Value::from("fast"))]),
        );
        open()
            .store(&subject(Durability::Sync, &none), standing(7))
            .unwrap();
        open()
            .store(&subject(Durability::Sync, &none), standing(5))
            .unwrap();
        let found = open().find(&subject(Durability::Sync, &none));
        assert_eq!(found, Some(standing(7)));
        assert_eq!(open().find(&subject(Durability::Async, &none)), None);
        assert_eq!(open().find(&subject(Durability::Sync, &knobs)), None);
        std::fs::write(&program, "two").unwrap();
        assert_eq!(open().find(&subject(Durability::Sync, &none)), None);
    }
}
