//! The transactions of one worker, drawn from a seed, so that verification draws the same ones
//! again.

use super::rows::RowKey;
use super::settings::{Script, Settings};
use super::tables::{IdRange, KRange, RangeQuery};
use crate::generate::random::Random;
use crate::keyed::inserts::InsertNumbers;

/// One statement of a transaction, or two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// c of a row.
    PointSelect(RowKey),
    /// c of the rows of a range that begins at this one.
    Range(RangeQuery, RowKey),
    /// The sum of k of the rows of a range that begins at this one.
    SumRange(RowKey),
    /// k of a row is raised by 1.
    IndexUpdate(RowKey),
    /// A row gets another c.
    NonIndexUpdate(RowKey),
    /// A row is deleted and inserted with other columns.
    DeleteInsert(RowKey),
    /// A new row.
    Insert(RowKey),
    /// A row is deleted, if it is there.
    Delete(RowKey),
    /// The rows of [`Event::ks`].
    RandomPoints,
    /// The number of rows of [`Event::ranges`].
    RandomRanges,
    /// New rows of id and k alone, from this one on.
    BulkInsert(RowKey),
}

/// One transaction, which sysbench calls an event.
#[derive(Debug, Default)]
pub(super) struct Event {
    /// Its statements in their order.
    pub(super) steps: Vec<Step>,
    /// The values of k of [`Step::RandomPoints`].
    pub(super) ks: Vec<u32>,
    /// The ranges of k of [`Step::RandomRanges`].
    pub(super) ranges: Vec<KRange>,
}

/// The ids of a range that begins at `first`.
pub(super) fn range_ids(first: u32, size: u32) -> IdRange {
    first..=first.saturating_add(size - 1)
}

/// The transactions of one worker, in their order.
pub(super) struct EventStream<'s> {
    settings: &'s Settings,
    random: Random,
    worker: u32,
    /// The part of the values of k that the worker chooses, as sysbench divides them.
    segment: (u32, u32),
    /// The rows that the worker inserts into each table.
    inserts: Vec<InsertNumbers>,
    /// The next id of the worker's own table of pairs.
    next_pair: u32,
}

impl<'s> EventStream<'s> {
    /// The transactions of a worker of `workers`, in the trial that comes after `generation` others
    /// on the same load.
    pub(super) fn new(
        settings: &'s Settings,
        seed: u64,
        generation: u32,
        (worker, workers): (u32, u32),
    ) -> Self {
        // Trials that share a load do not repeat each other.
        let seed = seed ^ u64::from(generation).rotate_left(32);
        let loaded = settings.rows;
        let part = f64::from(loaded.table_size) / f64::from(workers.max(1));
        let start = part * f64::from(worker);
        let inserts = match settings.script {
            Script::Insert => {
                let numbers = InsertNumbers::new(loaded.table_size.into(), worker, workers);
                vec![numbers; loaded.tables as usize]
            }
            _ => Vec::new(),
        };
        Self {
            settings,
            random: Random::for_worker(seed, worker, "sysbench"),
            worker,
            segment: (start as u32, (start + part) as u32),
            inserts,
            next_pair: 1,
        }
    }

    /// Draws the next transaction.
    pub(super) fn next(&mut self, event: &mut Event) {
        let steps = &mut event.steps;
        steps.clear();
        match self.settings.script {
            Script::Insert => {
                let table = self.table();
                let numbers = &mut self.inserts[table as usize - 1];
                // The numbers begin at 0, the ids at 1.
                let id = u32::try_from(numbers.next() + 1).unwrap_or(u32::MAX);
                steps.push(Step::Insert(RowKey::new(table, id)));
            }
            Script::Delete => {
                let table = self.table();
                let row = RowKey::new(table, self.id());
                steps.push(Step::Delete(row));
            }
            Script::RandomPoints => {
                self.draw_points(&mut event.ks);
                steps.push(Step::RandomPoints);
            }
            Script::RandomRanges => {
                self.draw_ranges(&mut event.ranges);
                steps.push(Step::RandomRanges);
            }
            Script::BulkInsert => {
                let first = RowKey::new(self.worker + 1, self.next_pair);
                self.next_pair = self.next_pair.saturating_add(self.settings.bulk_rows);
                steps.push(Step::BulkInsert(first));
            }
            _ => self.draw_statements(steps),
        }
    }

    /// Draws the statements of the scripts that choose rows by their ids. All of a kind are on one
    /// table.
    fn draw_statements(&mut self, steps: &mut Vec<Step>) {
        let counts = self.settings.statements;
        let range = |query| move |row| Step::Range(query, row);
        self.draw(steps, counts.point_selects, Step::PointSelect);
        self.draw(steps, counts.simple_ranges, range(RangeQuery::Simple));
        self.draw(steps, counts.sum_ranges, Step::SumRange);
        self.draw(steps, counts.order_ranges, range(RangeQuery::Order));
        self.draw(steps, counts.distinct_ranges, range(RangeQuery::Distinct));
        self.draw(steps, counts.index_updates, Step::IndexUpdate);
        self.draw(steps, counts.non_index_updates, Step::NonIndexUpdate);
        self.draw(steps, counts.delete_inserts, Step::DeleteInsert);
    }

    fn draw(&mut self, steps: &mut Vec<Step>, count: u32, step: impl Fn(RowKey) -> Step) {
        let table = self.table();
        for _ in 0..count {
            let row = RowKey::new(table, self.id());
            steps.push(step(row));
        }
    }

    fn draw_points(&mut self, ks: &mut Vec<u32>) {
        ks.clear();
        for _ in 0..self.settings.random_points {
            ks.push(self.k());
        }
    }

    fn draw_ranges(&mut self, ranges: &mut Vec<KRange>) {
        ranges.clear();
        for _ in 0..self.settings.number_of_ranges {
            let low = self.k();
            let high = low.saturating_add(self.settings.delta);
            ranges.push(KRange { low, high });
        }
    }

    /// A table, each as likely.
    fn table(&mut self) -> u32 {
        1 + self.random.below(self.settings.rows.tables.into()) as u32
    }

    fn id(&mut self) -> u32 {
        let distribution = &self.settings.distribution;
        distribution.draw(1, self.settings.rows.table_size, &mut self.random)
    }

    /// A value of k of the worker's segment.
    fn k(&mut self) -> u32 {
        let (low, high) = self.segment;
        self.settings.distribution.draw(low, high, &mut self.random)
    }
}

#[cfg(test)]
mod tests {
    use super::super::settings::GivenSettings;
    use super::*;
    use trueput_engine::{Value, parameter};
    use trueput_record::Conditions;

    fn settings(given: &[(&str, &str)]) -> Settings {
        let given = given
            .iter()
            .map(|(name, value)| ((*name).to_owned(), Value::parse(value)));
        let given = given.collect();
        let resolved = parameter::resolve("sysbench", GivenSettings::PARAMETERS, &given).unwrap();
        Settings::of(&resolved, &Conditions::default()).unwrap()
    }

    fn drawn(settings: &Settings, seed: u64, worker: u32) -> Vec<Vec<Step>> {
        let mut stream = EventStream::new(settings, seed, 0, (worker, 4));
        let mut event = Event::default();
        let draw = |_| {
            stream.next(&mut event);
            event.steps.clone()
        };
        (0..100).map(draw).collect()
    }

    #[test]
    fn a_read_write_transaction_has_the_statements_of_the_script_in_its_order() {
        let settings = settings(&[("tables", "3"), ("index_updates", "2")]);
        for steps in drawn(&settings, 1, 0) {
            assert_eq!(steps.len(), 10 + 4 + 2 + 1 + 1);
            let points = &steps[..10];
            assert!(
                points
                    .iter()
                    .all(|step| matches!(step, Step::PointSelect(_)))
            );
            assert!(matches!(steps[10], Step::Range(RangeQuery::Simple, _)));
            assert!(matches!(steps[11], Step::SumRange(_)));
            assert!(matches!(steps[12], Step::Range(RangeQuery::Order, _)));
            assert!(matches!(steps[13], Step::Range(RangeQuery::Distinct, _)));
            assert!(matches!(steps[16], Step::NonIndexUpdate(_)));
            assert!(matches!(steps[17], Step::DeleteInsert(_)));
            let [Step::IndexUpdate(one), Step::IndexUpdate(other)] = steps[14..16] else {
                panic!("{steps:?}");
            };
            assert_eq!(one.table, other.table, "one kind is on one table");
        }
    }

    #[test]
    fn a_seed_and_a_worker_draw_the_same_again_and_others_something_else() {
        let settings = settings(&[]);
        let first = drawn(&settings, 1, 0);
        assert_eq!(first, drawn(&settings, 1, 0));
        assert_ne!(first, drawn(&settings, 2, 0));
        assert_ne!(first, drawn(&settings, 1, 1));
    }

    #[test]
    fn no_two_workers_insert_one_row() {
        let settings = settings(&[("script", "oltp_insert"), ("tables", "2")]);
        let mut rows = std::collections::HashSet::new();
        for worker in 0..4 {
            for steps in drawn(&settings, 1, worker) {
                let [Step::Insert(row)] = steps[..] else {
                    panic!("{steps:?}");
                };
                assert!(row.id > 10_000 && rows.insert((row.table, row.id)), "{row}");
            }
        }
    }

    #[test]
    fn workers_choose_k_from_their_own_segments() {
        let settings = settings(&[("script", "select_random_points")]);
        let mut stream = EventStream::new(&settings, 1, 0, (2, 4));
        let mut event = Event::default();
        for _ in 0..100 {
            stream.next(&mut event);
            assert_eq!(event.ks.len(), 10);
            let is_own = |k: &u32| (5_000..=7_500).contains(k);
            assert!(event.ks.iter().all(is_own), "{:?}", event.ks);
        }
    }
}
