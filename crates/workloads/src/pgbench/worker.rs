//! One worker: draws transactions and does each until it meets no conflict.

use super::bank::{Bank, HistoryOrigin};
use super::bounds::BalanceBounds;
use super::kinds::Scripts;
use super::read_counts::ReadCounts;
use super::settings::Settings;
use super::store;
use super::stream::{Transaction, TransactionStream};
use super::transaction;
use crate::keyed::backoff::Backoff;
use crate::keyed::transaction::retry_with_backoff;
use crate::{JobTask, Meter, Result, WorkerFindings};

/// The worker's number, in its findings.
pub(super) const WORKER: &str = "worker";
/// The transactions that it has done, including its warm-up.
pub(super) const DONE: &str = "done";

/// Does a worker's share.
///
/// # Errors
/// Errors of the engine, except conflicts.
pub(super) fn run(
    task: &mut JobTask<'_>,
    settings: &Settings,
    bounds: Option<&BalanceBounds>,
) -> Result<WorkerFindings> {
    let (seed, worker) = (task.seed, task.worker);
    let verifies = task.verifies_reads();
    let mut left = settings.quota(worker, task.workers);
    let mut stream = TransactionStream::new(settings, seed, task.generation, worker);
    let mut client = Client {
        bank: store::bank(&mut *task.session, settings.store)?,
        meter: &mut *task.meter,
        backoff: Backoff::new(settings.retry_pause_us, seed, worker),
        bounds,
        verifies,
        scripts: settings.mix.scripts(),
        reads: ReadCounts::default(),
        worker,
        histories: 0,
        done: 0,
    };
    while left != Some(0) && client.meter.next_unit() {
        let warms_up = client.meter.is_warming_up();
        let transaction = stream.next_transaction();
        client.meter.start();
        client.transact(&transaction)?;
        if !warms_up {
            client.meter.advance(1);
            left = left.map(|left| left - 1);
        }
    }
    Ok(client.findings())
}

struct Client<'t> {
    bank: Box<dyn Bank + 't>,
    meter: &'t mut dyn Meter,
    backoff: Backoff,
    /// `None` if the deltas of other workers are not known.
    bounds: Option<&'t BalanceBounds>,
    /// Whether reads are checked.
    verifies: bool,
    scripts: Scripts,
    reads: ReadCounts,
    worker: u32,
    /// Rows of history that it has inserted.
    histories: u64,
    done: u64,
}

impl Client<'_> {
    /// Does one transaction, and measures it.
    fn transact(&mut self, transaction: &Transaction) -> Result<()> {
        let Transaction {
            script,
            account,
            branch,
            teller,
            delta,
        } = *transaction;
        let origin = HistoryOrigin {
            worker: self.worker,
            // An aborted attempt has left no row, so its number is used again.
            number: self.histories,
            at_us: if script.writes() {
                self.meter.date_us()
            } else {
                0
            },
        };
        let begun = self.bounds.and_then(|bounds| {
            let certain = bounds.begin(account, delta)?;
            Some((bounds, certain))
        });
        let (bank, backoff) = (&mut *self.bank, &mut self.backoff);
        let outcome = retry_with_backoff(
            &mut *self.meter,
            || format!("{} of account {account}", script.name()),
            |conflicts| backoff.pause(conflicts),
            |_| transaction::attempt(bank, transaction, origin),
        )?;
        self.histories += u64::from(script.writes());
        self.done += 1;
        if self.verifies {
            self.reads.count(&outcome, [branch, teller, account], begun);
        }
        if let Some((bounds, certain)) = begun {
            bounds.commit(certain);
        }
        let kind = self.scripts.index(script);
        if outcome.is_missing.contains(&true) {
            self.meter.not_found(kind);
        }
        self.meter.finish(kind);
        self.meter.finish_unit(kind);
        Ok(())
    }

    fn findings(&self) -> WorkerFindings {
        let mut findings = WorkerFindings::new();
        findings.insert(WORKER.to_owned(), self.worker.into());
        findings.insert(DONE.to_owned(), self.done);
        self.reads.write(&mut findings);
        findings
    }
}
