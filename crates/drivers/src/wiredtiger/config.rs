//! WiredTiger's configuration strings, made of a level and the knobs.

use super::knobs::{TableKind, WiredTigerKnobs};
use std::ffi::{CStr, CString};
use std::fmt::Display;
use std::path::Path;
use trueput_engine::{Durability, Error, OpenSpec, Result};

/// The only table. Its name has no type, so that `type` determines it.
pub(super) const TABLE: &CStr = c"table:record";
/// Its one column group, which has no name.
pub(super) const COLUMN_GROUP: &CStr = c"colgroup:record";

/// WiredTiger's own threads take sessions, too: eviction, checkpoints, the log, merges.
const SESSIONS_OF_ITS_OWN: u32 = 64;

/// The pages that a cache has room for at least.
const PAGES_IN_CACHE: u64 = 10;

const LOG: &str = "log=(enabled=true)";
const NO_LOG: &str = "log=(enabled=false)";

/// The settings of a level, in WiredTiger's words.
///
/// # Errors
/// [`Error::Unsupported`] if the knobs do not keep it.
pub(super) fn levels(durability: Durability, knobs: &WiredTigerKnobs) -> Result<Vec<String>> {
    if knobs.eviction_threads_min > knobs.eviction_threads_max {
        return Err(Error::Unsupported(
            "wiredtiger.eviction_threads_min exceeds eviction_threads_max".to_owned(),
        ));
    }
    // WiredTiger lowers memory_page_max by this rule, but takes larger pages on disk, which it then
    // cannot evict: a load never ends (bt_handle.c, `__btree_page_sizes`).
    let largest_page = knobs.leaf_page_max.max(knobs.internal_page_max);
    if knobs.cache_size / PAGES_IN_CACHE < largest_page {
        return Err(Error::Unsupported(format!(
            "wiredtiger.cache_size ({} bytes) must hold {PAGES_IN_CACHE} pages of leaf_page_max \
             and internal_page_max (up to {largest_page} bytes)",
            knobs.cache_size
        )));
    }
    let logged = |sync: &str| vec![LOG.to_owned(), format!("transaction_sync=({sync})")];
    let unsynced = "checkpoint_sync=false".to_owned();
    Ok(match durability {
        // With fsync, the last commit before each new log returns before its record is flushed: the
        // new log is flushed in its place (docs/findings). So the log is written with O_DSYNC.
        Durability::Sync => logged("enabled=true,method=dsync"),
        // A log that is not flushed can lose a page before one that it keeps, and WiredTiger may
        // then not open (docs/findings). So there is no `async`, and `buffered` has no log.
        Durability::Async => {
            return Err(Error::Unsupported(format!(
                "wiredtiger does not support durability '{durability}': a log that is not flushed \
                 can lose a page before one that it keeps, and WiredTiger may then not open \
                 (docs/AUDIT.md)"
            )));
        }
        Durability::Buffered if knobs.table == TableKind::Lsm => {
            return Err(Error::Unsupported(
                "wiredtiger does not support durability 'buffered' with table=lsm, whose chunks \
                 are written apart from checkpoints; use table=btree"
                    .to_owned(),
            ));
        }
        Durability::Buffered => vec![NO_LOG.to_owned()],
        Durability::Process => {
            let mut settings = logged("enabled=true,method=none");
            settings.push(unsynced);
            settings
        }
        Durability::None => vec![NO_LOG.to_owned(), unsynced],
    })
}

/// The configuration with which a database is opened.
pub(super) struct OpenConfig {
    /// For the connection.
    pub(super) connection: CString,
    /// The configuration with which the table is created.
    pub(super) table: CString,
    /// Whether there is a log.
    pub(super) has_log: bool,
    /// Whether there are statistics to read.
    pub(super) has_statistics: bool,
}

impl OpenConfig {
    /// The configuration for `spec` of the library at `library`.
    pub(super) fn new(spec: &OpenSpec<'_>, library: &Path) -> Result<Self> {
        let knobs = &WiredTigerKnobs::from(spec.knobs);
        let mut settings = levels(spec.durability, knobs)?;
        let has_log = settings.iter().any(|setting| setting == LOG);
        // Of one key given twice the last counts, with all its parts.
        for log in settings.iter_mut().filter(|setting| *setting == LOG) {
            let path = match knobs.log_directory.subfolder() {
                Some(name) => {
                    // WiredTiger requires the folder to exist.
                    std::fs::create_dir_all(spec.directory.join(name)).map_err(Error::engine)?;
                    format!("path={name},")
                }
                None => String::new(),
            };
            let size = knobs.log_file_max;
            *log = format!("log=(enabled=true,{path}file_max={size})");
        }
        settings.extend(connection(spec.sessions, knobs, has_log));
        if let Some(extension) = compressor(knobs, library) {
            settings.push(format!("extensions=[\"{extension}\"]"));
        }
        Ok(Self {
            connection: text(&settings)?,
            table: text(&table(knobs))?,
            has_log,
            has_statistics: knobs.statistics != "none",
        })
    }
}

fn setting(name: &str, value: &dyn Display) -> String {
    format!("{name}={value}")
}

fn text(settings: &[String]) -> Result<CString> {
    CString::new(settings.join(",")).map_err(|_| Error::engine("a setting with a zero byte"))
}

/// The configuration that every level shares. Neither the environment nor a file in the database
/// may add to it.
fn connection(sessions: u32, knobs: &WiredTigerKnobs, has_log: bool) -> Vec<String> {
    let wait = knobs.checkpoint_wait;
    // Without a log no size of it can be waited for.
    let log_size = if has_log {
        knobs.checkpoint_log_size
    } else {
        0
    };
    let (least, most) = (knobs.eviction_threads_min, knobs.eviction_threads_max);
    vec![
        "create,config_base=false,use_environment=false".to_owned(),
        setting("session_max", &sessions.saturating_add(SESSIONS_OF_ITS_OWN)),
        setting("cache_size", &knobs.cache_size),
        format!("checkpoint=(wait={wait},log_size={log_size})"),
        format!("eviction=(threads_min={least},threads_max={most})"),
        format!("lsm_manager=(worker_thread_max={})", knobs.lsm_threads),
        format!("statistics=({})", knobs.statistics),
    ]
}

fn table(knobs: &WiredTigerKnobs) -> Vec<String> {
    let mut settings = vec![
        "key_format=u,value_format=u".to_owned(),
        setting("block_compressor", &knobs.block_compressor),
        setting("leaf_page_max", &knobs.leaf_page_max),
        setting("internal_page_max", &knobs.internal_page_max),
        setting("memory_page_max", &knobs.memory_page_max),
    ];
    if knobs.table == TableKind::Lsm {
        let (chunk, bloom) = (knobs.lsm_chunk_size, knobs.lsm_bloom);
        settings.push(format!("type=lsm,lsm=(chunk_size={chunk},bloom={bloom})"));
    }
    settings
}

/// The extension with the requested compressor, if it is in the library's folder; otherwise the
/// compressor is built into the library, or WiredTiger reports that it does not know it.
fn compressor(knobs: &WiredTigerKnobs, library: &Path) -> Option<String> {
    let name = knobs.block_compressor;
    let path = library.with_file_name(format!("libwiredtiger_{name}.so"));
    let is_there = name != "none" && path.is_file();
    is_there.then(|| path.to_str().map(str::to_owned)).flatten()
}

/// The parts of a configuration string, `name=value,name=(name=value,…),…`, on its top level.
pub(super) fn parts(text: &str) -> Vec<(&str, &str)> {
    let mut depth = 0_u32;
    let pieces = text.split(|c| {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    });
    pieces
        .filter(|piece| !piece.is_empty())
        .map(|piece| piece.split_once('=').unwrap_or((piece, "")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_is_taken_apart_on_its_top_level() {
        let text = "log=(enabled=true,path=[a,b]),leaf_page_max=32KB,app_metadata=,exclusive";
        let expected = [
            ("log", "(enabled=true,path=[a,b])"),
            ("leaf_page_max", "32KB"),
            ("app_metadata", ""),
            ("exclusive", ""),
        ];
        assert_eq!(parts(text), expected);
        assert!(parts("").is_empty());
    }

    #[test]
    fn only_sync_waits_for_the_device() {
        let knobs = WiredTigerKnobs::default();
        let offered = |level: &Durability| *level != Durability::Async;
        for level in Durability::ALL.into_iter().filter(offered) {
            let text = levels(level, &knobs).unwrap().join(",");
            assert_eq!(
                text.contains("method=dsync"),
                level == Durability::Sync,
                "{text}"
            );
        }
        assert!(levels(Durability::Async, &knobs).is_err());
    }
}
