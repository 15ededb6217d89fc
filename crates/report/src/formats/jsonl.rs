//! A run's trials as JSON Lines, for other programs.

use schemars::{JsonSchema, Schema};
use serde::Serialize;
use trueput_findings::Run;
use trueput_record::TrialRecord;
use trueput_record::schema::of_file;

/// A trial with the facts of its run, for one line.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ExportedTrial")]
struct TrialLine<'a> {
    run: &'a str,
    run_started_at: &'a str,
    host: &'a str,
    program: &'a trueput_record::host::ProgramFacts,
    #[serde(flatten)]
    trial: &'a TrialRecord,
}

/// Returns the schema of a line.
#[must_use]
pub fn schema() -> Schema {
    of_file::<TrialLine<'_>>()
}

/// One JSON object per trial, with the run's name, start, host and program in each.
#[must_use]
pub fn render(reports: &[Run]) -> String {
    let mut text = String::new();
    for report in reports {
        for trial in &report.trials {
            let line = TrialLine {
                run: &report.manifest.name,
                run_started_at: &report.manifest.started_at,
                host: &report.manifest.host.host_name,
                program: &report.manifest.host.program,
                trial,
            };
            // Only a map with keys other than strings could fail here; there is no such map.
            text += &serde_json::to_string(&line).unwrap_or_default();
            text.push('\n');
        }
    }
    text
}
