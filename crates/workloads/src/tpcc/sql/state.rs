//! Reads the rows that the consistency conditions are checked by (clause 3.3.2), and whole tables.

use super::columns::number;
use super::{SqlTables, StatementKind, schema};
use crate::tpcc::rows::Table;
use crate::tpcc::tables::{
    CustomerState, DistrictState, HistoryState, LineState, OrderState, TableContents,
};
use std::ops::ControlFlow;
use trueput_engine::Result;

impl TableContents for SqlTables<'_> {
    fn warehouse_ytd(&mut self, warehouse: u32) -> Result<i64> {
        let statement = self.statement(StatementKind::WarehouseYtd, 0, |_| {
            "SELECT w_ytd FROM warehouse WHERE w_id = ?".to_owned()
        })?;
        let parameters = [number(warehouse)];
        self.row("the warehouse", statement, &parameters, |mut columns| {
            columns.cents()
        })
    }

    fn district_state(&mut self, warehouse: u32, district: u8) -> Result<DistrictState> {
        let statement = self.statement(StatementKind::DistrictState, 0, |_| {
            "SELECT d_ytd, d_next_o_id FROM district WHERE d_w_id = ? AND d_id = ?".to_owned()
        })?;
        let parameters = [number(warehouse), number(district)];
        self.row("the district", statement, &parameters, |mut columns| {
            Ok(DistrictState {
                ytd: columns.cents()?,
                next_order: columns.whole()?,
            })
        })
    }

    fn each_customer(
        &mut self,
        warehouse: u32,
        district: u8,
        visitor: &mut dyn FnMut(CustomerState),
    ) -> Result<()> {
        let statement = self.statement(StatementKind::Customers, 0, |_| {
            "SELECT c_id, c_balance, c_ytd_payment FROM customer \
             WHERE c_w_id = ? AND c_d_id = ? ORDER BY c_id"
                .to_owned()
        })?;
        self.rows(
            statement,
            &[number(warehouse), number(district)],
            |mut columns| {
                visitor(CustomerState {
                    id: columns.whole()?,
                    balance: columns.cents()?,
                    ytd_payment: columns.cents()?,
                });
                Ok(())
            },
        )
    }

    fn each_history(&mut self, visitor: &mut dyn FnMut(HistoryState)) -> Result<()> {
        let statement = self.statement(StatementKind::Histories, 0, |_| {
            "SELECT h_c_w_id, h_c_d_id, h_c_id, h_w_id, h_d_id, h_amount FROM history".to_owned()
        })?;
        self.rows(statement, &[], |mut columns| {
            visitor(HistoryState {
                customer_warehouse: columns.whole()?,
                customer_district: columns.whole()?,
                customer: columns.whole()?,
                warehouse: columns.whole()?,
                district: columns.whole()?,
                amount: columns.cents()?,
            });
            Ok(())
        })
    }

    fn each_order(
        &mut self,
        warehouse: u32,
        district: u8,
        visitor: &mut dyn FnMut(OrderState),
    ) -> Result<()> {
        let statement = self.statement(StatementKind::Orders, 0, |_| {
            "SELECT o_id, o_c_id, o_carrier_id, o_ol_cnt FROM orders \
             WHERE o_w_id = ? AND o_d_id = ? ORDER BY o_id"
                .to_owned()
        })?;
        self.rows(
            statement,
            &[number(warehouse), number(district)],
            |mut columns| {
                visitor(OrderState {
                    id: columns.whole()?,
                    customer: columns.whole()?,
                    has_carrier: columns.optional_integer::<u8>()?.is_some(),
                    lines: columns.whole()?,
                });
                Ok(())
            },
        )
    }

    fn each_new_order(
        &mut self,
        warehouse: u32,
        district: u8,
        visitor: &mut dyn FnMut(u32),
    ) -> Result<()> {
        let statement = self.statement(StatementKind::NewOrders, 0, |_| {
            "SELECT no_o_id FROM new_order WHERE no_w_id = ? AND no_d_id = ? ORDER BY no_o_id"
                .to_owned()
        })?;
        self.rows(
            statement,
            &[number(warehouse), number(district)],
            |mut columns| {
                visitor(columns.whole()?);
                Ok(())
            },
        )
    }

    fn each_order_line(
        &mut self,
        warehouse: u32,
        district: u8,
        visitor: &mut dyn FnMut(LineState),
    ) -> Result<()> {
        let statement = self.statement(StatementKind::Lines, 0, |_| {
            "SELECT ol_o_id, ol_delivery_d, ol_amount FROM order_line \
             WHERE ol_w_id = ? AND ol_d_id = ? ORDER BY ol_o_id, ol_number"
                .to_owned()
        })?;
        self.rows(
            statement,
            &[number(warehouse), number(district)],
            |mut columns| {
                visitor(LineState {
                    order: columns.whole()?,
                    is_delivered: columns.optional_moment()?.is_some(),
                    amount: columns.cents()?,
                });
                Ok(())
            },
        )
    }

    fn read_table(&mut self, table: Table, warehouse: u32) -> Result<u64> {
        let column = schema::warehouse_column(table);
        let statement = self.statement(StatementKind::Read(table), 0, |_| {
            let name = table.name();
            match column {
                Some(column) => format!("SELECT * FROM {name} WHERE {column} = ?"),
                None => format!("SELECT * FROM {name}"),
            }
        })?;
        let parameters: Vec<_> = column.map(|_| number(warehouse)).into_iter().collect();
        let visit = &mut |_: &[trueput_engine::Datum<'_>]| ControlFlow::Continue(());
        self.sql()?.query(statement, &parameters, visit)
    }
}
