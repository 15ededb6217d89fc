//! Rows as the values of records: the columns that change come first, at fixed offsets, so that a
//! transaction patches a value instead of encoding it again. Numbers are little-endian; a text is
//! its length in one byte, or in two if it may be longer than 255, followed by its bytes.

use super::keys::KeySpace;
use crate::fixed_text::FixedText;
use crate::tpcc::rows::{
    Address, CustomerRow, DistrictRow, HistoryRow, ItemRow, NewOrderRow, OrderLineRow, OrderRow,
    StockRow, WarehouseRow,
};
use crate::tpcc::tables::Stock;
use trueput_engine::key::KeyBuffer;

/// Stands for a moment that is not set.
const NEVER: i64 = i64::MIN;

/// The offsets of C_BALANCE, C_YTD_PAYMENT, C_PAYMENT_CNT and C_DELIVERY_CNT.
pub(super) mod customer_at {
    pub(in super::super) const BALANCE: usize = 0;
    pub(in super::super) const YTD_PAYMENT: usize = 8;
    pub(in super::super) const PAYMENT_COUNT: usize = 16;
    pub(in super::super) const DELIVERY_COUNT: usize = 20;
    /// The offset of C_DISCOUNT, which the other columns follow.
    pub(super) const DISCOUNT: usize = 24;
}

/// The offsets of S_QUANTITY, S_YTD, S_ORDER_CNT and S_REMOTE_CNT.
pub(super) mod stock_at {
    pub(in super::super) const QUANTITY: usize = 0;
    pub(in super::super) const YTD: usize = 4;
    pub(in super::super) const ORDER_COUNT: usize = 12;
    pub(in super::super) const REMOTE_COUNT: usize = 16;
}

/// The offset of D_NEXT_O_ID.
pub(super) const NEXT_ORDER_AT: usize = 0;
/// The offset of O_CARRIER_ID.
pub(super) const CARRIER_AT: usize = 0;
/// The offset of OL_DELIVERY_D.
pub(super) const DELIVERED_AT: usize = 0;

/// Writes a number over the bytes at `place`; `None` if the record is too short.
pub(super) fn patch<const N: usize>(value: &mut [u8], place: usize, number: [u8; N]) -> Option<()> {
    value.get_mut(place..place + N)?.copy_from_slice(&number);
    Some(())
}

/// Reads the bytes at `place`.
pub(super) fn peek<const N: usize>(value: &[u8], place: usize) -> Option<[u8; N]> {
    value.get(place..place + N)?.try_into().ok()
}

/// Reads the field, or the tuple of fields, at the start of a value.
pub(super) fn leading<F: Field>(mut value: &[u8]) -> Option<F> {
    F::take(&mut value)
}

/// A field of a value.
pub(super) trait Field: Sized {
    /// Appends the field to a value.
    fn append(&self, value: &mut Vec<u8>);

    /// Takes the field off the rest of a value; `None` if that is too short.
    fn take(rest: &mut &[u8]) -> Option<Self>;
}

/// Takes this many bytes off the rest of a value.
fn take_bytes<'v>(rest: &mut &'v [u8], length: usize) -> Option<&'v [u8]> {
    let (taken, left) = rest.split_at_checked(length)?;
    *rest = left;
    Some(taken)
}

macro_rules! number_fields {
    ($($number:ty)*) => { $(
        impl Field for $number {
            fn append(&self, value: &mut Vec<u8>) {
                value.extend_from_slice(&self.to_le_bytes());
            }

            fn take(rest: &mut &[u8]) -> Option<Self> {
                let bytes = take_bytes(rest, size_of::<Self>())?;
                bytes.try_into().ok().map(Self::from_le_bytes)
            }
        }
    )* };
}

number_fields! { u8 i32 u32 i64 }

impl Field for bool {
    fn append(&self, value: &mut Vec<u8>) {
        u8::from(*self).append(value);
    }

    fn take(rest: &mut &[u8]) -> Option<Self> {
        u8::take(rest).map(|number| number != 0)
    }
}

/// A number that is never 0.
impl Field for Option<u8> {
    fn append(&self, value: &mut Vec<u8>) {
        self.unwrap_or_default().append(value);
    }

    fn take(rest: &mut &[u8]) -> Option<Self> {
        u8::take(rest).map(|number| (number != 0).then_some(number))
    }
}

/// A moment.
impl Field for Option<i64> {
    fn append(&self, value: &mut Vec<u8>) {
        self.unwrap_or(NEVER).append(value);
    }

    fn take(rest: &mut &[u8]) -> Option<Self> {
        i64::take(rest).map(|moment| (moment != NEVER).then_some(moment))
    }
}

/// Bytes of the length of a text of at most `most`.
const fn length_bytes(most: usize) -> usize {
    if most > 255 { 2 } else { 1 }
}

/// Takes a text of at most `most` bytes off the rest of a value.
fn take_text<'v>(rest: &mut &'v [u8], most: usize) -> Option<&'v [u8]> {
    let low = u8::take(rest)?;
    let high = if length_bytes(most) == 2 {
        u8::take(rest)?
    } else {
        0
    };
    take_bytes(rest, usize::from(u16::from_le_bytes([low, high])))
}

impl<const N: usize> Field for FixedText<N> {
    fn append(&self, value: &mut Vec<u8>) {
        let length = (self.len() as u16).to_le_bytes();
        value.extend_from_slice(&length[..length_bytes(N)]);
        value.extend_from_slice(self.as_bytes());
    }

    fn take(rest: &mut &[u8]) -> Option<Self> {
        Self::new(std::str::from_utf8(take_text(rest, N)?).ok()?)
    }
}

impl<const N: usize, const COUNT: usize> Field for [FixedText<N>; COUNT] {
    fn append(&self, value: &mut Vec<u8>) {
        self.iter().for_each(|text| text.append(value));
    }

    fn take(rest: &mut &[u8]) -> Option<Self> {
        let mut texts = [FixedText::EMPTY; COUNT];
        for text in &mut texts {
            *text = Field::take(rest)?;
        }
        Some(texts)
    }
}

macro_rules! tuple_fields {
    ($(($($field:ident $index:tt),+))+) => { $(
        impl<$($field: Field),+> Field for ($($field,)+) {
            fn append(&self, value: &mut Vec<u8>) {
                $(self.$index.append(value);)+
            }

            fn take(rest: &mut &[u8]) -> Option<Self> {
                Some(($($field::take(rest)?,)+))
            }
        }
    )+ };
}

tuple_fields! { (A 0, B 1) (A 0, B 1, C 2) (A 0, B 1, C 2, D 3, E 4) }

impl Field for Address {
    fn append(&self, value: &mut Vec<u8>) {
        self.street_1.append(value);
        self.street_2.append(value);
        self.city.append(value);
        self.state.append(value);
        self.zip.append(value);
    }

    fn take(rest: &mut &[u8]) -> Option<Self> {
        Some(Self {
            street_1: Field::take(rest)?,
            street_2: Field::take(rest)?,
            city: Field::take(rest)?,
            state: Field::take(rest)?,
            zip: Field::take(rest)?,
        })
    }
}

/// A row that is kept in one record, but for its indexes and sums.
pub(super) trait StoredRow {
    /// Writes the key of the row's record.
    fn write_key(&self, key: &mut KeyBuffer);

    /// Writes the value of the row's record.
    fn encode(&self, value: &mut Vec<u8>);

    /// Decodes the value of the row's record, and leaves the columns of its key unchanged; `None`
    /// if the value is damaged.
    fn decode(&mut self, value: &[u8]) -> Option<()>;
}

macro_rules! stored_rows {
    ($($row:ident in $space:ident ($($part:ident: $number:ident),+) [$($field:ident),*];)+) => { $(
        impl StoredRow for $row {
            fn write_key(&self, key: &mut KeyBuffer) {
                key.clear().u8(KeySpace::$space as u8)$(.$number(self.$part))+;
            }

            fn encode(&self, value: &mut Vec<u8>) {
                value.clear();
                $(self.$field.append(value);)*
            }

            fn decode(&mut self, value: &[u8]) -> Option<()> {
                let rest = &mut &*value;
                $(self.$field = Field::take(rest)?;)*
                let _ = rest;
                Some(())
            }
        }
    )+ };
}

// W_YTD and D_YTD are in records of their own.
stored_rows! {
    WarehouseRow in Warehouse (id: u32) [tax, name, address];
    DistrictRow in District (warehouse: u32, id: u8) [next_order, tax, name, address];
    CustomerRow in Customer (warehouse: u32, district: u8, id: u32) [
        balance, ytd_payment, payment_count, delivery_count, discount, credit, last, first, middle,
        address, phone, since, credit_limit, data
    ];
    HistoryRow in History (writer: u32, number: u64) [
        customer_warehouse, customer_district, customer, warehouse, district, at, amount, data
    ];
    NewOrderRow in NewOrder (warehouse: u32, district: u8, order: u32) [];
    OrderRow in Order (warehouse: u32, district: u8, id: u32) [
        carrier, customer, at, lines, all_local
    ];
    OrderLineRow in OrderLine (warehouse: u32, district: u8, order: u32, number: u8) [
        delivered_at, amount, item, supplier, quantity, district_info
    ];
    ItemRow in Item (id: u32) [price, image, name, data];
    StockRow in Stock (warehouse: u32, item: u32) [
        quantity, ytd, order_count, remote_count, data, district_info
    ];
}

/// Decodes the value of a row's record into a copy of `row`, which holds the columns of the key.
pub(super) fn decode<R: StoredRow>(mut row: R, value: &[u8]) -> Option<R> {
    row.decode(value).map(|()| row)
}

/// Replaces C_DATA, which is the last column.
pub(super) fn replace_customer_data(value: &mut Vec<u8>, data: &FixedText<500>) -> Option<()> {
    let mut rest = value.get(customer_at::DISCOUNT..)?;
    i64::take(&mut rest)?;
    for most in [2, 16, 16, 2, 20, 20, 20, 2, 9, 16] {
        take_text(&mut rest, most)?;
    }
    take_bytes(&mut rest, 16)?;
    let place = value.len() - rest.len();
    value.truncate(place);
    data.append(value);
    Some(())
}

/// C_DISCOUNT, C_CREDIT and C_LAST.
pub(super) fn buyer(value: &[u8]) -> Option<(i64, FixedText<2>, FixedText<16>)> {
    leading(value.get(customer_at::DISCOUNT..)?)
}

/// Whether OL_DELIVERY_D is set, OL_AMOUNT, and OL_I_ID.
pub(super) fn line_state(value: &[u8]) -> Option<(bool, i64, u32)> {
    let (delivered_at, amount, item): (Option<i64>, _, _) = leading(value)?;
    Some((delivered_at.is_some(), amount, item))
}

/// A stock with S_DIST_xx of one district, 1 to 10.
pub(super) fn stock(district: u8, value: &[u8]) -> Option<Stock> {
    let mut rest = value;
    let (quantity, ytd, order_count, remote_count, data) = Field::take(&mut rest)?;
    for _ in 1..district {
        take_text(&mut rest, 24)?;
    }
    Some(Stock {
        quantity,
        ytd,
        order_count,
        remote_count,
        district_info: Field::take(&mut rest)?,
        data,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_reads_as_it_was_written_and_a_short_one_is_refused() {
        let row = OrderLineRow {
            delivered_at: Some(-5),
            amount: 999_999,
            item: 100_000,
            supplier: 7,
            quantity: 5,
            district_info: FixedText::cut("abcdefghijklmnopqrstuvwx"),
            ..OrderLineRow::default()
        };
        let mut value = Vec::new();
        row.encode(&mut value);
        let read = |value| decode(OrderLineRow::default(), value);
        assert_eq!(read(&value), Some(row));
        assert_eq!(read(&value[..value.len() - 1]), None);
        let mut customer_row = CustomerRow {
            balance: -1_000,
            data: FixedText::cut(&"x".repeat(400)),
            last: FixedText::cut("BARBARBAR"),
            ..CustomerRow::default()
        };
        customer_row.encode(&mut value);
        patch(&mut value, customer_at::BALANCE, 17_i64.to_le_bytes()).unwrap();
        let mut read = CustomerRow::default();
        read.decode(&value).unwrap();
        customer_row.data = FixedText::cut(&"y".repeat(500));
        replace_customer_data(&mut value, &customer_row.data).unwrap();
        read.decode(&value).unwrap();
        customer_row.balance = 17;
        assert_eq!(read, customer_row);
        assert_eq!(
            buyer(&value).map(|(_, _, last)| last),
            Some(customer_row.last)
        );
    }
}
