//! The report of storage faults: its answer first, then every engine by every fault, then what the
//! engines said.

use crate::audit_report::origin;
use crate::document::{Block, Column, ColumnRole, Table};
use crate::formats::markdown;
use std::collections::{BTreeMap, BTreeSet};
use trueput_findings::units::counted;
use trueput_record::fault_record::{
    FAULT_CONTROLS, FaultControl, FaultCourse, FaultOutcome, FaultRecord, FaultResult, FaultTrial,
    ReportedError,
};

/// The contenders of one table on a terminal: more of them have no room beside the faults.
const MAX_CONTENDERS: usize = 5;

/// The faults of one table in Markdown, where each contender has a line: more of them make it wider
/// than a page.
const MAX_FAULTS: usize = 10;

/// The errors of a trial that are quoted.
const MAX_ERRORS: usize = 3;

/// The report of a record, as blocks: a line for each fault.
#[must_use]
pub fn document(record: &FaultRecord) -> Vec<Block> {
    blocks(record, tables)
}

/// The report of a record as Markdown: a line for each contender, as documents have it.
#[must_use]
pub fn markdown(record: &FaultRecord) -> String {
    markdown::render(&blocks(record, contender_tables))
}

fn blocks(record: &FaultRecord, tables: fn(&[FaultResult]) -> Vec<Block>) -> Vec<Block> {
    let mut all = vec![Block::Text(answer(record))];
    all.extend(Block::Warnings(warnings(record)).filled());
    if record.is_valid() {
        all.extend(tables(&record.results));
        all.extend(Block::List(legend(&record.results)).filled());
        all.extend(details(&record.results));
    }
    all.extend(remarks(record));
    all
}

/// Describes the contender of a result: `sqlite sync (journal_mode=delete)`.
#[must_use]
pub fn subject(result: &FaultResult) -> String {
    let knobs = knobs(result);
    format!("{} {}{knobs}", result.contender, result.durability)
}

/// The knobs that the user set: ` (journal_mode=delete)`; empty if there are none.
fn knobs(result: &FaultResult) -> String {
    let knobs = result.given_knobs.iter();
    let knobs: Vec<_> = knobs
        .map(|(knob, value)| format!("{knob}={value}"))
        .collect();
    if knobs.is_empty() {
        String::new()
    } else {
        format!(" ({})", knobs.join(", "))
    }
}

/// Describes the fault of a result: `fsync:eio@3, pages dropped`.
#[must_use]
pub fn fault(result: &FaultResult) -> String {
    match result.failed_fsync {
        None => result.fault.to_string(),
        Some(behavior) => format!("{}, pages {behavior}", result.fault),
    }
}

fn answer(record: &FaultRecord) -> String {
    if !record.is_valid() {
        return if record.interrupted {
            "Nothing was tried.".to_owned()
        } else {
            "No result: the controls did not come out as they must.".to_owned()
        };
    }
    let results = &record.results;
    let is_tried = |result: &&FaultResult| result.outcome != FaultOutcome::NotRun;
    if !results.iter().any(|result| is_tried(&result)) {
        return "Nothing was tried.".to_owned();
    }
    let has_come = |result: &&FaultResult| result.outcome != FaultOutcome::NotTriggered;
    let tried: Vec<_> = results.iter().filter(is_tried).filter(has_come).collect();
    if tried.is_empty() {
        return "None of the faults came: they say nothing of any engine.".to_owned();
    }
    let faults: BTreeSet<_> = tried.iter().map(|result| fault(result)).collect();
    let engines: BTreeSet<_> = tried.iter().map(|result| &result.contender).collect();
    let scope = format!(
        "{} tried on {}",
        counted(faults.len() as u64, "fault"),
        counted(engines.len() as u64, "engine")
    );
    let silent = names(results, FaultOutcome::is_silent);
    let silent = match silent.as_str() {
        "" => "none lost an acknowledged commit or returned wrong data without an error".to_owned(),
        names => format!("LOST OR WRONG without an error: {names}"),
    };
    let others = [
        (
            FaultOutcome::ReportedLoss,
            "Commits lost after a reported error",
        ),
        (
            FaultOutcome::LostByDevice,
            "Commits lost because the device lied",
        ),
        (FaultOutcome::RefusesToOpen, "Refuses to open afterwards"),
        (FaultOutcome::Crashed, "Crashed, and lost nothing"),
        (FaultOutcome::Hung, "Hung, and lost nothing"),
    ];
    let others = others.into_iter().filter_map(|(outcome, words)| {
        let names = names(results, |found| found == outcome);
        (!names.is_empty()).then(|| format!(" {words}: {names}."))
    });
    let others: String = others.collect();
    let left_out = results.iter().filter(|result| !is_tried(result)).count();
    let left_out = match left_out {
        0 => String::new(),
        count => format!(" Not run: {count} of {}.", results.len()),
    };
    format!("{scope}: {silent}.{others}{left_out}")
}

/// Names the results with some outcomes: `lmdb sync (fsync:eio@3, pages dropped); …`.
fn names(results: &[FaultResult], is_wanted: impl Fn(FaultOutcome) -> bool) -> String {
    let mut faults: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for result in results.iter().filter(|result| is_wanted(result.outcome)) {
        faults
            .entry(subject(result))
            .or_default()
            .push(fault(result));
    }
    let names = faults.iter();
    let names = names.map(|(subject, faults)| format!("{subject} ({})", faults.join("; ")));
    names.collect::<Vec<_>>().join(", ")
}

fn warnings(record: &FaultRecord) -> Vec<String> {
    let interrupted = record
        .interrupted
        .then(|| "The user stopped this.".to_owned());
    let failed = record.failed_controls().map(|(result, control)| {
        let FaultControl { does, expected, .. } = control;
        let reason = result.reason.as_ref();
        let reason = reason.map_or_else(String::new, |reason| format!(" ({reason})"));
        format!(
            "The log engine that {does}: {}{reason}, and must be: {expected}.",
            result.outcome
        )
    });
    interrupted.into_iter().chain(failed).collect()
}

/// The outcomes, a row for each contender with its version, in tables of a few faults.
fn contender_tables(results: &[FaultResult]) -> Vec<Block> {
    let faults = in_order(results.iter().map(fault));
    let mut contenders: Vec<&FaultResult> = Vec::new();
    for result in results {
        if contenders.iter().all(|one| subject(one) != subject(result)) {
            contenders.push(result);
        }
    }
    let table = |faults: &[String]| {
        let engine = Column::text("engine", 0).in_role(ColumnRole::Name);
        let mut table = Table::of(&contenders)
            .column(engine, |one| format!("{}{}", one.contender, knobs(one)))
            .text("version", 0, |one| one.version.clone())
            .text("level", 0, |one| one.durability);
        for fault in faults {
            table = table.text(fault, 0, |one| word(results, &subject(one), fault));
        }
        Block::Table(table.build())
    };
    faults.chunks(MAX_FAULTS).map(table).collect()
}

/// The outcomes, a row for each fault, in tables of a few contenders.
fn tables(results: &[FaultResult]) -> Vec<Block> {
    let faults = in_order(results.iter().map(fault));
    let contenders = in_order(results.iter().map(subject));
    let table = |contenders: &[String]| {
        let name = Column::text("fault", 0).in_role(ColumnRole::Name);
        let mut table = Table::of(&faults).column(name, |fault| fault);
        for contender in contenders {
            table = table.text(contender, 0, |fault| word(results, contender, fault));
        }
        Block::Table(table.build())
    };
    contenders.chunks(MAX_CONTENDERS).map(table).collect()
}

fn word(results: &[FaultResult], contender: &str, named: &str) -> &'static str {
    let mut results = results.iter();
    let found = results.find(|result| subject(result) == contender && fault(result) == named);
    found.map_or("", |result| result.outcome.word())
}

/// Each text once, in the order of the first ones.
fn in_order(texts: impl Iterator<Item = String>) -> Vec<String> {
    let mut kept = Vec::new();
    for text in texts {
        if !kept.contains(&text) {
            kept.push(text);
        }
    }
    kept
}

/// The words of the tables, the worst first.
fn legend(results: &[FaultResult]) -> Vec<String> {
    let is_there = |outcome: &FaultOutcome| results.iter().any(|result| result.outcome == *outcome);
    let outcomes = FaultOutcome::ALL.into_iter().rev().filter(is_there);
    outcomes
        .map(|outcome| format!("{}: {outcome}", outcome.word()))
        .collect()
}

/// What the engines said and lost, and what was not run or could not come, the worst first.
fn details(results: &[FaultResult]) -> Vec<Block> {
    let outcomes = FaultOutcome::ALL.into_iter().rev();
    let told = outcomes.filter(|outcome| *outcome != FaultOutcome::Harmless);
    let blocks = told.flat_map(|outcome| {
        let with_it = results.iter().filter(|result| result.outcome == outcome);
        let lines = match outcome {
            FaultOutcome::NotRun => reasons(with_it),
            FaultOutcome::NotTriggered => reasons(with_it.filter(|it| it.reason.is_some())),
            _ => with_it.map(detail).collect(),
        };
        let list = Block::List(lines).filled();
        let heading = list
            .is_some()
            .then(|| Block::Heading(3, outcome.to_string()));
        heading.into_iter().chain(list)
    });
    blocks.collect()
}

/// Names the faults of each contender that were not run or could not come, by reason.
fn reasons<'a>(results: impl Iterator<Item = &'a FaultResult>) -> Vec<String> {
    let mut faults: BTreeMap<(String, &str), Vec<String>> = BTreeMap::new();
    for result in results {
        let reason = result.reason.as_deref().unwrap_or("no reason is known");
        let key = (subject(result), reason);
        faults.entry(key).or_default().push(fault(result));
    }
    let reasons = faults.iter();
    reasons
        .map(|((subject, reason), faults)| format!("{subject} ({}): {reason}", faults.join("; ")))
        .collect()
}

/// What was seen in the worst trial of a result.
fn detail(result: &FaultResult) -> String {
    let worst = result.trials.iter().max_by_key(|trial| trial.outcome);
    let seen = worst.map_or_else(Vec::new, observations);
    let name = format!("{}, {}", subject(result), fault(result));
    if seen.is_empty() {
        name
    } else {
        format!("{name}: {}", seen.join("; "))
    }
}

fn observations(trial: &FaultTrial) -> Vec<String> {
    let end = trial.end.iter().map(|end| end.words().to_owned());
    let errors = trial.errors.iter().take(MAX_ERRORS).map(quotation);
    let more = trial.errors.len().saturating_sub(MAX_ERRORS);
    let more = (more > 0).then(|| format!("and {}", counted(more as u64, "other error")));
    let damage = trial.damage.iter().map(ToString::to_string);
    let course = match trial.course {
        _ if trial.damage.is_empty() => None,
        FaultCourse::Kill => Some("killed under the fault".to_owned()),
        FaultCourse::Reopen => Some("opened again under the fault".to_owned()),
    };
    let said = end.chain(errors).chain(more);
    said.chain(damage).chain(course).collect()
}

/// An error in the engine's words: `commit: "disk I/O error" (3 times)`.
fn quotation(error: &ReportedError) -> String {
    let ReportedError {
        during,
        text,
        count,
    } = error;
    match count {
        1 => format!("{during}: \"{text}\""),
        count => format!("{during}: \"{text}\" ({count} times)"),
    }
}

/// The controls, the builds, the machine, and what could not be tried.
fn remarks(record: &FaultRecord) -> Vec<Block> {
    let controls = record.controls.iter().zip(&FAULT_CONTROLS);
    let controls = controls.map(|(result, control)| {
        format!("the log engine that {}: {}", control.does, result.outcome)
    });
    let controls: Vec<_> = controls.collect();
    let controls =
        (!controls.is_empty()).then(|| Block::Text(format!("Controls: {}.", controls.join("; "))));
    let builds = record.results.iter();
    let builds = builds.filter(|result| !result.version.is_empty());
    let builds = in_order(builds.map(|result| format!("{} {}", result.contender, result.version)));
    let builds = (!builds.is_empty()).then(|| {
        let builds = builds.join(", ");
        Block::Text(format!("Builds: {builds}."))
    });
    let made = origin(&record.started_at, &record.host);
    let skipped = record.skipped.iter();
    let skipped = skipped.map(|(name, reason)| format!("Skipped: {name} {reason}"));
    let skipped = Block::List(skipped.collect()).filled();
    let parts = controls.into_iter().chain(builds).chain([made]);
    parts.chain(skipped).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueput_record::audit::{Damage, DamageKind};
    use trueput_record::storage_fault::FailedFlush;
    use trueput_record::{Durability, HostFacts};

    fn result(contender: &str, fault: &str, outcome: FaultOutcome) -> FaultResult {
        FaultResult {
            contender: contender.to_owned(),
            version: "1.2".to_owned(),
            durability: Durability::Sync,
            given_knobs: BTreeMap::new(),
            fault: fault.parse().unwrap(),
            failed_fsync: None,
            outcome,
            reason: None,
            trials: vec![FaultTrial {
                course: FaultCourse::Kill,
                outcome,
                errors: Vec::new(),
                damage: Vec::new(),
                end: None,
                acknowledged: 1,
                injected: 1,
                first_injected: None,
            }],
            elapsed_s: 1.0,
        }
    }

    fn record(results: Vec<FaultResult>) -> FaultRecord {
        let controls = FAULT_CONTROLS.iter();
        FaultRecord {
            format: 1,
            command: String::new(),
            started_at: String::new(),
            host: HostFacts::default(),
            program_version: String::new(),
            seed: 1,
            controls: controls
                .map(|control| result("audit-control", "fsync:lie", control.expected))
                .collect(),
            results,
            skipped: BTreeMap::new(),
            interrupted: false,
        }
    }

    #[test]
    fn the_answer_names_who_lost_what_without_a_word() {
        let kept = result("lmdb", "fsync:eio@3", FaultOutcome::Reported);
        let mut lost = result("toy", "fsync:eio@3", FaultOutcome::SilentLoss);
        lost.failed_fsync = Some(FailedFlush::Dropped);
        let fine = answer(&record(vec![kept.clone()]));
        assert_eq!(
            fine,
            "1 fault tried on 1 engine: none lost an acknowledged commit or returned wrong data \
             without an error."
        );
        let mut never = kept.clone();
        never.outcome = FaultOutcome::NotTriggered;
        let nothing = answer(&record(vec![never]));
        assert!(nothing.starts_with("None of the faults came"), "{nothing}");
        let bad = answer(&record(vec![kept, lost]));
        assert!(
            bad.starts_with("2 faults tried on 2 engines: LOST OR WRONG"),
            "{bad}"
        );
        assert!(
            bad.contains("toy sync (fsync:eio@3, pages dropped)"),
            "{bad}"
        );
        assert!(!bad.contains("Not run"), "{bad}");
    }

    #[test]
    fn the_answer_names_who_refuses_crashes_or_hangs_and_what_a_lie_cost() {
        let results = [
            ("e", FaultOutcome::LostByDevice),
            ("a", FaultOutcome::RefusesToOpen),
            ("b", FaultOutcome::Crashed),
            ("c", FaultOutcome::Hung),
            ("d", FaultOutcome::NotRun),
        ];
        let results = results.map(|(name, outcome)| result(name, "write:eio@20", outcome));
        let text = answer(&record(results.to_vec()));
        let words = "without an error. Commits lost because the device lied: e sync \
                     (write:eio@20). Refuses to open afterwards: a sync (write:eio@20). Crashed, \
                     and lost nothing: b sync (write:eio@20). Hung, and lost nothing: c sync \
                     (write:eio@20). Not run: 1 of 5.";
        assert!(text.ends_with(words), "{text}");
    }

    #[test]
    fn a_fault_that_cannot_come_has_its_reason() {
        let mut never = result("lmdb", "write:enospc@1GiB", FaultOutcome::NotTriggered);
        let came = result("lmdb", "fsync:lie", FaultOutcome::Harmless);
        let text = markdown(&record(vec![never.clone(), came.clone()]));
        assert!(!text.contains("### the fault never came"), "{text}");
        never.reason = Some("the workload is short".to_owned());
        let text = markdown(&record(vec![never, came]));
        let line = "- lmdb sync (write:enospc@1GiB): the workload is short";
        assert!(text.contains(line), "{text}");
    }

    #[test]
    fn a_control_that_comes_out_otherwise_leaves_no_result() {
        let mut invalid = record(vec![result("lmdb", "fsync:lie", FaultOutcome::Reported)]);
        invalid.controls[2].outcome = FaultOutcome::Harmless;
        let text = markdown(&invalid);
        assert!(text.contains("No result: the controls"), "{text}");
        assert!(
            text.contains("must be: acknowledged commits silently lost"),
            "{text}"
        );
        assert!(!text.contains("| engine |"), "{text}");
        assert!(!invalid.is_clean() && record(Vec::new()).is_valid());
    }

    /// The titles of each table of a document.
    fn titles(document: &[Block]) -> Vec<Vec<&str>> {
        let tables = document.iter().filter_map(|block| match block {
            Block::Table(table) => Some(table.columns.iter()),
            _ => None,
        });
        tables
            .map(|columns| columns.map(|column| column.title.as_str()).collect())
            .collect()
    }

    #[test]
    fn every_engine_has_a_line_or_a_column_and_every_loss_its_words() {
        let mut lost = result("b", "fsync:eio@3", FaultOutcome::ReportedLoss);
        lost.trials[0].errors = vec![ReportedError {
            during: "commit".to_owned(),
            text: "disk I/O error".to_owned(),
            count: 3,
        }];
        lost.trials[0].damage = vec![Damage {
            kind: DamageKind::CommitMissing,
            detail: "commit 9 of worker 1".to_owned(),
        }];
        let names = ["a", "b", "c", "d", "e", "f"];
        let mut results: Vec<_> = names
            .iter()
            .map(|name| result(name, "fsync:eio@3", FaultOutcome::Harmless))
            .collect();
        results[1] = lost;
        results[4].given_knobs = [("size".to_owned(), "4KiB".into())].into();
        results[5].outcome = FaultOutcome::NotRun;
        results[5].reason = Some("no such server".to_owned());
        results.push(result("a", "fsync:lie", FaultOutcome::LostByDevice));
        let record = record(results);
        let document = document(&record);
        let columns = titles(&document);
        assert_eq!(columns.len(), 2, "{columns:?}");
        assert_eq!(columns[0][..3], ["fault", "a sync", "b sync"]);
        assert_eq!(columns[1], ["fault", "f sync"]);
        let text = markdown(&record);
        for words in [
            "| engine | version | level | fsync:eio@3 | fsync:lie |\n",
            "| a | 1.2 | sync | harmless | device lied |\n",
            "| b | 1.2 | sync | lost |  |\n",
            "| e (size=4KiB) | 1.2 | sync | harmless |  |\n",
            "| f | 1.2 | sync | not run |  |\n",
            "commit: \"disk I/O error\" (3 times)",
            "an acknowledged commit is missing: commit 9 of worker 1",
            "f sync (fsync:eio@3): no such server",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
    }
}
