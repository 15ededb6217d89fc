//! LMDB, by its C API: compiled in through `lmdb-master-sys`, or any other build that a plan names.

mod build;
mod calls;
mod environment;
mod error;

use crate::library::{self, LibrarySearch};
use crate::mapped_session::unflushed_meta_page;
use crate::named_values::{flags_of, named_values};
use build::{LmdbBuild, TITLE};
use environment::LmdbEnvironment;
use lmdb_master_sys as ffi;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use trueput_engine::{
    Build, COMPILED_IN, CacheKnob, Capabilities, Database, Durability, Engine, Error, Info,
    InstallableBuild, Isolation, OpenSpec, Parameter, ParameterValues, Promise, Result, Session,
    Value, parameters,
};

/// The system's own LMDB, which can be named; the one that is compiled in is the default.
const INSTALLABLE: &[InstallableBuild] = &[InstallableBuild {
    title: "LMDB of the distribution",
    path: "/liblmdb.so",
    install: "trueput engines install lmdb",
}];
const SEARCH: LibrarySearch = LibrarySearch::new(&[], "liblmdb.so");

/// The LMDB driver.
#[derive(Default)]
pub struct Lmdb {
    /// The library that a plan names, and the build loaded from it.
    named: Option<(PathBuf, &'static LmdbBuild)>,
}

impl Lmdb {
    /// The LMDB that is compiled in.
    #[must_use]
    pub const fn new() -> Self {
        Self { named: None }
    }

    fn selected_build(&self) -> &'static LmdbBuild {
        match self.named {
            Some((_, build)) => build,
            None => LmdbBuild::linked(),
        }
    }
}

const SOURCE: &str = "http://www.lmdb.tech/doc/group__mdb.html#ga32a193c6bf4d7d5c5d579e71f22e9340";

parameters! {
    /// LMDB's knobs.
    struct LmdbKnobs {
        /// Size of the memory map, which is the maximum size of the database; the file is sparse.
        /// All processes must use the same value.
        map_size: Bytes = 64 GiB in 1 MiB..=64 TiB,
            cost "smaller: a put that finds no free page fails as full. Larger: address space only",
        /// Writes pages through a writable map instead of write calls (MDB_WRITEMAP).
        writemap: Boolean = false,
            cost "protection from stray pointers; a full disk kills the process (SIGBUS) instead \
                of failing the put; the file's length is the whole map at once",
        /// Slots in the reader table, one per session of every process.
        max_readers: Integer<u32> = 126 in 1..=65_536, unit "sessions",
            cost "more: each commit looks through a longer table. Fewer: a session that finds no \
                slot fails as full",
        /// Tells the kernel not to read ahead in the map (MDB_NORDAHEAD).
        no_read_ahead: Boolean = false,
            cost "speed of scans and of warming up; random reads of a database larger than memory \
                gain",
        /// Does not clear fresh pages before it fills them (MDB_NOMEMINIT).
        no_mem_init: Boolean = false,
            cost "privacy: leftovers of the process's memory can reach the file",
    }
}

impl Engine for Lmdb {
    fn info(&self) -> Info {
        Info {
            name: "lmdb",
            title: TITLE,
            summary: "B+tree, copy on write, memory-mapped; one writer, readers never wait",
            license: "OLDAP-2.8",
            homepage: "http://www.lmdb.tech/doc/",
            install: COMPILED_IN,
        }
    }

    fn build(&self) -> Result<Build> {
        let build = self.selected_build();
        Ok(Build {
            version: build.version.clone(),
            library: self.named.as_ref().map(|(path, _)| path.clone()),
            assertions: build.assertions,
        })
    }

    fn installable_builds(&self) -> &'static [InstallableBuild] {
        INSTALLABLE
    }

    fn library_files(&self) -> Vec<PathBuf> {
        SEARCH.run()
    }

    fn with_library(&self, library: &Path) -> Result<Box<dyn Engine>> {
        let path = library::full_path(library)?;
        let build = LmdbBuild::load(&path)?;
        let named = Some((path, build));
        Ok(Box::new(Self { named }))
    }

    /// With the limits of the build that is compiled in.
    fn unopened(&self, library: &Path) -> Result<Box<dyn Engine>> {
        library::full_path(library)?;
        Ok(Box::new(Self::new()))
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            several_processes: true,
            concurrent_writers: false,
            conditional_put: true,
            bulk_load: true,
            ..Capabilities::transactional(self.selected_build().max_key_bytes, u32::MAX as usize)
        }
    }

    fn promise_with(&self, durability: Durability, knobs: &ParameterValues) -> Result<Promise> {
        // Of the knobs' flags this one alone changes how a commit reaches the file.
        let map = knob_flags(LmdbKnobs::from(knobs)) & ffi::MDB_WRITEMAP;
        let flags = environment::flag_names(durability_flags(durability)? | map);
        let window = (durability == Durability::Async).then(unflushed_meta_page);
        Ok(Promise::new(
            durability,
            format!("flags={flags}"),
            window,
            SOURCE,
        ))
    }

    fn isolation(&self, _knobs: &ParameterValues) -> Option<Isolation> {
        // One write transaction at a time, and readers keep the tree of their beginning.
        Some(Isolation::Serializable)
    }

    fn knobs(&self) -> &'static [Parameter] {
        LmdbKnobs::PARAMETERS
    }

    fn cache_knob(&self, _knobs: &ParameterValues) -> std::result::Result<CacheKnob, &'static str> {
        Err("maps its file, so that the kernel's page cache is its cache")
    }

    fn audit_knobs(&self) -> &'static [(&'static str, &'static str)] {
        &[("map_size", "16MiB")]
    }

    fn check_sessions(&self, sessions: u32, knobs: &ParameterValues) -> Result<()> {
        let readers = LmdbKnobs::from(knobs).max_readers;
        check_reader_slots(self.info().name, sessions, readers.into())
    }

    fn open(&self, spec: &OpenSpec<'_>) -> Result<Box<dyn Database>> {
        let knobs = LmdbKnobs::from(spec.knobs);
        let flags = durability_flags(spec.durability)? | knob_flags(knobs);
        let readers = knobs.max_readers;
        self.check_sessions(spec.sessions, spec.knobs)?;
        let map_bytes = knobs.map_size as usize;
        Ok(Box::new(LmdbEnvironment::open(
            self.selected_build(),
            spec.directory,
            flags,
            map_bytes,
            readers,
        )?))
    }
}

/// Refuses more sessions than the reader table has slots for.
pub(crate) fn check_reader_slots(engine: &str, sessions: u32, readers: u64) -> Result<()> {
    if u64::from(sessions) <= readers {
        return Ok(());
    }
    Err(Error::Unsupported(format!(
        "{sessions} sessions need as many reader slots, but max_readers is {readers}; give --knob \
         {engine}.max_readers={sessions} or more, or fewer workers"
    )))
}

/// Returns LMDB's flags for a level. Sessions may move between threads' reader slots, so
/// `MDB_NOTLS` is always on: a slot belongs to its session's transaction.
fn durability_flags(durability: Durability) -> Result<u32> {
    match durability {
        Durability::Sync => Ok(ffi::MDB_NOTLS),
        Durability::Async => Ok(ffi::MDB_NOTLS | ffi::MDB_NOMETASYNC),
        Durability::Process => Ok(ffi::MDB_NOTLS | ffi::MDB_NOSYNC),
        Durability::Buffered | Durability::None => Err(Error::no_durability("lmdb", durability)),
    }
}

fn knob_flags(knobs: LmdbKnobs) -> u32 {
    flags_of([
        (knobs.writemap, ffi::MDB_WRITEMAP),
        (knobs.no_read_ahead, ffi::MDB_NORDAHEAD),
        (knobs.no_mem_init, ffi::MDB_NOMEMINIT),
    ])
}

impl Database for LmdbEnvironment {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(self.new_session()?))
    }

    fn counters(&self) -> Result<BTreeMap<String, Value>> {
        let (stat, info) = (self.stat()?, self.information()?);
        Ok(named_values([
            ("ms_depth", u64::from(stat.ms_depth)),
            ("ms_branch_pages", stat.ms_branch_pages as u64),
            ("ms_leaf_pages", stat.ms_leaf_pages as u64),
            ("ms_overflow_pages", stat.ms_overflow_pages as u64),
            ("ms_entries", stat.ms_entries as u64),
            ("me_last_pgno", info.me_last_pgno as u64),
            ("me_last_txnid", info.me_last_txnid as u64),
            ("me_numreaders", u64::from(info.me_numreaders)),
            (
                "stale_readers_cleared_at_open",
                u64::from(self.stale_readers),
            ),
        ]))
    }

    fn settings(&self) -> Result<BTreeMap<String, Value>> {
        let (stat, info) = (self.stat()?, self.information()?);
        Ok(named_values([
            ("flags", Value::from(environment::flag_names(self.flags()?))),
            ("me_mapsize", (info.me_mapsize as u64).into()),
            ("me_maxreaders", u64::from(info.me_maxreaders).into()),
            ("ms_psize", u64::from(stat.ms_psize).into()),
            ("maxkeysize", (self.max_key_bytes() as u64).into()),
        ]))
    }

    fn checkpoint(&self) -> Result<()> {
        self.flush()
    }
}
