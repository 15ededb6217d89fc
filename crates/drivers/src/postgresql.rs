//! PostgreSQL: a private server for each trial, or a user's by its address.

mod address;
mod amcheck;
mod cluster;
mod cluster_knobs;
mod database;
mod events;
mod external_schema;
mod install;
mod instance;
mod isolation;
mod knobs;
mod message;
mod password;
mod promise_check;
mod session;
mod sql;
mod value;
mod wire;

use crate::library;
use address::ServerAddress;
pub use cluster::PostgresqlCluster;
use database::PostgresqlDatabase;
use instance::Instance;
use isolation::PostgresqlIsolation;
use knobs::{PostgresqlKnobs, WalSettings};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use trueput_engine::{
    Build, CacheKnob, Capabilities, Database, Dialect, Durability, Engine, EngineEvent, Error,
    Info, Isolation, OpenSpec, Parameter, ParameterValues, Promise, Result, Service, Window,
    credentials,
};
use wire::PostgresqlConnection;

const SOURCE: &str = "PostgreSQL documentation, 'Asynchronous Commit' and 'Write Ahead Log' \
                      (fsync, synchronous_commit, full_page_writes)";

/// The schema that a database is, where its folder is not one of several in an instance.
const SCHEMA: &str = "trueput";

/// The longest key: a third of an index page, less the page's overhead ("index row size exceeds
/// btree version 4 maximum 2704").
const MAX_KEY_BYTES: usize = 2_600;
/// The longest value: a field has at most 1 GiB, and a whole row is assembled in one.
const MAX_VALUE_BYTES: usize = 512 << 20;

/// The time that a user's server may take for each answer about its version and settings.
const BUILD_TIMEOUT: Duration = Duration::from_secs(10);

/// The PostgreSQL driver.
pub struct Postgresql {
    named: SelectedPostgresqlServer,
}

/// The server that a plan names.
enum SelectedPostgresqlServer {
    /// The first that is found.
    First,
    /// A program.
    Program(PathBuf),
    /// A user's, which runs.
    External(ServerAddress),
}

impl Postgresql {
    /// PostgreSQL as the first server that is found has it.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            named: SelectedPostgresqlServer::First,
        }
    }

    /// The program of a private server.
    fn program(&self) -> Result<PathBuf> {
        match &self.named {
            SelectedPostgresqlServer::Program(program) => Ok(program.clone()),
            _ => install::find_all().into_iter().next().ok_or_else(|| {
                Error::missing(
                    "no PostgreSQL server on this machine (postgres and initdb in one \
                        directory); `trueput engines install postgresql` installs it",
                )
            }),
        }
    }

    /// The program that a plan names.
    fn named_program(&self) -> Option<PathBuf> {
        match &self.named {
            SelectedPostgresqlServer::Program(program) => Some(program.clone()),
            _ => None,
        }
    }

    /// PostgreSQL with the program of that path.
    ///
    /// # Errors
    /// One line, if it is no server, or too old.
    fn of_program(program: &Path) -> Result<Self> {
        let shown = program.display();
        let full = program
            .canonicalize()
            .map_err(|error| Error::engine(format!("cannot read {shown}: {error}")))?;
        install::version(&full)?;
        install::initdb(&full)?;
        Ok(Self {
            named: SelectedPostgresqlServer::Program(full),
        })
    }

    /// PostgreSQL with the program of that path, of which only the name is looked at.
    ///
    /// # Errors
    /// One line, if there is no such file.
    fn of_unopened_program(program: &Path) -> Result<Self> {
        let named = SelectedPostgresqlServer::Program(library::full_path(program)?);
        Ok(Self { named })
    }

    fn users(&self) -> Option<&ServerAddress> {
        match &self.named {
            SelectedPostgresqlServer::External(address) => Some(address),
            _ => None,
        }
    }
}

impl Default for Postgresql {
    fn default() -> Self {
        Self::new()
    }
}

impl Engine for Postgresql {
    fn info(&self) -> Info {
        Info {
            name: "postgresql",
            title: "PostgreSQL",
            summary: "SQL server; heap and B-tree, multiple row versions, one process per session",
            license: "PostgreSQL",
            homepage: "https://www.postgresql.org",
            install: "trueput engines install postgresql, or \
                      postgresql@postgres://USER@HOST/DATABASE for a server of \
                      yours",
        }
    }

    fn build(&self) -> Result<Build> {
        if let Some(address) = self.users() {
            let mut connection = PostgresqlConnection::open_within(address, BUILD_TIMEOUT)?;
            let version = connection.parameter("server_version").unwrap_or_default();
            let version = install::check_version(version, &address.to_string())?;
            external_schema::check(&mut connection, address)?;
            let assertions = connection.setting("debug_assertions")? == "on";
            return Ok(Build {
                version,
                library: Some(PathBuf::from(address.to_string())),
                assertions: Some(assertions),
            });
        }
        let program = self.program()?;
        Ok(Build {
            version: install::version(&program)?,
            library: Some(program),
            assertions: None,
        })
    }

    fn library_files(&self) -> Vec<PathBuf> {
        install::find_all()
    }

    fn with_library(&self, library: &Path) -> Result<Box<dyn Engine>> {
        Ok(Box::new(Self::of_program(library)?))
    }

    fn unopened(&self, library: &Path) -> Result<Box<dyn Engine>> {
        Ok(Box::new(Self::of_unopened_program(library)?))
    }

    fn with_address(&self, address: &credentials::Address) -> Result<Box<dyn Engine>> {
        let named = SelectedPostgresqlServer::External(ServerAddress::parse(address)?);
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
        let (durability_settings, delay_ms) = match self.users() {
            Some(_) => (external_schema::durability_settings(durability)?, None),
            None => {
                let knobs = PostgresqlKnobs::from(knobs);
                let delay_ms = knobs.wal_writer_delay;
                (WalSettings::of(&knobs, durability)?, Some(delay_ms))
            }
        };
        Ok(Promise::new(
            durability,
            durability_settings.text(),
            (durability == Durability::Buffered).then(|| unwritten(delay_ms)),
            SOURCE,
        ))
    }

    fn isolation(&self, knobs: &ParameterValues) -> Option<Isolation> {
        Some(match PostgresqlKnobs::from(knobs).isolation {
            PostgresqlIsolation::ReadCommitted => Isolation::ReadCommitted,
            // What it calls repeatable read is snapshot isolation.
            PostgresqlIsolation::RepeatableRead => Isolation::Snapshot,
            PostgresqlIsolation::Serializable => Isolation::Serializable,
        })
    }

    fn isolation_knobs(&self) -> &'static [&'static str] {
        &["isolation"]
    }

    fn knobs(&self) -> &'static [Parameter] {
        match self.users() {
            Some(_) => knobs::OF_A_SESSION,
            None => PostgresqlKnobs::PARAMETERS,
        }
    }

    fn cache_knob(&self, knobs: &ParameterValues) -> std::result::Result<CacheKnob, &'static str> {
        match self.users() {
            Some(_) => Err("is a server of yours, whose cache is sized where it is started"),
            None => {
                let size_bytes = PostgresqlKnobs::from(knobs).shared_buffers;
                Ok(CacheKnob::bytes("shared_buffers", size_bytes))
            }
        }
    }

    fn prepare_after_power_loss(&self, spec: &OpenSpec<'_>) -> Result<()> {
        match self.users() {
            Some(_) => Ok(()),
            None => instance::remove_lock_file(spec.directory),
        }
    }

    /// By the server's module `amcheck`; without it, and on a user's server, there is no check.
    fn check_files(&self, spec: &OpenSpec<'_>) -> Result<()> {
        match self.users() {
            Some(_) => Ok(()),
            None => amcheck::check(&PostgresqlDatabase::private(spec)?),
        }
    }

    fn audit_knobs(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("checkpoint_timeout", "30"),
            ("max_wal_size", "4MiB"),
            ("shared_buffers", "1MiB"),
            ("wal_segment_size", "1"),
        ]
    }

    fn open(&self, spec: &OpenSpec<'_>) -> Result<Box<dyn Database>> {
        Ok(Box::new(match self.users() {
            Some(address) => PostgresqlDatabase::external(address, spec)?,
            None => PostgresqlDatabase::private(spec)?,
        }))
    }

    fn service(&self) -> Option<Box<dyn Service>> {
        match self.users() {
            Some(_) => None,
            // A missing program is reported when the engine is asked for its build.
            None => Some(Box::new(Instance {
                server: self.program().unwrap_or_else(|_| PathBuf::from("postgres")),
            })),
        }
    }

    fn events(&self, spec: &OpenSpec<'_>, since: SystemTime) -> Option<Vec<EngineEvent>> {
        events::read_since(&self.service()?.log(spec), since)
    }

    fn dialect(&self) -> Option<Dialect> {
        Some(Dialect::Postgresql)
    }
}

/// The window of `buffered`.
fn unwritten(delay_ms: Option<u64>) -> Window {
    let until = "the log's writer has written it: within three times wal_writer_delay";
    Window {
        time_s: delay_ms.map(|delay_ms| 3.0 * delay_ms as f64 / 1e3),
        ..Window::until(until)
    }
}
