//! The load: every row of every table, in transactions of bounded size, by as many threads as the
//! engine lets write at once. The indexes on k come last in SQL, as in sysbench.

use super::rows::{Row, RowKey, RowMaker};
use super::settings::{Script, Settings};
use super::store;
use super::tables::Tables;
use super::text::WriteName;
use crate::keyed::transaction::{in_transaction, retry_unmetered};
use crate::threads::{RemainingPieces, share_pieces};
use crate::{ErrorContext, JobDatabase, LoadSummary, Result};
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use trueput_engine::Mode;

/// Rows of one transaction, at most.
const BATCH: u32 = 1_000;
/// Rows that a thread loads before it looks for others.
const PIECE: u32 = 50_000;

/// Makes and fills the tables.
///
/// # Errors
/// Errors of the engine, except conflicts.
pub(super) fn load(settings: &Settings, target: &JobDatabase<'_>) -> Result<LoadSummary> {
    let tables = settings.tables(target.workers);
    let of_pairs = settings.script == Script::BulkInsert;
    with_tables(settings, target, "making the tables", |open| {
        open.create(tables, of_pairs)
    })?;
    if of_pairs {
        return Ok(LoadSummary::default());
    }
    let pieces = tables as usize * pieces_of(settings.rows.table_size) as usize;
    let threads = u32::try_from(pieces)
        .unwrap_or(u32::MAX)
        .min(target.threads);
    let writers = if target.capabilities.concurrent_writers {
        threads.max(1)
    } else {
        1
    };
    let loaded = AtomicU64::new(0);
    let work = |pieces: RemainingPieces<'_>| load_pieces(settings, target, &loaded, pieces);
    let load = share_pieces(writers, pieces, work, |all, one| {
        all.records += one.records;
        all.user_bytes += one.user_bytes;
    })?;
    with_tables(settings, target, "making the indexes", |open| {
        open.finish_load(tables)
    })?;
    Ok(load)
}

/// Does `work` with the tables of a session of its own, outside a transaction.
fn with_tables(
    settings: &Settings,
    target: &JobDatabase<'_>,
    doing: &str,
    work: impl FnOnce(&mut dyn Tables) -> trueput_engine::Result<()>,
) -> Result<()> {
    let mut session = target.open_session()?;
    let mut tables = store::tables(&mut *session, settings.store)?;
    work(&mut *tables).context(|| doing.to_owned())
}

/// The pieces of a table.
fn pieces_of(table_size: u32) -> u32 {
    table_size.div_ceil(PIECE)
}

/// The table and the ids of a piece.
fn piece_ids(piece: u32, table_size: u32) -> (u32, RangeInclusive<u32>) {
    let pieces = pieces_of(table_size);
    let first = piece % pieces * PIECE + 1;
    let last = table_size.min(first + PIECE - 1);
    (piece / pieces + 1, first..=last)
}

/// One thread's part of the load.
fn load_pieces(
    settings: &Settings,
    target: &JobDatabase<'_>,
    loaded: &AtomicU64,
    pieces: RemainingPieces<'_>,
) -> Result<LoadSummary> {
    let mut session = target.open_session()?;
    let mut tables = store::tables(&mut *session, settings.store)?;
    let maker = settings.maker(target.seed);
    let all = settings.rows.count() as f64;
    let mut load = LoadSummary::default();
    let mut rows = Vec::with_capacity(BATCH as usize);
    for piece in pieces {
        let (table, ids) = piece_ids(piece as u32, settings.rows.table_size);
        let mut next = *ids.start();
        while next <= *ids.end() {
            let last = (*ids.end()).min(next + BATCH - 1);
            make_rows(&mut rows, &maker, table, next..=last);
            load.user_bytes += put(&mut *tables, table, &rows)?;
            load.records += rows.len() as u64;
            let done = loaded.fetch_add(rows.len() as u64, Relaxed);
            (target.progress)(done as f64 / all);
            next = last + 1;
        }
    }
    Ok(load)
}

fn make_rows(rows: &mut Vec<Row>, maker: &RowMaker, table: u32, ids: RangeInclusive<u32>) {
    rows.clear();
    let loaded = WriteName::LOADED;
    rows.extend(ids.map(|id| maker.row(RowKey::new(table, id), loaded, loaded)));
}

/// Puts rows in one transaction; the bytes that the store made of them.
fn put(tables: &mut dyn Tables, table: u32, rows: &[Row]) -> Result<u64> {
    let doing = || format!("loading sbtest{table}");
    retry_unmetered(doing, || {
        in_transaction(tables, Mode::Write, |tables| tables.load(table, rows))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_in_one_piece() {
        for table_size in [1, 49_999, 50_000, 50_001, 120_000] {
            let pieces = pieces_of(table_size);
            for table in [1, 3] {
                let own = (table - 1) * pieces..table * pieces;
                let ids = own.flat_map(|piece| {
                    let (of, ids) = piece_ids(piece, table_size);
                    assert_eq!(of, table);
                    ids
                });
                assert!(ids.eq(1..=table_size), "{table_size}");
            }
        }
    }
}
