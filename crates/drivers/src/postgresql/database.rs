//! A database: a schema of a private server, or of a user's.

use super::address::ServerAddress;
use super::cluster_knobs::CommitWait;
use super::external_schema::quoted;
use super::instance;
use super::isolation::PostgresqlIsolation;
use super::knobs::{self, PostgresqlKnobs, WalSettings};
use super::promise_check::{self, NeededOfServer, SERVER};
use super::session::PostgresqlSession;
use super::wire::PostgresqlConnection;
use super::{SCHEMA, external_schema, install};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use trueput_engine::cluster::ClusterState;
use trueput_engine::{
    CacheCount, CacheScope, CacheUse, Database, Durability, Error, OpenSpec, Result, Session,
    SettingContradiction, Value,
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
    /// What the level needs; nothing is asked of a user's server later than when it is opened.
    needed: LevelRequirements,
    /// What sessions were found to run with.
    found: Mutex<Vec<SettingContradiction>>,
    /// The connection for work outside sessions. On a user's server it also holds the lock on the
    /// schema.
    own: Mutex<(ServerAddress, PostgresqlConnection)>,
}

/// What a level needs of the server and of each session.
struct LevelRequirements {
    of_server: Option<NeededOfServer>,
    synchronous_commit: &'static str,
    durability: Durability,
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

impl Access {
    /// Returns the server in words.
    fn server_name(&self) -> String {
        let leader = match self {
            Self::Server(_) => None,
            Self::Leader(cluster) => ClusterState::read(cluster).ok().and_then(|it| it.leader),
        };
        leader.map_or_else(|| SERVER.to_owned(), |number| format!("node {number}"))
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
        let needed = LevelRequirements {
            of_server: Some(NeededOfServer::private(spec)?),
            synchronous_commit: durability_settings.commit_word(),
            durability: spec.durability,
        };
        Self::open(access, &schema, needed, spec, |connection| {
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
        let needed = LevelRequirements {
            of_server: Some(NeededOfServer::node(spec)?),
            synchronous_commit: wait.synchronous_commit,
            durability: spec.durability,
        };
        Self::open(access, &schema, needed, spec, |connection| {
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
        let commit = durability_settings.commit_word();
        let of_server = NeededOfServer::of(durability_settings, spec.durability);
        let needed = LevelRequirements {
            // At 'process' the server may lack either of both.
            of_server: durability_settings.fsync.then_some(of_server),
            synchronous_commit: commit,
            durability: spec.durability,
        };
        let access = Access::Server(address.clone());
        let opened = Self::open(access, SCHEMA, needed, spec, |connection| {
            let version = connection.parameter("server_version").unwrap_or_default();
            install::check_version(version, &address.to_string())?;
            external_schema::check_durability(connection, address, spec.durability)?;
            let of_session = promise_check::check_session(connection, spec.durability, commit)?;
            if let Some(contradiction) = of_session.first() {
                return Err(Error::Unsupported(format!("{address}: {contradiction}")));
            }
            external_schema::take(connection, address, spec.directory)
        })?;
        Ok(Self {
            is_external: true,
            ..opened
        })
    }

    fn open(
        access: Access,
        schema: &str,
        needed: LevelRequirements,
        spec: &OpenSpec<'_>,
        make: impl FnOnce(&mut PostgresqlConnection) -> Result<()>,
    ) -> Result<Self> {
        let isolation = PostgresqlKnobs::from(spec.knobs).isolation;
        let settings = vec![
            ("search_path", quoted(schema)),
            // The isolation of a statement that is a transaction of its own.
            ("default_transaction_isolation", isolation.name().to_owned()),
            ("synchronous_commit", needed.synchronous_commit.to_owned()),
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
            needed,
            found: Mutex::default(),
            own: Mutex::new((address, own)),
        })
    }

    /// Remembers what a session runs with that contradicts the promise.
    fn check_session(&self, connection: &mut PostgresqlConnection) -> Result<()> {
        let LevelRequirements {
            synchronous_commit,
            durability,
            ..
        } = self.needed;
        let of_session = promise_check::check_session(connection, durability, synchronous_commit)?;
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        for contradiction in of_session {
            if !found.contains(&contradiction) {
                found.push(contradiction);
            }
        }
        Ok(())
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
        let mut connection = connect(&self.access.address()?, &self.settings)?;
        self.check_session(&mut connection)?;
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
            self.with_own(|connection| {
                if connection.can_flush_counters() {
                    cache_use(connection)
                } else {
                    Ok(None)
                }
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

    /// Those of the server that leads now, and those of sessions since the opening.
    fn contradictions(&self) -> Result<Vec<SettingContradiction>> {
        let server = self.access.server_name();
        let of_server = match &self.needed.of_server {
            Some(needed) => self.with_own(|connection| needed.check(&server, connection))?,
            None => Vec::new(),
        };
        self.with_own(|connection| self.check_session(connection))?;
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(of_server.into_iter().chain(found.iter().cloned()).collect())
    }

    /// A user's server checkpoints as its owner has set it: that is the owner's setting, and takes
    /// a right over all.
    fn checkpoint(&self) -> Result<()> {
        if self.is_external {
            return Ok(());
        }
        self.with_own(|connection| connection.simple("CHECKPOINT", &mut |_, _| ()).map(drop))
    }

    /// `VACUUM` alone keeps the space for new rows: only `FULL` gives it back, by writing tables
    /// and indexes anew. Their old files go at the checkpoint. Not on a user's server, whose other
    /// tables it would lock.
    fn compact(&mut self) -> Result<Option<&'static str>> {
        if self.is_external {
            return Ok(None);
        }
        // On one connection: after another one its time would contain the recovery of a server that
        // has crashed meanwhile.
        let own = self.own.get_mut();
        let (_, connection) = own.unwrap_or_else(PoisonError::into_inner);
        for statement in [COMPACTION, "CHECKPOINT"] {
            connection.simple(statement, &mut |_, _| ())?;
        }
        Ok(Some(COMPACTION))
    }
}

/// The statement that gives space back.
const COMPACTION: &str = "VACUUM (FULL)";

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
