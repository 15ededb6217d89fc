//! A session. Its transactions are done at commit: a process of GT.M has one transaction at a time,
//! which must not outlast a call, so writes wait in the session, and at commit one transaction of
//! GT.M's compares what was read and writes them.

use super::process::{DatabaseId, Process, ProcessGuard, subscript};
use super::scan::{PageReader, ScanStep};
use super::transaction_log::{LogOperation, TransactionLog};
use super::{MAX_KEY_BYTES, MAX_VALUE_BYTES};
use crate::lsm::Overlay;
use std::cmp::Ordering;
use std::ops::ControlFlow;
use trueput_engine::common_errors::{self, LengthLimits};
use trueput_engine::{
    Direction, Error, KeyRange, Mode, RecordVisitor, Result, Session, ValueVisitor,
};

const LIMITS: LengthLimits = LengthLimits::new(MAX_KEY_BYTES, MAX_VALUE_BYTES);

pub(super) struct GtmSession {
    process: &'static Process,
    database: DatabaseId,
    durable: bool,
    mode: Option<Mode>,
    own: OpenTransaction,
    pages: PageReader,
    /// The subscript under construction.
    subscript: Vec<u8>,
}

/// The reads and writes of the open transaction.
#[derive(Default)]
struct OpenTransaction {
    writes: Overlay,
    count: usize,
    reads: TransactionLog,
}

impl GtmSession {
    pub(super) fn new(process: &'static Process, database: DatabaseId, durable: bool) -> Self {
        Self {
            process,
            database,
            durable,
            mode: None,
            own: OpenTransaction::default(),
            pages: PageReader::default(),
            subscript: Vec::new(),
        }
    }

    fn guard(&self) -> Result<ProcessGuard<'static>> {
        self.process.guard(self.database)
    }

    fn write(&mut self, key: &[u8], value: Option<&[u8]>) -> Result<()> {
        common_errors::require_write(self.mode)?;
        LIMITS.check(key, value.unwrap_or_default())?;
        self.own.writes.write(key, value);
        self.own.count += 1;
        Ok(())
    }

    /// Does the open transaction's work in GT.M.
    fn apply(&mut self) -> Result<()> {
        if self.own.count == 0 && self.own.reads.is_empty() {
            return Ok(());
        }
        let mut guard = self.process.guard(self.database)?;
        let OpenTransaction {
            writes,
            count,
            reads: script,
        } = &mut self.own;
        let mut writes = writes.range(&KeyRange::ALL, Direction::Forward);
        if *count == 1
            && script.is_empty()
            && !self.durable
            && let Some((key, value)) = writes.next()
        {
            let key = subscript(&mut self.subscript, key);
            return match value {
                Some(value) => guard.put(key, value),
                None => guard.delete(key),
            };
        }
        for (key, value) in writes {
            let op = if value.is_some() {
                LogOperation::Put
            } else {
                LogOperation::Delete
            };
            let key = subscript(&mut self.subscript, key);
            script.add(op, key, value.unwrap_or_default());
        }
        if script.commit(&mut guard, self.durable)? {
            Ok(())
        } else {
            let text = "what the transaction read has changed";
            Err(Error::Conflict(text.to_owned()))
        }
    }

    fn end(&mut self) -> Result<Mode> {
        self.mode.take().ok_or_else(common_errors::no_transaction)
    }

    fn forget(&mut self) {
        if self.own.count > 0 {
            self.own.writes = Overlay::default();
            self.own.count = 0;
        }
        self.own.reads.clear();
    }
}

impl OpenTransaction {
    /// Notes that the key of a subscript has this value, or is not there.
    fn note(&mut self, subscript: &[u8], value: Option<&[u8]>) {
        match value {
            Some(value) => self.reads.add(LogOperation::Value, subscript, value),
            None => self.reads.add(LogOperation::Absent, subscript, b""),
        }
    }

    /// Notes a step of a scan.
    fn note_step(&mut self, step: &ScanStep<'_>, direction: Direction) {
        let onward = match direction {
            Direction::Forward => LogOperation::Next,
            Direction::Backward => LogOperation::Previous,
        };
        match *step {
            ScanStep::Absent { subscript } => self.note(subscript, None),
            ScanStep::End { after } => self.reads.add(onward, after, b""),
            ScanStep::Beyond { after, subscript } => self.reads.add(onward, after, subscript),
            ScanStep::Record {
                after,
                subscript,
                value,
            } => {
                if let Some(after) = after {
                    self.reads.add(onward, after, subscript);
                }
                self.note(subscript, Some(value));
            }
        }
    }
}

impl Session for GtmSession {
    fn begin(&mut self, mode: Mode) -> Result<()> {
        common_errors::require_closed(self.mode)?;
        self.mode = Some(mode);
        Ok(())
    }

    #[inline]
    fn get(&mut self, key: &[u8], visitor: &mut ValueVisitor<'_>) -> Result<bool> {
        let mode = common_errors::require_open(self.mode)?;
        if self.own.count > 0
            && let Some(own) = self.own.writes.get(key)
        {
            own.into_iter().for_each(visitor);
            return Ok(own.is_some());
        }
        if key.len() > MAX_KEY_BYTES {
            return Ok(false);
        }
        let mut guard = self.guard()?;
        let subscript = subscript(&mut self.subscript, key);
        let value = guard.get(subscript)?;
        if mode == Mode::Write {
            self.own.note(subscript, value);
        }
        value.into_iter().for_each(visitor);
        Ok(value.is_some())
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.write(key, Some(value))
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.write(key, None)
    }

    fn scan(
        &mut self,
        range: KeyRange<'_>,
        direction: Direction,
        visitor: &mut RecordVisitor<'_>,
    ) -> Result<u64> {
        let mode = common_errors::require_open(self.mode)?;
        if range.is_empty() {
            return Ok(0);
        }
        let guard = || self.process.guard(self.database);
        self.pages.begin(range, direction);
        let mut shown = 0;
        let mut show = |key: &[u8], value: &[u8]| {
            shown += 1;
            visitor(key, value)
        };
        // The own writes are set aside, so that reads can be recorded during the scan.
        let writes = std::mem::take(&mut self.own.writes);
        let mut own = writes.range(&range, direction).peekable();
        let mut note = |step: &ScanStep<'_>| {
            if mode == Mode::Write {
                self.own.note_step(step, direction);
            }
        };
        let walked = self.pages.walk(guard, &mut note, &mut |stored| {
            // Own writes that precede or replace stored records.
            while let Some((key, value)) = own.peek().copied() {
                let order = stored.map_or(Ordering::Less, |(other, _)| match direction {
                    Direction::Forward => key.cmp(other),
                    Direction::Backward => other.cmp(key),
                });
                if order == Ordering::Greater {
                    break;
                }
                own.next();
                if let Some(value) = value {
                    show(key, value)?;
                }
                if order == Ordering::Equal {
                    return ControlFlow::Continue(());
                }
            }
            stored.map_or(ControlFlow::Continue(()), |(key, value)| show(key, value))
        });
        drop(own);
        self.own.writes = writes;
        walked.map(|()| shown)
    }

    fn commit(&mut self) -> Result<()> {
        let done = match self.end()? {
            Mode::Read => return Ok(()),
            Mode::Write => self.apply(),
        };
        self.forget();
        done
    }

    fn abort(&mut self) -> Result<()> {
        self.end()?;
        self.forget();
        Ok(())
    }
}
