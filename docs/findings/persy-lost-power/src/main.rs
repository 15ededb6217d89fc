//! The power is lost after a commit to a persy file has returned. What is in the file?
//!
//! `persy-lost-power FOLDER [COMMITS]`: the folder must not exist.
//! `persy-lost-power check FILE`: opens a file and prints its records.
//!
//! Each of the first 30 transactions inserts a record, and each later one updates one of these.
//! `prepare` flushes the file (fsync). `commit` writes to it and returns without a flush. The
//! program copies the file after each of the two. Where pages of 4 KiB differ, Linux may have
//! written each to the disk or not when the power is lost. The program makes each such file, and
//! another process opens it.

use persy::{Config, Persy, TransactionConfig};
use std::fs::{create_dir, read, write};
use std::io::Write;
use std::path::Path;
use std::process::Command;

const PAGE: usize = 4096;
const RECORDS: usize = 30;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments[1] == "check" {
        return check(&arguments[2]);
    }
    let commits = arguments.get(2).map_or(32, |text| text.parse().unwrap());
    let folder = Path::new(&arguments[1]);
    create_dir(folder).expect("a new folder");
    let (file, after) = (folder.join("file"), folder.join("after"));
    let persy = create(&file);
    let mut ids = Vec::new();
    // The value of each record that was acknowledged: the number of its transaction.
    let mut acknowledged = Vec::new();
    let (mut damaged, mut files) = (0, 0);
    for number in 1..=commits {
        let config = TransactionConfig::new().set_background_sync(false);
        let mut transaction = persy.begin_with(config).expect("begin");
        let value = format!("{number} ").repeat(50);
        if number <= RECORDS {
            let id = transaction.insert("records", value.as_bytes());
            ids.push(id.expect("insert"));
            acknowledged.push(number);
        } else {
            let which = (number - 1) % RECORDS;
            let updated = transaction.update("records", &ids[which], value.as_bytes());
            updated.expect("update");
            acknowledged[which] = number;
        }
        let prepared = transaction.prepare().expect("prepare");
        let flushed = read(&file).expect("read");
        prepared.commit().expect("commit");
        let written = read(&file).expect("read");
        assert_eq!(flushed.len(), written.len());
        let changed: Vec<usize> = (0..written.len())
            .step_by(PAGE)
            .filter(|&at| page(&flushed, at) != page(&written, at))
            .collect();
        for choice in 0..1_usize << changed.len() {
            let mut state = flushed.clone();
            let mut on_disk = Vec::new();
            for (bit, &at) in changed.iter().enumerate() {
                if choice >> bit & 1 == 1 {
                    let new = page(&written, at);
                    state[at..at + new.len()].copy_from_slice(new);
                    on_disk.push(at);
                }
            }
            write(&after, &state).expect("write");
            files += 1;
            if let Err(damage) = examine(&after, &acknowledged) {
                damaged += 1;
                println!(
                    "commit {number} returned; of pages {changed:?}, {on_disk:?} reached the disk:"
                );
                println!("    {damage}");
            }
        }
    }
    println!("{damaged} of {files} files lack a commit that had returned, or cannot be read");
}

fn page(bytes: &[u8], at: usize) -> &[u8] {
    &bytes[at..bytes.len().min(at + PAGE)]
}

fn create(file: &Path) -> Persy {
    Persy::create(file).expect("create");
    let persy = Persy::open(file, Config::new()).expect("open");
    let mut transaction = persy.begin().expect("begin");
    transaction.create_segment("records").expect("segment");
    transaction.commit().expect("commit");
    persy
}

/// Lets another process read a file, for 10 s at most.
fn examine(file: &Path, acknowledged: &[usize]) -> Result<(), String> {
    let mut command = Command::new("timeout");
    command.arg("10").arg(std::env::current_exe().unwrap());
    let output = command.arg("check").arg(file).output().expect("timeout");
    let said = String::from_utf8_lossy(&output.stdout);
    let mut lines = said.lines();
    let opens = match lines.next() {
        Some("opens") => "opens",
        _ => "does not open",
    };
    match output.status.code() {
        Some(0) => {}
        Some(124) => return Err(format!("{opens}; then it reads for 10 s, and is ended")),
        _ => {
            let error = String::from_utf8_lossy(&output.stderr);
            return Err(format!("{opens}; then: {}", error.trim()));
        }
    }
    let found: Vec<usize> = lines.map(|line| line.parse().expect("number")).collect();
    if found == acknowledged {
        return Ok(());
    }
    let missing: Vec<_> = acknowledged
        .iter()
        .filter(|number| !found.contains(number))
        .collect();
    Err(format!(
        "{opens}, {} records; missing: {missing:?}",
        found.len()
    ))
}

fn check(file: &str) {
    let persy = Persy::open(file, Config::new()).expect("open");
    println!("opens");
    std::io::stdout().flush().unwrap();
    for (_, value) in persy.scan("records").expect("scan") {
        let text = String::from_utf8_lossy(&value);
        println!("{}", text.split(' ').next().unwrap());
    }
}
