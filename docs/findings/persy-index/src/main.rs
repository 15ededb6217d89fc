//! persy's indexes: a range that has its excluded end, and snapshots that change.
//!
//! Usage: `persy-index FOLDER [READERS]`. The folder must not exist.

use persy::{ByteVec, Config, OpenOptions, Persy, ValueMode};
use std::ops::Bound;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

const KEYS: u32 = 400;
const COMMITS: u32 = 1000;

fn main() {
    let folder = std::env::args()
        .nth(1)
        .expect("usage: persy-index FOLDER [READERS]");
    let readers = std::env::args()
        .nth(2)
        .map_or(3, |number| number.parse().unwrap());
    let folder = Path::new(&folder);
    std::fs::create_dir(folder).expect("a new folder");
    range(&folder.join("range"));
    snapshots(&folder.join("snapshots"), readers);
}

/// Looks for keys below the first one.
fn range(path: &Path) {
    let persy = open(path);
    let bounds = (Bound::Unbounded, Bound::Excluded(key(0)));
    let found = persy
        .range::<ByteVec, ByteVec, _>("index", bounds)
        .expect("range");
    println!("range(..first key): {} keys", found.count());
}

/// One thread puts the same value at all keys, again and again. Others read all values in a
/// snapshot.
fn snapshots(path: &Path, readers: usize) {
    let persy = &open(path);
    let is_done = &AtomicBool::new(false);
    std::panic::set_hook(Box::new(|_| ()));
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..readers)
            .map(|_| scope.spawn(|| read_snapshots(persy, is_done)))
            .collect();
        let writer = scope.spawn(|| (1..=COMMITS).for_each(|number| put_all(persy, number)));
        let written = writer.join();
        is_done.store(true, Relaxed);
        if let Err(panic) = written {
            println!("the writer panicked: {:?}", message(&*panic));
        }
        for reader in readers {
            match reader.join() {
                Ok((torn, read)) => {
                    println!("{torn} of {read} snapshots had values of two transactions")
                }
                Err(panic) => println!("a reader panicked: {:?}", message(&*panic)),
            }
        }
    });
}

fn read_snapshots(persy: &Persy, is_done: &AtomicBool) -> (u32, u32) {
    let (mut torn, mut read) = (0, 0);
    while !is_done.load(Relaxed) {
        let snapshot = persy.snapshot().expect("snapshot");
        let records = snapshot
            .range::<ByteVec, ByteVec, _>("index", ..)
            .expect("range");
        let values: Vec<ByteVec> = records
            .map(|(_, mut values)| values.next().expect("a value"))
            .collect();
        read += 1;
        torn += u32::from(values.iter().any(|value| *value != values[0]));
    }
    (torn, read)
}

fn put_all(persy: &Persy, number: u32) {
    let mut transaction = persy.begin().expect("begin");
    for index in 0..KEYS {
        transaction
            .put("index", key(index), value(number))
            .expect("put");
    }
    transaction.commit().expect("commit");
}

fn open(path: &Path) -> Persy {
    let mut options = OpenOptions::new();
    options.create(true).config(Config::new());
    options.prepare_with(|persy| {
        let mut transaction = persy.begin()?;
        transaction.create_index::<ByteVec, ByteVec>("index", ValueMode::Replace)?;
        transaction.commit()?;
        Ok(())
    });
    let persy = options.open(path).expect("open");
    put_all(&persy, 0);
    persy
}

fn key(number: u32) -> ByteVec {
    ByteVec::from(number.to_be_bytes().to_vec())
}

fn value(number: u32) -> ByteVec {
    ByteVec::from(number.to_be_bytes().repeat(64))
}

fn message(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or(panic.downcast_ref::<&str>().copied())
        .unwrap_or("?")
}
