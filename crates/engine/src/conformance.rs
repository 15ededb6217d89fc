//! The conformance suite: the behavior that every engine must show before it is measured.
//!
//! It runs when a plan runs, on every contender and level, so it is quick (about 200 commits, and a
//! tenth of a second of several readers and a writer) and reports instead of panicking. No check
//! holds a transaction open while it waits without limit for another one, so engines that make
//! writers or readers queue cannot deadlock it. It cannot interrupt an engine that never returns
//! from a call; the caller's process can.
//!
//! Two processes on one database are not tested here, because that requires the runner.

mod batches;
mod conditions;
mod loading;
mod protocol;
mod records;
mod scans;
mod sessions;
pub(crate) mod support;
mod transactions;

use crate::{Capabilities, Database, Durability, Engine, OpenSpec, ParameterValues};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use support::{
    CLOSING, CheckFailure, Outcome, RETRY_TIMEOUT, StepContext, guarded, missing_promise,
};
use trueput_record::measurement::Check;

/// The most sessions that any check has at once.
const SESSIONS: u32 = 5;

/// After this many failed checks that took their whole time limit, the remaining ones are skipped:
/// an engine that reports a conflict at every commit would otherwise delay the run by half a
/// minute.
const MAX_STUCK_CHECKS: u32 = 2;

/// Runs every check that applies to an engine at a level, each on a fresh database in a subfolder
/// of `directory`, which exists; the subfolders are made and removed here.
///
/// A check that a capability rules out is left out of the list. If the engine does not have the
/// level at all, the list is that one failed check. A panic in the engine is a failed check.
#[must_use]
pub fn run(
    engine: &dyn Engine,
    directory: &Path,
    durability: Durability,
    knobs: &ParameterValues,
) -> Vec<Check> {
    let described = guarded(|| {
        let promise = engine.promise_with(durability, knobs);
        promise.map_err(missing_promise)?;
        Ok(engine.capabilities())
    });
    let capabilities = match described {
        Ok(capabilities) => capabilities,
        Err(CheckFailure(text)) => return vec![Check::new(DESCRIBED, false, text)],
    };
    let mut stuck = 0;
    let mut checks = Vec::new();
    for (index, entry) in ENTRIES.iter().enumerate() {
        if !entry.needs.met_by(capabilities) {
            continue;
        }
        if stuck == MAX_STUCK_CHECKS {
            checks.push(Check::new(
                entry.claim,
                false,
                "not run: others hit their time limit",
            ));
            continue;
        }
        let folder = directory.join(format!("check-{index:02}"));
        let subject = EngineUnderTest {
            engine,
            folder,
            durability,
            knobs,
            capabilities,
            opened: Mutex::default(),
        };
        let start = Instant::now();
        match examine(entry, &subject) {
            Ok(detail) => checks.push(Check::new(entry.claim, true, detail)),
            Err(CheckFailure(text)) => {
                stuck += u32::from(start.elapsed() >= RETRY_TIMEOUT);
                checks.push(Check::new(entry.claim, false, text));
            }
        }
    }
    checks
}

/// Makes the folder, runs the check whatever it does, closes its database, removes the folder.
fn examine(entry: &Entry, subject: &EngineUnderTest<'_>) -> Outcome {
    let failed = |action: &str, error: std::io::Error| {
        CheckFailure(format!(
            "cannot {action} {}: {error}",
            subject.folder.display()
        ))
    };
    std::fs::create_dir(&subject.folder).map_err(|error| failed("make", error))?;
    let outcome = guarded(|| (entry.check)(subject));
    let closed = guarded(|| subject.close());
    let removed = std::fs::remove_dir_all(&subject.folder);
    let detail = outcome?;
    closed?;
    removed.map_err(|error| failed("remove", error))?;
    Ok(detail)
}

/// The engine under test, as it will be measured, and a folder for one database of it.
struct EngineUnderTest<'a> {
    engine: &'a dyn Engine,
    folder: PathBuf,
    durability: Durability,
    knobs: &'a ParameterValues,
    capabilities: Capabilities,
    /// What a check has opened. It is closed when the check has ended, however it ends.
    opened: Mutex<Vec<Arc<Box<dyn Database>>>>,
}

/// A database that a check has opened.
struct OpenDatabase(Arc<Box<dyn Database>>);

impl Deref for OpenDatabase {
    type Target = dyn Database;

    fn deref(&self) -> &Self::Target {
        &**self.0
    }
}

impl EngineUnderTest<'_> {
    fn open(&self) -> Outcome<OpenDatabase> {
        let spec = OpenSpec {
            directory: &self.folder,
            durability: self.durability,
            knobs: self.knobs,
            sessions: SESSIONS,
        };
        let database = Arc::new(self.engine.open(&spec).at("open")?);
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        opened.push(Arc::clone(&database));
        Ok(OpenDatabase(database))
    }

    /// Closes the databases that were opened and that no [`OpenDatabase`] holds.
    fn close(&self) -> Outcome<()> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        let mut databases = std::mem::take(&mut *opened).into_iter();
        databases.try_for_each(|database| match Arc::into_inner(database) {
            Some(database) => database.close().at(CLOSING),
            None => Ok(()),
        })
    }
}

/// The property that an engine must claim for a check to apply.
#[derive(Clone, Copy)]
enum Requirement {
    /// No property: the check applies to every engine.
    Nothing,
    /// The engine retains data.
    Data,
    /// Its transactions take effect together or not at all.
    Atomicity,
    /// Its read transactions see one state.
    Snapshots,
}

impl Requirement {
    fn met_by(self, capabilities: Capabilities) -> bool {
        let data = capabilities.retains_data;
        match self {
            Self::Nothing => true,
            Self::Data => data,
            Self::Atomicity => data && capabilities.atomic_transactions,
            Self::Snapshots => data && capabilities.snapshot_reads,
        }
    }
}

/// One check: its claim and its function.
struct Entry {
    claim: &'static str,
    needs: Requirement,
    check: fn(&EngineUnderTest<'_>) -> Outcome,
}

const fn entry(
    claim: &'static str,
    needs: Requirement,
    check: fn(&EngineUnderTest<'_>) -> Outcome,
) -> Entry {
    Entry {
        claim,
        needs,
        check,
    }
}

const DESCRIBED: &str = "the promise names its level, settings and source";

const ENTRIES: &[Entry] = &[
    entry(DESCRIBED, Requirement::Nothing, protocol::promise),
    entry(
        "a level without a promise is refused",
        Requirement::Nothing,
        protocol::levels_refused,
    ),
    entry(
        "calls without a transaction are refused",
        Requirement::Nothing,
        protocol::no_transaction,
    ),
    entry(
        "a second begin is refused",
        Requirement::Nothing,
        protocol::second_begin,
    ),
    entry(
        "a write in a read transaction is refused",
        Requirement::Nothing,
        protocol::read_only,
    ),
    entry(
        "settings, counters and checkpoints work",
        Requirement::Nothing,
        protocol::housekeeping,
    ),
    entry(
        "what is put can be got",
        Requirement::Data,
        records::round_trip,
    ),
    entry(
        "a later put replaces an earlier one",
        Requirement::Data,
        records::overwrite,
    ),
    entry(
        "a missing key is absent",
        Requirement::Data,
        records::missing,
    ),
    entry(
        "a look-up by itself shows what is committed",
        Requirement::Data,
        records::point_read,
    ),
    entry(
        "keys that are looked up together are found as one by one",
        Requirement::Data,
        batches::get_as_one_by_one,
    ),
    entry(
        "a conditional put stores only what is not there",
        Requirement::Data,
        conditions::put_if_absent,
    ),
    entry(
        "what is deleted is gone",
        Requirement::Data,
        records::delete,
    ),
    entry(
        "deleting what is not there is no error",
        Requirement::Data,
        records::delete_missing,
    ),
    entry(
        "an empty value is kept",
        Requirement::Data,
        records::empty_value,
    ),
    entry(
        "an empty key is kept or refused",
        Requirement::Data,
        records::empty_key,
    ),
    entry(
        "keys of maximal length are kept",
        Requirement::Data,
        records::longest_key,
    ),
    entry(
        "a value of maximal length is kept",
        Requirement::Data,
        records::longest_value,
    ),
    entry(
        "a key or value too long is refused",
        Requirement::Data,
        records::too_long,
    ),
    entry(
        "keys are in unsigned byte order",
        Requirement::Data,
        scans::order,
    ),
    entry("a scan keeps its bounds", Requirement::Data, scans::bounds),
    entry(
        "a scan ends where its visitor breaks",
        Requirement::Data,
        scans::breaks,
    ),
    entry(
        "a scan sees its transaction's own writes",
        Requirement::Data,
        scans::own_writes,
    ),
    entry(
        "a transaction sees its own writes",
        Requirement::Data,
        transactions::own_writes,
    ),
    entry(
        "an abort undoes everything",
        Requirement::Atomicity,
        transactions::abort,
    ),
    entry(
        "a large transaction is atomic",
        Requirement::Atomicity,
        transactions::large,
    ),
    entry(
        "a dropped session abandons its transaction",
        Requirement::Atomicity,
        transactions::dropped,
    ),
    entry(
        "a reopened database holds what was committed",
        Requirement::Data,
        transactions::reopen,
    ),
    entry(
        "what is loaded in bulk can be read",
        Requirement::Data,
        loading::bulk_load,
    ),
    entry(
        "random operations agree with a model",
        Requirement::Data,
        transactions::random,
    ),
    entry(
        "an uncommitted write is invisible to others",
        Requirement::Atomicity,
        sessions::uncommitted,
    ),
    entry(
        "a read transaction keeps its snapshot",
        Requirement::Snapshots,
        sessions::snapshot,
    ),
    entry(
        "several readers keep their snapshots while a writer commits",
        Requirement::Snapshots,
        sessions::several_readers,
    ),
    entry(
        "of two overlapping updates none is lost",
        Requirement::Atomicity,
        sessions::two_updates,
    ),
    entry(
        "no update of a shared counter is lost",
        Requirement::Atomicity,
        sessions::counter,
    ),
    entry(
        "of several conditional puts of a key one stores",
        Requirement::Atomicity,
        sessions::conditional_puts,
    ),
    entry(
        "two sessions work in two threads",
        Requirement::Data,
        sessions::two_threads,
    ),
];
