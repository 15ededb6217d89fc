//! Prepares the database of a step: on a new one, what the steps before it would have left.

use super::purchase::Index;
use super::settings::{Settings, index_bytes};
use super::step::Step;
use super::store;
use super::tables::{Mark, PurchaseTables};
use crate::keyed::transaction::retry_unmetered;
use crate::threads::{RemainingPieces, share_pieces};
use crate::{Error, ErrorContext, ExistingDatabase, JobDatabase, LoadSummary, Result};
use trueput_engine::Result as EngineResult;

/// Rows of one transaction, at most.
const BATCH: u64 = 1_000;

/// The number that the mark of all tables has.
const ALL_TABLES: u32 = 0;

/// The part of the load, of 1, after which a table has its rows; its indexes follow.
const ROWS_PART: f64 = 0.5;

/// Prepares the database; returns what was loaded, which l.i0 does itself.
///
/// # Errors
/// Errors of the engine; a database that is not one of the steps before.
pub(super) fn prepare(
    settings: &Settings,
    target: &JobDatabase<'_>,
    remains: ExistingDatabase,
) -> Result<Option<LoadSummary>> {
    let loaded = match (remains, settings.step) {
        (ExistingDatabase::Nothing, Step::Load) => {
            create(settings, target)?;
            None
        }
        (ExistingDatabase::Nothing, _) => {
            create(settings, target)?;
            Some(load(settings, target)?)
        }
        (ExistingDatabase::Loaded, Step::Load) => {
            let reason = "l.i0 begins with a new database, and this one has rows";
            return Err(Error::Workload(reason.to_owned()));
        }
        (ExistingDatabase::Loaded, Step::CreateIndexes) => {
            refuse_indexes(settings, target)?;
            None
        }
        (ExistingDatabase::Loaded, _) => {
            let create = |pieces: RemainingPieces<'_>| create_indexes(settings, target, pieces);
            share_tables(settings, target, create)?;
            None
        }
        (ExistingDatabase::Unfinished, _) => {
            let reason = "an interrupted step cannot be continued";
            return Err(Error::Workload(reason.to_owned()));
        }
    };
    settle(settings, target)?;
    Ok(loaded)
}

/// Does an operation until it meets no conflict.
fn retried<T>(
    tables: &mut dyn PurchaseTables,
    doing: &str,
    mut attempt: impl FnMut(&mut dyn PurchaseTables) -> EngineResult<T>,
) -> Result<T> {
    let doing = || doing.to_owned();
    retry_unmetered(doing, || attempt(&mut *tables))
}

/// Makes the tables without rows.
fn create(settings: &Settings, target: &JobDatabase<'_>) -> Result<()> {
    let mut session = target.open_session()?;
    let mut tables = store::tables(&mut *session, settings.store)?;
    retried(&mut *tables, "making the tables", |tables| {
        tables.create(settings.tables)
    })
}

/// Does work on tables by as many threads as the engine lets write at once, each table a piece;
/// returns the sum of the results.
fn share_tables(
    settings: &Settings,
    target: &JobDatabase<'_>,
    work: impl Fn(RemainingPieces<'_>) -> Result<u64> + Sync,
) -> Result<u64> {
    let writers = if target.capabilities.concurrent_writers {
        target.threads.clamp(1, settings.tables)
    } else {
        1
    };
    share_pieces(writers, settings.tables as usize, work, |all, some| {
        *all += some;
    })
}

/// Inserts the rows of l.i0, and creates the indexes that the step is to find.
fn load(settings: &Settings, target: &JobDatabase<'_>) -> Result<LoadSummary> {
    let load = |pieces: RemainingPieces<'_>| load_tables(settings, target, pieces);
    let rows = share_tables(settings, target, load)?;
    let entries = if settings.step.finds_indexes() {
        index_bytes()
    } else {
        0.0
    };
    Ok(LoadSummary {
        records: rows,
        user_bytes: (rows as f64 * (settings.row_bytes() + entries)) as u64,
    })
}

/// Loads the tables that are left; returns their rows.
fn load_tables(
    settings: &Settings,
    target: &JobDatabase<'_>,
    pieces: RemainingPieces<'_>,
) -> Result<u64> {
    let mut session = target.open_session()?;
    let mut tables = store::tables(&mut *session, settings.store)?;
    let mut loaded = 0;
    for piece in pieces {
        let table = piece as u32 + 1;
        let progress = |part: f64| {
            (target.progress)((piece as f64 + part) / f64::from(settings.tables));
        };
        let maker = settings.maker(target.seed, table);
        let mut first = 1;
        while first <= settings.rows {
            let end = (first + BATCH).min(settings.rows + 1);
            let rows: Vec<_> = (first..end).map(|id| maker.make(id)).collect();
            retried(&mut *tables, "loading", |tables| {
                tables.insert(table, &rows, false)
            })?;
            progress(ROWS_PART * end as f64 / settings.rows as f64);
            first = end;
        }
        if settings.step.finds_indexes() {
            index_table(&mut *tables, table)?;
        }
        progress(1.0);
        loaded += settings.rows;
    }
    Ok(loaded)
}

/// Creates the indexes of a table.
fn index_table(tables: &mut dyn PurchaseTables, table: u32) -> Result<()> {
    for index in Index::ALL {
        let mut next = Some(0);
        while let Some(from) = next {
            next = retried(tables, "creating an index", |tables| {
                tables.extend_index(table, index, from)
            })?;
        }
    }
    retried(tables, "noting the indexes", |tables| {
        tables.set_mark(Mark::Indexed, table, true)
    })
}

fn has_indexes(tables: &mut dyn PurchaseTables, table: u32) -> Result<bool> {
    retried(tables, "looking for the indexes", |tables| {
        tables.has_mark(Mark::Indexed, table)
    })
}

/// Creates the indexes of those of the tables left that have none, as a plan without l.x leaves
/// them; returns how many had none.
fn create_indexes(
    settings: &Settings,
    target: &JobDatabase<'_>,
    pieces: RemainingPieces<'_>,
) -> Result<u64> {
    let mut session = target.open_session()?;
    let mut tables = store::tables(&mut *session, settings.store)?;
    let mut indexed = 0;
    for piece in pieces {
        let table = piece as u32 + 1;
        if !has_indexes(&mut *tables, table)? {
            index_table(&mut *tables, table)?;
            indexed += 1;
        }
        (target.progress)(f64::from(table) / f64::from(settings.tables));
    }
    Ok(indexed)
}

/// Refuses tables that have indexes.
fn refuse_indexes(settings: &Settings, target: &JobDatabase<'_>) -> Result<()> {
    let mut session = target.open_session()?;
    let mut tables = store::tables(&mut *session, settings.store)?;
    for table in 1..=settings.tables {
        if has_indexes(&mut *tables, table)? {
            return Err(Error::Workload(format!(
                "l.x creates the indexes, and pi{table} has them from a step before: list the \
                 steps in their order, l.x after l.i0"
            )));
        }
    }
    Ok(())
}

/// Before the first step with queries that follows others: makes statistics and brings what was
/// committed to storage, as `iq.sh` does after l.i2. A step that writes without pause has it done
/// again.
fn settle(settings: &Settings, target: &JobDatabase<'_>) -> Result<()> {
    if !settings.step.finds_indexes() {
        return Ok(());
    }
    let mut session = target.open_session()?;
    let mut tables = store::tables(&mut *session, settings.store)?;
    let is_settled = retried(&mut *tables, "looking for a mark", |tables| {
        tables.has_mark(Mark::Settled, ALL_TABLES)
    })?;
    let is_to_be_settled = settings.step.queries().is_some();
    if is_settled == is_to_be_settled {
        return Ok(());
    }
    if is_to_be_settled {
        retried(&mut *tables, "making statistics", |tables| {
            tables.analyze(settings.tables)
        })?;
    }
    retried(&mut *tables, "setting a mark", |tables| {
        tables.set_mark(Mark::Settled, ALL_TABLES, is_to_be_settled)
    })?;
    drop(tables);
    drop(session);
    if is_to_be_settled {
        let checkpoint = target.database.checkpoint();
        checkpoint.context(|| "writing a checkpoint".to_owned())?;
    }
    Ok(())
}
