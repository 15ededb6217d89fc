//! Ordered passes over the records of a table.

use super::keys::{self, KeySpace, district_key, global_key, warehouse_key};
use super::order::order_row;
use super::{KeyValue, codec, damaged};
use crate::tpcc::rows::{DistrictKey, HistoryRow, Table};
use crate::tpcc::tables::{
    CustomerState, DistrictState, HistoryState, LineState, OrderState, TableContents, Visitor,
};
use std::ops::ControlFlow;
use trueput_engine::{Direction, Result};

impl TableContents for KeyValue<'_> {
    fn warehouse_ytd(&mut self, warehouse: u32) -> Result<i64> {
        warehouse_key(&mut self.key, KeySpace::WarehouseYtd, warehouse);
        self.read_existing(
            format_args!("W_YTD of warehouse {warehouse}"),
            codec::leading,
        )
    }

    fn district_state(&mut self, district: DistrictKey) -> Result<DistrictState> {
        district_key(&mut self.key, KeySpace::DistrictYtd, district);
        let ytd = self.read_existing(district, codec::leading)?;
        district_key(&mut self.key, KeySpace::District, district);
        let next_order = self.read_existing(district, codec::leading)?;
        Ok(DistrictState { ytd, next_order })
    }

    fn each_customer(
        &mut self,
        district: DistrictKey,
        visitor: Visitor<'_, CustomerState>,
    ) -> Result<()> {
        district_key(self.prefix.write(), KeySpace::Customer, district);
        self.visit_table("CUSTOMER", visitor, |key, value| {
            let (balance, ytd_payment) = codec::leading(value)?;
            Some(CustomerState {
                id: keys::last_u32(key)?,
                balance,
                ytd_payment,
            })
        })
    }

    fn each_history(&mut self, visitor: Visitor<'_, HistoryState>) -> Result<()> {
        global_key(self.prefix.write(), KeySpace::History);
        self.visit_table("HISTORY", visitor, |_, value| {
            let row = codec::decode(HistoryRow::default(), value)?;
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
        district: DistrictKey,
        visitor: Visitor<'_, OrderState>,
    ) -> Result<()> {
        district_key(self.prefix.write(), KeySpace::Order, district);
        self.visit_table("ORDER", visitor, |key, value| {
            let row = codec::decode(order_row(district, keys::last_u32(key)?), value)?;
            Some(OrderState {
                id: row.id,
                customer: row.customer,
                has_carrier: row.carrier.is_some(),
                lines: row.lines,
            })
        })
    }

    fn each_new_order(&mut self, district: DistrictKey, visitor: Visitor<'_, u32>) -> Result<()> {
        district_key(self.prefix.write(), KeySpace::NewOrder, district);
        self.visit_table("NEW-ORDER", visitor, |key, _| keys::last_u32(key))
    }

    fn each_order_line(
        &mut self,
        district: DistrictKey,
        visitor: Visitor<'_, LineState>,
    ) -> Result<()> {
        district_key(self.prefix.write(), KeySpace::OrderLine, district);
        self.visit_table("ORDER-LINE", visitor, |key, value| {
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
    pub(super) fn visit_table<T>(
        &mut self,
        subject: &str,
        visitor: Visitor<'_, T>,
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
        if whole { Ok(()) } else { Err(damaged(subject)) }
    }
}
