//! Pages of fjall's journal that do not reach the disk before power is lost: does the database
//! open? It works in the folder of its first argument, which must not exist.

use fjall::{Database, KeyspaceCreateOptions, PersistMode};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const PAGE: usize = 4096;
/// Commits that are flushed before the one that is in flight when power is lost.
const FLUSHED: u32 = 100;

fn main() {
    let place = PathBuf::from(
        std::env::args()
            .nth(1)
            .expect("usage: fjall-journal-page FOLDER"),
    );
    let written = place.join("written");
    let large = incompressible(20_000);
    let (open, keyspace) = open(&written).expect("a new database opens");
    for number in 0..FLUSHED {
        keyspace
            .insert(format!("flushed-{number:03}"), [b'v'; 100])
            .unwrap();
        open.persist(PersistMode::SyncAll).unwrap();
    }
    // One commit more, of a small and a large value, that no flush covers.
    let mut batch = open.batch().durability(Some(PersistMode::Buffer));
    batch.insert(&keyspace, "in-flight-small", [b's'; 100]);
    batch.insert(&keyspace, "in-flight-large", &large);
    batch.commit().unwrap();

    // Power is lost now: the files, with the pages of the last commit as the disk has them.
    let journal = fs::read(find_journal(&written)).unwrap();
    let end = journal.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    let middle = position(&journal, &large[8_000..8_064]) / PAGE * PAGE;
    let length = position(&journal, b"in-flight-small") - 4;
    try_open(&place, "every page is there", 0..0);
    try_open(
        &place,
        "all pages from the large value's second on are lost",
        middle..end,
    );
    try_open(
        &place,
        "one page inside the large value is lost",
        middle..middle + PAGE,
    );
    try_open(
        &place,
        "all is lost from the second length of the small value on",
        length..end,
    );
}

/// Copies the files, puts zeros in place of a part of the journal, and opens the copy.
fn try_open(place: &Path, name: &str, lost: std::ops::Range<usize>) {
    static NUMBER: AtomicU64 = AtomicU64::new(1);
    let copy = place.join(format!("state-{}", NUMBER.fetch_add(1, Relaxed)));
    copy_folder(&place.join("written"), &copy);
    let path = find_journal(&copy);
    let mut journal = fs::read(&path).unwrap();
    journal[lost.clone()].fill(0); // fjall fills a new journal with zeros, so those are old bytes
    fs::write(&path, journal).unwrap();
    std::panic::set_hook(Box::new(|_| ()));
    let opened = std::panic::catch_unwind(|| open(&copy).map(|(_, keyspace)| keyspace.len()));
    println!("{name} ({} bytes):", lost.len());
    match opened {
        Ok(Ok(records)) => println!("    opens, {} records", records.unwrap()),
        Ok(Err(error)) => println!("    does not open: {error:?}"),
        Err(panic) => println!("    panics: {:?}", panic.downcast_ref::<String>()),
    }
}

fn open(folder: &Path) -> fjall::Result<(Database, fjall::Keyspace)> {
    let database = Database::builder(folder).open()?;
    let keyspace = database.keyspace("records", KeyspaceCreateOptions::default)?;
    Ok((database, keyspace))
}

fn find_journal(folder: &Path) -> PathBuf {
    let files = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut journals = files.filter(|path| path.extension().is_some_and(|name| name == "jnl"));
    journals.next().expect("a journal")
}

fn position(bytes: &[u8], part: &[u8]) -> usize {
    bytes
        .windows(part.len())
        .position(|window| window == part)
        .expect("it was written")
}

/// Bytes that do not compress (xorshift).
fn incompressible(count: usize) -> Vec<u8> {
    let next = |state: &u64| {
        let state = state ^ (state << 13);
        let state = state ^ (state >> 7);
        Some(state ^ (state << 17))
    };
    std::iter::successors(Some(0x9E37_79B9_u64), next)
        .map(|state| state as u8)
        .take(count)
        .collect()
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
copy_folder(&entry.path(), &to.join(entry.file_name()))
} else {
drop(fs::copy(entry.path(), to.join(entry.file_name())).unwrap())
}
    }
}
