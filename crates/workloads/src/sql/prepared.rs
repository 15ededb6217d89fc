//! Statements that are prepared when a session first uses them, and found again without hashing.

use super::dialect::DialectSyntax;
use super::session_sql;
use std::marker::PhantomData;
use trueput_engine::sql::Statement;
use trueput_engine::{Result, Session};

/// What a statement does, and to which table.
pub(crate) trait StatementKey: Copy {
    /// A number that no other key has. Room is kept for all numbers below the largest in use.
    fn index(self) -> usize;
}

/// The statements of one session, by their keys and sizes. The size is the number of rows or values
/// that a text is written for; 0 if the key alone decides on the text.
pub(crate) struct PreparedStatements<K> {
    syntax: &'static DialectSyntax,
    /// Of each key the sizes in use, mostly one.
    of_keys: Vec<Vec<(usize, Statement)>>,
    keys: PhantomData<K>,
}

impl<K: StatementKey> PreparedStatements<K> {
    /// None yet.
    pub(crate) const fn new(syntax: &'static DialectSyntax) -> Self {
        Self {
            syntax,
            of_keys: Vec::new(),
            keys: PhantomData,
        }
    }

    /// The statement of a key and a size; `text` writes it, with `?` for parameters, when it is
    /// first used.
    ///
    /// # Errors
    /// Those of the engine that prepares it.
    #[inline]
    pub(crate) fn get(
        &mut self,
        session: &mut dyn Session,
        key: K,
        size: usize,
        text: impl FnOnce(&DialectSyntax) -> String,
    ) -> Result<Statement> {
        let index = key.index();
        let sizes = self.of_keys.get(index).map(Vec::as_slice);
        let mut sizes = sizes.unwrap_or_default().iter();
        if let Some((_, statement)) = sizes.find(|(of, _)| *of == size) {
            return Ok(*statement);
        }
        self.prepare(session, (index, size), &text(self.syntax))
    }

    #[cold]
    fn prepare(
        &mut self,
        session: &mut dyn Session,
        (index, size): (usize, usize),
        text: &str,
    ) -> Result<Statement> {
        let written = self.syntax.parameters(text);
        let statement = session_sql(session)?.prepare(&written)?;
        if self.of_keys.len() <= index {
            self.of_keys.resize_with(index + 1, Vec::new);
        }
        self.of_keys[index].push((size, statement));
        Ok(statement)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::dialect::syntax;
    use trueput_engine::sql::RowVisitor;
    use trueput_engine::{
        Datum, Dialect, Direction, KeyRange, Mode, RecordVisitor, Sql, ValueVisitor,
    };

    /// Keeps the texts that it is to prepare.
    #[derive(Default)]
    struct Preparer {
        texts: Vec<String>,
    }

    impl Sql for Preparer {
        fn dialect(&self) -> Dialect {
            Dialect::Postgresql
        }

        fn batch(&mut self, _: &str) -> Result<()> {
            Ok(())
        }

        fn prepare(&mut self, statement: &str) -> Result<Statement> {
            self.texts.push(statement.to_owned());
            Ok(Statement(self.texts.len() - 1))
        }

        fn execute(&mut self, _: Statement, _: &[Datum<'_>]) -> Result<u64> {
            Ok(0)
        }

        fn query(&mut self, _: Statement, _: &[Datum<'_>], _: &mut RowVisitor<'_>) -> Result<u64> {
            Ok(0)
        }
    }

    impl Session for Preparer {
        fn begin(&mut self, _: Mode) -> Result<()> {
            Ok(())
        }

        fn get(&mut self, _: &[u8], _: &mut ValueVisitor<'_>) -> Result<bool> {
            Ok(false)
        }

        fn put(&mut self, _: &[u8], _: &[u8]) -> Result<()> {
            Ok(())
        }

        fn delete(&mut self, _: &[u8]) -> Result<()> {
            Ok(())
        }

        fn scan(
            &mut self,
            _: KeyRange<'_>,
            _: Direction,
            _: &mut RecordVisitor<'_>,
        ) -> Result<u64> {
            Ok(0)
        }

        fn commit(&mut self) -> Result<()> {
            Ok(())
        }

        fn abort(&mut self) -> Result<()> {
            Ok(())
        }

        fn sql(&mut self) -> Option<&mut dyn Sql> {
            Some(self)
        }
    }

    impl StatementKey for u8 {
        fn index(self) -> usize {
            self.into()
        }
    }

    #[test]
    fn each_key_and_size_is_prepared_once_in_the_dialects_syntax() {
        let mut session = Preparer::default();
        let mut statements = PreparedStatements::<u8>::new(syntax(Dialect::Postgresql));
        let uses = [(7, 1), (0, 0), (7, 2), (7, 1), (0, 0), (3, 0), (7, 2)];
        let found = uses.map(|(key, size)| {
            let text = |_: &DialectSyntax| format!("{key} {size} ?");
            statements.get(&mut session, key, size, text).unwrap().0
        });
        assert_eq!(found, [0, 1, 2, 0, 1, 3, 2]);
        assert_eq!(session.texts, ["7 1 $1", "0 0 $1", "7 2 $1", "3 0 $1"]);
    }
}
