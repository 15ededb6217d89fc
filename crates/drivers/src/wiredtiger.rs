//! WiredTiger: its C API, through a shim that is compiled against the header of each version.
//!
//! One process has a database open; each session is a session and a cursor of WiredTiger's own.

mod config;
mod database;
mod event_watcher;
mod knobs;
mod session;
mod shim;

use crate::library::{self, LibraryOrigin, LibrarySearch};
use config::OpenConfig;
use database::WiredTigerDatabase;
use knobs::WiredTigerKnobs;
use shim::WiredTigerApi;
use trueput_engine::event_watcher::EventProgress;
use trueput_engine::{
    Build, CacheKnob, Capabilities, Database, Durability, Engine, Error, EventWatcher, Info,
    InstallableBuild, Isolation, OpenSpec, Parameter, ParameterValues, Promise, Result, Window,
};

const TITLE: &str = "WiredTiger";
const INSTALL: &str = "trueput engines install wiredtiger";
const SEARCH: LibrarySearch = LibrarySearch::new(&["wiredtiger"], "libwiredtiger.so");
const INSTALLABLE: &[InstallableBuild] = &[
    InstallableBuild {
        title: "WiredTiger 3.2",
        path: "/libwiredtiger.so.0",
        install: INSTALL,
    },
    InstallableBuild {
        title: "WiredTiger 11.3",
        path: "/wiredtiger-11.",
        install: "trueput engines install wiredtiger-11",
    },
];
const SOURCE: &str = "src/docs/tune-durability.dox of WiredTiger 11.3.1";

/// A key, a value and the log's overhead form one log record, whose length has 32 bits.
const MAX_KEY_BYTES: usize = 64 << 20;
const MAX_VALUE_BYTES: usize = 1 << 30;

library::driver! {
    /// The WiredTiger driver.
    WiredTiger of WiredTigerApi: LibraryOrigin::found(TITLE, SEARCH, INSTALL)
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
            install: INSTALL,
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

    fn installable_builds(&self) -> &'static [InstallableBuild] {
        INSTALLABLE
    }

    library::library_selection!();

    fn missing_reason(&self) -> Option<Error> {
        match self.origin.path() {
            Ok(library) => shim::missing(&library),
            Err(error) => Some(error),
        }
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            several_processes: false,
            concurrent_writers: true,
            ..Capabilities::transactional(MAX_KEY_BYTES, MAX_VALUE_BYTES)
        }
    }

    fn promise_with(&self, durability: Durability, knobs: &ParameterValues) -> Result<Promise> {
        let knobs = WiredTigerKnobs::from(knobs);
        Ok(Promise::new(
            durability,
            config::levels(durability, &knobs)?.join(", "),
            window(durability, &knobs),
            SOURCE,
        ))
    }

    fn isolation(&self, _knobs: &ParameterValues) -> Option<Isolation> {
        // If two transactions write one record, one fails; records that a transaction only reads
        // are not locked.
        Some(Isolation::Snapshot)
    }

    fn isolation_knobs(&self) -> &'static [&'static str] {
        &["table"]
    }

    fn knobs(&self) -> &'static [Parameter] {
        WiredTigerKnobs::PARAMETERS
    }

    fn cache_knob(&self, knobs: &ParameterValues) -> std::result::Result<CacheKnob, &'static str> {
        let size_bytes = WiredTigerKnobs::from(knobs).cache_size;
        Ok(CacheKnob::bytes("cache_size", size_bytes))
    }

    fn event_watcher(&self, spec: &OpenSpec<'_>) -> Option<Box<dyn EventWatcher>> {
        let home = spec.directory.to_owned();
        let log = WiredTigerKnobs::from(spec.knobs)
            .log_directory
            .path_in(&home);
        Some(Box::new(EventProgress::new(event_watcher::reader(
            home, log,
        ))))
    }

    /// Opens the database first, as WiredTiger's verification asks for; no damage is repaired.
    fn check_files(&self, spec: &OpenSpec<'_>) -> Result<()> {
        let (path, api) = self.library()?;
        let plan = OpenConfig::new(spec, &path)?;
        WiredTigerDatabase::open(api, spec.directory, &plan)?.verify()
    }

    fn audit_knobs(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("cache_size", "8MiB"),
            ("checkpoint_log_size", "256KiB"),
            ("checkpoint_wait", "1"),
            ("leaf_page_max", "4KiB"),
            ("log_file_max", "100KiB"),
            ("lsm_chunk_size", "512KiB"),
            ("memory_page_max", "64KiB"),
        ]
    }

    fn open(&self, spec: &OpenSpec<'_>) -> Result<Box<dyn Database>> {
        let (path, api) = self.library()?;
        let plan = OpenConfig::new(spec, &path)?;
        Ok(Box::new(WiredTigerDatabase::open(
            api,
            spec.directory,
            &plan,
        )?))
    }
}

/// Returns the window of commits that can be lost.
fn window(durability: Durability, knobs: &WiredTigerKnobs) -> Option<Window> {
    let wait_s = knobs.checkpoint_wait;
    match durability {
        Durability::Buffered if wait_s > 0 => Some(Window {
            time_s: Some(wait_s as f64),
            ..Window::until(
                "the end of the next checkpoint, which begins checkpoint_wait after the last",
            )
        }),
        Durability::Buffered => Some(Window::until(
            "the database is closed: with checkpoint_wait=0 and no log, no checkpoint comes before",
        )),
        Durability::Sync | Durability::Async | Durability::Process | Durability::None => None,
    }
}
