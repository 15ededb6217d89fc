//! libmdbx, a descendant of LMDB, by its own C API, from a library that is loaded at run time.

mod api;
mod calls;
mod environment;
mod error;
mod knobs;

use crate::library::{self, LibraryOrigin, LibrarySearch};
use crate::lmdb::check_reader_slots;
use crate::mapped_session::unflushed_meta_page;
use crate::named_values::{flags_of, named_values};
use api::{MdbxBuild, TITLE, value};
use environment::{MdbxEnvironment, OpenOptions};
use knobs::{AsyncMethod, MdbxKnobs};
use std::collections::BTreeMap;
use trueput_engine::{
    Build, CacheKnob, Capabilities, Database, Durability, Engine, Error, Info, Isolation, OpenSpec,
    Parameter, ParameterValues, Promise, Result, Session, Value, Window,
};

const INSTALL: &str = "trueput engines install mdbx";
const SEARCH: LibrarySearch = LibrarySearch::new(&["mdbx"], "libmdbx.so");
const SOURCE: &str = "mdbx.h of 0.14.4, 'SYNC MODES'";

/// Limits with pages of 4,096 bytes, the smallest that the driver offers; larger pages get the same
/// limits.
const MAX_KEY_BYTES: usize = 2022;
const MAX_VALUE_BYTES: usize = 0x7FF0_0000;

const UNITS_PER_S: u64 = 65_536;
const MS_PER_S: u64 = 1000;

library::driver! {
    /// The libmdbx driver.
    Mdbx of MdbxBuild: LibraryOrigin::found(TITLE, SEARCH, INSTALL)
}

impl Engine for Mdbx {
    fn info(&self) -> Info {
        Info {
            name: "mdbx",
            title: TITLE,
            summary: "B+tree, copy-on-write, memory-mapped; one writer, readers never wait",
            license: "Apache-2.0",
            homepage: "https://libmdbx.dqdkfa.ru",
            install: INSTALL,
        }
    }

    fn build(&self) -> Result<Build> {
        let (path, build) = self.library()?;
        Ok(Build {
            version: build.version.clone(),
            library: Some(path),
            assertions: Some(build.has_assertions()),
        })
    }

    library::library_selection!();

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            several_processes: true,
            concurrent_writers: false,
            conditional_put: true,
            bulk_load: true,
            ..Capabilities::transactional(MAX_KEY_BYTES, MAX_VALUE_BYTES)
        }
    }

    fn promise_with(&self, durability: Durability, knobs: &ParameterValues) -> Result<Promise> {
        let knobs = MdbxKnobs::from(knobs);
        let async_by = knobs.async_by;
        // Of the knobs' flags this one alone changes how a commit reaches the file.
        let map = knob_flags(&knobs) & value::MDBX_WRITEMAP;
        let mapped_to = mapped_to(durability_flags(durability, async_by)? | map);
        let window = (durability == Durability::Async).then(|| match async_by {
            AsyncMethod::SafeNosync => unflushed(knobs.sync_bytes, knobs.sync_period),
            AsyncMethod::NoMetaSync => unflushed_meta_page(),
        });
        Ok(Promise::new(durability, mapped_to, window, SOURCE))
    }

    fn isolation(&self, _knobs: &ParameterValues) -> Option<Isolation> {
        // One write transaction at a time, and readers keep the tree of their beginning.
        Some(Isolation::Serializable)
    }

    fn knobs(&self) -> &'static [Parameter] {
        MdbxKnobs::PARAMETERS
    }

    fn cache_knob(&self, _knobs: &ParameterValues) -> std::result::Result<CacheKnob, &'static str> {
        Err("maps its file, so that the kernel's page cache is its cache")
    }

    fn audit_requires_root(&self) -> Option<&'static str> {
        Some("it trusts pages that were not flushed as long as the boot identifier is the same")
    }

    fn audit_knobs(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("growth_step", "64KiB"),
            ("size_upper", "64MiB"),
            ("sync_bytes", "256KiB"),
        ]
    }

    fn check_sessions(&self, sessions: u32, knobs: &ParameterValues) -> Result<()> {
        check_reader_slots(
            self.info().name,
            sessions,
            MdbxKnobs::from(knobs).max_readers,
        )
    }

    fn open(&self, spec: &OpenSpec<'_>) -> Result<Box<dyn Database>> {
        let setup = setup(spec)?;
        let (_, build) = self.library()?;
        let environment = MdbxEnvironment::open(build, spec.directory, &setup)?;
        let unflushed = setup.flags & value::MDBX_SAFE_NOSYNC != 0;
        if unflushed && environment.information()?.boot_id == [0, 0] {
            return Err(Error::Unsupported(format!(
                "libmdbx cannot tell on this machine whether it was restarted \
                 (/proc/sys/kernel/random/boot_id), and then takes unflushed commits back also \
                 after a killed process: no '{}' here but by async_by=no-meta-sync",
                spec.durability
            )));
        }
        Ok(Box::new(environment))
    }
}

/// The window of `MDBX_SAFE_NOSYNC` for lost power; 0 for a limit that is off.
fn unflushed(sync_bytes: u64, sync_period_ms: u64) -> Window {
    Window {
        time_s: (sync_period_ms > 0).then(|| sync_period_ms as f64 / MS_PER_S as f64),
        bytes: (sync_bytes > 0).then_some(sync_bytes),
        ..Window::until(
            "the next flushed state: sync_bytes or sync_period, off by default, which a commit \
             looks at; else before the file grows; a checkpoint; closing the database",
        )
    }
}

/// Returns libmdbx's flags for a level. A session's reader slot belongs to its transaction, and may
/// be read from while the same thread writes, so `MDBX_NOSTICKYTHREADS` is always on.
fn durability_flags(durability: Durability, async_by: AsyncMethod) -> Result<u32> {
    let flags = match durability {
        Durability::Sync => 0,
        // libmdbx adds MDBX_NOMETASYNC to both of its levels without flushes.
        Durability::Async if async_by == AsyncMethod::SafeNosync => {
            value::MDBX_SAFE_NOSYNC | value::MDBX_NOMETASYNC
        }
        Durability::Async => value::MDBX_NOMETASYNC,
        Durability::Process => value::MDBX_UTTERLY_NOSYNC | value::MDBX_NOMETASYNC,
        Durability::Buffered | Durability::None => {
            return Err(Error::no_durability("mdbx", durability));
        }
    };
    Ok(flags | value::MDBX_NOSTICKYTHREADS)
}

fn mapped_to(flags: u32) -> String {
    format!("flags={}", environment::flag_names(flags))
}

fn setup(spec: &OpenSpec<'_>) -> Result<OpenOptions> {
    let knobs = MdbxKnobs::from(spec.knobs);
    let max_readers = knobs.max_readers;
    check_reader_slots("mdbx", spec.sessions, max_readers)?;
    let flags = durability_flags(spec.durability, knobs.async_by)? | knob_flags(&knobs);
    // The limits apply only where commits do not flush; elsewhere they would change the promise.
    let unflushed = flags & value::MDBX_SAFE_NOSYNC != 0;
    let limit = |asked: u64| if unflushed { asked } else { 0 };
    Ok(OpenOptions {
        flags,
        max_readers,
        writethrough_threshold: knobs.writethrough_threshold,
        size_upper: knobs.size_upper,
        growth_step: knobs.growth_step,
        page_bytes: knobs.page_size.parse().unwrap_or(0),
        sync_bytes: limit(knobs.sync_bytes),
        sync_period: limit(knobs.sync_period) * UNITS_PER_S / MS_PER_S,
    })
}

fn knob_flags(knobs: &MdbxKnobs) -> u32 {
    flags_of([
        (knobs.writemap, value::MDBX_WRITEMAP),
        (knobs.lifo_reclaim, value::MDBX_LIFORECLAIM),
        (knobs.no_read_ahead, value::MDBX_NORDAHEAD),
        (knobs.no_mem_init, value::MDBX_NOMEMINIT),
    ])
}

impl Database for MdbxEnvironment {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(self.new_session()?))
    }

    fn counters(&self) -> Result<BTreeMap<String, Value>> {
        let (stat, info) = (self.stat()?, self.information()?);
        let pages = info.pages;
        Ok(named_values([
            ("ms_depth", u64::from(stat.depth)),
            ("ms_branch_pages", stat.branch_pages),
            ("ms_leaf_pages", stat.leaf_pages),
            ("ms_overflow_pages", stat.overflow_pages),
            ("ms_entries", stat.entries),
            ("mi_dxb_fsize", info.file_bytes),
            ("mi_last_pgno", info.last_page),
            ("mi_recent_txnid", info.recent_txnid),
            ("mi_numreaders", u64::from(info.readers)),
            ("mi_unsync_volume", info.unsynced_bytes),
            ("pgop_newly", pages.newly),
            ("pgop_cow", pages.cow),
            ("pgop_split", pages.split),
            ("pgop_merge", pages.merge),
            ("pgop_spill", pages.spill),
            ("pgop_wops", pages.wops),
            ("pgop_msync", pages.msync),
            ("pgop_fsync", pages.fsync),
            (
                "stale_readers_cleared_at_open",
                u64::from(self.stale_readers),
            ),
        ]))
    }

    fn settings(&self) -> Result<BTreeMap<String, Value>> {
        let info = self.information()?;
        let threshold = self.option(value::MDBX_OPT_WRITETHROUGH_THRESHOLD)?;
        let period_ms = u64::from(info.sync_period) * MS_PER_S;
        Ok(named_values([
            ("flags", Value::from(environment::flag_names(self.flags()?))),
            ("mi_geo.lower", info.geometry.lower.into()),
            ("mi_geo.upper", info.geometry.upper.into()),
            ("mi_geo.grow", info.geometry.grow.into()),
            ("mi_geo.shrink", info.geometry.shrink.into()),
            ("mi_dxb_pagesize", u64::from(info.page_bytes).into()),
            ("mi_maxreaders", u64::from(info.max_readers).into()),
            ("mi_autosync_threshold", info.sync_bytes.into()),
            (
                "mi_autosync_period_ms",
                period_ms.div_ceil(UNITS_PER_S).into(),
            ),
            ("writethrough_threshold", threshold.into()),
            ("maxkeysize", self.max_key_bytes().into()),
            ("build_options", self.build_options().into()),
        ]))
    }

    fn checkpoint(&self) -> Result<()> {
        self.flush()
    }
}
