//! A database: a schema of a private server, or of a user's.

use super::address::ServerAddress;
use super::cluster_knobs::CommitWait;
use super::external_schema::quoted;
use super::instance;
use super::isolation::PostgresqlIsolation;
use super::knobs::{self, PostgresqlKnobs, WalSettings};
use super::session::PostgresqlSession;
use super::wire::PostgresqlConnection;
use super::{SCHEMA, external_schema, install};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use trueput_engine::cluster::ClusterState;
use trueput_engine::{
    CacheCount, CacheScope, CacheUse, Database, Error, OpenSpec, Result, Session, Value,
};

/// The tables in which the server counts, one row each, newer versions' among them.
const COUNTERS: &[(&str, &str)] = &[
    (
        "pg_stat_database",
        "SELECT * FROM pg_stat_database WHERE datname = current_database()",
    ),
    ("pg_stat_bgwriter", "SELECT * FROM pg_stat_bgwriter"),
    ("pg_stat_checkpointer", "SELECT * FROM pg_stat_checkpointer"),
    ("pg_stat_wal", "SELECT * FROM pg_stat_wal"),
];

/// Counts of blocks found in the shared buffers, and of blocks read.
const CACHE: &str = "SELECT blks_hit AS hits, blks_read AS misses \
                     FROM pg_stat_database WHERE datname = current_database()";

/// An open database.
pub(super) struct PostgresqlDatabase {
    access: Access,
    /// The settings of each session.
    settings: Vec<(&'static str, String)>,
    isolation: PostgresqlIsolation,
    is_external: bool,
    /// The connection for work outside sessions. On a user's server it also holds the lock on the
    /// schema.
    own: Mutex<(ServerAddress, PostgresqlConnection)>,
}

/// The way to the server of a database.
enum Access {
    /// One server.
    Server(ServerAddress),
    /// The leader of the cluster in a folder.
    Leader(PathBuf),
}

impl Access {
    /// Returns the address of the server.
    ///
    /// # Errors
    /// [`trueput_engine::Error::Disconnected`] while no node of a cluster leads.
    fn address(&self) -> Result<ServerAddress> {
        match self {
            Self::Server(address) => Ok(address.clone()),
            Self::Leader(cluster) => {
                let leader = ClusterState::read(cluster)?.leader_folder(cluster)?;
                Ok(ServerAddress::private(&leader))
            }
        }
    }
}

impl PostgresqlDatabase {
    /// Opens a database of the private server that runs in its folder.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a level that it does not have; errors of the server.
    pub fn private(spec: &OpenSpec<'_>) -> Result<Self> {
        let durability_settings = WalSettings::of(&spec.knobs.into(), spec.durability)?;
        let (folder, schema) = instance::of(spec.directory)?;
        let access = Access::Server(ServerAddress::private(folder));
        let commit = durability_settings.commit_word();
        Self::open(access, &schema, commit, spec, |connection| {
            make_schema(connection, &schema)
        })
    }

    /// Opens a database of the cluster that runs in its folder, or in the folder above it.
    ///
    /// # Errors
    /// As [`PostgresqlDatabase::private`]; [`trueput_engine::Error::Disconnected`] while no node
    /// leads.
    pub fn of_cluster(spec: &OpenSpec<'_>) -> Result<Self> {
        let wait = CommitWait::of(spec.knobs, spec.durability)?;
        let (cluster, name) = ClusterState::find(spec.directory).ok_or_else(|| {
            let folder = spec.directory.display();
            Error::engine(format!("no PostgreSQL cluster runs in {folder}"))
        })?;
        let schema = name.unwrap_or_else(|| SCHEMA.to_owned());
        let access = Access::Leader(cluster.to_owned());
        let commit = wait.synchronous_commit;
        Self::open(access, &schema, commit, spec, |connection| {
            make_schema(connection, &schema)
        })
    }

    /// Opens our schema on a user's server.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a level that the server does not have with its settings, and for
    /// a schema with our name that is not ours; errors of the server.
    pub fn external(address: &ServerAddress, spec: &OpenSpec<'_>) -> Result<Self> {
        let durability_settings = external_schema::durability_settings(spec.durability)?;
        let opened = Self::open(
            Access::Server(address.clone()),
            SCHEMA,
            durability_settings.commit_word(),
            spec,
            |connection| {
                let version = connection.parameter("server_version").unwrap_or_default();
                install::check_version(version, &address.to_string())?;
                external_schema::check_durability(connection, address, spec.durability)?;
                external_schema::take(connection, address, spec.directory)
            },
        )?;
        Ok(Self {
            is_external: true,
            ..opened
        })
    }

    fn open(
        access: Access,
        schema: &str,
        synchronous_commit: &str,
        spec: &OpenSpec<'_>,
        make: impl FnOnce(&mut PostgresqlConnection) -> Result<()>,
    ) -> Result<Self> {
        let isolation = PostgresqlKnobs::from(spec.knobs).isolation;
        let settings = vec![
            ("search_path", quoted(schema)),
            // The isolation of a statement that is a transaction of its own.
            ("default_transaction_isolation", isolation.name().to_owned()),
            ("synchronous_commit", synchronous_commit.to_owned()),
            ("TimeZone", "UTC".to_owned()),
        ];
        let address = access.address()?;
        let mut own = connect(&address, &settings)?;
        make(&mut own)?;
        let table = "CREATE TABLE IF NOT EXISTS record (k bytea PRIMARY KEY, v bytea NOT NULL)";
        // If the table exists, the server sends only a notice.
        own.simple(table, &mut |_, _| ())?;
        Ok(Self {
            access,
            settings,
            isolation,
            is_external: false,
            own: Mutex::new((address, own)),
        })
    }

    /// Works on the connection for work outside sessions; on another one if the server has gone.
    pub(super) fn with_own<T>(
        &self,
        mut work: impl FnMut(&mut PostgresqlConnection) -> Result<T>,
    ) -> Result<T> {
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        let address = self.access.address()?;
        if own.0 == address {
            match work(&mut own.1) {
                Err(error) if error.is_disconnection() && !self.is_external => {}
                done => return done,
            }
        }
        *own = (address.clone(), connect(&address, &self.settings)?);
        work(&mut own.1)
    }
}

fn make_schema(connection: &mut PostgresqlConnection, name: &str) -> Result<()> {
    let statement = format!("CREATE SCHEMA IF NOT EXISTS {}", quoted(name));
    connection.simple(&statement, &mut |_, _| ()).map(drop)
}

fn connect(
    address: &ServerAddress,
    settings: &[(&'static str, String)],
) -> Result<PostgresqlConnection> {
    let settings: Vec<(&str, &str)> = settings
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    PostgresqlConnection::open(address, &settings)
}

impl Database for PostgresqlDatabase {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        let connection = connect(&self.access.address()?, &self.settings)?;
        Ok(Box::new(PostgresqlSession::new(
            connection,
            self.isolation,
        )?))
    }

    fn counters(&self) -> Result<BTreeMap<String, Value>> {
        self.with_own(|connection| {
            let mut counters = BTreeMap::new();
            for (table, statement) in COUNTERS {
                if !is_there(connection, table)? {
                    continue;
                }
                connection.simple(statement, &mut |name, text| {
                    if let Value::Integer(_) | Value::Float(_) = Value::parse(text)
                        && !name.starts_with("dat")
                    {
                        counters.insert(format!("{table}.{name}"), Value::parse(text));
                    }
                })?;
            }
            Ok(counters)
        })
    }

    /// By the counters of the database, which a session hands over when it is asked to, and within
    /// a second otherwise. What others do in a user's database is in them. Before version 15 they
    /// came late by themselves, so they are not asked there.
    fn count_cache(&self) -> Result<Option<CacheCount<'_>>> {
        CacheCount::of_counters(CacheScope::Database, || {
            self.with_own(|connection| match connection.can_flush_counters() {
                true => cache_use(connection),
                false => Ok(None),
            })
        })
    }

    fn settings(&self) -> Result<BTreeMap<String, Value>> {
        let knobs = PostgresqlKnobs::PARAMETERS.iter().map(|knob| knob.name);
        let names = knobs.chain(knobs::REPORTED.iter().copied());
        let names = names.chain(["synchronous_commit", "max_connections", "log_checkpoints"]);
        let names: Vec<String> = names
            .filter(|name| *name != "log_directory")
            .map(|name| format!("'{name}'"))
            .collect();
        let statement = format!(
            "SELECT name, current_setting(name) AS value FROM pg_settings WHERE name IN ({})",
            names.join(", ")
        );
        self.with_own(|connection| {
            let (mut settings, mut named) = (BTreeMap::new(), String::new());
            connection.simple(&statement, &mut |column, text| match column {
                "name" => named = text.to_owned(),
                _ => {
                    settings.insert(named.clone(), Value::from(text));
                }
            })?;
            Ok(settings)
        })
    }

    /// A user's server checkpoints as its owner has set it: that is his, and takes a right over
    /// all.
    fn checkpoint(&self) -> Result<()> {
        if self.is_external {
            return Ok(());
        }
        self.with_own(|connection| connection.simple("CHECKPOINT", &mut |_, _| ()).map(drop))
    }
}

/// Returns the use of the server's shared buffers so far for this database.
fn cache_use(connection: &mut PostgresqlConnection) -> Result<Option<CacheUse>> {
    let (mut hits, mut misses) = (None, None);
    connection.simple(CACHE, &mut |name, text| match name {
        "hits" => hits = text.parse().ok(),
        _ => misses = text.parse().ok(),
    })?;
    let counted = hits.zip(misses);
    Ok(counted.map(|(hits, misses)| CacheUse { hits, misses }))
}

/// Whether the server has a table or view of that name among its own.
fn is_there(connection: &mut PostgresqlConnection, table: &str) -> Result<bool> {
    let statement = format!("SELECT to_regclass('pg_catalog.{table}') IS NOT NULL AS there");
    let mut there = false;
    connection.simple(&statement, &mut |_, text| there = text == "t")?;
    Ok(there)
}
