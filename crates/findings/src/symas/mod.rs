//! The tables of Symas's microbenchmark of 2014, load and run, with ours in their layout and the
//! published row beside each of ours.
//!
//! A figure of 2014 comes from another machine; what can be compared are the ratios inside one set
//! of columns. So each figure is also shown over LMDB's: ours over our LMDB's, theirs over theirs.
//!
//! Everything here is plain data: whoever has trial records fills [`SymasRow`]s from them.

mod differences;
mod rows;

use serde::Serialize;
use trueput_record::Value;
use trueput_record::published::{Error, Row, named};
use trueput_record::trial::Settings;

pub use differences::differences;
pub use rows::rows;

/// The engine that the others are set against.
pub const BASE: &str = "lmdb";

/// The test of the workload `micro` that the document's runs are.
const TEST: &str = "read-while-writing";

/// The published tables' names for engines, and the document's own.
const ENGINES: [(&str, &str); 11] = [
    ("leveldb", "LevelDB"),
    ("basho-leveldb", "Basho"),
    ("berkeleydb", "BDB"),
    ("hyperleveldb", "Hyper"),
    ("lmdb", "LMDB"),
    ("rocksdb", "RocksDB"),
    ("rocksdb-prefix", "RocksDBpfx"),
    ("tokudb", "TokuDB"),
    ("wiredtiger-lsm", "WiredLSM"),
    ("wiredtiger-btree", "WiredBtree"),
    ("lmdb-2014-09-09", "LMDB of 2014-09-09"),
];

/// Where memory was allocated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum MemoryPolicy {
    /// On the node that first touches it.
    Local,
    /// In turn on every node.
    Interleave,
}

impl MemoryPolicy {
    /// In a word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Interleave => "interleaved",
        }
    }
}

/// A row of the document: a load, or a run with a number of readers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SymasRow {
    /// The engine by the published tables' name, as [`published_engine`] gives it; the engine's own
    /// name if they have none.
    pub engine: String,
    /// The engine as the table shows it.
    pub label: String,
    /// Where memory was allocated.
    pub policy: MemoryPolicy,
    /// Readers beside the one writer; `None` for a load.
    pub readers: Option<u32>,
    /// Elapsed time, seconds.
    pub wall_s: f64,
    /// User CPU of the engine's processes, seconds.
    pub user_s: f64,
    /// System CPU of the engine's processes, seconds.
    pub system_s: f64,
    /// CPU over elapsed time, 100 for one core.
    pub cpu_percent: f64,
    /// The database's allocated size, KiB.
    pub db_size_kib: u64,
    /// The processes' peak resident set, KiB.
    pub process_size_kib: u64,
    /// Database and processes; the processes alone where they map the database. KiB.
    pub total_size_kib: u64,
    /// Context switches while waiting.
    pub voluntary_context_switches: u64,
    /// Context switches by the scheduler.
    pub involuntary_context_switches: u64,
    /// Writes per second; `None` for a load.
    pub writes_per_s: Option<f64>,
    /// Reads per second of all readers together; `None` for a load.
    pub reads_per_s: Option<f64>,
}

/// The published tables' name of an engine of ours, from its name, its library's path and its
/// knobs; `None` if they have no such engine.
///
/// ```
/// use trueput_findings::symas::published_engine;
/// use trueput_record::trial::Settings;
/// let basho = "/opt/engines/basho-leveldb-2.0.33/libleveldb.so";
/// assert_eq!(published_engine("leveldb", basho, &Settings::new()), Some("basho-leveldb"));
/// assert_eq!(published_engine("redb", "compiled in", &Settings::new()), None);
/// ```
#[must_use]
pub fn published_engine(engine: &str, origin: &str, knobs: &Settings) -> Option<&'static str> {
    let knob_is = |name: &str, wanted: &str| knobs.get(name) == Some(&Value::from(wanted));
    let origin = origin.to_lowercase();
    match engine {
        "lmdb" => Some("lmdb"),
        "leveldb" if origin.contains("hyper") => Some("hyperleveldb"),
        "leveldb" if origin.contains("basho") => Some("basho-leveldb"),
        "leveldb" => Some("leveldb"),
        "berkeleydb" => Some("berkeleydb"),
        "tokudb" => Some("tokudb"),
        "rocksdb" if knob_is("preset", "prefix") => Some("rocksdb-prefix"),
        "rocksdb" => Some("rocksdb"),
        "wiredtiger" if knob_is("table", "lsm") => Some("wiredtiger-lsm"),
        "wiredtiger" => Some("wiredtiger-btree"),
        _ => None,
    }
}

/// The document's own name of an engine, from the published tables' name.
#[must_use]
pub fn document_name(engine: &str) -> Option<&'static str> {
    let found = ENGINES.iter().find(|(name, _)| *name == engine)?;
    Some(found.1)
}

/// The rows that the document published: the loads first, each policy's, then the runs.
///
/// # Errors
/// Where a published table is at fault; none is in a program that passed its tests.
pub fn published_rows() -> Result<Vec<SymasRow>, Error> {
    let mut rows = Vec::new();
    for id in ["symas-2014-load", "symas-2014-read-while-writing"] {
        let table = named(id)?;
        for row in table.records() {
            let read = of_published(&row).ok_or_else(|| Error::Invalid {
                id: id.to_owned(),
                message: "a row lacks a figure or names an unknown engine".to_owned(),
            })?;
            rows.push(read);
        }
    }
    Ok(rows)
}

fn of_published(row: &Row<'_>) -> Option<SymasRow> {
    let engine = row.text("engine")?;
    let whole = |column: &str| row.figure(column).map(|figure| figure as u64);
    Some(SymasRow {
        engine: engine.to_owned(),
        label: document_name(engine)?.to_owned(),
        // The runs were all interleaved, and have no column for it.
        policy: match row.text("memory_policy") {
            Some("local") => MemoryPolicy::Local,
            _ => MemoryPolicy::Interleave,
        },
        readers: row.figure("readers").map(|readers| readers as u32),
        wall_s: row.figure("wall_s")?,
        user_s: row.figure("user_s")?,
        system_s: row.figure("system_s")?,
        cpu_percent: row.figure("cpu_percent")?,
        db_size_kib: whole("db_size_kib")?,
        process_size_kib: whole("process_size_kib")?,
        total_size_kib: whole("total_size_kib")?,
        voluntary_context_switches: whole("voluntary_context_switches")?,
        involuntary_context_switches: whole("involuntary_context_switches")?,
        writes_per_s: row.figure("writes_per_s"),
        reads_per_s: row.figure("reads_per_s"),
    })
}

/// The published row that is beside one of ours: same engine, same number of readers, and for a
/// load the same memory policy.
#[must_use]
pub fn counterpart<'a>(ours: &SymasRow, published: &'a [SymasRow]) -> Option<&'a SymasRow> {
    published.iter().find(|row| {
        row.engine == ours.engine
            && row.readers == ours.readers
            && (row.readers.is_some() || row.policy == ours.policy)
    })
}
