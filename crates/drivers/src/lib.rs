//! Drivers: each speaks one engine's own public API. A new engine is one file and one row here, or
//! a plug-in outside of this program.

mod berkeleydb;
mod etcd;
mod fjall;
mod folder_path;
mod gtm;
mod key_positions;
mod leveldb;
mod library;
mod lmdb;
mod log_directory;
mod lsm;
mod mapped_session;
mod mariadb;
mod mdbx;
mod named_values;
mod ordered_cursor;
mod percent;
mod plugin;
mod postgresql;
mod process_locks;
mod receive_buffer;
mod redb;
mod retry;
mod rocksdb;
mod row_columns;
mod sqlite;
mod tcp_connection;
mod tokudb;
#[cfg(test)]
mod unresponsive_peer;
mod wiredtiger;

pub use self::fjall::Fjall;
pub use self::redb::Redb;
pub use berkeleydb::BerkeleyDb;
pub use etcd::Etcd;
pub use gtm::Gtm;
pub use leveldb::LevelDb;
pub use library::{
    InstallationFolder, engine_folders, ignored_folders, installation_folder,
    is_in_trusted_location, remember_folder, untrusted_reason,
};
pub use lmdb::Lmdb;
pub use mariadb::{Galera, MariaDb};
pub use mdbx::Mdbx;
pub use plugin::{Plugins, check_name as check_plugin_name};
pub use postgresql::{Postgresql, PostgresqlCluster};
pub use rocksdb::RocksDb;
pub use sqlite::Sqlite;
pub use tokudb::TokuDb;
pub use wiredtiger::WiredTiger;

use trueput_engine::{Engine, Null};

static LMDB: Lmdb = Lmdb::new();
static SQLITE: Sqlite = Sqlite::new();
static MDBX: Mdbx = Mdbx::new();
static MARIADB: MariaDb = MariaDb::new();
static ROCKSDB: RocksDb = RocksDb::new();
static LEVELDB: LevelDb = LevelDb::new();
static GTM: Gtm = Gtm::new();
static BERKELEYDB: BerkeleyDb = BerkeleyDb::new();
static WIREDTIGER: WiredTiger = WiredTiger::new();
static TOKUDB: TokuDb = TokuDb::new();
static POSTGRESQL: Postgresql = Postgresql::new();
static POSTGRESQL_CLUSTER: PostgresqlCluster = PostgresqlCluster::new();
static ETCD: Etcd = Etcd::new();
static GALERA: Galera = Galera::new();
static ENGINES: &[&dyn Engine] = &[
    &Null,
    &LMDB,
    &SQLITE,
    &Redb,
    &Fjall,
    &ROCKSDB,
    &LEVELDB,
    &BERKELEYDB,
    &WIREDTIGER,
    &TOKUDB,
    &MDBX,
    &MARIADB,
    &GTM,
    &POSTGRESQL,
    &POSTGRESQL_CLUSTER,
    &ETCD,
    &GALERA,
];

/// Every engine that this program can drive, the null engine first.
#[must_use]
pub fn registry() -> &'static [&'static dyn Engine] {
    ENGINES
}
