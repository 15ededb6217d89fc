//! Checks of what the statements of one worker return. What is checked must hold of every statement
//! that sees committed rows only: a row is always there, since it is deleted and inserted again in
//! one transaction.

use super::rows::{LoadedRows, Row, RowKey, RowMaker};
use super::settings::Settings;
use super::shared_state::SharedState;
use super::tables::{IdRange, KRange, RangeQuery, merge_ranges};
use super::text::{CText, Origin, WriteName};
use crate::keyed::read_check::{ReadCounts, ReadFault, ReadValidator, RecordState};
use crate::keyed::versions::TrialVersions;
use crate::keyed::write_tracker::{TrialWrites, WriteKnowledge, WriteTable, WriteTracker};
use crate::{JobTask, WorkerFindings};
use trueput_record::VerifyLevel;

/// The findings with the numbers of sums that were checked, and of wrong ones.
pub(super) const SUMS: [&str; 2] = ["sums checked", "wrong sums"];
/// The same for the numbers of rows that queries by k found.
pub(super) const COUNTS: [&str; 2] = ["counts checked", "wrong counts"];

/// `sample` compares the texts of one row in this many as a whole.
const SAMPLE: u64 = 10;

/// Results that were checked, and how many of them were wrong.
#[derive(Debug, Clone, Copy, Default)]
struct ResultCounts {
    checked: u64,
    wrong: u64,
}

impl ResultCounts {
    fn count(&mut self, is_right: bool) {
        self.checked += 1;
        self.wrong += u64::from(!is_right);
    }
}

/// All that was counted.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct CheckCounts {
    reads: ReadCounts,
    sums: ResultCounts,
    counts: ResultCounts,
}

impl CheckCounts {
    /// The findings of a worker.
    pub(super) fn findings(&self) -> WorkerFindings {
        let mut findings = WorkerFindings::new();
        self.reads.write(&mut findings);
        for (names, counts) in [(SUMS, self.sums), (COUNTS, self.counts)] {
            for (name, count) in names.into_iter().zip([counts.checked, counts.wrong]) {
                findings.insert(name.to_owned(), count);
            }
        }
        findings
    }
}

/// Checks the results of one worker's statements.
pub(super) struct ReadChecker<'c> {
    maker: RowMaker,
    rows: LoadedRows,
    /// `None`: nothing is checked.
    shared: Option<&'c SharedState>,
    /// The writes of c.
    pub(super) contents: WriteTracker<'c>,
    /// Whether the trial writes rows that were loaded.
    mutates: bool,
    compares_all: bool,
    /// Whether a statement sees one state of the database, so that no row can be missing.
    sees_one_state: bool,
    /// What was counted so far; an attempt that fails takes it back.
    pub(super) tally: CheckCounts,
    /// The rows of a range that a query has returned.
    seen: Vec<bool>,
    /// The ids that a query by k has returned.
    ids: Vec<u32>,
    ranges: Vec<KRange>,
}

/// The tracker of the writes that a worker knows of.
pub(super) fn tracker<'t>(
    table: Option<&'t WriteTable>,
    settings: &Settings,
    task: &JobTask<'_>,
) -> WriteTracker<'t> {
    let mutates = settings.statements.writes();
    let writers = 0..if mutates { task.workers } else { 0 };
    let knowledge = WriteKnowledge::of(task.worker_kind, task.worker, &writers);
    let trial = TrialWrites {
        versions: TrialVersions::new(task.generation),
        records: settings.rows.count(),
        mutates,
        deletes: false,
    };
    WriteTracker::new(table, knowledge, trial)
}

impl<'c> ReadChecker<'c> {
    /// Nothing checked yet.
    pub(super) fn new(
        settings: &Settings,
        shared: Option<&'c SharedState>,
        task: &JobTask<'_>,
    ) -> Self {
        let by_k = settings.random_points.max(settings.number_of_ranges);
        Self {
            maker: settings.maker(task.seed),
            rows: settings.rows,
            shared,
            contents: tracker(shared.map(|shared| &shared.contents), settings, task),
            mutates: settings.statements.writes(),
            compares_all: task.verify == VerifyLevel::Full,
            sees_one_state: task.capabilities.snapshot_reads,
            tally: CheckCounts::default(),
            seen: Vec::with_capacity(settings.range_size as usize),
            ids: Vec::with_capacity(1_024),
            ranges: Vec::with_capacity(by_k as usize),
        }
    }

    /// The fewest writes of a row that a read which begins now must find.
    #[inline]
    pub(super) fn floor(&self, row: RowKey) -> u32 {
        self.contents.floor(self.rows.item(row))
    }

    /// A statement that looked for a row did not find it.
    pub(super) fn note_lost(&mut self, row: RowKey) {
        if self.shared.is_some() && self.sees_one_state {
            let item = self.rows.item(row);
            self.tally.reads.count(item, Err(ReadFault::Lost));
        }
    }

    /// Checks the c of a row; `floor` is from before the transaction began.
    pub(super) fn check_point(&mut self, row: RowKey, floor: u32, c: &CText) {
        if self.shared.is_none() {
            return;
        }
        let item = self.rows.item(row);
        let state = match self.named(row.table, c) {
            Some(origin) if origin.id == row.id => RecordState::Version(origin.write.number),
            _ => RecordState::Foreign,
        };
        let verdict = self.contents.validate(item, floor, state);
        self.tally.reads.count(item, verdict);
    }

    /// The row and the write that a text of a table names; `None` if it names none, or is not as it
    /// was written, as far as the level compares it.
    fn named(&self, table: u32, c: &CText) -> Option<Origin> {
        let origin = self.maker.origin(c)?;
        let item = self.rows.item(RowKey::new(table, origin.id));
        let WriteName { writer, number } = origin.write;
        let is_named = item < self.rows.count() && (writer == 0) == (number == 0);
        let compares = self.compares_all || item.is_multiple_of(SAMPLE);
        let is_right = is_named && (!compares || self.maker.is_intact(table, origin, c));
        is_right.then_some(origin)
    }

    /// The number of loaded rows in a range that begins at one.
    fn rows_in(&self, ids: &IdRange) -> u32 {
        let last = self.rows.table_size.min(*ids.end());
        (last + 1).saturating_sub(*ids.start())
    }

    /// Checks the texts of a range of ids: each row once, as it may be, in the order of the query.
    pub(super) fn check_range(
        &mut self,
        query: RangeQuery,
        first: RowKey,
        (ids, floor): (IdRange, u32),
        found: &[CText],
    ) {
        if self.shared.is_none() {
            return;
        }
        let rows = self.rows_in(&ids) as usize;
        self.seen.clear();
        self.seen.resize(rows, false);
        let mut last: Option<&CText> = None;
        for c in found {
            self.check_in_range(first, floor, c);
            let is_in_order = match query {
                RangeQuery::Simple => true,
                RangeQuery::Order => last.is_none_or(|last| last <= c),
                RangeQuery::Distinct => last.is_none_or(|last| last < c),
            };
            if !is_in_order {
                let item = self.rows.item(first);
                self.tally.reads.add(ReadFault::Disorder, item);
            }
            last = Some(c);
        }
        let missing = self.seen.iter().position(|is_seen| !is_seen);
        if let Some(place) = missing.filter(|_| self.sees_one_state) {
            self.note_lost(RowKey::new(first.table, first.id + place as u32));
        }
    }

    /// Checks one text of a range that begins at `first`.
    fn check_in_range(&mut self, first: RowKey, floor: u32, c: &CText) {
        let origin = self.named(first.table, c);
        let place = origin.and_then(|origin| origin.id.checked_sub(first.id));
        let place = place.filter(|place| (*place as usize) < self.seen.len());
        let Some((origin, place)) = origin.zip(place) else {
            let item = self.rows.item(first);
            self.tally.reads.count(item, Err(ReadFault::Foreign));
            return;
        };
        let item = self.rows.item(RowKey::new(first.table, origin.id));
        let floor = if place == 0 { floor } else { 0 };
        let state = RecordState::Version(origin.write.number);
        let verdict = self.contents.validate(item, floor, state);
        self.tally.reads.count(item, verdict);
        let was_seen = std::mem::replace(&mut self.seen[place as usize], true);
        if was_seen && self.sees_one_state {
            self.tally.reads.add(ReadFault::Unexpected, item);
        }
    }

    /// Checks the sum of k of a range: exactly where nothing writes, and else between what the rows
    /// have at least and at most.
    pub(super) fn check_sum(&mut self, first: RowKey, ids: &IdRange, sum: u64) {
        if self.shared.is_none() {
            return;
        }
        let rows = self.rows_in(ids);
        let keys = (0..rows).map(|place| RowKey::new(first.table, first.id + place));
        let is_right = if self.mutates {
            let least = u64::from(if self.sees_one_state { rows } else { 0 });
            // Every k was drawn from 1 to the size of the table, and raised by 1 since.
            let drawn = u64::from(rows) * u64::from(self.rows.table_size);
            let raised = keys.map(|key| self.updates_begun(key)).sum::<Option<u64>>();
            sum >= least && raised.is_none_or(|raised| sum <= drawn + raised)
        } else {
            let ks = keys.map(|key| u64::from(self.maker.k(key, WriteName::LOADED)));
            sum == ks.sum::<u64>()
        };
        self.tally.sums.count(is_right);
    }

    /// The index updates of a row that have begun; `None` if not all are known here.
    fn updates_begun(&self, row: RowKey) -> Option<u64> {
        let knows_all = self.contents.knowledge() == WriteKnowledge::All;
        let shared = self.shared.filter(|_| knows_all)?;
        shared.updates.begun(self.rows.item(row)).map(u64::from)
    }

    /// Checks the rows with these values of k, which nobody writes.
    pub(super) fn check_rows_by_k(&mut self, table: u32, ks: &[u32], found: &[Row]) {
        if self.shared.is_none() {
            return;
        }
        self.ids.clear();
        for row in found {
            let key = RowKey::new(table, row.id);
            let is_loaded = |write: Option<WriteName>| write == Some(WriteName::LOADED);
            let is_right = ks.contains(&row.k)
                && row.k == self.maker.k(key, WriteName::LOADED)
                && is_loaded(self.maker.write_of(key, &row.c))
                && is_loaded(self.maker.write_of(key, &row.pad));
            let verdict = is_right.then_some(()).ok_or(ReadFault::Foreign);
            self.tally.reads.count(self.rows.item(key), verdict);
            self.ids.push(row.id);
        }
        self.ids.sort_unstable();
        self.ids.dedup();
        let is_once = self.ids.len() == found.len();
        self.ranges.clear();
        let single = ks.iter().map(|k| KRange { low: *k, high: *k });
        self.ranges.extend(single);
        self.check_expected(found.len() as u64, is_once);
    }

    /// Checks the number of rows whose k is in one of these ranges, which nobody writes.
    pub(super) fn check_count(&mut self, ranges: &[KRange], count: u64) {
        if self.shared.is_none() {
            return;
        }
        self.ranges.clear();
        self.ranges.extend_from_slice(ranges);
        self.check_expected(count, true);
    }

    /// Compares a number of rows with that of the ranges that were set.
    fn check_expected(&mut self, found: u64, is_once: bool) {
        let Some(counts) = self.shared.and_then(|shared| shared.counts.as_ref()) else {
            return;
        };
        merge_ranges(&mut self.ranges);
        let expected: u64 = self.ranges.iter().map(|range| counts.rows(*range)).sum();
        self.tally.counts.count(is_once && found == expected);
    }
}
