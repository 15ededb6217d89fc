//! A session that records the statements that it gets, in another dialect if wanted, and loses one
//! of them if wanted.

use trueput_engine::sql::{RowVisitor, Statement};
use trueput_engine::{
    Datum, Dialect, Direction, KeyRange, Mode, RecordVisitor, Result, Session, Sql, ValueVisitor,
};

/// What the log has where a transaction begins, and where one is committed.
pub const BEGIN: &str = "BEGIN";
pub const COMMIT: &str = "COMMIT";

/// A session of an engine with SQL.
pub struct StatementSession<'d> {
    inner: Box<dyn Session + 'd>,
    dialect: Dialect,
    /// Makes the statement that its engine prepares of one that it gets.
    translate: fn(&str) -> String,
    /// How the text of a statement begins, and which execution of such a statement, from 0, is
    /// acknowledged and lost.
    lost: Option<(&'static str, u64)>,
    executions: u64,
    prepared: Vec<(Statement, String)>,
    /// The texts of what was executed, with the begin and the end of transactions.
    pub sent: Vec<String>,
    /// The texts of what was executed without being prepared.
    pub batches: Vec<String>,
}

impl<'d> StatementSession<'d> {
    pub fn new(mut inner: Box<dyn Session + 'd>) -> Self {
        let dialect = inner.sql().unwrap().dialect();
        Self {
            inner,
            dialect,
            translate: str::to_owned,
            lost: None,
            executions: 0,
            prepared: Vec::new(),
            sent: Vec::new(),
            batches: Vec::new(),
        }
    }

    /// The same, in another dialect than its engine's.
    pub fn speaking(self, dialect: Dialect) -> Self {
        Self { dialect, ..self }
    }

    /// The same, whose engine prepares what `translate` makes of a statement.
    pub fn translating(self, translate: fn(&str) -> String) -> Self {
        Self { translate, ..self }
    }

    /// The same, losing an execution of a statement that begins so.
    pub fn losing(self, start: &'static str, execution: u64) -> Self {
        Self {
            lost: Some((start, execution)),
            ..self
        }
    }

    fn note(&mut self, statement: Statement) -> &str {
        let known = self.prepared.iter().find(|(known, _)| *known == statement);
        self.sent.push(known.unwrap().1.clone());
        self.sent.last().unwrap()
    }

    /// Whether the statement with this text is the one to be lost.
    fn is_lost(&mut self, statement: Statement) -> bool {
        let Some((start, execution)) = self.lost else {
            self.note(statement);
            return false;
        };
        if !self.note(statement).starts_with(start) {
            return false;
        }
        self.executions += 1;
        self.executions == execution + 1
    }
}

impl Sql for StatementSession<'_> {
    fn dialect(&self) -> Dialect {
        self.dialect
    }

    fn batch(&mut self, statements: &str) -> Result<()> {
        self.batches.push(statements.to_owned());
        self.inner.sql().unwrap().batch(statements)
    }

    fn prepare(&mut self, text: &str) -> Result<Statement> {
        let translated = (self.translate)(text);
        let statement = self.inner.sql().unwrap().prepare(&translated)?;
        self.prepared.push((statement, text.to_owned()));
        Ok(statement)
    }

    fn execute(&mut self, statement: Statement, parameters: &[Datum<'_>]) -> Result<u64> {
        if self.is_lost(statement) {
            return Ok(1);
        }
        self.inner.sql().unwrap().execute(statement, parameters)
    }

    fn query(
        &mut self,
        statement: Statement,
        parameters: &[Datum<'_>],
        visitor: &mut RowVisitor<'_>,
    ) -> Result<u64> {
        self.note(statement);
        let sql = self.inner.sql().unwrap();
        sql.query(statement, parameters, visitor)
    }
}

impl Session for StatementSession<'_> {
    fn begin(&mut self, mode: Mode) -> Result<()> {
        self.sent.push(BEGIN.to_owned());
        self.inner.begin(mode)
    }

    fn get(&mut self, key: &[u8], visitor: &mut ValueVisitor<'_>) -> Result<bool> {
        self.inner.get(key, visitor)
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.inner.put(key, value)
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.inner.delete(key)
    }

    fn scan(
        &mut self,
        range: KeyRange<'_>,
        direction: Direction,
        visitor: &mut RecordVisitor<'_>,
    ) -> Result<u64> {
        self.inner.scan(range, direction, visitor)
    }

    fn commit(&mut self) -> Result<()> {
        self.sent.push(COMMIT.to_owned());
        self.inner.commit()
    }

    fn abort(&mut self) -> Result<()> {
        self.inner.abort()
    }

    fn sql(&mut self) -> Option<&mut dyn Sql> {
        Some(self)
    }
}
