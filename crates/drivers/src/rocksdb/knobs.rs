//! RocksDB's settings that a plan may turn, and their words in RocksDB's own options string.

use crate::log_directory::LogDirectory;
use std::fmt::Write;
use std::path::Path;
use trueput_engine::{Error, Result, choices, parameters};

parameters! {
    /// RocksDB's knobs.
    pub(super) struct RocksDbKnobs {
        /// Kind of write transaction: with locks on keys (TransactionDB), with conflict checks at
        /// commit (OptimisticTransactionDB), or as write batches of a plain database, one at a time
        /// if they read.
        transactions: Choice<Transactions> = Pessimistic,
            cost "pessimistic: time for locks; optimistic: retries of conflicting transactions; \
                batch: no concurrency of transactions that read and write",
        /// 'prefix' takes the settings of RocksDB's published in-memory benchmark of 2014, with a
        /// hash index in block-based tables instead of plain tables, which cannot be scanned
        /// backward. It overrides the knobs below that it sets.
        preset: Choice<Preset> = Default, cost "prefix: memory, and speed of scans",
        /// Memory for uncompressed blocks of tables.
        block_cache: Bytes = 32 MiB in 0 B..=1 TiB, cost "host memory; smaller: more reads",
        /// Size of a table's block before compression.
        block_size: Bytes = 4 KiB in 1 KiB..=4 MiB,
            cost "larger: reads more than needed; smaller: larger index in memory",
        /// Size at which the records in memory are sealed and written out as a table.
        write_buffer_size: Bytes = 64 MiB in 64 KiB..=64 GiB,
            cost "larger: memory, a longer log to replay, a wider window at 'buffered'; smaller: \
                more compaction",
        /// Write buffers, the one being filled included; writers wait when all are full.
        max_write_buffer_number: Integer = 2 in 2..=64, unit "buffers",
            cost "more: memory, a wider window at 'buffered'",
        /// Asks the kernel to start writing the log back after this many bytes; 0: the kernel
        /// decides.
        wal_bytes_per_sync: Bytes = 0 B in 0 B..=1 GiB,
            cost "small: writers wait for storage at 'process'; 0: bursts of writing",
        /// Notes in each new log where the one before it ends, so that recovery notices that an
        /// older log lost its end. A library without the option refuses to open.
        track_and_verify_wals: Boolean = false,
            cost "on: an option that RocksDB calls experimental",
        /// Directory of the log: the database's folder, or its subfolder 'log', where another
        /// device can be mounted.
        log_directory: Choice<LogDirectory> = Beside,
        /// Compression of blocks. A library without the method refuses to open.
        compression: Choice<RocksDbCompression> = Snappy,
            cost "none: disk and cache; others: CPU time",
        /// Reads, writes and compacts tables with direct I/O, without the kernel's page cache.
        direct_io: Boolean = false, cost "on: no page cache, only the block cache",
        /// Bits per key of each table's Bloom filter; 0 is no filter.
        bloom_bits: Integer = 0 in 0..=64, unit "bits",
            cost "more: memory and disk; fewer: reads of tables without the key",
        /// Bytes of a key that are its prefix, for hash_index and for Bloom filters; 0 is no
        /// prefix. Shorter keys are their own prefix.
        prefix_length: Integer = 0 in 0..=255, unit "bytes", cost "memory for filters of prefixes",
        /// Looks keys up by a hash of their prefix, in memory (prefix_hash) and in tables
        /// (kHashSearch). It needs a prefix_length.
        hash_index: Boolean = false,
            cost "memory; writers take turns in the write buffer; scans sort the write buffer \
                first",
        /// The way in which tables are merged.
        compaction_style: Choice<CompactionStyle> = Level,
            cost "level: writes each record more often; universal: up to twice the disk",
        /// Threads that flush and compact.
        max_background_jobs: Integer = 2 in 2..=256, unit "threads",
            cost "more: CPU time of the sessions; fewer: writers wait for compaction",
        /// Tables that RocksDB keeps open; -1: all.
        max_open_files: Integer<i32> = (-1) in (-1)..=1_000_000, unit "files",
            cost "-1: file descriptors and memory for indexes; fewer: opening tables again",
        /// Enables RocksDB's counters, for the record.
        statistics: Boolean = false, cost "on: a few percent of the rate",
    }
}

choices! {
    /// The kind of write transaction.
    pub(super) enum Transactions {
        /// With locks on keys.
        Pessimistic = "pessimistic",
        /// With conflict checks at commit.
        Optimistic = "optimistic",
        /// Write batches, one transaction at a time if it reads.
        Batch = "batch",
    }
}

choices! {
    /// A set of settings that a publication states.
    pub(super) enum Preset {
        Default = "default",
        Prefix = "prefix",
    }
}

choices! {
    /// Compression of blocks.
    pub(super) enum RocksDbCompression {
        None = "none",
        Snappy = "snappy",
        Lz4 = "lz4",
        Zstd = "zstd",
    }
}

choices! {
    /// The way in which tables are merged.
    pub(super) enum CompactionStyle {
        Level = "level",
        Universal = "universal",
    }
}

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
pub(super) fn write_buffers_bytes(knobs: &RocksDbKnobs) -> u64 {
    match knobs.preset {
        Preset::Prefix => PREFIX_WRITE_BUFFERS_BYTES,
        Preset::Default => {
            let buffers = knobs.max_write_buffer_number;
            knobs.write_buffer_size.saturating_mul(buffers)
        }
    }
}

/// The option for a log in its own folder, which is created; empty if the log is with the data.
///
/// # Errors
/// One sentence, if the folder cannot be created or its name cannot be written as an option.
pub(super) fn log_option(knobs: &RocksDbKnobs, directory: &Path) -> Result<String> {
    if knobs.log_directory == LogDirectory::Beside {
        return Ok(String::new());
    }
    let folder = knobs.log_directory.path_in(directory);
    std::fs::create_dir_all(&folder)
        .map_err(|error| Error::Unsupported(format!("{}: {error}", folder.display())))?;
    match folder.to_str().filter(|path| !path.contains(['{', '}'])) {
        Some(path) => Ok(format!("wal_dir={{{path}}};")),
        None => Err(Error::Unsupported(format!(
            "rocksdb cannot use a log folder with this name: {}",
            folder.display()
        ))),
    }
}

/// The options string for these knobs; one sentence where they do not go together.
pub(super) fn options(knobs: &RocksDbKnobs) -> Result<String> {
    let mut options = "create_if_missing=true;".to_owned();
    let style = match knobs.compaction_style {
        CompactionStyle::Universal => "kCompactionStyleUniversal",
        CompactionStyle::Level => "kCompactionStyleLevel",
    };
    push(&mut options, "wal_bytes_per_sync", knobs.wal_bytes_per_sync);
    push(&mut options, "compaction_style", style);
    if knobs.track_and_verify_wals {
        // Not told when off: older libraries do not know the name.
        push(&mut options, "track_and_verify_wals", true);
    }
    if knobs.preset == Preset::Prefix {
        if knobs.direct_io {
            return Err(Error::Unsupported(
                "rocksdb: preset 'prefix' maps tables into memory, which excludes direct_io=on"
                    .to_owned(),
            ));
        }
        options.push_str(PREFIX_PRESET);
        return Ok(options);
    }
    let direct = knobs.direct_io;
    push(&mut options, "use_direct_reads", direct);
    push(
        &mut options,
        "use_direct_io_for_flush_and_compaction",
        direct,
    );
    for (name, number) in [
        ("write_buffer_size", knobs.write_buffer_size),
        ("max_write_buffer_number", knobs.max_write_buffer_number),
        ("max_background_jobs", knobs.max_background_jobs),
    ] {
        push(&mut options, name, number);
    }
    push(&mut options, "max_open_files", knobs.max_open_files);
    push(&mut options, "compression", compression(knobs.compression));
    push_prefix(&mut options, knobs)?;
    push_table(&mut options, knobs);
    Ok(options)
}

fn push(options: &mut String, name: &str, value: impl std::fmt::Display) {
    // Writing to a string does not fail.
    let _ = write!(options, "{name}={value};");
}

fn compression(asked: RocksDbCompression) -> &'static str {
    match asked {
        RocksDbCompression::None => "kNoCompression",
        RocksDbCompression::Snappy => "kSnappyCompression",
        RocksDbCompression::Lz4 => "kLZ4Compression",
        RocksDbCompression::Zstd => "kZSTD",
    }
}

fn push_prefix(options: &mut String, knobs: &RocksDbKnobs) -> Result<()> {
    let length = knobs.prefix_length;
    if length > 0 {
        push(
            options,
            "prefix_extractor",
            format_args!("rocksdb.CappedPrefix.{length}"),
        );
    }
    if knobs.hash_index {
        if length == 0 {
            return Err(Error::Unsupported(
                "rocksdb: hash_index needs a prefix_length above 0".to_owned(),
            ));
        }
        // A bucket is a pointer; the table of them may take a sixteenth of the write buffer.
        let buckets = (knobs.write_buffer_size / 128).min(1 << 20);
        push(
            options,
            "memtable_factory",
            format_args!("prefix_hash:{buckets}"),
        );
        push(options, "allow_concurrent_memtable_write", false);
    }
    Ok(())
}

fn push_table(options: &mut String, knobs: &RocksDbKnobs) {
    let mut table = String::new();
    push(&mut table, "block_size", knobs.block_size);
    match knobs.block_cache {
        0 => push(&mut table, "no_block_cache", true),
        bytes => push(&mut table, "block_cache", bytes),
    }
    let bits = knobs.bloom_bits;
    if bits > 0 {
        push(
            &mut table,
            "filter_policy",
            format_args!("bloomfilter:{bits}:false"),
        );
    }
    if knobs.hash_index {
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
    use trueput_engine::{Value, parameter};

    fn of(given: &[(&str, Value)]) -> Result<String> {
        let given = given
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()));
        let values =
            parameter::resolve("rocksdb", RocksDbKnobs::PARAMETERS, &given.collect()).unwrap();
        options(&RocksDbKnobs::from(&values))
    }

    #[test]
    fn a_hash_index_without_a_prefix_is_refused() {
        assert!(
            of(&[("hash_index", true.into())])
                .unwrap_err()
                .to_string()
                .contains("prefix_length")
        );
        let with = of(&[("hash_index", true.into()), ("prefix_length", 8_i64.into())]).unwrap();
        assert!(
            with.contains("prefix_extractor=rocksdb.CappedPrefix.8;"),
            "{with}"
        );
    }
}
