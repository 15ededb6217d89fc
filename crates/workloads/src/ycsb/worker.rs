//! One worker's share: draws operations and does each in a transaction of its own, as YCSB's core
//! workload does them through its RocksDB binding.

use super::kinds::{self, Kind, Kinds};
use super::properties::{Properties, RecordShape};
use super::shared_state::{Maker, SharedState};
use crate::generate::distribution::{Chooser, Items};
use crate::generate::key::KeyBuffer;
use crate::generate::random::Random;
use crate::keyed::draws::{LengthChooser, OperationMix};
use crate::keyed::kinds::KindCatalog;
use crate::keyed::load::FIRST_VERSION;
use crate::keyed::read_check::{ReadCounts, ReadFault, ReadValidator, RecordState};
use crate::keyed::scan::scan_first;
use crate::keyed::transaction::{TransactionError, retry};
use crate::keyed::units::run_units;
use crate::{Error, JobTask, Result, WorkerFindings};
use trueput_engine::{KeyRange, Mode, Result as EngineResult, Session, ValueVisitor};

/// The finding with the number of records updated.
pub(super) const UPDATED_RECORDS: &str = "renewed";
/// The name of the number of records that were inserted, in the findings.
pub(super) const INSERTED_RECORDS: &str = "inserted";

/// One worker.
pub(super) struct Worker<'a> {
    properties: &'a Properties,
    shared: &'a SharedState,
    /// Whether reads are checked.
    verifies: bool,
    kinds: Kinds,
    mix: OperationMix<{ kinds::COUNT }>,
    mixes: Random,
    chooser: Chooser,
    choices: Random,
    scan_records: LengthChooser,
    scan_lengths: Random,
    fields: Random,
    maker: Maker,
    /// The key of the current operation.
    key: KeyBuffer,
    /// The last key of a scan.
    last: Vec<u8>,
    /// The bytes that a client would receive.
    copied: Vec<u8>,
    reads: ReadCounts,
    updated: u64,
    inserted: u64,
}

/// The way to get a record: within a transaction, or by a look-up of its own.
type RecordGetter = fn(&mut dyn Session, &[u8], &mut ValueVisitor<'_>) -> EngineResult<bool>;

impl<'a> Worker<'a> {
    pub(super) fn new(
        task: &JobTask<'_>,
        properties: &'a Properties,
        shared: &'a SharedState,
    ) -> Result<Self> {
        let items = match properties.has_kind(Kind::Insert) {
            true => Items::Growing(shared.inserts.clone()),
            false => Items::Fixed(properties.records),
        };
        let (worker, workers) = (task.worker, task.workers);
        // Trials that share a load do not repeat each other.
        let seed = task.seed ^ u64::from(task.generation).rotate_left(32);
        let chooser = Chooser::new(
            properties.request,
            properties.choosable_items(items),
            worker,
            workers,
        )
        .map_err(|error| Error::Workload(error.to_string()))?;
        let random = |purpose| Random::for_worker(seed, worker, purpose);
        Ok(Self {
            properties,
            shared,
            verifies: task.verifies_reads(),
            kinds: kinds::with_share(&properties.proportions),
            mix: OperationMix::new(&properties.proportions),
            mixes: random("mix"),
            chooser,
            choices: random("keys"),
            scan_records: LengthChooser::new(properties.scan_records),
            scan_lengths: random("scans"),
            fields: random("fields"),
            maker: shared.maker.clone(),
            key: KeyBuffer::default(),
            last: Vec::new(),
            copied: Vec::new(),
            reads: ReadCounts::default(),
            updated: 0,
            inserted: 0,
        })
    }

    /// Does the share.
    pub(super) fn run(mut self, task: &mut JobTask<'_>) -> Result<WorkerFindings> {
        let quota = self.properties.share(task.worker, task.workers);
        run_units(task, quota, |task, _| {
            let kind = Kind::ALL[self.mix.next(&mut self.mixes)];
            self.operate(task, kind)?;
            let index = self.kinds.index(kind);
            task.meter.finish(index);
            task.meter.finish_unit(index);
            Ok(1)
        })?;
        let mut findings = WorkerFindings::new();
        findings.insert(UPDATED_RECORDS.to_owned(), self.updated);
        findings.insert(INSERTED_RECORDS.to_owned(), self.inserted);
        self.reads.write(&mut findings);
        Ok(findings)
    }

    fn operate(&mut self, task: &mut JobTask<'_>, kind: Kind) -> Result<()> {
        match kind {
            Kind::Insert => self.insert(task),
            Kind::Scan => self.scan(task),
            Kind::Read => self.read(task),
            _ => self.update(task, kind == Kind::ReadModifyWrite),
        }
    }

    fn choose(&mut self) -> u64 {
        self.chooser.next(&mut self.choices)
    }

    /// The part of a record that a read returns: all of it, or one field's share.
    fn wanted_field(&mut self) -> Option<u64> {
        let fields = self.properties.shape.fields;
        (!self.properties.read_all_fields).then(|| self.fields.below(fields))
    }

    fn read(&mut self, task: &mut JobTask<'_>) -> Result<()> {
        let item = self.choose();
        let field = self.wanted_field();
        let floor = self.shared.validator.floor(item);
        let (session, meter) = (&mut *task.session, &mut *task.meter);
        retry(meter, doing("reading", item), |_| {
            let get: RecordGetter = |session, key, visitor| session.point_read(key, visitor);
            self.look_up(session, get, item, field, floor).map(drop)
        })
    }

    /// Gets an item's record by `get`, copies the part that the client wants, and checks it against
    /// `floor`, which is from before its transaction began. Returns the version; `None` if there is
    /// no trustworthy record.
    fn look_up(
        &mut self,
        session: &mut dyn Session,
        get: RecordGetter,
        item: u64,
        field: Option<u64>,
        floor: u32,
    ) -> EngineResult<Option<u32>> {
        let RecordShape { fields, keys, .. } = self.properties.shape;
        let mut state = RecordState::Absent;
        let (maker, copied) = (&mut self.maker, &mut self.copied);
        let key = keys.write(item, &mut self.key);
        get(session, key, &mut |record| {
            copy_wanted(copied, record, field, fields);
            state = maker.state(item, record);
        })?;
        if self.verifies {
            let verdict = self.shared.validator.validate(item, floor, state);
            self.reads.count(item, verdict);
        }
        Ok(match state {
            RecordState::Version(version) => Some(version),
            _ => None,
        })
    }

    /// Reads a record and puts its next version. With `twice` it is first read as a client reads
    /// it, for YCSB's read-modify-write.
    fn update(&mut self, task: &mut JobTask<'_>, twice: bool) -> Result<()> {
        let item = self.choose();
        let field = if twice { self.wanted_field() } else { None };
        let shared = self.shared;
        shared.validator.updates.begin(item);
        let floor = shared.validator.floor(item);
        let doing = doing("updating", item);
        let updates = task.transact(Mode::Write, doing, |session, _| {
            let get: RecordGetter = |session, key, visitor| session.get(key, visitor);
            if twice {
                self.look_up(session, get, item, field, floor)?;
            }
            let version = self.look_up(session, get, item, None, floor)?;
            let version = version.unwrap_or(FIRST_VERSION);
            let next = shared.validator.trial.next(version).ok_or_else(|| {
                TransactionError::workload(format!(
                    "record {item} was updated too often for its version; choose fewer operations \
                     or a shorter duration"
                ))
            })?;
            let (key, record) = self.maker.make(item, next);
            session.put(key, record)?;
            Ok::<_, TransactionError>(shared.validator.trial.updates(next))
        })?;
        shared.validator.updates.commit(item, updates);
        self.updated += 1;
        Ok(())
    }

    fn insert(&mut self, task: &mut JobTask<'_>) -> Result<()> {
        let item = self.shared.inserts.claim();
        let doing = doing("inserting", item);
        task.transact(Mode::Write, doing, |session, _| {
            let (key, record) = self.maker.make(item, FIRST_VERSION);
            session.put(key, record)
        })?;
        self.inserted += 1;
        let acknowledged = self.shared.inserts.acknowledge(item);
        acknowledged.map_err(|error| Error::Workload(error.to_string()))
    }

    fn scan(&mut self, task: &mut JobTask<'_>) -> Result<()> {
        let item = self.choose();
        let wanted = self.scan_records.next(&mut self.scan_lengths);
        let field = self.wanted_field();
        let floor = self.shared.validator.floor(item);
        let doing = doing("scanning from", item);
        task.transact(Mode::Read, doing, |session, _| {
            self.scan_records(session, (item, wanted), field, floor)
        })
    }

    /// Scans this many records from an item's on, fewer at the end.
    fn scan_records(
        &mut self,
        session: &mut dyn Session,
        (item, wanted): (u64, u64),
        field: Option<u64>,
        floor: u32,
    ) -> EngineResult<()> {
        let RecordShape { fields, keys, .. } = self.properties.shape;
        let verifies = self.verifies;
        let start = keys.write(item, &mut self.key);
        let (maker, copied, shared) = (&mut self.maker, &mut self.copied, self.shared);
        let (reads, last) = (&mut self.reads, &mut self.last);
        let mut is_first = true;
        let shown = scan_first(session, KeyRange::from(start), wanted, |key, record| {
            copy_wanted(copied, record, field, fields);
            if verifies {
                match maker.identify(key, record, false) {
                    Ok((found, version)) => {
                        let floor = if found == item { floor } else { 0 };
                        let state = RecordState::Version(version);
                        reads.count(found, shared.validator.validate(found, floor, state));
                    }
                    Err(named) => reads.count(named, Err(ReadFault::Foreign)),
                }
                let in_order = match is_first {
                    true => key == start,
                    false => key > last.as_slice(),
                };
                if !in_order {
                    reads.add(ReadFault::Disorder, item);
                }
                last.clear();
                last.extend_from_slice(key);
            }
            is_first = false;
        })?;
        if verifies && shown == 0 {
            self.reads.add(ReadFault::Lost, item);
        }
        Ok(())
    }
}

/// Describes an operation on a record, for an error's text.
fn doing(what: &'static str, item: u64) -> impl FnOnce() -> String {
    move || format!("{what} record {item}")
}

/// Copies the part of a record that a client would receive: all of it, or one field's share.
fn copy_wanted(copied: &mut Vec<u8>, record: &[u8], field: Option<u64>, fields: u64) {
    let part = match field {
        None => record,
        Some(field) => {
            let end_of = |field: u64| (record.len() as u64 * field / fields) as usize;
            &record[end_of(field)..end_of(field + 1)]
        }
    };
    copied.clear();
    copied.extend_from_slice(part);
}
