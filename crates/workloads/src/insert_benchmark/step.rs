//! The steps, as `iq.sh` runs them one after the other (mdcallag/mytools, `bench/ibench`).

use super::kinds::{Kind, Kinds};
use trueput_engine::choices;

choices! {
    /// The steps, in their order.
    pub(super) enum Step {
        /// Inserts rows in the order of their ids; there are no secondary indexes.
        Load = "l.i0",
        /// Creates the secondary indexes.
        CreateIndexes = "l.x",
        /// Inserts and deletes without pause, 50 rows per transaction.
        LargeTransactions = "l.i1",
        /// The same with 5 rows per transaction.
        SmallTransactions = "l.i2",
        /// Range queries, with 100 rows inserted and deleted per second.
        Range100 = "qr100",
        /// Point queries likewise.
        Point100 = "qp100",
        /// Range queries, with 500 rows inserted and deleted per second.
        Range500 = "qr500",
        /// Point queries likewise.
        Point500 = "qp500",
        /// Range queries, with 1,000 rows inserted and deleted per second.
        Range1000 = "qr1000",
        /// Point queries likewise.
        Point1000 = "qp1000",
    }
}

/// The queries of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QueryKind {
    /// By a secondary index.
    Range,
    /// By the primary key.
    Point,
}

/// The part that a worker has in a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Inserts rows.
    Inserter,
    /// Deletes the oldest rows, as many as were inserted.
    Deleter,
    /// Creates the secondary indexes.
    IndexCreator,
    /// Queries.
    Querier(QueryKind),
}

impl Step {
    /// The queries of the step, and the rows that each client inserts and deletes a second
    /// meanwhile; `None` if it has no queries.
    pub(super) fn queries(self) -> Option<(QueryKind, u32)> {
        use QueryKind::{Point, Range};
        Some(match self {
            Self::Range100 => (Range, 100),
            Self::Point100 => (Point, 100),
            Self::Range500 => (Range, 500),
            Self::Point500 => (Point, 500),
            Self::Range1000 => (Range, 1_000),
            Self::Point1000 => (Point, 1_000),
            _ => return None,
        })
    }

    /// The rows that a transaction inserts or deletes: `rows_per_commit` in `iq.sh`.
    pub(super) fn transaction_rows(self) -> u32 {
        match self {
            Self::Load => 100,
            Self::SmallTransactions => 5,
            _ => 50,
        }
    }

    /// Whether rows are deleted.
    pub(super) fn deletes(self) -> bool {
        self.finds_indexes()
    }

    /// Whether the secondary indexes exist when the step begins.
    pub(super) fn finds_indexes(self) -> bool {
        !matches!(self, Self::Load | Self::CreateIndexes)
    }

    /// Whether the secondary indexes exist when the step has ended.
    pub(super) fn leaves_indexes(self) -> bool {
        self != Self::Load
    }

    /// The kinds of operation that its workers do.
    pub(super) fn kinds(self) -> Kinds {
        let queries = self.queries().map(|(kind, _)| kind);
        Kinds::default()
            .insert_if(queries == Some(QueryKind::Range), Kind::RangeQuery)
            .insert_if(queries == Some(QueryKind::Point), Kind::PointQuery)
            .insert_if(self == Self::CreateIndexes, Kind::Index)
            .insert_if(self != Self::CreateIndexes, Kind::Insert)
            .insert_if(self.deletes(), Kind::Delete)
            .insert_if(self.deletes(), Kind::GetMin)
            .insert_if(queries == Some(QueryKind::Point), Kind::GetMax)
    }

    /// The parts of a client's workers, the plan's own worker first.
    fn roles(self) -> &'static [Role] {
        use Role::{Deleter, IndexCreator, Inserter, Querier};
        match (self, self.queries()) {
            (Self::Load, _) => &[Inserter],
            (Self::CreateIndexes, _) => &[IndexCreator],
            (_, None) => &[Inserter, Deleter],
            (_, Some((QueryKind::Range, _))) => &[Querier(QueryKind::Range), Inserter, Deleter],
            (_, Some((QueryKind::Point, _))) => &[Querier(QueryKind::Point), Inserter, Deleter],
        }
    }

    /// The workers of each client.
    pub(super) fn workers_of_client(self) -> u32 {
        self.roles().len() as u32
    }

    /// The part of a worker, and its client, from 0. The first workers of all clients come first,
    /// then the second ones, and so on.
    pub(super) fn assign(self, worker: u32, clients: u32) -> (Role, u32) {
        let clients = clients.max(1);
        let roles = self.roles();
        let place = (worker / clients) as usize;
        (roles[place.min(roles.len() - 1)], worker % clients)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_client_has_the_connections_of_iibench_and_added_workers_come_last() {
        let roles = |step: Step| {
            let workers = 0..2 * step.workers_of_client();
            let assigned = workers.map(|worker| step.assign(worker, 2));
            assigned.collect::<Vec<_>>()
        };
        use Role::{Deleter, IndexCreator, Inserter, Querier};
        assert_eq!(roles(Step::Load), [(Inserter, 0), (Inserter, 1)]);
        let created = [(IndexCreator, 0), (IndexCreator, 1)];
        assert_eq!(roles(Step::CreateIndexes), created);
        let writers = [(Inserter, 0), (Inserter, 1), (Deleter, 0), (Deleter, 1)];
        assert_eq!(roles(Step::LargeTransactions), writers);
        let querier = Querier(QueryKind::Range);
        let all = [[(querier, 0), (querier, 1)].as_slice(), &writers].concat();
        assert_eq!(roles(Step::Range500), all);
    }

    #[test]
    fn the_first_kind_of_a_step_is_the_one_that_it_is_about() {
        let kinds = |step: Step| step.kinds().names();
        assert_eq!(kinds(Step::Load), ["insert"]);
        assert_eq!(kinds(Step::CreateIndexes), ["index"]);
        let writes = ["insert", "delete", "get-min"];
        assert_eq!(kinds(Step::SmallTransactions), writes);
        assert_eq!(
            kinds(Step::Range100),
            ["range-query", "insert", "delete", "get-min"]
        );
        assert_eq!(
            kinds(Step::Point1000),
            ["point-query", "insert", "delete", "get-min", "get-max"]
        );
    }
}
