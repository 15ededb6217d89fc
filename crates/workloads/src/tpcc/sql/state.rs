//! Reads the rows that the consistency conditions are checked by (clause 3.3.2), and whole tables.

use super::{SqlTables, StatementKind, district_parameters, schema};
use crate::sql::columns::number;
use crate::tpcc::rows::{DistrictKey, Table};
use crate::tpcc::tables::{
    CustomerState, DistrictState, HistoryState, LineState, OrderState, TableContents, Visitor,
};
use trueput_engine::Result;

impl TableContents for SqlTables<'_> {
    fn warehouse_ytd(&mut self, warehouse: u32) -> Result<i64> {
        let text = "SELECT w_ytd FROM warehouse WHERE w_id = ?";
        let statement = self.fixed_statement(StatementKind::WarehouseYtd, text)?;
        let parameters = [number(warehouse)];
        self.row("the warehouse", statement, &parameters, |columns| {
            columns.cents()
        })
    }

    fn district_state(&mut self, district: DistrictKey) -> Result<DistrictState> {
        let text = "SELECT d_ytd, d_next_o_id FROM district WHERE d_w_id = ? AND d_id = ?";
        let statement = self.fixed_statement(StatementKind::DistrictState, text)?;
        let parameters = district_parameters(district);
        self.row("the district", statement, &parameters, |columns| {
            Ok(DistrictState {
                ytd: columns.cents()?,
                next_order: columns.integer()?,
            })
        })
    }

    fn each_customer(
        &mut self,
        district: DistrictKey,
        visitor: Visitor<'_, CustomerState>,
    ) -> Result<()> {
        let text = "SELECT c_id, c_balance, c_ytd_payment FROM customer \
                    WHERE c_w_id = ? AND c_d_id = ? ORDER BY c_id";
        let statement = self.fixed_statement(StatementKind::Customers, text)?;
        let parameters = district_parameters(district);
        self.visit_rows(statement, &parameters, visitor, |columns| {
            Ok(CustomerState {
                id: columns.integer()?,
                balance: columns.cents()?,
                ytd_payment: columns.cents()?,
            })
        })
    }

    fn each_history(&mut self, visitor: Visitor<'_, HistoryState>) -> Result<()> {
        let text = "SELECT h_c_w_id, h_c_d_id, h_c_id, h_w_id, h_d_id, h_amount FROM history";
        let statement = self.fixed_statement(StatementKind::Histories, text)?;
        self.visit_rows(statement, &[], visitor, |columns| {
            Ok(HistoryState {
                customer_warehouse: columns.integer()?,
                customer_district: columns.integer()?,
                customer: columns.integer()?,
                warehouse: columns.integer()?,
                district: columns.integer()?,
                amount: columns.cents()?,
            })
        })
    }

    fn each_order(
        &mut self,
        district: DistrictKey,
        visitor: Visitor<'_, OrderState>,
    ) -> Result<()> {
        let text = "SELECT o_id, o_c_id, o_carrier_id, o_ol_cnt FROM orders \
                    WHERE o_w_id = ? AND o_d_id = ? ORDER BY o_id";
        let statement = self.fixed_statement(StatementKind::Orders, text)?;
        let parameters = district_parameters(district);
        self.visit_rows(statement, &parameters, visitor, |columns| {
            Ok(OrderState {
                id: columns.integer()?,
                customer: columns.integer()?,
                has_carrier: columns.optional_integer::<u8>()?.is_some(),
                lines: columns.integer()?,
            })
        })
    }

    fn each_new_order(&mut self, district: DistrictKey, visitor: Visitor<'_, u32>) -> Result<()> {
        let text =
            "SELECT no_o_id FROM new_order WHERE no_w_id = ? AND no_d_id = ? ORDER BY no_o_id";
        let statement = self.fixed_statement(StatementKind::NewOrders, text)?;
        let parameters = district_parameters(district);
        self.visit_rows(statement, &parameters, visitor, |columns| columns.integer())
    }

    fn each_order_line(
        &mut self,
        district: DistrictKey,
        visitor: Visitor<'_, LineState>,
    ) -> Result<()> {
        let text = "SELECT ol_o_id, ol_delivery_d, ol_amount FROM order_line \
                    WHERE ol_w_id = ? AND ol_d_id = ? ORDER BY ol_o_id, ol_number";
        let statement = self.fixed_statement(StatementKind::Lines, text)?;
        let parameters = district_parameters(district);
        self.visit_rows(statement, &parameters, visitor, |columns| {
            Ok(LineState {
                order: columns.integer()?,
                is_delivered: columns.optional_moment()?.is_some(),
                amount: columns.cents()?,
            })
        })
    }

    fn read_table(&mut self, table: Table, warehouse: u32) -> Result<u64> {
        let statement = self.statement(StatementKind::Read.of_table(table), 0, |_| {
            schema::all(table)
        })?;
        self.read_all(statement, table, warehouse)
    }
}
