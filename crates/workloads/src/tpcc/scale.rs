//! The sizes of the tables (clause 4.3.3.1), in full or reduced.

use super::rows::{DISTRICTS, Table};
use std::ops::RangeInclusive;
use trueput_engine::choices;

choices! {
    /// The part of the specification's cardinalities that is loaded.
    pub enum Cardinality {
        /// Clause 4.3.3.1's.
        Full = "full",
        /// A tenth of the items, stocks, customers and orders, for small machines.
        Tenth = "tenth",
        /// A hundredth of them, for tests.
        Hundredth = "hundredth",
    }
}

/// The sizes of the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scale {
    /// Warehouses, the scaling factor.
    pub warehouses: u32,
    /// Items, and stocks of each warehouse: 100,000 in full.
    pub items: u32,
    /// Customers of a district, and orders that are loaded for it: 3,000 in full.
    pub customers: u32,
}

impl Scale {
    /// This many warehouses.
    #[must_use]
    pub fn new(warehouses: u32, cardinality: Cardinality) -> Self {
        let divisor = match cardinality {
            Cardinality::Full => 1,
            Cardinality::Tenth => 10,
            Cardinality::Hundredth => 100,
        };
        Self {
            warehouses,
            items: 100_000 / divisor,
            customers: 3_000 / divisor,
        }
    }

    /// The O_IDs that are loaded undelivered: 2,101 to 3,000 in full.
    #[must_use]
    pub fn undelivered(&self) -> RangeInclusive<u32> {
        self.customers / 10 * 7 + 1..=self.customers
    }

    /// Numbers that last names are made of: 0 to 999 in full.
    #[must_use]
    pub fn names(&self) -> u32 {
        self.customers.min(1_000)
    }

    /// Rows of a table after the load; `None` for ORDER-LINE, of which each order has 5 to 15.
    #[must_use]
    pub fn rows(&self, table: Table) -> Option<u64> {
        let warehouses = u64::from(self.warehouses);
        let districts = warehouses * u64::from(DISTRICTS);
        let customers = districts * u64::from(self.customers);
        Some(match table {
            Table::Warehouse => warehouses,
            Table::District => districts,
            Table::Customer | Table::History | Table::Order => customers,
            Table::NewOrder => districts * self.undelivered().count() as u64,
            Table::Item => u64::from(self.items),
            Table::Stock => warehouses * u64::from(self.items),
            Table::OrderLine => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_warehouse_has_the_rows_of_the_specification() {
        let scale = Scale::new(1, Cardinality::Full);
        let rows = |table| scale.rows(table);
        assert_eq!(rows(Table::Customer), Some(30_000));
        assert_eq!(rows(Table::History), Some(30_000));
        assert_eq!(rows(Table::Order), Some(30_000));
        assert_eq!(rows(Table::NewOrder), Some(9_000));
        assert_eq!(rows(Table::Stock), Some(100_000));
        assert_eq!(rows(Table::Item), Some(100_000));
        assert_eq!(scale.undelivered(), 2_101..=3_000);
    }
}
