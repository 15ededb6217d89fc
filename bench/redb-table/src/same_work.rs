//! The work of trueput's trials that stand for the phases, over redb's own interface: dense keys in
//! hexadecimal digits, a database loaded in the order of its keys, overwrites of random pairs, and
//! a transaction for each read. What is left between these rates and trueput's is trueput's own
//! cost.

use crate::{
    BATCH_PAIRS, BATCHES, Bytes, KEY_BYTES, RANGE_PAIRS, RECORDS_PER_RANGE, RECORDS_PER_READ, SEED,
    SINGLE_WRITES, TABLE, UNSYNCED_WRITES, VALUE_BYTES, later_pairs, phase,
};
use anyhow::{Context, Result, anyhow, ensure};
use redb::{Builder, Database, Durability, ReadableDatabase, Table};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::thread;
use trueput_record::random::SplitMix64;

/// Pairs of a transaction of the load in the order of the keys.
const LOAD_PAIRS: u64 = 10_000;

/// Random numbers of pairs, and values.
struct Draws {
    random: SplitMix64,
    records: u64,
    value: [u8; VALUE_BYTES],
}

impl Draws {
    fn new(seed: u64, records: u64) -> Self {
        Self {
            random: SplitMix64::new(seed),
            records,
            value: [0; VALUE_BYTES],
        }
    }

    fn number(&mut self) -> u64 {
        self.random.below(self.records as usize) as u64
    }

    fn value(&mut self) -> &[u8] {
        for part in self.value.chunks_mut(8) {
            let word = self.random.next_u64().to_le_bytes();
            part.copy_from_slice(&word[..part.len()]);
        }
        &self.value
    }

    /// The numbers of all records in random order.
    fn permutation(&mut self) -> Vec<u64> {
        let mut numbers: Vec<u64> = (0..self.records).collect();
        for place in (1..numbers.len()).rev() {
            numbers.swap(place, self.random.below(place + 1));
        }
        numbers
    }
}

/// A pair's key: its number in hexadecimal digits.
fn key(mut number: u64) -> [u8; KEY_BYTES] {
    const DIGITS: [u8; 16] = *b"0123456789abcdef";
    let mut key = [b'0'; KEY_BYTES];
    for digit in key.iter_mut().rev() {
        *digit = DIGITS[(number & 15) as usize];
        number >>= 4;
        if number == 0 {
            break;
        }
    }
    key
}

/// Runs all phases in the folder.
pub fn run(folder: &Path, records: u64, cache_bytes: usize, threads: &[u64]) -> Result<()> {
    let mut draws = Draws::new(SEED, records);
    let numbers = draws.permutation();
    let mut builder = Builder::new();
    builder.set_cache_size(cache_bytes);
    let database = builder.create(folder.join("random.redb"))?;
    phase("load", records, || {
        write(&database, Durability::Immediate, &numbers, &mut draws)
    })?;
    drop(database);
    let loaded = LoadedDatabase {
        ordered: folder.join("ordered.redb"),
        copy: folder.join("copy.redb"),
        builder,
    };
    load_in_order(&loaded.builder.create(&loaded.ordered)?, &mut draws)?;
    read_phases(&loaded, &mut draws, threads)?;
    write_phases(&loaded, &mut draws)?;
    let removed = (records / 2) as usize;
    let database = loaded.open()?;
    phase("remove", removed as u64, || {
        remove(&database, &numbers[..removed])
    })
}

/// A database that was loaded in the order of its keys, of which each phase has a copy: like a
/// trial, it begins with nothing in its cache.
struct LoadedDatabase {
    ordered: PathBuf,
    copy: PathBuf,
    builder: Builder,
}

impl LoadedDatabase {
    fn open(&self) -> Result<Database> {
        fs::copy(&self.ordered, &self.copy)?;
        File::open(&self.copy)?.sync_all()?;
        Ok(self.builder.open(&self.copy)?)
    }
}

fn load_in_order(database: &Database, draws: &mut Draws) -> Result<()> {
    let numbers: Vec<u64> = (0..draws.records).collect();
    let mut parts = numbers.chunks(LOAD_PAIRS as usize);
    parts.try_for_each(|part| write(database, Durability::Immediate, part, draws))
}

/// Writes these pairs in one transaction.
fn write(
    database: &Database,
    durability: Durability,
    numbers: &[u64],
    draws: &mut Draws,
) -> Result<()> {
    write_with(database, durability, |table| {
        for &number in numbers {
            table.insert(key(number).as_slice(), draws.value())?;
        }
        Ok(())
    })
}

/// Overwrites as many random pairs in one transaction.
fn overwrite(
    database: &Database,
    durability: Durability,
    count: u64,
    draws: &mut Draws,
) -> Result<()> {
    write_with(database, durability, |table| {
        for _ in 0..count {
            let number = draws.number();
            table.insert(key(number).as_slice(), draws.value())?;
        }
        Ok(())
    })
}

fn write_with(
    database: &Database,
    durability: Durability,
    put: impl FnOnce(&mut Table<'_, Bytes, Bytes>) -> Result<()>,
) -> Result<()> {
    let mut transaction = database.begin_write()?;
    transaction.set_durability(durability)?;
    put(&mut transaction.open_table(TABLE)?)?;
    transaction.commit()?;
    Ok(())
}

fn write_phases(loaded: &LoadedDatabase, draws: &mut Draws) -> Result<()> {
    let mut repeat = |name: &str, durability: Durability, times: u64, count: u64| {
        let database = loaded.open()?;
        phase(name, times * count, || {
            (0..times).try_for_each(|_| overwrite(&database, durability, count, draws))
        })
    };
    repeat("single", Durability::Immediate, SINGLE_WRITES, 1)?;
    repeat("batch", Durability::Immediate, BATCHES, BATCH_PAIRS)?;
    repeat("unsynced", Durability::None, UNSYNCED_WRITES, 1)
}

fn read_phases(loaded: &LoadedDatabase, draws: &mut Draws, threads: &[u64]) -> Result<()> {
    let records = draws.records;
    let reads = records / RECORDS_PER_READ;
    let database = loaded.open()?;
    phase("read", reads, || read(&database, draws, reads))?;
    drop(database);
    let ranges = records / RECORDS_PER_RANGE;
    let database = loaded.open()?;
    phase("range", ranges, || read_ranges(&database, draws, ranges))?;
    drop(database);
    for &count in threads {
        let share = later_pairs(records) / count;
        let database = loaded.open()?;
        phase(&format!("read-{count}"), share * count, || {
            read_by_threads(&database, records, count, share)
        })?;
    }
    Ok(())
}

/// Reads random pairs, each in a transaction.
fn read(database: &Database, draws: &mut Draws, count: u64) -> Result<()> {
    for _ in 0..count {
        let table = database.begin_read()?.open_table(TABLE)?;
        let found = table.get(key(draws.number()).as_slice())?;
        let found = found.context("a pair is missing")?;
        ensure!(found.value().len() == VALUE_BYTES, "a value was cut");
    }
    Ok(())
}

fn read_ranges(database: &Database, draws: &mut Draws, count: u64) -> Result<()> {
    let mut pairs = 0;
    for _ in 0..count {
        let table = database.begin_read()?.open_table(TABLE)?;
        let from = key(draws.number());
        for pair in table.range(from.as_slice()..)?.take(RANGE_PAIRS) {
            pairs += usize::from(pair?.1.value().len() == VALUE_BYTES);
        }
    }
    ensure!(pairs > 0, "the ranges are empty");
    Ok(())
}

fn read_by_threads(database: &Database, records: u64, threads: u64, share: u64) -> Result<()> {
    let barrier = Barrier::new(threads as usize);
    let by_seed = |seed: u64| {
        barrier.wait();
        read(database, &mut Draws::new(seed, records), share)
    };
    thread::scope(|scope| {
        let by_seed = &by_seed;
        let readers: Vec<_> = (0..threads)
            .map(|seed| scope.spawn(move || by_seed(seed)))
            .collect();
        readers.into_iter().try_for_each(|reader| {
            let ended = reader.join();
            ended.map_err(|_| anyhow!("a reader panicked"))?
        })
    })
}

/// Removes these pairs in one transaction.
fn remove(database: &Database, numbers: &[u64]) -> Result<()> {
    write_with(database, Durability::Immediate, |table| {
        for &number in numbers {
            table
                .remove(key(number).as_slice())?
                .context("a pair is missing")?;
        }
        Ok(())
    })
}
