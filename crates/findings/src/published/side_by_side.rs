//! Trials of ours compared with a published table, in the table's own layout.
//!
//! Figures of different machines cannot be ranked against each other. The ratios within each set
//! can be compared: ours over ours, theirs over theirs.

use super::derived;
use super::differences::{Difference, differs};
use super::ratios::{self, RatioTable};
use super::rows::{ComparedColumn, ComparedRow, Role, distinct};
use super::scale::{self, ScaleMatch, Sizes, same_keys};
use super::steps::{Steps, is_one_at_a_time};
use super::trial::{OF_LOAD, Trials, combined_result, parse_cell};
use crate::Run;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use trueput_record::TrialRecord;
use trueput_record::plan::Condition;
use trueput_record::published::{
    Cell, Column, ColumnKind, ColumnsByDimension, ContenderName, Error, PublishedTable, SideBySide,
    all,
};

/// A published table with our rows next to its own.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PublishedComparison {
    /// The published table.
    pub id: String,
    /// Its title.
    pub title: String,
    /// The document that it is from.
    pub document: String,
    /// The year of the document.
    pub year: String,
    /// The table's columns, and after them one for each value of ours that it has no column for.
    pub columns: Vec<ComparedColumn>,
    /// The rows: each of ours above the published row with the same keys, if there is one.
    pub rows: Vec<ComparedRow>,
    /// Problem sizes of both sets, if they differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sizes: Option<Sizes>,
    /// The ratios inside each set.
    pub ratios: Vec<RatioTable>,
    /// Differences between our trials and the published experiment.
    pub differs: Vec<Difference>,
}

/// Our trials compared with every published table that they match.
///
/// # Errors
/// If a published table is invalid, which tests of this program rule out for built-in tables.
pub fn comparisons(report: &Run) -> Result<Vec<PublishedComparison>, Error> {
    let tables = all()?;
    Ok(tables
        .iter()
        .filter_map(|table| comparison(table, report))
        .collect())
}

/// Compares our trials with one published table; `None` if no trial matches it.
#[must_use]
pub fn comparison(published: &PublishedTable, report: &Run) -> Option<PublishedComparison> {
    let layout = published.beside.as_ref()?;
    let here = &report.manifest.host.file_system.kind;
    let mut trials = Trials::of(
        &report.trials,
        &published.experiment.workload,
        &layout.only,
        here,
    );
    let figures = published.columns.iter().filter_map(|one| one.ours.as_ref());
    if figures.clone().any(|figure| figure.starts_with(OF_LOAD)) {
        trials.all.retain(|trial| trial.load.is_some());
    }
    if !matches(layout, &trials) {
        return None;
    }
    let mut columns = columns(published, layout, &trials);
    let mut theirs = their_rows(published, columns.len());
    let mut ours = our_rows(published, layout, &columns, &trials);
    let scaled = if layout.exact {
        BTreeMap::new()
    } else {
        set_scales(published, &mut columns, &ours, &theirs, &trials)
    };
    if layout.exact {
        ours.retain(|row| theirs.iter().any(|other| same_keys(&columns, row, other)));
    }
    if ours.is_empty() {
        return None;
    }
    let mut specs = trials.all.iter().map(|trial| &trial.spec);
    let on_base_alone = specs.any(is_one_at_a_time);
    derived::fill(published, layout, &columns, &mut ours, on_base_alone);
    let ratios = ratios::tables(layout, &columns, &ours, &theirs);
    let mut sizes = scale::sizes(published, &columns, &ours, &theirs, &trials);
    if layout.pairs {
        sizes = None;
        theirs.retain(|row| ours.iter().any(|one| same_keys(&columns, one, row)));
    }
    Some(PublishedComparison {
        id: published.id.clone(),
        title: published.title.clone(),
        document: published.source.document.clone(),
        year: published
            .year()
            .map(|year| year.to_string())
            .unwrap_or_default(),
        differs: differs(published, report, &trials, &scaled),
        rows: interleaved(&columns, ours, theirs),
        columns,
        sizes,
        ratios,
    })
}

/// Whether there is something to compare: the kind of contender, and a dimension that varies.
fn matches(layout: &SideBySide, trials: &Trials<'_>) -> bool {
    let of_kind = |trial: &&TrialRecord| {
        layout.engines.is_empty() || layout.engines.contains(&trial.spec.engine)
    };
    let contenders = Trials {
        all: trials.all.iter().copied().filter(of_kind).collect(),
        here: trials.here,
        steps: Steps::of(&trials.all),
    };
    let varies = |dimension: &String| contenders.values(dimension).len() > 1;
    !contenders.all.is_empty() && (layout.varies.is_empty() || layout.varies.iter().any(varies))
}

/// The published columns, and a column for each of our values without one.
fn columns(
    published: &PublishedTable,
    layout: &SideBySide,
    trials: &Trials<'_>,
) -> Vec<ComparedColumn> {
    let mut columns: Vec<_> = published
        .columns
        .iter()
        .map(|column| ComparedColumn {
            name: column.name.clone(),
            role: role(published, column),
            at: column.at.clone(),
            scale: None,
            names_contender: column.ours.as_deref() == Some("engine"),
            is_whole: layout.pairs && column.kind == ColumnKind::Integer,
            dispensable: column.dispensable,
        })
        .collect();
    let Some(across) = &layout.across else {
        return columns;
    };
    let unit = columns.iter().find_map(|column| {
        let value = column.at.as_deref()?;
        column.name.strip_prefix(value).map(str::to_owned)
    });
    let unit = unit.unwrap_or_else(|| "_s".to_owned());
    for value in trials.values(&across.dimension) {
        if !columns.iter().any(|one| one.at.as_ref() == Some(&value)) {
            columns.push(ComparedColumn {
                name: format!("{value}{unit}"),
                role: Role::Figure,
                at: Some(value),
                scale: None,
                names_contender: false,
                is_whole: false,
                dispensable: 0,
            });
        }
    }
    columns
}

/// Finds the scale of our run for each key that grows with it. Returns the pairs of sizes by
/// dimension.
fn set_scales(
    published: &PublishedTable,
    columns: &mut [ComparedColumn],
    ours: &[ComparedRow],
    theirs: &[ComparedRow],
    trials: &Trials<'_>,
) -> BTreeMap<String, ScaleMatch> {
    let mut scaled = BTreeMap::new();
    for (place, column) in columns.iter_mut().enumerate() {
        let stated = published.columns.get(place);
        let dimension = stated.and_then(|stated| stated.ours.as_ref());
        let grows = |name: &&String| published.experiment.scales.contains(name);
        let Some(dimension) = dimension.filter(grows) else {
            continue;
        };
        if column.role != Role::Key {
            continue;
        }
        let (ours, theirs) = (distinct(ours, place), distinct(theirs, place));
        let sizes = |cells: &[Cell]| cells.iter().filter_map(Cell::figure).collect::<Vec<_>>();
        let (here, there) = (sizes(&ours), sizes(&theirs));
        column.scale = scale::common_scale(published, dimension, &here, &there, trials);
        if let Some(found) = scale::matches(column, &ours, &theirs) {
            scaled.insert(dimension.clone(), found);
        }
    }
    scaled
}

fn role(published: &PublishedTable, column: &Column) -> Role {
    let Some(dimension) = column.ours.as_ref().filter(|ours| is_dimension(ours)) else {
        return Role::Figure;
    };
    let place = published.columns.iter().position(|one| one == column);
    let mut values: Vec<_> = published
        .rows
        .iter()
        .filter_map(|row| row.get(place?))
        .map(ToString::to_string)
        .collect();
    values.dedup();
    if values.len() == 1 && published.experiment.scales.contains(dimension) {
        Role::Size
    } else {
        Role::Key
    }
}

fn is_dimension(name: &str) -> bool {
    let plain = ["workers", "engine", "durability", "step"];
    let is_condition = Condition::named(name).is_some();
    is_condition
        || plain.contains(&name)
        || name.starts_with("settings.")
        || name.starts_with("knobs.")
}

fn their_rows(published: &PublishedTable, width: usize) -> Vec<ComparedRow> {
    let filled = |row: &Vec<Cell>| {
        let mut cells = row.clone();
        cells.resize(width, Cell::Missing);
        cells
    };
    published
        .rows
        .iter()
        .map(|row| ComparedRow {
            ours: false,
            who: String::new(),
            cells: filled(row),
        })
        .collect()
}

/// The trials of one row, with its name and its keys.
struct RowTrials<'a> {
    who: String,
    keys: Vec<Option<Cell>>,
    trials: Vec<&'a TrialRecord>,
}

fn our_rows(
    published: &PublishedTable,
    layout: &SideBySide,
    columns: &[ComparedColumn],
    trials: &Trials<'_>,
) -> Vec<ComparedRow> {
    let across = layout.across.as_ref();
    let dimensions: Vec<&str> = published
        .columns
        .iter()
        .filter_map(|column| column.ours.as_deref())
        .chain(across.map(|across| across.dimension.as_str()))
        .collect();
    let in_names = published.columns.iter().flat_map(|column| &column.names);
    let knobs = in_names.flat_map(|one| {
        let knobs = one.knobs.keys();
        knobs.map(|knob| format!("knobs.{}.{knob}", one.engine))
    });
    let knobs: Vec<String> = knobs.collect();
    let dimensions: Vec<&str> = dimensions
        .into_iter()
        .chain(knobs.iter().map(String::as_str))
        .collect();
    let names = super::names::RowNames::of(trials, &dimensions);
    let mut groups: Vec<RowTrials<'_>> = Vec::new();
    for trial in &trials.all {
        let key = |column: &Column| {
            let dimension = column.ours.as_ref().filter(|ours| is_dimension(ours))?;
            let value = trials.value_in(trial, dimension)?;
            let named = column.names.iter().find(|one| is_named(trial, one));
            let word = named.map(|one| &one.name).or(column.words.get(&value));
            Some(parse_cell(word.unwrap_or(&value)))
        };
        let keys: Vec<_> = published.columns.iter().map(key).collect();
        let who = names.name(trials, trial);
        match groups
            .iter_mut()
            .find(|one| one.who == who && one.keys == keys)
        {
            Some(group) => group.trials.push(trial),
            None => groups.push(RowTrials {
                who,
                keys,
                trials: vec![trial],
            }),
        }
    }
    let row = |group: RowTrials<'_>| {
        let cells = (0..columns.len())
            .map(|place| cell(published, across, &columns[place], place, &group, trials))
            .collect();
        ComparedRow {
            ours: true,
            who: group.who,
            cells,
        }
    };
    groups.into_iter().map(row).collect()
}

fn cell(
    published: &PublishedTable,
    across: Option<&ColumnsByDimension>,
    column: &ComparedColumn,
    place: usize,
    group: &RowTrials<'_>,
    trials: &Trials<'_>,
) -> Cell {
    if let Some(key) = group.keys.get(place).and_then(Option::as_ref) {
        return key.clone();
    }
    if let (Some(across), Some(at)) = (across, &column.at) {
        let there =
            |trial: &&&TrialRecord| trials.value_in(trial, &across.dimension).as_ref() == Some(at);
        let there: Vec<_> = group.trials.iter().filter(there).copied().collect();
        return combined_result(&there, &across.figure);
    }
    let ours = published
        .columns
        .get(place)
        .and_then(|one| one.ours.as_deref());
    match ours {
        Some("cost") => {
            let cell = group.trials.first().map(|trial| trial.spec.cell);
            let listed = cell.and_then(|cell| trials.steps.cost(cell));
            listed.map_or(Cell::Missing, Cell::Text)
        }
        Some(figure) => combined_result(&group.trials, figure),
        None => Cell::Missing,
    }
}

/// Whether a name is that of a trial's contender.
fn is_named(trial: &TrialRecord, name: &ContenderName) -> bool {
    let library = trial
        .engine
        .as_ref()
        .map(|engine| engine.origin.to_lowercase());
    let mut knobs = name.knobs.iter();
    trial.spec.engine == name.engine
        && library.unwrap_or_default().contains(&name.library)
        && knobs.all(|(knob, value)| trial.spec.knobs.get(knob) == Some(value))
}

/// Each of theirs under ours with its keys; ours that have none come first.
fn interleaved(
    columns: &[ComparedColumn],
    ours: Vec<ComparedRow>,
    theirs: Vec<ComparedRow>,
) -> Vec<ComparedRow> {
    let (matched, unmatched): (Vec<_>, Vec<_>) = ours
        .into_iter()
        .partition(|row| theirs.iter().any(|other| same_keys(columns, row, other)));
    let mut rows = unmatched;
    for published in theirs {
        let of_it = matched
            .iter()
            .filter(|row| same_keys(columns, row, &published));
        rows.extend(of_it.cloned());
        rows.push(published);
    }
    rows
}
