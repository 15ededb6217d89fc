//! The audits of promises: the states that were tried on each storage model, those that refuted the
//! promise, and the smallest counterexamples with the commands that repeat them.

use super::{Part, Section, SectionInput};
use crate::document::{Block, Column, ColumnRole, Table};
use std::collections::BTreeSet;
use trueput_findings::audits::{AuditedPromise, audited_promises};
use trueput_findings::units::thousands;
use trueput_record::audit::StorageModel;
use trueput_record::audit_standing::{CounterexampleSummary, ModelStanding, StandingVerdict};

/// The audits of a run's contenders, as they were known when it ran.
pub(crate) struct Audits;

impl Section for Audits {
    fn part(&self, input: &SectionInput<'_>) -> Option<Part> {
        let name = |trial: &_| input.names.contender(trial);
        let promises = audited_promises(&input.run.trials, name);
        Part::with_text("Audits of durability", LEGEND, blocks(&promises))
    }
}

/// How to read the table.
pub(crate) const LEGEND: &str = "Simulated power cuts: states tried on each model of storage, and \
    how many of them refuted the promise. Usual storage is kill, prefix and journal; posix and \
    torn are weaker than what ext4 and xfs document. \"Not refuted\" speaks of these states \
    only; where a cell is empty, of none: the level promises nothing there, or the time was over. \
    \"Undecided\": it depends on what some flushes covered, which could not be seen.";

/// The table of these promises and their counterexamples; empty if there are none.
pub(crate) fn blocks(promises: &[AuditedPromise]) -> Vec<Block> {
    let table = Block::Table(table(promises)).filled();
    let examples = promises.iter().flat_map(counterexamples);
    table.into_iter().chain(examples).collect()
}

/// The audit of a promise in a form.
struct Row<'a> {
    promise: &'a AuditedPromise,
    /// The file system of the block form.
    file_system: Option<&'a str>,
}

impl Row<'_> {
    fn models(&self) -> impl Iterator<Item = &ModelStanding> {
        self.promise.standing.models_in(self.file_system)
    }

    fn verdict(&self) -> &'static str {
        match self.promise.standing.verdict_in(self.file_system) {
            StandingVerdict::Refuted => "REFUTED",
            StandingVerdict::Undecided => "UNDECIDED",
            StandingVerdict::RefutedOnWeakerStorage => "not refuted on usual storage",
            StandingVerdict::NotRefuted => "not refuted",
        }
    }
}

/// The rows of a promise: one for each form.
fn rows(promise: &AuditedPromise) -> Vec<Row<'_>> {
    let models = promise.standing.models.iter();
    let forms: BTreeSet<_> = models.map(|model| model.file_system.as_deref()).collect();
    let row = |file_system| Row {
        promise,
        file_system,
    };
    forms.into_iter().map(row).collect()
}

fn table(promises: &[AuditedPromise]) -> Table {
    let rows: Vec<_> = promises.iter().flat_map(rows).collect();
    let has_forms = rows.iter().any(|row| row.file_system.is_some());
    let name = Column::text("contender", 0).in_role(ColumnRole::Name);
    let mut table = Table::of(&rows)
        .column(name, |row| &row.promise.contender)
        .text("level", 0, |row| row.promise.durability)
        .when(has_forms, |table| {
            table.text("recorded", 0, |row| {
                row.file_system
                    .map_or_else(|| "files".to_owned(), |kind| format!("blocks of {kind}"))
            })
        })
        .text("result", 0, Row::verdict);
    for model in StorageModel::ALL {
        table = table.figures(model.name(), 0, |row| {
            let mut of_model = row.models().filter(|standing| standing.model == model);
            of_model.next().map_or_else(String::new, states)
        });
    }
    table.build()
}

/// The states of a model: `785`, or `13 of 785` if 13 refuted the promise.
fn states(model: &ModelStanding) -> String {
    let states = thousands(model.states);
    match model.refuted {
        0 if model.undecided => format!("{states}, undecided"),
        0 => states,
        refuted => format!("{} of {states}", thousands(refuted)),
    }
}

fn counterexamples(promise: &AuditedPromise) -> Vec<Block> {
    let models = promise.standing.models.iter();
    let examples = models.filter_map(|model| Some((model, model.counterexample.as_ref()?)));
    let of = |(model, example): (&ModelStanding, &CounterexampleSummary)| {
        let form = model.file_system.as_ref();
        let form = form.map_or_else(String::new, |kind| format!(" on {kind}"));
        let subject = format!(
            "{} {}, {}{form}",
            promise.contender, promise.durability, model.model
        );
        let text = format!("{subject}: {}", example.damage);
        let missing = Block::List(example.words.clone()).filled();
        let replay = example.replay.as_ref().map(|replay| {
            let words = ["trueput", "audit", "--replay", &replay.to_string_lossy()];
            Block::Command(words.map(str::to_owned).to_vec())
        });
        let blocks = [Some(Block::Text(text)), missing, replay];
        blocks.into_iter().flatten().collect::<Vec<_>>()
    };
    examples.flat_map(of).collect()
}
