//! Data sources for the tests, by the ODBC drivers of this machine: private servers, and a file.

use crate::job_bench::server;
use crate::support::{installed, settings};
use std::path::Path;
use tempfile::TempDir;
use trueput_engine::{Durability, Engine, Error, OpenSpec, parameter};
use trueput_host::service::Server;
use trueput_odbc::Odbc;

/// A data source, and what it needs.
pub struct DataSource {
    pub engine: Box<dyn Engine>,
    // Ends before its folder goes.
    _server: Option<Server>,
    folder: TempDir,
}

impl DataSource {
    /// A private PostgreSQL, unless this machine lacks it or its ODBC driver; then it says why.
    pub fn postgresql() -> Option<Self> {
        // It looks for a deadlock after a second by default, and on few rows there are many.
        let (folder, server) = started("postgresql", "deadlock_timeout=10")?;
        let socket = folder.path().join("data");
        let source = format!(
            "Driver={{PostgreSQL Unicode}};Server={};UID=postgres;Database=postgres",
            socket.display()
        );
        Self::named(&source, folder, Some(server))
    }

    /// A private MariaDB, likewise.
    pub fn mariadb() -> Option<Self> {
        let (folder, server) = started("mariadb", "")?;
        let socket = folder.path().join("data/server.sock");
        let source = format!(
            "Driver={{MariaDB Unicode}};Socket={};UID=root",
            socket.display()
        );
        Self::named(&source, folder, Some(server))
    }

    /// A file of SQLite's, unless this machine lacks its ODBC driver; then it says why.
    pub fn sqlite() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let source = file_in(folder.path());
        Self::named(&source, folder, None)
    }

    /// The engine over a file of [`DataSource::sqlite`] that is to be written to in another
    /// dialect: nothing but its description is of use.
    pub fn described_as(&self, dialect: &str) -> Box<dyn Engine> {
        let source = format!("{};TRUEPUT_DIALECT={dialect}", file_in(self.folder.path()));
        Odbc::new().with_library(source.as_ref()).unwrap()
    }

    /// A connection string's, unless its driver is missing.
    fn named(source: &str, folder: TempDir, server: Option<Server>) -> Option<Self> {
        let engine = Odbc::new().with_library(source.as_ref()).unwrap();
        match engine.build() {
            Ok(_) => Some(Self {
                engine,
                _server: server,
                folder,
            }),
            Err(reason @ Error::Missing(_)) => {
                eprintln!("skipped: {reason}");
                None
            }
            Err(reason) => panic!("{reason}"),
        }
    }
}

/// The connection string of a file of SQLite's in a folder.
fn file_in(folder: &Path) -> String {
    let file = folder.join("source.db");
    format!("Driver={{SQLite3}};Database={}", file.display())
}

/// A private server with these knobs and its folder, if its engine is on this machine; otherwise it
/// says why. It is set for the weakest level that there is through ODBC, which a bench takes.
fn started(name: &str, knobs: &str) -> Option<(TempDir, Server)> {
    let engine = installed(name)?;
    let folder = tempfile::tempdir().unwrap();
    let knobs = parameter::resolve(name, engine.knobs(), &settings(knobs)).unwrap();
    let spec = OpenSpec {
        directory: folder.path(),
        durability: Durability::Buffered,
        knobs: &knobs,
        sessions: 24,
    };
    let server = server(engine, &spec)?;
    Some((folder, server))
}
