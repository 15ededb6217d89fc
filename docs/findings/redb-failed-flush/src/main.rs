//! Commits records to a redb database whose disk fails, or reads them.
//!
//! `redb-failed-flush write FOLDER`: creates a database, commits records until an error, opens the
//! database again, commits as many records, and ends without closing it.
//! `redb-failed-flush look FOLDER`: opens it and counts the records.

use redb::{Database, Error, ReadableDatabase, ReadableTableMetadata, TableDefinition};
use std::ops::Range;
use std::path::Path;
use std::process::exit;

const TABLE: TableDefinition<'_, u32, &[u8]> = TableDefinition::new("table");
const COMMITS: u32 = 10;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let (command, folder) = (&arguments[1], Path::new(&arguments[2]));
    let database = open(folder);
    if command == "write" {
        commit_all(&database, 1..1 + COMMITS);
        drop(database);
        let database = open(folder);
        println!("opens; records: {}", count(&database));
        commit_all(&database, 11..11 + COMMITS);
        // No destructor runs.
        exit(0);
    }
    println!("opens; records: {}", count(&database));
}

fn open(folder: &Path) -> Database {
    Database::create(folder.join("database")).unwrap_or_else(|error| {
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
    let last = numbers.end - 1;
    println!("commits {} to {last} returned Ok", numbers.start);
}

fn commit(database: &Database, number: u32) -> Result<(), Error> {
    let transaction = database.begin_write()?;
    transaction
        .open_table(TABLE)?
        .insert(number, [b'v'; 10_000].as_slice())?;
    Ok(transaction.commit()?)
}

fn count(database: &Database) -> u64 {
    let transaction = database.begin_read().expect("begin");
    transaction
        .open_table(TABLE)
        .and_then(|table| Ok(table.len()?))
        .unwrap_or_default()
}
