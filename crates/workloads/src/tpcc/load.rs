//! The initial population, put in transactions of bounded size by as many threads as the engine
//! lets write at once.

use super::population;
use super::random::RandomConstants;
use super::rows::{
    CustomerRow, DISTRICTS, HistoryRow, ItemRow, NewOrderRow, OrderLineRow, OrderRow, StockRow,
};
use super::scale::Scale;
use super::store::{self, TableStore};
use super::tables::{Rows, Tables};
use crate::generate::random::Random;
use crate::keyed::transaction::{in_transaction, retry_unmetered};
use crate::threads::{RemainingPieces, share_pieces};
use crate::{ErrorContext, JobDatabase, LoadSummary, Result};
use trueput_engine::Mode;

/// Rows of one transaction, at most.
const BATCH: usize = 1_000;

/// Fills the tables.
pub(super) fn load(
    scale: &Scale,
    store: TableStore,
    target: &JobDatabase<'_>,
) -> Result<LoadSummary> {
    let mut session = target.open_session()?;
    let mut tables = store::tables(&mut *session, store)?;
    tables.create().context(|| "making the tables".to_owned())?;
    drop(tables);
    drop(session);
    let writers = if target.capabilities.concurrent_writers {
        target.threads.clamp(1, scale.warehouses)
    } else {
        1
    };
    // The items are the first piece, and each warehouse is one.
    let pieces = scale.warehouses as usize + 1;
    let load = |pieces: RemainingPieces<'_>| Loader::pieces(scale, store, target, pieces);
    let load = share_pieces(writers, pieces, load, |all, loaded| {
        all.records += loaded.records;
        all.user_bytes += loaded.user_bytes;
    })?;
    let mut session = target.open_session()?;
    let mut tables = store::tables(&mut *session, store)?;
    tables
        .finish_load()
        .context(|| "making what the load leaves for the end".to_owned())?;
    Ok(load)
}

/// One thread's part of the load.
struct Loader<'l> {
    tables: Box<dyn Tables + 'l>,
    scale: &'l Scale,
    constants: RandomConstants,
    random: Random,
    load: LoadSummary,
}

impl Loader<'_> {
    /// Loads the pieces that are left: the items, as piece 0, or a warehouse.
    fn pieces(
        scale: &Scale,
        store: TableStore,
        target: &JobDatabase<'_>,
        pieces: RemainingPieces<'_>,
    ) -> Result<LoadSummary> {
        let mut session = target.open_session()?;
        let mut loader = Loader {
            tables: store::tables(&mut *session, store)?,
            scale,
            constants: RandomConstants::for_load(target.seed),
            random: Random::new(0),
            load: LoadSummary::default(),
        };
        for piece in pieces.map(|piece| piece as u32) {
            // A piece's rows depend on the seed and on nothing that another thread does.
            loader.random = Random::for_worker(target.seed, piece, "tpcc load");
            let part = 1.0 / f64::from(scale.warehouses + 1);
            let progress = |share: f64| (target.progress)((f64::from(piece) + share) * part);
            match piece {
                0 => loader.items()?,
                warehouse => loader.warehouse(warehouse, &progress)?,
            }
            progress(1.0);
        }
        Ok(loader.load)
    }

    fn items(&mut self) -> Result<()> {
        let scale = self.scale;
        let items: Vec<ItemRow> = (1..=scale.items)
            .map(|id| population::item(&mut self.random, id))
            .collect();
        self.put(&items, |rows| Rows::Items(rows))
    }

    fn warehouse(&mut self, warehouse: u32, progress: &dyn Fn(f64)) -> Result<()> {
        let scale = self.scale;
        let row = population::warehouse(&mut self.random, scale, warehouse);
        self.put(&[row], |rows| Rows::Warehouses(rows))?;
        let mut first = 1;
        while first <= scale.items {
            let last = scale.items.min(first + BATCH as u32 - 1);
            let stocks: Vec<StockRow> = (first..=last)
                .map(|item| population::stock(&mut self.random, warehouse, item))
                .collect();
            self.put(&stocks, |rows| Rows::Stocks(rows))?;
            first = last + 1;
        }
        progress(1.0 / 3.0);
        for district in 1..=DISTRICTS {
            self.district(warehouse, district)?;
            progress((1.0 + 2.0 * f64::from(district) / f64::from(DISTRICTS)) / 3.0);
        }
        Ok(())
    }

    fn district(&mut self, warehouse: u32, district: u8) -> Result<()> {
        let scale = self.scale;
        let row = population::district(&mut self.random, scale, warehouse, district);
        self.put(&[row], |rows| Rows::Districts(rows))?;
        let (mut customers, mut histories) = (Vec::new(), Vec::new());
        let before = u64::from(warehouse) * u64::from(DISTRICTS) + u64::from(district);
        for id in 1..=scale.customers {
            let place = (warehouse, district, id);
            let customer: CustomerRow =
                population::customer(&mut self.random, &self.constants, scale, place);
            let number = before * u64::from(scale.customers) + u64::from(id);
            let history: HistoryRow = population::history(&mut self.random, &customer, number);
            customers.push(customer);
            histories.push(history);
        }
        self.put(&customers, |rows| Rows::Customers(rows))?;
        self.put(&histories, |rows| Rows::Histories(rows))?;
        let made = population::orders(&mut self.random, scale, warehouse, district);
        self.put(&made.orders, |rows: &[OrderRow]| Rows::Orders(rows))?;
        self.put(&made.lines, |rows: &[OrderLineRow]| Rows::OrderLines(rows))?;
        self.put(&made.new_orders, |rows: &[NewOrderRow]| {
            Rows::NewOrders(rows)
        })
    }

    /// Puts rows, in as many transactions as it takes.
    fn put<T>(&mut self, rows: &[T], of: impl Fn(&[T]) -> Rows<'_>) -> Result<()> {
        for batch in rows.chunks(BATCH) {
            let doing = || "loading".to_owned();
            let bytes = retry_unmetered(doing, || self.attempt(of(batch)))?;
            self.load.records += batch.len() as u64;
            self.load.user_bytes += bytes;
        }
        Ok(())
    }

    fn attempt(&mut self, rows: Rows<'_>) -> trueput_engine::Result<u64> {
        in_transaction(&mut *self.tables, Mode::Write, |tables| tables.load(rows))
    }
}
