//! Engines that are weak in one way each, for the anomaly suite: an ordered map in memory whose
//! transactions are kept apart by less and less.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard};
use trueput_engine::reference::Reference;
use trueput_engine::{
    Build, Capabilities, Database, Direction, Durability, Engine, Error, Info, Isolation, KeyRange,
    Mode, OpenSpec, Parameter, ParameterValues, Promise, RecordVisitor, Result, Session, Value,
    ValueVisitor,
};

/// The isolation that is missing between transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weakness {
    /// Puts go into the one map there is, for all to see; an abort puts back what was there.
    WritesInPlace,
    /// The same, but a record that another one has written is refused.
    ReadsUncommitted,
    /// Puts wait for the commit; reads see what is committed.
    ReadsCommitted,
    /// Reads see the state of the beginning; commits overwrite.
    OverwritesSnapshot,
    /// Reads see the state of the beginning; of two that write a record the second is refused.
    ChecksWrites,
    /// The same of two that write a record of one page.
    ChecksPages,
    /// Reads see what is committed; records that have changed since refuse the commit.
    ChecksRecords,
    /// The same for ranges that were scanned and keys that were missing.
    ChecksRanges,
}

/// An engine with a weakness, and what it states.
pub struct Weak(pub Weakness, pub Option<Isolation>);

impl Engine for Weak {
    fn info(&self) -> Info {
        Info {
            name: "weak",
            ..Reference.info()
        }
    }

    fn build(&self) -> Result<Build> {
        Reference.build()
    }

    fn capabilities(&self) -> Capabilities {
        Reference.capabilities()
    }

    fn promise_with(&self, durability: Durability, knobs: &ParameterValues) -> Result<Promise> {
        Reference.promise_with(durability, knobs)
    }

    fn isolation(&self, _: &ParameterValues) -> Option<Isolation> {
        self.1
    }

    fn knobs(&self) -> &'static [Parameter] {
        &[]
    }

    fn open(&self, _: &OpenSpec<'_>) -> Result<Box<dyn Database>> {
        Ok(Box::new(SharedStore {
            weakness: self.0,
            records: Mutex::default(),
        }))
    }
}

type Records = BTreeMap<Vec<u8>, Vec<u8>>;

#[derive(Default)]
struct State {
    current: Arc<Records>,
    /// By whom a record was written that has not ended, where that is refused.
    writers: BTreeMap<Vec<u8>, u64>,
    begun: u64,
}

struct SharedStore {
    weakness: Weakness,
    records: Mutex<State>,
}

impl SharedStore {
    fn state(&self) -> MutexGuard<'_, State> {
        self.records.lock().unwrap()
    }
}

impl Database for SharedStore {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(WeakSession {
            shared: self,
            open: None,
        }))
    }

    fn counters(&self) -> Result<BTreeMap<String, Value>> {
        Ok(BTreeMap::new())
    }

    fn settings(&self) -> Result<BTreeMap<String, Value>> {
        Ok(BTreeMap::new())
    }

    fn checkpoint(&self) -> Result<()> {
        Ok(())
    }
}

struct Transaction {
    number: u64,
    mode: Mode,
    /// The state of the beginning.
    began_with: Arc<Records>,
    /// The value before each put, or the value to be put.
    puts: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    /// The records that were read by key or in a scan; `None`: the key was missing.
    reads: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    /// The ranges that were scanned, with the records found.
    scans: Vec<([Bound<Vec<u8>>; 2], Records)>,
}

struct WeakSession<'a> {
    shared: &'a SharedStore,
    open: Option<Transaction>,
}

fn range(records: &Records, ends: &[Bound<Vec<u8>>; 2]) -> Records {
    let [lower, upper] = ends.clone();
    let found = records.range((lower, upper));
    found.map(|(k, v)| (k.clone(), v.clone())).collect()
}

/// A key's page: the records around it.
fn page(records: &Records, key: &[u8]) -> [Bound<Vec<u8>>; 2] {
    const EACH_SIDE: usize = 10;
    let end = |(key, _): (&Vec<u8>, _)| Bound::Excluded(key.clone());
    let below = records.range(..key.to_vec()).rev().nth(EACH_SIDE);
    let above = records.range(key.to_vec()..).nth(EACH_SIDE);
    [below, above].map(|record| record.map_or(Bound::Unbounded, end))
}

impl WeakSession<'_> {
    fn is_in_place(&self) -> bool {
        let weakness = self.shared.weakness;
        matches!(
            weakness,
            Weakness::WritesInPlace | Weakness::ReadsUncommitted
        )
    }

    /// The records that a transaction sees, its own puts included.
    fn view(&mut self) -> Records {
        let keeps_snapshot = matches!(
            self.shared.weakness,
            Weakness::OverwritesSnapshot | Weakness::ChecksWrites | Weakness::ChecksPages
        );
        let in_place = self.is_in_place();
        let open = self.open.as_mut().unwrap();
        let mut records = if keeps_snapshot {
            (*open.began_with).clone()
        } else {
            (*self.shared.state().current).clone()
        };
        if !in_place {
            for (key, value) in &open.puts {
                records.insert(key.clone(), value.clone().unwrap());
            }
        }
        records
    }

    /// Whether the commit is refused because of the commits of others.
    fn conflict(&self, open: &Transaction, current: &Records) -> bool {
        let changed = |key: &Vec<u8>, before: Option<&Vec<u8>>| current.get(key) != before;
        match self.shared.weakness {
            Weakness::ChecksWrites => {
                let mut keys = open.puts.keys();
                keys.any(|key| changed(key, open.began_with.get(key)))
            }
            Weakness::ChecksPages => {
                let before = &open.began_with;
                let mut pages = open.puts.keys().map(|key| page(before, key));
                pages.any(|page| range(current, &page) != range(before, &page))
            }
            Weakness::ChecksRecords => {
                let mut there = open.reads.iter().filter(|(_, seen)| seen.is_some());
                there.any(|(key, seen)| changed(key, seen.as_ref()))
            }
            Weakness::ChecksRanges => {
                let mut reads = open.reads.iter();
                let mut scans = open.scans.iter();
                reads.any(|(key, seen)| changed(key, seen.as_ref()))
                    || scans.any(|(ends, found)| range(current, ends) != *found)
            }
            _ => false,
        }
    }
}

impl Session for WeakSession<'_> {
    fn begin(&mut self, mode: Mode) -> Result<()> {
        let mut state = self.shared.state();
        state.begun += 1;
        self.open = Some(Transaction {
            number: state.begun,
            mode,
            began_with: Arc::clone(&state.current),
            puts: BTreeMap::new(),
            reads: Vec::new(),
            scans: Vec::new(),
        });
        Ok(())
    }

    fn get(&mut self, key: &[u8], visitor: &mut ValueVisitor<'_>) -> Result<bool> {
        let found = self.view().remove(key);
        let open = self.open.as_mut().unwrap();
        if !open.puts.contains_key(key) {
            open.reads.push((key.to_vec(), found.clone()));
        }
        if let Some(value) = &found {
            visitor(value);
        }
        Ok(found.is_some())
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let (weakness, in_place) = (self.shared.weakness, self.is_in_place());
        let open = self.open.as_mut().unwrap();
        assert_eq!(open.mode, Mode::Write);
        if !in_place {
            open.puts.insert(key.to_vec(), Some(value.to_vec()));
            return Ok(());
        }
        let mut state = self.shared.state();
        let writer = *state.writers.entry(key.to_vec()).or_insert(open.number);
        if weakness == Weakness::ReadsUncommitted && writer != open.number {
            return Err(Error::Conflict("written by another".to_owned()));
        }
        let before = Arc::make_mut(&mut state.current).insert(key.to_vec(), value.to_vec());
        open.puts.entry(key.to_vec()).or_insert(before);
        Ok(())
    }

    fn delete(&mut self, _: &[u8]) -> Result<()> {
        Err(Error::Unsupported("no deletes".to_owned()))
    }

    fn scan(
        &mut self,
        wanted: KeyRange<'_>,
        direction: Direction,
        visitor: &mut RecordVisitor<'_>,
    ) -> Result<u64> {
        assert_eq!(direction, Direction::Forward);
        let ends = [wanted.lower, wanted.upper].map(|end| end.map(<[u8]>::to_vec));
        let found = range(&self.view(), &ends);
        let open = self.open.as_mut().unwrap();
        if open.puts.is_empty() {
            let read = |(key, value): (&Vec<u8>, &Vec<u8>)| (key.clone(), Some(value.clone()));
            open.reads.extend(found.iter().map(read));
            open.scans.push((ends, found.clone()));
        }
        let mut shown = 0;
        for (key, value) in &found {
            shown += 1;
            if visitor(key, value).is_break() {
                break;
            }
        }
        Ok(shown)
    }

    fn commit(&mut self) -> Result<()> {
        let open = self.open.take().unwrap();
        let mut state = self.shared.state();
        state.writers.retain(|_, writer| *writer != open.number);
        if self.is_in_place() {
            return Ok(());
        }
        if self.conflict(&open, &state.current) {
            return Err(Error::Conflict("changed".to_owned()));
        }
        let records = Arc::make_mut(&mut state.current);
        for (key, value) in open.puts {
            records.insert(key, value.unwrap());
        }
        Ok(())
    }

    fn abort(&mut self) -> Result<()> {
        let open = self.open.take().unwrap();
        let mut state = self.shared.state();
        state.writers.retain(|_, writer| *writer != open.number);
        if self.is_in_place() {
            let records = Arc::make_mut(&mut state.current);
            for (key, before) in open.puts {
                match before {
                    Some(before) => records.insert(key, before),
                    None => records.remove(&key),
                };
            }
        }
        Ok(())
    }
}
