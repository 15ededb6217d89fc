//! The keys and values of records.
//!
//! | record | key | value |
//! |---|---|---|
//! | row | 1, table, id | k, c, pad |
//! | entry of the index on k | 2, table, k, id | nothing |
//!
//! In keys the space is one byte, and numbers are four, the highest first; in values k is four
//! bytes, the lowest first. c and pad have always the same length, so that a value is patched in
//! place. A row of a table of pairs has k alone.

use crate::sysbench::rows::{Row, RowKey};
use crate::sysbench::tables::StoredRow;
use crate::sysbench::text::{C_BYTES, CText, PAD_BYTES, fit};
use std::ops::Range;
use trueput_engine::key::KeyBuffer;

/// The first byte of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Space {
    /// Rows.
    Row = 1,
    /// Entries of the indexes on k.
    Index,
}

/// Where the columns are in a value.
const K: Range<usize> = 0..4;
const C: Range<usize> = K.end..K.end + C_BYTES;
const PAD: Range<usize> = C.end..C.end + PAD_BYTES;

/// Bytes of a row's key: its space, its table and its id.
pub(in crate::sysbench) const ROW_KEY_BYTES: u64 = 1 + 4 + 4;

/// Bytes of a row's key and value.
pub(in crate::sysbench) const ROW_RECORD_BYTES: u64 = ROW_KEY_BYTES + PAD.end as u64;

/// Bytes of the key and the value of a row that has k alone.
pub(in crate::sysbench) const PAIR_RECORD_BYTES: u64 = ROW_KEY_BYTES + K.end as u64;

/// Bytes of an entry of the index on k: its space, its table, k and the id.
pub(in crate::sysbench) const ENTRY_BYTES: u64 = 1 + 4 + 4 + 4;

/// Writes the key of a row.
pub(super) fn row_key(key: &mut KeyBuffer, row: RowKey) {
    key.clear().u8(Space::Row as u8).u32(row.table).u32(row.id);
}

/// Writes the key of a row's entry of the index.
pub(super) fn entry_key(key: &mut KeyBuffer, row: RowKey, k: u32) {
    key.clear()
        .u8(Space::Index as u8)
        .u32(row.table)
        .u32(k)
        .u32(row.id);
}

/// The number in the last four bytes of a key.
pub(super) fn last_u32(key: &[u8]) -> Option<u32> {
    key.last_chunk().copied().map(u32::from_be_bytes)
}

/// The id of a row's key; -1 if it is the key of no row.
pub(super) fn id_of(key: &[u8]) -> i64 {
    let id = last_u32(key).filter(|_| key.len() == 9);
    id.map_or(-1, i64::from)
}

/// k and the id of an entry of the index; -1 for both if it is none.
pub(super) fn entry_of(key: &[u8]) -> (i64, i64) {
    let numbers = key.split_last_chunk::<4>().filter(|_| key.len() == 13);
    let entry = numbers.and_then(|(rest, id)| Some((last_u32(rest)?, u32::from_be_bytes(*id))));
    entry.map_or((-1, -1), |(k, id)| (k.into(), id.into()))
}

/// Writes a row's value.
pub(super) fn encode_row(value: &mut Vec<u8>, row: &Row) {
    value.clear();
    value.extend_from_slice(&row.k.to_le_bytes());
    value.extend_from_slice(&row.c);
    value.extend_from_slice(&row.pad);
}

/// k of a row's value; `None` if that has not the length of one.
pub(super) fn decode_k(value: &[u8]) -> Option<u32> {
    let k = value.first_chunk().filter(|_| value.len() == PAD.end)?;
    Some(u32::from_le_bytes(*k))
}

/// c of a row's value; zeros if that is too short.
pub(super) fn decode_c(value: &[u8]) -> CText {
    fit(value.get(C).unwrap_or_default())
}

/// A row of this id and value; zeros for what the value is too short for.
pub(super) fn decode_row(id: u32, value: &[u8]) -> Row {
    Row {
        id,
        k: decode_k(value).unwrap_or_default(),
        c: decode_c(value),
        pad: fit(value.get(PAD).unwrap_or_default()),
    }
}

/// A row's record as it is.
pub(super) fn decode_stored<'r>(key: &[u8], value: &'r [u8]) -> StoredRow<'r> {
    StoredRow {
        id: id_of(key),
        k: decode_k(value).map_or(-1, i64::from),
        c: value.get(C).unwrap_or_default(),
        pad: value.get(PAD).unwrap_or_default(),
    }
}

/// Changes k of a row's value, which has its length.
pub(super) fn set_k(value: &mut [u8], k: u32) {
    value[K].copy_from_slice(&k.to_le_bytes());
}

/// Changes c of a row's value, which has its length.
pub(super) fn set_c(value: &mut [u8], c: &CText) {
    value[C].copy_from_slice(c);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sysbench::distribution::Distribution;
    use crate::sysbench::rows::RowMaker;
    use crate::sysbench::text::WriteName;

    #[test]
    fn a_row_reads_back_and_its_columns_are_changed_in_place() {
        let maker = RowMaker::new(7, Distribution::Uniform, 100);
        let key = RowKey::new(3, 17);
        let row = maker.row(key, WriteName::LOADED, WriteName::LOADED);
        let mut value = Vec::new();
        encode_row(&mut value, &row);
        assert_eq!(value.len() as u64 + 4, Row::BYTES);
        assert_eq!(value.len() as u64 + ROW_KEY_BYTES, ROW_RECORD_BYTES);
        assert_eq!(decode_row(17, &value), row);
        let other = WriteName {
            writer: 1,
            number: 1,
        };
        let changed = Row {
            k: 4_000_000_000,
            c: maker.c(key, other),
            ..row
        };
        set_k(&mut value, changed.k);
        set_c(&mut value, &changed.c);
        assert_eq!(decode_row(17, &value), changed);
        assert_eq!(decode_k(&value[1..]), None);
    }

    #[test]
    fn keys_are_in_the_order_of_their_numbers_and_read_back() {
        let mut buffer = KeyBuffer::new();
        let mut keys = Vec::new();
        for (table, id) in [(1, 255), (1, 256), (2, 1)] {
            row_key(&mut buffer, RowKey::new(table, id));
            assert_eq!(id_of(buffer.as_bytes()), i64::from(id));
            assert_eq!(buffer.as_bytes().len() as u64, ROW_KEY_BYTES);
            keys.push(buffer.as_bytes().to_vec());
        }
        for (k, id) in [(9, 300), (256, 1)] {
            entry_key(&mut buffer, RowKey::new(1, id), k);
            let expected = (i64::from(k), i64::from(id));
            assert_eq!(entry_of(buffer.as_bytes()), expected);
            assert_eq!(buffer.as_bytes().len() as u64, ENTRY_BYTES);
            keys.push(buffer.as_bytes().to_vec());
        }
        assert!(keys.is_sorted());
        assert_eq!(id_of(&keys[3]), -1);
        assert_eq!(entry_of(&keys[0]), (-1, -1));
    }
}
