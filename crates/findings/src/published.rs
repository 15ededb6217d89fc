//! Comparison of a run with published tables.
//!
//! - `derived`: columns computed from others: gains and speeds
//! - `differences`: differences between our trials and the published experiment
//! - `names`: names of our rows
//! - `ratios`: ratios within each set
//! - `rows`: columns and rows of a comparison
//! - `scale`: the scale of our sizes relative to the published ones
//! - `side_by_side`: the comparison itself
//! - `steps`: the changes of an ablation's steps
//! - `trial`: inputs and results of our trials, by the names of published tables

mod derived;
mod differences;
mod names;
mod ratios;
mod rows;
mod scale;
mod side_by_side;
mod steps;
mod trial;

pub use differences::Difference;
pub use ratios::{RatioRow, RatioTable};
pub use rows::{ComparedColumn, ComparedRow, Role};
pub use scale::{ScaleMatch, Sizes};
pub use side_by_side::{PublishedComparison, comparison, comparisons};
pub use steps::{ParameterChange, PromiseChange, changes, promise_changes};
pub use trial::{is_transaction, transactions_per_minute};

use crate::units::separate;
use trueput_record::published::Cell;

/// Formats a cell of a published table for people.
#[must_use]
pub fn format_cell(cell: &Cell) -> String {
    match cell {
        Cell::Missing => "-".to_owned(),
        Cell::Text(text) => text.clone(),
        Cell::Integer(_) | Cell::Number(_) => separate_thousands(&cell.to_string()),
        Cell::Repeats(figures) => {
            let figures: Vec<_> = figures
                .iter()
                .map(|figure| separate_thousands(&figure.to_string()))
                .collect();
            figures.join("; ")
        }
    }
}

/// Separates the thousands of a number; its fraction is left unchanged.
fn separate_thousands(number: &str) -> String {
    match number.split_once('.') {
        None => separate(number),
        Some((whole, fraction)) => format!("{}.{fraction}", separate(whole)),
    }
}
