//! Several runs on one page: a comparison first, then each run as on a page of its own.

use super::{MANY_RANKINGS, Page};
use crate::document::{Block, Column};
use trueput_findings::Findings;
use trueput_findings::Run;

/// Identifies a run on a page of several.
pub(crate) struct RunLabel {
    /// Number of the run, from 1.
    number: usize,
    /// Host name.
    host: String,
}

impl RunLabel {
    /// A section's title with the run before it, so titles are unique.
    pub(crate) fn titled(&self, title: &str) -> String {
        let Self { number, host } = self;
        if host.is_empty() {
            format!("Run {number}: {title}")
        } else {
            format!("Run {number} ({host}): {title}")
        }
    }

    /// Prefix of its anchors.
    pub(crate) fn anchor(&self) -> String {
        format!("run-{}-", self.number)
    }

    /// Adds the run and its host to each row of the trials' table, so that its CSV has them too.
    pub(crate) fn add_columns(&self, trials: &mut [Block]) {
        for block in trials {
            let Block::Table(table) = block else {
                continue;
            };
            // After the trial's number. Both may be left out on a narrow page (priority 2).
            table
                .columns
                .splice(1..1, [Column::figures("run", 2), Column::text("host", 2)]);
            for row in &mut table.rows {
                row.splice(1..1, [self.number.to_string(), self.host.clone()]);
            }
        }
    }
}

/// Writes the page of several runs; `comparison` has them side by side. Each run has its own
/// rankings; no ranking mixes runs.
pub(crate) fn render(reports: &[Run], title: &str, comparison: &[Block]) -> String {
    let mut page = Page::default();
    page.add("Side by side", comparison);
    let all: Vec<_> = reports.iter().map(Findings::of).collect();
    let many = all.iter().map(|run| run.rankings.len()).sum::<usize>() > MANY_RANKINGS;
    for (index, findings) in all.iter().enumerate() {
        page.current_run = Some(RunLabel {
            number: index + 1,
            host: findings.run.manifest.host.host_name.clone(),
        });
        page.add_run(findings, many);
    }
    page.finish(title)
}
