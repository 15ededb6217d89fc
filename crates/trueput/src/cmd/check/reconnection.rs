//! A session that is opened again after its connection was lost.

use trueput_engine::{
    BatchVisitor, Database, Direction, Error, KeyBatch, KeyRange, Mode, RecordVisitor, Result,
    Session, ValueVisitor,
};

/// A session of a database whose server may fail. A lost connection is reported to the caller, who
/// begins again.
pub struct ReconnectingSession<'a> {
    database: &'a dyn Database,
    session: Option<Box<dyn Session + 'a>>,
}

impl<'a> ReconnectingSession<'a> {
    /// Creates a session that is opened at the first transaction.
    pub fn new(database: &'a dyn Database) -> Self {
        Self {
            database,
            session: None,
        }
    }

    fn pass<T>(&mut self, call: impl FnOnce(&mut dyn Session) -> Result<T>) -> Result<T> {
        let lost = || Error::Disconnected("the connection is lost".to_owned());
        let called = call(&mut **self.session.as_mut().ok_or_else(lost)?);
        if called.as_ref().is_err_and(Error::is_disconnection) {
            self.session = None;
        }
        called
    }
}

impl Session for ReconnectingSession<'_> {
    fn begin(&mut self, mode: Mode) -> Result<()> {
        if self.session.is_none() {
            self.session = Some(self.database.session()?);
        }
        self.pass(|session| session.begin(mode))
    }

    fn get(&mut self, key: &[u8], visitor: &mut ValueVisitor<'_>) -> Result<bool> {
        self.pass(|session| session.get(key, visitor))
    }

    fn get_many(&mut self, keys: &KeyBatch, visitor: &mut BatchVisitor<'_>) -> Result<u64> {
        self.pass(|session| session.get_many(keys, visitor))
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.pass(|session| session.put(key, value))
    }

    fn put_if_absent(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        self.pass(|session| session.put_if_absent(key, value))
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.pass(|session| session.delete(key))
    }

    fn scan(
        &mut self,
        range: KeyRange<'_>,
        direction: Direction,
        visitor: &mut RecordVisitor<'_>,
    ) -> Result<u64> {
        self.pass(|session| session.scan(range, direction, visitor))
    }

    fn commit(&mut self) -> Result<()> {
        self.pass(|session| session.commit())
    }

    fn abort(&mut self) -> Result<()> {
        self.pass(|session| session.abort())
    }
}
