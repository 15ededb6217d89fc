//! `trueput workloads`: lists the workloads.

use crate::cmd::knobs;
use crate::failure::Failure;
use crate::output;
use crate::screen::list_width;
use clap::Args;
use serde_json::json;
use std::process::ExitCode;
use trueput_report::wrap;
use trueput_runner::Registry;

const EXAMPLES: &str = "\
Examples:
  trueput workloads
  trueput run threen1 --engine lmdb --set finish=1000000 --set commit=per-store,per-start";

/// The arguments of `trueput workloads`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Write JSON
    #[arg(long)]
    json: bool,
}

/// Lists the workloads, each with its settings.
///
/// # Errors
/// If standard output is closed.
pub fn run(arguments: &Arguments, registry: &Registry) -> Result<ExitCode, Failure> {
    if arguments.json {
        let described = registry.workloads.iter().map(|workload| {
            let info = workload.info();
            json!({
                "name": info.name,
                "summary": info.summary,
                "headline": (!info.headline.is_empty()).then_some(info.headline),
                "settings": knobs::described(workload.settings()),
            })
        });
        output::json(&described.collect())?;
        return Ok(ExitCode::SUCCESS);
    }
    for (index, workload) in registry.workloads.iter().enumerate() {
        let info = workload.info();
        let gap = if index == 0 { "" } else { "\n" };
        let said = format!("{}: {}", info.name, info.summary);
        let said = wrap(&said, list_width(), "  ").join("\n");
        output::line(&format!("{gap}{said}"))?;
        let headline = match info.headline {
            "" => "the first kind of operation that the settings select, per second".to_owned(),
            kind => format!("{kind}s per second"),
        };
        output::line(&format!("ranked by: {headline}\n"))?;
        output::write(&knobs::table(workload.settings()))?;
    }
    Ok(ExitCode::SUCCESS)
}
