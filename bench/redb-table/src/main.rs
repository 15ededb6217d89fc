//! The phases of the table in redb's README, over redb's own interface, without trueput. The phases
//! and their proportions are those of `crates/redb-bench` of cberner/redb (2026-08-21), which has
//! 5,000,000 pairs; the program is written anew.
//!
//! `redb-table FOLDER RECORDS CACHE_BYTES THREADS...` prints a line for each phase: its name, the
//! number of its operations and the seconds that they took. With `--same-work` before the folder,
//! the phases do the work of trueput's trials instead ([`same_work`]). `scripts/compare-redb` runs
//! both.

mod same_work;

use anyhow::{Context, Result, anyhow, ensure};
use redb::{
    Builder, Database, Durability, ReadableDatabase, ReadableTable, ReadableTableMetadata,
    TableDefinition,
};
use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::thread;
use std::time::Instant;
use trueput_record::random::{GOLDEN_STEP, mix};

type Bytes = &'static [u8];

const TABLE: TableDefinition<'_, Bytes, Bytes> = TableDefinition::new("x");

const KEY_BYTES: usize = 24;
const VALUE_BYTES: usize = 150;
const SEED: u64 = 3;

/// Transactions of one pair, durable.
const SINGLE_WRITES: u64 = 1_000;
/// Transactions of `BATCH_PAIRS` pairs, durable.
const BATCHES: u64 = 100;
const BATCH_PAIRS: u64 = 1_000;
/// Transactions of one pair without durability.
const UNSYNCED_WRITES: u64 = 50_000;
/// Pairs of a range read.
const RANGE_PAIRS: usize = 10;
/// The pairs per read of the phase with reads by one thread, and with range reads.
const RECORDS_PER_READ: u64 = 5;
const RECORDS_PER_RANGE: u64 = 10;
/// Passes of these two phases, of which the median is taken.
const PASSES: usize = 3;

/// Random words of a pair.
const PAIR_WORDS: u64 = (KEY_BYTES.div_ceil(8) + VALUE_BYTES.div_ceil(8)) as u64;

/// The pairs in the order in which they are written, drawn by splitmix64. Two of them made anew are
/// equal.
struct Pairs {
    state: u64,
}

impl Pairs {
    fn new() -> Self {
        Self::starting_at(0)
    }

    /// The pairs from the one with that number on.
    fn starting_at(number: u64) -> Self {
        let steps = number.wrapping_mul(PAIR_WORDS);
        Self {
            state: SEED.wrapping_add(steps.wrapping_mul(GOLDEN_STEP)),
        }
    }

    fn draw(&mut self) -> ([u8; KEY_BYTES], [u8; VALUE_BYTES]) {
        let (mut key, mut value) = ([0; KEY_BYTES], [0; VALUE_BYTES]);
        self.fill(&mut key);
        self.fill(&mut value);
        (key, value)
    }

    fn fill(&mut self, bytes: &mut [u8]) {
        for part in bytes.chunks_mut(8) {
            self.state = self.state.wrapping_add(GOLDEN_STEP);
            let word = mix(self.state).to_le_bytes();
            part.copy_from_slice(&word[..part.len()]);
        }
    }
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1).peekable();
    let is_same_work = arguments.next_if_eq("--same-work").is_some();
    let mut next = || {
        let usage = "usage: redb-table [--same-work] FOLDER RECORDS CACHE_BYTES THREADS...";
        arguments.next().context(usage)
    };
    let folder = PathBuf::from(next()?);
    let records: u64 = next()?.parse()?;
    let cache_bytes: usize = next()?.parse()?;
    let threads: Vec<u64> = arguments
        .map(|count| count.parse())
        .collect::<Result<_, _>>()?;
    ensure!(
        records >= RECORDS_PER_RANGE,
        "at least {RECORDS_PER_RANGE} records"
    );
    ensure!(!threads.contains(&0), "at least one thread");
    if is_same_work {
        return same_work::run(&folder, records, cache_bytes, &threads);
    }
    let path = folder.join("table.redb");
    let mut builder = Builder::new();
    let mut database = builder.set_cache_size(cache_bytes).create(&path)?;
    let pairs = write_phases(&database, records)?;
    read_phases(&database, records, pairs)?;
    for count in threads {
        threads_phase(&database, count, pairs)?;
    }
    let removed = pairs / 2;
    phase("remove", removed, || remove(&database, removed))?;
    print_size("uncompacted", &path)?;
    database.compact()?;
    print_size("compacted", &path)
}

/// Times a phase and prints its line.
fn phase(name: &str, operations: u64, work: impl FnOnce() -> Result<()>) -> Result<()> {
    let elapsed_s = time(work)?;
    print_phase(name, operations, elapsed_s);
    Ok(())
}

/// Times several passes of a phase, and prints its line with the median.
fn median_phase(name: &str, operations: u64, work: impl Fn() -> Result<()>) -> Result<()> {
    let mut times_s = [0.0; PASSES];
    for elapsed_s in &mut times_s {
        *elapsed_s = time(&work)?;
    }
    times_s.sort_by(f64::total_cmp);
    print_phase(name, operations, times_s[PASSES / 2]);
    Ok(())
}

fn time(work: impl FnOnce() -> Result<()>) -> Result<f64> {
    let begun = Instant::now();
    work()?;
    Ok(begun.elapsed().as_secs_f64())
}

fn print_phase(name: &str, operations: u64, elapsed_s: f64) {
    println!("{name}\t{operations}\t{elapsed_s:.6}");
}

/// The phases that write; returns how many pairs there are after them.
fn write_phases(database: &Database, records: u64) -> Result<u64> {
    let mut pairs = Pairs::new();
    let durable = Durability::Immediate;
    phase("load", records, || {
        write(database, durable, &mut pairs, records)
    })?;
    phase("single", SINGLE_WRITES, || {
        (0..SINGLE_WRITES).try_for_each(|_| write(database, durable, &mut pairs, 1))
    })?;
    phase("batch", BATCHES * BATCH_PAIRS, || {
        (0..BATCHES).try_for_each(|_| write(database, durable, &mut pairs, BATCH_PAIRS))
    })?;
    phase("unsynced", UNSYNCED_WRITES, || {
        let unsynced = Durability::None;
        (0..UNSYNCED_WRITES).try_for_each(|_| write(database, unsynced, &mut pairs, 1))
    })?;
    Ok(later_pairs(records))
}

/// The pairs after the phases that write.
fn later_pairs(records: u64) -> u64 {
    records + SINGLE_WRITES + BATCHES * BATCH_PAIRS + UNSYNCED_WRITES
}

/// Writes the next pairs in one transaction.
fn write(database: &Database, durability: Durability, pairs: &mut Pairs, count: u64) -> Result<()> {
    let mut transaction = database.begin_write()?;
    transaction.set_durability(durability)?;
    {
        let mut table = transaction.open_table(TABLE)?;
        for _ in 0..count {
            let (key, value) = pairs.draw();
            table.insert(key.as_slice(), value.as_slice())?;
        }
    }
    transaction.commit()?;
    Ok(())
}

/// The phases that read, by one thread in one transaction.
fn read_phases(database: &Database, records: u64, pairs: u64) -> Result<()> {
    let table = database.begin_read()?.open_table(TABLE)?;
    phase("count", 1, || {
        let found = table.len()?;
        ensure!(found == pairs, "{found} pairs instead of {pairs}");
        Ok(())
    })?;
    let reads = records / RECORDS_PER_READ;
    median_phase("read", reads, || read(&table, &mut Pairs::new(), reads))?;
    let ranges = records / RECORDS_PER_RANGE;
    median_phase("range", ranges, || read_ranges(&table, ranges))
}

/// Reads the next pairs, and compares the sums of their first bytes.
fn read(table: &impl ReadableTable<Bytes, Bytes>, pairs: &mut Pairs, count: u64) -> Result<()> {
    let (mut found, mut expected) = (0_u64, 0_u64);
    for _ in 0..count {
        let (key, value) = pairs.draw();
        let read = table.get(key.as_slice())?.context("a pair is missing")?;
        found += u64::from(read.value()[0]);
        expected += u64::from(value[0]);
    }
    ensure!(found == expected, "wrong values were read");
    Ok(())
}

/// Reads up to ten pairs from each of the first pairs on.
fn read_ranges(table: &impl ReadableTable<Bytes, Bytes>, count: u64) -> Result<()> {
    let mut pairs = Pairs::new();
    let mut sum = 0_u64;
    for _ in 0..count {
        let (key, _) = pairs.draw();
        for pair in table.range(key.as_slice()..)?.take(RANGE_PAIRS) {
            let (_, value) = pair?;
            sum += u64::from(value.value()[0]);
        }
    }
    ensure!(sum > 0, "the ranges are empty");
    Ok(())
}

/// Reads all pairs by several threads, each its share in a transaction of its own.
fn threads_phase(database: &Database, threads: u64, pairs: u64) -> Result<()> {
    let share = pairs / threads;
    let shares = (0..threads).map(|part| Pairs::starting_at(part * share));
    let shares: Vec<_> = shares.collect();
    let barrier = Barrier::new(shares.len());
    let by_share = |mut pairs: Pairs| {
        barrier.wait();
        let table = database.begin_read()?.open_table(TABLE)?;
        read(&table, &mut pairs, share)
    };
    phase(&format!("read-{threads}"), share * threads, || {
        thread::scope(|scope| {
            let by_share = &by_share;
            let spawn = |pairs| scope.spawn(move || by_share(pairs));
            let readers: Vec<_> = shares.into_iter().map(spawn).collect();
            readers.into_iter().try_for_each(|reader| {
                let ended = reader.join();
                ended.map_err(|_| anyhow!("a reader panicked"))?
            })
        })
    })
}

/// Removes the first pairs in one transaction.
fn remove(database: &Database, count: u64) -> Result<()> {
    let mut pairs = Pairs::new();
    let transaction = database.begin_write()?;
    {
        let mut table = transaction.open_table(TABLE)?;
        for _ in 0..count {
            let (key, _) = pairs.draw();
            table.remove(key.as_slice())?.context("a pair is missing")?;
        }
    }
    transaction.commit()?;
    Ok(())
}

/// Prints the length of the file, as a phase that took no time.
fn print_size(name: &str, path: &Path) -> Result<()> {
    let bytes = std::fs::metadata(path)?.len();
    println!("{name}\t{bytes}\t0");
    Ok(())
}
