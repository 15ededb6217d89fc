//! RocksDB's settings that a plan may turn, and their words in RocksDB's own options string.

use std::fmt::Write;
use std::path::Path;
use trueput_engine::{Durability, Kind, Knob, Resolved};

pub(super) const KNOBS: &[Knob] = &[
    Knob {
        name: "transactions",
        summary: "Kind of write transaction: with locks on keys (TransactionDB), with conflict \
            checks at commit (OptimisticTransactionDB), or as write batches of a plain database, \
            one at a time if they read.",
        gives_up: "pessimistic: time for locks; optimistic: retries of conflicting transactions; \
            batch: no concurrency of transactions that read and write",
        kind: Kind::Choice {
            default: "pessimistic",
            choices: &["pessimistic", "optimistic", "batch"],
        },
        unit: "",
    },
    Knob {
        name: "preset",
        summary: "'prefix' takes the settings of RocksDB's published in-memory benchmark of \
            2014, with a hash index in block-based tables instead of plain tables, which \
            cannot be scanned backward. It overrides the knobs below that it sets.",
        gives_up: "prefix: memory, and speed of scans",
        kind: Kind::Choice {
            default: "default",
            choices: &["default", "prefix"],
        },
        unit: "",
    },
    Knob {
        name: "block_cache",
        summary: "Memory for uncompressed blocks of tables.",
        gives_up: "host memory; smaller: more reads",
        kind: Kind::Bytes {
            default: 32 << 20,
            min: 0,
            max: 1 << 40,
        },
        unit: "bytes",
    },
    Knob {
        name: "block_size",
        summary: "Size of a table's block before compression.",
        gives_up: "larger: reads more than needed; smaller: larger index in memory",
        kind: Kind::Bytes {
            default: 4 << 10,
            min: 1 << 10,
            max: 4 << 20,
        },
        unit: "bytes",
    },
    Knob {
        name: "write_buffer_size",
        summary: "Size at which the records in memory are sealed and written out as a table.",
        gives_up: "larger: memory, a longer log to replay, a wider window at 'buffered'; smaller: \
                   more compaction",
        kind: Kind::Bytes {
            default: 64 << 20,
            min: 1 << 20,
            max: 64 << 30,
        },
        unit: "bytes",
    },
    Knob {
        name: "max_write_buffer_number",
        summary: "Write buffers, the one being filled included; writers wait when all are full.",
        gives_up: "more: memory, a wider window at 'buffered'",
        kind: Kind::Integer {
            default: 2,
            min: 2,
            max: 64,
        },
        unit: "buffers",
    },
    Knob {
        name: "buffered_wal",
        summary: "At 'buffered': 'off' writes no log, 'manual' keeps it in a buffer of 1 MiB in \
                  the process until that fills (manual_wal_flush).",
        gives_up: "off: what is in the write buffers when a process is killed; manual: what is in \
                   the log's buffer, and the time to write the log",
        kind: Kind::Choice {
            default: "off",
            choices: &["off", "manual"],
        },
        unit: "",
    },
    Knob {
        name: "wal_bytes_per_sync",
        summary: "Asks the kernel to start writing the log back after this many bytes; 0: the \
            kernel decides.",
        gives_up: "small: writers wait for storage at 'async'; 0: bursts of writing",
        kind: Kind::Bytes {
            default: 0,
            min: 0,
            max: 1 << 30,
        },
        unit: "bytes",
    },
    Knob {
        name: "log_directory",
        summary: "Directory of the log: the database's folder, or its subfolder 'log', where \
            another device can be mounted.",
        gives_up: "",
        kind: Kind::Choice {
            default: "beside",
            choices: &["beside", "log"],
        },
        unit: "",
    },
    Knob {
        name: "compression",
        summary: "Compression of blocks. A library without the method refuses to open.",
        gives_up: "none: disk and cache; others: CPU time",
        kind: Kind::Choice {
            default: "snappy",
            choices: &["none", "snappy", "lz4", "zstd"],
        },
        unit: "",
    },
    Knob {
        name: "direct_io",
        summary: "Reads, writes and compacts tables with direct I/O, without the kernel's page \
            cache.",
        gives_up: "on: no page cache, only the block cache",
        kind: Kind::Boolean { default: false },
        unit: "",
    },
    Knob {
        name: "bloom_bits",
        summary: "Bits per key of each table's Bloom filter; 0 is no filter.",
        gives_up: "more: memory and disk; fewer: reads of tables without the key",
        kind: Kind::Integer {
            default: 0,
            min: 0,
            max: 64,
        },
        unit: "bits",
    },
    Knob {
        name: "prefix_length",
        summary: "Bytes of a key that are its prefix, for hash_index and for Bloom filters; 0 is \
                  no prefix. Shorter keys are their own prefix.",
        gives_up: "memory for filters of prefixes",
        kind: Kind::Integer {
            default: 0,
            min: 0,
            max: 255,
        },
        unit: "bytes",
    },
    Knob {
        name: "hash_index",
        summary: "Looks keys up by a hash of their prefix, in memory (prefix_hash) and in tables \
                  (kHashSearch). It needs a prefix_length.",
        gives_up: "memory; writers take turns in the write buffer; scans sort the write buffer \
                   first",
        kind: Kind::Boolean { default: false },
        unit: "",
    },
    Knob {
        name: "compaction_style",
        summary: "How tables are merged.",
        gives_up: "level: writes each record more often; universal: up to twice the disk",
        kind: Kind::Choice {
            default: "level",
            choices: &["level", "universal"],
        },
        unit: "",
    },
    Knob {
        name: "max_background_jobs",
        summary: "Threads that flush and compact.",
        gives_up: "more: CPU time of the sessions; fewer: writers wait for compaction",
        kind: Kind::Integer {
            default: 2,
            min: 2,
            max: 256,
        },
        unit: "threads",
    },
    Knob {
        name: "max_open_files",
        summary: "Tables that RocksDB keeps open; -1: all.",
        gives_up: "-1: file descriptors and memory for indexes; fewer: opening tables again",
        kind: Kind::Integer {
            default: -1,
            min: -1,
            max: 1_000_000,
        },
        unit: "files",
    },
    Knob {
        name: "statistics",
        summary: "Enables RocksDB's counters, for the record.",
        gives_up: "on: a few percent of the rate",
        kind: Kind::Boolean { default: false },
        unit: "",
    },
];

/// write_buffer_size times max_write_buffer_number of [`PREFIX_PRESET`].
const PREFIX_WRITE_BUFFERS_BYTES: u64 = 2 * 134_217_728;

/// Of <https://github.com/facebook/rocksdb/wiki/RocksDB-In-Memory-Workload-Performance-Benchmarks>,
/// the commands' flags as options: the prefix there is the whole key of 20 bytes.
const PREFIX_PRESET: &str = "num_levels=6;compression=kNoCompression;write_buffer_size=134217728;\
    max_write_buffer_number=2;level0_file_num_compaction_trigger=8;target_file_size_base=134217728;\
    max_bytes_for_level_base=1073741824;level0_slowdown_writes_trigger=16;\
    level0_stop_writes_trigger=24;delete_obsolete_files_period_micros=314572800;\
    max_background_jobs=4;max_open_files=-1;allow_mmap_reads=true;bloom_locality=1;\
    prefix_extractor=rocksdb.CappedPrefix.20;memtable_factory=prefix_hash:1048576;\
    allow_concurrent_memtable_write=false;block_based_table_factory={block_cache=17179869184;\
    block_size=4096;filter_policy=bloomfilter:10:false;index_type=kHashSearch};";

/// The most that write buffers hold together.
pub(super) fn write_buffers_bytes(knobs: &Resolved) -> u64 {
    if knobs.text("preset") == "prefix" {
        return PREFIX_WRITE_BUFFERS_BYTES;
    }
    let buffers = knobs.unsigned("max_write_buffer_number");
    knobs.unsigned("write_buffer_size").saturating_mul(buffers)
}

/// The option for a log in a folder of its own, which is made; empty where it lies with the data.
///
/// # Errors
/// One sentence, where the folder cannot be made or its name not be written as an option.
pub(super) fn log_option(knobs: &Resolved, directory: &Path) -> Result<String, String> {
    if knobs.text("log_directory") != "log" {
        return Ok(String::new());
    }
    let folder = directory.join("log");
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    match folder.to_str().filter(|path| !path.contains(['{', '}'])) {
        Some(path) => Ok(format!("wal_dir={{{path}}};")),
        None => Err(format!(
            "rocksdb cannot use a log folder with this name: {}",
            folder.display()
        )),
    }
}

/// The options string for these knobs; one sentence where they do not go together.
pub(super) fn options(knobs: &Resolved, durability: Durability) -> Result<String, String> {
    let mut options = "create_if_missing=true;".to_owned();
    let manual_flush = durability == Durability::Buffered && knobs.text("buffered_wal") == "manual";
    let style = match knobs.text("compaction_style") {
        "universal" => "kCompactionStyleUniversal",
        _ => "kCompactionStyleLevel",
    };
    push(&mut options, "manual_wal_flush", manual_flush);
    push(
        &mut options,
        "wal_bytes_per_sync",
        knobs.unsigned("wal_bytes_per_sync"),
    );
    push(&mut options, "compaction_style", style);
    if knobs.text("preset") == "prefix" {
        if knobs.boolean("direct_io") {
            return Err(
                "rocksdb: preset 'prefix' maps tables into memory, which excludes direct_io=on"
                    .to_owned(),
            );
        }
        options.push_str(PREFIX_PRESET);
        return Ok(options);
    }
    let direct = knobs.boolean("direct_io");
    push(&mut options, "use_direct_reads", direct);
    push(
        &mut options,
        "use_direct_io_for_flush_and_compaction",
        direct,
    );
    for name in [
        "write_buffer_size",
        "max_write_buffer_number",
        "max_background_jobs",
    ] {
        push(&mut options, name, knobs.unsigned(name));
    }
    push(
        &mut options,
        "max_open_files",
        knobs.integer("max_open_files"),
    );
    push(
        &mut options,
        "compression",
        compression(knobs.text("compression")),
    );
    push_prefix(&mut options, knobs)?;
    push_table(&mut options, knobs);
    Ok(options)
}

fn push(options: &mut String, name: &str, value: impl std::fmt::Display) {
    // Writing to a string does not fail.
    let _ = write!(options, "{name}={value};");
}

fn compression(word: &str) -> &'static str {
    match word {
        "snappy" => "kSnappyCompression",
        "lz4" => "kLZ4Compression",
        "zstd" => "kZSTD",
        _ => "kNoCompression",
    }
}

fn push_prefix(options: &mut String, knobs: &Resolved) -> Result<(), String> {
    let length = knobs.integer("prefix_length");
    if length > 0 {
        push(
            options,
            "prefix_extractor",
            format_args!("rocksdb.CappedPrefix.{length}"),
        );
    }
    if knobs.boolean("hash_index") {
        if length == 0 {
            return Err("rocksdb: hash_index needs a prefix_length above 0".to_owned());
        }
        // A bucket is a pointer; the table of them may take a sixteenth of the write buffer.
        let buckets = (knobs.unsigned("write_buffer_size") / 128).min(1 << 20);
        push(
            options,
            "memtable_factory",
            format_args!("prefix_hash:{buckets}"),
        );
        push(options, "allow_concurrent_memtable_write", false);
    }
    Ok(())
}

fn push_table(options: &mut String, knobs: &Resolved) {
    let mut table = String::new();
    push(&mut table, "block_size", knobs.unsigned("block_size"));
    match knobs.unsigned("block_cache") {
        0 => push(&mut table, "no_block_cache", true),
        bytes => push(&mut table, "block_cache", bytes),
    }
    let bits = knobs.integer("bloom_bits");
    if bits > 0 {
        push(
            &mut table,
            "filter_policy",
            format_args!("bloomfilter:{bits}:false"),
        );
    }
    if knobs.boolean("hash_index") {
        push(&mut table, "index_type", "kHashSearch");
    }
    push(
        options,
        "block_based_table_factory",
        format_args!("{{{table}}}"),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueput_engine::{Value, knob};

    fn of(given: &[(&str, Value)]) -> Result<String, String> {
        let given = given
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()));
        options(
            &knob::resolve("rocksdb", KNOBS, &given.collect())?,
            Durability::Buffered,
        )
    }

    #[test]
    fn a_hash_index_without_a_prefix_is_refused() {
        assert!(
            of(&[("hash_index", true.into())])
                .unwrap_err()
                .contains("prefix_length")
        );
        let with = of(&[("hash_index", true.into()), ("prefix_length", 8_i64.into())]).unwrap();
        assert!(
            with.contains("prefix_extractor=rocksdb.CappedPrefix.8;"),
            "{with}"
        );
    }

    #[test]
    fn the_log_is_flushed_by_hand_only_where_that_was_asked_for() {
        assert!(of(&[]).unwrap().contains("manual_wal_flush=false;"));
        let manual = of(&[("buffered_wal", "manual".into())]).unwrap();
        assert!(manual.contains("manual_wal_flush=true;"));
    }
}
