//! Compares the database after a trial with the oracle: the answers, the totals, the blocks, and
//! every stored step.

use super::blocks::{self, BlockState, LARGEST, LONGEST};
use super::codec::{Codec, CodecBuffer};
use super::completed::CompletedStarts;
use super::kinds;
use super::maximum::{self, Maximum};
use super::oracle::{Oracle, distinct_numbers};
use super::problem::Problem;
use super::step_table::{TableCounts, inspect};
use super::worker::UNCOUNTED;
use crate::keyed::transaction::{TransactionError, transact_unmetered};
use crate::{Error, ExecutionSummary, JobDatabase, JobResults, Result, finding};
use std::collections::BTreeMap;
use trueput_engine::{Mode, Session, Value};
use trueput_record::VerifyLevel;
use trueput_record::measurement::Check;

/// Up to this last start, or this many starts, the distinct numbers are counted in memory.
const COUNTED_FINISH: u64 = 2_000_000;
const COUNTED_STARTS: u64 = 200_000;

/// The results, and the checks where verification is on.
pub(super) fn verify<C: Codec>(
    problem: &Problem,
    target: &JobDatabase<'_>,
    ended: &ExecutionSummary,
) -> Result<JobResults> {
    let stored = if target.capabilities.retains_data {
        StoredResults::read(problem, target)?
    } else {
        StoredResults::from_findings(problem, target.workers, ended)?
    };
    let completed = match problem.finish {
        Some(finish) => (problem.start..=finish).into(),
        None => stored.completed.clone(),
    };
    let mut conclusion = JobResults {
        results: results(problem, &stored, &completed, ended),
        checks: Vec::new(),
    };
    if ended.verify == VerifyLevel::Off {
        return Ok(conclusion);
    }
    let oracle = Oracle::compute(completed.clone(), target.threads)
        .map_err(|overflow| Error::Workload(overflow.to_string()))?;
    (target.progress)(0.1);
    let checks = &mut conclusion.checks;
    check_answers(checks, &completed, &stored, &oracle);
    if !ended.resumed {
        checks.push(check_identity(&completed, ended));
    }
    let blocks = match problem.finish {
        Some(_) => problem.blocks(),
        None => stored.blocks,
    };
    checks.push(Check::equal(
        "finished blocks",
        &blocks,
        &stored.ended_blocks,
    ));
    if target.capabilities.retains_data {
        let counts = inspect::<C>(&completed, target, ended.verify, &oracle)?;
        let missing = match counts.starts {
            starts if starts == starts_above_one(&completed) => None,
            _ => first_missing::<C>(&completed, target)?,
        };
        check_table(checks, &completed, &counts, missing, ended);
        conclusion
            .results
            .insert("distinct".to_owned(), counts.stored.into());
        if let (false, Some(surplus)) = (ended.resumed, stores(ended).checked_sub(counts.stored)) {
            conclusion
                .results
                .insert("surplus".to_owned(), surplus.into());
        }
    }
    (target.progress)(1.0);
    Ok(conclusion)
}

/// The outcome as the database stores it, the step table aside.
#[derive(Default)]
struct StoredResults {
    longest: Maximum,
    largest: Maximum,
    /// Blocks that were given out.
    blocks: u64,
    /// Blocks that workers have finished, or left when the time was over.
    ended_blocks: u64,
    /// The starts of those.
    completed: CompletedStarts,
}

impl StoredResults {
    fn read(problem: &Problem, target: &JobDatabase<'_>) -> Result<Self> {
        let mut session = target.open_session()?;
        let doing = || "reading the answers".to_owned();
        transact_unmetered(&mut *session, Mode::Read, doing, |session| {
            let mut ended = Vec::new();
            let mut unknown = None;
            blocks::visit_all(session, &mut |block, state| match state {
                _ if block >= problem.blocks() => unknown = Some(block),
                Some(BlockState::Finished) => ended.push((block, problem.length(block))),
                Some(BlockState::Cut { starts }) if problem.finish.is_none() => {
                    ended.push((block, starts.min(problem.length(block))));
                }
                Some(BlockState::Claimed | BlockState::Cut { .. }) | None => {}
            })?;
            if let Some(block) = unknown {
                return Err(TransactionError::workload(no_such_block(problem, block)));
            }
            Ok::<_, TransactionError>(Self {
                longest: maximum(session, LONGEST)?,
                largest: maximum(session, LARGEST)?,
                blocks: blocks::given_out(session)?,
                ended_blocks: ended.len() as u64,
                completed: CompletedStarts::of_blocks(problem, ended),
            })
        })
    }

    /// For an engine that keeps nothing: a worker had each of its blocks, which are as many places
    /// apart as there are workers.
    ///
    /// # Errors
    /// A worker reports more blocks than there are.
    fn from_findings(problem: &Problem, workers: u32, ended: &ExecutionSummary) -> Result<Self> {
        let mut stored = Self::default();
        let mut blocks = Vec::new();
        for (worker, findings) in (0..).zip(&ended.findings) {
            let named = |name: &str| finding(findings, name);
            let longest = Maximum::new(named("longest"), named("longest_start"));
            let largest = Maximum::new(named("largest"), named("largest_start"));
            stored.longest.consider(longest);
            stored.largest.consider(largest);
            let finished = named("blocks");
            let place = |count: u64| {
                count
                    .saturating_mul(workers.max(1).into())
                    .saturating_add(worker)
            };
            let last = finished.checked_sub(1).map(place);
            if let Some(last) = last.filter(|last| *last >= problem.blocks()) {
                return Err(Error::Workload(no_such_block(problem, last)));
            }
            stored.ended_blocks += finished;
            let whole = (0..finished).map(|count| (place(count), problem.length(place(count))));
            blocks.extend(whole);
            let cut = place(finished);
            if problem.finish.is_none() && cut < problem.blocks() {
                blocks.push((cut, named("cut_starts")));
            }
        }
        stored.blocks = stored.ended_blocks;
        blocks.sort_unstable();
        stored.completed = CompletedStarts::of_blocks(problem, blocks);
        Ok(stored)
    }
}

fn no_such_block(problem: &Problem, block: u64) -> String {
    let blocks = problem.blocks();
    format!(
        "block {block} is reported, and the problem has only {blocks}: the database is damaged, or \
         something else wrote it"
    )
}

/// A stored maximum; a missing or damaged one never equals the expected one, and fails its check.
fn maximum(session: &mut dyn Session, key: &[u8]) -> Result<Maximum, TransactionError> {
    match maximum::read(session, key) {
        Ok(stored) => Ok(stored.unwrap_or_default()),
        Err(TransactionError::Fatal(_)) => Ok(Maximum::default()),
        Err(failure) => Err(failure),
    }
}

fn results(
    problem: &Problem,
    stored: &StoredResults,
    completed: &CompletedStarts,
    ended: &ExecutionSummary,
) -> BTreeMap<String, Value> {
    let blocks = ended.findings.iter();
    let blocks: Vec<u64> = blocks.map(|found| finding(found, "blocks")).collect();
    let fewest = blocks.iter().copied().min();
    let most = blocks.iter().copied().max();
    let mut named = vec![
        ("longest", stored.longest.value),
        ("longest_start", stored.longest.start),
        ("largest", stored.largest.value),
        ("largest_start", stored.largest.start),
        ("reads", ended.counts[kinds::READ]),
        ("updates", ended.counts[kinds::UPDATE]),
        ("block", problem.block),
        ("worker_blocks_min", fewest.unwrap_or_default()),
        ("worker_blocks_max", most.unwrap_or_default()),
    ];
    if problem.finish.is_some() {
        named.push(("blocks", problem.blocks()));
    } else {
        named.push(("blocks", stored.ended_blocks));
        named.push(("starts", completed.count()));
        named.push(("uncounted_stores", ended.sum_of(UNCOUNTED)));
        named.push(("last_start", completed.last().unwrap_or_default()));
    }
    let named = named.into_iter();
    named
        .map(|(name, value)| (name.to_owned(), Value::from(value)))
        .collect()
}

fn check_answers(
    checks: &mut Vec<Check>,
    completed: &CompletedStarts,
    stored: &StoredResults,
    oracle: &Oracle,
) {
    let right = oracle.answers();
    let StoredResults {
        longest, largest, ..
    } = stored;
    checks.push(Check::equal(
        "longest sequence",
        &right.longest.value,
        &longest.value,
    ));
    checks.push(Check::equal(
        "start of the longest",
        &right.longest.start,
        &longest.start,
    ));
    checks.push(Check::equal(
        "largest number",
        &right.largest.value,
        &largest.value,
    ));
    // Of the starts that lead to the largest number, the database has that whose worker was first.
    let start = largest.start;
    let leads = match largest.value {
        0 => start == 0 && right.largest.value == 0,
        _ => completed.contains(start) && Oracle::leads_to(start, right.largest.value),
    };
    let detail = if leads {
        format!("{start}")
    } else {
        format!(
            "{start} is not a start that leads to it; the least is {}",
            right.largest.start
        )
    };
    checks.push(Check::new("start of the largest", leads, detail));
}

/// The numbers that the workers stored: their updates, and what the end of the time left of a path.
fn stores(ended: &ExecutionSummary) -> u64 {
    ended.counts[kinds::UPDATE].saturating_add(ended.sum_of(UNCOUNTED))
}

/// Each start has one look-up that ends its way; each other look-up leads to one store.
fn check_identity(completed: &CompletedStarts, ended: &ExecutionSummary) -> Check {
    let (reads, updates) = (ended.counts[kinds::READ], ended.counts[kinds::UPDATE]);
    let (starts, uncounted) = (completed.count(), ended.sum_of(UNCOUNTED));
    let mut detail = format!("{reads} reads, {updates} updates, {starts} starts");
    if uncounted > 0 {
        detail += &format!(", {uncounted} stores when the time was over");
    }
    let holds = reads.checked_sub(stores(ended)) == Some(starts);
    Check::new("reads less updates are the starts", holds, detail)
}

/// Every start but 1 is in the step table.
fn starts_above_one(completed: &CompletedStarts) -> u64 {
    completed.count() - u64::from(completed.contains(1))
}

fn check_table(
    checks: &mut Vec<Check>,
    completed: &CompletedStarts,
    counts: &TableCounts,
    missing: Option<u64>,
    ended: &ExecutionSummary,
) {
    let looked_at = |count: u64| format!("{count} of {} looked at", counts.stored);
    let outcome = |example: &Option<String>| match example {
        Some(example) => (false, example.clone()),
        None => (true, looked_at(counts.checked)),
    };
    let (passed, detail) = outcome(&counts.wrong);
    checks.push(Check::new("stored steps", passed, detail));
    let (passed, detail) = outcome(&counts.open_end);
    checks.push(Check::new("successors stored", passed, detail));
    let starts = starts_above_one(completed);
    let detail = match missing {
        Some(number) => format!("{} of {starts} stored; {number} is missing", counts.starts),
        None => format!("{} of {starts} stored", counts.starts),
    };
    checks.push(Check::new("starts stored", counts.starts == starts, detail));
    let last = completed.last().unwrap_or_default();
    if last <= COUNTED_FINISH || completed.count() <= COUNTED_STARTS {
        let expected = distinct_numbers(completed.iter()).unwrap_or_default();
        checks.push(Check::equal("distinct numbers", &expected, &counts.stored));
    }
    if !ended.resumed {
        let stores = stores(ended);
        checks.push(Check::new(
            "no more stored than updated",
            counts.stored <= stores,
            format!("{} stored in {stores} updates", counts.stored),
        ));
    }
}

/// The first start that is not in the step table.
fn first_missing<C: Codec>(
    completed: &CompletedStarts,
    target: &JobDatabase<'_>,
) -> Result<Option<u64>> {
    let mut session = target.open_session()?;
    let mut buffer = CodecBuffer::default();
    let doing = || "looking for the missing start".to_owned();
    transact_unmetered(&mut *session, Mode::Read, doing, |session| {
        for start in completed.iter().filter(|&start| start > 1) {
            if !session.get(C::number(start, &mut buffer), &mut |_| {})? {
                return Ok(Some(start));
            }
        }
        Ok::<_, TransactionError>(None)
    })
}

#[cfg(test)]
mod tests {
    use super::super::problem::{CommitScope, KeyEncoding};
    use super::*;

    #[test]
    fn a_worker_that_reports_more_blocks_than_there_are_is_refused() {
        let problem = Problem {
            start: 1,
            finish: Some(100),
            block: 10,
            workers: 2,
            commit: CommitScope::Store,
            keys: KeyEncoding::Integers,
        };
        let of = |blocks: u64| {
            let ended = ExecutionSummary {
                counts: Vec::new(),
                conflicts: 0,
                findings: vec![BTreeMap::from([("blocks".to_owned(), blocks)])],
                attachments: Vec::new(),
                resumed: false,
                verify: VerifyLevel::Full,
                crashed: None,
            };
            StoredResults::from_findings(&problem, 2, &ended)
        };
        assert_eq!(of(5).unwrap().completed.count(), 50);
        for blocks in [6, u64::MAX] {
            let refused = of(blocks).err().unwrap().to_string();
            assert!(refused.contains("has only 10"), "{refused}");
        }
    }
}
