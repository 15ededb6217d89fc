//! What WiredTiger is told: its configuration strings, made of a level and the knobs.

use std::ffi::{CStr, CString};
use std::fmt::Display;
use std::path::Path;
use trueput_engine::{Durability, Error, OpenSpec, Resolved, Result};

/// The one table. A name without a type, so that `type` says what it is made of.
pub(super) const TABLE: &CStr = c"table:record";
/// Its one column group, which has no name.
pub(super) const COLUMN_GROUP: &CStr = c"colgroup:record";

/// WiredTiger's own threads take sessions, too: eviction, checkpoints, the log, merges.
const SESSIONS_OF_ITS_OWN: u32 = 64;

const LOG: &str = "log=(enabled=true)";
const NO_LOG: &str = "log=(enabled=false)";

/// Whether a crash returns to the last checkpoint, there being no log.
pub(super) fn is_by_checkpoint(durability: Durability, knobs: &Resolved) -> bool {
    durability == Durability::Buffered && knobs.text("buffered_by") == "checkpoint"
}

/// The settings of a level, in WiredTiger's words.
///
/// # Errors
/// [`Error::Unsupported`] where the knobs do not keep it.
pub(super) fn levels(durability: Durability, knobs: &Resolved) -> Result<Vec<String>> {
    let logged = |sync: &str| vec![LOG.to_owned(), format!("transaction_sync=({sync})")];
    let unsynced = "checkpoint_sync=false".to_owned();
    Ok(match durability {
        Durability::Sync => {
            let method = knobs.text("transaction_sync");
            logged(&format!("enabled=true,method={method}"))
        }
        Durability::Async => logged("enabled=true,method=none"),
        Durability::Buffered if is_by_checkpoint(durability, knobs) => {
            if knobs.text("table") == "lsm" {
                return Err(Error::Unsupported(
                    "wiredtiger has no buffered_by=checkpoint for table=lsm, whose chunks are \
                     written apart from checkpoints; use buffered_by=log"
                        .to_owned(),
                ));
            }
            vec![NO_LOG.to_owned()]
        }
        Durability::Buffered => logged("enabled=false"),
        Durability::Process => {
            let mut settings = logged("enabled=true,method=none");
            settings.push(unsynced);
            settings
        }
        Durability::None => vec![NO_LOG.to_owned(), unsynced],
    })
}

/// How a database is opened.
pub(super) struct Plan {
    /// For the connection.
    pub(super) connection: CString,
    /// For the table, where it is made.
    pub(super) table: CString,
    /// Whether there is a log.
    pub(super) has_log: bool,
    /// Whether there are statistics to read.
    pub(super) has_statistics: bool,
}

impl Plan {
    /// The configuration for `spec` of the library at `library`.
    pub(super) fn new(spec: &OpenSpec<'_>, library: &Path) -> Result<Self> {
        let knobs = spec.knobs;
        let is_lsm = knobs.text("table") == "lsm";
        if knobs.integer("eviction_threads_min") > knobs.integer("eviction_threads_max") {
            return Err(Error::Unsupported(
                "wiredtiger.eviction_threads_min exceeds eviction_threads_max".to_owned(),
            ));
        }
        let mut settings = levels(spec.durability, knobs)?;
        let has_log = settings.iter().any(|setting| setting == LOG);
        // Of one key given twice the last counts, with all its parts.
        for log in settings.iter_mut().filter(|setting| *setting == LOG) {
            let path = match knobs.text("log_directory") {
                "log" => {
                    // WiredTiger takes a folder that is there.
                    std::fs::create_dir_all(spec.directory.join("log")).map_err(Error::engine)?;
                    "path=log,"
                }
                _ => "",
            };
            let size = of(knobs, "log_file_max");
            *log = format!("log=(enabled=true,{path}file_max={size})");
        }
        settings.extend(connection(spec, has_log));
        if let Some(extension) = compressor(knobs, library) {
            settings.push(format!("extensions=[\"{extension}\"]"));
        }
        Ok(Self {
            connection: text(&settings)?,
            table: text(&table(knobs, is_lsm))?,
            has_log,
            has_statistics: knobs.text("statistics") != "none",
        })
    }
}

fn setting(name: &str, value: &dyn Display) -> String {
    format!("{name}={value}")
}

fn of(knobs: &Resolved, name: &str) -> u64 {
    knobs.unsigned(name)
}

fn text(settings: &[String]) -> Result<CString> {
    CString::new(settings.join(",")).map_err(|_| Error::engine("a setting with a zero byte"))
}

/// What every level has. Neither the environment nor a file in the database may add to it.
fn connection(spec: &OpenSpec<'_>, has_log: bool) -> Vec<String> {
    let knobs = spec.knobs;
    let wait = of(knobs, "checkpoint_wait");
    // Without a log no size of it can be waited for.
    let log_size = if has_log {
        of(knobs, "checkpoint_log_size")
    } else {
        0
    };
    let (least, most) = (
        of(knobs, "eviction_threads_min"),
        of(knobs, "eviction_threads_max"),
    );
    vec![
        "create,config_base=false,use_environment=false".to_owned(),
        setting(
            "session_max",
            &spec.sessions.saturating_add(SESSIONS_OF_ITS_OWN),
        ),
        setting("cache_size", &of(knobs, "cache_size")),
        format!("checkpoint=(wait={wait},log_size={log_size})"),
        format!("eviction=(threads_min={least},threads_max={most})"),
        format!(
            "lsm_manager=(worker_thread_max={})",
            of(knobs, "lsm_threads")
        ),
        format!("statistics=({})", knobs.text("statistics")),
    ]
}

fn table(knobs: &Resolved, is_lsm: bool) -> Vec<String> {
    let mut settings = vec![
        "key_format=u,value_format=u".to_owned(),
        setting("block_compressor", &knobs.text("block_compressor")),
        setting("leaf_page_max", &of(knobs, "leaf_page_max")),
        setting("internal_page_max", &of(knobs, "internal_page_max")),
        setting("memory_page_max", &of(knobs, "memory_page_max")),
    ];
    if is_lsm {
        let (chunk, bloom) = (of(knobs, "lsm_chunk_size"), knobs.boolean("lsm_bloom"));
        settings.push(format!("type=lsm,lsm=(chunk_size={chunk},bloom={bloom})"));
    }
    settings
}

/// The extension with the compressor that is asked for, where it lies beside the library; where it
/// does not, the compressor is in the library, or WiredTiger says that it knows none of that name.
fn compressor(knobs: &Resolved, library: &Path) -> Option<String> {
    let name = knobs.text("block_compressor");
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
    use trueput_engine::knob;

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
        let knobs = knob::resolve(
            "wiredtiger",
            super::super::knobs::KNOBS,
            &Default::default(),
        );
        let knobs = knobs.unwrap();
        for level in Durability::ALL {
            let text = levels(level, &knobs).unwrap().join(",");
            assert_eq!(
                text.contains("method=fsync"),
                level == Durability::Sync,
                "{text}"
            );
        }
    }
}
