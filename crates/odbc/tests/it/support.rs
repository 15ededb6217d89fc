//! Data sources for the tests: private servers and a file, by the ODBC drivers of this machine.

use std::path::Path;
use trueput_drivers::{MariaDb, Postgresql};
use trueput_engine::testing::database::{open, resolve};
use trueput_engine::{Address, Durability, Engine, Error, OpenSpec};
use trueput_host::service::{Server, ServerSpec};
use trueput_odbc::Odbc;
use trueput_record::Conditions;

static POSTGRESQL: Postgresql = Postgresql::new();
static MARIADB: MariaDb = MariaDb::new();
static ODBC: Odbc = Odbc::new();

/// A data source, which is there for as long as this lives.
pub struct Origin {
    source: String,
    place: Option<PrivateServer>,
    folder: tempfile::TempDir,
    engine: Option<&'static dyn Engine>,
}

/// Whether this machine has a driver manager.
pub fn has_manager() -> bool {
    let said = ODBC
        .with_library("DSN=of_nowhere".as_ref())
        .unwrap()
        .build();
    !matches!(said, Err(Error::Missing(_)))
}

/// The data source, unless its driver or its server is missing; then it says why.
fn found(source: String, origin: impl FnOnce(String) -> Origin) -> Option<Origin> {
    let built = ODBC.with_library(source.as_ref()).unwrap().build();
    match built {
        Ok(_) => Some(origin(source)),
        Err(reason @ Error::Missing(_)) => {
            eprintln!("skipped: {reason}");
            None
        }
        Err(reason) => panic!("{reason}"),
    }
}

/// A private server with its folder.
struct PrivateServer {
    // Stopped before its folder is removed.
    _server: Server,
    folder: tempfile::TempDir,
}

impl PrivateServer {
    /// Starts it, unless this machine has none; then it says why.
    fn start(engine: &dyn Engine) -> Option<Self> {
        if let Err(reason) = engine.build() {
            eprintln!("skipped: {reason}");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let service = engine.service()?;
        let spec = ServerSpec {
            service: &*service,
            database: &OpenSpec {
                directory: folder.path(),
                durability: Durability::Sync,
                knobs: &resolve(engine, ""),
                sessions: 16,
            },
            conditions: &Conditions::default(),
            group_entry: None,
        };
        let server = Server::start(&spec, &mut || true).unwrap();
        Some(Self {
            _server: server,
            folder,
        })
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }
}

impl Origin {
    /// A private PostgreSQL.
    pub fn postgresql() -> Option<Self> {
        let place = PrivateServer::start(&POSTGRESQL)?;
        let folder = place.path().join("data");
        let source = format!(
            "Driver={{PostgreSQL Unicode}};Server={};UID=postgres;Database=postgres",
            folder.display()
        );
        found(source, |source| Self {
            source,
            place: Some(place),
            folder: tempfile::tempdir().unwrap(),
            engine: Some(&POSTGRESQL),
        })
    }

    /// A private MariaDB.
    pub fn mariadb() -> Option<Self> {
        let place = PrivateServer::start(&MARIADB)?;
        let socket = place.path().join("data/server.sock");
        let source = format!(
            "Driver={{MariaDB Unicode}};Socket={};UID=root",
            socket.display()
        );
        found(source, |source| Self {
            source,
            place: Some(place),
            folder: tempfile::tempdir().unwrap(),
            engine: Some(&MARIADB),
        })
    }

    /// A file of SQLite's.
    pub fn sqlite() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("data source.db");
        let source = format!("Driver={{SQLite3}};Database={}", file.display());
        found(source, |source| Self {
            source,
            place: None,
            folder,
            engine: None,
        })
    }

    /// Its connection string.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The engine over it.
    pub fn engine(&self) -> Box<dyn Engine> {
        ODBC.with_library(self.source.as_ref()).unwrap()
    }

    /// The same schema by the server's own driver.
    pub fn native(&self) -> Box<dyn Engine> {
        let (engine, place) = (self.engine.unwrap(), self.place.as_ref().unwrap());
        let data = place.path().join("data");
        let data = data.display();
        let address = match engine.info().name {
            "mariadb" => format!("mysql://root@localhost/trueput?socket={data}/server.sock"),
            _ => format!("postgres://postgres@/postgres?host={data}"),
        };
        engine.with_address(&Address::of(&address)).unwrap()
    }

    /// Whether the server is set for a level that it has.
    pub fn is_set_for(&self, level: Durability) -> bool {
        let is_mariadb = self.source.contains("MariaDB");
        level == Durability::Sync || !is_mariadb
    }

    /// Executes statements as the owner of the server, by its own driver.
    pub fn as_owner(&self, statements: &str) {
        let (engine, place) = (self.engine.unwrap(), self.place.as_ref().unwrap());
        // Another database of the instance, so that our schema stays as it is.
        let other = place.path().join("owner");
        let _ = std::fs::create_dir(&other);
        let database = open(engine, &other, Durability::Sync, "").unwrap();
        let mut session = database.session().unwrap();
        session.sql().unwrap().batch(statements).unwrap();
    }

    /// Another file, after that statement by SQLite itself; its connection string.
    pub fn sqlite_with(&self, statement: &str) -> String {
        let file = self.folder.path().join("another.db");
        let connection = rusqlite::Connection::open(&file).unwrap();
        connection.execute(statement, []).unwrap();
        format!("Driver={{SQLite3}};Database={}", file.display())
    }
}
