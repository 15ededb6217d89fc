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
use crate::keyed::read_check::{ReadCounts, ReadFault, ReadValidator, RecordState};
use crate::keyed::record_reader::{GET, POINT_READ, RecordGetter};
use crate::keyed::scan::scan_first;
use crate::keyed::transaction::{TransactionError, retry};
use crate::keyed::units::run_units;
use crate::keyed::versions::{FIRST_VERSION, MAX_NUMBER};
use crate::{Error, JobTask, Result, WorkerFindings};
use trueput_engine::{KeyRange, Mode, Result as EngineResult, Session};
use trueput_record::VerifyLevel;

/// The finding with the number of records updated.
pub(super) const UPDATED_RECORDS: &str = "renewed";
/// The name of the number of records that were inserted, in the findings.
pub(super) const INSERTED_RECORDS: &str = "inserted";

/// Operations that are drawn together, so that one look at the clock leaves the time of all these
/// draws out of the latencies. With a few, a record that was just inserted is chosen soon.
const DRAWN_TOGETHER: usize = 16;

/// An operation that was drawn.
#[derive(Debug, Clone, Copy)]
struct YcsbOperation {
    kind: Kind,
    /// The record; of an insert, none yet.
    item: u64,
    /// The records of a scan.
    records: u64,
    /// The field that a client reads; `None`: all.
    field: Option<u64>,
}

const UNDRAWN: YcsbOperation = YcsbOperation {
    kind: Kind::Read,
    item: 0,
    records: 1,
    field: None,
};

/// Draws the operations of one worker.
struct OperationDraws {
    fields: u64,
    reads_all_fields: bool,
    mix: OperationMix<{ kinds::COUNT }>,
    mixes: Random,
    chooser: Chooser,
    /// The records to choose from.
    items: Items,
    choices: Random,
    scan_records: LengthChooser,
    scan_lengths: Random,
    field_choices: Random,
    drawn: [YcsbOperation; DRAWN_TOGETHER],
    /// The place in `drawn` of the next operation.
    next: usize,
}

impl OperationDraws {
    fn is_used_up(&self) -> bool {
        self.next == DRAWN_TOGETHER
    }

    /// Draws the next operations, among the records that are there now.
    fn refill(&mut self) {
        for place in 0..DRAWN_TOGETHER {
            self.drawn[place] = self.draw();
        }
        self.next = 0;
    }

    fn draw(&mut self) -> YcsbOperation {
        let kind = Kind::ALL[self.mix.next(&mut self.mixes)];
        let item = match kind {
            Kind::Insert => 0,
            _ => {
                let count = self.items.count();
                self.chooser.next_among(count, &mut self.choices)
            }
        };
        let records = match kind {
            Kind::Scan => self.scan_records.next(&mut self.scan_lengths),
            _ => 1,
        };
        let reads_for_client = matches!(kind, Kind::Read | Kind::Scan | Kind::ReadModifyWrite);
        let draws_field = reads_for_client && !self.reads_all_fields;
        let field = draws_field.then(|| self.field_choices.below(self.fields));
        YcsbOperation {
            kind,
            item,
            records,
            field,
        }
    }

    fn take(&mut self) -> YcsbOperation {
        self.next += 1;
        self.drawn[self.next - 1]
    }
}

/// One worker.
pub(super) struct Worker<'a> {
    properties: &'a Properties,
    shared: &'a SharedState,
    /// Whether reads are checked.
    verifies: bool,
    kinds: Kinds,
    draws: OperationDraws,
    maker: Maker,
    /// The key of the current operation.
    key: KeyBuffer,
    /// The last key of a scan.
    last: Vec<u8>,
    /// The bytes that a client would receive.
    copied: Vec<u8>,
    reads: ReadCounts,
    /// Whether the current operation looked for a record that was not there.
    lacks_record: bool,
    updated: u64,
    inserted: u64,
}

impl<'a> Worker<'a> {
    pub(super) fn new(
        task: &JobTask<'_>,
        properties: &'a Properties,
        shared: &'a SharedState,
    ) -> Result<Self> {
        let items = if properties.has_kind(Kind::Insert) {
            Items::Growing(shared.inserts.clone())
        } else {
            Items::Fixed(properties.records)
        };
        let (worker, workers) = (task.worker, task.workers);
        // Trials that share a load do not repeat each other.
        let seed = task.seed ^ u64::from(task.generation).rotate_left(32);
        // Made for the loaded records, as YCSB's is: others may have inserted since.
        let loaded = Items::Fixed(properties.records);
        let chooser = Chooser::new(properties.request, loaded, worker, workers);
        let chooser = chooser.map_err(|error| Error::Workload(error.to_string()))?;
        let verify = if task.verifies_reads() {
            task.verify
        } else {
            VerifyLevel::Off
        };
        let random = |purpose| Random::for_worker(seed, worker, purpose);
        Ok(Self {
            properties,
            shared,
            verifies: task.verifies_reads(),
            kinds: kinds::with_share(&properties.proportions),
            draws: OperationDraws {
                fields: properties.shape.fields,
                reads_all_fields: properties.read_all_fields,
                mix: OperationMix::new(&properties.proportions),
                mixes: random("mix"),
                chooser,
                items: properties.choosable_items(items),
                choices: random("keys"),
                scan_records: LengthChooser::new(properties.scan_records),
                scan_lengths: random("scans"),
                field_choices: random("fields"),
                drawn: [UNDRAWN; DRAWN_TOGETHER],
                next: DRAWN_TOGETHER,
            },
            maker: shared.maker.clone().comparing_reads(verify),
            key: KeyBuffer::default(),
            last: Vec::new(),
            copied: Vec::new(),
            reads: ReadCounts::default(),
            lacks_record: false,
            updated: 0,
            inserted: 0,
        })
    }

    /// Does the share.
    pub(super) fn run(mut self, task: &mut JobTask<'_>) -> Result<WorkerFindings> {
        let quota = self.properties.share(task.worker, task.workers);
        self.draws.refill();
        task.meter.start();
        run_units(task, quota, |task, _| {
            let operation = self.draws.take();
            self.operate(task, operation)?;
            let index = self.kinds.index(operation.kind);
            if std::mem::take(&mut self.lacks_record) {
                task.meter.not_found(index);
            }
            task.meter.finish(index);
            task.meter.finish_unit(index);
            if self.draws.is_used_up() {
                self.draws.refill();
                task.meter.start();
            }
            Ok(1)
        })?;
        let mut findings = WorkerFindings::new();
        findings.insert(UPDATED_RECORDS.to_owned(), self.updated);
        findings.insert(INSERTED_RECORDS.to_owned(), self.inserted);
        self.reads.write(&mut findings);
        Ok(findings)
    }

    fn operate(&mut self, task: &mut JobTask<'_>, operation: YcsbOperation) -> Result<()> {
        match operation.kind {
            Kind::Insert => self.insert(task),
            Kind::Scan => self.scan(task, operation),
            Kind::Read => self.read(task, operation),
            _ => self.update(task, operation),
        }
    }

    fn read(&mut self, task: &mut JobTask<'_>, operation: YcsbOperation) -> Result<()> {
        let YcsbOperation { item, field, .. } = operation;
        let floor = self.shared.validator.floor(item);
        let (session, meter) = (&mut *task.session, &mut *task.meter);
        retry(meter, doing("reading", item), |_| {
            self.look_up(session, POINT_READ, item, field, floor)
                .map(drop)
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
        let is_there = get(session, key, &mut |record| {
            copy_wanted(copied, record, field, fields);
            state = maker.state(item, record);
        })?;
        self.lacks_record = !is_there;
        if self.verifies {
            let verdict = self.shared.validator.validate(item, floor, state);
            self.reads.count(item, verdict);
        }
        Ok(match state {
            RecordState::Version(version) => Some(version),
            _ => None,
        })
    }

    /// Reads a record and puts its next version. For YCSB's read-modify-write it is first read as a
    /// client reads it.
    fn update(&mut self, task: &mut JobTask<'_>, operation: YcsbOperation) -> Result<()> {
        let YcsbOperation { item, field, .. } = operation;
        let twice = operation.kind == Kind::ReadModifyWrite;
        let shared = self.shared;
        let versions = shared.validator.versions;
        shared.validator.updates.begin(item);
        let floor = shared.validator.floor(item);
        let doing = doing("updating", item);
        let updates = task.transact(Mode::Write, doing, |session, _| {
            if twice {
                self.look_up(session, GET, item, field, floor)?;
            }
            let version = self.look_up(session, GET, item, None, floor)?;
            let version = version.unwrap_or(FIRST_VERSION);
            let updates = versions.next_number(version);
            if updates > MAX_NUMBER {
                return Err(TransactionError::workload(format!(
                    "record {item} was updated too often for its version; choose fewer operations \
                     or a shorter duration"
                )));
            }
            let (key, record) = self.maker.make(item, versions.version(updates));
            session.put(key, record)?;
            Ok::<_, TransactionError>(updates)
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

    fn scan(&mut self, task: &mut JobTask<'_>, operation: YcsbOperation) -> Result<()> {
        let YcsbOperation {
            item,
            records: wanted,
            field,
            ..
        } = operation;
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
                let in_order = if is_first {
                    key == start
                } else {
                    key > last.as_slice()
                };
                if !in_order {
                    reads.add(ReadFault::Disorder, item);
                }
                last.clear();
                last.extend_from_slice(key);
            }
            is_first = false;
        })?;
        self.lacks_record = shown == 0;
        if verifies && shown == 0 {
            self.reads.add(ReadFault::Lost, item);
        }
        Ok(())
    }
}

/// Describes an operation on a record, for an error's text.
fn doing(action: &'static str, item: u64) -> impl FnOnce() -> String {
    move || format!("{action} record {item}")
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
