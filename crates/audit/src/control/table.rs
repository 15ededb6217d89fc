//! The table of the control engine: all records at a checkpoint.

use super::log::checksum;
use super::{Fault, Records, flush};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

const TABLE: &str = "table";
const NEW_TABLE: &str = "table.new";

/// A table that is written and flushed, under another name.
pub(super) struct NewTable {
    path: PathBuf,
}

impl NewTable {
    /// Puts it in the place of the old one.
    pub(super) fn rename(self, directory: &Path) -> io::Result<()> {
        std::fs::rename(self.path, directory.join(TABLE))
    }
}

/// Writes the records and the number of the log that continues them, and flushes them, by io_uring
/// or not.
pub(super) fn write(
    directory: &Path,
    records: &Records,
    log: u64,
    is_ring: bool,
) -> io::Result<NewTable> {
    let mut body = log.to_le_bytes().to_vec();
    for (key, value) in records {
        body.extend_from_slice(&(key.len() as u64).to_le_bytes());
        body.extend_from_slice(&(value.len() as u64).to_le_bytes());
        body.extend_from_slice(key);
        body.extend_from_slice(value);
    }
    let path = directory.join(NEW_TABLE);
    let mut file = File::create(&path)?;
    file.write_all(&checksum(&body).to_le_bytes())?;
    file.write_all(&body)?;
    if is_ring {
        flush::by_ring(&file, 0..file.metadata()?.len())?;
    } else {
        file.sync_all()?;
    }
    Ok(NewTable { path })
}

/// Reads the table: its records, and the number of the log that continues it.
pub(super) fn read(directory: &Path, fault: Fault) -> io::Result<(Records, u64)> {
    let bytes = match std::fs::read(directory.join(TABLE)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((Records::new(), 0)),
        bytes => bytes?,
    };
    let damaged = || io::Error::other("the table is damaged");
    let (sum, body) = bytes.split_first_chunk().ok_or_else(damaged)?;
    if checksum(body) != u64::from_le_bytes(*sum) && fault != Fault::ChecksumNotChecked {
        return Err(damaged());
    }
    let (log, mut rest) = body.split_first_chunk().ok_or_else(damaged)?;
    let mut records = Records::new();
    while let Some((key, value, after)) = read_record(rest) {
        records.insert(key.to_vec(), value.to_vec());
        rest = after;
    }
    Ok((records, u64::from_le_bytes(*log)))
}

fn read_record(bytes: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let (key_length, rest) = bytes.split_first_chunk()?;
    let (value_length, rest) = rest.split_first_chunk()?;
    let key_length = usize::try_from(u64::from_le_bytes(*key_length)).ok()?;
    let value_length = usize::try_from(u64::from_le_bytes(*value_length)).ok()?;
    let (key, rest) = rest.split_at_checked(key_length)?;
    let (value, rest) = rest.split_at_checked(value_length)?;
    Some((key, value, rest))
}
