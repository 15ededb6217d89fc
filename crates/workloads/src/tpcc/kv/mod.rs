//! The nine tables as records of a key-value engine, through one session of it.

mod codec;
mod keys;
mod load;
mod order;
mod pay;
mod scan;

use super::rows::{CustomerRow, HistoryRow, ItemRow, OrderLineRow, OrderRow, Table};
use super::tables::{
    BuyerState, CustomerChange, CustomerSelector, CustomerState, DeliveredOrder, DistrictState,
    HistoryState, Item, LineState, OrderNumber, OrderState, Place, ReadIntent, Rows, Stock,
    StockChange, StockKey, Tables, UndeliveredOrder,
};
use keys::{KeyPrefix, KeySpace, district_key, global_key, warehouse_key};
use trueput_engine::key::KeyBuffer;
use trueput_engine::{Error, Mode, Result, Session};

/// The nine tables over a session's keys and values.
pub struct KeyValue<'s> {
    session: &'s mut dyn Session,
    key: KeyBuffer,
    prefix: KeyPrefix,
    value: Vec<u8>,
    /// The customer that a payment has read, key and value, to be patched.
    customer: (KeyBuffer, Vec<u8>),
    /// The stocks that a new-order has read, one after the other, with where each begins.
    stocks: ValueArena,
    /// The lines of an order under delivery: their numbers and where their values begin.
    lines: ValueArena,
    /// Numbers met in an index.
    numbers: Vec<u32>,
}

/// Values kept one after the other, so that keeping them costs no allocation.
#[derive(Debug, Default)]
struct ValueArena {
    bytes: Vec<u8>,
    /// A tag, and where its value ends.
    ends: Vec<(u8, usize)>,
}

impl ValueArena {
    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    fn keep(&mut self, tag: u8, value: &[u8]) {
        self.bytes.extend_from_slice(value);
        self.ends.push((tag, self.bytes.len()));
    }

    fn len(&self) -> usize {
        self.ends.len()
    }

    /// The value of this index, and its tag.
    fn get_mut(&mut self, index: usize) -> Option<(u8, &mut [u8])> {
        let start = match index {
            0 => 0,
            _ => self.ends.get(index - 1)?.1,
        };
        let (tag, end) = *self.ends.get(index)?;
        Some((tag, self.bytes.get_mut(start..end)?))
    }
}

/// A row that must be there is not.
fn missing(what: &str, warehouse: u32, district: u8, number: u32) -> Error {
    Error::engine(format!(
        "{what} {number} of district {district} of warehouse {warehouse} is not there"
    ))
}

/// A record that does not read as what its key says.
fn damaged(what: &str) -> Error {
    Error::engine(format!("a record of {what} is damaged"))
}

impl<'s> KeyValue<'s> {
    /// The tables of this session's database.
    pub fn new(session: &'s mut dyn Session) -> Self {
        Self {
            session,
            key: KeyBuffer::new(),
            prefix: KeyPrefix::new(),
            value: Vec::with_capacity(1_024),
            customer: (KeyBuffer::new(), Vec::with_capacity(1_024)),
            stocks: ValueArena::default(),
            lines: ValueArena::default(),
            numbers: Vec::new(),
        }
    }

    /// Reads the record of the key that was written last; `None` where it is not there.
    fn read<T>(
        &mut self,
        what: &str,
        decode: impl FnOnce(&[u8]) -> Option<T>,
    ) -> Result<Option<T>> {
        let (mut decode, mut decoded) = (Some(decode), None);
        let found = self.session.get(self.key.as_bytes(), &mut |value| {
            decoded = decode.take().and_then(|decode| decode(value));
        })?;
        match (found, decoded) {
            (false, _) => Ok(None),
            (true, None) => Err(damaged(what)),
            (true, decoded) => Ok(decoded),
        }
    }

    /// Reads the value of the key that was written last; whether it is there.
    fn fetch(&mut self) -> Result<bool> {
        let value = &mut self.value;
        self.session.get(self.key.as_bytes(), &mut |found| {
            value.clear();
            value.extend_from_slice(found);
        })
    }

    /// Stores the value under the key that was written last.
    fn store(&mut self) -> Result<()> {
        self.session.put(self.key.as_bytes(), &self.value)
    }

    /// Adds to the record of a sum whose key was written last.
    fn add_to_sum(&mut self, what: &str, amount: i64) -> Result<()> {
        let sum = self.read(what, |value| codec::peek(value, 0).map(i64::from_le_bytes))?;
        let sum = sum.ok_or_else(|| Error::engine(format!("{what} is not there")))?;
        self.value.clear();
        self.value.extend_from_slice(&(sum + amount).to_le_bytes());
        self.store()
    }
}

impl Tables for KeyValue<'_> {
    fn begin(&mut self, mode: Mode) -> Result<()> {
        self.session.begin(mode)
    }

    fn commit(&mut self) -> Result<()> {
        self.session.commit()
    }

    fn abort(&mut self) -> Result<()> {
        self.session.abort()
    }

    fn buyer(&mut self, warehouse: u32, district: u8, customer: u32) -> Result<BuyerState> {
        self.read_buyer(warehouse, district, customer)
    }

    fn take_order_number(&mut self, warehouse: u32, district: u8) -> Result<OrderNumber> {
        self.raise_order_number(warehouse, district)
    }

    fn insert_order(&mut self, order: &OrderRow) -> Result<()> {
        let (warehouse, district) = (order.warehouse, order.district);
        district_key(&mut self.key, KeySpace::Order, warehouse, district).u32(order.id);
        codec::put_order(order, &mut self.value);
        self.store()?;
        district_key(&mut self.key, KeySpace::NewOrder, warehouse, district).u32(order.id);
        self.session.put(self.key.as_bytes(), &[])?;
        district_key(&mut self.key, KeySpace::OrderCustomer, warehouse, district)
            .u32(order.customer)
            .u32(order.id);
        self.session.put(self.key.as_bytes(), &[])
    }

    fn items(&mut self, ids: &[u32], out: &mut Vec<Option<Item>>) -> Result<()> {
        out.clear();
        for &id in ids {
            global_key(&mut self.key, KeySpace::Item).u32(id);
            let item = self.read("ITEM", codec::item)?;
            out.push(item.map(|item| Item {
                price: item.price,
                name: item.name,
                data: item.data,
            }));
        }
        Ok(())
    }

    fn stocks(&mut self, keys: &[StockKey], district: u8, out: &mut Vec<Stock>) -> Result<()> {
        self.read_stocks(keys, district, out)
    }

    fn update_stocks(&mut self, changes: &[StockChange]) -> Result<()> {
        self.write_stocks(changes)
    }

    fn insert_order_lines(&mut self, lines: &[OrderLineRow]) -> Result<()> {
        for line in lines {
            district_key(
                &mut self.key,
                KeySpace::OrderLine,
                line.warehouse,
                line.district,
            )
            .u32(line.order)
            .u8(line.number);
            codec::put_order_line(line, &mut self.value);
            self.store()?;
        }
        Ok(())
    }

    fn pay_warehouse(&mut self, warehouse: u32, amount: i64) -> Result<Place> {
        warehouse_key(&mut self.key, KeySpace::WarehouseYtd, warehouse);
        self.add_to_sum("W_YTD", amount)?;
        warehouse_key(&mut self.key, KeySpace::Warehouse, warehouse);
        let row = self.read("WAREHOUSE", |value| codec::warehouse(warehouse, value))?;
        let row = row.ok_or_else(|| missing("the row", warehouse, 0, 0))?;
        Ok(Place {
            name: row.name,
            address: row.address,
        })
    }

    fn pay_district(&mut self, warehouse: u32, district: u8, amount: i64) -> Result<Place> {
        district_key(&mut self.key, KeySpace::DistrictYtd, warehouse, district);
        self.add_to_sum("D_YTD", amount)?;
        district_key(&mut self.key, KeySpace::District, warehouse, district);
        let decode = |value: &[u8]| codec::district(warehouse, district, value);
        let row = self.read("DISTRICT", decode)?;
        let row = row.ok_or_else(|| missing("the row", warehouse, district, 0))?;
        Ok(Place {
            name: row.name,
            address: row.address,
        })
    }

    fn customer(
        &mut self,
        warehouse: u32,
        district: u8,
        who: &CustomerSelector,
        _intent: ReadIntent,
        out: &mut CustomerRow,
    ) -> Result<()> {
        self.read_customer(warehouse, district, who, out)
    }

    fn pay_customer(&mut self, change: &CustomerChange<'_>) -> Result<()> {
        self.write_customer(change)
    }

    fn insert_history(&mut self, row: &HistoryRow) -> Result<()> {
        global_key(&mut self.key, KeySpace::History)
            .u32(row.writer)
            .u64(row.number);
        codec::put_history(row, &mut self.value);
        self.store()
    }

    fn last_order(
        &mut self,
        warehouse: u32,
        district: u8,
        customer: u32,
    ) -> Result<Option<OrderRow>> {
        self.read_last_order(warehouse, district, customer)
    }

    fn order_lines(
        &mut self,
        warehouse: u32,
        district: u8,
        order: u32,
        out: &mut Vec<OrderLineRow>,
    ) -> Result<()> {
        self.read_order_lines(warehouse, district, order, out)
    }

    fn take_oldest_new_orders(
        &mut self,
        warehouse: u32,
        out: &mut Vec<UndeliveredOrder>,
    ) -> Result<()> {
        self.take_due(warehouse, out)
    }

    fn deliver(
        &mut self,
        warehouse: u32,
        due: &[UndeliveredOrder],
        carrier: u8,
        at: i64,
        out: &mut Vec<DeliveredOrder>,
    ) -> Result<()> {
        out.clear();
        for &due in due {
            out.push(self.deliver_one(warehouse, due, carrier, at)?);
        }
        Ok(())
    }

    fn credit_deliveries(&mut self, warehouse: u32, delivered: &[DeliveredOrder]) -> Result<()> {
        delivered
            .iter()
            .try_for_each(|one| self.credit(warehouse, one))
    }

    fn low_stock(&mut self, warehouse: u32, district: u8, threshold: i32) -> Result<u64> {
        self.count_low_stock(warehouse, district, threshold)
    }

    fn set_price(&mut self, item: u32, price: i64) -> Result<()> {
        global_key(&mut self.key, KeySpace::Item).u32(item);
        let row = self.read("ITEM", codec::item)?;
        let row = row.ok_or_else(|| missing("item", 0, 0, item))?;
        codec::put_item(&ItemRow { price, ..row }, &mut self.value);
        self.store()
    }

    fn create(&mut self) -> Result<()> {
        // Key spaces need no making.
        Ok(())
    }

    fn load(&mut self, rows: Rows<'_>) -> Result<u64> {
        self.put_rows(rows)
    }

    fn finish_load(&mut self) -> Result<()> {
        // Indexes are written with their rows.
        Ok(())
    }

    fn warehouse_ytd(&mut self, warehouse: u32) -> Result<i64> {
        warehouse_key(&mut self.key, KeySpace::WarehouseYtd, warehouse);
        let ytd = self.read("W_YTD", |value| {
            codec::peek(value, 0).map(i64::from_le_bytes)
        })?;
        ytd.ok_or_else(|| missing("W_YTD", warehouse, 0, 0))
    }

    fn district_state(&mut self, warehouse: u32, district: u8) -> Result<DistrictState> {
        district_key(&mut self.key, KeySpace::DistrictYtd, warehouse, district);
        let ytd = self.read("D_YTD", |value| {
            codec::peek(value, 0).map(i64::from_le_bytes)
        })?;
        district_key(&mut self.key, KeySpace::District, warehouse, district);
        let order = self.read("DISTRICT", codec::district_order)?;
        let (ytd, (next_order, _)) = ytd
            .zip(order)
            .ok_or_else(|| missing("the row", warehouse, district, 0))?;
        Ok(DistrictState { ytd, next_order })
    }

    fn each_customer(
        &mut self,
        warehouse: u32,
        district: u8,
        visitor: &mut dyn FnMut(CustomerState),
    ) -> Result<()> {
        district_key(self.prefix.write(), KeySpace::Customer, warehouse, district);
        self.each("CUSTOMER", visitor, |key, value| {
            let (balance, ytd_payment) = codec::customer_money(value)?;
            Some(CustomerState {
                id: keys::last_u32(key)?,
                balance,
                ytd_payment,
            })
        })
    }

    fn each_history(&mut self, visitor: &mut dyn FnMut(HistoryState)) -> Result<()> {
        global_key(self.prefix.write(), KeySpace::History);
        self.each("HISTORY", visitor, |_, value| {
            let row = codec::history(value)?;
            Some(HistoryState {
                customer_warehouse: row.customer_warehouse,
                customer_district: row.customer_district,
                customer: row.customer,
                warehouse: row.warehouse,
                district: row.district,
                amount: row.amount,
            })
        })
    }

    fn each_order(
        &mut self,
        warehouse: u32,
        district: u8,
        visitor: &mut dyn FnMut(OrderState),
    ) -> Result<()> {
        district_key(self.prefix.write(), KeySpace::Order, warehouse, district);
        self.each("ORDER", visitor, |key, value| {
            let row = codec::order(warehouse, district, keys::last_u32(key)?, value)?;
            Some(OrderState {
                id: row.id,
                customer: row.customer,
                has_carrier: row.carrier.is_some(),
                lines: row.lines,
            })
        })
    }

    fn each_new_order(
        &mut self,
        warehouse: u32,
        district: u8,
        visitor: &mut dyn FnMut(u32),
    ) -> Result<()> {
        district_key(self.prefix.write(), KeySpace::NewOrder, warehouse, district);
        self.each("NEW-ORDER", visitor, |key, _| keys::last_u32(key))
    }

    fn each_order_line(
        &mut self,
        warehouse: u32,
        district: u8,
        visitor: &mut dyn FnMut(LineState),
    ) -> Result<()> {
        district_key(
            self.prefix.write(),
            KeySpace::OrderLine,
            warehouse,
            district,
        );
        self.each("ORDER-LINE", visitor, |key, value| {
            let (is_delivered, amount, _) = codec::line_state(value)?;
            Some(LineState {
                order: keys::order_and_line(key)?.0,
                is_delivered,
                amount,
            })
        })
    }

    fn read_table(&mut self, table: Table, warehouse: u32) -> Result<u64> {
        self.read_through(table, warehouse)
    }
}
