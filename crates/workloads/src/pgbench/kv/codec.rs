//! The records of the four tables. A key is a byte that names the table and the numbers of its key
//! in big-endian order, so that rows are in the order of their numbers. A value has the columns
//! that are not in the key, numbers in little-endian order, and a filler of blanks in the column's
//! declared width.

use crate::pgbench::bank::{BalanceRow, HistoryOrigin, HistoryRow};
use crate::pgbench::scale::BalanceTable;
use trueput_engine::key::KeyBuffer;

/// The first byte of the keys of history.
pub(super) const HISTORY: u8 = 4;

/// Bytes of the key of a row with a balance: the table and the row's number.
const BALANCE_KEY_BYTES: usize = 5;

/// Bytes of the value of a row with a balance, in each of the three tables: a balance, and the
/// branch and 84 blanks, or 88 blanks.
const BALANCE_VALUE_BYTES: usize = 92;

/// Bytes of a row of history before its blanks: teller, branch, account, delta and date.
const HISTORY_COLUMN_BYTES: usize = 4 * 4 + 8;

/// Bytes of the value of a row of history, 22 of them blanks.
const HISTORY_VALUE_BYTES: usize = HISTORY_COLUMN_BYTES + 22;

/// Bytes of a record of a row with a balance.
pub(in crate::pgbench) const BALANCE_RECORD_BYTES: usize = BALANCE_KEY_BYTES + BALANCE_VALUE_BYTES;

/// Bytes of a record of history: its key is the table, the worker and the number of the row.
pub(in crate::pgbench) const HISTORY_RECORD_BYTES: usize = 1 + 4 + 8 + HISTORY_VALUE_BYTES;

/// The first byte of the keys of a table.
pub(super) fn key_space(table: BalanceTable) -> u8 {
    match table {
        BalanceTable::Branches => 1,
        BalanceTable::Tellers => 2,
        BalanceTable::Accounts => 3,
    }
}

/// Writes the key of a row with a balance.
pub(super) fn write_balance_key(key: &mut KeyBuffer, table: BalanceTable, id: u32) {
    key.clear().u8(key_space(table)).u32(id);
}

/// Writes the key of a row of history.
pub(super) fn write_history_key(key: &mut KeyBuffer, origin: HistoryOrigin) {
    key.clear()
        .u8(HISTORY)
        .u32(origin.worker)
        .u64(origin.number);
}

/// Writes the value of a row with a balance.
pub(super) fn write_balance(value: &mut Vec<u8>, table: BalanceTable, branch: u32, balance: i32) {
    value.clear();
    value.extend_from_slice(&balance.to_le_bytes());
    if table != BalanceTable::Branches {
        value.extend_from_slice(&branch.to_le_bytes());
    }
    value.resize(BALANCE_VALUE_BYTES, b' ');
}

/// Reads the balance of a value; `None` if it has another length.
pub(super) fn balance(value: &[u8]) -> Option<i32> {
    let balance = value.first_chunk().copied().map(i32::from_le_bytes);
    balance.filter(|_| value.len() == BALANCE_VALUE_BYTES)
}

/// Writes another balance into a value from which [`balance`] has read one.
pub(super) fn replace_balance(value: &mut [u8], balance: i32) {
    if let Some(bytes) = value.first_chunk_mut() {
        *bytes = balance.to_le_bytes();
    }
}

/// Reads a record of a table with balances; `None` if it is none.
pub(super) fn decode_balance(table: BalanceTable, key: &[u8], value: &[u8]) -> Option<BalanceRow> {
    if key.len() != BALANCE_KEY_BYTES || key.first() != Some(&key_space(table)) {
        return None;
    }
    let id = key.last_chunk().copied().map(u32::from_be_bytes)?;
    let balance = balance(value)?;
    let (_, rest) = value.split_first_chunk::<4>()?;
    let (branch, filler) = if table == BalanceTable::Branches {
        (id, rest)
    } else {
        let (branch, filler) = rest.split_first_chunk()?;
        (u32::from_le_bytes(*branch), filler)
    };
    Some(BalanceRow {
        id,
        branch,
        balance,
        is_blank: is_blank(filler),
    })
}

/// Writes the value of a row of history.
pub(super) fn write_history(value: &mut Vec<u8>, row: &HistoryRow, at_us: i64) {
    value.clear();
    for number in [row.teller, row.branch, row.account] {
        value.extend_from_slice(&number.to_le_bytes());
    }
    value.extend_from_slice(&row.delta.to_le_bytes());
    value.extend_from_slice(&at_us.to_le_bytes());
    value.resize(HISTORY_VALUE_BYTES, b' ');
}

/// Reads the value of a row of history; `None` if it is none.
pub(super) fn decode_history(value: &[u8]) -> Option<HistoryRow> {
    let (columns, filler) = value.split_at_checked(HISTORY_COLUMN_BYTES)?;
    if value.len() != HISTORY_VALUE_BYTES || !is_blank(filler) {
        return None;
    }
    let (numbers, _) = columns.as_chunks::<4>();
    let [teller, branch, account, delta, ..] = *numbers else {
        return None;
    };
    Some(HistoryRow {
        teller: u32::from_le_bytes(teller),
        branch: u32::from_le_bytes(branch),
        account: u32::from_le_bytes(account),
        delta: i32::from_le_bytes(delta),
    })
}

fn is_blank(filler: &[u8]) -> bool {
    filler.iter().all(|byte| *byte == b' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_with_balances_come_back_from_their_records_at_the_declared_width() {
        for table in BalanceTable::ALL {
            let (mut key, mut value) = (KeyBuffer::new(), Vec::new());
            write_balance_key(&mut key, table, 7);
            let branch = if table == BalanceTable::Branches {
                7
            } else {
                2
            };
            write_balance(&mut value, table, branch, -5);
            assert_eq!(key.as_bytes().len() + value.len(), BALANCE_RECORD_BYTES);
            let row = |balance, is_blank| BalanceRow {
                id: 7,
                branch,
                balance,
                is_blank,
            };
            let decode = |value: &[u8]| decode_balance(table, key.as_bytes(), value);
            assert_eq!(decode(&value), Some(row(-5, true)));
            replace_balance(&mut value, i32::MAX);
            assert_eq!(balance(&value), Some(i32::MAX));
            value[91] = b'x';
            assert_eq!(decode(&value), Some(row(i32::MAX, false)));
            assert_eq!(decode(&value[..91]), None, "a value that is too short");
        }
    }

    #[test]
    fn a_row_of_history_comes_back_from_its_record_and_damage_does_not() {
        let row = HistoryRow {
            teller: 3,
            branch: 1,
            account: 77,
            delta: -4_999,
        };
        let origin = HistoryOrigin {
            worker: 2,
            number: 9,
            at_us: 1,
        };
        let (mut key, mut value) = (KeyBuffer::new(), Vec::new());
        write_history_key(&mut key, origin);
        write_history(&mut value, &row, origin.at_us);
        assert_eq!(key.as_bytes().len() + value.len(), HISTORY_RECORD_BYTES);
        assert_eq!(decode_history(&value), Some(row));
        assert_eq!(decode_history(&value[1..]), None);
        value[45] = 0;
        assert_eq!(decode_history(&value), None);
    }
}
