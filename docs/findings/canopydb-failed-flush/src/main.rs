//! Commits records to a canopydb database whose disk fails, or reads them.
//!
//! `canopydb-failed-flush write FOLDER`: creates a database, commits records until an error, opens
//! the database again, commits as many records, makes a checkpoint, and ends without closing it.
//! `canopydb-failed-flush more FOLDER`: opens it and prints the records that are there, twice, with
//! one more commit between.

use canopydb::{Database, DbOptions, EnvOptions, Error};
use std::ops::Range;
use std::process::exit;

const COMMITS: u32 = 10;
const ONE_MORE: u32 = 99;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let (command, folder) = (&arguments[1], &arguments[2]);
    let database = open(folder);
    match command.as_str() {
        "write" => {
            commit_all(&database, 1..1 + COMMITS);
            drop(database);
            let database = open(folder);
            println!("opens; records {}", records(&database));
            commit_all(&database, 11..11 + COMMITS);
            database.checkpoint().expect("checkpoint");
            // No destructor runs.
            exit(0);
        }
        _ => {
            println!("opens; records {}", records(&database));
            commit(&database, ONE_MORE).expect("commit");
            println!("commit {ONE_MORE} returned Ok");
            drop(database);
            println!("opens; records {}", records(&open(folder)));
        }
    }
}

fn open(folder: &str) -> Database {
    let mut options = DbOptions::new();
    options.default_commit_sync = true;
    Database::with_options(EnvOptions::new(folder), options).unwrap_or_else(|error| {
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

fn commit(database: &Database, number: u32) -> Result<(), Error> {
    let transaction = database.begin_write()?;
    let mut tree = transaction.get_or_create_tree(b"tree")?;
    tree.insert(&number.to_be_bytes(), &[b'v'; 10_000])?;
    drop(tree);
    transaction.commit().map(drop)
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
