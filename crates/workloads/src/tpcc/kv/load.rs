//! Rows of the load, put as records.

use super::keys::{KeySpace, district_key, global_key, name, warehouse_key};
use super::{KeyValue, codec};
use crate::tpcc::rows::{CustomerRow, DistrictRow, OrderRow, WarehouseRow};
use crate::tpcc::tables::{NewOrderTables, PaymentTables, Rows, TableLoad};
use trueput_engine::Result;

impl TableLoad for KeyValue<'_> {
    fn create(&mut self) -> Result<()> {
        // Key spaces need no making.
        Ok(())
    }

    fn load(&mut self, rows: Rows<'_>) -> Result<u64> {
        let mut bytes = 0;
        match rows {
            Rows::Warehouses(rows) => each(rows, |row| self.put_warehouse(row, &mut bytes)),
            Rows::Districts(rows) => each(rows, |row| self.put_district(row, &mut bytes)),
            Rows::Customers(rows) => each(rows, |row| self.put_customer(row, &mut bytes)),
            Rows::Orders(rows) => each(rows, |row| self.put_order(row, &mut bytes)),
            Rows::Histories(rows) => each(rows, |row| {
                self.insert_history(row)?;
                self.count(&mut bytes)
            }),
            Rows::NewOrders(rows) => each(rows, |row| {
                district_key(
                    &mut self.key,
                    KeySpace::NewOrder,
                    row.warehouse,
                    row.district,
                )
                .u32(row.order);
                self.put_counted(Vec::clear, &mut bytes)
            }),
            Rows::OrderLines(rows) => each(rows, |row| {
                self.insert_order_lines(std::slice::from_ref(row))?;
                self.count(&mut bytes)
            }),
            Rows::Items(rows) => each(rows, |row| {
                global_key(&mut self.key, KeySpace::Item).u32(row.id);
                self.put_counted(|value| codec::put_item(row, value), &mut bytes)
            }),
            Rows::Stocks(rows) => each(rows, |row| {
                warehouse_key(&mut self.key, KeySpace::Stock, row.warehouse).u32(row.item);
                self.put_counted(|value| codec::put_stock(row, value), &mut bytes)
            }),
        }?;
        Ok(bytes)
    }

    fn finish_load(&mut self) -> Result<()> {
        // Indexes are written with their rows.
        Ok(())
    }
}

impl KeyValue<'_> {
    /// Counts the record that was stored last.
    fn count(&self, bytes: &mut u64) -> Result<()> {
        *bytes += (self.key.as_bytes().len() + self.value.len()) as u64;
        Ok(())
    }

    /// Stores a value that `encode` writes under the key that was written last.
    fn put_counted(&mut self, encode: impl FnOnce(&mut Vec<u8>), bytes: &mut u64) -> Result<()> {
        encode(&mut self.value);
        self.store()?;
        self.count(bytes)
    }

    fn put_warehouse(&mut self, row: &WarehouseRow, bytes: &mut u64) -> Result<()> {
        warehouse_key(&mut self.key, KeySpace::Warehouse, row.id);
        self.put_counted(|value| codec::put_warehouse(row, value), bytes)?;
        warehouse_key(&mut self.key, KeySpace::WarehouseYtd, row.id);
        self.put_counted(|value| sum(row.ytd, value), bytes)
    }

    fn put_district(&mut self, row: &DistrictRow, bytes: &mut u64) -> Result<()> {
        district_key(&mut self.key, KeySpace::District, row.warehouse, row.id);
        self.put_counted(|value| codec::put_district(row, value), bytes)?;
        district_key(&mut self.key, KeySpace::DistrictYtd, row.warehouse, row.id);
        self.put_counted(|value| sum(row.ytd, value), bytes)
    }

    fn put_customer(&mut self, row: &CustomerRow, bytes: &mut u64) -> Result<()> {
        district_key(
            &mut self.key,
            KeySpace::Customer,
            row.warehouse,
            row.district,
        )
        .u32(row.id);
        self.put_counted(|value| codec::put_customer(row, value), bytes)?;
        district_key(
            &mut self.key,
            KeySpace::CustomerName,
            row.warehouse,
            row.district,
        );
        let key = name(&mut self.key, row.last.as_bytes());
        name(key, row.first.as_bytes()).u32(row.id);
        self.put_counted(Vec::clear, bytes)
    }

    fn put_order(&mut self, row: &OrderRow, bytes: &mut u64) -> Result<()> {
        district_key(&mut self.key, KeySpace::Order, row.warehouse, row.district).u32(row.id);
        self.put_counted(|value| codec::put_order(row, value), bytes)?;
        district_key(
            &mut self.key,
            KeySpace::OrderCustomer,
            row.warehouse,
            row.district,
        )
        .u32(row.customer)
        .u32(row.id);
        self.put_counted(Vec::clear, bytes)
    }
}

fn sum(amount: i64, value: &mut Vec<u8>) {
    value.clear();
    value.extend_from_slice(&amount.to_le_bytes());
}

fn each<T>(rows: &[T], put: impl FnMut(&T) -> Result<()>) -> Result<()> {
    rows.iter().try_for_each(put)
}
