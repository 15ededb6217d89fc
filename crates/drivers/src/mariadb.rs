//! MariaDB with InnoDB or MyRocks: a private server for each trial, or a user's server.

mod cluster_access;
mod connection;
mod database;
mod event_watcher;
mod galera;
mod galera_knobs;
mod knobs;
mod promise_check;
mod record_text;
mod schema;
mod server;
mod server_access;
mod session;
mod settings;
mod socket;
mod sql;
mod statement;
#[cfg(test)]
mod test_peer;
mod value;
mod wire;

use crate::library;
use crate::log_directory::LogDirectory;
use connection::client_error;
use database::MariaDbDatabase;
pub use galera::Galera;
use knobs::{IsolationLevel, MariaDbKnobs, NAME, StorageEngine};
use mysql::prelude::Queryable;
use schema::{MAX_KEY_BYTES, MAX_VALUE_BYTES};
use server::PrivateServer;
use server_access::{ExternalServer, ServerAccess};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use trueput_engine::event_watcher::EventProgress;
use trueput_engine::{
    Address, Build, CacheKnob, Capabilities, Database, Dialect, Durability, Engine, EngineEvent,
    Error, EventWatcher, Info, Isolation, OpenSpec, Parameter, ParameterValues, Promise, Result,
    Service,
};

/// The time that a user's server may take to let a client in, and then to say its version.
const BUILD_TIMEOUT: Duration = Duration::from_secs(10);

/// The MariaDB driver.
#[derive(Default)]
pub struct MariaDb {
    named: Option<SelectedMariaDbServer>,
}

/// The server that a plan names.
enum SelectedMariaDbServer {
    /// A server's program.
    Program(PathBuf),
    /// A server that runs.
    External(Box<ExternalServer>),
}

impl MariaDb {
    /// MariaDB as the system has it.
    #[must_use]
    pub const fn new() -> Self {
        Self { named: None }
    }

    /// The server's program.
    fn program(&self) -> Result<PathBuf> {
        if let Some(path) = self.named_program() {
            return Ok(path);
        }
        server::find_all().into_iter().next().ok_or_else(|| {
            Error::missing(
                "no MariaDB on this machine (mariadbd); `trueput engines install mariadb` \
                 installs it",
            )
        })
    }

    /// The program that a plan names.
    fn named_program(&self) -> Option<PathBuf> {
        match &self.named {
            Some(SelectedMariaDbServer::Program(path)) => Some(path.clone()),
            _ => None,
        }
    }

    /// MariaDB with the program of that path.
    ///
    /// # Errors
    /// One line, if it is no server.
    fn of_program(program: &Path) -> Result<Self> {
        let program = library::full_path(program)?;
        server::version(&program)?;
        let named = Some(SelectedMariaDbServer::Program(program));
        Ok(Self { named })
    }

    /// MariaDB with the program of that path, of which only the name is looked at.
    ///
    /// # Errors
    /// One line, if there is no such file.
    fn of_unopened_program(program: &Path) -> Result<Self> {
        let named = Some(SelectedMariaDbServer::Program(library::full_path(program)?));
        Ok(Self { named })
    }

    fn open_database(&self, spec: &OpenSpec<'_>) -> Result<MariaDbDatabase> {
        settings::levels(spec.durability, spec.knobs)?;
        let server_access = match &self.named {
            Some(SelectedMariaDbServer::External(server)) => {
                settings::check_for_users_server(spec.knobs)?;
                ServerAccess::External(server.clone())
            }
            _ => ServerAccess::private(spec.directory).ok_or_else(|| {
                let folder = spec.directory.display();
                Error::engine(format!("no MariaDB server runs in {folder}"))
            })?,
        };
        MariaDbDatabase::open(server_access, spec)
    }
}

impl Engine for MariaDb {
    fn info(&self) -> Info {
        Info {
            name: NAME,
            title: "MariaDB",
            summary: "SQL server; B+tree with a redo log (InnoDB) or an LSM tree (MyRocks)",
            license: "GPL-2.0-only",
            homepage: "https://mariadb.com/kb/en/documentation/",
            install: "trueput engines install mariadb, or a server's mariadbd or URL by @",
        }
    }

    fn build(&self) -> Result<Build> {
        if let Some(SelectedMariaDbServer::External(server)) = &self.named {
            let shown = server.shown();
            let invalid_url = |error| Error::engine(format!("{shown}: {}", client_error(error)));
            let connected = server.connect(None, Some(BUILD_TIMEOUT));
            let mut connection = connected.map_err(invalid_url)?;
            let version: Option<String> = connection
                .query_first("SELECT VERSION()")
                .map_err(invalid_url)?;
            let version = version.unwrap_or_default();
            server::check_version(&version)?;
            return Ok(Build {
                version,
                library: Some(PathBuf::from(shown)),
                assertions: None,
            });
        }
        let program = self.program()?;
        let version = server::version(&program)?;
        server::check_version(&version)?;
        Ok(Build {
            // The packagers' debug builds say so in their version.
            assertions: Some(version.contains("debug")),
            version,
            library: Some(program),
        })
    }

    fn library_files(&self) -> Vec<PathBuf> {
        server::find_all()
    }

    fn with_library(&self, library: &Path) -> Result<Box<dyn Engine>> {
        Ok(Box::new(Self::of_program(library)?))
    }

    fn unopened(&self, library: &Path) -> Result<Box<dyn Engine>> {
        Ok(Box::new(Self::of_unopened_program(library)?))
    }

    fn with_address(&self, address: &Address) -> Result<Box<dyn Engine>> {
        let server = ExternalServer::new(address)?;
        let named = Some(SelectedMariaDbServer::External(Box::new(server)));
        Ok(Box::new(Self { named }))
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            several_processes: true,
            concurrent_writers: true,
            batch_get: true,
            conditional_put: true,
            bulk_load: true,
            ..Capabilities::transactional(MAX_KEY_BYTES, MAX_VALUE_BYTES)
        }
    }

    fn promise_with(&self, durability: Durability, knobs: &ParameterValues) -> Result<Promise> {
        let promise = settings::promise(durability, knobs)?;
        let Some(SelectedMariaDbServer::External(_)) = &self.named else {
            return Ok(promise);
        };
        // Its owner may have a binary log, which is then checked at 'sync'.
        let with_log = match durability {
            Durability::Sync => "log_bin=OFF or sync_binlog=1",
            _ => "log_bin as it is",
        };
        let mapped_to = promise.mapped_to.replace(settings::NO_BINARY_LOG, with_log);
        Ok(Promise {
            mapped_to,
            ..promise
        })
    }

    fn isolation(&self, knobs: &ParameterValues) -> Option<Isolation> {
        let knobs = MariaDbKnobs::from(knobs);
        Some(match (knobs.storage_engine, knobs.isolation) {
            (_, IsolationLevel::ReadCommitted) => Isolation::ReadCommitted,
            // Without gap locks, rows can be inserted into a range that was searched.
            (StorageEngine::Rocksdb, _) => Isolation::Snapshot,
            // Gets and scans of a write transaction are FOR UPDATE, with locks on gaps.
            (StorageEngine::Innodb, _) => Isolation::Serializable,
        })
    }

    fn isolation_in_sql(&self, knobs: &ParameterValues) -> Option<Isolation> {
        let knobs = MariaDbKnobs::from(knobs);
        Some(match (knobs.storage_engine, knobs.isolation) {
            (StorageEngine::Innodb, IsolationLevel::Serializable) => Isolation::Serializable,
            (StorageEngine::Innodb, IsolationLevel::Snapshot)
            | (StorageEngine::Rocksdb, IsolationLevel::RepeatableRead) => Isolation::Snapshot,
            // Even at repeatable-read, an UPDATE overwrites rows committed since the SELECT.
            _ => Isolation::ReadCommitted,
        })
    }

    fn isolation_knobs(&self) -> &'static [&'static str] {
        &["storage_engine", "isolation"]
    }

    fn knobs(&self) -> &'static [Parameter] {
        MariaDbKnobs::PARAMETERS
    }

    fn cache_knob(&self, knobs: &ParameterValues) -> std::result::Result<CacheKnob, &'static str> {
        let size_bytes = MariaDbKnobs::from(knobs).innodb_buffer_pool_size;
        Ok(CacheKnob::bytes("innodb_buffer_pool_size", size_bytes))
    }

    fn check_files(&self, spec: &OpenSpec<'_>) -> Result<()> {
        self.open_database(spec)?.check_table()
    }

    fn audit_knobs(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("innodb_buffer_pool_size", "6MiB"),
            ("innodb_log_buffer_size", "2MiB"),
            ("innodb_log_file_size", "16MiB"),
            ("innodb_max_dirty_pages_pct", "0"),
        ]
    }

    fn audit_knobs_with(&self, knobs: &ParameterValues) -> &'static [(&'static str, &'static str)] {
        match MariaDbKnobs::from(knobs).storage_engine {
            StorageEngine::Innodb => self.audit_knobs(),
            StorageEngine::Rocksdb => &[
                ("rocksdb_block_cache_size", "1MiB"),
                ("rocksdb_write_buffer_size", "1MiB"),
            ],
        }
    }

    fn open(&self, spec: &OpenSpec<'_>) -> Result<Box<dyn Database>> {
        Ok(Box::new(self.open_database(spec)?))
    }

    fn service(&self) -> Option<Box<dyn Service>> {
        match &self.named {
            Some(SelectedMariaDbServer::External(_)) => None,
            // A missing program is reported when it is executed.
            _ => Some(Box::new(PrivateServer {
                program: self.program().unwrap_or_else(|_| PathBuf::from("mariadbd")),
            })),
        }
    }

    fn events(&self, spec: &OpenSpec<'_>, since: SystemTime) -> Option<Vec<EngineEvent>> {
        self.service()?;
        match MariaDbKnobs::from(spec.knobs).storage_engine {
            StorageEngine::Innodb => None,
            StorageEngine::Rocksdb => {
                let data = server_access::instance_folder(spec.directory)?.join(socket::DATA);
                crate::rocksdb::events::read_since(&data.join("#rocksdb"), since)
            }
        }
    }

    fn event_watcher(&self, spec: &OpenSpec<'_>) -> Option<Box<dyn EventWatcher>> {
        self.service()?;
        let knobs = MariaDbKnobs::from(spec.knobs);
        if knobs.storage_engine != StorageEngine::Innodb {
            return None;
        }
        let log = match knobs.log_directory {
            LogDirectory::Apart => server_access::LOG,
            LogDirectory::Beside => socket::DATA,
        };
        let reader =
            event_watcher::reader(&server_access::instance_folder(spec.directory)?.join(log));
        Some(Box::new(EventProgress::new(reader)))
    }

    fn dialect(&self) -> Option<Dialect> {
        Some(Dialect::Mariadb)
    }
}
