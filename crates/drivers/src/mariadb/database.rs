//! An open database: our schema, and the server's settings and counters.

use super::connection::{UNKNOWN_VARIABLE, client_error};
use super::galera_knobs::GaleraKnobs;
use super::knobs::{IsolationLevel, MariaDbKnobs, StorageEngine};
use super::promise_check::{self, SERVER, ServerKind};
use super::server_access::ServerAccess;
use super::session::MariaDbSession;
use super::wire::MariaDbConnection;
use super::{schema, server, statement};
use mysql::Conn;
use mysql::prelude::Queryable;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use trueput_engine::{
    CacheCount, CacheScope, CacheUse, Database, Durability, Error, OpenSpec, ParameterValues,
    Result, Session, SettingContradiction, Value,
};

/// Variables that are read back in addition to those that knobs name.
const VARIABLES: [&str; 13] = [
    "version",
    "version_comment",
    "log_bin",
    "sync_binlog",
    "innodb_flush_log_at_trx_commit",
    "innodb_log_group_home_dir",
    "innodb_snapshot_isolation",
    "rocksdb_flush_log_at_trx_commit",
    "rocksdb_manual_wal_flush",
    "rocksdb_wal_dir",
    "wsrep_on",
    "wsrep_provider_options",
    "wsrep_slave_threads",
];

/// Counters of the server, by its own names.
const COUNTERS: [&str; 33] = [
    "Handler_commit",
    "Handler_rollback",
    "Innodb_buffer_pool_pages_data",
    "Innodb_buffer_pool_pages_dirty",
    "Innodb_buffer_pool_pages_flushed",
    "Innodb_buffer_pool_read_requests",
    "Innodb_buffer_pool_reads",
    "Innodb_buffer_pool_wait_free",
    "Innodb_checkpoint_age",
    "Innodb_checkpoint_max_age",
    "Innodb_data_fsyncs",
    "Innodb_data_read",
    "Innodb_data_written",
    "Innodb_deadlocks",
    "Innodb_log_waits",
    "Innodb_lsn_current",
    "Innodb_lsn_last_checkpoint",
    "Innodb_os_log_written",
    "Innodb_row_lock_time",
    "Innodb_row_lock_waits",
    "Rocksdb_block_cache_hit",
    "Rocksdb_block_cache_miss",
    "Rocksdb_bytes_written",
    "Rocksdb_compact_write_bytes",
    "Rocksdb_flush_write_bytes",
    "Rocksdb_wal_synced",
    "wsrep_cluster_size",
    "wsrep_flow_control_paused_ns",
    "wsrep_local_bf_aborts",
    "wsrep_local_cert_failures",
    "wsrep_received_bytes",
    "wsrep_replicated",
    "wsrep_replicated_bytes",
];

/// An open database: how to connect, and a connection that holds the schema, asks and
/// checkpoints.
pub(super) struct MariaDbDatabase {
    server_access: ServerAccess,
    storage: StorageEngine,
    /// The session's settings, in one statement.
    setup: String,
    is_isolated: bool,
    durability: Durability,
    /// All knobs, for what the level needs with them.
    knobs: ParameterValues,
    /// What sessions were found to run with that contradicts the promise.
    found: Mutex<Vec<SettingContradiction>>,
    control: Mutex<Conn>,
}

impl MariaDbDatabase {
    /// Connects to the server, checks it, and makes the schema ready.
    pub(super) fn open(server_access: ServerAccess, spec: &OpenSpec<'_>) -> Result<Self> {
        let knobs = MariaDbKnobs::from(spec.knobs);
        let storage = knobs.storage_engine;
        let mut setup = setup(&knobs);
        if server_access.is_cluster() {
            let bits = GaleraKnobs::from(spec.knobs).sync_wait().to_owned();
            setup += &format!(", SESSION wsrep_sync_wait={bits}");
        }
        let mut control = server_access.connect(None).map_err(client_error)?;
        let version: Option<String> = control
            .query_first("SELECT VERSION()")
            .map_err(client_error)?;
        server::check_version(&version.unwrap_or_default())?;
        check_users_server(&mut control, &server_access, spec)?;
        statement::batch(&mut control, &setup)?;
        schema::take(&mut control, &server_access, spec.directory, storage)?;
        Ok(Self {
            server_access,
            storage,
            setup,
            is_isolated: matches!(
                knobs.isolation,
                IsolationLevel::RepeatableRead | IsolationLevel::Snapshot
            ),
            durability: spec.durability,
            knobs: spec.knobs.clone(),
            found: Mutex::default(),
            control: Mutex::new(control),
        })
    }

    /// Checks the table and its indexes.
    ///
    /// # Errors
    /// [`Error::Engine`] with what the server says instead of `OK`.
    pub(super) fn check_table(&self) -> Result<()> {
        let said: Vec<(String, String, String, String)> = self.with_control(|control| {
            let said = control.query("CHECK TABLE record EXTENDED");
            said.map_err(client_error)
        })?;
        // A warning tells of a deleted record that purge has not removed yet; damage is an error,
        // and the status that ends the answer is then another one.
        let is_good = |row: &(String, String, String, String)| match row.2.as_str() {
            "status" => row.3 == "OK",
            kind => ["warning", "note", "info"]
                .iter()
                .any(|harmless| kind.eq_ignore_ascii_case(harmless)),
        };
        match said.iter().find(|row| !is_good(row)) {
            Some((_, _, kind, text)) => Err(Error::engine(format!("{kind}: {text}"))),
            None if said.last().is_some_and(|row| row.2 == "status") => Ok(()),
            None => Err(Error::engine("CHECK TABLE gave no status")),
        }
    }

    fn kind(&self) -> ServerKind {
        match self.server_access {
            ServerAccess::Private(..) => ServerKind::Private,
            ServerAccess::Cluster(_) => ServerKind::Node,
            ServerAccess::External(_) => ServerKind::External,
        }
    }

    /// Remembers what a session runs with that contradicts the promise.
    fn check_session(&self, connection: &mut Conn) -> Result<()> {
        let of_session = promise_check::check_session(connection, self.kind(), self.durability)?;
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        for contradiction in of_session {
            if !found.contains(&contradiction) {
                found.push(contradiction);
            }
        }
        Ok(())
    }

    /// Works on the connection for work outside sessions; on another one if the node of a cluster
    /// has gone.
    fn with_control<T>(&self, mut work: impl FnMut(&mut Conn) -> Result<T>) -> Result<T> {
        let mut control = self.control.lock().unwrap_or_else(PoisonError::into_inner);
        match work(&mut control) {
            Err(error) if error.is_disconnection() && self.server_access.is_cluster() => {}
            done => return done,
        }
        let schema = Some(self.server_access.schema());
        *control = self.server_access.connect(schema).map_err(client_error)?;
        statement::batch(&mut control, &self.setup)?;
        work(&mut control)
    }

    /// Returns the use of the storage engine's cache so far. InnoDB counts the asks and, of those,
    /// the ones that had to wait for a read.
    fn cache_use(&self) -> Result<Option<CacheUse>> {
        let (first, misses) = match self.storage {
            StorageEngine::Innodb => (
                "Innodb_buffer_pool_read_requests",
                "Innodb_buffer_pool_reads",
            ),
            StorageEngine::Rocksdb => ("Rocksdb_block_cache_hit", "Rocksdb_block_cache_miss"),
        };
        let found = self.pairs("SHOW GLOBAL STATUS", &[first, misses])?;
        let number = |wanted: &str| {
            let mut found = found.iter();
            let (_, value) = found.find(|(name, _)| name.eq_ignore_ascii_case(wanted))?;
            match value {
                Value::Integer(number) => u64::try_from(*number).ok(),
                _ => None,
            }
        };
        let client_error = number(first).zip(number(misses));
        Ok(client_error.map(|(first, misses)| CacheUse {
            hits: match self.storage {
                StorageEngine::Innodb => first.saturating_sub(misses),
                StorageEngine::Rocksdb => first,
            },
            misses,
        }))
    }

    /// Runs `statement`, which returns pairs of name and value, and keeps the wanted names.
    fn pairs(&self, statement: &str, wanted: &[&str]) -> Result<BTreeMap<String, Value>> {
        let pairs: Vec<(String, String)> =
            self.with_control(|control| control.query(statement).map_err(client_error))?;
        let is_wanted = |name: &String| wanted.iter().any(|known| known.eq_ignore_ascii_case(name));
        let kept = pairs.into_iter().filter(|(name, _)| is_wanted(name));
        Ok(kept
            .map(|(name, text)| (name, number_or_text(text)))
            .collect())
    }
}

fn number_or_text(text: String) -> Value {
    text.parse().map_or(Value::Text(text), Value::Integer)
}

/// Sets everything on which a session depends, regardless of the server's defaults.
fn setup(knobs: &MariaDbKnobs) -> String {
    let level = match knobs.isolation {
        IsolationLevel::Snapshot => IsolationLevel::RepeatableRead.word(),
        other => other.word(),
    };
    let mut set = vec![
        format!("default_storage_engine='{}'", knobs.storage_engine.name()),
        format!("tx_isolation='{level}'"),
        "autocommit=1".to_owned(),
        "time_zone='+00:00'".to_owned(),
        "sql_mode='STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'".to_owned(),
    ];
    match knobs.storage_engine {
        StorageEngine::Innodb => {
            let wait = knobs.innodb_lock_wait_timeout;
            set.push(format!("innodb_lock_wait_timeout={wait}"));
        }
        StorageEngine::Rocksdb => {
            let wait = knobs.rocksdb_lock_wait_timeout;
            set.push(format!("rocksdb_lock_wait_timeout={wait}"));
        }
    }
    if knobs.isolation == IsolationLevel::Snapshot {
        set.push("innodb_snapshot_isolation=1".to_owned());
    }
    format!("SET SESSION {}", set.join(", SESSION "))
}

/// Refuses a user's server that is not set as the promise needs it. Of a server that was started
/// for the trial it is told afterwards ([`Database::contradictions`]).
fn check_users_server(
    connection: &mut Conn,
    access: &ServerAccess,
    spec: &OpenSpec<'_>,
) -> Result<()> {
    if !access.is_external() {
        return Ok(());
    }
    let kind = ServerKind::External;
    let found = promise_check::check_server(connection, kind, SERVER, spec)?;
    match found.first() {
        None => Ok(()),
        Some(first) => Err(Error::Unsupported(first.to_string())),
    }
}

impl Database for MariaDbDatabase {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        let mut connection = self.server_access.connect_session().map_err(client_error)?;
        statement::batch(&mut connection, &self.setup)?;
        self.check_session(&mut connection)?;
        let connection = MariaDbConnection::new(connection);
        Ok(Box::new(MariaDbSession::new(connection, self.is_isolated)))
    }

    fn counters(&self) -> Result<BTreeMap<String, Value>> {
        self.pairs("SHOW GLOBAL STATUS", &COUNTERS)
    }

    /// Reads the server's counters, which on a user's server include the accesses of other clients.
    fn count_cache(&self) -> Result<Option<CacheCount<'_>>> {
        CacheCount::of_counters(CacheScope::Database, || self.cache_use())
    }

    fn settings(&self) -> Result<BTreeMap<String, Value>> {
        let mut wanted: Vec<&str> = VARIABLES.to_vec();
        wanted.extend(MariaDbKnobs::PARAMETERS.iter().map(|knob| knob.name));
        let mut settings = self.pairs("SHOW GLOBAL VARIABLES", &wanted)?;
        let of_session = ["tx_isolation", "wsrep_sync_wait"];
        settings.extend(self.pairs("SHOW SESSION VARIABLES", &of_session)?);
        let of_status = ["wsrep_provider_version"];
        settings.extend(self.pairs("SHOW GLOBAL STATUS", &of_status)?);
        let table: Option<(String, String)> = self.with_control(|control| {
            let table = control.query_first("SHOW CREATE TABLE record");
            table.map_err(client_error)
        })?;
        if let Some((_, text)) = table {
            settings.insert("schema".to_owned(), Value::from(text.replace('\n', " ")));
        }
        Ok(settings)
    }

    /// Those of the server that sessions use now, and those of sessions since the opening.
    fn contradictions(&self) -> Result<Vec<SettingContradiction>> {
        let (kind, server) = (self.kind(), self.server_access.name());
        let spec = OpenSpec {
            directory: Path::new(""),
            durability: self.durability,
            knobs: &self.knobs,
            sessions: 0,
        };
        let mut all = self.with_control(|control| {
            self.check_session(control)?;
            promise_check::check_server(control, kind, &server, &spec)
        })?;
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        all.extend(found.iter().cloned());
        Ok(all)
    }

    /// A user's server checkpoints as its owner has set it: that is the owner's setting, and needs
    /// rights over all.
    fn checkpoint(&self) -> Result<()> {
        if self.server_access.is_external() {
            return Ok(());
        }
        let statement = match self.storage {
            StorageEngine::Innodb => "SET GLOBAL innodb_log_checkpoint_now=1",
            StorageEngine::Rocksdb => "SET GLOBAL rocksdb_force_flush_memtable_now=1",
        };
        match self.with_control(|control| statement::batch(control, statement)) {
            // Older servers flush the log, on which the promise rests.
            Err(Error::Engine { code, .. }) if code == UNKNOWN_VARIABLE => {
                self.with_control(|control| statement::batch(control, "FLUSH ENGINE LOGS"))
            }
            outcome => outcome,
        }
    }

    /// InnoDB makes each table anew, `MyRocks` merges its levels. The server reports a failure in a
    /// row and not as an error.
    fn compact(&mut self) -> Result<Option<&'static str>> {
        if self.server_access.is_external() {
            return Ok(None);
        }
        self.with_control(|control| {
            let tables: Vec<String> = control.query(TABLES).map_err(client_error)?;
            if tables.is_empty() {
                return Ok(());
            }
            let statement = format!("OPTIMIZE TABLE {}", tables.join(", "));
            let rows: Vec<(String, String, String, String)> =
                control.query(statement).map_err(client_error)?;
            let failed = rows
                .into_iter()
                .find(|row| row.2.eq_ignore_ascii_case("error"));
            failed.map_or(Ok(()), |(table, _, _, text)| {
                Err(Error::engine(format!("OPTIMIZE TABLE {table}: {text}")))
            })
        })?;
        self.checkpoint()?;
        Ok(Some("OPTIMIZE TABLE"))
    }
}

/// The tables of the connection's database, as SQL names them.
const TABLES: &str = "SELECT CONCAT('`', table_name, '`') FROM information_schema.tables \
    WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE'";
