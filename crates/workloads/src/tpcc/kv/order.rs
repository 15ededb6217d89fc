//! Records of new-order, order-status and stock-level.

use super::codec::StoredRow;
use super::keys::{self, KeySpace, district_key, global_key, warehouse_key};
use super::{KeyValue, codec, damaged, missing};
use crate::tpcc::rows::{DistrictKey, ItemRow, OrderLineRow, OrderRow};
use crate::tpcc::tables::{
    BuyerState, Item, NewOrderTables, OrderNumber, OrderStatusTables, Stock, StockChange, StockKey,
    StockLevelTables,
};
use std::ops::ControlFlow;
use trueput_engine::{Direction, Error, KeyRange, Result};

/// Orders that stock-level looks back at (clause 2.8.2.2).
const ORDERS_LOOKED_AT: u32 = 20;

impl NewOrderTables for KeyValue<'_> {
    fn buyer(&mut self, district: DistrictKey, customer: u32) -> Result<BuyerState> {
        let warehouse = district.warehouse;
        warehouse_key(&mut self.key, KeySpace::Warehouse, warehouse);
        let warehouse_tax =
            self.read_existing(format_args!("warehouse {warehouse}"), codec::leading)?;
        district_key(&mut self.key, KeySpace::Customer, district).u32(customer);
        let named = format_args!("customer {customer} of {district}");
        let (discount, credit, last) = self.read_existing(named, codec::buyer)?;
        Ok(BuyerState {
            discount,
            last,
            credit,
            warehouse_tax,
        })
    }

    fn take_order_number(&mut self, district: DistrictKey) -> Result<OrderNumber> {
        district_key(&mut self.key, KeySpace::District, district);
        self.fetch_existing(district)?;
        let (order, district_tax): (u32, i64) =
            codec::leading(&self.value).ok_or_else(|| damaged(district))?;
        let next = (order + 1).to_le_bytes();
        codec::patch(&mut self.value, codec::NEXT_ORDER_AT, next)
            .ok_or_else(|| damaged(district))?;
        self.store()?;
        Ok(OrderNumber {
            order,
            district_tax,
        })
    }

    fn insert_order(&mut self, order: &OrderRow) -> Result<()> {
        self.put_row(order)?;
        district_key(&mut self.key, KeySpace::NewOrder, order.district_key()).u32(order.id);
        self.session.put(self.key.as_bytes(), &[])?;
        self.write_customer_order_key(order);
        self.session.put(self.key.as_bytes(), &[])
    }

    fn items(&mut self, ids: &[u32], out: &mut Vec<Option<Item>>) -> Result<()> {
        out.clear();
        for &id in ids {
            global_key(&mut self.key, KeySpace::Item).u32(id);
            let decode = |value: &[u8]| codec::decode(ItemRow::default(), value);
            let item = self.read(format_args!("item {id}"), decode)?;
            out.push(item.map(|item| Item {
                price: item.price,
                name: item.name,
                data: item.data,
            }));
        }
        Ok(())
    }

    fn stocks(&mut self, keys: &[StockKey], district: u8, out: &mut Vec<Stock>) -> Result<()> {
        out.clear();
        self.stocks.clear();
        for stock in keys {
            warehouse_key(&mut self.key, KeySpace::Stock, stock.warehouse).u32(stock.item);
            let (kept, mut seen) = (&mut self.stocks, None);
            let found = self.session.get(self.key.as_bytes(), &mut |value| {
                kept.keep(0, value);
                seen = codec::stock(district, value);
            })?;
            if !found {
                return Err(missing(stock));
            }
            out.push(seen.ok_or_else(|| damaged(stock))?);
        }
        Ok(())
    }

    fn update_stocks(&mut self, changes: &[StockChange]) -> Result<()> {
        use codec::stock_at::{ORDER_COUNT, QUANTITY, REMOTE_COUNT, YTD};
        for (index, change) in changes.iter().enumerate() {
            let unread = || Error::engine("a stock is to be changed that was not read");
            let (_, value) = self.stocks.get_mut(index).ok_or_else(unread)?;
            codec::patch(value, QUANTITY, change.quantity.to_le_bytes())
                .and_then(|()| codec::patch(value, YTD, change.ytd.to_le_bytes()))
                .and_then(|()| codec::patch(value, ORDER_COUNT, change.order_count.to_le_bytes()))
                .and_then(|()| codec::patch(value, REMOTE_COUNT, change.remote_count.to_le_bytes()))
                .ok_or_else(|| damaged(change.key))?;
            let StockKey { warehouse, item } = change.key;
            warehouse_key(&mut self.key, KeySpace::Stock, warehouse).u32(item);
            self.session.put(self.key.as_bytes(), value)?;
        }
        Ok(())
    }

    fn insert_order_lines(&mut self, lines: &[OrderLineRow]) -> Result<()> {
        lines.iter().try_for_each(|line| self.put_row(line))
    }
}

impl KeyValue<'_> {
    /// Writes the key of an order's entry in the index by customer.
    pub(super) fn write_customer_order_key(&mut self, order: &OrderRow) {
        district_key(&mut self.key, KeySpace::OrderCustomer, order.district_key())
            .u32(order.customer)
            .u32(order.id);
    }
}

impl OrderStatusTables for KeyValue<'_> {
    fn last_order(&mut self, district: DistrictKey, customer: u32) -> Result<Option<OrderRow>> {
        district_key(self.prefix.write(), KeySpace::OrderCustomer, district).u32(customer);
        let mut newest = None;
        let range = self.prefix.range();
        self.session
            .scan(range, Direction::Backward, &mut |key, _| {
                newest = keys::last_u32(key);
                ControlFlow::Break(())
            })?;
        let Some(id) = newest else {
            return Ok(None);
        };
        self.order(district, id).map(Some)
    }

    fn order_lines(
        &mut self,
        district: DistrictKey,
        order: u32,
        out: &mut Vec<OrderLineRow>,
    ) -> Result<()> {
        out.clear();
        district_key(self.prefix.write(), KeySpace::OrderLine, district).u32(order);
        let mut push = |row| out.push(row);
        self.visit_table("ORDER-LINE", &mut push, |key, value| {
            let row = OrderLineRow {
                warehouse: district.warehouse,
                district: district.district,
                order,
                number: keys::order_and_line(key)?.1,
                ..OrderLineRow::default()
            };
            codec::decode(row, value)
        })
    }
}

impl KeyValue<'_> {
    /// Reads a row of ORDER.
    fn order(&mut self, district: DistrictKey, id: u32) -> Result<OrderRow> {
        let row = order_row(district, id);
        row.write_key(&mut self.key);
        let named = format_args!("order {id} of {district}");
        self.read_existing(named, |value| codec::decode(row, value))
    }
}

/// A row of ORDER with its key only.
pub(super) fn order_row(district: DistrictKey, id: u32) -> OrderRow {
    OrderRow {
        warehouse: district.warehouse,
        district: district.district,
        id,
        ..OrderRow::default()
    }
}

impl StockLevelTables for KeyValue<'_> {
    fn low_stock(&mut self, district: DistrictKey, threshold: i32) -> Result<u64> {
        district_key(&mut self.key, KeySpace::District, district);
        let next: u32 = self.read_existing(district, codec::leading)?;
        let first = next.saturating_sub(ORDERS_LOOKED_AT);
        district_key(&mut self.key, KeySpace::OrderLine, district).u32(first);
        let upper = district_key(self.prefix.write(), KeySpace::OrderLine, district);
        let range = KeyRange::between(self.key.as_bytes(), upper.u32(next).as_bytes());
        let (items, mut whole) = (&mut self.numbers, true);
        items.clear();
        self.session
            .scan(range, Direction::Forward, &mut |_, value| {
                match codec::line_state(value) {
                    Some((_, _, item)) => items.push(item),
                    None => whole = false,
                }
                ControlFlow::Continue(())
            })?;
        if !whole {
            return Err(damaged("ORDER-LINE"));
        }
        items.sort_unstable();
        items.dedup();
        let mut low = 0;
        for index in 0..self.numbers.len() {
            let stock = StockKey {
                warehouse: district.warehouse,
                item: self.numbers[index],
            };
            warehouse_key(&mut self.key, KeySpace::Stock, stock.warehouse).u32(stock.item);
            let quantity: i32 = self.read_existing(stock, codec::leading)?;
            low += u64::from(quantity < threshold);
        }
        Ok(low)
    }
}
