//! The load: every row with a balance of 0, put in transactions of bounded size by as many threads
//! as the engine lets write at once.

use super::bank::{Bank, LoadedRow};
use super::scale::{BalanceTable, Scale};
use super::settings::Settings;
use super::store;
use crate::keyed::transaction::{in_transaction, retry_unmetered};
use crate::threads::{RemainingPieces, share_pieces};
use crate::{ErrorContext, JobDatabase, LoadSummary, Result};
use trueput_engine::Mode;

/// Rows of one transaction, at most.
const BATCH: usize = 1_000;

/// Makes and fills the tables.
///
/// # Errors
/// Errors of the engine.
pub(super) fn load(settings: &Settings, target: &JobDatabase<'_>) -> Result<LoadSummary> {
    let scale = settings.scale;
    let mut session = target.open_session()?;
    let mut bank = store::bank(&mut *session, settings.store)?;
    bank.create().context(|| "making the tables".to_owned())?;
    drop(bank);
    drop(session);
    let writers = if target.capabilities.concurrent_writers {
        target.threads.clamp(1, scale.branches)
    } else {
        1
    };
    // The rows of each branch are a piece.
    let pieces = scale.branches as usize;
    let load = |pieces: RemainingPieces<'_>| load_branches(settings, target, pieces);
    let loaded = share_pieces(writers, pieces, load, |all, loaded| {
        all.records += loaded.records;
        all.user_bytes += loaded.user_bytes;
    })?;
    let mut session = target.open_session()?;
    let mut bank = store::bank(&mut *session, settings.store)?;
    bank.finish_load()
        .context(|| "making what the load leaves for the end".to_owned())?;
    Ok(loaded)
}

/// Loads the branches that are left.
fn load_branches(
    settings: &Settings,
    target: &JobDatabase<'_>,
    pieces: RemainingPieces<'_>,
) -> Result<LoadSummary> {
    let scale = settings.scale;
    let mut session = target.open_session()?;
    let mut bank = store::bank(&mut *session, settings.store)?;
    let mut load = LoadSummary::default();
    for piece in pieces {
        let branch = piece as u32 + 1;
        for table in BalanceTable::ALL {
            load_table(&mut *bank, scale, (table, branch), &mut load)?;
        }
        (target.progress)(f64::from(branch) / f64::from(scale.branches));
    }
    Ok(load)
}

/// Loads the rows of a table that belong to a branch.
fn load_table(
    bank: &mut dyn Bank,
    scale: Scale,
    (table, branch): (BalanceTable, u32),
    load: &mut LoadSummary,
) -> Result<()> {
    let ids = scale.ids(table, branch);
    let rows: Vec<_> = ids.map(|id| LoadedRow { id, branch }).collect();
    for batch in rows.chunks(BATCH) {
        let doing = || format!("loading the {}", table.name());
        let bytes = retry_unmetered(doing, || {
            in_transaction(bank, Mode::Write, |bank| bank.load(table, batch))
        })?;
        load.records += batch.len() as u64;
        load.user_bytes += bytes;
    }
    Ok(())
}
