//! `trueput workloads`: lists the workloads and the workload files, or one of them, and prints a
//! workload file.

use crate::cmd::knobs;
use crate::failure::Failure;
use crate::screen::list_width;
use crate::table::Entry;
use crate::{output, table, workload_files};
use clap::Args;
use serde_json::json;
use std::process::ExitCode;
use trueput_findings::units::plural;
use trueput_record::suggest::did_you_mean;
use trueput_report::wrap;
use trueput_runner::Registry;
use trueput_workloads::custom;

const EXAMPLES: &str = "\
Examples:
  trueput workloads
  trueput workloads sysbench
  trueput workloads --show queue > mine.toml      # then: trueput run mine.toml --engine lmdb
  trueput run threen1 --engine lmdb --set finish=1000000 --set commit=per-store,per-start";

/// The arguments of `trueput workloads`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Only these workloads and workload files
    #[arg(value_name = "NAME", conflicts_with = "show")]
    names: Vec<String>,
    /// Write JSON
    #[arg(long)]
    json: bool,
    /// Print a workload file of this program, as a start for your own
    #[arg(long, value_name = "NAME", conflicts_with = "json")]
    show: Option<String>,
}

/// Lists the workloads, each with its settings, and the workload files: all, or those that are
/// named.
///
/// # Errors
/// If standard output is closed, or there is nothing of a name.
pub fn run(arguments: &Arguments, registry: &Registry) -> Result<ExitCode, Failure> {
    let names = &arguments.names;
    if let Some(name) = &arguments.show {
        show(name)?;
        return Ok(ExitCode::SUCCESS);
    }
    for name in names {
        check_name(name, registry)?;
    }
    if arguments.json {
        output::json(&described(registry, names)?)?;
    } else {
        list(registry, names)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether a workload or a workload file is to be listed.
fn is_wanted(name: &str, names: &[String]) -> bool {
    names.is_empty() || names.iter().any(|wanted| wanted == name)
}

/// Refuses what is neither a workload nor a workload file.
fn check_name(name: &str, registry: &Registry) -> Result<(), Failure> {
    let workloads = registry.workloads.iter().map(|it| it.info().name);
    let files = workload_files::ALL.iter().map(|file| file.name);
    let known: Vec<&str> = workloads.chain(files).collect();
    if known.contains(&name) {
        return Ok(());
    }
    let hint = did_you_mean(name, known);
    Err(Failure::usage(format!(
        "no workload or workload file '{name}'{hint}; 'trueput workloads' lists them"
    )))
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

/// The workloads; `custom` with its files. A file that is named brings `custom` with it.
fn described(registry: &Registry, names: &[String]) -> Result<serde_json::Value, Failure> {
    let is_custom_wanted = is_wanted(custom::NAME, names);
    let files: Result<Vec<_>, Failure> = workload_files::ALL
        .iter()
        .filter(|built_in| is_custom_wanted || is_wanted(built_in.name, names))
        .map(|built_in| {
            let file = built_in.file()?;
            Ok(json!({ "name": built_in.name, "about": file.about }))
        })
        .collect();
    let files = files?;
    let wanted = registry.workloads.iter().filter(|workload| {
        let name = workload.info().name;
        is_wanted(name, names) || (name == custom::NAME && !files.is_empty())
    });
    let described = wanted.map(|workload| {
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

fn list(registry: &Registry, names: &[String]) -> Result<(), Failure> {
    let workloads = registry.workloads.iter();
    let workloads = workloads.filter(|it| is_wanted(it.info().name, names));
    let workloads: Vec<_> = workloads.collect();
    for (index, workload) in workloads.iter().enumerate() {
        let info = workload.info();
        let gap = if index == 0 { "" } else { "\n" };
        let said = format!("{}: {}", info.name, info.summary);
        let said = wrap(&said, list_width(), "  ").join("\n");
        output::line(&format!("{gap}{said}"))?;
        let headline = match info.headline {
            "" => "the first kind of operation that the settings select, per second".to_owned(),
            kind => format!("{} per second", plural(kind)),
        };
        output::line(&format!("ranked by: {headline}\n"))?;
        output::write(&knobs::table(workload.settings()))?;
    }
    let files: Result<Vec<_>, Failure> = workload_files::ALL
        .iter()
        .filter(|built_in| is_wanted(built_in.name, names))
        .map(|built_in| {
            Ok(Entry {
                cells: [built_in.name.to_owned()],
                below: vec![built_in.file()?.about],
            })
        })
        .collect();
    let files = files?;
    if files.is_empty() {
        return Ok(());
    }
    if !workloads.is_empty() {
        output::line("")?;
    }
    output::write(&table::entries(["workload file"], &files, list_width()))?;
    output::line("\n'trueput run NAME' runs one; 'trueput workloads --show NAME' prints it.")
}
