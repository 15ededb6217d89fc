//! An engine at a level with its knobs, in a separate folder, with the server that it needs.

use crate::failure::Failure;
use std::path::Path;
use tempfile::TempDir;
use trueput_engine::parameter::resolve;
use trueput_engine::{Durability, Engine, OpenSpec, ParameterValues, isolation};
use trueput_host::service::{Server, ServerSpec};
use trueput_record::Conditions;
use trueput_record::value::Settings;

/// Sessions that a server is made for: more than any check has at once.
pub const SESSIONS: u32 = 16;

/// An engine to be checked.
#[derive(Clone, Copy)]
pub struct Subject {
    /// The engine, with its build if one was named.
    pub name: &'static str,
    /// Its driver.
    pub engine: &'static dyn Engine,
    /// The durability level at which it is checked.
    pub level: Durability,
    /// The knobs that the user set.
    pub given: &'static Settings,
}

/// The folder and server in which a subject is checked.
pub struct Installation {
    // It is stopped before its folder is removed.
    _server: Option<Server>,
    folder: TempDir,
    /// The value of each knob, defaults included.
    pub knobs: ParameterValues,
}

impl Installation {
    /// The folder for databases.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

impl Subject {
    /// Its knobs: these settings, what the user set, and defaults for the rest.
    ///
    /// # Errors
    /// [`Failure::Other`] if the driver has no such knob.
    pub fn knobs(self, settings: &Settings) -> Result<ParameterValues, Failure> {
        let mut all = self.given.clone();
        all.extend(settings.clone());
        resolve(self.engine.info().name, self.engine.knobs(), &all)
            .map_err(|error| Failure::Other(error.to_string()))
    }

    /// The combinations of its isolation knobs, with those values that the user set.
    ///
    /// # Errors
    /// As [`Subject::knobs`].
    pub fn isolation_settings(self) -> Result<Vec<Settings>, Failure> {
        let wanted = self.knobs(self.given)?;
        let mut kept = Vec::new();
        for settings in isolation::settings(self.engine) {
            let all = self.knobs(&settings)?;
            let mut names = self.given.keys();
            if names.all(|name| all.get(name) == wanted.get(name)) {
                kept.push(settings);
            }
        }
        Ok(kept)
    }

    /// Makes a folder in `parent` and starts the server that the engine needs there. The inner
    /// error is why that does not start.
    ///
    /// # Errors
    /// [`Failure::Usage`] if the folder cannot be created.
    pub fn install(
        self,
        parent: &Path,
        settings: &Settings,
    ) -> Result<Result<Installation, String>, Failure> {
        let folder = tempfile::Builder::new()
            .prefix("trueput-check-")
            .tempdir_in(parent);
        let folder = folder.map_err(|error| {
            Failure::Usage(format!("work folder {}: {error}", parent.display()))
        })?;
        let knobs = self.knobs(settings)?;
        let started = self.start(folder.path(), &knobs);
        Ok(started.map(|server| Installation {
            _server: server,
            folder,
            knobs,
        }))
    }

    /// Starts the server for databases in a folder, if the engine needs one.
    fn start(self, directory: &Path, knobs: &ParameterValues) -> Result<Option<Server>, String> {
        let Some(service) = self.engine.service() else {
            return Ok(None);
        };
        let site = ServerSpec {
            service: &*service,
            database: &OpenSpec {
                directory,
                durability: self.level,
                knobs,
                sessions: SESSIONS,
            },
            conditions: &Conditions::default(),
            group_entry: None,
        };
        let started = Server::start(&site, &mut || true);
        started.map(Some).map_err(|error| error.to_string())
    }
}
