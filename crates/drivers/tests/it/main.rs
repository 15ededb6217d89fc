//! Every engine's driver, as one program: a test's name begins with its file. GT.M's is apart.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod audit;
mod berkeleydb;
mod claims;
mod compaction;
mod conformance;
mod crash;
mod etcd;
mod fjall;
mod leveldb;
mod lmdb;
mod lying_servers;
mod mariadb;
mod mdbx;
mod other_builds;
mod plugin;
mod postgresql;
mod promises;
mod redb;
mod rocksdb;
mod sqlite;
mod sqlite_sql;
mod support;
mod tokudb;
mod toy_engine;
mod wiredtiger;
