//! Commits records to a canopydb database, or reads them. lost_truncation.sh and
//! ../power-cut/cut_power.sh run it.
//!
//! `canopydb-lost-truncation write FOLDER [SECONDS]`: creates a database, commits records, makes a
//! checkpoint, commits more, and ends without closing the database. With SECONDS it waits so long
//! before it ends, and commits as many again.
//! `canopydb-lost-truncation read FOLDER`: opens it, and prints the records that are there.
//! `canopydb-lost-truncation more FOLDER`: opens it, commits one more record, closes it, and prints
//! the same.

use canopydb::Database;

const BEFORE_CHECKPOINT: u32 = 100;
const AFTER_CHECKPOINT: u32 = 20;
const ONE_MORE: u32 = 999;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let (command, folder) = (&arguments[1], &arguments[2]);
    if command == "write" {
        std::fs::create_dir(folder).expect("a new folder");
    }
    let database = open(folder);
    match command.as_str() {
        "write" => {
            let mut commits = 1..;
            let mut commit_next = |count: u32| {
                let numbers = commits.by_ref().take(count as usize);
                numbers.for_each(|number| commit(&database, number));
            };
            commit_next(BEFORE_CHECKPOINT);
            database.checkpoint().expect("checkpoint");
            commit_next(AFTER_CHECKPOINT);
            if let Some(seconds) = arguments.get(3) {
                let seconds = seconds.parse().expect("a number of seconds");
                std::thread::sleep(std::time::Duration::from_secs(seconds));
                commit_next(AFTER_CHECKPOINT);
            }
            println!("commits 1 to {} returned", commits.start - 1);
            // No destructor runs.
            std::process::exit(0);
        }
        "more" => {
            commit(&database, ONE_MORE);
            drop(database);
            let records = records(&open(folder));
            println!("commit {ONE_MORE} returned; opened again, records {records}");
        }
        _ => println!("opens, records {}", records(&database)),
    }
}

fn open(folder: &str) -> Database {
    Database::new(folder).unwrap_or_else(|error| {
        println!("does not open: {error}");
        std::process::exit(1);
    })
}

fn commit(database: &Database, number: u32) {
    let transaction = database.begin_write().expect("begin");
    let mut tree = transaction.get_or_create_tree(b"tree").expect("tree");
    tree.insert(&number.to_be_bytes(), &[b'v'; 100])
        .expect("insert");
    drop(tree);
    transaction.commit_with(true).expect("commit");
}

/// The numbers of the records, each range without a gap as its first and its last one.
fn records(database: &Database) -> String {
    let transaction = database.begin_read().expect("begin");
    let Some(tree) = transaction.get_tree(b"tree").expect("tree") else {
        return "none".to_owned();
    };
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for number in 1..=ONE_MORE {
        if tree.get(&number.to_be_bytes()).expect("get").is_none() {
            continue;
        }
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    let texts = ranges.into_iter().map(|(first, last)| {
        if first == last {
            first.to_string()
        } else {
            format!("{first} to {last}")
        }
    });
    texts.collect::<Vec<_>>().join(", ")
}
