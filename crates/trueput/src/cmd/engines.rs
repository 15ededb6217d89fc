//! `trueput engines`: who can compete.

use crate::failure::Failure;
use crate::{output, table};
use clap::Args;
use serde_json::json;
use std::process::ExitCode;
use trueput_engine::{Durability, Engine, Promise};
use trueput_runner::Registry;

/// What `trueput engines` is given.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Write JSON, with what each level is mapped to and where the engine documents it
    #[arg(long)]
    json: bool,
}

/// Lists the engines.
///
/// # Errors
/// Where nobody reads it.
pub fn run(arguments: &Arguments, registry: &Registry) -> Result<ExitCode, Failure> {
    if arguments.json {
        output::json(
            &registry
                .engines
                .iter()
                .map(|&engine| described(engine))
                .collect(),
        )?;
        return Ok(ExitCode::SUCCESS);
    }
    let rows: Vec<_> = registry.engines.iter().map(|&engine| row(engine)).collect();
    let header = [
        "engine",
        "version",
        "from",
        "workers",
        "durability",
        "what it is",
    ];
    output::write(&table::align(header, &rows))?;
    Ok(ExitCode::SUCCESS)
}

fn row(engine: &dyn Engine) -> [String; 6] {
    let info = engine.info();
    let (version, origin) = version_and_origin(engine);
    let levels: Vec<_> = promises(engine)
        .map(|promise| promise.durability.name())
        .collect();
    [
        info.name.to_owned(),
        short(&version).to_owned(),
        origin,
        workers(engine).to_owned(),
        levels.join(", "),
        info.summary.to_owned(),
    ]
}

/// An engine that is not there says how to get it.
fn version_and_origin(engine: &dyn Engine) -> (String, String) {
    match engine.build() {
        Ok(build) => {
            let library = build.library.map(|path| path.display().to_string());
            (
                build.version,
                library.unwrap_or_else(|| "compiled in".to_owned()),
            )
        }
        Err(_) => (
            "not there".to_owned(),
            format!("to install: {}", engine.info().install),
        ),
    }
}

/// The number in a version that comes with a date or a source id; JSON has it whole.
fn short(version: &str) -> &str {
    let number = version
        .split_whitespace()
        .find(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    number.map_or(version, |word| word.trim_end_matches([':', ',']))
}

fn workers(engine: &dyn Engine) -> &'static str {
    if engine.capabilities().several_processes {
        "processes"
    } else {
        "threads"
    }
}

fn promises(engine: &dyn Engine) -> impl Iterator<Item = Promise> {
    Durability::ALL
        .into_iter()
        .filter_map(|level| engine.promise(level))
}

fn described(engine: &dyn Engine) -> serde_json::Value {
    let info = engine.info();
    let (version, origin) = version_and_origin(engine);
    let capabilities = engine.capabilities();
    json!({
        "name": info.name,
        "title": info.title,
        "summary": info.summary,
        "version": version,
        "origin": origin,
        "present": engine.build().is_ok(),
        "license": info.license,
        "homepage": info.homepage,
        "install": info.install,
        "workers": workers(engine),
        "concurrent_writers": capabilities.concurrent_writers,
        "snapshot_reads": capabilities.snapshot_reads,
        "promises": promises(engine).map(|promise| json!(promise)).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_shown_without_its_date_and_source() {
        assert_eq!(short("LMDB 0.9.70: (December 19, 2015)"), "0.9.70");
        assert_eq!(short("3.54.1 2026-10-16 abc"), "3.54.1");
        assert_eq!(short("not there"), "not there");
    }
}
