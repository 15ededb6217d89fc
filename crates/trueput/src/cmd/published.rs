//! `trueput published`: lists published results, with their source and caveats.

use crate::failure::Failure;
use crate::output;
use crate::published_plan::missing;
use crate::screen::{Screen, list_width};
use crate::table::{self, Entry, paragraph_lines};
use clap::Args;
use serde_json::json;
use std::process::ExitCode;
use trueput_record::published::{PublishedTable, all, named};
use trueput_report::{Format, published};
use trueput_runner::Registry;
use trueput_runner::matrix::BuildAccess;

const EXAMPLES: &str = "\
Examples:
  trueput published
  trueput published symas-2014-read-while-writing
  trueput run published/symas-2014-read-while-writing --scale 0.02
  trueput published fis-2010-threen1-elapsed --format csv > elapsed.csv

These figures come from other machines. Compare ratios within a table, not absolute rates.";

/// The arguments of `trueput published`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Table to show [default: list all tables]
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// Write JSON
    #[arg(long)]
    json: bool,
    /// Format of the table: terminal, markdown, csv (plain numbers), json [default: terminal]
    #[arg(long, value_name = "FORMAT", requires = "id", conflicts_with = "json")]
    format: Option<Format>,
    #[command(flatten)]
    screen: Screen,
}

/// Lists the published tables, or shows one.
///
/// # Errors
/// A usage error if no table has that id.
pub fn run(arguments: &Arguments, registry: &Registry) -> Result<ExitCode, Failure> {
    match &arguments.id {
        None => list(arguments.json, registry)?,
        Some(id) => {
            let published = named(id).map_err(Failure::usage)?;
            let format = if arguments.json {
                Format::Json
            } else {
                arguments.format.unwrap_or(Format::Terminal)
            };
            let workloads = registry.workloads.iter();
            let workloads: Vec<_> = workloads.map(|workload| workload.info().name).collect();
            let style = arguments.screen.list_style();
            let text = published::render(&published, &workloads, format, style);
            output::document(&text, format)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn list(as_json: bool, registry: &Registry) -> Result<(), Failure> {
    let tables = all().map_err(|error| Failure::Other(error.to_string()))?;
    if as_json {
        let described = tables.iter().map(|table| {
            json!({
                "id": table.id,
                "title": table.title,
                "year": table.year(),
                "rows": table.rows.len(),
                "source": table.source,
                "scale": table.experiment.scale,
                "command": published::command(table),
                "missing": missing(table, registry, BuildAccess::Unopened),
            })
        });
        return output::json(&described.collect());
    }
    let width = list_width();
    let listed: Vec<_> = tables.iter().map(entry).collect();
    let header = ["id", "year", "rows"];
    output::write(&table::entries(header, &listed, width))?;
    output::line("\nThe nearest experiment here, at a scale for a small machine:")?;
    let commands = tables.iter().map(|table| {
        let mut text = format!("  {}\n", published::command(table).join(" "));
        if let Some(missing) = missing(table, registry, BuildAccess::Unopened) {
            text += &paragraph_lines(&missing, "    # ", width);
        }
        text
    });
    output::write(&commands.collect::<String>())
}

fn entry(table: &PublishedTable) -> Entry<3> {
    let year = table.year().map(|year| year.to_string());
    Entry {
        cells: [
            table.id.clone(),
            year.unwrap_or_default(),
            table.rows.len().to_string(),
        ],
        below: vec![table.title.clone()],
    }
}
