//! Flips one bit of a value in a closed database of redb or canopydb, opens it again, and reads the
//! value.
//!
//! `flipped-bit-rust redb|canopydb FOLDER`: the folder must not exist.

use canopydb::{Database as Canopydb, DbOptions, EnvOptions};
use redb::{Builder, Database, ReadableDatabase, TableDefinition};
use std::error::Error;
use std::fs;
use std::path::Path;

type Outcome<T> = Result<T, Box<dyn Error>>;

const TABLE: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("table");
const KEY: &[u8] = b"key";

fn value() -> Vec<u8> {
    b"value ".repeat(100)
}

trait Engine {
    /// An option that is off by default and checks what is read.
    const CHECK: &'static str;

    fn write(folder: &Path, checks: bool) -> Outcome<()>;
    fn read(folder: &Path, checks: bool) -> Outcome<Vec<u8>>;
}

struct RedbEngine;

impl Engine for RedbEngine {
    const CHECK: &'static str = "check_integrity_on_open";

    fn write(folder: &Path, _: bool) -> Outcome<()> {
        let database = Database::create(folder.join("database"))?;
        let transaction = database.begin_write()?;
        transaction
            .open_table(TABLE)?
            .insert(KEY, value().as_slice())?;
        Ok(transaction.commit()?)
    }

    fn read(folder: &Path, checks: bool) -> Outcome<Vec<u8>> {
        let mut builder = Builder::new();
        let database = builder
            .set_check_integrity_on_open(checks)
            .open(folder.join("database"))?;
        let table = database.begin_read()?.open_table(TABLE)?;
        let found = table.get(KEY)?.ok_or("no value")?;
        Ok(found.value().to_vec())
    }
}

struct CanopydbEngine;

impl CanopydbEngine {
    fn open(folder: &Path, checks: bool) -> Outcome<Canopydb> {
        let mut environment = EnvOptions::new(folder);
        environment.use_checksums = checks;
        Ok(Canopydb::with_options(environment, DbOptions::new())?)
    }
}

impl Engine for CanopydbEngine {
    const CHECK: &'static str = "use_checksums";

    fn write(folder: &Path, checks: bool) -> Outcome<()> {
        let database = Self::open(folder, checks)?;
        let transaction = database.begin_write()?;
        let mut tree = transaction.get_or_create_tree(b"tree")?;
        tree.insert(KEY, &value())?;
        drop(tree);
        transaction.commit()?;
        Ok(database.checkpoint()?)
    }

    fn read(folder: &Path, checks: bool) -> Outcome<Vec<u8>> {
        let transaction = Self::open(folder, checks)?.begin_read()?;
        let tree = transaction.get_tree(b"tree")?.ok_or("no tree")?;
        let found = tree.get(KEY)?.ok_or("no value")?;
        Ok(found.to_vec())
    }
}

/// Flips a bit in the middle of each place where the value is, and returns how many there are.
fn flip_bits(folder: &Path) -> Outcome<usize> {
    let value = value();
    let mut flipped = 0;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            flipped += flip_bits(&path)?;
            continue;
        }
        let mut content = fs::read(&path)?;
        let places: Vec<usize> = (0..content.len())
            .filter(|place| content[*place..].starts_with(&value))
            .collect();
        for place in &places {
            content[place + value.len() / 2] ^= 1;
        }
        fs::write(&path, content)?;
        flipped += places.len();
    }
    Ok(flipped)
}

fn describe(read: &Outcome<Vec<u8>>) -> String {
    match read {
        Ok(found) if *found == value() => "the value".to_owned(),
        Ok(_) => "another value, without an error".to_owned(),
        Err(error) => format!("error: {error}"),
    }
}

fn try_engine<E: Engine>(folder: &Path) -> Outcome<()> {
    for (checks, name) in [(false, "defaults"), (true, E::CHECK)] {
        let folder = folder.join(name);
        fs::create_dir_all(&folder)?;
        E::write(&folder, checks)?;
        println!("before: {}", describe(&E::read(&folder, checks)));
        let flipped = flip_bits(&folder)?;
        let read = E::read(&folder, checks);
        println!("bits flipped: {flipped}, {name}: {}", describe(&read));
    }
    Ok(())
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.as_slice() {
        [_, engine, folder] if engine == "redb" => try_engine::<RedbEngine>(Path::new(folder)),
        [_, _, folder] => try_engine::<CanopydbEngine>(Path::new(folder)),
        _ => Err("usage: flipped-bit-rust redb|canopydb FOLDER".into()),
    }
}
