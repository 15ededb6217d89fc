//! The engines that are compared, and how often each operation is done on them.

use crate::keys::RECORDS;
use anyhow::{Context, Result};
use std::path::Path;
use trueput_drivers::Plugins;
use trueput_engine::{Durability, Engine, EngineSource};

/// A bare loop over an engine.
#[derive(Debug, Clone, Copy)]
pub enum Loop {
    /// Compiled into this program, as the engine is.
    Linked,
    /// `bench/bare/ENGINE.c`, compiled against the engine's header and the library that the driver
    /// loads.
    Compiled {
        /// The header, as the file includes it.
        header: &'static str,
        /// The Debian package to install if the library is missing.
        package: &'static str,
    },
}

/// One engine to compare on.
#[derive(Debug, Clone, Copy)]
pub struct Contender {
    /// The driver's name.
    pub engine: &'static str,
    /// A level that does not flush, so that the processor's work is not lost in waiting.
    pub durability: Durability,
    /// The bare loop.
    pub bare: Loop,
    /// Gets in a loop; see [`Contender::operations`].
    gets: u64,
}

const fn compiled(
    engine: &'static str,
    durability: Durability,
    gets: u64,
    header: &'static str,
    package: &'static str,
) -> Contender {
    Contender {
        engine,
        durability,
        bare: Loop::Compiled { header, package },
        gets,
    }
}

const fn linked(engine: &'static str, gets: u64) -> Contender {
    Contender {
        engine,
        durability: Durability::Process,
        bare: Loop::Linked,
        gets,
    }
}

/// Every engine with a C API and a bare loop. GT.M has none: from C it is reached through call-ins,
/// which are the driver.
pub const CONTENDERS: [Contender; 6] = [
    linked("lmdb", 1_000_000),
    linked("sqlite", 500_000),
    compiled(
        "rocksdb",
        Durability::Async,
        500_000,
        "rocksdb/c.h",
        "librocksdb-dev",
    ),
    compiled(
        "leveldb",
        Durability::Async,
        250_000,
        "leveldb/c.h",
        "libleveldb-dev",
    ),
    compiled(
        "berkeleydb",
        Durability::Buffered,
        500_000,
        "db.h",
        "libdb5.3-dev",
    ),
    compiled(
        "wiredtiger",
        Durability::Process,
        500_000,
        "wiredtiger.h",
        "libwiredtiger-dev",
    ),
];

impl Contender {
    /// The one of that name.
    pub fn named(engine: &str) -> Result<Self> {
        let found = CONTENDERS
            .into_iter()
            .find(|contender| contender.engine == engine);
        found.with_context(|| {
            let names = CONTENDERS.map(|contender| contender.engine).join(", ");
            format!("no bare loop for '{engine}'; there is one for {names}")
        })
    }

    /// The number of operations that the loop `what` does.
    pub fn operations(&self, what: &str) -> u64 {
        match what {
            "load" => RECORDS,
            "put" => self.gets / 2,
            "put-each" => self.gets / 5,
            _ => self.gets,
        }
    }
}

/// The engine of a child's loop, with its level: a contender, a library of LMDB (`lmdb@PATH`), or a
/// plug-in, which is a path.
pub fn engine(name: &str) -> Result<(&'static dyn Engine, Durability)> {
    if let Some(library) = name.strip_prefix("lmdb@") {
        let engine = driver("lmdb")?.with_library(Path::new(library))?;
        return Ok((Box::leak(engine), Durability::Process));
    }
    if name.contains('/') {
        let plugins = Box::leak(Box::new(Plugins::new(Vec::new)));
        return Ok((plugins.read(Path::new(name))?, Durability::Process));
    }
    let contender = Contender::named(name)?;
    Ok((driver(name)?, contender.durability))
}

/// The driver of that name.
pub fn driver(name: &str) -> Result<&'static dyn Engine> {
    let found = trueput_drivers::registry()
        .iter()
        .find(|engine| engine.info().name == name);
    found.copied().with_context(|| format!("no engine {name}"))
}
