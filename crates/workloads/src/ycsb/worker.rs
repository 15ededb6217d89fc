//! One worker's share: draws operations and does each in a transaction of its own, as YCSB's core
//! workload does them through its RocksDB binding.

use super::draw::{LengthChooser, Mix};
use super::fault::{Fault, Faults};
use super::kinds::{self, Kinds};
use super::properties::{Properties, Shape};
use super::record::{Maker, Seen};
use super::shared::Shared;
use super::version::FIRST;
use crate::generate::distribution::{Chooser, Items};
use crate::generate::key::Buffer;
use crate::generate::random::Random;
use crate::{Error, Findings, Task};
use std::ops::ControlFlow;
use trueput_engine::{
    Direction, Error as EngineError, KeyRange, Mode, Result as EngineResult, Session, ValueVisitor,
};
use trueput_record::VerifyLevel;

/// One worker.
pub(super) struct Worker<'a, 't> {
    task: &'a mut Task<'t>,
    properties: &'a Properties,
    shared: &'a Shared,
    kinds: Kinds,
    mix: Mix,
    mixes: Random,
    chooser: Chooser,
    choices: Random,
    scan_records: LengthChooser,
    scan_lengths: Random,
    fields: Random,
    maker: Maker,
    /// The key of the current operation.
    key: Buffer,
    /// The last key of a scan.
    last: Vec<u8>,
    /// What a client would be handed.
    taken: Vec<u8>,
    tally: Tally,
}

/// What a worker has done, what was to warm up included.
#[derive(Debug, Default)]
struct Tally {
    renewed: u64,
    inserted: u64,
    checked: u64,
    faults: Faults,
}

/// How a record is got: within a transaction, or by a look-up of its own.
type Get = fn(&mut dyn Session, &[u8], &mut ValueVisitor<'_>) -> EngineResult<bool>;

/// How a body of a transaction ends early.
enum Failure {
    /// A conflict has it tried again.
    Engine(EngineError),
    /// There is no point in another attempt.
    Final(Error),
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        Self::Engine(error)
    }
}

impl<'a, 't> Worker<'a, 't> {
    pub(super) fn new(
        task: &'a mut Task<'t>,
        properties: &'a Properties,
        shared: &'a Shared,
    ) -> Result<Self, Error> {
        let items = match properties.does(kinds::INSERT) {
            true => Items::Growing(shared.inserts.clone()),
            false => Items::Fixed(properties.records),
        };
        let (worker, workers) = (task.worker, task.workers);
        // Trials that share a load do not repeat each other.
        let seed = task.seed ^ u64::from(task.generation).rotate_left(32);
        let chooser = Chooser::new(properties.request, properties.among(items), worker, workers)
            .map_err(|error| Error::Workload(error.to_string()))?;
        let random = |purpose| Random::for_worker(seed, worker, purpose);
        Ok(Self {
            task,
            properties,
            shared,
            kinds: Kinds::of(&properties.proportions),
            mix: Mix::new(&properties.proportions),
            mixes: random("mix"),
            chooser,
            choices: random("keys"),
            scan_records: LengthChooser::new(properties.scan_records),
            scan_lengths: random("scans"),
            fields: random("fields"),
            maker: shared.maker.clone(),
            key: Buffer::default(),
            last: Vec::new(),
            taken: Vec::new(),
            tally: Tally::default(),
        })
    }

    /// Does the share.
    pub(super) fn run(mut self) -> Result<Findings, Error> {
        let mut left = self.properties.share(self.task.worker, self.task.workers);
        while left != Some(0) && self.task.meter.pace() {
            let warming = self.task.meter.warming();
            let kind = self.mix.next(&mut self.mixes);
            self.operate(kind)?;
            let index = self.kinds.index(kind);
            self.task.meter.finish(index);
            self.task.meter.respond(index);
            if !warming {
                self.task.meter.advance(1);
                left = left.map(|left| left - 1);
            }
        }
        let mut findings = Findings::new();
        findings.insert("renewed".to_owned(), self.tally.renewed);
        findings.insert("inserted".to_owned(), self.tally.inserted);
        findings.insert("checked".to_owned(), self.tally.checked);
        self.tally.faults.write(&mut findings);
        Ok(findings)
    }

    fn operate(&mut self, kind: usize) -> Result<(), Error> {
        match kind {
            kinds::INSERT => self.insert(),
            kinds::SCAN => self.scan(),
            kinds::READ => self.read(),
            _ => self.renew(kind == kinds::READ_MODIFY_WRITE),
        }
    }

    fn choose(&mut self) -> u64 {
        self.chooser.next(&mut self.choices)
    }

    /// Which part of a record a read hands over: all of it, or one field's share.
    fn wanted_field(&mut self) -> Option<u64> {
        let fields = self.properties.shape.fields;
        (!self.properties.read_all_fields).then(|| self.fields.below(fields))
    }

    /// What is wrong can be told.
    fn verifies(&self) -> bool {
        self.task.verify != VerifyLevel::Off && self.task.capabilities.retains_data
    }

    fn read(&mut self) -> Result<(), Error> {
        let item = self.choose();
        let field = self.wanted_field();
        let fewest = self.shared.ledger.fewest(item);
        self.retried("reading", item, |worker| {
            let look: Get = |session, key, visitor| session.point_read(key, visitor);
            worker.look_up(look, item, field, fewest).map(drop)
        })
    }

    /// Gets an item's record by `get`, takes over what is wanted of it, and checks it: it must tell the
    /// `fewest` updates that were committed before its transaction began. The version; `None` where
    /// nothing is there that can be trusted.
    fn look_up(
        &mut self,
        get: Get,
        item: u64,
        field: Option<u64>,
        fewest: u32,
    ) -> Result<Option<u32>, Failure> {
        let Shape { fields, keys, .. } = self.properties.shape;
        let mut found = Err(Fault::Missing);
        let (maker, taken) = (&mut self.maker, &mut self.taken);
        let key = keys.write(item, &mut self.key);
        get(self.task.session, key, &mut |record| {
            take(taken, record, field, fields);
            found = maker.version(item, record);
        })?;
        if self.verifies() {
            self.tally.checked += 1;
            match found {
                Ok(version) => {
                    let seen = Seen { item, version };
                    self.shared.judge(seen, fewest, &mut self.tally.faults);
                }
                Err(fault) => self.tally.faults.add(fault, item),
            }
        }
        Ok(found.ok())
    }

    /// Reads a record and writes it anew. With `twice` it is read once more before, as by YCSB's
    /// read-modify-write, whose update reads by itself.
    fn renew(&mut self, twice: bool) -> Result<(), Error> {
        let item = self.choose();
        let field = if twice { self.wanted_field() } else { None };
        self.shared.ledger.begin(item);
        let fewest = self.shared.ledger.fewest(item);
        let updates = self.transact(Mode::Write, "updating", item, |worker| {
            let get: Get = |session, key, visitor| session.get(key, visitor);
            if twice {
                worker.look_up(get, item, field, fewest)?;
            }
            let version = worker.look_up(get, item, None, fewest)?;
            let version = version.unwrap_or(FIRST);
            let next = worker.shared.trial.next(version).ok_or_else(|| {
                Failure::Final(Error::Workload(format!(
                    "record {item} was updated too often for its version; choose fewer operations \
                     or a shorter duration"
                )))
            })?;
            let (key, record) = worker.maker.make(item, next);
            worker.task.session.put(key, record)?;
            Ok(worker.shared.trial.updates(next))
        })?;
        self.shared.ledger.commit(item, updates);
        self.tally.renewed += 1;
        Ok(())
    }

    fn insert(&mut self) -> Result<(), Error> {
        let item = self.shared.inserts.claim();
        self.transact(Mode::Write, "inserting", item, |worker| {
            let (key, record) = worker.maker.make(item, FIRST);
            Ok(worker.task.session.put(key, record)?)
        })?;
        self.tally.inserted += 1;
        let acknowledged = self.shared.inserts.acknowledge(item);
        acknowledged.map_err(|error| Error::Workload(error.to_string()))
    }

    fn scan(&mut self) -> Result<(), Error> {
        let item = self.choose();
        let wanted = self.scan_records.next(&mut self.scan_lengths);
        let field = self.wanted_field();
        let fewest = self.shared.ledger.fewest(item);
        self.transact(Mode::Read, "scanning from", item, |worker| {
            worker.pass(item, wanted, field, fewest)
        })
    }

    /// Scans so many records from an item's on, fewer at the end.
    fn pass(
        &mut self,
        item: u64,
        wanted: u64,
        field: Option<u64>,
        fewest: u32,
    ) -> Result<(), Failure> {
        let Shape { fields, keys, .. } = self.properties.shape;
        let verifies = self.verifies();
        let start = keys.write(item, &mut self.key);
        let (maker, taken, shared) = (&mut self.maker, &mut self.taken, self.shared);
        let (tally, last) = (&mut self.tally, &mut self.last);
        let mut seen = 0;
        let range = KeyRange::from(start);
        let shown = self
            .task
            .session
            .scan(range, Direction::Forward, &mut |key, record| {
                take(taken, record, field, fields);
                if verifies {
                    tally.checked += 1;
                    match maker.read(key, record, false) {
                        Ok(found) => {
                            let fewest = if found.item == item { fewest } else { 0 };
                            shared.judge(found, fewest, &mut tally.faults);
                        }
                        Err(named) => tally.faults.add(Fault::Foreign, named),
                    }
                    let in_order = match seen {
                        0 => key == start,
                        _ => key > last.as_slice(),
                    };
                    if !in_order {
                        tally.faults.add(Fault::Disordered, item);
                    }
                    last.clear();
                    last.extend_from_slice(key);
                }
                seen += 1;
                match seen < wanted {
                    true => ControlFlow::Continue(()),
                    false => ControlFlow::Break(()),
                }
            })?;
        if verifies && shown == 0 {
            self.tally.faults.add(Fault::Missing, item);
        }
        Ok(())
    }

    /// Does `body` in a transaction until that commits without a conflict.
    fn transact<T>(
        &mut self,
        mode: Mode,
        doing: &str,
        item: u64,
        mut body: impl FnMut(&mut Self) -> Result<T, Failure>,
    ) -> Result<T, Error> {
        self.retried(doing, item, |worker| worker.attempt(mode, &mut body))
    }

    /// Makes `attempt` until it meets no conflict.
    fn retried<T>(
        &mut self,
        doing: &str,
        item: u64,
        mut attempt: impl FnMut(&mut Self) -> Result<T, Failure>,
    ) -> Result<T, Error> {
        loop {
            match attempt(self) {
                Ok(value) => return Ok(value),
                Err(Failure::Engine(error)) if error.is_conflict() => {
                    self.task.meter.conflict(&error);
                    if self.task.meter.stopped() {
                        return Err(Error::Stopped);
                    }
                }
                Err(Failure::Engine(source)) => {
                    let doing = format!("{doing} record {item}");
                    return Err(Error::Engine { doing, source });
                }
                Err(Failure::Final(error)) => return Err(error),
            }
        }
    }

    fn attempt<T>(
        &mut self,
        mode: Mode,
        body: &mut impl FnMut(&mut Self) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.task.session.begin(mode)?;
        match body(self) {
            Ok(value) => {
                self.task.session.commit()?;
                Ok(value)
            }
            Err(failure) => {
                // The failure says more than what the abort may add; the transaction ends anyway.
                let _ = self.task.session.abort();
                Err(failure)
            }
        }
    }
}

/// Copies what a client would be handed: the whole record, or one field's share of it.
fn take(taken: &mut Vec<u8>, record: &[u8], field: Option<u64>, fields: u64) {
    let part = match field {
        None => record,
        Some(field) => {
            let end_of = |field: u64| (record.len() as u64 * field / fields) as usize;
            &record[end_of(field)..end_of(field + 1)]
        }
    };
    taken.clear();
    taken.extend_from_slice(part);
}
