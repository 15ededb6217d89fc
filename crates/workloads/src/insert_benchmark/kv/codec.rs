//! The records of the tables. A key is the table, a byte that names the rows or an index, and the
//! columns in big-endian order, the id last, so that records are in the order of their columns. The
//! value of a row has the columns that are not in its key, numbers in little-endian order; that of
//! an index entry is empty.

use crate::insert_benchmark::purchase::{
    Data, Index, IndexTuple, KeyColumns, MAX_DATA_BYTES, Purchase,
};
use crate::insert_benchmark::tables::Mark;
use trueput_engine::key::KeyBuffer;

/// The table and what is in it.
const PREFIX_BYTES: usize = 5;
/// Bytes of the key of a row.
pub(in crate::insert_benchmark) const ROW_KEY_BYTES: usize = PREFIX_BYTES + 8;
/// Bytes of the value of a row without `data`.
const COLUMN_BYTES: usize = 8 + 4 * 4;
/// Bytes of the value of the longest row.
const MAX_VALUE_BYTES: usize = COLUMN_BYTES + MAX_DATA_BYTES;
/// Bytes of the longest key: an entry of `pdc`.
pub(in crate::insert_benchmark) const MAX_KEY_BYTES: usize = entry_bytes(Index::Pdc);

/// What rows have in place of an index.
const ROWS: u8 = 0;
/// The table that marks have.
const NO_TABLE: u32 = 0;

/// Bytes of the value of a row with so many bytes of `data`.
pub(in crate::insert_benchmark) const fn value_bytes(data_bytes: usize) -> usize {
    COLUMN_BYTES + data_bytes
}

/// Bytes of an index entry, all of them in its key.
pub(in crate::insert_benchmark) const fn entry_bytes(index: Index) -> usize {
    let columns = match index {
        Index::Market | Index::Register => 3 * 4,
        Index::Pdc => 4 + 8 + 4,
    };
    PREFIX_BYTES + columns + 8
}

/// A value with room for every row.
pub(super) fn new_value() -> Vec<u8> {
    Vec::with_capacity(MAX_VALUE_BYTES)
}

fn space(index: Index) -> u8 {
    match index {
        Index::Market => ROWS + 1,
        Index::Register => ROWS + 2,
        Index::Pdc => ROWS + 3,
    }
}

/// Writes the key of a row.
pub(super) fn write_row_key(key: &mut KeyBuffer, table: u32, id: u64) {
    key.clear().u32(table).u8(ROWS).u64(id);
}

/// Writes the key of an index entry.
pub(super) fn write_entry_key(key: &mut KeyBuffer, table: u32, index: Index, row: &KeyColumns) {
    let IndexTuple {
        first,
        second,
        third,
    } = index.tuple(row);
    write_value_key(key, table, index, first);
    match index {
        Index::Market | Index::Register => key.u32(second as u32),
        Index::Pdc => key.u64(second),
    };
    key.u32(third).u64(row.id);
}

/// Writes the key that is not above any entry whose first column is at least `value`.
pub(super) fn write_value_key(key: &mut KeyBuffer, table: u32, index: Index, value: u32) {
    key.clear().u32(table).u8(space(index)).u32(value);
}

/// Writes the key that is above every entry of an index and not above what follows.
pub(super) fn write_end_key(key: &mut KeyBuffer, table: u32, index: Index) {
    key.clear().u32(table).u8(space(index) + 1);
}

/// Writes the key of a mark.
pub(super) fn write_mark_key(key: &mut KeyBuffer, mark: Mark, table: u32) {
    key.clear().u32(NO_TABLE).u8(mark as u8).u32(table);
}

/// Writes the value of a row.
pub(super) fn write_value(value: &mut Vec<u8>, row: &Purchase) {
    let columns = &row.columns;
    value.clear();
    value.extend_from_slice(&columns.time_s.to_le_bytes());
    for number in [
        columns.cash_register,
        columns.customer,
        columns.product,
        columns.price,
    ] {
        value.extend_from_slice(&number.to_le_bytes());
    }
    value.extend_from_slice(row.data.as_bytes());
}

/// Takes the first bytes off a slice.
fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = bytes.split_first_chunk::<N>()?;
    *bytes = rest;
    Some(*first)
}

/// Reads the id from the key of a row; `None` if it is none.
pub(super) fn row_id(key: &[u8]) -> Option<u64> {
    let mut rest = key;
    take::<PREFIX_BYTES>(&mut rest)?;
    let id = take(&mut rest).map(u64::from_be_bytes);
    id.filter(|_| rest.is_empty())
}

/// Reads the value of the row with this id; `None` if it is none.
pub(super) fn decode_value(id: u64, value: &[u8]) -> Option<Purchase> {
    let mut rest = value;
    let columns = KeyColumns {
        id,
        time_s: u64::from_le_bytes(take(&mut rest)?),
        cash_register: u32::from_le_bytes(take(&mut rest)?),
        customer: u32::from_le_bytes(take(&mut rest)?),
        product: u32::from_le_bytes(take(&mut rest)?),
        price: u32::from_le_bytes(take(&mut rest)?),
    };
    let data = Data::new(std::str::from_utf8(rest).ok()?)?;
    Some(Purchase { columns, data })
}

/// Reads the record of a row; `None` if it is none.
pub(super) fn decode_row(key: &[u8], value: &[u8]) -> Option<Purchase> {
    decode_value(row_id(key)?, value)
}

/// Reads the key of an index entry and the id of its row; `None` if it is none.
pub(super) fn decode_entry(index: Index, key: &[u8]) -> Option<(IndexTuple, u64)> {
    let mut rest = key;
    take::<PREFIX_BYTES>(&mut rest)?;
    let first = u32::from_be_bytes(take(&mut rest)?);
    let second = match index {
        Index::Market | Index::Register => u32::from_be_bytes(take(&mut rest)?).into(),
        Index::Pdc => u64::from_be_bytes(take(&mut rest)?),
    };
    let third = u32::from_be_bytes(take(&mut rest)?);
    let id = u64::from_be_bytes(take(&mut rest)?);
    let tuple = IndexTuple {
        first,
        second,
        third,
    };
    rest.is_empty().then_some((tuple, id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::insert_benchmark::purchase::{DataLengths, RowMaker};

    fn row(id: u64) -> Purchase {
        let lengths = DataLengths { min: 1, max: 128 };
        RowMaker::new(7, 1, lengths).make(id)
    }

    #[test]
    fn rows_and_entries_come_back_from_their_records() {
        let (mut key, mut value) = (KeyBuffer::new(), new_value());
        for id in [1, 9_999, u64::from(u32::MAX) + 1] {
            let row = row(id);
            write_row_key(&mut key, 3, id);
            write_value(&mut value, &row);
            assert_eq!(key.as_bytes().len(), ROW_KEY_BYTES);
            assert_eq!(value.len(), value_bytes(row.data.len()));
            assert_eq!(decode_row(key.as_bytes(), &value), Some(row));
            assert_eq!(decode_row(&key.as_bytes()[1..], &value), None);
            assert_eq!(decode_row(key.as_bytes(), &value[..20]), None);
            for index in Index::ALL {
                write_entry_key(&mut key, 3, index, &row.columns);
                let bytes = key.as_bytes();
                assert_eq!(bytes.len(), entry_bytes(index));
                let entry = (index.tuple(&row.columns), id);
                assert_eq!(decode_entry(index, bytes), Some(entry));
                assert_eq!(decode_entry(index, &bytes[..bytes.len() - 1]), None);
            }
        }
    }

    #[test]
    fn keys_are_in_the_order_of_tables_indexes_and_columns() {
        let entry = |table, index, id| {
            let mut key = KeyBuffer::new();
            write_entry_key(&mut key, table, index, &row(id).columns);
            key.as_bytes().to_vec()
        };
        for index in Index::ALL {
            let mut rows: Vec<_> = (1..500).map(|id| row(id).columns).collect();
            rows.sort_by_key(|row| (index.tuple(row), row.id));
            let keys: Vec<_> = rows.iter().map(|row| entry(2, index, row.id)).collect();
            assert!(keys.is_sorted(), "{}", index.name());
            let (mut lower, mut upper) = (KeyBuffer::new(), KeyBuffer::new());
            write_value_key(&mut lower, 2, index, 0);
            write_end_key(&mut upper, 2, index);
            assert!(keys.iter().all(|key| key.as_slice() >= lower.as_bytes()));
            assert!(keys.iter().all(|key| key.as_slice() < upper.as_bytes()));
            write_row_key(&mut lower, 2, u64::MAX);
            write_row_key(&mut upper, 3, 0);
            assert!(lower.as_bytes() < keys[0].as_slice());
            assert!(keys[498].as_slice() < upper.as_bytes());
        }
    }
}
