//! The ranges that trials of `threen1` completed in their time.

use super::{Part, Section, SectionInput};
use crate::document::{Block, Table};
use trueput_findings::marks::{marked, marks};
use trueput_findings::threen1::timed_cells;
use trueput_findings::units::number;
use trueput_findings::workload_cells::WorkloadCell;

/// The trials of the workload `threen1` that their duration ended.
pub(crate) struct CompletedRanges;

const ABOUT: &str = "Each contender worked through the range for the same time. Every start that \
    it completed is verified, with the longest sequence and the largest number among them. Where \
    there are fewer starts than numbers in the range, workers were in the middle of blocks when \
    the time was over. Medians of the repeats.";

impl Section for CompletedRanges {
    fn part(&self, input: &SectionInput<'_>) -> Option<Part> {
        let table = Block::Table(table(&timed_cells(&input.run.trials)));
        Part::with_text("Completed ranges", ABOUT, table.filled())
    }
}

fn table(cells: &[WorkloadCell<'_>]) -> Table {
    let figure = |name: &'static str| {
        move |cell: &WorkloadCell<'_>| {
            let median = cell.median_result(name);
            median.map_or_else(|| "–".to_owned(), number)
        }
    };
    Table::of(cells)
        .text("engine", 0, |cell| {
            marked(&cell.first.spec.contender(), &marks(cell.first))
        })
        .text("durability", 2, |cell| cell.first.spec.durability)
        .figures("workers", 0, |cell| cell.first.spec.workers)
        .figures("from", 0, |cell| {
            let start = cell.first.spec.settings.get("start");
            start.map_or_else(String::new, ToString::to_string)
        })
        .figures("to", 0, figure("last_start"))
        .figures("starts", 0, figure("starts"))
        .figures("longest", 1, figure("longest"))
        .figures("largest", 2, figure("largest"))
        .build()
}
