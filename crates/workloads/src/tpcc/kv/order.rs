//! Records of new-order, order-status and stock-level.

use super::keys::{self, KeySpace, district_key, global_key, warehouse_key};
use super::{KeyValue, codec, damaged, missing};
use crate::tpcc::rows::{OrderLineRow, OrderRow};
use crate::tpcc::tables::{
    BuyerState, Item, NewOrderTables, OrderNumber, OrderStatusTables, Stock, StockChange, StockKey,
    StockLevelTables,
};
use std::ops::ControlFlow;
use trueput_engine::{Direction, Error, KeyRange, Result};

/// Orders that stock-level looks back at (clause 2.8.2.2).
const ORDERS_LOOKED_AT: u32 = 20;

impl NewOrderTables for KeyValue<'_> {
    fn buyer(&mut self, warehouse: u32, district: u8, customer: u32) -> Result<BuyerState> {
        warehouse_key(&mut self.key, KeySpace::Warehouse, warehouse);
        let tax = self.read("WAREHOUSE", codec::warehouse_tax)?;
        let warehouse_tax = tax.ok_or_else(|| missing("the row", warehouse, 0, 0))?;
        district_key(&mut self.key, KeySpace::Customer, warehouse, district).u32(customer);
        let found = self.read("CUSTOMER", codec::buyer)?;
        let (discount, credit, last) =
            found.ok_or_else(|| missing("customer", warehouse, district, customer))?;
        Ok(BuyerState {
            discount,
            last,
            credit,
            warehouse_tax,
        })
    }

    fn take_order_number(&mut self, warehouse: u32, district: u8) -> Result<OrderNumber> {
        district_key(&mut self.key, KeySpace::District, warehouse, district);
        if !self.fetch()? {
            return Err(missing("the row", warehouse, district, 0));
        }
        let (order, district_tax) =
            codec::district_order(&self.value).ok_or_else(|| damaged("DISTRICT"))?;
        let next = (order + 1).to_le_bytes();
        codec::patch(&mut self.value, codec::NEXT_ORDER_AT, next)
            .ok_or_else(|| damaged("DISTRICT"))?;
        self.store()?;
        Ok(OrderNumber {
            order,
            district_tax,
        })
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
                return Err(missing("the stock of item", stock.warehouse, 0, stock.item));
            }
            out.push(seen.ok_or_else(|| damaged("STOCK"))?);
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
                .ok_or_else(|| damaged("STOCK"))?;
            let StockKey { warehouse, item } = change.key;
            warehouse_key(&mut self.key, KeySpace::Stock, warehouse).u32(item);
            self.session.put(self.key.as_bytes(), value)?;
        }
        Ok(())
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
}

impl OrderStatusTables for KeyValue<'_> {
    fn last_order(
        &mut self,
        warehouse: u32,
        district: u8,
        customer: u32,
    ) -> Result<Option<OrderRow>> {
        district_key(
            self.prefix.write(),
            KeySpace::OrderCustomer,
            warehouse,
            district,
        )
        .u32(customer);
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
        district_key(&mut self.key, KeySpace::Order, warehouse, district).u32(id);
        let found = self.read("ORDER", |value| {
            codec::order(warehouse, district, id, value)
        })?;
        found
            .map(Some)
            .ok_or_else(|| missing("order", warehouse, district, id))
    }

    fn order_lines(
        &mut self,
        warehouse: u32,
        district: u8,
        order: u32,
        out: &mut Vec<OrderLineRow>,
    ) -> Result<()> {
        out.clear();
        district_key(
            self.prefix.write(),
            KeySpace::OrderLine,
            warehouse,
            district,
        )
        .u32(order);
        let mut push = |row| out.push(row);
        self.each("ORDER-LINE", &mut push, |key, value| {
            Some(OrderLineRow {
                warehouse,
                district,
                order,
                number: keys::order_and_line(key)?.1,
                ..codec::order_line(value)?
            })
        })
    }
}

impl StockLevelTables for KeyValue<'_> {
    fn low_stock(&mut self, warehouse: u32, district: u8, threshold: i32) -> Result<u64> {
        district_key(&mut self.key, KeySpace::District, warehouse, district);
        let found = self.read("DISTRICT", codec::district_order)?;
        let (next, _) = found.ok_or_else(|| missing("the row", warehouse, district, 0))?;
        let first = next.saturating_sub(ORDERS_LOOKED_AT);
        district_key(&mut self.key, KeySpace::OrderLine, warehouse, district).u32(first);
        let upper = district_key(
            self.prefix.write(),
            KeySpace::OrderLine,
            warehouse,
            district,
        );
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
            let item = self.numbers[index];
            warehouse_key(&mut self.key, KeySpace::Stock, warehouse).u32(item);
            let quantity = self.read("STOCK", codec::stock_quantity)?;
            let quantity =
                quantity.ok_or_else(|| missing("the stock of item", warehouse, 0, item))?;
            low += u64::from(quantity < threshold);
        }
        Ok(low)
    }
}
