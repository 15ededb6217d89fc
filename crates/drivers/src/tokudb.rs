//! TokuDB: the fractal tree library PerconaFT, whose API is that of Berkeley DB.
//!
//! Sessions and the calls they make are those of the Berkeley DB driver, through a shim of its own:
//! see [`crate::berkeleydb::shim`].

mod environment;
mod folder;
mod knobs;
mod shim;

use crate::berkeleydb::session::BerkeleySession;
use crate::library::{self, LibraryOrigin, LibrarySearch};
use environment::TokuEnvironment;
use knobs::TokuKnobs;
use shim::TokuLibrary;
use std::collections::BTreeMap;
use trueput_engine::{
    Build, CacheKnob, Capabilities, Database, Durability, Engine, Error, Info, Isolation, OpenSpec,
    Parameter, ParameterValues, Promise, Result, Session, Value, Window,
};

const TITLE: &str = "TokuDB";
const INSTALL: &str = "trueput engines install tokudb";
const SEARCH: LibrarySearch = LibrarySearch::new(&["tokudb"], "libtokufractaltree.so");
const SOURCE: &str = "src/ydb_txn.cc and ft/logger/logger.cc of PerconaFT, in MariaDB 10.5.23";

/// The log's two buffers in the process, of 16 MiB each (`LOGGER_MIN_BUF_SIZE`).
const LOG_BUFFERS_BYTES: u64 = 32 << 20;

/// The longest key, bytes (`toku_ft_get_maximum_advised_key_value_lengths`).
const MAX_KEY_BYTES: u32 = 32 << 10;
/// The longest value, bytes (as above).
const MAX_VALUE_BYTES: u32 = 32 << 20;

library::driver! {
    /// The TokuDB driver.
    TokuDb of TokuLibrary: LibraryOrigin::found(TITLE, SEARCH, INSTALL)
}

impl Engine for TokuDb {
    fn info(&self) -> Info {
        Info {
            name: "tokudb",
            title: TITLE,
            summary: "fractal tree: a B-tree whose nodes buffer changes, with row locks; one \
                      process",
            license: "GPL-2.0-only OR AGPL-3.0-only",
            homepage: "https://github.com/percona/PerconaFT",
            install: INSTALL,
        }
    }

    fn build(&self) -> Result<Build> {
        let (path, engine) = self.library()?;
        Ok(library::build_of(path, engine.api.version()))
    }

    library::library_selection!();

    fn missing_reason(&self) -> Option<Error> {
        let library = self.origin.path().err();
        library.or_else(|| shim::TOKUDB.missing())
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            several_processes: false,
            concurrent_writers: true,
            ..Capabilities::transactional(MAX_KEY_BYTES as usize, MAX_VALUE_BYTES as usize)
        }
    }

    fn promise_with(&self, durability: Durability, knobs: &ParameterValues) -> Result<Promise> {
        let (mapped_to, window) = match durability {
            Durability::Sync => ("DB_TXN_NOSYNC=false", None),
            Durability::Buffered => ("DB_TXN_NOSYNC=true", Some(unwritten(&knobs.into()))),
            Durability::Async | Durability::Process | Durability::None => {
                return Err(Error::no_durability("tokudb", durability));
            }
        };
        Ok(Promise::new(durability, mapped_to, window, SOURCE))
    }

    fn isolation(&self, _knobs: &ParameterValues) -> Option<Isolation> {
        // Write transactions lock keys and ranges that they read; readers keep a snapshot.
        Some(Isolation::Serializable)
    }

    fn knobs(&self) -> &'static [Parameter] {
        TokuKnobs::PARAMETERS
    }

    fn cache_knob(&self, knobs: &ParameterValues) -> std::result::Result<CacheKnob, &'static str> {
        let size_bytes = TokuKnobs::from(knobs).cache_size;
        Ok(CacheKnob::bytes("cache_size", size_bytes))
    }

    fn audit_knobs(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("basement_node_size", "4KiB"),
            ("cache_size", "16MiB"),
            ("checkpoint_period", "1"),
            ("fanout", "4"),
            ("node_size", "64KiB"),
        ]
    }

    fn open(&self, spec: &OpenSpec<'_>) -> Result<Box<dyn Database>> {
        self.promise_with(spec.durability, spec.knobs)?;
        let (_, engine) = self.library()?;
        Ok(Box::new(TokuEnvironment::open(engine, spec)?))
    }
}

/// The window of `buffered`.
fn unwritten(knobs: &TokuKnobs) -> Window {
    let flush_ms = knobs.fsync_log_period;
    let by_time = match flush_ms {
        0 => "",
        _ => ", or after fsync_log_period",
    };
    let by_checkpoint = match knobs.checkpoint_period {
        0 => "when the database is closed",
        _ => "at a checkpoint, due after checkpoint_period",
    };
    Window {
        time_s: (flush_ms > 0).then(|| f64::from(flush_ms) / 1000.0),
        bytes: Some(LOG_BUFFERS_BYTES),
        ..Window::until(format!(
            "the log's buffer in the process fills and is written, and for lost power until the \
             log is flushed: {by_checkpoint}{by_time}"
        ))
    }
}

impl Database for TokuEnvironment {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(BerkeleySession::new(&self.store)))
    }

    fn counters(&self) -> Result<BTreeMap<String, Value>> {
        self.store.handles.counters()
    }

    fn settings(&self) -> Result<BTreeMap<String, Value>> {
        let settings = TokuEnvironment::settings(self)?.into_iter();
        Ok(settings
            .map(|(name, number)| {
                let value = match name.as_str() {
                    "compression_method" => knobs::compression_name(number),
                    "DB_TXN_NOSYNC" => Value::from(number != 0),
                    _ => Value::from(number),
                };
                (name, value)
            })
            .collect())
    }

    fn checkpoint(&self) -> Result<()> {
        self.store.handles.checkpoint()
    }
}
