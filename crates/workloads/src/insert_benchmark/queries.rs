//! The queries of a client, without pause, and their checks.

use super::connection::Connection;
use super::findings::COMPARED;
use super::index_model::IndexModel;
use super::kinds::Kind;
use super::progress::{CommittedBounds, LiveIds, TableProgress};
use super::purchase::{Index, RowMaker};
use super::step::QueryKind;
use super::tables::{IndexEntry, PointRow, QUERY_ROWS};
use crate::generate::random::Random;
use crate::keyed::read_check::{ReadCounts, ReadFault};
use crate::{Result, WorkerFindings};

/// Point queries after which the newest row is looked for, as in iibench.
const QUERIES_OF_SEARCH: u64 = 100;

/// The models of the three indexes, in the order of [`Index::ALL`].
pub(super) type IndexModels = [IndexModel; Index::ALL.len()];

/// Queries a table.
pub(super) struct Querier<'t> {
    connection: Connection<'t>,
    progress: &'t TableProgress,
    maker: RowMaker,
    random: Random,
    /// Whether queries are checked.
    verifies: bool,
    models: Option<&'t IndexModels>,
    reads: ReadCounts,
    /// Range queries that were compared with the rows that there were.
    compared: u64,
    entries: Vec<IndexEntry>,
    ids: [u64; QUERY_ROWS],
    rows: Vec<PointRow>,
    /// The id of the newest row, when it was last looked for.
    newest: u64,
}

impl<'t> Querier<'t> {
    /// Nothing queried yet. Range queries are compared with `models`.
    pub(super) fn new(
        connection: Connection<'t>,
        progress: &'t TableProgress,
        maker: RowMaker,
        random: Random,
        (verifies, models): (bool, Option<&'t IndexModels>),
    ) -> Self {
        Self {
            connection,
            progress,
            maker,
            random,
            verifies,
            models,
            reads: ReadCounts::default(),
            compared: 0,
            // A faulty engine may show more.
            entries: Vec::with_capacity(2 * QUERY_ROWS),
            ids: [0; QUERY_ROWS],
            rows: Vec::with_capacity(2 * QUERY_ROWS),
            newest: 0,
        }
    }

    /// Queries until the time is up.
    ///
    /// # Errors
    /// Errors of the engine, except conflicts.
    pub(super) fn run(mut self, kind: QueryKind) -> Result<WorkerFindings> {
        let mut queries = 0_u64;
        while self.connection.meter.next_unit() {
            match kind {
                QueryKind::Range => self.query_range()?,
                QueryKind::Point => self.query_points(queries)?,
            }
            queries += 1;
        }
        let mut findings: WorkerFindings = [(COMPARED.to_owned(), self.compared)].into();
        self.reads.write(&mut findings);
        Ok(findings)
    }

    fn query_range(&mut self) -> Result<()> {
        let place = self.random.below(Index::ALL.len() as u64) as usize;
        let index = Index::ALL[place];
        let value = self.random.below(index.values().into()) as u32;
        let (before, found) = (self.progress.before_query(), &mut self.entries);
        self.connection.meter.start();
        self.connection.retry("querying", |tables, table| {
            tables.range_query(table, index, value, found)
        })?;
        self.connection.finish_unit(Kind::RangeQuery);
        let model = self.models.and_then(|models| models.get(place));
        if let Some(model) = model {
            let live = self.progress.after_query(before);
            match model.check(value, &self.entries, &live) {
                Ok(is_compared) => {
                    self.compared += u64::from(is_compared);
                    self.reads.count(0, Ok(()));
                }
                Err((fault, id)) => self.reads.count(id, Err(fault)),
            }
        }
        Ok(())
    }

    /// Looks up ten ids between that of the oldest row that nobody deletes and that of the newest
    /// row; some may be alike. `queries` were done before.
    fn query_points(&mut self, queries: u64) -> Result<()> {
        let oldest = self.progress.first_kept();
        if queries.is_multiple_of(QUERIES_OF_SEARCH) || self.newest <= oldest {
            self.find_newest()?;
        }
        for id in &mut self.ids {
            *id = oldest + self.random.below(self.newest.saturating_sub(oldest));
        }
        let (before, ids, found) = (self.progress.before_query(), &self.ids, &mut self.rows);
        self.connection.meter.start();
        self.connection.retry("querying", |tables, table| {
            tables.point_query(table, ids, found)
        })?;
        self.connection.finish_unit(Kind::PointQuery);
        if self.verifies {
            self.check_points(before);
        }
        Ok(())
    }

    fn check_points(&mut self, before: CommittedBounds) {
        let live = self.progress.after_query(before);
        for &id in &self.ids {
            let row = self.rows.iter().find(|row| row.id == id);
            let verdict = check_point(&self.maker, id, row, &live);
            self.reads.count(id, verdict);
        }
        let is_asked_for = |row: &&PointRow| self.ids.contains(&row.id);
        if let Some(row) = self.rows.iter().find(|row| !is_asked_for(row)) {
            self.reads.add(ReadFault::Foreign, row.id);
        }
    }

    /// Looks for the newest row, as iibench does to learn which ids there are.
    fn find_newest(&mut self) -> Result<()> {
        let before = self.progress.before_query();
        self.connection.meter.start();
        let newest = self
            .connection
            .retry("searching", |tables, table| tables.last_id(table))?;
        self.connection.finish(Kind::GetMax);
        self.newest = newest.unwrap_or(0);
        if self.verifies {
            let live = self.progress.after_query(before);
            // What was committed before the query began is the least that it must find.
            let verdict = match newest {
                Some(id) if id >= live.possible.end => Err(ReadFault::Unexpected),
                Some(id) if id + 1 >= live.certain.end => Ok(()),
                _ => Err(ReadFault::Lost),
            };
            self.reads.count(self.newest, verdict);
        }
        Ok(())
    }
}

/// Checks what a query found of a row.
///
/// # Errors
/// The fault.
fn check_point(
    maker: &RowMaker,
    id: u64,
    row: Option<&PointRow>,
    live: &LiveIds,
) -> Result<(), ReadFault> {
    let Some(row) = row else {
        return if live.certain.contains(&id) {
            Err(ReadFault::Lost)
        } else {
            Ok(())
        };
    };
    if !live.possible.contains(&id) {
        return Err(ReadFault::Unexpected);
    }
    let expected = maker.make(id);
    if row.product == expected.columns.product && row.data == expected.data {
        Ok(())
    } else {
        Err(ReadFault::Foreign)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::insert_benchmark::purchase::{Data, DataLengths};

    #[test]
    fn a_row_must_be_there_unless_it_may_have_come_or_gone_and_be_its_own() {
        let maker = RowMaker::new(1, 1, DataLengths { min: 10, max: 10 });
        let live = LiveIds {
            possible: 11..111,
            certain: 21..101,
        };
        let row = |id| {
            let row = maker.make(id);
            PointRow {
                id,
                product: row.columns.product,
                data: row.data,
            }
        };
        let check = |id, row: Option<PointRow>| check_point(&maker, id, row.as_ref(), &live);
        for id in [11, 50, 110] {
            assert_eq!(check(id, Some(row(id))), Ok(()), "{id}");
        }
        assert_eq!(check(15, None), Ok(()));
        assert_eq!(check(50, None), Err(ReadFault::Lost));
        for id in [10, 111] {
            let verdict = check(id, Some(row(id)));
            assert_eq!(verdict, Err(ReadFault::Unexpected), "{id}");
        }
        let other = PointRow {
            data: Data::cut("aaaaaaaxyz!"),
            ..row(50)
        };
        assert_eq!(check(50, Some(other)), Err(ReadFault::Foreign));
    }
}
