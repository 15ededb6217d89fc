//! Rows as the values of records: the columns that change come first, at fixed places, so that a
//! transaction patches what it has read instead of encoding it anew. Numbers are little-endian, a
//! text is its length in a byte, or in two where it may be longer than 255, and its bytes.

use super::super::rows::{
    Address, CustomerRow, DistrictRow, HistoryRow, ItemRow, OrderLineRow, OrderRow, StockRow,
    WarehouseRow,
};
use super::super::text::FixedText;

/// Stands for a moment that is not set.
const NEVER: i64 = i64::MIN;

/// Where C_BALANCE, C_YTD_PAYMENT, C_PAYMENT_CNT and C_DELIVERY_CNT stand.
pub(super) mod customer_at {
    pub(in super::super) const BALANCE: usize = 0;
    pub(in super::super) const YTD_PAYMENT: usize = 8;
    pub(in super::super) const PAYMENT_COUNT: usize = 16;
    pub(in super::super) const DELIVERY_COUNT: usize = 20;
}

/// Where S_QUANTITY, S_YTD, S_ORDER_CNT and S_REMOTE_CNT stand.
pub(super) mod stock_at {
    pub(in super::super) const QUANTITY: usize = 0;
    pub(in super::super) const YTD: usize = 4;
    pub(in super::super) const ORDER_COUNT: usize = 12;
    pub(in super::super) const REMOTE_COUNT: usize = 16;
}

/// Where D_NEXT_O_ID stands.
pub(super) const NEXT_ORDER_AT: usize = 0;
/// Where O_CARRIER_ID stands.
pub(super) const CARRIER_AT: usize = 0;
/// Where OL_DELIVERY_D stands.
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

/// Appends fields to a value.
struct FieldWriter<'v>(&'v mut Vec<u8>);

impl FieldWriter<'_> {
    fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend_from_slice(bytes);
        self
    }

    fn u8(&mut self, number: u8) -> &mut Self {
        self.raw(&[number])
    }

    fn u32(&mut self, number: u32) -> &mut Self {
        self.raw(&number.to_le_bytes())
    }

    fn i64(&mut self, number: i64) -> &mut Self {
        self.raw(&number.to_le_bytes())
    }

    fn text<const N: usize>(&mut self, text: &FixedText<N>) -> &mut Self {
        let length = (text.len() as u16).to_le_bytes();
        self.raw(&length[..length_bytes(N)]).raw(text.as_bytes())
    }

    fn address(&mut self, address: &Address) -> &mut Self {
        self.text(&address.street_1)
            .text(&address.street_2)
            .text(&address.city)
            .text(&address.state)
            .text(&address.zip)
    }
}

/// Bytes of the length of a text of at most `most`.
const fn length_bytes(most: usize) -> usize {
    if most > 255 { 2 } else { 1 }
}

/// Takes fields off a value; `None` if it is too short.
struct FieldReader<'v>(&'v [u8]);

impl<'v> FieldReader<'v> {
    fn raw(&mut self, length: usize) -> Option<&'v [u8]> {
        let (taken, left) = self.0.split_at_checked(length)?;
        self.0 = left;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.raw(N)?.try_into().ok()
    }

    fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn i64(&mut self) -> Option<i64> {
        self.array().map(i64::from_le_bytes)
    }

    fn text_bytes(&mut self, most: usize) -> Option<&'v [u8]> {
        let low = self.u8()?;
        let high = if length_bytes(most) == 2 {
            self.u8()?
        } else {
            0
        };
        self.raw(usize::from(u16::from_le_bytes([low, high])))
    }

    fn text<const N: usize>(&mut self) -> Option<FixedText<N>> {
        FixedText::new(std::str::from_utf8(self.text_bytes(N)?).ok()?)
    }

    fn address(&mut self) -> Option<Address> {
        Some(Address {
            street_1: self.text()?,
            street_2: self.text()?,
            city: self.text()?,
            state: self.text()?,
            zip: self.text()?,
        })
    }
}

/// W_YTD is in a record of its own.
pub(super) fn put_warehouse(row: &WarehouseRow, out: &mut Vec<u8>) {
    out.clear();
    FieldWriter(out)
        .i64(row.tax)
        .text(&row.name)
        .address(&row.address);
}

pub(super) fn warehouse(id: u32, value: &[u8]) -> Option<WarehouseRow> {
    let mut reader = FieldReader(value);
    Some(WarehouseRow {
        id,
        tax: reader.i64()?,
        name: reader.text()?,
        address: reader.address()?,
        ytd: 0,
    })
}

/// W_TAX alone.
pub(super) fn warehouse_tax(value: &[u8]) -> Option<i64> {
    FieldReader(value).i64()
}

/// D_YTD is in a record of its own.
pub(super) fn put_district(row: &DistrictRow, out: &mut Vec<u8>) {
    out.clear();
    let mut writer = FieldWriter(out);
    writer.u32(row.next_order).i64(row.tax);
    writer.text(&row.name).address(&row.address);
}

pub(super) fn district(warehouse: u32, id: u8, value: &[u8]) -> Option<DistrictRow> {
    let mut reader = FieldReader(value);
    Some(DistrictRow {
        warehouse,
        id,
        next_order: reader.u32()?,
        tax: reader.i64()?,
        name: reader.text()?,
        address: reader.address()?,
        ytd: 0,
    })
}

/// D_NEXT_O_ID and D_TAX.
pub(super) fn district_order(value: &[u8]) -> Option<(u32, i64)> {
    let mut reader = FieldReader(value);
    Some((reader.u32()?, reader.i64()?))
}

pub(super) fn put_customer(row: &CustomerRow, out: &mut Vec<u8>) {
    out.clear();
    let mut writer = FieldWriter(out);
    writer.i64(row.balance).i64(row.ytd_payment);
    writer.u32(row.payment_count).u32(row.delivery_count);
    writer.i64(row.discount).text(&row.credit).text(&row.last);
    writer.text(&row.first).text(&row.middle);
    writer.address(&row.address).text(&row.phone);
    writer.i64(row.since).i64(row.credit_limit).text(&row.data);
}

/// Its key's part of the row is left as it is.
pub(super) fn customer(value: &[u8], row: &mut CustomerRow) -> Option<()> {
    let mut reader = FieldReader(value);
    row.balance = reader.i64()?;
    row.ytd_payment = reader.i64()?;
    row.payment_count = reader.u32()?;
    row.delivery_count = reader.u32()?;
    row.discount = reader.i64()?;
    row.credit = reader.text()?;
    row.last = reader.text()?;
    row.first = reader.text()?;
    row.middle = reader.text()?;
    row.address = reader.address()?;
    row.phone = reader.text()?;
    row.since = reader.i64()?;
    row.credit_limit = reader.i64()?;
    row.data = reader.text()?;
    Some(())
}

/// Writes another C_DATA, which stands last.
pub(super) fn replace_customer_data(value: &mut Vec<u8>, data: &FixedText<500>) -> Option<()> {
    let mut reader = FieldReader(value.get(customer_at::DELIVERY_COUNT + 4..)?);
    reader.raw(8)?;
    for most in [2, 16, 16, 2, 20, 20, 20, 2, 9, 16] {
        reader.text_bytes(most)?;
    }
    reader.raw(16)?;
    let place = value.len() - reader.0.len();
    value.truncate(place);
    FieldWriter(value).text(data);
    Some(())
}

/// C_DISCOUNT, C_CREDIT and C_LAST.
pub(super) fn buyer(value: &[u8]) -> Option<(i64, FixedText<2>, FixedText<16>)> {
    let mut reader = FieldReader(value.get(customer_at::DELIVERY_COUNT + 4..)?);
    Some((reader.i64()?, reader.text()?, reader.text()?))
}

/// C_BALANCE and C_YTD_PAYMENT.
pub(super) fn customer_money(value: &[u8]) -> Option<(i64, i64)> {
    let mut reader = FieldReader(value);
    Some((reader.i64()?, reader.i64()?))
}

pub(super) fn put_history(row: &HistoryRow, out: &mut Vec<u8>) {
    out.clear();
    let mut writer = FieldWriter(out);
    writer.u32(row.customer_warehouse).u8(row.customer_district);
    writer.u32(row.customer).u32(row.warehouse).u8(row.district);
    writer.i64(row.at).i64(row.amount).text(&row.data);
}

pub(super) fn history(value: &[u8]) -> Option<HistoryRow> {
    let mut reader = FieldReader(value);
    Some(HistoryRow {
        customer_warehouse: reader.u32()?,
        customer_district: reader.u8()?,
        customer: reader.u32()?,
        warehouse: reader.u32()?,
        district: reader.u8()?,
        at: reader.i64()?,
        amount: reader.i64()?,
        data: reader.text()?,
        ..HistoryRow::default()
    })
}

pub(super) fn put_order(row: &OrderRow, out: &mut Vec<u8>) {
    out.clear();
    let mut writer = FieldWriter(out);
    writer.u8(row.carrier.unwrap_or_default());
    writer.u32(row.customer).i64(row.at);
    writer.u8(row.lines).u8(u8::from(row.all_local));
}

pub(super) fn order(warehouse: u32, district: u8, id: u32, value: &[u8]) -> Option<OrderRow> {
    let mut reader = FieldReader(value);
    Some(OrderRow {
        warehouse,
        district,
        id,
        carrier: reader
            .u8()
            .map(|carrier| (carrier != 0).then_some(carrier))?,
        customer: reader.u32()?,
        at: reader.i64()?,
        lines: reader.u8()?,
        all_local: reader.u8()? != 0,
    })
}

pub(super) fn put_order_line(row: &OrderLineRow, out: &mut Vec<u8>) {
    out.clear();
    let mut writer = FieldWriter(out);
    writer
        .i64(row.delivered_at.unwrap_or(NEVER))
        .i64(row.amount);
    writer.u32(row.item).u32(row.supplier).u8(row.quantity);
    writer.text(&row.district_info);
}

/// Its key's part of the row is left at its default.
pub(super) fn order_line(value: &[u8]) -> Option<OrderLineRow> {
    let mut reader = FieldReader(value);
    let delivered_at = reader.i64()?;
    Some(OrderLineRow {
        delivered_at: (delivered_at != NEVER).then_some(delivered_at),
        amount: reader.i64()?,
        item: reader.u32()?,
        supplier: reader.u32()?,
        quantity: reader.u8()?,
        district_info: reader.text()?,
        ..OrderLineRow::default()
    })
}

/// Whether OL_DELIVERY_D is set, OL_AMOUNT, and OL_I_ID.
pub(super) fn line_state(value: &[u8]) -> Option<(bool, i64, u32)> {
    let mut reader = FieldReader(value);
    Some((reader.i64()? != NEVER, reader.i64()?, reader.u32()?))
}

pub(super) fn put_item(row: &ItemRow, out: &mut Vec<u8>) {
    out.clear();
    let mut writer = FieldWriter(out);
    writer.i64(row.price).u32(row.image);
    writer.text(&row.name).text(&row.data);
}

pub(super) fn item(value: &[u8]) -> Option<ItemRow> {
    let mut reader = FieldReader(value);
    Some(ItemRow {
        id: 0,
        price: reader.i64()?,
        image: reader.u32()?,
        name: reader.text()?,
        data: reader.text()?,
    })
}

pub(super) fn put_stock(row: &StockRow, out: &mut Vec<u8>) {
    out.clear();
    let mut writer = FieldWriter(out);
    writer.raw(&row.quantity.to_le_bytes()).i64(row.ytd);
    writer.u32(row.order_count).u32(row.remote_count);
    writer.text(&row.data);
    for info in &row.district_info {
        writer.text(info);
    }
}

/// A stock with S_DIST_xx of one district, 1 to 10.
pub(super) fn stock(district: u8, value: &[u8]) -> Option<crate::tpcc::tables::Stock> {
    let mut reader = FieldReader(value);
    let quantity = i32::from_le_bytes(reader.array()?);
    let (ytd, order_count, remote_count) = (reader.i64()?, reader.u32()?, reader.u32()?);
    let data = reader.text()?;
    for _ in 1..district {
        reader.text_bytes(24)?;
    }
    Some(crate::tpcc::tables::Stock {
        quantity,
        ytd,
        order_count,
        remote_count,
        district_info: reader.text()?,
        data,
    })
}

/// S_QUANTITY alone.
pub(super) fn stock_quantity(value: &[u8]) -> Option<i32> {
    peek(value, stock_at::QUANTITY).map(i32::from_le_bytes)
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
        put_order_line(&row, &mut value);
        assert_eq!(order_line(&value), Some(row));
        assert_eq!(order_line(&value[..value.len() - 1]), None);
        let mut customer_row = CustomerRow {
            balance: -1_000,
            data: FixedText::cut(&"x".repeat(400)),
            last: FixedText::cut("BARBARBAR"),
            ..CustomerRow::default()
        };
        put_customer(&customer_row, &mut value);
        patch(&mut value, customer_at::BALANCE, 17_i64.to_le_bytes()).unwrap();
        let mut read = CustomerRow::default();
        customer(&value, &mut read).unwrap();
        customer_row.data = FixedText::cut(&"y".repeat(500));
        replace_customer_data(&mut value, &customer_row.data).unwrap();
        customer(&value, &mut read).unwrap();
        customer_row.balance = 17;
        assert_eq!(read, customer_row);
        assert_eq!(
            buyer(&value).map(|(_, _, last)| last),
            Some(customer_row.last)
        );
    }
}
