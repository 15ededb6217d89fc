//! `trueput published`: what others measured, with its source and its caveats.

use crate::failure::Failure;
use crate::output::{self, ChartsWhen};
use crate::published_plan::missing;
use crate::screen::Screen;
use crate::table;
use clap::Args;
use serde_json::json;
use std::process::ExitCode;
use trueput_analysis::{Format, published};
use trueput_record::published::{Published, all, named};
use trueput_runner::Registry;
use trueput_runner::matrix::Builds;

const EXAMPLES: &str = "\
Examples:
  trueput published
  trueput published symas-2014-read-while-writing
  trueput run published/symas-2014-read-while-writing --scale 0.02
  trueput published fis-2010-threen1-elapsed --format csv > elapsed.csv

These figures come from other machines. Compare ratios within a table, not absolute rates.";

/// What `trueput published` is given.
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
/// A usage error where no table has that id.
pub fn run(arguments: &Arguments, registry: &Registry) -> Result<ExitCode, Failure> {
    match &arguments.id {
        None => list(arguments.json, registry)?,
        Some(id) => {
            let published = named(id).map_err(Failure::usage)?;
            let format = match arguments.json {
                true => Format::Json,
                false => arguments.format.unwrap_or(Format::Terminal),
            };
            let workloads = registry.workloads.iter();
            let workloads: Vec<_> = workloads.map(|workload| workload.info().name).collect();
            let style = arguments.screen.style(ChartsWhen::Auto);
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
                "missing": missing(table, registry, Builds::Unopened),
            })
        });
        return output::json(&described.collect());
    }
    let rows: Vec<_> = tables.iter().map(row).collect();
    output::write(&table::align(["id", "year", "rows", "title"], &rows))?;
    output::line("\nThe nearest experiment here, at a scale for a small machine:")?;
    let commands = tables.iter().map(|table| {
        let command = published::command(table).join(" ");
        match missing(table, registry, Builds::Unopened) {
            None => format!("  {command}\n"),
            Some(missing) => format!("  {command}   # {missing}\n"),
        }
    });
    output::write(&commands.collect::<String>())
}

fn row(table: &Published) -> [String; 4] {
    let year = table.year().map(|year| year.to_string());
    [
        table.id.clone(),
        year.unwrap_or_default(),
        table.rows.len().to_string(),
        table.title.clone(),
    ]
}
