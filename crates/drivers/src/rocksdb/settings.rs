//! The settings and statistics that RocksDB reports: its options file, properties, statistics.

use std::collections::BTreeMap;
use std::path::Path;
use trueput_engine::{Error, Result, Value};

/// Every option of the newest `OPTIONS-…` file, which RocksDB writes when it opens, as
/// `SECTION.NAME`.
pub(super) fn from_options_file(directory: &Path) -> Result<BTreeMap<String, Value>> {
    let entries = std::fs::read_dir(directory).map_err(Error::engine)?;
    let newest = entries
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name();
            let number: u64 = name.to_str()?.strip_prefix("OPTIONS-")?.parse().ok()?;
            Some((number, entry.path()))
        })
        .max();
    let Some((_, path)) = newest else {
        let folder = directory.display();
        return Err(Error::engine(format!(
            "RocksDB wrote no OPTIONS file in {folder}"
        )));
    };
    Ok(parse(
        &std::fs::read_to_string(path).map_err(Error::engine)?,
    ))
}

/// Parses sections like `[CFOptions "default"]` with lines `NAME=VALUE`.
fn parse(text: &str) -> BTreeMap<String, Value> {
    let mut settings = BTreeMap::new();
    let mut section = "";
    for line in text
        .lines()
        .map(str::trim)
        .filter(|line| !line.starts_with('#'))
    {
        if let Some(header) = line.strip_prefix('[') {
            section = header.split([' ', ']']).next().unwrap_or_default();
        } else if let Some((name, value)) = line.split_once('=') {
            settings.insert(format!("{section}.{name}"), Value::parse(value));
        }
    }
    settings
}

/// The properties that report the state of memory, tables and compactions.
pub(super) fn properties(property: impl Fn(&str) -> Option<String>) -> BTreeMap<String, Value> {
    const NAMES: [&str; 14] = [
        "num-immutable-mem-table",
        "num-immutable-mem-table-flushed",
        "mem-table-flush-pending",
        "num-running-flushes",
        "compaction-pending",
        "num-running-compactions",
        "background-errors",
        "cur-size-all-mem-tables",
        "size-all-mem-tables",
        "estimate-num-keys",
        "estimate-table-readers-mem",
        "total-sst-files-size",
        "actual-delayed-write-rate",
        "block-cache-usage",
    ];
    let levels = (0..7).map(|level| format!("num-files-at-level{level}"));
    let names = NAMES.into_iter().map(str::to_owned).chain(levels);
    names
        .filter_map(|name| {
            let value = property(&format!("rocksdb.{name}"))?;
            Some((name, Value::parse(&value)))
        })
        .collect()
}

/// The counters of RocksDB's statistics: lines `NAME COUNT : NUMBER`.
pub(super) fn statistics(text: &str) -> BTreeMap<String, Value> {
    let counter = |line: &str| {
        let (name, number) = line.split_once(" COUNT : ")?;
        // Histograms have more figures in their line.
        (!name.contains(' ')).then(|| (name.to_owned(), Value::parse(number.trim())))
    };
    text.lines().filter_map(counter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_named_by_their_section() {
        let text = "# comment=1\n[Version]\n  rocksdb_version=7.8.3\n\n[CFOptions \"default\"]\n  \
                    write_buffer_size=1048576\n  compression=kNoCompression\n";
        let settings = parse(text);
        assert_eq!(settings.len(), 3);
        assert_eq!(settings["Version.rocksdb_version"], Value::from("7.8.3"));
        assert_eq!(
            settings["CFOptions.write_buffer_size"],
            Value::Integer(1 << 20)
        );
    }

    #[test]
    fn tickers_are_counters_and_histograms_are_not() {
        let text = "rocksdb.block.cache.miss COUNT : 12\n\
                    rocksdb.db.get.micros P50 : 1.5 P95 : 2 P99 : 3 P100 : 4 COUNT : 9 SUM : 20\n";
        let counters = statistics(text);
        assert_eq!(counters.len(), 1);
        assert_eq!(counters["rocksdb.block.cache.miss"], Value::Integer(12));
    }
}
