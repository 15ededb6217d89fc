//! Ordered passes over the records of a table.

use super::keys::{self, KeySpace, district_key, global_key, warehouse_key};
use super::{KeyValue, codec, damaged, missing};
use crate::tpcc::rows::Table;
use crate::tpcc::tables::{
    CustomerState, DistrictState, HistoryState, LineState, OrderState, TableContents,
};
use std::ops::ControlFlow;
use trueput_engine::{Direction, Result};

impl TableContents for KeyValue<'_> {
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
        let spaces: &[KeySpace] = match table {
            Table::Warehouse => &[KeySpace::Warehouse, KeySpace::WarehouseYtd],
            Table::District => &[KeySpace::District, KeySpace::DistrictYtd],
            Table::Customer => &[KeySpace::Customer, KeySpace::CustomerName],
            Table::History => &[KeySpace::History],
            Table::NewOrder => &[KeySpace::NewOrder],
            Table::Order => &[KeySpace::Order, KeySpace::OrderCustomer],
            Table::OrderLine => &[KeySpace::OrderLine],
            Table::Item => &[KeySpace::Item],
            Table::Stock => &[KeySpace::Stock],
        };
        let mut rows = None;
        for &space in spaces {
            match table {
                Table::History | Table::Item => global_key(self.prefix.write(), space),
                _ => warehouse_key(self.prefix.write(), space, warehouse),
            };
            let mut sum = 0_u64;
            let range = self.prefix.range();
            let shown = self
                .session
                .scan(range, Direction::Forward, &mut |key, value| {
                    let bytes = key.iter().chain(value);
                    sum = bytes.fold(sum, |sum, byte| sum.wrapping_add(u64::from(*byte)));
                    ControlFlow::Continue(())
                })?;
            std::hint::black_box(sum);
            rows.get_or_insert(shown);
        }
        Ok(rows.unwrap_or_default())
    }
}

impl KeyValue<'_> {
    /// Shows every record of the prefix that was written last, decoded.
    pub(super) fn each<T>(
        &mut self,
        what: &str,
        visitor: &mut dyn FnMut(T),
        decode: impl Fn(&[u8], &[u8]) -> Option<T>,
    ) -> Result<()> {
        let mut whole = true;
        let range = self.prefix.range();
        self.session.scan(
            range,
            Direction::Forward,
            &mut |key, value| match decode(key, value) {
                Some(row) => {
                    visitor(row);
                    ControlFlow::Continue(())
                }
                None => {
                    whole = false;
                    ControlFlow::Break(())
                }
            },
        )?;
        if whole { Ok(()) } else { Err(damaged(what)) }
    }
}
