//! WiredTiger: its C API, through a shim that is compiled against the header of each version.
//!
//! One process has a database open; each session is a session and a cursor of WiredTiger's own.

mod config;
mod database;
mod knobs;
mod session;
mod shim;

use crate::library::{Origin, Search};
use config::Plan;
use database::Opened;
use shim::Api;
use std::path::{Path, PathBuf};
use trueput_engine::{
    Build, Capabilities, Database, Durability, Engine, Info, Knob, OpenSpec, Promise, Result,
    Window,
};

const TITLE: &str = "WiredTiger";
const SEARCH: Search = Search {
    installed: &["wiredtiger"],
    system: "libwiredtiger.so",
};
const SOURCE: &str = "src/docs/tune-durability.dox of WiredTiger 11.3.1";

/// A key, a value and what the log adds are one log record, whose length has 32 bits.
const MAX_KEY_BYTES: usize = 64 << 20;
const MAX_VALUE_BYTES: usize = 1 << 30;

/// The WiredTiger driver.
pub struct WiredTiger {
    origin: Origin,
}

impl WiredTiger {
    /// WiredTiger as the first library that is found has it.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            origin: Origin::found(TITLE, SEARCH),
        }
    }

    fn library(&self) -> Result<(PathBuf, &'static Api)> {
        let path = self.origin.path()?;
        let api = Api::of(&path, TITLE)?;
        Ok((path, api))
    }
}

impl Default for WiredTiger {
    fn default() -> Self {
        Self::new()
    }
}

impl Engine for WiredTiger {
    fn info(&self) -> Info {
        Info {
            name: "wiredtiger",
            title: TITLE,
            summary: "B+tree or log-structured merge tree, no overwrite, snapshot isolation; one \
                      process",
            license: "GPL-2.0-only OR GPL-3.0-only",
            homepage: "https://source.wiredtiger.com/",
            install: "make engines (3.2 of the distribution); make engines-all (11.3)",
        }
    }

    fn build(&self) -> Result<Build> {
        let (path, api) = self.library()?;
        Ok(Build {
            version: api.version(),
            assertions: Some(api.is_diagnostic),
            library: Some(path),
        })
    }

    fn found(&self) -> Vec<PathBuf> {
        SEARCH.run()
    }

    fn at(&self, library: &Path) -> Result<Box<dyn Engine>> {
        let engine = Self {
            origin: self.origin.naming(library)?,
        };
        engine.library()?;
        Ok(Box::new(engine))
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            several_processes: false,
            concurrent_writers: true,
            retains_data: true,
            atomic_transactions: true,
            snapshot_reads: true,
            max_key_bytes: MAX_KEY_BYTES,
            max_value_bytes: MAX_VALUE_BYTES,
        }
    }

    fn promise(&self, durability: Durability) -> Option<Promise> {
        Some(Promise {
            durability,
            mapped_to: config::levels(durability, "fsync").join(", "),
            window: window(durability),
            source: SOURCE.to_owned(),
        })
    }

    fn knobs(&self) -> &'static [Knob] {
        knobs::KNOBS
    }

    fn open(&self, spec: &OpenSpec<'_>) -> Result<Box<dyn Database>> {
        let (path, api) = self.library()?;
        let plan = Plan::new(spec, &path)?;
        Ok(Box::new(Opened::open(api, spec.directory, &plan)?))
    }
}

/// What can be lost, with the default settings.
fn window(durability: Durability) -> Option<Window> {
    let until = match durability {
        Durability::Async => {
            "the kernel writes the log back, a log file is full (log_file_max), or the next \
             checkpoint"
        }
        Durability::Buffered => {
            "the log's buffer in the process is full or 50 ms are over; then, for lost power, as \
             at async. With buffered_by=checkpoint: until the next checkpoint"
        }
        Durability::Sync | Durability::Process | Durability::None => return None,
    };
    Some(Window {
        time_s: None,
        bytes: None,
        commits: None,
        until: until.to_owned(),
    })
}
