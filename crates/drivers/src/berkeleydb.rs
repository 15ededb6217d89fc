//! Berkeley DB: a transactional environment that several processes share.
//!
//! The library is loaded at run time. Its handles are structs of function pointers, so that most
//! calls go through a shim of ours that the installer compiles against the installed header.

mod attach_lock;
mod environment;
mod event_watcher;
mod knobs;
mod locked_keys;
pub(crate) mod session;
pub(crate) mod shim;

use crate::library::{self, LibraryOrigin, LibrarySearch};
use environment::BerkeleyEnvironment;
use knobs::BerkeleyKnobs;
use shim::{BerkeleyLibrary, LogFlush};
use std::collections::BTreeMap;
use trueput_engine::event_watcher::EventProgress;
use trueput_engine::{
    Build, CacheCount, CacheKnob, CacheScope, CacheUse, Capabilities, Database, Durability, Engine,
    Error, EventWatcher, Info, Isolation, OpenSpec, Parameter, ParameterValues, Promise, Result,
    Session, Value, Window,
};

const TITLE: &str = "Berkeley DB";
const INSTALL: &str = "trueput engines install berkeleydb";
const SEARCH: LibrarySearch = LibrarySearch::new(&[], "libdb-5.3.so");
const SOURCE: &str = concat!(
    "https://docs.oracle.com/cd/E17276_01/html/api_reference/C/envset_flags.html; ",
    "https://docs.oracle.com/cd/E17276_01/html/api_reference/C/envlog_set_config.html"
);

library::driver! {
    /// The Berkeley DB driver.
    BerkeleyDb of BerkeleyLibrary: LibraryOrigin::found(TITLE, SEARCH, INSTALL)
}

impl Engine for BerkeleyDb {
    fn info(&self) -> Info {
        Info {
            name: "berkeleydb",
            title: TITLE,
            summary: "B-tree or hash with page locks and a shared log; several processes",
            license: "Sleepycat",
            homepage: "https://docs.oracle.com/cd/E17276_01/html/toc.htm",
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
        library.or_else(|| shim::BERKELEY_DB.missing())
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            several_processes: true,
            // With its default knobs.
            concurrent_writers: true,
            ..Capabilities::transactional(u32::MAX as usize, u32::MAX as usize)
        }
    }

    fn promise_with(&self, durability: Durability, knobs: &ParameterValues) -> Result<Promise> {
        let knobs = BerkeleyKnobs::from(knobs);
        let level = knobs::level(durability, &knobs)
            .ok_or_else(|| Error::no_durability("berkeleydb", durability))?;
        // Sizes that contradict each other are refused before anything runs.
        knobs::settings(&knobs, level)?;
        let (mapped_to, window) = match level {
            LogFlush::Sync => ("DB_TXN_NOSYNC=false, DB_TXN_WRITE_NOSYNC=false", None),
            LogFlush::WriteNosync => ("DB_TXN_WRITE_NOSYNC=true", Some(unflushed(&knobs))),
            LogFlush::Nosync => (
                "DB_TXN_NOSYNC=true",
                Some(Window {
                    bytes: Some(knobs.log_buffer),
                    ..Window::until(
                        "the log's buffer of log_buffer bytes fills; then, for lost power, as at \
                         async",
                    )
                }),
            ),
            LogFlush::LogInMemory => ("DB_LOG_IN_MEMORY=true", None),
            LogFlush::NotDurable => ("DB_TXN_NOT_DURABLE=true", None),
        };
        Ok(Promise::new(durability, mapped_to, window, SOURCE))
    }

    fn isolation(&self, knobs: &ParameterValues) -> Option<Isolation> {
        // Two-phase locks on pages; with snapshots, readers keep the versions of their beginning. A
        // committed record that no search finds breaks every level.
        let is_sound = knobs::known_defect(&knobs.into()).is_none();
        is_sound.then_some(Isolation::Serializable)
    }

    fn isolation_knobs(&self) -> &'static [&'static str] {
        &["writers", "isolation"]
    }

    fn knobs(&self) -> &'static [Parameter] {
        BerkeleyKnobs::PARAMETERS
    }

    fn cache_knob(&self, knobs: &ParameterValues) -> std::result::Result<CacheKnob, &'static str> {
        let size_bytes = BerkeleyKnobs::from(knobs).cache_size;
        Ok(CacheKnob::bytes("cache_size", size_bytes))
    }

    fn workaround(&self, knobs: &ParameterValues) -> Option<String> {
        knobs::workaround(&knobs.into())
    }

    fn known_defect(&self, knobs: &ParameterValues) -> Option<String> {
        knobs::known_defect(&knobs.into()).map(str::to_owned)
    }

    fn event_watcher(&self, spec: &OpenSpec<'_>) -> Option<Box<dyn EventWatcher>> {
        // A log in memory has no files.
        let knobs = BerkeleyKnobs::from(spec.knobs);
        let has_files = knobs::level(spec.durability, &knobs)? != LogFlush::LogInMemory;
        let log = knobs.log_directory.path_in(spec.directory);
        let marks =
            || Box::new(EventProgress::new(event_watcher::reader(&log))) as Box<dyn EventWatcher>;
        has_files.then(marks)
    }

    /// Removes the shared memory and the registry of processes, whose files may be written in part.
    /// Without the registry, opening with `DB_REGISTER` recovers (`env_register.c`: "Run recovery
    /// if we create the file").
    fn prepare_after_power_loss(&self, spec: &OpenSpec<'_>) -> Result<()> {
        environment::remove_region_files(spec.directory)
    }

    fn check_files(&self, spec: &OpenSpec<'_>) -> Result<()> {
        let (_, engine) = self.library()?;
        environment::check_file(engine, spec.directory)
    }

    fn audit_knobs(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("cache_size", "256KiB"),
            ("log_buffer", "16KiB"),
            ("log_file_size", "128KiB"),
            ("checkpoint_log", "256KiB"),
        ]
    }

    fn open(&self, spec: &OpenSpec<'_>) -> Result<Box<dyn Database>> {
        let knobs = BerkeleyKnobs::from(spec.knobs);
        let level = knobs::level(spec.durability, &knobs)
            .ok_or_else(|| Error::no_durability("berkeleydb", spec.durability))?;
        let (_, engine) = self.library()?;
        Ok(Box::new(BerkeleyEnvironment::open(
            engine,
            spec.directory,
            &knobs,
            level,
        )?))
    }
}

/// The window of commits that are written to the log but not flushed, for lost power.
fn unflushed(knobs: &BerkeleyKnobs) -> Window {
    let checkpoint = match knobs.checkpoint_log {
        0 => "",
        _ => "at a checkpoint, or ",
    };
    Window::until(format!(
        "the kernel writes the log back, or Berkeley DB flushes it: {checkpoint}before it writes a \
         changed page out of its cache"
    ))
}

impl Database for BerkeleyEnvironment {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(session::BerkeleySession::new(&self.store)))
    }

    fn counters(&self) -> Result<BTreeMap<String, Value>> {
        self.store.handles.counters()
    }

    /// By the counters of the cache, which all processes share.
    fn count_cache(&self) -> Result<Option<CacheCount<'_>>> {
        CacheCount::of_counters(CacheScope::Database, || {
            let counters: BTreeMap<_, _> = self.store.handles.statistics()?.into_iter().collect();
            let counter = |name: &str| counters.get(name).copied();
            let counted = counter("st_cache_hit").zip(counter("st_cache_miss"));
            Ok(counted.map(|(hits, misses)| CacheUse { hits, misses }))
        })
    }

    fn settings(&self) -> Result<BTreeMap<String, Value>> {
        let settings = self.store.handles.settings()?.into_iter();
        Ok(settings
            .map(|(name, number)| {
                let value = match (name.as_str(), number) {
                    ("type", 2) => Value::from("DB_HASH"),
                    ("type", _) => Value::from("DB_BTREE"),
                    (flag, _) if flag.starts_with("DB_") => Value::from(number != 0),
                    _ => Value::from(number),
                };
                (name, value)
            })
            .collect())
    }

    fn checkpoint(&self) -> Result<()> {
        self.store.handles.checkpoint()
    }

    fn compact(&mut self) -> Result<Option<&'static str>> {
        self.compact_file()
    }
}
