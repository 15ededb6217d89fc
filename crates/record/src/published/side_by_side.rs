//! Comparisons of trueput's trials with a published table, in reports.

use super::{Column, Setting, TableDefect};
use crate::Value;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Separates the figures of a column that shows the first one that a trial has, as in `read.per_s |
/// seek.per_s`.
pub const FIRST_OF: &str = " | ";

/// A comparison of trueput's trials with a published table, in the table's own layout.
///
/// A *dimension* is a property that a trial is given: `workload`, `engine`, `durability`,
/// `workers`, `settings.NAME`, `knobs.ENGINE.NAME`, or a run condition such as `filesystem` and
/// `numa`.
///
/// A *figure* is a result of a trial: `KIND.per_s` and `KIND.count` of a kind of operation,
/// `per_minute` of all transactions of `tpcc`, `operations_per_s` of all kinds but commits,
/// `times_base` of that (a multiple of the rate of the row that the first ratio is over),
/// `flushes_alone_per_s` of the device's limits, `results.NAME`, `compacted_kib` of the database
/// after its compaction; and resources that the run (or, with the prefix `load.`, the load) used:
/// `elapsed_s`, `user_cpu_s`, `system_cpu_s`, `cpu_percent`, `database_kib`, `process_kib`,
/// `total_kib`, `voluntary_context_switches`, `involuntary_context_switches`. Several figures with
/// [`FIRST_OF`] between them are the first of them that a trial has.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SideBySide {
    /// The engines of the table: a run with none of them is not compared. Other engines of a
    /// compared run are included. Empty: any engine.
    pub engines: Vec<String>,
    /// Conditions for including a trial: it has one of these values of each dimension.
    pub only: Vec<Setting>,
    /// The trials must have several values of at least one of these dimensions, or there is nothing
    /// to compare. Empty: one value is enough.
    pub varies: Vec<String>,
    /// Whether to include only trials whose keys match a row of the table.
    pub exact: bool,
    /// Whether rows are shown in pairs: each of trueput's, whatever its size, above the published
    /// row of the same keys. Published rows without a match are omitted.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub pairs: bool,
    /// The dimension whose values are columns of the table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub across: Option<ColumnsByDimension>,
    /// The ratios that are taken inside each set.
    pub ratios: Vec<Ratio>,
    /// The shares of one column in another that are taken inside each row.
    pub shares: Vec<Share>,
}

/// A dimension whose values are columns of a table, each with the same figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ColumnsByDimension {
    /// The dimension.
    pub dimension: String,
    /// The figure in each of the columns.
    pub figure: String,
    /// The value whose column the others are set against, where both sets have it; else the first
    /// that they have.
    pub base: String,
}

/// Ratios between the rows of a table that differ only in some keys.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ratio {
    /// The two sides of the ratio, in a line: `eight workers over four`.
    pub title: String,
    /// The column whose figures are divided.
    pub figure: String,
    /// Further columns whose figures are divided in the same way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_figures: Vec<String>,
    /// The columns in which the two rows differ.
    pub along: Vec<String>,
    /// The key values of the row that is the denominator, as the table writes them; empty: the
    /// previous row.
    #[serde(default)]
    pub over: Vec<Value>,
}

/// A table's name for a contender of trueput's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContenderName {
    /// The engine.
    pub engine: String,
    /// A part of its library's path, in lower case; empty: whichever library.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub library: String,
    /// Knobs and their values; empty: whichever.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub knobs: BTreeMap<String, Value>,
    /// The table's name for it.
    pub name: String,
}

impl Ratio {
    /// Returns the columns whose figures are divided.
    pub fn figures(&self) -> impl Iterator<Item = &String> {
        std::iter::once(&self.figure).chain(&self.other_figures)
    }
}

/// One figure of a row over another of the same row: the share of a maximum that was reached.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Share {
    /// The two sides of the quotient, in a line.
    pub title: String,
    /// The column whose figures are divided.
    pub figure: String,
    /// The column that they are divided by.
    pub of: String,
    /// The derivation of the denominators, there and here.
    #[serde(default)]
    pub arithmetic: String,
}

impl SideBySide {
    /// Refuses names that the table's columns do not have.
    ///
    /// # Errors
    /// A [`TableDefect`] that names the first of them.
    pub(super) fn check(&self, columns: &[Column]) -> Result<(), TableDefect> {
        let check_names = |part, title: &str, names: &[&String]| {
            let is_column = |name: &String| columns.iter().any(|column| column.name == *name);
            match names.iter().find(|name| !is_column(name)) {
                None => Ok(()),
                Some(name) => Err(TableDefect::NoColumn {
                    part,
                    title: title.to_owned(),
                    column: (*name).clone(),
                }),
            }
        };
        for ratio in &self.ratios {
            let named: Vec<_> = ratio.along.iter().chain(ratio.figures()).collect();
            check_names("ratio", &ratio.title, &named)?;
            let (keys, values) = (ratio.along.len(), ratio.over.len());
            if keys == 0 || (values > 0 && values != keys) {
                return Err(TableDefect::RatioValues {
                    title: ratio.title.clone(),
                    values,
                    columns: keys,
                });
            }
        }
        for share in &self.shares {
            check_names("share", &share.title, &[&share.figure, &share.of])?;
        }
        let placed = columns.iter().find(|column| column.at.is_some());
        match (&self.across, placed) {
            (None, Some(column)) => Err(TableDefect::NoDimension {
                column: column.name.clone(),
            }),
            _ => Ok(()),
        }
    }
}
