//! Tables that others published, and what comes nearest to them in a run.

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
pub use scale::{ScaleMatch, SizeList, SizeRange, Sizes};
pub use side_by_side::{PublishedComparison, comparison, comparisons};
pub use steps::{ParameterChange, PromiseChange, changes, promise_changes};
pub use trial::{is_transaction, transactions_per_minute};

use crate::units::separate;
use trueput_record::published::Cell;

/// A cell of a published table for people.
#[must_use]
pub fn shown(cell: &Cell) -> String {
    match cell {
        Cell::Missing => "-".to_owned(),
        Cell::Text(text) => text.clone(),
        Cell::Integer(_) | Cell::Number(_) => separated(&cell.to_string()),
        Cell::Repeats(figures) => {
            let figures: Vec<_> = figures
                .iter()
                .map(|figure| separated(&figure.to_string()))
                .collect();
            figures.join("; ")
        }
    }
}

/// A number with its thousands separated, and its fraction as it is.
fn separated(number: &str) -> String {
    match number.split_once('.') {
        None => separate(number),
        Some((whole, fraction)) => format!("{}.{fraction}", separate(whole)),
    }
}
