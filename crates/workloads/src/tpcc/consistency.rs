//! The consistency conditions 1 to 12 (clause 3.3.2), in one pass over HISTORY and one over the
//! districts, by several threads.

use super::conditions::{CheckPhase, ConditionCounts};
use super::district::{self, RowCounts};
use super::rows::{DISTRICTS, DistrictKey, Table};
use super::scale::Scale;
use super::store::{self, TableStore};
use super::tables::Tables;
use crate::keyed::transaction::{Completion, attempt, retry_unmetered};
use crate::threads::{RemainingPieces, share_pieces};
use crate::{JobDatabase, Result};
use std::collections::HashMap;
use trueput_engine::Mode;
use trueput_record::VerifyLevel;
use trueput_record::random::mix;

/// The sums of the payments in HISTORY.
#[derive(Debug, Default)]
pub(super) struct PaymentSums {
    /// Rows.
    pub(super) rows: u64,
    /// By the district that was paid in.
    by_district: Vec<i64>,
    /// By the customer who paid.
    by_customer: Vec<i64>,
    /// Amounts of districts or customers that there are not.
    strays: u64,
}

impl PaymentSums {
    fn read(scale: &Scale, tables: &mut dyn Tables) -> trueput_engine::Result<Self> {
        let districts = scale.warehouses as usize * usize::from(DISTRICTS);
        let mut paid = Self {
            by_district: vec![0; districts],
            by_customer: vec![0; districts * scale.customers as usize],
            ..Self::default()
        };
        let mut strays = 0;
        tables.each_history(&mut |row| {
            paid.rows += 1;
            let of_district = district_index(row.warehouse, row.district);
            let of_customer = district_index(row.customer_warehouse, row.customer_district)
                .map(|place| place * scale.customers as usize + row.customer as usize)
                .and_then(|place| place.checked_sub(1));
            let district = of_district.and_then(|place| paid.by_district.get_mut(place));
            let customer = of_customer.and_then(|place| paid.by_customer.get_mut(place));
            match (district, customer) {
                (Some(district), Some(customer)) => {
                    *district += row.amount;
                    *customer += row.amount;
                }
                _ => strays += 1,
            }
        })?;
        paid.strays = strays;
        Ok(paid)
    }

    /// The payments in a district, cents.
    fn in_district(&self, district: DistrictKey) -> i64 {
        let place = district_index(district.warehouse, district.district);
        let paid = place.and_then(|place| self.by_district.get(place));
        paid.copied().unwrap_or_default()
    }

    /// The payments of a district's customers, by C_ID less 1, cents.
    fn by_customers(&self, scale: &Scale, district: DistrictKey) -> &[i64] {
        let customers = scale.customers as usize;
        let place = district_index(district.warehouse, district.district);
        let first = place.map(|place| place * customers);
        let paid = first.and_then(|first| self.by_customer.get(first..first + customers));
        paid.unwrap_or_default()
    }
}

/// The index of a district among all districts.
fn district_index(warehouse: u32, district: u8) -> Option<usize> {
    if !(1..=DISTRICTS).contains(&district) {
        return None;
    }
    let before = warehouse.checked_sub(1)? as usize * usize::from(DISTRICTS);
    Some(before + usize::from(district) - 1)
}

/// The findings of an inspection of a database.
#[derive(Debug, Default)]
pub(super) struct InspectionResult {
    /// The conditions.
    pub(super) verdicts: ConditionCounts,
    /// Rows found, or implied by the districts' numbers if only a sample was inspected.
    pub(super) counts: RowCounts,
    /// Rows of HISTORY.
    pub(super) histories: u64,
}

/// Checks the conditions in all districts, or in a sample of them.
///
/// # Errors
/// Errors of the engine; a missing row.
pub(super) fn check(
    scale: &Scale,
    store: TableStore,
    target: &JobDatabase<'_>,
    when: CheckPhase,
    level: VerifyLevel,
) -> Result<InspectionResult> {
    let mut session = target.open_session()?;
    let mut tables = store::tables(&mut *session, store)?;
    let doing = || "reading the table history".to_owned();
    let paid = read_in_transaction(&mut *tables, doing, |tables| {
        PaymentSums::read(scale, tables)
    })?;
    drop(tables);
    drop(session);
    let inspector = DatabaseInspector {
        scale,
        store,
        target,
        when,
        level,
        paid: &paid,
    };
    let threads = target.threads.clamp(1, scale.warehouses);
    let warehouses = scale.warehouses as usize;
    let inspect = |pieces: RemainingPieces<'_>| inspector.inspect(pieces);
    let mut found = share_pieces(threads, warehouses, inspect, |all, found| {
        all.verdicts.merge(found.verdicts);
        all.counts.merge(&found.counts);
    })?;
    found.histories = paid.rows;
    let strays = paid.strays;
    found.verdicts.check(9, strays == 0, || {
        format!("{strays} rows of history are of districts or customers that there are not")
    });
    Ok(found)
}

struct DatabaseInspector<'i, 't> {
    scale: &'i Scale,
    store: TableStore,
    target: &'i JobDatabase<'t>,
    when: CheckPhase,
    level: VerifyLevel,
    paid: &'i PaymentSums,
}

impl DatabaseInspector<'_, '_> {
    /// Checks the warehouses that are left, one after the other.
    fn inspect(&self, pieces: RemainingPieces<'_>) -> Result<InspectionResult> {
        let mut session = self.target.open_session()?;
        let mut tables = store::tables(&mut *session, self.store)?;
        let mut found = InspectionResult::default();
        for piece in pieces {
            let warehouse = piece as u32 + 1;
            self.warehouse(&mut *tables, warehouse, &mut found)?;
            (self.target.progress)(f64::from(warehouse) / f64::from(self.scale.warehouses));
        }
        Ok(found)
    }

    fn warehouse(
        &self,
        tables: &mut dyn Tables,
        warehouse: u32,
        found: &mut InspectionResult,
    ) -> Result<()> {
        let doing = || format!("checking warehouse {warehouse}");
        let ytd = read_in_transaction(tables, doing, |tables| tables.warehouse_ytd(warehouse))?;
        let (mut of_districts, mut paid) = (0, 0);
        for district in DistrictKey::all_of(warehouse) {
            let doing = || format!("checking {district}");
            let state =
                read_in_transaction(tables, doing, |tables| tables.district_state(district))?;
            of_districts += state.ytd;
            let paid_here = self.paid.in_district(district);
            paid += paid_here;
            found.verdicts.check(9, state.ytd == paid_here, || {
                format!("{district}: D_YTD {} cents, paid {paid_here}", state.ytd)
            });
            if !self.is_sampled(district) {
                found.counts.orders += u64::from(state.next_order.saturating_sub(1));
                found.counts.is_sample = true;
                continue;
            }
            let of_customers = self.paid.by_customers(self.scale, district);
            let totals = read_in_transaction(tables, doing, |tables| {
                district::DistrictTotals::read(tables, self.scale, district, of_customers)
            })?;
            totals.check(self.scale, self.when, &mut found.verdicts);
            found.counts.merge(&totals.counts());
        }
        found.verdicts.check(1, ytd == of_districts, || {
            format!("warehouse {warehouse}: W_YTD {ytd} cents, its districts {of_districts}")
        });
        found.verdicts.check(8, ytd == paid, || {
            format!("warehouse {warehouse}: W_YTD {ytd} cents, paid {paid}")
        });
        Ok(())
    }

    /// A sample has one district of each warehouse.
    fn is_sampled(&self, district: DistrictKey) -> bool {
        let hash = mix(self.target.seed ^ u64::from(district.warehouse));
        let drawn = hash % u64::from(DISTRICTS) + 1;
        self.level != VerifyLevel::Sample || u64::from(district.district) == drawn
    }
}

/// Reads in a transaction, and retries after conflicts.
pub(super) fn read_in_transaction<T>(
    tables: &mut dyn Tables,
    doing: impl Fn() -> String,
    read: impl Fn(&mut dyn Tables) -> trueput_engine::Result<T>,
) -> Result<T> {
    retry_unmetered(doing, || {
        attempt(tables, Mode::Read, |tables| {
            read(tables).map(Completion::RollBack)
        })
    })
}

/// Counts the rows of the tables that belong to no district: ITEM and STOCK.
pub(super) fn count_rows(
    scale: &Scale,
    store: TableStore,
    target: &JobDatabase<'_>,
) -> Result<HashMap<Table, u64>> {
    let mut session = target.open_session()?;
    let mut tables = store::tables(&mut *session, store)?;
    let mut counts = HashMap::new();
    for table in [Table::Item, Table::Stock, Table::Warehouse, Table::District] {
        let warehouses = if table == Table::Item {
            1
        } else {
            scale.warehouses
        };
        for warehouse in 1..=warehouses {
            let doing = || format!("counting the rows of {}", table.name());
            let rows = read_in_transaction(&mut *tables, doing, |tables| {
                tables.read_table(table, warehouse)
            })?;
            *counts.entry(table).or_default() += rows;
        }
    }
    Ok(counts)
}
