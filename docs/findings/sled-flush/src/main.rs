//! Writes records to a sled database and flushes it, or reads them. cut_power.sh runs it, and
//! kill_open.sh of the folder sled-snapshot-file.
//!
//! `sled-flush write FOLDER small`: 20 records of 100 KB, `flush()` after each.
//! `sled-flush write FOLDER large`: a record of 200 KB, `flush()`, and 3 seconds of waiting.
//! `sled-flush read FOLDER`: what is there.

use std::io::Write;
use std::time::Duration;

fn write(db: &sled::Db, kind: &str) -> sled::Result<()> {
    if kind == "large" {
        db.insert("large", vec![7_u8; 200_000])?;
        db.flush()?;
        // Meanwhile the background thread calls fsync.
        std::thread::sleep(Duration::from_secs(3));
        println!("flush() returned 3 s ago, for a record of 200 KB");
        return Ok(());
    }
    for number in 0..20_u32 {
        db.insert(number.to_be_bytes(), vec![7_u8; 100_000])?;
        db.flush()?;
    }
    println!("flush() returned after each of 20 records");
    Ok(())
}

fn read(db: &sled::Db) -> sled::Result<()> {
    let mut count = 0;
    for record in db.iter() {
        record?;
        count += 1;
    }
    println!("opens, {count} records");
    Ok(())
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let is_writer = arguments[1] == "write";
    let result = sled::open(&arguments[2]).and_then(|db| {
        if is_writer {
            write(&db, &arguments[3])?;
            // Not closed: the caller stops or kills the process while it waits.
            std::io::stdout().flush()?;
            std::thread::sleep(Duration::from_secs(600));
            return Ok(());
        }
        read(&db)
    });
    if let Err(error) = result {
        println!("error: {error}");
        std::process::exit(1);
    }
}
