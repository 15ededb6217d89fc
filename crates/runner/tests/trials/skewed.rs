//! An engine with write skew that says that it is serializable: each write transaction works on a
//! copy, and a commit is refused only if a record that it wrote has changed. It passes the
//! conformance suite.

use std::collections::BTreeMap;
use trueput_engine::common_errors::already_open;
use trueput_engine::reference::Reference;
use trueput_engine::{
    Build, Capabilities, Database, Direction, Durability, Engine, Error, Info, Isolation, KeyRange,
    Mode, OpenSpec, Parameter, ParameterValues, Promise, RecordVisitor, Result, Session, Value,
    ValueVisitor,
};

/// The reference engine with copies in place of its lock.
pub struct SkewedEngine {
    pub name: &'static str,
    pub stated: Isolation,
}

impl Engine for SkewedEngine {
    fn info(&self) -> Info {
        Info {
            name: self.name,
            title: self.name,
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
        Some(self.stated)
    }

    fn knobs(&self) -> &'static [Parameter] {
        &[]
    }

    fn open(&self, spec: &OpenSpec<'_>) -> Result<Box<dyn Database>> {
        Ok(Box::new(SkewedDatabase(Reference.open(spec)?)))
    }
}

struct SkewedDatabase(Box<dyn Database>);

impl Database for SkewedDatabase {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(SkewedSession {
            inner: self.0.session()?,
            open: None,
        }))
    }

    fn counters(&self) -> Result<BTreeMap<String, Value>> {
        self.0.counters()
    }

    fn settings(&self) -> Result<BTreeMap<String, Value>> {
        self.0.settings()
    }

    fn checkpoint(&self) -> Result<()> {
        self.0.checkpoint()
    }
}

type Records = BTreeMap<Vec<u8>, Vec<u8>>;

/// A write transaction: the records at its beginning, and with its writes.
struct Copies {
    before: Records,
    now: Records,
    written: Vec<Vec<u8>>,
}

struct SkewedSession<'d> {
    inner: Box<dyn Session + 'd>,
    open: Option<Copies>,
}

impl SkewedSession<'_> {
    fn records(&mut self) -> Result<Records> {
        let mut records = Records::new();
        self.inner.begin(Mode::Read)?;
        self.inner
            .scan(KeyRange::ALL, Direction::Forward, &mut |key, value| {
                records.insert(key.to_vec(), value.to_vec());
                std::ops::ControlFlow::Continue(())
            })?;
        self.inner.abort()?;
        Ok(records)
    }

    fn write_back(&mut self, copies: &Copies) -> Result<()> {
        for key in &copies.written {
            let mut current = None;
            self.inner
                .get(key, &mut |value| current = Some(value.to_vec()))?;
            if current.as_ref() != copies.before.get(key) {
                return Err(Error::Conflict("written since".to_owned()));
            }
        }
        for key in &copies.written {
            match copies.now.get(key) {
                Some(value) => self.inner.put(key, value)?,
                None => self.inner.delete(key)?,
            }
        }
        Ok(())
    }
}

impl Session for SkewedSession<'_> {
    fn begin(&mut self, mode: Mode) -> Result<()> {
        if self.open.is_some() {
            return Err(already_open());
        }
        if mode == Mode::Read {
            return self.inner.begin(mode);
        }
        let before = self.records()?;
        self.open = Some(Copies {
            now: before.clone(),
            before,
            written: Vec::new(),
        });
        Ok(())
    }

    fn get(&mut self, key: &[u8], visitor: &mut ValueVisitor<'_>) -> Result<bool> {
        let Some(copies) = &self.open else {
            return self.inner.get(key, visitor);
        };
        let found = copies.now.get(key);
        found.into_iter().for_each(|value| visitor(value));
        Ok(found.is_some())
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let Some(copies) = &mut self.open else {
            return self.inner.put(key, value);
        };
        let capabilities = Reference.capabilities();
        if key.len() > capabilities.max_key_bytes || value.len() > capabilities.max_value_bytes {
            return Err(Error::Unsupported("it is too long".to_owned()));
        }
        copies.written.push(key.to_vec());
        copies.now.insert(key.to_vec(), value.to_vec());
        Ok(())
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        let Some(copies) = &mut self.open else {
            return self.inner.delete(key);
        };
        copies.written.push(key.to_vec());
        copies.now.remove(key);
        Ok(())
    }

    fn scan(
        &mut self,
        range: KeyRange<'_>,
        direction: Direction,
        visitor: &mut RecordVisitor<'_>,
    ) -> Result<u64> {
        let Some(copies) = &self.open else {
            return self.inner.scan(range, direction, visitor);
        };
        let is_within = |key: &[u8]| range.admits_from_below(key) && range.admits_from_above(key);
        let within = copies.now.iter().filter(|(key, _)| is_within(key));
        let mut within: Vec<_> = within.collect();
        if direction == Direction::Backward {
            within.reverse();
        }
        let mut shown = 0;
        for (key, value) in within {
            shown += 1;
            if visitor(key, value).is_break() {
                break;
            }
        }
        Ok(shown)
    }

    fn commit(&mut self) -> Result<()> {
        let Some(mut copies) = self.open.take() else {
            return self.inner.commit();
        };
        copies.written.sort_unstable();
        copies.written.dedup();
        self.inner.begin(Mode::Write)?;
        let written = self.write_back(&copies);
        match written {
            Ok(()) => self.inner.commit(),
            Err(error) => {
                self.inner.abort()?;
                Err(error)
            }
        }
    }

    fn abort(&mut self) -> Result<()> {
        match self.open.take() {
            Some(_) => Ok(()),
            None => self.inner.abort(),
        }
    }
}
