//! The server settings that follow from a level and the knobs: variables, options, and the promise.

use super::knobs::{
    Doublewrite, IsolationLevel, MariaDbCompression, MariaDbKnobs, NAME, StorageEngine,
};
use crate::log_directory::LogDirectory;
use std::fmt::Display;
use trueput_engine::{
    Durability, Error, OpenSpec, Parameter, ParameterValues, Promise, Result, Survival, Window,
};

const INNODB: &str = "https://mariadb.com/kb/en/innodb-system-variables/\
                      #innodb_flush_log_at_trx_commit";
const MYROCKS: &str = "https://mariadb.com/kb/en/myrocks-system-variables/\
                       #rocksdb_flush_log_at_trx_commit";

/// Knobs of a session: they can be turned on a server of the user's too.
const OF_SESSIONS: [&str; 4] = [
    "storage_engine",
    "isolation",
    "innodb_lock_wait_timeout",
    "rocksdb_lock_wait_timeout",
];

/// The binary log of a server that is started for a trial, as a promise puts it.
pub(super) const NO_BINARY_LOG: &str = "log_bin=OFF";

/// Recovers up to the last whole record of the WAL, as RocksDB itself does; MyRocks' own default
/// refuses to start if a crash tore the tail of the WAL.
pub(super) const WAL_RECOVERY_MODE: &str = "2";

impl StorageEngine {
    /// The name in SQL.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Innodb => "InnoDB",
            Self::Rocksdb => "ROCKSDB",
        }
    }
}

/// Returns the server's variables for a level.
///
/// # Errors
/// [`Error::Unsupported`] if it does not have the level, or not with these knobs.
pub(super) fn levels(
    durability: Durability,
    knobs: &ParameterValues,
) -> Result<Vec<(&'static str, &'static str)>> {
    use Durability::{Async, Buffered, Process, Sync};
    check(knobs)?;
    let knobs = MariaDbKnobs::from(knobs);
    match knobs.storage_engine {
        StorageEngine::Innodb => {
            let flush = match durability {
                Sync => "1",
                Async | Process => "2",
                Buffered => "0",
                Durability::None => return Err(Error::no_durability(NAME, durability)),
            };
            let doublewrite = doublewrite(durability, knobs.innodb_doublewrite)?;
            Ok(vec![
                ("innodb_flush_log_at_trx_commit", flush),
                ("innodb_doublewrite", doublewrite),
            ])
        }
        StorageEngine::Rocksdb => {
            let (flush, manual) = match durability {
                Sync => ("1", "1"),
                Async => ("2", "0"),
                Buffered => ("2", "1"),
                Process | Durability::None => {
                    let level = Error::no_durability("mariadb with MyRocks", durability);
                    return Err(level);
                }
            };
            Ok(vec![
                ("rocksdb_flush_log_at_trx_commit", flush),
                ("rocksdb_manual_wal_flush", manual),
            ])
        }
    }
}

/// Whether pages are written twice. Without it a power cut can tear one, so that nothing is
/// promised for that.
fn doublewrite(durability: Durability, asked: Doublewrite) -> Result<&'static str> {
    let is_process = durability == Durability::Process;
    match (asked, is_process) {
        (Doublewrite::Auto | Doublewrite::On, false) => Ok("1"),
        (Doublewrite::Auto | Doublewrite::Off, true) => Ok("0"),
        (Doublewrite::Off, false) => Err(Error::Unsupported(format!(
            "mariadb cannot keep durability '{durability}' with innodb_doublewrite off: lost power \
             can tear a page; use process"
        ))),
        (Doublewrite::On, true) => Err(Error::Unsupported(
            "mariadb with innodb_doublewrite on keeps more than durability 'process': use async"
                .to_owned(),
        )),
    }
}

/// Returns the promise of a level with these knobs.
///
/// # Errors
/// See [`levels`].
pub(super) fn promise(durability: Durability, knobs: &ParameterValues) -> Result<Promise> {
    let settings = levels(durability, knobs)?;
    let storage = MariaDbKnobs::from(knobs).storage_engine;
    let mut mapped_to: Vec<String> = settings
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    mapped_to.push(NO_BINARY_LOG.to_owned());
    let second = |until_text: &str| Window {
        time_s: Some(1.0),
        ..Window::until(until_text)
    };
    let window = match (durability, storage) {
        (Durability::Async, _) => Some(second("the flush of the log that is due each second")),
        (Durability::Buffered, _) => Some(second(
            "the log is written and flushed, which is due each second",
        )),
        _ => None,
    };
    let source = match storage {
        StorageEngine::Innodb => INNODB,
        StorageEngine::Rocksdb => MYROCKS,
    };
    Ok(Promise {
        doubt: doubt(durability, storage).map(str::to_owned),
        ..Promise::new(durability, mapped_to.join(", "), window, source)
    })
}

/// A fault that breaks the promise at times. MariaDB documents that the doublewrite buffer restores
/// torn pages. `docs/findings/mariadb-first-page` shows without trueput that it does not always.
fn doubt(durability: Durability, storage: StorageEngine) -> Option<&'static str> {
    let relies_on_doublewrite =
        storage == StorageEngine::Innodb && durability.after_lost_power() != Survival::Nothing;
    relies_on_doublewrite.then_some(
        "its recovery does not always restore a page that lost power tore, so a table can be \
         unreadable; docs/findings shows it",
    )
}

/// Refuses knobs that contradict each other.
fn check(values: &ParameterValues) -> Result<()> {
    use IsolationLevel::{Serializable, Snapshot};
    let MariaDbKnobs {
        storage_engine: storage,
        isolation,
        ..
    } = values.into();
    if storage == StorageEngine::Rocksdb && matches!(isolation, Serializable | Snapshot) {
        return Err(Error::Unsupported(format!(
            "mariadb.isolation {} is InnoDB's: with storage_engine rocksdb it is \
             read-committed or repeatable-read",
            isolation.word()
        )));
    }
    let foreign = match storage {
        StorageEngine::Innodb => "rocksdb_",
        StorageEngine::Rocksdb => "innodb_",
    };
    let turned = |knob: &&Parameter| knob.name.starts_with(foreign) && is_turned(knob, values);
    match MariaDbKnobs::PARAMETERS.iter().find(turned) {
        None => Ok(()),
        Some(knob) => Err(Error::Unsupported(format!(
            "mariadb.{} does nothing with storage_engine {}",
            knob.name,
            storage.word()
        ))),
    }
}

fn is_turned(knob: &Parameter, values: &ParameterValues) -> bool {
    // A cluster of servers does not have every knob of one.
    let value = values.get(knob.name);
    value.is_some_and(|value| *value != knob.kind.default_value())
}

/// Refuses a knob that only the owner of a server can turn.
///
/// # Errors
/// [`Error::Unsupported`] that names the variable.
pub(super) fn check_for_users_server(knobs: &ParameterValues) -> Result<()> {
    let turned = |knob: &&Parameter| !OF_SESSIONS.contains(&knob.name) && is_turned(knob, knobs);
    match MariaDbKnobs::PARAMETERS.iter().find(turned) {
        None => Ok(()),
        Some(knob) => Err(Error::Unsupported(format!(
            "mariadb.{} is the server's own: set it there, and leave it out of the plan",
            knob.name
        ))),
    }
}

/// The server's options for the level and the knobs of `spec`.
///
/// # Errors
/// See [`levels`].
pub(super) fn options(spec: &OpenSpec<'_>) -> Result<Vec<String>> {
    let knobs = MariaDbKnobs::from(spec.knobs);
    let mut options = vec![
        format!("--max-connections={}", spec.sessions.saturating_add(50)),
        "--max-prepared-stmt-count=1048576".to_owned(),
        "--max-allowed-packet=1G".to_owned(),
        // The driver's loader sends its records as a client's file.
        "--local-infile=1".to_owned(),
        "--character-set-server=utf8mb4".to_owned(),
        "--collation-server=utf8mb4_bin".to_owned(),
    ];
    for (name, value) in levels(spec.durability, spec.knobs)? {
        options.push(format!("--{name}={value}"));
    }
    options.extend(innodb(&knobs));
    if knobs.storage_engine == StorageEngine::Rocksdb {
        options.extend(rocksdb(&knobs));
    }
    Ok(options)
}

/// Options of InnoDB, also used to create the instance: some cannot be changed later. MyRocks needs
/// them too, for the server's own tables.
pub(super) fn innodb(knobs: &MariaDbKnobs) -> Vec<String> {
    let given: [(&str, &dyn Display); 8] = [
        ("innodb_buffer_pool_size", &knobs.innodb_buffer_pool_size),
        ("innodb_log_file_size", &knobs.innodb_log_file_size),
        ("innodb_log_buffer_size", &knobs.innodb_log_buffer_size),
        ("innodb_io_capacity", &knobs.innodb_io_capacity),
        (
            "innodb_max_dirty_pages_pct",
            &knobs.innodb_max_dirty_pages_pct,
        ),
        ("innodb_flush_method", &knobs.innodb_flush_method),
        ("innodb_page_size", &knobs.innodb_page_size),
        ("innodb_lock_wait_timeout", &knobs.innodb_lock_wait_timeout),
    ];
    let mut options = given
        .map(|(name, value)| format!("--{name}={value}"))
        .to_vec();
    let hash = u8::from(knobs.innodb_adaptive_hash_index);
    options.push(format!("--innodb_adaptive_hash_index={hash}"));
    if knobs.storage_engine == StorageEngine::Rocksdb {
        return options;
    }
    if knobs.compression != MariaDbCompression::None {
        let algorithm = knobs.compression.word();
        options.push(format!("--innodb_compression_algorithm={algorithm}"));
        options.push("--innodb_compression_default=1".to_owned());
    }
    if knobs.log_directory == LogDirectory::Apart {
        options.push("--innodb_log_group_home_dir=../log".to_owned());
    }
    options
}

fn rocksdb(knobs: &MariaDbKnobs) -> Vec<String> {
    let compression = match knobs.compression {
        MariaDbCompression::None => "kNoCompression",
        MariaDbCompression::Zlib => "kZlibCompression",
    };
    let mut options = vec![
        "--plugin-load-add=ha_rocksdb".to_owned(),
        format!("--rocksdb_wal_recovery_mode={WAL_RECOVERY_MODE}"),
        format!(
            "--rocksdb_default_cf_options=write_buffer_size={};compression={compression}",
            knobs.rocksdb_write_buffer_size
        ),
    ];
    for (name, number) in [
        ("rocksdb_block_cache_size", knobs.rocksdb_block_cache_size),
        (
            "rocksdb_max_background_jobs",
            knobs.rocksdb_max_background_jobs,
        ),
        ("rocksdb_lock_wait_timeout", knobs.rocksdb_lock_wait_timeout),
    ] {
        options.push(format!("--{name}={number}"));
    }
    if knobs.log_directory == LogDirectory::Apart {
        options.push("--rocksdb_wal_dir=../log".to_owned());
    }
    options
}
