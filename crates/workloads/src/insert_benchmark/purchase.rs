//! The rows: each is a function of the seed, its table and its id, drawn as `iibench.py` draws its
//! rows. So every row and every index entry can be checked without the engine.

use crate::fixed_text::FixedText;
use trueput_record::random::{SplitMix64, mix};

/// Longest value of the column `data`, bytes.
pub(super) const MAX_DATA_BYTES: usize = 128;

/// The number of values of each column, from 0.
const CASH_REGISTERS: u32 = 1_000;
const CUSTOMERS: u32 = 100_000;
const PRODUCTS: u32 = 10_000;
const PRICES: u32 = 500;

/// The moment of the row with id 0: 2025-01-01 00:00 UTC, seconds since 1970. The rows of iibench
/// have the time of their insert, to the second; these have one that follows from the id.
const FIRST_TIME_S: u64 = 1_735_689_600;

/// Rows with the same moment.
const ROWS_OF_SECOND: u64 = 10_000;

/// Random letters of `data`: iibench takes them from a buffer in base64.
const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The letter of which the rest of `data` consists.
const FILLER: &str = "a";

/// The column `data`.
pub(super) type Data = FixedText<MAX_DATA_BYTES>;

/// The columns that are in a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KeyColumns {
    /// `transactionid`, the primary key.
    pub(super) id: u64,
    /// `dateandtime`, seconds since 1970.
    pub(super) time_s: u64,
    /// `cashregisterid`.
    pub(super) cash_register: u32,
    /// `customerid`.
    pub(super) customer: u32,
    /// `productid`.
    pub(super) product: u32,
    /// `price`.
    pub(super) price: u32,
}

/// A row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Purchase {
    /// The columns that are in a key.
    pub(super) columns: KeyColumns,
    /// `data`.
    pub(super) data: Data,
}

/// The columns of a secondary index of one row, in its order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct IndexTuple {
    /// The first column.
    pub(super) first: u32,
    /// The second one; a moment is in seconds since 1970.
    pub(super) second: u64,
    /// The third one.
    pub(super) third: u32,
}

/// A secondary index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Index {
    /// (`productid`, `customerid`, `price`).
    Market,
    /// (`cashregisterid`, `customerid`, `price`).
    Register,
    /// (`price`, `dateandtime`, `customerid`).
    Pdc,
}

impl Index {
    /// Every one, in the order in which they are created.
    pub(super) const ALL: [Self; 3] = [Self::Market, Self::Register, Self::Pdc];

    /// Its name in iibench, after the table's.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Market => "marketsegment",
            Self::Register => "registersegment",
            Self::Pdc => "pdc",
        }
    }

    /// The number of values of its first column, from 0.
    pub(super) fn values(self) -> u32 {
        match self {
            Self::Market => PRODUCTS,
            Self::Register => CASH_REGISTERS,
            Self::Pdc => PRICES,
        }
    }

    /// The least value of the first column that a range query from `value` asks for. In iibench the
    /// query of cash registers asks for more than the value, the others for at least the value.
    pub(super) fn least_value(self, value: u32) -> u32 {
        match self {
            Self::Register => value + 1,
            Self::Market | Self::Pdc => value,
        }
    }

    /// The entry of a row.
    #[inline]
    pub(super) fn tuple(self, row: &KeyColumns) -> IndexTuple {
        let (first, second, third) = match self {
            Self::Market => (row.product, row.customer.into(), row.price),
            Self::Register => (row.cash_register, row.customer.into(), row.price),
            Self::Pdc => (row.price, row.time_s, row.customer),
        };
        IndexTuple {
            first,
            second,
            third,
        }
    }
}

/// The lengths of `data`, drawn uniformly, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DataLengths {
    /// The least.
    pub(super) min: usize,
    /// The greatest.
    pub(super) max: usize,
}

/// Makes the rows of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RowMaker {
    stream: u64,
    lengths: DataLengths,
}

impl RowMaker {
    /// The rows of a table, of a seed.
    pub(super) fn new(seed: u64, table: u32, lengths: DataLengths) -> Self {
        Self {
            stream: SplitMix64::for_use(seed, table.into()).next_u64(),
            lengths,
        }
    }

    /// The columns of a row that are in a key.
    #[inline]
    pub(super) fn columns(&self, id: u64) -> KeyColumns {
        self.draw(id).0
    }

    /// A row.
    pub(super) fn make(&self, id: u64) -> Purchase {
        let (columns, mut random) = self.draw(id);
        let DataLengths { min, max } = self.lengths;
        let length = min + random.below(max - min + 1);
        // iibench takes half of the length, and of that three quarters, as a random buffer grows by
        // a third in base64.
        let letters = length * 3 / 8;
        let mut data = Data::EMPTY;
        for _ in letters..length {
            data.push(FILLER);
        }
        for _ in 0..letters {
            let at = random.below(LETTERS.len());
            data.push(&LETTERS[at..=at]);
        }
        Purchase { columns, data }
    }

    #[inline]
    fn draw(&self, id: u64) -> (KeyColumns, SplitMix64) {
        let mut random = SplitMix64::new(self.stream.wrapping_add(mix(id)));
        let mut below = |limit: u32| random.below(limit as usize) as u32;
        let columns = KeyColumns {
            id,
            time_s: FIRST_TIME_S + id / ROWS_OF_SECOND,
            cash_register: below(CASH_REGISTERS),
            product: below(PRODUCTS),
            customer: below(CUSTOMERS),
            price: below(PRICES),
        };
        (columns, random)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    const TEN: DataLengths = DataLengths { min: 10, max: 10 };

    #[test]
    fn a_row_is_a_function_of_seed_table_and_id() {
        let row = |seed, table, id| RowMaker::new(seed, table, TEN).make(id);
        assert_eq!(row(1, 1, 7), row(1, 1, 7));
        let rows = [row(1, 1, 7), row(2, 1, 7), row(1, 2, 7), row(1, 1, 8)];
        let customers: HashSet<_> = rows.iter().map(|row| row.columns.customer).collect();
        assert_eq!(customers.len(), 4);
        let maker = RowMaker::new(1, 1, TEN);
        assert_eq!(maker.columns(7), maker.make(7).columns);
    }

    #[test]
    fn columns_have_the_ranges_of_iibench() {
        let maker = RowMaker::new(1, 1, TEN);
        let rows: Vec<_> = (1..=200_000).map(|id| maker.columns(id)).collect();
        for (index, values) in Index::ALL.into_iter().zip([10_000, 1_000, 500]) {
            let firsts: HashSet<_> = rows.iter().map(|row| index.tuple(row).first).collect();
            assert_eq!(firsts.len(), values, "{}", index.name());
            assert_eq!(firsts.iter().max(), Some(&(index.values() - 1)));
        }
        assert!(rows.iter().all(|row| row.customer < 100_000));
        assert!(rows.is_sorted_by_key(|row| row.time_s));
    }

    #[test]
    fn three_letters_of_ten_are_random() {
        let maker = RowMaker::new(1, 1, TEN);
        let texts: HashSet<_> = (0..1_000)
            .map(|id| maker.make(id).data.to_string())
            .collect();
        assert!(texts.iter().all(|text| text.len() == 10));
        assert!(texts.iter().all(|text| text.starts_with("aaaaaaa")));
        assert!(texts.len() > 900, "{}", texts.len());
        let lengths = DataLengths { min: 10, max: 20 };
        let maker = RowMaker::new(1, 1, lengths);
        let lengths: HashSet<_> = (0..1_000).map(|id| maker.make(id).data.len()).collect();
        assert_eq!(lengths.len(), 11);
    }

    #[test]
    fn the_columns_of_an_index_are_in_its_order() {
        let row = KeyColumns {
            id: 1,
            time_s: 2,
            cash_register: 3,
            customer: 4,
            product: 5,
            price: 6,
        };
        let tuples = Index::ALL.map(|index| index.tuple(&row));
        let numbers = tuples.map(|it| (it.first, it.second, it.third));
        assert_eq!(numbers, [(5, 4, 6), (3, 4, 6), (6, 2, 4)]);
    }
}
