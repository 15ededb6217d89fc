//! `trueput workloads`: lists the workloads and the workload files, and prints one of the latter.

use crate::cmd::knobs;
use crate::failure::Failure;
use crate::screen::list_width;
use crate::table::Entry;
use crate::{output, table, workload_files};
use clap::Args;
use serde_json::json;
use std::process::ExitCode;
use trueput_record::suggest::did_you_mean;
use trueput_report::wrap;
use trueput_runner::Registry;
use trueput_workloads::custom;

const EXAMPLES: &str = "\
Examples:
  trueput workloads
  trueput workloads --show queue > mine.toml      # then: trueput run mine.toml --engine lmdb
  trueput run threen1 --engine lmdb --set finish=1000000 --set commit=per-store,per-start";

/// The arguments of `trueput workloads`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Write JSON
    #[arg(long)]
    json: bool,
    /// Print a workload file of this program, as a start for your own
    #[arg(long, value_name = "NAME", conflicts_with = "json")]
    show: Option<String>,
}

/// Lists the workloads, each with its settings, and the workload files.
///
/// # Errors
/// If standard output is closed, or there is no workload file of the name to show.
pub fn run(arguments: &Arguments, registry: &Registry) -> Result<ExitCode, Failure> {
    if let Some(name) = &arguments.show {
        show(name)?;
    } else if arguments.json {
        output::json(&described(registry)?)?;
    } else {
        list(registry)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn show(name: &str) -> Result<(), Failure> {
    if let Some(built_in) = workload_files::named(name) {
        return output::write_raw(built_in.text);
    }
    let names = workload_files::ALL.iter().map(|file| file.name);
    let hint = did_you_mean(name, names);
    Err(Failure::usage(format!(
        "no workload file '{name}'{hint}; 'trueput workloads' lists them"
    )))
}

/// The workloads; `custom` with its files.
fn described(registry: &Registry) -> Result<serde_json::Value, Failure> {
    let files: Result<Vec<_>, Failure> = workload_files::ALL
        .iter()
        .map(|built_in| {
            let file = built_in.file()?;
            Ok(json!({ "name": built_in.name, "about": file.about }))
        })
        .collect();
    let files = files?;
    let described = registry.workloads.iter().map(|workload| {
        let info = workload.info();
        let files = if info.name == custom::NAME {
            &files[..]
        } else {
            &[]
        };
        json!({
            "name": info.name,
            "summary": info.summary,
            "headline": (!info.headline.is_empty()).then_some(info.headline),
            "settings": knobs::described(workload.settings()),
            "files": files,
        })
    });
    Ok(described.collect())
}

fn list(registry: &Registry) -> Result<(), Failure> {
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
    let files: Result<Vec<_>, Failure> = workload_files::ALL
        .iter()
        .map(|built_in| {
            Ok(Entry {
                cells: [built_in.name.to_owned()],
                below: vec![built_in.file()?.about],
            })
        })
        .collect();
    output::line("")?;
    output::write(&table::entries(["workload file"], &files?, list_width()))?;
    output::line("\n'trueput run NAME' runs one; 'trueput workloads --show NAME' prints it.")
}
