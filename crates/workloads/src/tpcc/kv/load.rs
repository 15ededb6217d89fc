//! Loads rows as records.

use super::KeyValue;
use super::codec::{Field, StoredRow};
use super::keys::{KeySpace, district_key, warehouse_key};
use crate::tpcc::tables::{Rows, TableLoad};
use trueput_engine::Result;

impl TableLoad for KeyValue<'_> {
    fn create(&mut self) -> Result<()> {
        // Key spaces need no making.
        Ok(())
    }

    fn load(&mut self, rows: Rows<'_>) -> Result<u64> {
        match rows {
            Rows::Warehouses(rows) => self.put_all(rows, |tables, row| {
                warehouse_key(&mut tables.key, KeySpace::WarehouseYtd, row.id);
                tables.put_sum(row.ytd)
            }),
            Rows::Districts(rows) => self.put_all(rows, |tables, row| {
                district_key(&mut tables.key, KeySpace::DistrictYtd, row.district_key());
                tables.put_sum(row.ytd)
            }),
            Rows::Customers(rows) => self.put_all(rows, |tables, row| {
                district_key(&mut tables.key, KeySpace::CustomerName, row.district_key())
                    .bytes(row.last.as_bytes())
                    .bytes(row.first.as_bytes())
                    .u32(row.id);
                tables.put_index()
            }),
            Rows::Orders(rows) => self.put_all(rows, |tables, row| {
                tables.write_customer_order_key(row);
                tables.put_index()
            }),
            Rows::Histories(rows) => self.put_all(rows, |_, _| Ok(0)),
            Rows::NewOrders(rows) => self.put_all(rows, |_, _| Ok(0)),
            Rows::OrderLines(rows) => self.put_all(rows, |_, _| Ok(0)),
            Rows::Items(rows) => self.put_all(rows, |_, _| Ok(0)),
            Rows::Stocks(rows) => self.put_all(rows, |_, _| Ok(0)),
        }
    }

    fn finish_load(&mut self) -> Result<()> {
        // Indexes are written with their rows.
        Ok(())
    }
}

impl KeyValue<'_> {
    /// Puts the record of each row, and by `also` the other records that it has. The bytes of all.
    fn put_all<R: StoredRow>(
        &mut self,
        rows: &[R],
        also: impl Fn(&mut Self, &R) -> Result<u64>,
    ) -> Result<u64> {
        rows.iter().try_fold(0, |bytes, row| {
            self.put_row(row)?;
            Ok(bytes + self.record_bytes() + also(self, row)?)
        })
    }

    /// The bytes of the record that was stored last.
    fn record_bytes(&self) -> u64 {
        (self.key.as_bytes().len() + self.value.len()) as u64
    }

    /// Puts an index entry under the key that was written last; its bytes.
    fn put_index(&mut self) -> Result<u64> {
        self.value.clear();
        self.store()?;
        Ok(self.record_bytes())
    }

    /// Puts a sum under the key that was written last; the bytes of its record.
    fn put_sum(&mut self, sum: i64) -> Result<u64> {
        self.value.clear();
        sum.append(&mut self.value);
        self.store()?;
        Ok(self.record_bytes())
    }
}
