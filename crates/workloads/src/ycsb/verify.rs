//! Holds what a trial left against what its workers did: every record there and once, in order and
//! whole, and as many updates as were committed.

use super::fault::{Fault, Faults};
use super::properties::Properties;
use super::record::Maker;
use super::version::Trial;
use crate::generate::random::mix;
use crate::{Conclusion, Doing, Ended, Error, Target};
use std::ops::{Bound, ControlFlow};
use trueput_engine::{Direction, KeyRange, Mode, Session};
use trueput_record::VerifyLevel;
use trueput_record::measurement::Check;

/// Records that one transaction looks at: no snapshot stays open for long.
const BATCH: u64 = 4_096;
/// What `sample` compares whole: one record in so many.
const SAMPLE: u64 = 10;

/// What the workers found, all together.
#[derive(Default)]
struct Done {
    renewed: u64,
    inserted: u64,
    checked: u64,
    faults: Faults,
}

impl Done {
    fn of(ended: &Ended) -> Self {
        let mut done = Self::default();
        for findings in &ended.findings {
            let named = |name| findings.get(name).copied().unwrap_or_default();
            done.renewed += named("renewed");
            done.inserted += named("inserted");
            done.checked += named("checked");
            done.faults.merge(&Faults::read(findings));
        }
        done
    }
}

/// The results, and the checks where verification is on and the engine keeps anything.
///
/// # Errors
/// Whatever the engine says.
pub(super) fn conclude(
    properties: &Properties,
    target: &Target<'_>,
    ended: &Ended,
) -> Result<Conclusion, Error> {
    let done = Done::of(ended);
    let records = properties.records + done.inserted;
    let mut conclusion = Conclusion::default();
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
    let found = Survey::of(properties, target, ended.verify, records)?;
    let checks = &mut conclusion.checks;
    if done.checked > 0 {
        checks.push(done.faults.check("reads", done.checked));
    }
    checks.push(Check::equal("records", &records, &found.records));
    checks.push(Check::equal("distinct records", &records, &found.distinct));
    checks.push(found.faults.check("stored records", found.whole));
    if properties.renews() {
        checks.push(Check::equal("updates", &done.renewed, &found.updates));
    }
    Ok(conclusion)
}

/// What a pass over all records found.
struct Survey {
    maker: Maker,
    trial: Trial,
    seed: u64,
    every: bool,
    /// A bit for each item that was met.
    met: Vec<u64>,
    items: u64,
    records: u64,
    distinct: u64,
    /// Records that were compared whole.
    whole: u64,
    updates: u64,
    faults: Faults,
    last: Option<Vec<u8>>,
}

impl Survey {
    fn of(
        properties: &Properties,
        target: &Target<'_>,
        verify: VerifyLevel,
        items: u64,
    ) -> Result<Self, Error> {
        let mut survey = Self {
            maker: Maker::new(properties.shape, target.seed)?,
            trial: Trial::new(target.generation),
            seed: target.seed,
            every: verify == VerifyLevel::Full,
            met: vec![0; items.div_ceil(64) as usize],
            items,
            records: 0,
            distinct: 0,
            whole: 0,
            updates: 0,
            faults: Faults::default(),
            last: None,
        };
        let session = target.database.session();
        let mut session = session.doing(|| "opening a session".to_owned())?;
        while survey.batch(&mut *session)? {
            (target.progress)((survey.records as f64 / items as f64).min(1.0));
        }
        Ok(survey)
    }

    /// Looks at the records after the last one; whether there may be more.
    fn batch(&mut self, session: &mut dyn Session) -> Result<bool, Error> {
        let doing = || "checking the records".to_owned();
        loop {
            // What an attempt that conflicts has looked at is looked at again by none: it goes on.
            match self.attempt(session) {
                Err(error) if error.is_conflict() => {}
                done => return done.doing(doing),
            }
        }
    }

    fn attempt(&mut self, session: &mut dyn Session) -> trueput_engine::Result<bool> {
        session.begin(Mode::Read)?;
        let last = self.last.clone();
        let range = KeyRange {
            lower: last.as_deref().map_or(Bound::Unbounded, Bound::Excluded),
            upper: Bound::Unbounded,
        };
        let mut left = BATCH;
        let shown = session.scan(range, Direction::Forward, &mut |key, record| {
            self.point_read(key, record);
            left -= 1;
            match left {
                0 => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        });
        // A read transaction has nothing to lose.
        let ended = session.abort();
        shown?;
        ended?;
        Ok(left == 0)
    }

    fn point_read(&mut self, key: &[u8], record: &[u8]) {
        self.records += 1;
        let last = self.last.get_or_insert_default();
        let in_order = self.records == 1 || key > last.as_slice();
        last.clear();
        last.extend_from_slice(key);
        let sampled = mix(self.seed ^ self.records).is_multiple_of(SAMPLE);
        let whole = self.every || sampled;
        self.whole += u64::from(whole);
        match self.maker.read(key, record, whole) {
            Ok(seen) if seen.item < self.items => {
                let (word, bit) = (&mut self.met[(seen.item / 64) as usize], seen.item % 64);
                self.distinct += u64::from(*word >> bit & 1 == 0);
                *word |= 1 << bit;
                self.updates += u64::from(self.trial.updates(seen.version));
                if !in_order {
                    self.faults.add(Fault::Disordered, seen.item);
                }
            }
            Ok(seen) => self.faults.add(Fault::Unmade, seen.item),
            Err(item) => self.faults.add(Fault::Foreign, item),
        }
    }
}
