//! Engines that are wrong in one way each: the reference engine with one fault built in.

pub mod weak;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Bound, ControlFlow};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use trueput_engine::reference::Reference;
use trueput_engine::{
    BatchVisitor, Build, Capabilities, Database, Direction, Durability, Engine, Error, Info,
    Isolation, KeyBatch, KeyRange, Mode, OpenSpec, Parameter, ParameterValues, Promise,
    RecordSource, RecordVisitor, Result, Session, Value, ValueVisitor, get_each,
};

/// Declares faults, and the list of all.
macro_rules! faults {
    ($(#[$about:meta])* pub enum $Fault:ident { $($(#[$of_one:meta])* $one:ident,)* }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $Fault {
            $($(#[$of_one])* $one,)*
        }

        impl $Fault {
            /// Every fault.
            pub const ALL: &[Self] = &[$(Self::$one,)*];
        }
    };
}

faults! {
    /// The fault of an engine.
    pub enum EngineFault {
        /// Every 17th put is acknowledged and lost.
        LosesPuts,
        /// A put over a record that is there is acknowledged and lost.
        KeepsFirstPut,
        /// A get shows the value of the nearest key from there on.
        GetsNeighbors,
        /// A deleted record stays.
        IgnoresDeletes,
        /// A delete of what is not there is an error.
        RefusesMissingDeletes,
        /// Two neighbors change places in scans of three records or more.
        ScansOutOfOrder,
        /// Keys are compared as signed bytes.
        ScansInSignedOrder,
        /// A backward scan takes an excluded upper bound for an included one.
        BackwardScanIncludesUpperBound,
        /// A scan goes on after its visitor broke.
        ScanIgnoresBreak,
        /// A scan answers one record too many.
        ScanMiscounts,
        /// A scan shows what is committed, without the transaction's own writes.
        ScanMissesOwnWrites,
        /// A get shows what is committed, without the transaction's own writes.
        GetMissesOwnWrites,
        /// A look-up of several keys does so.
        BatchMissesOwnWrites,
        /// A key that is in a batch of look-ups twice is shown once.
        BatchLosesRepeatedKeys,
        /// Values of a batch of look-ups are shown at the position of the key before theirs.
        BatchShiftsPositions,
        /// A batch of look-ups that has found something answers one value too many.
        BatchMiscounts,
        /// A conditional put does not look for the key.
        PutsInAnyCase,
        /// A conditional put that stores answers that it did not.
        DeniesConditionalPuts,
        /// A conditional put of a key that exists stores, and answers that it did not.
        OverwritesAndDenies,
        /// A conditional put looks at what is committed only.
        ConditionMissesOwnWrites,
        /// A conditional put of a key that its transaction has looked up answers that it exists.
        DeniesAfterGet,
        /// The loader loses the first record of a load.
        LoaderLosesRecords,
        /// The loader loads, and answers that there is none.
        LoaderDenies,
        /// The loader passes over what cannot be stored.
        LoaderSkipsRefused,
        /// The loader leaves its transaction open when a record cannot be stored.
        LoaderStaysOpen,
        /// An abort commits.
        AbortCommits,
        /// A session that is dropped commits.
        DropCommits,
        /// Other sessions get what is put before it is committed.
        ReadsUncommitted,
        /// A look-up by itself shows what its session saw first.
        LooksAtOldState,
        /// A read transaction sees what others commit after it began.
        ReadsLatest,
        /// A read transaction does so while another one is open.
        MixesStatesAmongReaders,
        /// Write transactions overwrite each other without a conflict.
        LosesUpdates,
        /// A write conflict is noticed, and reported as a failure.
        ConflictIsFailure,
        /// A transaction is committed after every thousand puts.
        SplitsTransactions,
        /// All records are forgotten when the database is opened again.
        ForgetsOnReopen,
        /// An empty value is taken for a deletion.
        DropsEmptyValues,
        /// Puts of the empty key are acknowledged and lost.
        DropsEmptyKeys,
        /// Keys lose what is beyond 1,000 bytes.
        CutsLongKeys,
        /// Values lose what is beyond 64 KiB.
        CutsLongValues,
        /// A read transaction lets writes through.
        WritesInReadTransactions,
        /// A second begin is let through.
        BeginsTwice,
        /// Calls without a transaction are reported as conflicts.
        MisuseIsConflict,
        /// The promise is of another level than was asked for.
        PromisesAnother,
        /// A checkpoint is an error.
        CheckpointFails,
        /// Every level is opened, whatever is promised.
        OpensEveryLevel,
        /// A delete panics.
        Panics,
        /// Every commit is reported as a conflict.
        AlwaysConflicts,
    }
}

/// The reference engine with one fault.
pub struct FaultyEngine(pub EngineFault);

impl Engine for FaultyEngine {
    fn info(&self) -> Info {
        Info {
            name: "broken",
            ..Reference.info()
        }
    }

    fn build(&self) -> Result<Build> {
        Reference.build()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            bulk_load: true,
            ..Reference.capabilities()
        }
    }

    fn promise_with(&self, durability: Durability, knobs: &ParameterValues) -> Result<Promise> {
        let mut promise = Reference.promise_with(durability, knobs)?;
        if self.0 == EngineFault::PromisesAnother {
            promise.durability = Durability::Process;
        }
        Ok(promise)
    }

    fn isolation(&self, knobs: &ParameterValues) -> Option<Isolation> {
        Reference.isolation(knobs)
    }

    fn knobs(&self) -> &'static [Parameter] {
        Reference.knobs()
    }

    fn open(&self, spec: &OpenSpec<'_>) -> Result<Box<dyn Database>> {
        let mut spec = *spec;
        if self.0 == EngineFault::OpensEveryLevel {
            spec.durability = Durability::None;
        }
        if self.0 == EngineFault::ForgetsOnReopen {
            std::fs::write(spec.directory.join("records"), "").map_err(Error::engine)?;
        }
        Ok(Box::new(BrokenDatabase {
            fault: self.0,
            inner: Reference.open(&spec)?,
            puts: AtomicU64::new(0),
            commits: AtomicU64::new(0),
            readers: AtomicU64::new(0),
            uncommitted: Mutex::default(),
        }))
    }
}

struct BrokenDatabase {
    fault: EngineFault,
    inner: Box<dyn Database>,
    puts: AtomicU64,
    commits: AtomicU64,
    /// Read transactions that are open.
    readers: AtomicU64,
    /// Uncommitted puts, visible to all.
    uncommitted: Mutex<BTreeMap<Vec<u8>, Vec<u8>>>,
}

impl Database for BrokenDatabase {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        let inner = self.inner.session()?;
        Ok(Box::new(BrokenSession {
            database: self,
            inner,
            mode: None,
            held_back: Vec::new(),
            commits_before: 0,
            looked: BTreeMap::new(),
            got: BTreeSet::new(),
        }))
    }

    fn counters(&self) -> Result<BTreeMap<String, Value>> {
        self.inner.counters()
    }

    fn settings(&self) -> Result<BTreeMap<String, Value>> {
        self.inner.settings()
    }

    fn checkpoint(&self) -> Result<()> {
        match self.fault {
            EngineFault::CheckpointFails => Err(Error::engine("no checkpoint")),
            _ => self.inner.checkpoint(),
        }
    }
}

struct BrokenSession<'a> {
    database: &'a BrokenDatabase,
    inner: Box<dyn Session + 'a>,
    mode: Option<Mode>,
    /// Puts that reach the database at the commit only.
    held_back: Vec<(Vec<u8>, Vec<u8>)>,
    /// The database's commits when the transaction began.
    commits_before: u64,
    /// The value of each key at its first look-up.
    looked: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    /// The keys that its transaction has looked up.
    got: BTreeSet<Vec<u8>>,
}

impl BrokenSession<'_> {
    fn is(&self, fault: EngineFault) -> bool {
        self.database.fault == fault
    }

    /// Whether its puts are held back, while the transaction reads an old state.
    fn holds_back(&self) -> bool {
        matches!(
            self.database.fault,
            EngineFault::LosesUpdates | EngineFault::ConflictIsFailure
        )
    }

    /// Writes what was held back over what is there now.
    fn write_held_back(&mut self) -> Result<()> {
        self.inner.commit()?;
        self.inner.begin(Mode::Write)?;
        let commits = self.database.commits.fetch_add(1, Ordering::Relaxed);
        if self.is(EngineFault::ConflictIsFailure) && commits != self.commits_before {
            self.inner.abort()?;
            return Err(Error::engine("write conflict"));
        }
        for (key, value) in std::mem::take(&mut self.held_back) {
            self.inner.put(&key, &value)?;
        }
        Ok(())
    }

    /// Whether it reads while another one does.
    fn is_among_readers(&self) -> bool {
        let readers = self.database.readers.load(Ordering::SeqCst);
        self.mode == Some(Mode::Read) && readers > 1
    }

    /// Forgets the transaction; returns its mode.
    fn end(&mut self) -> Option<Mode> {
        let mode = self.mode.take();
        if mode == Some(Mode::Read) {
            self.database.readers.fetch_sub(1, Ordering::SeqCst);
        }
        mode
    }

    /// Commits what there is and goes on in a new transaction.
    fn renew(&mut self, mode: Mode) -> Result<()> {
        self.inner.commit()?;
        self.inner.begin(mode)
    }

    /// A session that sees what is committed now.
    fn committed(&self) -> Result<Box<dyn Session + '_>> {
        let mut session = self.database.inner.session()?;
        session.begin(Mode::Read)?;
        Ok(session)
    }
}

impl Session for BrokenSession<'_> {
    fn begin(&mut self, mode: Mode) -> Result<()> {
        if self.is(EngineFault::BeginsTwice) && self.mode.is_some() {
            return Ok(());
        }
        let instead = match self.database.fault {
            EngineFault::WritesInReadTransactions => Mode::Write,
            EngineFault::LosesUpdates | EngineFault::ConflictIsFailure => Mode::Read,
            _ => mode,
        };
        self.inner.begin(instead)?;
        self.mode = Some(mode);
        if mode == Mode::Read {
            self.database.readers.fetch_add(1, Ordering::SeqCst);
        }
        self.commits_before = self.database.commits.load(Ordering::Relaxed);
        self.got.clear();
        Ok(())
    }

    fn get(&mut self, key: &[u8], visitor: &mut ValueVisitor<'_>) -> Result<bool> {
        let open = self.mode.is_some();
        match self.database.fault {
            EngineFault::MisuseIsConflict if !open => {
                return Err(Error::Conflict("busy".to_owned()));
            }
            EngineFault::ReadsLatest if self.mode == Some(Mode::Read) => self.renew(Mode::Read)?,
            EngineFault::MixesStatesAmongReaders if self.is_among_readers() => {
                self.renew(Mode::Read)?;
            }
            EngineFault::DeniesAfterGet => {
                self.got.insert(key.to_vec());
            }
            EngineFault::GetsNeighbors if open => {
                let mut shown = 0;
                let nearest = &mut |_: &[u8], value: &[u8]| {
                    shown += 1;
                    visitor(value);
                    ControlFlow::Break(())
                };
                self.inner
                    .scan(KeyRange::from(key), Direction::Forward, nearest)?;
                return Ok(shown == 1);
            }
            EngineFault::GetMissesOwnWrites if open => return self.committed()?.get(key, visitor),
            EngineFault::ReadsUncommitted if open => {
                if let Some(value) = self.database.uncommitted.lock().unwrap().get(key) {
                    visitor(value);
                    return Ok(true);
                }
            }
            _ if self.holds_back() => {
                if let Some((_, value)) = self.held_back.iter().rev().find(|(k, _)| k == key) {
                    visitor(value);
                    return Ok(true);
                }
            }
            _ => {}
        }
        self.inner.get(key, visitor)
    }

    fn get_many(&mut self, keys: &KeyBatch, visitor: &mut BatchVisitor<'_>) -> Result<u64> {
        match self.database.fault {
            EngineFault::BatchMissesOwnWrites if self.mode == Some(Mode::Write) => {
                get_each(&mut *self.committed()?, keys, visitor)
            }
            EngineFault::BatchLosesRepeatedKeys => {
                let is_first = |position: usize| {
                    let mut before = keys.keys_from(0).take(position);
                    before.all(|key| Some(key) != keys.get(position))
                };
                let mut found = 0;
                get_each(self, keys, &mut |position, value| {
                    if is_first(position) {
                        found += 1;
                        visitor(position, value);
                    }
                })?;
                Ok(found)
            }
            EngineFault::BatchShiftsPositions => get_each(self, keys, &mut |position, value| {
                visitor(position.saturating_sub(1), value);
            }),
            EngineFault::BatchMiscounts => {
                let found = get_each(self, keys, visitor)?;
                Ok(found + u64::from(found > 0))
            }
            _ => get_each(self, keys, visitor),
        }
    }

    fn point_read(&mut self, key: &[u8], visitor: &mut ValueVisitor<'_>) -> Result<bool> {
        self.begin(Mode::Read)?;
        let mut found = None;
        let read = self.get(key, &mut |value| found = Some(value.to_vec()));
        if let Err(error) = read {
            self.abort()?;
            return Err(error);
        }
        self.commit()?;
        if self.is(EngineFault::LooksAtOldState) {
            found = self.looked.entry(key.to_vec()).or_insert(found).clone();
        }
        found.iter().for_each(|value| visitor(value));
        Ok(found.is_some())
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let number = self.database.puts.fetch_add(1, Ordering::Relaxed) + 1;
        match self.database.fault {
            EngineFault::LosesPuts if number.is_multiple_of(17) => return Ok(()),
            EngineFault::KeepsFirstPut if self.inner.get(key, &mut |_| ())? => return Ok(()),
            EngineFault::DropsEmptyKeys if key.is_empty() => return Ok(()),
            EngineFault::DropsEmptyValues if value.is_empty() => return self.inner.delete(key),
            EngineFault::CutsLongKeys => {
                return self.inner.put(&key[..key.len().min(1_000)], value);
            }
            EngineFault::CutsLongValues => {
                return self.inner.put(key, &value[..value.len().min(65_536)]);
            }
            EngineFault::SplitsTransactions if number.is_multiple_of(1_000) => {
                self.renew(Mode::Write)?;
            }
            _ if self.holds_back() && self.mode == Some(Mode::Write) => {
                self.held_back.push((key.to_vec(), value.to_vec()));
                return Ok(());
            }
            EngineFault::ReadsUncommitted if self.mode == Some(Mode::Write) => {
                let mut uncommitted = self.database.uncommitted.lock().unwrap();
                uncommitted.insert(key.to_vec(), value.to_vec());
            }
            _ => {}
        }
        self.inner.put(key, value)
    }

    fn put_if_absent(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        if self.is(EngineFault::DeniesAfterGet) && self.got.contains(key) {
            return Ok(false);
        }
        let is_absent = match self.database.fault {
            EngineFault::ConditionMissesOwnWrites => !self.committed()?.get(key, &mut |_| ())?,
            EngineFault::DeniesAfterGet => !self.inner.get(key, &mut |_| ())?,
            _ => !self.get(key, &mut |_| ())?,
        };
        match self.database.fault {
            EngineFault::PutsInAnyCase => self.put(key, value).map(|()| true),
            EngineFault::DeniesConditionalPuts if is_absent => self.put(key, value).map(|()| false),
            EngineFault::OverwritesAndDenies => self.put(key, value).map(|()| is_absent),
            _ if is_absent => self.put(key, value).map(|()| true),
            _ => Ok(false),
        }
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        let writes = self.mode == Some(Mode::Write);
        match self.database.fault {
            EngineFault::Panics => panic!("the engine fell over"),
            EngineFault::IgnoresDeletes if writes => return Ok(()),
            EngineFault::RefusesMissingDeletes
                if writes && !self.inner.get(key, &mut |_| ())? =>
            {
                return Err(Error::engine("no such key"));
            }
            _ => {}
        }
        self.inner.delete(key)
    }

    fn scan(
        &mut self,
        mut range: KeyRange<'_>,
        direction: Direction,
        visitor: &mut RecordVisitor<'_>,
    ) -> Result<u64> {
        let mut records = Vec::new();
        match (self.database.fault, range.upper) {
            (EngineFault::BackwardScanIncludesUpperBound, Bound::Excluded(high))
                if direction == Direction::Backward =>
            {
                range.upper = Bound::Included(high);
            }
            _ => {}
        }
        let mut collect = |key: &[u8], value: &[u8]| {
            records.push((key.to_vec(), value.to_vec()));
            ControlFlow::Continue(())
        };
        if self.is(EngineFault::ScanMissesOwnWrites) && self.mode.is_some() {
            self.committed()?.scan(range, direction, &mut collect)?;
        } else {
            self.inner.scan(range, direction, &mut collect)?;
        }
        match self.database.fault {
            EngineFault::ScansOutOfOrder if records.len() > 2 => records.swap(1, 2),
            EngineFault::ScansInSignedOrder => {
                records.sort_by_key(|(key, _)| key.iter().map(|&b| b as i8).collect::<Vec<_>>());
                if direction == Direction::Backward {
                    records.reverse();
                }
            }
            _ => {}
        }
        let mut shown = u64::from(self.is(EngineFault::ScanMiscounts));
        for (key, value) in &records {
            shown += 1;
            if visitor(key, value).is_break() && !self.is(EngineFault::ScanIgnoresBreak) {
                break;
            }
        }
        Ok(shown)
    }

    fn bulk_load(&mut self, records: &mut dyn RecordSource) -> Result<bool> {
        self.begin(Mode::Write)?;
        let mut loses = self.is(EngineFault::LoaderLosesRecords);
        while let Some((key, value)) = records.next_record() {
            if std::mem::take(&mut loses) {
                continue;
            }
            match self.put(key, value) {
                Err(_) if self.is(EngineFault::LoaderSkipsRefused) => {}
                Err(error) => {
                    if !self.is(EngineFault::LoaderStaysOpen) {
                        self.abort()?;
                    }
                    return Err(error);
                }
                Ok(()) => {}
            }
        }
        self.commit()?;
        Ok(!self.is(EngineFault::LoaderDenies))
    }

    fn commit(&mut self) -> Result<()> {
        self.database.uncommitted.lock().unwrap().clear();
        let mode = self.end();
        if self.is(EngineFault::AlwaysConflicts) && mode == Some(Mode::Write) {
            self.inner.abort()?;
            return Err(Error::Conflict("busy".to_owned()));
        }
        if self.holds_back() && mode == Some(Mode::Write) {
            self.write_held_back()?;
        }
        self.inner.commit()
    }

    fn abort(&mut self) -> Result<()> {
        self.database.uncommitted.lock().unwrap().clear();
        self.end();
        self.held_back.clear();
        if self.is(EngineFault::AbortCommits) {
            self.inner.commit()
        } else {
            self.inner.abort()
        }
    }
}

impl Drop for BrokenSession<'_> {
    fn drop(&mut self) {
        if self.end().is_some() && self.is(EngineFault::DropCommits) {
            self.inner.commit().unwrap();
        }
    }
}
