//! RocksDB, and its relative Speedb, through their C API: one column family, and transactions of
//! three kinds.

mod batched_lookups;
mod database;
pub(crate) mod events;
mod knobs;
mod perf_context;
mod session;
mod settings;
mod sst_loader;
mod symbols;

use crate::library::{self, LibraryOrigin, LibrarySearch};
use crate::lsm;
use database::RocksDbDatabase;
use knobs::{RocksDbKnobs, Transactions};
use std::time::SystemTime;
use symbols::RocksDbLibrary;
use trueput_engine::common_errors::LengthLimits;
use trueput_engine::{
    Build, CacheKnob, Capabilities, Database, Durability, Engine, EngineEvent, Error, Info,
    InstallableBuild, Isolation, OpenSpec, Parameter, ParameterValues, Promise, Result, Window,
};

const TITLE: &str = "RocksDB";
const INSTALL: &str = "trueput engines install rocksdb";
const SEARCH: LibrarySearch = LibrarySearch::new(&["rocksdb", "speedb"], "librocksdb.so");
const INSTALLABLE: &[InstallableBuild] = &[
    InstallableBuild {
        title: TITLE,
        path: "/librocksdb.so",
        install: INSTALL,
    },
    InstallableBuild {
        title: "Speedb",
        path: "/speedb-",
        install: "trueput engines install speedb",
    },
];
const SOURCE: &str = "https://github.com/facebook/rocksdb/wiki/WAL-Performance; \
                      https://github.com/facebook/rocksdb/wiki/WAL-Recovery-Modes, \
                      kPointInTimeRecovery, the default";

/// RocksDB's own limits: the FAQ in its wiki.
const LIMITS: LengthLimits = LengthLimits::new(8 << 20, 3 << 30);

library::driver! {
    /// The RocksDB driver.
    RocksDb of RocksDbLibrary: LibraryOrigin::found(TITLE, SEARCH, INSTALL)
}

/// Whether recovery ends at an older log that lost its end. A `TransactionDB` notices it, too, but
/// then loses the next commit (docs/findings).
fn notices_lost_logs(knobs: &RocksDbKnobs) -> bool {
    knobs.track_and_verify_wals && knobs.transactions == Transactions::Batch
}

impl Engine for RocksDb {
    fn info(&self) -> Info {
        Info {
            name: "rocksdb",
            title: TITLE,
            summary: "log-structured merge tree; one process, many writers",
            license: "GPL-2.0-only OR Apache-2.0",
            homepage: "https://github.com/facebook/rocksdb/wiki",
            install: INSTALL,
        }
    }

    fn installable_builds(&self) -> &'static [InstallableBuild] {
        INSTALLABLE
    }

    fn build(&self) -> Result<Build> {
        let (path, symbols) = self.library()?;
        Ok(library::build_of(path, symbols.version()?))
    }

    library::library_selection!();

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            several_processes: false,
            // With its default knobs; `transactions=batch` lets one at a time read and write.
            concurrent_writers: true,
            batch_get: true,
            bulk_load: true,
            ..Capabilities::transactional(LIMITS.key_bytes, LIMITS.value_bytes)
        }
    }

    fn promise_with(&self, durability: Durability, knobs: &ParameterValues) -> Result<Promise> {
        let knobs = RocksDbKnobs::from(knobs);
        // Knobs that contradict each other are refused before anything runs.
        knobs::options(&knobs)?;
        let (mapped_to, window) = match durability {
            Durability::Sync => ("sync=true", None),
            // Without sync a log can reach storage before the one that it follows: lost power
            // leaves no prefix, unless each log notes the end of the one before (docs/AUDIT.md).
            Durability::Async if notices_lost_logs(&knobs) => (
                "sync=false, track_and_verify_wals=true",
                Some(Window::until("the kernel has written the log back")),
            ),
            Durability::Async => {
                return Err(Error::Unsupported(format!(
                    "rocksdb does not support durability '{durability}': it needs \
                     transactions=batch and track_and_verify_wals=on; without them an older log \
                     can lose its end while a newer one is there (docs/AUDIT.md)"
                )));
            }
            Durability::Process => ("sync=false", None),
            Durability::Buffered => (
                "disableWAL=true",
                Some(Window {
                    bytes: Some(knobs::write_buffers_bytes(&knobs)),
                    ..Window::until(
                        "a full write buffer is written out as a table: at most \
                         write_buffer_size times max_write_buffer_number is in memory only",
                    )
                }),
            ),
            Durability::None => {
                return Err(Error::no_durability("rocksdb", durability));
            }
        };
        Ok(Promise::new(durability, mapped_to, window, SOURCE))
    }

    fn isolation(&self, knobs: &ParameterValues) -> Option<Isolation> {
        Some(match RocksDbKnobs::from(knobs).transactions {
            // One that reads has the database for itself until it ends.
            Transactions::Batch => Isolation::Serializable,
            // Gets are locked or validated; records read by a scan are not, and may change.
            Transactions::Pessimistic | Transactions::Optimistic => Isolation::ReadCommitted,
        })
    }

    fn isolation_knobs(&self) -> &'static [&'static str] {
        &["transactions"]
    }

    fn knobs(&self) -> &'static [Parameter] {
        RocksDbKnobs::PARAMETERS
    }

    fn cache_knob(&self, knobs: &ParameterValues) -> std::result::Result<CacheKnob, &'static str> {
        let size_bytes = RocksDbKnobs::from(knobs).block_cache;
        Ok(CacheKnob::bytes("block_cache", size_bytes))
    }

    fn workaround(&self, knobs: &ParameterValues) -> Option<String> {
        let has_none = RocksDbKnobs::from(knobs).transactions == Transactions::Batch;
        has_none.then(|| lsm::READERS_LOCK.to_owned())
    }

    fn check_transactions(&self, knobs: &ParameterValues) -> Result<()> {
        match RocksDbKnobs::from(knobs).transactions {
            Transactions::Batch => Err(Error::Unsupported(
                "rocksdb with transactions=batch has write batches and no transactions; give \
                 pessimistic or optimistic"
                    .to_owned(),
            )),
            Transactions::Pessimistic | Transactions::Optimistic => Ok(()),
        }
    }

    fn events(&self, spec: &OpenSpec<'_>, since: SystemTime) -> Option<Vec<EngineEvent>> {
        events::read_since(spec.directory, since)
    }

    fn check_files(&self, spec: &OpenSpec<'_>) -> Result<()> {
        let (path, symbols) = self.library()?;
        RocksDbDatabase::open_as(&path, symbols, spec, Transactions::Batch)?.verify_checksums()
    }

    fn audit_knobs(&self) -> &'static [(&'static str, &'static str)] {
        &[("block_cache", "256KiB"), ("write_buffer_size", "64KiB")]
    }

    fn open(&self, spec: &OpenSpec<'_>) -> Result<Box<dyn Database>> {
        self.promise_with(spec.durability, spec.knobs)?;
        let (path, symbols) = self.library()?;
        Ok(Box::new(RocksDbDatabase::open(&path, symbols, spec)?))
    }
}
