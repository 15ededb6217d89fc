//! The section on the engines' own compactions, and the sizes of databases around them.

use super::{Part, Section, SectionInput};
use crate::document::{Block, Table};
use trueput_findings::trial_names::TrialNames;
use trueput_findings::units::{bytes, number, seconds};
use trueput_record::measurement::{Compaction, Measurement};
use trueput_record::{Outcome, TrialRecord};

/// What the engines' own compactions took, and what they gave back.
pub(crate) struct Compactions;

impl Section for Compactions {
    fn part(&self, input: &SectionInput<'_>) -> Option<Part> {
        let blocks = blocks(&input.measured, &input.names);
        Part::with_text("Space and compaction", TEXT, blocks)
    }
}

const TEXT: &str = "Size of the database's files on disk after the load, after the run and after \
    the engine's own compaction. The compaction runs after the measured part and is in no other \
    figure. Written: by the compaction's processes until the database was closed. Space \
    amplification: bytes on disk per byte of keys and values.";

/// A compaction that changes the size by a smaller part than this has done next to nothing.
const MIN_CHANGE: f64 = 0.01;

/// Why a compaction may need more space than it gives back.
const LARGER: &str = "What it wrote, in the engine's log or as a second copy, counts until the \
    engine removes it.";

/// A trial with its compaction.
struct CompactionRow<'a> {
    trial: String,
    measurement: &'a Measurement,
    compaction: &'a Compaction,
}

/// The section; empty if no compaction was requested.
fn blocks(measured: &[(&TrialRecord, &Measurement)], names: &TrialNames) -> Vec<Block> {
    let requested = measured
        .iter()
        .filter(|(trial, _)| trial.spec.conditions.compact);
    let (mut rows, mut notes) = (Vec::new(), Vec::new());
    let mut without: Vec<String> = Vec::new();
    for (trial, measurement) in requested {
        let name = names.trial(trial);
        match &measurement.compaction {
            Some(compaction) => {
                let (means, before) = (&compaction.means, measurement.database.allocated_bytes);
                if is_unchanged(measurement, compaction) {
                    notes.push(format!(
                        "{name}: {means} changed the size by less than 1 %."
                    ));
                } else if compaction.database.allocated_bytes > before {
                    notes.push(format!(
                        "{name}: {means} made the database larger. {LARGER}"
                    ));
                }
                rows.push(CompactionRow {
                    trial: name,
                    measurement,
                    compaction,
                });
            }
            None if has_ended(trial) => {
                let contender = names.contender(trial);
                if !without.contains(&contender) {
                    without.push(contender);
                }
            }
            None => {}
        }
    }
    if !without.is_empty() {
        notes.push(format!(
            "Not compacted: {}. The driver has no compaction for this engine or build, or the \
             server is yours.",
            without.join("; ")
        ));
    }
    let blocks = [Block::Table(table(&rows)), Block::List(notes)];
    blocks.into_iter().filter_map(Block::filled).collect()
}

/// Whether the size on disk is as before, but for less than [`MIN_CHANGE`] of it.
fn is_unchanged(measurement: &Measurement, compaction: &Compaction) -> bool {
    let before = measurement.database.allocated_bytes;
    let change = before.abs_diff(compaction.database.allocated_bytes);
    change == 0 || (change as f64) < before as f64 * MIN_CHANGE
}

/// Whether the trial got beyond its compaction.
fn has_ended(trial: &TrialRecord) -> bool {
    matches!(trial.outcome, Outcome::Valid | Outcome::Invalid { .. })
}

fn table(rows: &[CompactionRow<'_>]) -> Table {
    let factor = |found: Option<f64>| found.map_or_else(String::new, number);
    let size = |found: u64| bytes(found as f64);
    Table::of(rows)
        .text("trial", 0, |row| &row.trial)
        .figures("after load", 2, move |row| {
            let at_start = row.measurement.database_at_start;
            at_start.map_or_else(String::new, |it| size(it.allocated_bytes))
        })
        .figures("after run", 0, move |row| {
            size(row.measurement.database.allocated_bytes)
        })
        .figures("after compaction", 0, move |row| {
            size(row.compaction.database.allocated_bytes)
        })
        .figures("time", 0, |row| seconds(row.compaction.elapsed_s))
        .figures("written", 1, move |row| {
            size(row.compaction.storage_written_bytes)
        })
        .figures("device written", 4, move |row| {
            let device = row.compaction.device;
            device.map_or_else(String::new, |it| size(it.written_bytes))
        })
        .figures("space amplification before", 3, move |row| {
            factor(row.measurement.space_amplification())
        })
        .figures("space amplification after", 3, move |row| {
            factor(row.measurement.compacted_space_amplification())
        })
        .text("call", 1, |row| &row.compaction.means)
        .build()
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueput_record::measurement::DatabaseSize;
    use trueput_record::{Durability, testing};

    fn trial(left_bytes: Option<u64>) -> TrialRecord {
        let spec = testing::spec(0, "sqlite", Durability::Sync, 1);
        let mut trial = testing::valid(spec, 1_000.0);
        trial.spec.conditions.compact = true;
        let measurement = trial.measurement.as_mut().unwrap();
        measurement.database.allocated_bytes = 8 << 20;
        measurement.compaction = left_bytes.map(|allocated_bytes| Compaction {
            means: "VACUUM".to_owned(),
            elapsed_s: 1.5,
            database: DatabaseSize {
                allocated_bytes,
                ..DatabaseSize::default()
            },
            ..Compaction::default()
        });
        trial
    }

    fn notes_and_rows(trial: &TrialRecord) -> (Vec<String>, usize) {
        let measured = [(trial, trial.measurement.as_ref().unwrap())];
        let names = TrialNames::of_groups(&[vec![trial]], std::slice::from_ref(trial));
        let (mut notes, mut rows) = (Vec::new(), 0);
        for block in blocks(&measured, &names) {
            match block {
                Block::List(lines) => notes = lines,
                Block::Table(table) => rows = table.rows.len(),
                _ => {}
            }
        }
        (notes, rows)
    }

    #[test]
    fn a_compaction_that_gave_next_to_nothing_back_is_said_to() {
        // As large as before, a block smaller, a block larger.
        for left_bytes in [8 << 20, (8 << 20) - 4_096, (8 << 20) + 4_096] {
            let (notes, rows) = notes_and_rows(&trial(Some(left_bytes)));
            assert_eq!(rows, 1);
            assert!(notes[0].ends_with("VACUUM changed the size by less than 1 %."));
        }
        // The controls: those that gave something back, or took something more.
        for left_bytes in [2 << 20, 7 << 20] {
            assert_eq!(notes_and_rows(&trial(Some(left_bytes))), (Vec::new(), 1));
        }
    }

    #[test]
    fn a_compaction_that_made_the_database_larger_is_explained() {
        let (notes, rows) = notes_and_rows(&trial(Some(9 << 20)));
        assert_eq!(rows, 1);
        assert!(
            notes[0].contains("VACUUM made the database larger. What it wrote"),
            "{notes:?}"
        );
    }

    #[test]
    fn contenders_without_a_compaction_are_named_once_for_all_trials() {
        let mut second = trial(None);
        second.spec.id = "0002".to_owned();
        second
            .spec
            .settings
            .insert("step".to_owned(), "qr100".into());
        let trials = [trial(None), second];
        let measured: Vec<_> = trials
            .iter()
            .map(|one| (one, one.measurement.as_ref().unwrap()))
            .collect();
        let names = TrialNames::of_groups(&[vec![&trials[0]], vec![&trials[1]]], &trials);
        let found = blocks(&measured, &names);
        let [Block::List(notes)] = found.as_slice() else {
            panic!("{found:?}");
        };
        assert_eq!(notes.len(), 1, "{notes:?}");
        assert!(notes[0].starts_with("Not compacted: sqlite. The driver has"));
    }

    #[test]
    fn an_engine_without_one_is_named_and_without_the_condition_there_is_no_section() {
        let (notes, rows) = notes_and_rows(&trial(None));
        assert_eq!(rows, 0);
        let reason = "Not compacted: sqlite. The driver has no compaction for this";
        assert!(notes[0].starts_with(reason), "{notes:?}");
        let mut other = trial(None);
        other.spec.conditions.compact = false;
        assert_eq!(notes_and_rows(&other), (Vec::new(), 0));
    }
}
