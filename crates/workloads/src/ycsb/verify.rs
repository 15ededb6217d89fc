//! Compares the database after a trial with the work of its workers: every record exists once, in
//! order and intact, and has as many updates as were committed.

use super::properties::Properties;
use super::shared_state::{Maker, record_maker};
use super::worker::{INSERTED_RECORDS, UPDATED_RECORDS};
use crate::keyed::read_check::{ReadCounts, ReadFault, compared_part};
use crate::keyed::scan::scan_first;
use crate::keyed::transaction::{read_once, retry_unmetered};
use crate::keyed::versions::TrialVersions;
use crate::{ExecutionSummary, JobDatabase, JobResults, Result};
use std::ops::Bound;
use trueput_engine::{Error as EngineError, KeyRange, Session};
use trueput_record::VerifyLevel;
use trueput_record::measurement::Check;
use trueput_record::random::mix;

/// Records that one transaction looks at: no snapshot stays open for long.
const BATCH: u64 = 4_096;
/// `sample` compares one record in this many as a whole.
const SAMPLE: u64 = 10;

/// The results, and the checks where verification is on and the engine keeps anything.
pub(super) fn verify(
    properties: &Properties,
    target: &JobDatabase<'_>,
    ended: &ExecutionSummary,
) -> Result<JobResults> {
    let records = properties.records + ended.sum_of(INSERTED_RECORDS);
    let mut conclusion = JobResults::default();
    let results = [
        ("records", records),
        ("operations", ended.counts.iter().sum()),
    ];
    for (name, value) in results {
        conclusion.results.insert(name.to_owned(), value.into());
    }
    if ended.verify == VerifyLevel::Off || !target.capabilities.retains_data {
        return Ok(conclusion);
    }
    let found = DatabaseCheck::run(properties, target, ended.verify, records)?;
    let checks = &mut conclusion.checks;
    let reads = ReadCounts::sum(&ended.findings);
    if reads.checked() > 0 {
        let compared = compared_part(ended.verify);
        checks.push(reads.check("reads", || {
            format!("{} looked at{compared}", reads.checked())
        }));
    }
    checks.push(Check::equal("records", &records, &found.records));
    checks.push(Check::equal("distinct records", &records, &found.distinct));
    let whole = found.whole.checked();
    let when_right = || format!("{whole} looked at");
    checks.push(found.whole.check("stored records", when_right));
    if properties.updates() {
        checks.push(Check::equal(
            "updates",
            &ended.sum_of(UPDATED_RECORDS),
            &found.updates,
        ));
    }
    Ok(conclusion)
}

/// A pass over all records, with its findings.
struct DatabaseCheck {
    maker: Maker,
    versions: TrialVersions,
    seed: u64,
    every: bool,
    /// A bit for each item that was met.
    met: Vec<u64>,
    items: u64,
    records: u64,
    distinct: u64,
    /// Records that were compared in full, and their faults.
    whole: ReadCounts,
    updates: u64,
    last: Option<Vec<u8>>,
}

impl DatabaseCheck {
    fn run(
        properties: &Properties,
        target: &JobDatabase<'_>,
        verify: VerifyLevel,
        items: u64,
    ) -> Result<Self> {
        let mut check = Self {
            maker: record_maker(properties.shape, target.seed)?,
            versions: TrialVersions::new(target.generation),
            seed: target.seed,
            every: verify == VerifyLevel::Full,
            met: vec![0; items.div_ceil(64) as usize],
            items,
            records: 0,
            distinct: 0,
            whole: ReadCounts::default(),
            updates: 0,
            last: None,
        };
        let mut session = target.open_session()?;
        while check.batch(&mut *session)? {
            (target.progress)((check.records as f64 / items as f64).min(1.0));
        }
        Ok(check)
    }

    /// Looks at the records after the last one; whether there may be more.
    fn batch(&mut self, session: &mut dyn Session) -> Result<bool> {
        let doing = || "checking the records".to_owned();
        // What an attempt that conflicts has looked at is looked at again by none: it goes on.
        retry_unmetered(doing, || {
            let last = self.last.clone();
            let range = KeyRange {
                lower: last.as_deref().map_or(Bound::Unbounded, Bound::Excluded),
                upper: Bound::Unbounded,
            };
            let shown = read_once(session, |session| {
                scan_first(session, range, BATCH, |key, record| {
                    self.check_record(key, record);
                })
            })?;
            Ok::<_, EngineError>(shown == BATCH)
        })
    }

    fn check_record(&mut self, key: &[u8], record: &[u8]) {
        self.records += 1;
        let last = self.last.get_or_insert_default();
        let in_order = self.records == 1 || key > last.as_slice();
        last.clear();
        last.extend_from_slice(key);
        let sampled = mix(self.seed ^ self.records).is_multiple_of(SAMPLE);
        let whole = self.every || sampled;
        if whole {
            self.whole.count(0, Ok(()));
        }
        match self.maker.identify(key, record, whole) {
            Ok((item, version)) if item < self.items => {
                let (word, bit) = (&mut self.met[(item / 64) as usize], item % 64);
                self.distinct += u64::from(*word >> bit & 1 == 0);
                *word |= 1 << bit;
                self.updates += u64::from(self.versions.number(version).unwrap_or(0));
                if !in_order {
                    self.whole.add(ReadFault::Disorder, item);
                }
            }
            Ok((item, _)) => self.whole.add(ReadFault::Unwritten, item),
            Err(item) => self.whole.add(ReadFault::Foreign, item),
        }
    }
}
