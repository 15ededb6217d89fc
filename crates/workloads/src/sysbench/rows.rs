//! The rows of the tables: every column is a function of the seed, the row's key and the write that
//! put it.

use super::distribution::Distribution;
use super::text::{self, C_BYTES, CText, Origin, PAD_BYTES, PadText, WriteName};
use crate::generate::random::Random;
use std::fmt;
use trueput_record::random::mix;

/// The highest id: the column is an INTEGER of four bytes.
pub(super) const MAX_ID: u32 = i32::MAX as u32;

/// Sets the draws of k apart from those of the texts.
const K_STREAM: u64 = 0x006b;

/// The key of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct RowKey {
    /// The number of its table, from 1.
    pub(super) table: u32,
    /// Its id, from 1.
    pub(super) id: u32,
}

impl RowKey {
    pub(super) const fn new(table: u32, id: u32) -> Self {
        Self { table, id }
    }
}

impl fmt::Display for RowKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "row {} of sbtest{}", self.id, self.table)
    }
}

/// A row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Row {
    /// The primary key.
    pub(super) id: u32,
    /// The indexed column.
    pub(super) k: u32,
    /// The column that a non-index update writes.
    pub(super) c: CText,
    /// The column that only an insert writes.
    pub(super) pad: PadText,
}

impl Row {
    /// Bytes of its columns: 4 for each number.
    pub(super) const BYTES: u64 = 8 + C_BYTES as u64 + PAD_BYTES as u64;
}

/// The loaded rows: the numbers of tables and of rows in each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LoadedRows {
    /// Tables.
    pub(super) tables: u32,
    /// Rows of each, with the ids from 1 on.
    pub(super) table_size: u32,
}

impl LoadedRows {
    /// The number of rows.
    pub(super) fn count(self) -> u64 {
        u64::from(self.tables) * u64::from(self.table_size)
    }

    /// The index of a row among all that are loaded; [`LoadedRows::count`] or more for others.
    #[inline]
    pub(super) fn item(self, row: RowKey) -> u64 {
        if row.id == 0 || row.id > self.table_size || row.table > self.tables {
            return u64::MAX;
        }
        u64::from(row.table - 1) * u64::from(self.table_size) + u64::from(row.id - 1)
    }
}

/// Makes rows.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowMaker {
    seed: u64,
    distribution: Distribution,
    table_size: u32,
}

impl RowMaker {
    /// The rows of a seed, whose k is drawn from 1 to `table_size`.
    pub(super) fn new(seed: u64, distribution: Distribution, table_size: u32) -> Self {
        Self {
            seed,
            distribution,
            table_size,
        }
    }

    /// The k that a load or an insert gives a row.
    #[inline]
    pub(super) fn k(&self, row: RowKey, write: WriteName) -> u32 {
        let key = u64::from(row.table) << 32 | u64::from(row.id);
        let column = mix(self.seed.wrapping_add(K_STREAM));
        let mut random = Random::new(mix(mix(column ^ key) ^ write.code()));
        self.distribution.draw(1, self.table_size, &mut random)
    }

    /// The c that a write puts into a row.
    #[inline]
    pub(super) fn c(&self, row: RowKey, write: WriteName) -> CText {
        let origin = Origin { id: row.id, write };
        text::text(self.seed, row.table, origin)
    }

    /// The pad that a load or an insert puts into a row.
    #[inline]
    pub(super) fn pad(&self, row: RowKey, write: WriteName) -> PadText {
        let origin = Origin { id: row.id, write };
        text::text(self.seed, row.table, origin)
    }

    /// The row of a load or an insert, which may name c and pad by different numbers.
    pub(super) fn row(&self, row: RowKey, c: WriteName, pad: WriteName) -> Row {
        Row {
            id: row.id,
            k: self.k(row, pad),
            c: self.c(row, c),
            pad: self.pad(row, pad),
        }
    }

    /// The row and write that a text names; `None` if it names none.
    #[inline]
    pub(super) fn origin<const BYTES: usize>(&self, text: &[u8; BYTES]) -> Option<Origin> {
        text::origin(self.seed, text)
    }

    /// Whether every byte of a text of a table is as the write that it names put it.
    #[inline]
    pub(super) fn is_intact<const BYTES: usize>(
        &self,
        table: u32,
        origin: Origin,
        text: &[u8; BYTES],
    ) -> bool {
        text::text::<BYTES>(self.seed, table, origin) == *text
    }

    /// The write that put a text into this row, if every byte is as it was put.
    pub(super) fn write_of<const BYTES: usize>(
        &self,
        row: RowKey,
        text: &[u8; BYTES],
    ) -> Option<WriteName> {
        let origin = self.origin(text)?;
        let is_right = origin.id == row.id && self.is_intact(row.table, origin, text);
        is_right.then_some(origin.write)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAKER: RowMaker = RowMaker {
        seed: 7,
        distribution: Distribution::Uniform,
        table_size: 1_000,
    };

    #[test]
    fn a_row_is_a_function_of_its_key_and_its_write() {
        let key = RowKey::new(2, 17);
        let first = MAKER.row(key, WriteName::LOADED, WriteName::LOADED);
        assert_eq!(first, MAKER.row(key, WriteName::LOADED, WriteName::LOADED));
        assert_eq!(MAKER.write_of(key, &first.c), Some(WriteName::LOADED));
        assert_eq!(MAKER.write_of(key, &first.pad), Some(WriteName::LOADED));
        assert_eq!(MAKER.write_of(RowKey::new(2, 18), &first.c), None);
        assert_eq!(MAKER.write_of(RowKey::new(1, 17), &first.c), None);
        let write = WriteName {
            writer: 3,
            number: 1,
        };
        let other = MAKER.row(key, WriteName::LOADED, write);
        assert_eq!(other.c, first.c);
        assert_eq!(MAKER.write_of(key, &other.pad), Some(write));
    }

    #[test]
    fn k_is_drawn_from_one_to_the_size_of_the_table() {
        let ks = (1..=5_000).map(|id| MAKER.k(RowKey::new(1, id), WriteName::LOADED));
        let ks: Vec<_> = ks.collect();
        assert!(ks.iter().all(|k| (1..=1_000).contains(k)));
        let mean = ks.iter().map(|k| f64::from(*k)).sum::<f64>() / 5_000.0;
        assert!((mean - 500.5).abs() < 20.0, "{mean}");
    }

    #[test]
    fn loaded_rows_are_numbered_table_by_table() {
        let rows = LoadedRows {
            tables: 2,
            table_size: 10,
        };
        assert_eq!(rows.item(RowKey::new(1, 1)), 0);
        assert_eq!(rows.item(RowKey::new(2, 10)), rows.count() - 1);
        for other in [RowKey::new(2, 11), RowKey::new(3, 1), RowKey::new(1, 0)] {
            assert!(rows.item(other) >= rows.count());
        }
    }
}
