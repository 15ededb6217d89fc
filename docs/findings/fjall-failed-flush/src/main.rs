//! Commits records to a fjall database whose disk fails, or reads them.
//!
//! `fjall-failed-flush write FOLDER`: creates a database, commits records until an error, opens the
//! database again, commits as many records, and ends without closing it.
//! `fjall-failed-flush look FOLDER`: opens it and prints the records that are there.

use fjall::{Database, KeyspaceCreateOptions, PersistMode};
use std::ops::Range;
use std::process::exit;

const COMMITS: u32 = 10;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let (command, folder) = (&arguments[1], &arguments[2]);
    let database = open(folder);
    println!("opens; records {:?}", records(&database));
    if command == "write" {
        commit_all(&database, 1..1 + COMMITS);
        drop(database);
        let database = open(folder);
        println!("opens; records {:?}", records(&database));
        commit_all(&database, 11..11 + COMMITS);
        // No destructor runs.
        exit(0);
    }
}

fn open(folder: &str) -> Database {
    Database::builder(folder).open().unwrap_or_else(|error| {
        println!("does not open: {error}");
        exit(1);
    })
}

fn commit_all(database: &Database, numbers: Range<u32>) {
    for number in numbers.clone() {
        if let Err(error) = commit(database, number) {
            println!("commits {} to {} returned Ok", numbers.start, number - 1);
            println!("commit {number}: {error}");
            return;
        }
    }
    println!(
        "commits {} to {} returned Ok",
        numbers.start,
        numbers.end - 1
    );
}

fn commit(database: &Database, number: u32) -> fjall::Result<()> {
    let records = database.keyspace("records", KeyspaceCreateOptions::default)?;
    let mut batch = database.batch().durability(Some(PersistMode::SyncAll));
    batch.insert(&records, number.to_be_bytes(), bytes(number));
    batch.commit()
}

fn records(database: &Database) -> Vec<u32> {
    let records = database
        .keyspace("records", KeyspaceCreateOptions::default)
        .expect("keyspace");
    (1..=2 * COMMITS)
        .filter(|number| records.get(number.to_be_bytes()).expect("get").is_some())
        .collect()
}

/// Bytes that no compression makes fewer.
fn bytes(seed: u32) -> Vec<u8> {
    let mut state = u64::from(seed) << 32 | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    (0..10_000).map(|_| next()).collect()
}
