//! Commits transactions to a persy file, or opens it and checks it. kill_recovery.sh runs it.
//!
//! `persy-recovery write FILE`: transactions of 6 records each, until it is killed.
//! `persy-recovery open FILE`: opens it, and ends.
//! `persy-recovery check FILE`: looks for whole transactions, then commits 40 more and looks again.

use persy::{ByteVec, OpenOptions, Persy, ValueMode};
use std::io::Write;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let persy = open(&arguments[2]);
    if arguments[1] == "open" {
        return;
    }
    if arguments[1] == "write" {
        for of in 1.. {
            commit(&persy, of);
            println!("{of}");
            std::io::stdout().flush().unwrap();
        }
    }
    let mut last = check(&persy);
    for _ in 0..40 {
        last += 1;
        commit(&persy, last);
        check(&persy);
    }
}

fn open(path: &str) -> Persy {
    let mut options = OpenOptions::new();
    options.create(true).prepare_with(|persy| {
        let mut transaction = persy.begin()?;
        transaction.create_index::<ByteVec, ByteVec>("index", ValueMode::Replace)?;
        transaction.commit()?;
        Ok(())
    });
    options.open(path).expect("open")
}

/// Five new records, and one that says which transaction was the last. The five records that 20
/// transactions before put are removed.
fn commit(persy: &Persy, of: u32) {
    let mut transaction = persy.begin().expect("begin");
    for part in 0..5 {
        let value = ByteVec::from(of.to_be_bytes().repeat(50 + 997 * (of as usize % 3)));
        transaction.put("index", key(of, part), value).expect("put");
    }
    if of >= 20 {
        for part in 0..5 {
            transaction
                .remove("index", key(of - 20, part), None::<ByteVec>)
                .expect("remove");
        }
    }
    let last = ByteVec::from(of.to_be_bytes().to_vec());
    transaction.put("index", name(), last).expect("put");
    transaction.commit().expect("commit");
}

/// Returns the number of the last transaction.
fn check(persy: &Persy) -> u32 {
    let last = persy.one::<_, ByteVec>("index", &name()).expect("one");
    let last = last.map_or(0, |bytes| number(&bytes));
    for of in 1..=last {
        for part in 0..5 {
            let found = persy
                .one::<_, ByteVec>("index", &key(of, part))
                .expect("one");
            let is_right = match found {
                Some(value) => of + 20 > last && number(&value) == of,
                None => of + 20 <= last,
            };
            assert!(is_right, "record {part} of {of}; the last one is {last}");
        }
    }
    last
}

fn name() -> ByteVec {
    ByteVec::from(b"last".to_vec())
}

fn key(of: u32, part: u32) -> ByteVec {
    ByteVec::from([of.to_be_bytes(), part.to_be_bytes()].concat())
}

fn number(bytes: &ByteVec) -> u32 {
    u32::from_be_bytes(bytes[..4].try_into().unwrap())
}
